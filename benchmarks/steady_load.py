"""Clusters that are watched: ours with the process of its dashboards, dask.distributed's with the scheduler's own; and their load."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

N_WORKERS, N_THREADS = 2, 2
BATCHES_S = 10
_KEPT_BATCHES = 20

_THEIR_CLUSTER = f"""
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers={N_WORKERS}, threads_per_worker={N_THREADS}, dashboard_address="127.0.0.1:0")
    print(cluster.scheduler_address, cluster.scheduler.services["dashboard"].port, flush=True)
    sys.stdin.read()
    cluster.close()
"""


@dataclass
class WatchedCluster:
    """A cluster with a page to look at.

    Attributes
    ----------
    page
        The address of its status page, which lets in.
    engine
        The processes of the cluster itself, the scheduler's first.
    dashboards
        The process that draws pages: a process of its own, or the scheduler's.
    """

    client: Any
    page: str
    engine: list[psutil.Process]
    dashboards: psutil.Process


@contextmanager
def plain_cluster() -> Iterator[tuple[Any, list[psutil.Process]]]:
    """Run a cluster that nobody looks at; yield its client and its processes, the head first."""
    from glassloom import Client
    from glassloom_metrics.registry import find_record

    with Client(n_workers=N_WORKERS, threads_per_worker=N_THREADS, set_as_default=False) as client:
        head = psutil.Process(find_record(client.id).pid)
        yield client, [head, *head.children(recursive=True)]


@contextmanager
def our_cluster() -> Iterator[WatchedCluster]:
    """Run a cluster and the dashboards' process."""
    command = [sys.executable, "-m", "glassloom_dashboards", "--port", "0"]
    with plain_cluster() as (client, engine):
        dashboards = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert dashboards.stdout is not None
            base, _, token = dashboards.stdout.readline().strip().partition("/?")
            page = f"{base}/{client.id}/status?{token}"
            yield WatchedCluster(client, page, engine, psutil.Process(dashboards.pid))
        finally:
            dashboards.terminate()
            dashboards.wait(20)


@contextmanager
def their_cluster() -> Iterator[WatchedCluster]:
    """Run dask.distributed's scheduler and workers in processes of their own."""
    from distributed import Client

    command = [sys.executable, "-c", _THEIR_CLUSTER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address, port = process.stdout.readline().split()
        with Client(address) as client:
            client.wait_for_workers(N_WORKERS)
            scheduler = psutil.Process(process.pid)
            engine = [scheduler, *scheduler.children(recursive=True)]
            yield WatchedCluster(client, f"http://127.0.0.1:{port}/status", engine, scheduler)
    finally:
        process.terminate()
        process.wait(20)


def cpu_s(processes: list[psutil.Process]) -> float:
    """Return the CPU time that processes have taken."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def rss_mib(process: psutil.Process) -> float:
    """Return the resident memory of a process."""
    return float(process.memory_info().rss) / 2**20


def noop(number: int) -> int:
    """Do nothing."""
    return number


def fill(client: Any, maps: int, tasks: int) -> None:
    """Run so many `map` of so many tasks one after another, as fast as they go."""
    kept: deque[Any] = deque()
    for number in range(maps):
        kept.append(client.map(noop, range(number * tasks, (number + 1) * tasks), pure=False))
        if len(kept) == _KEPT_BATCHES:
            client.gather(kept.popleft())


@contextmanager
def steady_load(client: Any, tasks_s: int) -> Iterator[list[int]]:
    """Run about so many tasks a second until the block ends; the list's one element counts those that were submitted."""
    submitted, ends = [0], threading.Event()
    size = max(tasks_s // BATCHES_S, 1)

    def submit() -> None:
        kept: deque[Any] = deque(maxlen=_KEPT_BATCHES)
        due_s = time.monotonic()
        while not ends.is_set():
            kept.append(client.map(noop, range(submitted[0], submitted[0] + size), pure=False))
            submitted[0] += size
            if len(kept) == _KEPT_BATCHES:
                client.gather(kept[0])  # never ahead of the cluster by more than two seconds
            due_s = max(due_s + 1 / BATCHES_S, time.monotonic() - 1)
            ends.wait(max(due_s - time.monotonic(), 0.0))

    thread = threading.Thread(target=submit, daemon=True)
    thread.start()
    try:
        yield submitted
    finally:
        ends.set()
        thread.join(60)
