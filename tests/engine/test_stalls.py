"""Tasks and workers that don't come to an end: stopped processes, tasks that never return, children that stay behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tasks
from fault_helpers import both_workers, eventually, kill, worker_pids
from glassloom import Client, wait
from glassloom.errors import CancelledError, RemoteError, SerialisationError
from glassloom.head.connections import WorkerConnection
from glassloom.head.health import CANCELLED_S, STOPPED_S, STUCK_S, Health
from glassloom.protocol import messages
from glassloom.scheduler import Pressure
from glassloom.store.store import RETRY_FULL_DISK_S
from long_tests import LONG_TESTS

"""Whether to stop workers for as long as it takes to be replaced, too."""


class Unpicklable:
    def __reduce__(self) -> Any:
        raise TypeError("not this one")


class UnpicklableError(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")
        self.handle = Unpicklable()


# What is decided


def test_a_worker_must_go_when_something_has_been_wrong_for_too_long() -> None:
    health = Health()
    assert health.observe(0.0, is_stopped=True, cancelled=()) == ""
    assert health.observe(STOPPED_S - 0.1, is_stopped=True, cancelled=()) == ""
    assert health.observe(STOPPED_S, is_stopped=True, cancelled=()) == "its process was stopped for 60 s"


def test_what_went_by_does_not_count_any_more() -> None:
    health = Health()
    for at_s, is_stuck in ((0.0, True), (STUCK_S - 1, False), (STUCK_S, True), (2 * STUCK_S - 1, True)):
        health.note_report(at_s, is_stuck=is_stuck)
        assert health.observe(at_s, is_stopped=False, cancelled=()) == ""
    health.note_report(2 * STUCK_S, is_stuck=True)
    assert health.observe(2 * STUCK_S, is_stopped=False, cancelled=()) != ""


def test_a_worker_that_told_nothing_new_is_not_taken_to_be_stuck_still() -> None:
    """It, or the head, may have had no CPU: then its last report is old, and the next ones are still to be read."""
    health = Health()
    health.note_report(0.0, is_stuck=True)
    health.note_report(STUCK_S - 0.5, is_stuck=True)
    assert health.observe(10 * STUCK_S, is_stopped=False, cancelled=()) == ""
    health.note_report(STUCK_S, is_stuck=True)
    assert health.observe(10 * STUCK_S, is_stopped=False, cancelled=()) != ""


@pytest.mark.parametrize(
    ("told", "publishing", "is_stuck"),
    [
        ({}, [], True),
        ({}, [1], False),
        ({"executing": 1}, [], False),
        ({"queued": 1}, [], False),
        ({"spillable_bytes": 1}, [], False),
    ],
)
def test_a_worker_that_can_still_do_something_is_not_stuck(
    told: dict[str, int], publishing: list[int], is_stuck: bool
) -> None:
    state: Any = SimpleNamespace(publishing=dict.fromkeys(publishing))
    missing: Any = None
    worker = WorkerConnection(missing, missing, os.getpid(), state, pressure=Pressure.PAUSED)
    for at_s in (0.0, STUCK_S):
        sizes = {"executing": 0, "queued": 0, "spillable_bytes": 0, **told}
        worker.note_sample(messages.Sample(at_s, 0.0, 1, 0, 0, own_bytes=1, **sizes))
    assert bool(worker.health.observe(STUCK_S, is_stopped=False, cancelled=())) is is_stuck


def test_a_full_disk_is_tried_again_before_its_worker_is_taken_to_be_stuck() -> None:
    assert 2 * RETRY_FULL_DISK_S < STUCK_S


def test_cancelled_tasks_are_timed_one_by_one() -> None:
    health = Health()
    for number in range(20):
        assert health.observe(float(number), is_stopped=False, cancelled=[number, number + 1]) == ""
    reason = health.observe(19 + CANCELLED_S, is_stopped=False, cancelled=[19])
    assert reason == "a task that was cancelled on it went on for 10 s"


# Real workers


@pytest.mark.fault("SIGSTOP of a worker while it runs tasks")
def test_other_workers_go_on_while_one_is_stopped(client: Client) -> None:
    stopped, _ = both_workers(client)
    kill(stopped, signal.SIGSTOP)
    try:
        results = client.map(time.sleep, [0.01] * 100, pure=False)
        eventually(lambda: sum(future.done() for future in results) >= 90, 60)
        time.sleep(30 if LONG_TESTS else 2)
    finally:
        kill(stopped, signal.SIGCONT)
    assert client.gather(results) == [None] * 100
    assert stopped in worker_pids(client)


@pytest.mark.long
@pytest.mark.fault("SIGSTOP of a worker for good")
def test_the_tasks_of_a_worker_that_stays_stopped_run_elsewhere(client: Client) -> None:
    signal.alarm(150)
    stopped, _ = both_workers(client)
    blocks = client.map(tasks.big, [1] * 8, [float(n) for n in range(8)])
    wait(blocks)
    kill(stopped, signal.SIGSTOP)
    assert client.gather(client.map(tasks.mean, blocks)) == [float(n) for n in range(8)]
    assert stopped not in worker_pids(client)


@pytest.mark.long
@pytest.mark.fault("a task that never returns is cancelled")
def test_a_task_that_never_returns_can_be_cancelled_and_its_thread_is_won_back(tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        kept = client.submit(lambda: tasks.count_run(str(tmp_path / "runs"), tasks.big(1, 4.0)))
        wait(kept)
        begun = tmp_path / "begun"
        endless = client.submit(tasks.begin_and_wait, str(begun), str(tmp_path / "never"))
        pid = int(eventually(lambda: begun.exists() and begun.read_text()))
        endless.cancel()
        with pytest.raises(CancelledError, match="was cancelled"):
            endless.result(timeout=60)
        assert client.submit(os.getpid, pure=False).result(timeout=CANCELLED_S + 10) != pid
        eventually(lambda: not _exists(pid))
        assert float(kept.result().max()) == 4.0
        log = Path(client._record.directory, "cluster.log").read_text()
    assert (tmp_path / "runs").read_text() == "x"
    assert "is replaced: a task that was cancelled on it went on for 10 s" in log
    assert "error:" not in log


def _exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.long
@pytest.mark.fault("a task that leaves a child process running")
def test_what_a_task_leaves_running_ends_with_its_worker(tmp_path: Path) -> None:
    def leave_a_child() -> int:
        pid = os.fork()
        if not pid:
            while True:
                time.sleep(60)
        return pid

    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        first = client.submit(leave_a_child, pure=False).result()
        kill(worker_pids(client)[0])
        eventually(lambda: not _exists(first))
        second = client.submit(leave_a_child, pure=False).result(timeout=60)
        assert _exists(second)
    eventually(lambda: not _exists(second))


@pytest.mark.fault("a task that returns what can't be pickled")
def test_a_result_that_cannot_be_pickled_names_its_task(client: Client) -> None:
    future = client.submit(Unpicklable, pure=False)
    with pytest.raises(SerialisationError, match="Unpicklable can't be sent to another process") as error:
        future.result(timeout=60)
    assert future.key in str(error.value) + "".join(error.value.__notes__)
    assert client.submit(lambda value: type(value).__name__, future).result(timeout=60) == "Unpicklable"


@pytest.mark.fault("a task that raises what can't be pickled")
def test_an_exception_that_cannot_be_pickled_is_described(client: Client) -> None:
    def fail() -> None:
        raise UnpicklableError("two", "words")

    future = client.submit(fail, pure=False)
    with pytest.raises(RemoteError, match="UnpicklableError: two words") as error:
        future.result(timeout=60)
    assert any(future.key in note for note in error.value.__notes__)
