"""What tests need that kill processes and wait for what comes of it."""

from __future__ import annotations

import contextlib
import os
import signal

import psutil
from eventual import eventually
from glassloom import Client


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    os.kill(pid, number)


def worker_pids(client: Client) -> list[int]:
    return [worker["pid"] for worker in client.scheduler_info()["workers"].values()]


def both_workers(client: Client) -> list[int]:
    """Return the pids of two workers: an earlier test may have killed one, whose replacement isn't there yet."""
    pids: list[int] = eventually(lambda: len(pids := worker_pids(client)) == 2 and pids)
    return pids


def kill_a_worker(client: Client) -> None:
    """Kill one that is alive: the head may be replacing another, or may not have noticed yet that it isn't."""

    def is_killed() -> bool:
        for pid in worker_pids(client):
            with contextlib.suppress(ProcessLookupError):
                kill(pid)
                return True
        return False

    eventually(is_killed)


def start_over(client: Client, n_workers: int) -> None:
    """Give a cluster that a test may have spoilt its workers again, without tasks: 20 times as quick as a new one."""
    assert client.cluster is not None
    client.restart()
    client.cluster.scale(n_workers)


def head_of(client: Client) -> psutil.Process:
    return psutil.Process(client._record.pid)


def fork_server_of(client: Client) -> psutil.Process:
    (fork_server,) = head_of(client).children()
    return fork_server
