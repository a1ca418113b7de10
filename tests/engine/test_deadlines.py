"""Stopped processes: every call of a client ends by its deadline, and says what was asked, and of which process."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import tasks
from fault_helpers import eventually, fork_server_of, kill, start_over
from glassloom import Client, Event, Lock, Queue, Variable, as_completed, config, delayed, wait
from glassloom.client import head_watch
from interrupts import interrupt
from leaks import Watch

ANSWER_S = 0.5
"""How long a head may take to answer in these tests."""
AT_MOST_S = 20.0
"""By when every call must have ended: its deadline, a second to withdraw, and a busy machine. Without its deadline it would take 30 s."""


SMALL: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "1GB", "set_as_default": False}


@pytest.fixture(scope="module")
def of_module(nothing_is_left_behind: Watch) -> Iterator[Client]:
    with Client(**SMALL) as client:
        yield client


@pytest.fixture
def mine(of_module: Client) -> Client:
    """Return the client of a cluster whose head may be stopped."""
    start_over(of_module, 1)
    return of_module


@pytest.fixture
def to_be_killed() -> Iterator[Client]:
    """Start a cluster that the test ends."""
    with Client(**SMALL) as client:
        yield client


@contextmanager
def little_time(request_s: float = ANSWER_S) -> Iterator[None]:
    """Let heads have little time to answer: only where one is stopped, as one that is well may take longer on a busy machine."""
    with pytest.MonkeyPatch.context() as patch, config.set(timeouts__request=request_s):
        patch.setattr("glassloom.client.blocking.WATCH_S", 0.1)
        patch.setattr(head_watch, "PING_AFTER_S", 0.2)
        yield


@contextmanager
def stopped(*pids: int, request_s: float = ANSWER_S) -> Iterator[None]:
    """Stop processes for the block, in which heads have little time to answer."""
    for pid in pids:
        kill(pid, signal.SIGSTOP)
    eventually(lambda: all(psutil.Process(pid).status() == psutil.STATUS_STOPPED for pid in pids))
    try:
        with little_time(request_s):
            yield
    finally:
        for pid in pids:
            kill(pid, signal.SIGCONT)


def seconds_until_timeout(call: Callable[[], Any], says: str) -> float:
    start_s = time.monotonic()
    with pytest.raises(TimeoutError, match=says):
        call()
    return time.monotonic() - start_s


@pytest.mark.fault("SIGSTOP of the head")
def test_every_call_ends_when_the_head_is_stopped(mine: Client) -> None:
    pid, name = mine._record.pid, mine.name
    large = mine.submit(np.ones, 10**6)
    large.exception(timeout=60)
    pending = mine.submit(time.sleep, 60)
    says = re.escape(f"the head of cluster {name!r} (process {pid}, stopped by a signal or debugger)")
    with stopped(pid):
        calls: list[Callable[[], Any]] = [
            mine.scheduler_info,
            mine.who_has,
            lambda: mine.run(time.time),
            lambda: mine.cluster.scale(2),  # type: ignore[union-attr]
            lambda: mine.cluster.adapt(),  # type: ignore[union-attr]
            lambda: mine.wait_for_workers(2),
            lambda: mine.retire_workers(n=1),
            mine.restart,
            large.result,
            pending.result,
            lambda: wait([pending]),
            lambda: next(as_completed([pending])),
            lambda: mine.gather([pending]),
            lambda: mine.list_datasets(),
            lambda: mine.publish_dataset(x=1),
            lambda: mine.run_on_head(time.time),
            lambda: delayed(abs)(-1).compute(scheduler=mine),
            lambda: Lock("deadline", client=mine).acquire(),
            lambda: Variable("deadline", client=mine).get(),
            lambda: Queue("deadline", client=mine).get(),
            lambda: Event("deadline", client=mine).wait(),
            lambda: Client(name, set_as_default=False),
        ]
        contexts = [copy_context() for _ in calls]  # a thread doesn't have options that are set for this one
        with warnings.catch_warnings(), ThreadPoolExecutor(len(calls)) as threads:
            warnings.simplefilter("ignore")
            asked = [
                threads.submit(context.run, seconds_until_timeout, call, says)
                for context, call in zip(contexts, calls, strict=True)
            ]
            assert all(future.result() < AT_MOST_S for future in asked)
    mine.cancel(pending)
    assert mine.submit(abs, -1).result(timeout=60) == 1


@pytest.mark.fault("SIGSTOP of the head")
def test_a_timeout_bounds_the_whole_of_a_wait_when_the_head_is_stopped(mine: Client) -> None:
    large = mine.submit(np.ones, 10**6)
    large.exception(timeout=60)
    pending = mine.submit(time.sleep, 60)
    with stopped(mine._record.pid, request_s=300):
        assert seconds_until_timeout(lambda: large.result(timeout=0.3), "where the result of 'ones") < AT_MOST_S
        assert seconds_until_timeout(lambda: pending.result(timeout=0.3), "has no result after 0.3 s") < AT_MOST_S
        assert seconds_until_timeout(lambda: wait([pending], timeout=0.3), "0 of 1 futures are done") < AT_MOST_S
        assert not Lock("deadline", client=mine).acquire(timeout=0.3)
    mine.cancel(pending)
    assert large.result(timeout=60).sum() == 10**6


@pytest.mark.fault("SIGSTOP of a worker whose result is asked for")
def test_a_timeout_bounds_the_fetching_from_a_stopped_worker(mine: Client) -> None:
    ((name, worker),) = mine.scheduler_info()["workers"].items()
    large = mine.submit(np.ones, 10**6, key="large")
    large.exception(timeout=60)
    says = (
        f"^worker {name} \\(process {worker['pid']}, stopped by a signal or debugger\\) has the result of 'large', and didn't "
        "share it within 0.5 s$"
    )
    with stopped(worker["pid"]):
        assert seconds_until_timeout(lambda: large.result(timeout=0.5), says) < AT_MOST_S
    assert large.result(timeout=60).sum() == 10**6


@pytest.mark.fault("SIGSTOP of a worker whose result is asked for")
def test_a_head_that_answers_is_not_said_to_be_silent(mine: Client) -> None:
    (worker,) = mine.scheduler_info()["workers"].values()
    with stopped(worker["pid"], request_s=2.0), warnings.catch_warnings():
        warnings.simplefilter("error")
        future = mine.submit(abs, -1)
        assert seconds_until_timeout(lambda: future.result(timeout=3.0), "has no result after") >= 3.0
    assert future.result(timeout=60) == 1


@pytest.mark.fault("SIGSTOP of the head for a moment")
def test_a_head_that_goes_on_is_waited_for_and_was_warned_of(
    mine: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_watch, "WARN_AFTER_S", 0.1)
    go = tmp_path / "go"
    future = mine.submit(tasks.wait_for, str(go))

    def go_on() -> None:
        eventually(lambda: len(warned))
        kill(mine._record.pid, signal.SIGCONT)
        go.touch()

    with (
        pytest.warns(UserWarning, match="hasn't answered for .* s; this process is waiting for") as warned,
        stopped(mine._record.pid, request_s=60),
        ThreadPoolExecutor(1) as threads,
    ):
        going_on = threads.submit(go_on)
        assert future.result(timeout=60) is None
        going_on.result()


@pytest.mark.fault("SIGSTOP of the head, then close()")
@pytest.mark.parametrize("also_the_fork_server", [False, True])
def test_a_stopped_head_is_killed_by_close_which_says_so(
    to_be_killed: Client, caplog: pytest.LogCaptureFixture, also_the_fork_server: bool
) -> None:
    client = to_be_killed
    pids = [client._record.pid, *[fork_server_of(client).pid] * also_the_fork_server]
    workers = [worker["pid"] for worker in client.scheduler_info()["workers"].values()]
    everyone = [client._record.pid, fork_server_of(client).pid, *workers]
    start_s = time.monotonic()
    with caplog.at_level(logging.WARNING, "glassloom"):
        for pid in pids:
            kill(pid, signal.SIGSTOP)
        with little_time():
            client.close()
    assert time.monotonic() - start_s < AT_MOST_S
    assert f"process {client._record.pid}, was killed with its workers: it was stopped by a signal" in caplog.text
    eventually(lambda: not any(psutil.pid_exists(pid) for pid in everyone))


@pytest.mark.fault("SIGSTOP of the head while much is sent")
def test_what_a_stopped_head_does_not_read_is_bounded(mine: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassloom.client.outbox.LIMIT_BYTES", 2**20)
    with stopped(mine._record.pid):
        says = "has read nothing for 0.5 s, so that a message of"
        assert (
            seconds_until_timeout(lambda: [mine.submit(len, b"x" * 60_000, pure=False) for _ in range(99)], says) < 60
        )
    assert mine.submit(abs, -1).result(timeout=60) == 1


@pytest.mark.fault("SIGSTOP of the head while much is sent, and Ctrl-C")
def test_an_interrupt_while_the_head_reads_nothing_leaves_the_client_usable(
    mine: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassloom.client.outbox.LIMIT_BYTES", 2**20)
    arguments = [bytes([number]) * 60_000 for number in range(30)]
    with stopped(mine._record.pid, request_s=300):
        for number in (1, 50, 100, 200, 400, 800):
            interrupt(lambda: mine.submit(len, b"y" * 60_000, pure=False), number)
        with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patch:
            patch.setattr("glassloom.client.outbox.WaitFor", _interrupted)
            while True:
                mine.map(len, arguments, pure=False)
    assert mine.gather(mine.map(len, arguments)) == [60_000] * 30
    eventually(lambda: not mine.who_has())


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.fault("SIGSTOP of the head")
def test_what_an_event_loop_waits_for_ends_too(mine: Client) -> None:
    async def ask() -> None:
        async with Client(mine.name, asynchronous=True, set_as_default=False) as client:
            pending = client.submit(time.sleep, 60)
            with stopped(mine._record.pid):
                for waits in (pending.result, client.scheduler_info, lambda: client.gather([pending])):
                    with pytest.raises(TimeoutError, match="the head of cluster"):
                        await waits()
            client.cancel(pending)

    asyncio.run(asyncio.wait_for(ask(), 60))


class _Head:
    """A connection that notes what it is asked, and a head that answers as the test says."""

    heard_s = 0.0

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: Any = None

    def head(self) -> str:
        return "the head"

    def post_question(self, make: Callable[[int], Any]) -> Callable[[], Any]:
        self.asked.append(type(make(0)).__name__)
        return lambda: self.answer


def test_a_head_is_pinged_only_if_it_said_nothing_to_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(head_watch, "monotonic", lambda: now_s)
    head = _Head()
    watch = head_watch.HeadWatch(head, "a result")
    head.heard_s = 99.0
    watch()
    assert head.asked == []
    now_s = 104.5
    watch()
    assert head.asked == ["Ping"]
    now_s = 200.0
    head.heard_s = 199.0  # it is busy with what others ask, but alive
    watch()
    now_s = 240.0
    with pytest.raises(TimeoutError, match="the head hasn't answered for 41 s; this process was waiting for a result"):
        watch()


SCRIPT = """
import sys
from glassloom import Client, fire_and_forget
client = Client(sys.argv[1], set_as_default=False)
def write(path):
    with open(path, "w") as file:
        file.write("done")
fire_and_forget([client.submit(write, sys.argv[2] + str(number)) for number in range(20)])
"""


def test_what_was_sent_last_arrives_although_the_process_ends_at_once(mine: Client, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SCRIPT, mine.name, f"{tmp_path}/file"], check=True, timeout=300)
    eventually(lambda: len([path for path in tmp_path.iterdir() if path.read_text() == "done"]) == 20)
