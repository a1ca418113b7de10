"""Places in the common order: `FairShare` by itself, and under a scheduler that lives long."""

from __future__ import annotations

import time

import pytest
from glassloom.scheduler import Scheduler
from glassloom.scheduler.fairness import FairShare
from glassloom.scheduler.transitions import Transitions


def test_a_graph_comes_after_the_place_that_was_reached() -> None:
    share = FairShare()
    assert share.assign("a", 0, 1) == 0
    share.advance(0)
    assert share.assign("b", 0, 1) == 1


def test_graphs_of_one_client_follow_each_other() -> None:
    share = FairShare()
    assert [share.assign("a", 0, 10), share.assign("a", 0, 10), share.assign("b", 0, 10)] == [0, 10, 0]


def test_a_higher_priority_comes_before_all_places_of_a_lower_one() -> None:
    share = FairShare()
    share.assign("a", 0, 10**6)
    assert share.assign("a", 1, 10) + 10 <= share.assign("b", 0, 1)


def test_a_client_that_is_gone_has_no_place_left() -> None:
    share = FairShare()
    share.assign("a", 0, 10)
    share.assign("a", 5, 10)
    share.forget("a")
    assert share._ends == {}


def test_clients_whose_tasks_have_ended_are_forgotten() -> None:
    share = FairShare()
    for client in range(100_000):
        share.advance(share.assign(client, 0, 1))
        assert len(share._ends) <= 65


def test_clients_whose_tasks_have_not_ended_are_remembered_at_a_bounded_cost() -> None:
    share = FairShare()
    start_s = time.process_time()
    for client in range(100_000):
        share.assign(client, 0, 1)
    assert len(share._ends) == 100_000
    assert time.process_time() - start_s < 10  # quadratic, it would be minutes


def test_computations_of_one_task_leave_nothing_behind() -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key))
    scheduler.worker_joined(0, "w0", 1)
    for number in range(100_000):
        client, key = object(), f"inc-{number}"
        scheduler.submit(client, [key], ["spec"], [()], wanted=[key])
        (tasks,) = scheduler.take_actions().run.values()
        scheduler.finished(0, [tasks[0].number], [8], [1e-6], [None])
        scheduler.release(client, [key])
    assert len(scheduler._fair_share._ends) <= 65
    assert not scheduler.tasks


def test_an_error_while_a_result_is_released_does_not_stop_later_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key))
    scheduler.worker_joined(0, "w0", 1)
    scheduler.submit("me", ["a", "b", "c", "d"], ["spec"] * 4, [(), (0,), (), (2,)], wanted=["a", "b", "c", "d"])
    numbers = {key: scheduler.tasks[key].number for key in "abcd"}
    for _ in range(4):
        for tasks in scheduler.take_actions().run.values():
            scheduler.finished(
                0, [task.number for task in tasks], [8] * len(tasks), [1.0] * len(tasks), [None] * len(tasks)
            )
    with monkeypatch.context() as context, pytest.raises(MemoryError):
        context.setattr(Transitions, "_let_go", _raise_memory_error)
        scheduler.release("me", ["a"])
    scheduler.release("me", ["c"])
    assert scheduler.take_actions().drop == {scheduler.workers[0]: [numbers["c"]]}


def _raise_memory_error(*_: object) -> None:
    raise MemoryError
