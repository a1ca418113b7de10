"""Blocks of independent tasks: what slices of them do by example, and when a task leaves its block."""

from __future__ import annotations

from typing import Any

import invariants
import pytest
from glassloom.scheduler import MAX_QUEUED, Scheduler, State, TaskSlice
from glassloom.scheduler.block_table import BlockTable

KEYS = [f"x-{number}" for number in range(20)]


@pytest.fixture
def scheduler() -> Scheduler:
    """A scheduler with a block of 20 tasks, all sent to a worker of 20 threads."""
    scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=2)
    scheduler.worker_joined(0, "w0", 20)
    scheduler.submit("me", KEYS, [f"spec {key}" for key in KEYS], [()] * 20, wanted=KEYS)
    assert texts(scheduler.take_actions().run) == {scheduler.workers[0]: ["x-0..x-19"]}
    invariants.check(scheduler)
    return scheduler


def texts(found: dict[Any, list[Any]]) -> dict[Any, list[str]]:
    """Return slices as first and last key, and tasks as their key."""
    return {
        who: [f"{item.keys[0]}..{item.keys[-1]}" if isinstance(item, TaskSlice) else item.key for item in items]
        for who, items in found.items()
    }


def finish(scheduler: Scheduler, numbers: list[int], location: Any = None) -> None:
    n = len(numbers)
    scheduler.finished(0, numbers, [8] * n, [1e-3] * n, [location] * n)
    invariants.check(scheduler)


def counts(scheduler: Scheduler) -> dict[str, int]:
    return {state.name: n for state, n in zip(State, scheduler.layers["x"].counts, strict=True) if n}


def test_a_slice_finishes_at_once(scheduler: Scheduler) -> None:
    finish(scheduler, list(range(5, 15)))
    assert texts(scheduler.take_actions().finished) == {"me": ["x-5..x-14"]}
    assert counts(scheduler) == {"RUNNING": 10, "MEMORY": 10}
    assert (scheduler.workers[0].n_running, scheduler.workers[0].n_held) == (10, 10)


def test_what_is_reported_out_of_order_finishes_too(scheduler: Scheduler) -> None:
    finish(scheduler, [3, 1, 2, 7, 0])
    assert sorted(texts(scheduler.take_actions().finished)["me"]) == ["x-0..x-0", "x-1..x-2", "x-3..x-3", "x-7..x-7"]
    assert counts(scheduler) == {"RUNNING": 15, "MEMORY": 5}


def test_what_is_reported_twice_counts_once(scheduler: Scheduler) -> None:
    finish(scheduler, [0, 1, 2])
    finish(scheduler, [0, 1, 2])
    assert counts(scheduler) == {"RUNNING": 17, "MEMORY": 3}
    assert texts(scheduler.take_actions().finished) == {"me": ["x-0", "x-1", "x-2"]}


def test_results_are_dropped_where_they_are(scheduler: Scheduler) -> None:
    finish(scheduler, [0, 1, 2, 3])
    scheduler.finished(0, [4, 5, 6], [8] * 3, [1e-3] * 3, ["inline", None, "inline"])
    scheduler.release("me", KEYS[:7])
    invariants.check(scheduler)
    actions = scheduler.take_actions()
    assert actions.drop == {scheduler.workers[0]: [0, 1, 2, 3, 5]}
    assert actions.free == [(4, "inline"), (6, "inline")]
    assert len(scheduler.tasks) == 13


ORDERS = {
    "forward": list(range(20)),
    "backward": list(range(20))[::-1],
    "backward in parts": [*range(9, -1, -1), *range(19, 9, -1)],
    "every second": [*range(0, 20, 2), *range(1, 20, 2)],
    "shuffled": [7, 13, 0, 4, 18, 6, 2, 15, 10, 9, 1, 19, 3, 17, 12, 16, 14, 11, 8, 5],
    "twice": [*range(20), *range(20)[::-1]],
}


@pytest.mark.parametrize("n_at_once", [20, 6, 1])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
def test_tasks_are_released_in_any_order(scheduler: Scheduler, order: list[int], n_at_once: int) -> None:
    finish(scheduler, list(range(20)), location="inline")
    alone = scheduler.tasks["x-11"]
    for start in range(0, len(order), n_at_once):
        scheduler.release("me", [KEYS[position] for position in order[start : start + n_at_once]])
        invariants.check(scheduler)
    freed = invariants.freed(scheduler.take_actions())
    assert sorted(freed) == [(number, "inline") for number in range(20)]
    assert (len(scheduler.tasks), alone.state) == (0, State.FORGOTTEN)


