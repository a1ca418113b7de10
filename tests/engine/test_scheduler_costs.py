"""What the scheduler does for one event doesn't grow with all that it knows. Counted, not timed."""

from __future__ import annotations

import pytest
from glassloom.scheduler import Scheduler, State, TaskState
from glassloom.scheduler.layers import LayerTable
from glassloom.scheduler.ready_queues import LongestQueues
from glassloom.scheduler.state import WorkerState


def scheduler_with(n_workers: int = 1, min_block: int | None = None) -> Scheduler:
    scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=min_block)
    for number in range(n_workers):
        scheduler.worker_joined(number, f"w{number}", 1)
    return scheduler


def submit(scheduler: Scheduler, client: str, keys: list[str]) -> None:
    scheduler.submit(client, keys, ["spec"] * len(keys), [()] * len(keys), wanted=keys)


@pytest.mark.parametrize("min_block", [None, 2])
def test_a_client_that_leaves_costs_what_it_wanted(min_block: int | None) -> None:
    scheduler = scheduler_with(min_block=min_block)
    submit(scheduler, "many", [f"a-{number}" for number in range(1000)])
    submit(scheduler, "few", ["b-0", "b-1", "b-2"])
    released = []
    clients = scheduler._tables.clients
    tasks_of = clients.tasks_of
    clients.tasks_of = lambda client: released.append(client) or tasks_of(client)  # type: ignore[method-assign,func-returns-value]
    scheduler.client_left("few")
    assert released == ["few"]
    assert set(scheduler.tasks) == {f"a-{number}" for number in range(1000)}
    scheduler.client_left("many")
    assert (len(scheduler.tasks), clients._tasks, clients._alone) == (0, {}, {})


class CountedKey(str):
    """A key that counts how often any such key is looked up."""

    n_lookups = 0

    def __hash__(self) -> int:
        CountedKey.n_lookups += 1
        return super().__hash__()


def test_a_small_block_of_tasks_is_submitted_without_looking_at_those_that_are_known() -> None:
    scheduler = scheduler_with(min_block=10)
    known = [CountedKey(f"a-{number}") for number in range(1000)]
    for start in range(0, 1000, 5):
        submit(scheduler, "me", known[start : start + 5])
    submit(scheduler, "me", [f"b-{number}" for number in range(100)])
    CountedKey.n_lookups = 0
    submit(scheduler, "me", [f"c-{number}" for number in range(10)])
    assert CountedKey.n_lookups == 0
    assert len(scheduler.tasks) == 1110
    assert len(scheduler.individual_tasks) == 1000


def test_layers_are_forgotten_without_looking_at_those_that_live() -> None:
    layers = LayerTable()
    living = [layers.named(f"living-{number}", None) for number in range(100)]
    for layer in living:
        layers.add(layer)
    ended = layers.named("ended", None)
    layers.add(ended)
    ended.counts[State.RELEASED] -= 1
    ended.counts[State.FORGOTTEN] += 1
    layers.note_end(ended)
    assert list(layers._ended) == [ended]
    layers.forget_ended(10)
    assert list(layers.by_name.values()) == living


def test_a_layer_that_grows_again_is_not_forgotten() -> None:
    layers = LayerTable()
    layer = layers.named("x", None)
    layers.add(layer)
    layers.note_end(layer)
    layers.add(layer)
    layers.forget_ended(0)
    assert list(layers.by_name) == ["x"]


def test_the_number_of_tasks_in_each_state_follows_what_changes() -> None:
    scheduler = scheduler_with()
    submit(scheduler, "me", ["a-0", "a-1", "b-0"])
    scheduler.take_actions()
    counts = scheduler.layer_table.counts()
    assert (counts[State.READY], counts[State.RUNNING]) == (2, 1)
    scheduler.layer_table.take_changed()
    scheduler.finished(0, [0], [8], [1.0], [None])
    scheduler.take_actions()
    counts = scheduler.layer_table.counts()
    assert (counts[State.READY], counts[State.RUNNING], counts[State.MEMORY]) == (1, 1, 1)


def test_the_longest_queue_is_found_again_after_tasks_were_taken_from_it() -> None:
    layer = LayerTable().named("x", None)
    workers = [WorkerState(number, f"w{number}", 1) for number in range(3)]
    for worker, length in zip(workers, (2, 4, 3), strict=True):
        for number in range(length):
            task = TaskState(number, f"x-{number}", layer, State.READY)
            task.priority = number
            worker.ready.push(task)
    longest = LongestQueues(workers)
    taken = []
    while (worker := longest.first()) is not None:
        entry = worker.ready.first(shrinking=False)
        assert entry is not None
        worker.ready.take(entry)
        taken.append(worker.number)
    assert taken == [1, 1, 2, 0, 1, 2, 0, 1, 2]


def test_the_results_of_a_retiring_worker_are_asked_for_once() -> None:
    scheduler = scheduler_with(n_workers=2)
    submit(scheduler, "me", ["a-0", "a-1"])
    scheduler.take_actions()
    scheduler.finished(0, [0], [8], [1.0], [None])
    scheduler.retire(0)
    publish = scheduler.take_actions().publish
    assert {worker.number: [task.key for task in tasks] for worker, tasks in publish.items()} == {0: ["a-0"]}
    assert not scheduler.take_actions().publish
