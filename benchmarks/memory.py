"""Cases of memory: a persisted array of five times the workers' limits, and how many copies of shared data there are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.meter import Contender, Figures, Meter

LIMIT_BYTES = 512 * 2**20
N_WORKERS, N_THREADS = 2, 2
FIVE_TIMES = 5 * N_WORKERS * LIMIT_BYTES
CHUNK_BYTES = 8 * 2**20
LARGE_BYTES = 200_000_000
READERS = 10


def five_times_glassloom() -> Figures:
    import glassloom.array as ga
    from glassloom import Client, wait

    with tempfile.TemporaryDirectory() as folder, Client(**_options(), local_directory=folder) as client:
        return _five_times(client, ga, wait)


def five_times_distributed() -> Figures:
    import dask
    import dask.array as da
    from distributed import Client, wait

    with (
        tempfile.TemporaryDirectory() as folder,
        dask.config.set({"distributed.worker.memory.terminate": False}),  # else it ends workers that are about to spill
        Client(**_options(), local_directory=folder, dashboard_address=None) as client,
    ):
        return _five_times(client, da, wait)


def _options() -> dict[str, Any]:
    return {"n_workers": N_WORKERS, "threads_per_worker": N_THREADS, "memory_limit": LIMIT_BYTES}


def _five_times(client: Any, array: Any, wait: Callable[[Any], Any]) -> Figures:
    n_elements = FIVE_TIMES // 8
    meter = Meter()
    persisted = client.persist(array.arange(n_elements, dtype="i8", chunks=CHUNK_BYTES // 8))
    wait(persisted)
    persist_s = meter.wall_s()
    total = client.compute(persisted.sum(), sync=True)
    if int(total) != n_elements * (n_elements - 1) // 2:
        raise AssertionError(f"a wrong sum: {total}")
    peak = max(client.run(_peak_rss_bytes).values())
    return {
        "wall_s": meter.wall_s(),
        "wall_s_of_persist": persist_s,
        "cpu_s": meter.cpu_s(),
        "peak_rss_by_limit": peak / LIMIT_BYTES,
    }


def _peak_rss_bytes() -> int:
    return _status_bytes("self", "VmHWM:")


def copies_glassloom() -> Figures:
    from glassloom import Client

    with Client(n_workers=N_WORKERS, threads_per_worker=N_THREADS, memory_limit=None) as client:
        return _copies(client)


def copies_distributed() -> Figures:
    from distributed import Client

    options = {"memory_limit": None, "dashboard_address": None}
    with Client(n_workers=N_WORKERS, threads_per_worker=N_THREADS, **options) as client:
        return _copies(client)


def _copies(client: Any) -> Figures:
    """Count how often a large result is in memory while tasks on both workers have read it."""
    client.gather(client.map(_touch, range(READERS)))
    before = _resident_bytes()
    large = client.submit(np.ones, LARGE_BYTES // 8, pure=False)
    meter = Meter()
    if client.gather(client.map(_sum_with, [large] * READERS, range(READERS))) != [LARGE_BYTES / 8] * READERS:
        raise AssertionError("a wrong sum")
    wall_s = meter.wall_s()
    return {"wall_s": wall_s, "copies": (_resident_bytes() - before) / LARGE_BYTES}


def _touch(number: int) -> float:
    return float(np.ones(1000).sum()) + number


def _sum_with(large: np.ndarray, number: int) -> float:
    return float(large.sum())


def _resident_bytes() -> int:
    """Return what this process and its descendants have to themselves, and all that is in shared memory."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    shared = sum(path.stat().st_size for path in Path("/dev/shm").iterdir() if path.is_file())
    return shared + sum(_status_bytes(process.pid, "RssAnon:") for process in processes)


def _status_bytes(pid: int | str, name: str) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition(name)[2].split()[0]) * 1024


CASES: dict[str, dict[str, Contender]] = {
    "five-times-the-limit": {"glassloom processes": five_times_glassloom, "distributed": five_times_distributed},
    "copies-of-200-mb": {"glassloom processes": copies_glassloom, "distributed": copies_distributed},
}
