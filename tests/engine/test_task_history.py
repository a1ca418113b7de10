"""`TaskHistory`: the latest events of all tasks, in batches, bounded."""

from __future__ import annotations

from typing import Any

from glassloom.graph.keys import Key
from glassloom.head.task_history import TaskHistory, format_duration
from glassloom.protocol.clock import Clock
from glassloom.protocol.finished import FinishedTasks, finished_message
from glassloom.scheduler import Scheduler


def submitted(keys: list[Key], max_kept: int = 1000) -> tuple[TaskHistory, Scheduler]:
    scheduler = Scheduler(lambda kind, _task: kind)
    history = TaskHistory(scheduler, Clock(), max_kept)
    hand_in(history, scheduler, keys)
    return history, scheduler


def hand_in(history: TaskHistory, scheduler: Scheduler, keys: list[Key]) -> None:
    scheduler.submit("client", keys, ["spec"] * len(keys), [[] for _ in keys], wanted=keys)
    history.submitted(0, keys)


def finish(history: TaskHistory, numbers: list[int]) -> None:
    n = len(numbers)
    message = finished_message(numbers, [0] * n, [1.0] * n, [3.0] * n, [2048] * n, *[[0.0] * n] * 3, [None] * n)
    history.finished("w0", FinishedTasks(message))


def told(history: TaskHistory, scheduler: Scheduler, key: Any) -> list[str]:
    return [event.text for event in history.events_of(scheduler.tasks[key].number, key)]


def test_each_task_has_its_own_part_of_a_batch() -> None:
    history, scheduler = submitted(["a", "b", "c"])
    finish(history, [scheduler.tasks["c"].number])
    assert sorted(told(history, scheduler, "c")) == [
        "ran for 2 s; its result takes 2.00 KiB",
        "submitted by client 0",
    ]
    assert told(history, scheduler, "a") == ["submitted by client 0"]


def test_tasks_that_are_handed_in_again_keep_their_numbers() -> None:
    history, scheduler = submitted(["a", "b"])
    hand_in(history, scheduler, ["new", "a", "newer"])
    assert told(history, scheduler, "a") == ["submitted by client 0"] * 2
    assert told(history, scheduler, "newer") == ["submitted by client 0"]
    assert history.number_of("newer") == scheduler.tasks["newer"].number


def test_the_oldest_batches_go_first() -> None:
    history, scheduler = submitted([("x", number) for number in range(40)], max_kept=100)
    assert history.forgotten_before_s == 0.0
    finish(history, [scheduler.tasks["x", 0].number] * 70)
    assert history.forgotten_before_s > 0.0
    assert told(history, scheduler, ("x", 1)) == []
    assert len(told(history, scheduler, ("x", 0))) == 1


def test_results_that_follow_each_other_count_too_and_are_not_kept() -> None:
    history, scheduler = submitted([("x", number) for number in range(40)], max_kept=100)
    first = scheduler.tasks["x", 0].number
    for _ in range(10):
        finish(history, list(range(first, first + 40)))
    assert len(history._batches) == 2
    assert len(told(history, scheduler, ("x", 39))) == 2
    assert not any(hasattr(subject, "results") for _, _, _, subject, _, _ in history._batches)


def test_a_graph_that_is_larger_than_the_bound_is_remembered_without_its_keys() -> None:
    history, scheduler = submitted([("x", number) for number in range(5000)], max_kept=100)
    assert told(history, scheduler, ("x", 4999)) == ["submitted by client 0"]
    assert history.number_of(("x", 4999)) is None
    assert history.forgotten_before_s == 0.0


def test_a_graph_that_was_refused_is_not_mentioned() -> None:
    history, _ = submitted(["a"])
    history.submitted(0, ["refused"])
    assert history.number_of("refused") is None


def test_durations_are_for_people() -> None:
    assert [format_duration(value) for value in (0.0004, 0.25, 12.3456, 300, 9000)] == [
        "0.4 ms",
        "250 ms",
        "12.3 s",
        "5 min",
        "2.5 h",
    ]
