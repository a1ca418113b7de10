"""A scheduler and workers of dask.distributed in processes of their own, that tests kill and stop."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import distributed
from eventual import eventually

HERE = Path(__file__).parent


class Forker:
    """The process that forks them (`forker.py`). One for all tests of this process."""

    def __init__(self) -> None:
        paths = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "forker.py")],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.paths = paths
        atexit.register(self._end)

    def ask(self, **order: Any) -> int:
        """Return the answer to an order."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(order)}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


@cache
def forker() -> Forker:
    """Return it, and start it the first time. It ends with this process."""
    return Forker()


class Forked:
    """A process of the forker's, to be signalled like one of `subprocess`."""

    def __init__(self, program: str, arguments: list[str], folder: Path, configuration: dict[str, str]) -> None:
        environment = {**os.environ, **configuration, "PYTHONPATH": forker().paths}
        self._has_ended = False
        self.pid = forker().ask(program=program, arguments=arguments, folder=str(folder), environment=environment)

    def send_signal(self, number: int) -> None:
        if not self._has_ended:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> None:
        if not self._has_ended:
            forker().ask(ended=self.pid)
            self._has_ended = True


class Processes:
    """The scheduler at `address`, and its workers, which have no nanny: nothing starts them again."""

    def __init__(self, n_workers: int, folder: Path, n_threads: int, configuration: dict[str, str]) -> None:
        place = folder / "scheduler.json"
        # The scheduler chooses its port: one that is chosen here could be another's by then. Workers import our code before they
        # join: a busy machine takes longer for that than the scheduler waits for a heartbeat.
        common = ["--no-dashboard", "--scheduler-file", str(place)]
        loaded = ["--preload", "glassloom.array", "--preload", "glassloom.dataframe"]
        head = ["--host", "127.0.0.1", "--port", "0", *common]
        worker = ["--nthreads", str(n_threads), "--no-nanny", *common, *loaded]
        self.scheduler = Forked("distributed.cli.dask_scheduler", head, folder, configuration)
        self.workers = [Forked("distributed.cli.dask_worker", worker, folder, configuration) for _ in range(n_workers)]
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
def processes(n_workers: int, folder: Path, n_threads: int = 1, **configuration: str) -> Iterator[Processes]:
    """Start them, with so many threads in each worker; they end with the block. `configuration` is Dask's, as variables of the environment."""
    started = Processes(n_workers, folder, n_threads, configuration)
    try:
        with distributed.Client(started.address, timeout=60, set_as_default=False) as waiting:
            waiting.wait_for_workers(n_workers, timeout=60)
        yield started
    finally:
        started.end()
