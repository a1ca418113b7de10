"""A scheduler and workers of dask.distributed in processes of their own, that tests kill and stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import distributed
from eventual import eventually


class Processes:
    """The scheduler at `address`, and its workers, which have no nanny: nothing starts them again."""

    def __init__(self, n_workers: int, folder: Path, configuration: dict[str, str]) -> None:
        here = Path(__file__).parent
        place = folder / "scheduler.json"
        paths = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
        options: dict[str, Any] = {
            "cwd": folder,
            "env": {**os.environ, **configuration, "PYTHONPATH": paths},
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        run = [sys.executable, "-m"]
        # The scheduler chooses its port: one that is chosen here could be another's by then. Workers import our code before they
        # join: a busy machine takes longer for that than the scheduler waits for a heartbeat.
        common = ["--no-dashboard", "--scheduler-file", str(place)]
        loaded = ["--preload", "glassloom.array", "--preload", "glassloom.dataframe"]
        head = [*run, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *common]
        worker = [*run, "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *common, *loaded]
        self.scheduler = subprocess.Popen(head, **options)
        self.workers = [subprocess.Popen(worker, **options) for _ in range(n_workers)]
        try:
            self.address: str = eventually(lambda: _address(place), 60)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def _address(place: Path) -> str:
    """Return the address in a scheduler's file; nothing before it is written."""
    with suppress(OSError, ValueError):
        return str(json.loads(place.read_text())["address"])
    return ""


@contextmanager
def processes(n_workers: int, folder: Path, **configuration: str) -> Iterator[Processes]:
    """Start them; they end with the block. `configuration` is Dask's, as variables of the environment."""
    started = Processes(n_workers, folder, configuration)
    try:
        with distributed.Client(started.address, timeout=60, set_as_default=False) as waiting:
            waiting.wait_for_workers(n_workers, timeout=60)
        yield started
    finally:
        started.end()