@pytest.mark.parametrize("order", [ORDERS[name] for name in ("forward", "backward", "shuffled")])
def test_many_tasks_are_forgotten_at_once(scheduler: Scheduler, order: list[int]) -> None:
    finish(scheduler, list(range(20)), location="inline")
    scheduler.release("me", [KEYS[position] for position in order])
    assert scheduler.take_actions().free_slices == [(range(20), ["inline"] * 20)]


def test_released_tasks_that_run_are_recalled(scheduler: Scheduler) -> None:
    scheduler.release("me", KEYS)
    invariants.check(scheduler)
    assert sorted(texts(scheduler.take_actions().recall)[scheduler.workers[0]]) == sorted(KEYS)
    assert len(scheduler.tasks) == 0


def test_a_task_that_a_second_client_wants_leaves_the_block_and_outlives_it(scheduler: Scheduler) -> None:
    scheduler.want("other", ["x-4"])
    finish(scheduler, list(range(20)))
    assert texts(scheduler.take_actions().finished) == {"me": ["x-0..x-3", "x-4", "x-5..x-19"], "other": ["x-4"]}
    scheduler.release("me", KEYS)
    invariants.check(scheduler)
    assert list(scheduler.tasks) == ["x-4"]


def test_a_task_that_leaves_the_block_is_told_of_by_itself(scheduler: Scheduler) -> None:
    finish(scheduler, list(range(20)), location="inline")
    task = scheduler.tasks["x-9"]
    assert (task.state, task.shared_location, task.nbytes) == (State.MEMORY, "inline", 8)
    assert texts(scheduler.take_actions().finished) == {"me": ["x-0..x-8", "x-9", "x-10..x-19"]}


def test_a_failing_task_leaves_the_others_alone(scheduler: Scheduler) -> None:
    assert scheduler.failed(0, 7, "error")
    invariants.check(scheduler)
    assert texts(scheduler.take_actions().erred) == {"me": ["x-7"]}
    assert counts(scheduler) == {"RUNNING": 19, "ERRED": 1}


def test_a_task_that_depends_on_one_of_a_block_keeps_it(scheduler: Scheduler) -> None:
    scheduler.submit("me", ["y"], ["spec"], [(1,)], external=["x-3"], wanted=["y"])
    scheduler.release("me", KEYS)
    invariants.check(scheduler)
    assert sorted(scheduler.tasks) == ["x-3", "y"]


def test_a_worker_that_dies_gives_its_tasks_and_results_back(scheduler: Scheduler) -> None:
    finish(scheduler, list(range(10)))
    scheduler.take_actions()
    scheduler.worker_joined(1, "w1", 20)
    scheduler.worker_left(0)
    invariants.check(scheduler)
    assert sorted(texts(scheduler.take_actions().run)[scheduler.workers[1]]) == sorted(KEYS)
    assert counts(scheduler) == {"RUNNING": 20}


def test_a_client_that_leaves_takes_its_blocks_along(scheduler: Scheduler) -> None:
    finish(scheduler, list(range(20)))
    scheduler.client_left("me")
    assert len(scheduler.tasks) == 0
    assert (list(scheduler._index), scheduler._index._by_client) == ([], {})
    assert scheduler.take_actions().drop == {scheduler.workers[0]: list(range(20))}


def test_looking_does_not_change_what_there_is(scheduler: Scheduler) -> None:
    finish(scheduler, list(range(10)))
    before = counts(scheduler)
    assert list(scheduler.numbers_of(KEYS)) == list(range(20))
    assert (scheduler.number_of("x-5"), scheduler.number_of("z")) == (5, None)
    assert len(scheduler.individual_tasks) == 0
    assert [task.number for task in scheduler.tasks.values()] == list(range(20))
    invariants.check(scheduler)
    assert (len(scheduler.individual_tasks), counts(scheduler)) == (20, before)


