"""Places in the common order: `FairShare` by itself, and under a scheduler that lives long."""

from __future__ import annotations

import time

import invariants
import pytest
from glassloom.scheduler import Scheduler, TaskSlice
from glassloom.scheduler.fairness import FairShare
from glassloom.scheduler.transitions import Transitions


def test_a_graph_comes_after_the_place_that_was_reached() -> None:
    share = FairShare()
    assert share.assign("a", 0, 1)[0] == 0
    share.advance(0)
    assert share.assign("b", 0, 1)[0] == 1


def test_graphs_of_one_client_follow_each_other() -> None:
    share = FairShare()
    assert [share.assign(client, 0, 10)[0] for client in "aab"] == [0, 10, 0]


def test_a_higher_priority_comes_before_all_places_of_a_lower_one() -> None:
    share = FairShare()
    share.assign("a", 0, 10**6)
    assert share.assign("a", 1, 10)[0] + 10 <= share.assign("b", 0, 1)[0]


def test_a_client_that_is_gone_has_no_place_left() -> None:
    share = FairShare()
    share.assign("a", 0, 10)
    share.assign("a", 5, 10)
    share.forget("a")
    assert share._places == {}


def test_clients_whose_tasks_have_ended_are_forgotten() -> None:
    share = FairShare()
    for client in range(100_000):
        share.advance(share.assign(client, 0, 1)[0])
        assert len(share._places) <= 65


def test_clients_whose_tasks_have_not_ended_are_remembered_at_a_bounded_cost() -> None:
    share = FairShare()
    start_s = time.process_time()
    for client in range(100_000):
        share.assign(client, 0, 1)
    assert len(share._places) == 100_000
    assert time.process_time() - start_s < 10  # quadratic, it would be minutes


def test_places_at_the_end_that_were_given_up_are_given_out_again() -> None:
    share = FairShare()
    first, places = share.assign("a", 0, 1000)
    places.give_up(first + 500, 500)
    assert share.assign("a", 0, 1)[0] == 500
    places.give_up(first + 10, 490)
    assert share.assign("a", 0, 1)[0] == 501
    places.give_up(500, 2)
    assert share.assign("a", 0, 1)[0] == 10
    share.advance(20)
    places.give_up(0, 1000)
    assert share.assign("a", 0, 1)[0] == 21


def test_a_clients_places_take_no_memory_once_they_are_reached() -> None:
    share = FairShare()
    for number in range(10_000):
        first, places = share.assign("a", 0, 100)
        assert first == 100 * number
        share.advance(first + 50)
    assert len(places._is_kept) <= 500


@pytest.mark.parametrize("min_block", [2, None], ids=["blocks", "no blocks"])
@pytest.mark.parametrize("how", ["cancel", "release", "keep the first", "fail", "input fails"])
def test_a_client_is_not_charged_for_tasks_that_were_given_up(how: str, min_block: int | None) -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=min_block)
    scheduler.worker_joined(0, "w0", 1)
    hand_in(scheduler, "you", [f"other-{number}" for number in range(100)])
    mine = [f"x-{number}" for number in range(1000)]
    if how == "input fails":
        scheduler.submit("me", ["a", *mine], ["a", *mine], [(), *[(0,)] * 1000], wanted=["a", *mine])
        while not scheduler.tasks["a"].worker:
            run_next(scheduler)
        number = scheduler.number_of("a")
        assert number is not None
        scheduler.failed(0, number, "error")
    else:
        hand_in(scheduler, "me", mine)
    if how == "cancel":
        scheduler.cancel(mine)
    elif how == "release":
        scheduler.release("me", mine)
    elif how == "keep the first":
        scheduler.cancel(mine[1:])
    elif how == "fail":
        for key in mine:
            scheduler._transitions.fail(scheduler.tasks[key], "error")
    invariants.check(scheduler)
    hand_in(scheduler, "me", ["y-0"])
    assert scheduler.tasks["y-0"].priority <= 2


def test_a_place_that_was_given_up_and_given_out_again_is_not_given_up_twice() -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key))
    scheduler.worker_joined(0, "w0", 1)
    hand_in(scheduler, "me", ["x-0", "x-1", "x-2"])
    scheduler._transitions.fail(scheduler.tasks["x-2"], "error")
    hand_in(scheduler, "me", ["y-0"])
    scheduler.release("me", ["x-2"])
    hand_in(scheduler, "me", ["y-1"])
    assert [scheduler.tasks[key].priority for key in ("y-0", "y-1")] == [2, 3]


def test_a_client_is_charged_for_new_tasks_only() -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=2)
    scheduler.worker_joined(0, "w0", 1)
    mine = [f"x-{number}" for number in range(1000)]
    hand_in(scheduler, "me", mine)
    while run_next(scheduler):
        pass
    for _ in range(3):
        hand_in(scheduler, "me", [*mine, "x-new"])
    hand_in(scheduler, "me", ["y-0"])
    assert [scheduler.tasks[key].priority for key in ("x-new", "y-0")] == [1000, 1001]


def test_tasks_that_failed_count_as_having_run() -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=2)
    scheduler.worker_joined(0, "w0", 1)
    hand_in(scheduler, "me", [f"x-{number}" for number in range(1000)])
    while tasks := run_items(scheduler):
        for number in tasks:
            scheduler.failed(0, number, "error")
    hand_in(scheduler, "you", ["other-0"])
    hand_in(scheduler, "me", ["y-0"])
    assert [scheduler.tasks[key].priority for key in ("other-0", "y-0")] == [1000, 1000]


def hand_in(scheduler: Scheduler, client: str, keys: list[str]) -> None:
    scheduler.submit(client, keys, keys, [()] * len(keys), wanted=keys)


def run_items(scheduler: Scheduler) -> list[int]:
    """Take the actions; return the numbers of what is to run."""
    items = [item for items in scheduler.take_actions().run.values() for item in items]
    return [number for item in items for number in (item.numbers if isinstance(item, TaskSlice) else [item.number])]


def run_next(scheduler: Scheduler) -> bool:
    """Let the worker run what it is sent but "a"; return whether there was anything."""
    numbers = run_items(scheduler)
    for number in numbers:
        if number != scheduler.number_of("a"):
            scheduler.finished(0, [number], [8], [1.0], [None])
    return bool(numbers)


def test_computations_of_one_task_leave_nothing_behind() -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key))
    scheduler.worker_joined(0, "w0", 1)
    for number in range(20_000):
        client, key = object(), f"inc-{number}"
        scheduler.submit(client, [key], ["spec"], [()], wanted=[key])
        (tasks,) = scheduler.take_actions().run.values()
        scheduler.finished(0, [tasks[0].number], [8], [1e-6], [None])
        scheduler.release(client, [key])
    assert len(scheduler._fair_share._places) <= 65
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
