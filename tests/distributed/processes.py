"""A scheduler and workers of dask.distributed in processes of their own, that tests kill and stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
from free_ports import free_port


class Processes:
    """The scheduler at `address`, and its workers, which have no nanny: nothing starts them again."""

    def __init__(self, n_workers: int, folder: Path, configuration: dict[str, str]) -> None:
        here = Path(__file__).parent
        self.address = f"tcp://127.0.0.1:{free_port()}"
        port = self.address.rpartition(":")[2]
        paths = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
        options: dict[str, Any] = {
            "cwd": folder,
            "env": {**os.environ, **configuration, "PYTHONPATH": paths},
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        run = [sys.executable, "-m"]
        head = [*run, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
        worker = [*run, "distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        self.scheduler = subprocess.Popen(head, **options)
        self.workers = [subprocess.Popen(worker, **options) for _ in range(n_workers)]

    def end(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


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