@pytest.mark.parametrize(
    ("keys", "deps", "more"),
    [
        (["a-1", "b-1", "a-2"], [()] * 3, {}),
        (["a-1", "a-2", "a-3"], [(), (0,), ()], {}),
        (["a-1", "a-2", "x-3"], [()] * 3, {}),
        (["a-1", "a-2", "a-3"], [()] * 3, {"wanted": ["a-1", "a-2"]}),
    ],
    ids=["two layers", "a dependency", "a known key", "an unwanted key"],
)
def test_tasks_that_differ_are_no_block(scheduler: Scheduler, keys: list[str], deps: Any, more: dict[str, Any]) -> None:
    n_blocks = len(list(scheduler._index))
    scheduler.submit("me", keys, ["spec"] * 3, deps, **{"wanted": keys, **more})
    invariants.check(scheduler)
    assert len(list(scheduler._index)) == n_blocks


def test_workers_get_long_slices_if_there_are_enough_tasks_for_all() -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=2)
    for number in range(2):
        scheduler.worker_joined(number, f"w{number}", 2)
    keys = [("x", number) for number in range(3 * MAX_QUEUED)]
    scheduler.submit("me", keys, ["spec"] * len(keys), [()] * len(keys), wanted=keys)
    for worker, items in scheduler.take_actions().run.items():
        for item in items:
            assert isinstance(item, TaskSlice)
            n = len(item)
            scheduler.finished(worker.number, item.numbers, [8] * n, [1e-7] * n, [b"small"] * n)
    invariants.check(scheduler)
    run = scheduler.take_actions().run
    assert {worker.number: [len(item.keys) for item in items] for worker, items in run.items()} == {  # type: ignore[union-attr]
        0: [MAX_QUEUED],
        1: [MAX_QUEUED],
    }


def test_workers_share_a_block_as_one_slice_each() -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=8)
    for number in range(2):
        scheduler.worker_joined(number, f"w{number}", 2)
    for name, sizes in (("x-a", [20, 20]), ("x-b", [50, 50])):  # the layer's duration is known from the first on
        keys = [f"{name}{number}" for number in range(sum(sizes))]
        scheduler.submit("me", keys, ["spec"] * len(keys), [()] * len(keys), wanted=keys)
        while any(run := scheduler.take_actions().run.values()):
            if name == "x-b":
                assert [[len(item) for item in items] for items in run] == [[size] for size in sizes]
            for worker, items in zip(list(scheduler.workers), run, strict=False):
                for item in items:
                    numbers = [item.number] if not isinstance(item, TaskSlice) else list(item.numbers)
                    n = len(numbers)
                    scheduler.finished(worker, numbers, [1] * n, [1e-6] * n, [b"1"] * n)


def test_tasks_are_cancelled_as_slices_and_only_those_that_run_leave_their_block(scheduler: Scheduler) -> None:
    finish(scheduler, [0, 1])
    more = [f"y-{number}" for number in range(3000)]
    scheduler.submit("me", more, more, [()] * len(more), wanted=more)
    scheduler.take_actions()
    scheduler.cancel(["x-3", "x-0", "unknown", *reversed(more), "x-1", "x-3"])
    invariants.check(scheduler)
    actions = scheduler.take_actions()
    assert sorted(actions.cancelled["me"]) == sorted(["x-0", "x-1", "x-3", *more])
    assert sorted(task.key for task in actions.recall[scheduler.workers[0]]) == ["x-3", "y-0", "y-1"]
    assert actions.drop[scheduler.workers[0]] == [0, 1]
    assert counts(scheduler) == {"RUNNING": 17, "FORGOTTEN": 3}
    assert scheduler.individual_tasks == {}


def test_one_clients_tasks_in_blocks_are_cancelled_and_the_other_keys_are_returned(scheduler: Scheduler) -> None:
    others = [f"y-{number}" for number in range(20)]
    scheduler.submit("you", others, others, [()] * 20, wanted=others)
    assert scheduler.cancel_in_blocks_of("me", [*others, *KEYS, "unknown"]) == [*others, "unknown"]
    assert scheduler.keys_under_way_in_blocks() == scheduler.keys_under_way_in_blocks("you") == others
    assert scheduler.keys_under_way_in_blocks("me") == []
    assert scheduler.take_actions().cancelled == {"me": KEYS}


def test_cancelling_many_tasks_makes_no_object_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=2)
    keys = [f"x-{number}" for number in range(10_000)]
    scheduler.submit("me", keys, keys, [()] * len(keys), wanted=keys)
    monkeypatch.setattr(BlockTable, "_make_individual", None)
    scheduler.cancel(keys)
    assert scheduler.take_actions().cancelled == {"me": keys}
    assert not scheduler.tasks
