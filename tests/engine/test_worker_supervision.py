"""Whatever the engine's own code in a worker raises: the worker is replaced and says why, the tasks end, nothing hangs.

Each call that may raise costs a worker: every 12th of them is made to, and every third under ``GLASSLOOM_LONG_TESTS=1``; others
each day.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from fault_helpers import eventually, worker_pids
from glassloom import Client, wait
from glassloom.errors import WorkerLost
from glassloom.worker import worker
from interrupts import numbers_of_today
from long_tests import LONG_TESTS

pytestmark = pytest.mark.more

ENGINE = str(Path(worker.__file__).parents[1])
EVERY = 3 if LONG_TESTS else 12
EVERY_OF_A_MAP = 1 if LONG_TESTS else 4


@pytest.fixture(autouse=True)
def time_for_all_calls(bounded_time: None) -> None:
    """Many calls take minutes."""
    if LONG_TESTS:
        signal.alarm(600)


@pytest.fixture(scope="module")
def cluster_to_crash(imports_preloaded: None) -> Iterator[Client]:
    """Start a cluster whose workers are made to crash."""
    with Client(n_workers=1, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        yield client


@pytest.fixture
def crashing_client(cluster_to_crash: Client) -> Client:
    """Return the module's client once it has its worker: an earlier test may have crashed it."""
    cluster_to_crash.wait_for_workers(1, timeout=60)
    return cluster_to_crash


class Injected(Exception):
    """What is raised in the engine's code."""


class RaiseAtCall:
    """A profile function that raises at the n-th call that the engine's code makes after the user's function has returned.

    The calls of the task's thread alone count, until it waits for its next task; in Python or in C. What raised, or that
    there are no more calls, is written to a file.
    """

    def __init__(self, position: int, path: str) -> None:
        self.left = position
        self.path = path
        self.has_returned = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self.has_returned:
            self.has_returned = event == "return" and frame.f_code.co_name == "set_trap"
            return
        caller = frame if event == "c_call" else frame.f_back
        if event not in ("call", "c_call") or caller is None or not caller.f_code.co_filename.startswith(ENGINE):
            return
        name = frame.f_code.co_qualname if event == "call" else f"{frame.f_code.co_qualname}>{argument.__name__}"
        if name in ("TaskQueue.get", "run_slice>popitem"):
            sys.setprofile(None)
            Path(self.path).write_text("the end")
            return
        if self.left == 0:
            sys.setprofile(None)
            Path(self.path).write_text(name)
            raise Injected(name)
        self.left -= 1


def array_result() -> Any:
    return np.ones(100_000)


def small_result() -> int:
    return 5


def odd_result() -> Any:
    return {"a": object}


def no_result() -> None:
    raise ValueError("no result")


def set_trap(position: int, path: str, make: Callable[[], Any]) -> Any:
    """Have the engine's code raise in this thread once this function has returned, and never again."""
    if not os.path.exists(path):
        sys.setprofile(RaiseAtCall(position, path))
    return make()


@pytest.mark.fault("the engine's own code raises, at each call after a task's function")
@pytest.mark.parametrize("make", [array_result, small_result, odd_result, no_result])
def test_each_call_of_the_engine_after_a_task_may_raise(
    crashing_client: Client, tmp_path: Path, make: Callable[[], Any]
) -> None:
    raised, where = [], ""
    for position in numbers_of_today(0, EVERY):
        path = tmp_path / f"{position}"
        future = crashing_client.submit(set_trap, position, str(path), make, pure=False)
        wait(future, timeout=60)
        assert future.status in ("finished", "error")
        assert crashing_client.submit(os.getpid, pure=False).result(timeout=60) > 0
        eventually(path.exists)
        where = eventually(path.read_text)
        if where == "the end":
            break
        raised.append(where)
    assert where == "the end"
    assert len(raised) * EVERY > 20, raised


