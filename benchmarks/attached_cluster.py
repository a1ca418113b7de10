"""A scheduler and workers of dask.distributed in processes of their own, for benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import distributed
import psutil


class DaskCluster(NamedTuple):
    """Processes of a cluster, and a client of dask.distributed that is connected to it."""

    address: str
    client: distributed.Client
    scheduler: psutil.Process
    workers: list[psutil.Process]


@contextmanager
def dask_cluster(n_workers: int, nthreads: int) -> Iterator[DaskCluster]:
    """Start a scheduler with its pages, and workers without a nanny; they end with the block."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gl-"))
        file = os.path.join(folder, "scheduler.json")

        def start(role: str, *options: str) -> psutil.Process:
            command = [sys.executable, "-m", f"distributed.cli.dask_{role}", "--scheduler-file", file, *options]
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return psutil.Process(process.pid)

        local: Any = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0")
        scheduler = start("scheduler", *local)
        while not os.path.exists(file):
            time.sleep(0.1)
        workers = [start("worker", "--nthreads", str(nthreads), "--no-nanny", "--no-dashboard") for _ in range(n_workers)]  # fmt: skip
        client = stack.enter_context(distributed.Client(scheduler_file=file, set_as_default=False))
        client.wait_for_workers(n_workers)
        yield DaskCluster(client.scheduler_info()["address"], client, scheduler, workers)


def cpu_s(*processes: psutil.Process) -> float:
    """Return the CPU time of processes, without that of their children."""
    return float(sum(sum(process.cpu_times()[:2]) for process in processes))
