"""`Client.run_on_head`: a function on a snapshot of the head, which itself runs none of it."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import tasks
from glassloom import Client
from glassloom.errors import ClusterError
from test_client import eventually


def children(client: Client) -> list[int]:
    return sorted(child.pid for child in psutil.Process(client._record.pid).children())


def test_the_function_sees_the_heads_state(client: Client) -> None:
    future = client.submit(tasks.inc, 1, key="look-at-me")
    future.result()

    def look(prefix: str, head: Any) -> tuple[Any, ...]:
        found = [key for key in head.scheduler.tasks if key.startswith(prefix)]
        return found, sorted(head.scheduler.workers), [worker.nthreads for worker in head.workers], head.n_clients > 0

    assert client.run_on_head(look, "look-at") == (["look-at-me"], sorted(
        worker["number"] for worker in client.scheduler_info()["workers"].values()
    ), [2, 2], True)  # fmt: skip


def test_it_runs_in_another_process_which_ends(client: Client) -> None:
    before = children(client)
    pid, parent = client.run_on_head(lambda: (os.getpid(), os.getppid()))
    assert parent == client._record.pid
    assert pid not in before
    assert children(client) == before


def test_what_it_changes_is_changed_nowhere(client: Client) -> None:
    future = client.submit(tasks.inc, 1)
    future.result()
    client.run_on_head(lambda head: head.scheduler.individual_tasks.clear())
    assert client.submit(tasks.inc, future).result() == 3


def test_it_has_none_of_the_heads_connections(client: Client) -> None:
    def sockets() -> list[int]:
        found = []
        for descriptor in range(3, 1000):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    found.append(descriptor)
        return found

    assert client.run_on_head(sockets) == []


def test_what_it_raises_is_raised_here(client: Client) -> None:
    with pytest.raises(KeyError, match="nowhere"):
        client.run_on_head(lambda head: head.scheduler.tasks["nowhere"])


def test_it_is_ended_when_its_time_is_over_and_the_head_goes_on(client: Client, tmp_path: Path) -> None:
    before = children(client)
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"run_on_head: the function was ended after 0\.2 s"):
        client.run_on_head(tasks.wait_for, str(tmp_path / "never"), timeout="200ms")
    assert time.monotonic() - started < 50
    assert children(client) == before


def test_tasks_run_while_it_does(client: Client, tmp_path: Path) -> None:
    found: list[Any] = []
    looking = threading.Thread(
        target=lambda: found.append(
            client.run_on_head(tasks.begin_and_wait, str(tmp_path / "b"), str(tmp_path / "go"), 5)
        )
    )
    looking.start()
    eventually((tmp_path / "b").exists)
    assert client.submit(tasks.inc, 1, pure=False).result(timeout=60) == 2
    (tmp_path / "go").touch()
    looking.join(60)
    assert found == [5]


def test_a_function_that_ends_its_process_is_an_error(client: Client) -> None:
    with pytest.raises(ClusterError, match="run_on_head: the function's process ended without a result"):
        client.run_on_head(os._exit, 3)
    assert client.submit(tasks.inc, 1, pure=False).result(timeout=60) == 2


def test_a_result_that_is_too_large_is_an_error(client: Client) -> None:
    with pytest.raises(ClusterError, match="run_on_head: the function's result is larger than 16 MiB"):
        client.run_on_head(bytes, 17 * 2**20)