@pytest.mark.long
@pytest.mark.fault("the engine's own code raises, at each call after a task's function")
def test_each_call_of_the_engine_after_a_task_of_a_map_may_raise(crashing_client: Client, tmp_path: Path) -> None:
    raised, where = [], ""
    for position in numbers_of_today(0, EVERY_OF_A_MAP):
        path = tmp_path / f"{position}"
        futures = crashing_client.map(set_trap_in_third, range(12), position=position, path=str(path), pure=False)
        wait(futures, timeout=60)
        assert {future.status for future in futures} == {"finished"}
        assert crashing_client.gather(futures) == list(range(12))
        eventually(path.exists)
        where = eventually(path.read_text)
        if where == "the end":
            break
        raised.append(where)
    assert where == "the end"
    assert len(raised) * EVERY_OF_A_MAP > 6, raised


def set_trap_in_third(number: int, position: int, path: str) -> int:
    if number == 3:
        set_trap(position, path, small_result)
    return number


def crash_thread(name: str) -> None:
    """Let the next call of a worker's thread raise."""

    def fail(*_: Any, **__: Any) -> None:
        raise Injected(f"in the {name} thread")

    targets = {
        "housekeeping": (worker.Worker, "_sample"),
        "memory": (worker.MemoryMonitor, "look"),
        "publisher": (worker.Publisher, "_take"),
        "reader": (worker.Worker, "_drop"),
        "invoke": (worker.user_code, "invoke"),
        "lane-0": (worker.TaskRunner, "_finished"),
    }
    setattr(*targets[name], fail)


@pytest.mark.fault("a thread of a worker's crashes")
@pytest.mark.parametrize("name", ["housekeeping", "memory", "publisher", "reader", "lane-0"])
def test_a_thread_that_crashes_ends_the_worker_with_a_reason(crashing_client: Client, name: str) -> None:
    (pid,) = eventually(lambda: worker_pids(crashing_client))
    crashing_client.run(crash_thread, name)
    held = crashing_client.submit(odd_result, pure=False)
    if name == "reader":
        wait(held)
        del held
        crashing_client.submit(small_result, pure=False).result(timeout=60)
    else:
        assert held.result(timeout=60) == {"a": object}
    eventually(lambda: worker_pids(crashing_client) not in ([], [pid]))
    log = Path(crashing_client._record.directory, "cluster.log")
    reason = f"{name} crashed: Injected: in the {name} thread"
    eventually(lambda: f"(pid {pid}) is gone: {reason}" in log.read_text())
    assert "Traceback" in log.read_text()


def crash_lane() -> None:
    """Crash the task's thread once this has returned."""
    crash_thread("lane-0")


@pytest.mark.fault("a thread of a worker's crashes")
def test_a_task_that_is_blamed_for_crashes_says_what_crashed(crashing_client: Client) -> None:
    with pytest.raises(WorkerLost, match="lane-0 crashed: Injected: in the lane-0 thread"):
        crashing_client.submit(crash_lane, pure=False).result(timeout=60)


class Tracked:
    """Makes a file when it goes."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __del__(self) -> None:
        Path(self.path).touch()


def fail_with_local(path: str) -> None:
    tracked = Tracked(path)
    raise ValueError(f"it failed with {type(tracked).__name__}")


def test_what_a_failed_task_had_is_let_go_at_once(client: Client, tmp_path: Path) -> None:
    client.run(gc.disable)
    try:
        for number in range(3):
            path = tmp_path / f"{number}"
            failed = client.submit(fail_with_local, str(path), pure=False)
            wait(failed)
            eventually(path.exists)
    finally:
        client.run(gc.enable)


def test_no_thread_of_a_worker_is_without_supervision(crashing_client: Client) -> None:
    def targets() -> list[str]:
        threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
        return [t.name for t in threads if "start_thread" not in t.run.__self__._target.__qualname__]  # type: ignore[attr-defined]

    assert list(crashing_client.run(targets).values()) == [[]]
