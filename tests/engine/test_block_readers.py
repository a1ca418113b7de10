"""Blocks of tasks that all read the same results, and tasks that read slices of blocks: by example, and when blocks dissolve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import invariants
import pytest
from glassloom.scheduler import Restrictions, Scheduler, State, TaskSlice
from glassloom.scheduler.block_readers import MAX_READERS
from glassloom.scheduler.block_table import BlockTable

MIDDLE = [f"x-{number}" for number in range(20)]
NOWHERE = Restrictions(workers=frozenset([9]))
"""Of tasks that fail as soon as they could run: there is no such worker."""


class Bench:
    """A scheduler with two workers of 10 threads, and a fan: a task, 20 that read its result, and one that reads theirs."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=4)
        for number in range(2):
            self.scheduler.worker_joined(number, f"w{number}", 10)

    def submit(
        self,
        keys: list[str],
        below: Sequence[str] = (),
        client: str = "me",
        *,
        restrictions: Restrictions | None = None,
    ) -> None:
        """Hand in tasks that all read what is `below`."""
        deps, specs = [list(range(len(keys), len(keys) + len(below)))], [f"spec {key}" for key in keys]
        self.scheduler.submit(client, keys, specs, deps, external=below, wanted=keys, restrictions=restrictions)
        invariants.check(self.scheduler)

    def release(self, keys: list[str], client: str = "me") -> None:
        self.scheduler.release(client, keys)
        invariants.check(self.scheduler)

    def run(self) -> dict[int, list[str]]:
        """Take the actions; return what is sent to each worker: slices as first and last key."""
        sent = self.scheduler.take_actions().run
        invariants.check(self.scheduler)
        return {worker.number: [_text(item) for item in items] for worker, items in sent.items()}

    def finish(self, worker: int, keys: Sequence[str], location: Any = b"small") -> None:
        numbers = [self.scheduler.number_of(key) for key in keys]
        n = len(numbers)
        self.scheduler.finished(worker, numbers, [8] * n, [1e-3] * n, [location] * n)  # type: ignore[arg-type]
        invariants.check(self.scheduler)

    def state(self, layer: str) -> dict[str, int]:
        counts = self.scheduler.layers[layer].counts
        return {state.name: n for state, n in zip(State, counts, strict=True) if n}

    @property
    def objects(self) -> list[str]:
        return [str(key) for key in self.scheduler.individual_tasks]


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.submit(["source"])
    assert bench.run() == {0: ["source"]}
    return bench


@pytest.fixture
def fan(bench: Bench) -> Bench:
    """The source has run; the tasks that read it are sent to both workers; one waits for all of them, which nobody wants."""
    bench.submit(MIDDLE, ["source"])
    bench.submit(["sink"], MIDDLE)
    bench.release(MIDDLE)
    bench.finish(0, ["source"])
    assert bench.run() == {0: ["x-0..x-9"], 1: ["x-10..x-19"]}
    return bench


def _text(item: Any) -> str:
    return f"{item.keys[0]}..{item.keys[-1]}" if isinstance(item, TaskSlice) else str(item.key)


def test_a_whole_fan_makes_no_object_for_a_task_in_the_middle(fan: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlockTable, "_make_individual", None)
    fan.finish(0, MIDDLE[:10])
    assert fan.run() == {}
    fan.finish(1, MIDDLE[10:])
    (sink,) = fan.scheduler.take_actions().run.popitem()[1]
    assert sink.deps == ()
    assert [_text(item) for item in sink.reads] == ["x-0..x-19"]
    fan.finish(sink.worker.number, ["sink"])
    actions = fan.scheduler.take_actions()
    assert actions.free_slices == [(range(1, 21), [b"small"] * 20)]
    assert fan.state("x") == {"RELEASED": 20}
    fan.release(["sink", "source"])
    assert fan.state("x") == {"FORGOTTEN": 20}
    assert (len(fan.scheduler.tasks), list(fan.scheduler._index)) == (0, [])


def test_tasks_wait_together_for_what_they_all_read(bench: Bench) -> None:
    bench.submit(MIDDLE, ["source"])
    assert (bench.state("x"), bench.objects, bench.run()) == ({"WAITING": 20}, ["source"], {})
    bench.finish(0, ["source"])
    assert bench.state("x") == {"READY": 20}
    assert bench.run() == {0: ["x-0..x-9"], 1: ["x-10..x-19"]}


def test_what_is_read_is_held_as_long_as_a_task_of_the_block_is_under_way(fan: Bench) -> None:
    fan.release(["source"])
    fan.finish(0, MIDDLE[:10])
    fan.finish(1, MIDDLE[10:19])
    assert fan.scheduler.take_actions().free == []
    fan.finish(1, MIDDLE[19:])
    assert fan.scheduler.take_actions().free == [(0, b"small")]
    assert fan.state("source") == {"RELEASED": 1}


def test_a_private_result_is_read_by_tasks_by_themselves_where_it_is(bench: Bench) -> None:
    bench.submit(MIDDLE, ["source"])
    bench.finish(0, ["source"], location=None)
    assert bench.objects == ["source", *MIDDLE]
    assert len(bench.scheduler.workers[0].ready) == 20


def test_tasks_that_differ_in_what_they_read_are_no_block(bench: Bench) -> None:
    deps = [[4], [4], [4], []]
    bench.scheduler.submit("me", MIDDLE[:4], ["spec"] * 4, deps, external=["source"], wanted=MIDDLE[:4])
    invariants.check(bench.scheduler)
    assert list(bench.scheduler._index) == []


def test_a_value_handed_in_for_a_task_that_has_just_failed_is_all_that_is_told(bench: Bench) -> None:
    bench.scheduler.failed(0, 0, "error")
    bench.scheduler.add_data("me", "source", b"small", 8)
    invariants.check(bench.scheduler)
    actions = bench.scheduler.take_actions()
    assert ([task.key for task in actions.finished["me"]], actions.erred["me"]) == (["source"], [])  # type: ignore[union-attr]


def test_tasks_that_read_what_has_failed_fail(bench: Bench) -> None:
    bench.scheduler.failed(0, 0, "error")
    bench.submit(MIDDLE, ["source"])
    assert bench.state("x") == {"ERRED": 20}


def test_the_failure_of_what_is_read_fails_all_that_wait_for_it(bench: Bench) -> None:
    bench.submit(MIDDLE, ["source"])
    bench.submit(["sink"], MIDDLE)
    bench.scheduler.failed(0, 0, "error")
    invariants.check(bench.scheduler)
    assert (bench.state("x"), bench.state("sink")) == ({"ERRED": 20}, {"ERRED": 1})
    assert {task.key for task in bench.scheduler.take_actions().erred["me"]} == {"source", *MIDDLE, "sink"}


def test_a_failure_in_the_middle_fails_what_reads_it_and_lets_the_others_go(fan: Bench) -> None:
    fan.finish(0, MIDDLE[:7])
    fan.scheduler.failed(0, fan.scheduler.number_of("x-7") or 0, "error")
    invariants.check(fan.scheduler)
    assert fan.state("sink") == {"ERRED": 1}
    assert fan.state("x") == {"RELEASED": 19, "ERRED": 1}
    assert len(fan.scheduler.take_actions().recall[fan.scheduler.workers[1]]) == 10


def test_a_lost_input_is_made_again_and_its_readers_wait_for_it(fan: Bench) -> None:
    assert fan.scheduler.shared_result_lost(0, b"small")
    invariants.check(fan.scheduler, misses_an_input=range(1, 21))
    assert fan.state("source") == {"READY": 1}
    fan.scheduler.recalled(0, range(1, 11))
    assert fan.state("x") == {"WAITING": 10, "RUNNING": 10}


def test_a_workers_end_gives_the_tasks_of_a_fan_back(fan: Bench) -> None:
    fan.finish(0, MIDDLE[:10])
    fan.scheduler.worker_left(0)
    fan.finish(1, MIDDLE[10:15])
    fan.scheduler.worker_left(1, blame=False)
    invariants.check(fan.scheduler)
    assert fan.state("x") == {"READY": 5, "MEMORY": 15}
    fan.scheduler.worker_joined(2, "w2", 10)
    assert sorted(fan.run()[2]) == sorted(MIDDLE[15:])
    fan.finish(2, MIDDLE[15:])
    assert fan.run() == {2: ["sink"]}


def test_a_sink_whose_result_is_lost_is_made_again_with_all_that_it_read(fan: Bench) -> None:
    fan.finish(0, MIDDLE[:10])
    fan.finish(1, MIDDLE[10:])
    fan.run()
    fan.finish(0, ["sink"], location=None)
    fan.release(["source"])
    fan.scheduler.take_actions()
    fan.scheduler.worker_left(0, blame=False)
    invariants.check(fan.scheduler)
    assert (fan.state("source"), fan.state("x"), fan.state("sink")) == ({"READY": 1}, {"WAITING": 20}, {"WAITING": 1})


def test_results_that_stay_on_workers_are_read_as_tasks_by_themselves(fan: Bench) -> None:
    fan.finish(0, MIDDLE[:10], location=None)
    assert fan.objects == ["source", "sink"]
    fan.finish(1, MIDDLE[10:])
    assert len(fan.objects) == 22
    assert fan.run() == {0: ["sink"]}


def test_several_tasks_read_slices_of_one_block(bench: Bench) -> None:
    bench.finish(0, ["source"])
    bench.submit(MIDDLE, ["source"])
    bench.submit(["low"], MIDDLE[:12])
    bench.submit(["high"], ["source", *MIDDLE[8:]])
    bench.release(MIDDLE)
    bench.run()
    bench.finish(0, MIDDLE[:10])
    bench.finish(1, MIDDLE[10:12])
    assert bench.run() == {0: ["low"]}
    bench.finish(0, ["low"])
    assert bench.scheduler.take_actions().free_slices == [(range(1, 9), [b"small"] * 8)]
    assert bench.state("x") == {"RUNNING": 8, "MEMORY": 4, "RELEASED": 8}
    bench.release(["low"])
    assert bench.state("x") == {"RUNNING": 8, "MEMORY": 4, "FORGOTTEN": 8}
    high = bench.scheduler.individual_tasks["high"]
    assert [_text(item) for item in high.reads or ()] == ["source", "x-8..x-19"]
    assert bench.objects == ["source", "high"]


@pytest.mark.parametrize("order", ["forward", "backward", "every second"])
def test_what_the_client_lets_go_of_while_it_is_read_is_released_in_any_order(bench: Bench, order: str) -> None:
    keys = {"forward": MIDDLE, "backward": MIDDLE[::-1], "every second": [*MIDDLE[::2], *MIDDLE[1::2]]}[order]
    bench.finish(0, ["source"])
    bench.submit(MIDDLE, ["source"])
    bench.submit(["sink"], MIDDLE)
    bench.run()
    for start in range(0, 20, 7):
        bench.release(keys[start : start + 7])
    assert bench.state("x") == {"RUNNING": 20}
    bench.finish(0, MIDDLE[:10])
    bench.finish(1, MIDDLE[10:])
    bench.run()
    assert bench.objects == ["source", "sink"]


def test_wanted_results_outlive_the_task_that_reads_them(fan: Bench) -> None:
    fan.scheduler.want("other", ["x-3"])
    fan.finish(0, MIDDLE[:10])
    fan.finish(1, MIDDLE[10:])
    fan.run()
    fan.finish(0, ["sink"])
    fan.release(["sink", "source"])
    fan.scheduler.take_actions()
    assert fan.objects == ["x-3", "source"] or fan.objects == ["source", "x-3"]
    assert fan.state("x") == {"MEMORY": 1, "FORGOTTEN": 19}


def test_only_what_is_wanted_is_told(bench: Bench) -> None:
    bench.finish(0, ["source"])
    bench.submit(MIDDLE, ["source"])
    bench.submit(["sink"], MIDDLE)
    bench.release(MIDDLE[5:])
    bench.run()
    bench.finish(0, MIDDLE[:10])
    assert [_text(item) for item in bench.scheduler.take_actions().finished["me"]] == ["x-0..x-4"]
    assert bench.scheduler.keys_under_way_in_blocks("me") == []


def test_a_client_that_leaves_lets_go_of_what_others_still_read(bench: Bench) -> None:
    bench.finish(0, ["source"])
    bench.submit(MIDDLE, ["source"])
    bench.submit(["sink"], MIDDLE, client="other")
    bench.scheduler.client_left("me")
    invariants.check(bench.scheduler)
    assert (bench.state("x"), bench.objects) == ({"READY": 20}, ["source", "sink"])
    bench.scheduler.client_left("other")
    assert len(bench.scheduler.tasks) == 0


def test_cancelling_a_task_that_is_read_cancels_its_reader(fan: Bench) -> None:
    assert fan.scheduler.cancel_in_blocks_of("me", ["x-3"]) == ["x-3"]
    fan.scheduler.cancel(["x-3"])
    invariants.check(fan.scheduler)
    assert fan.scheduler.take_actions().cancelled == {"me": ["sink"]}
    assert (fan.state("x"), fan.state("sink")) == ({"FORGOTTEN": 20}, {"FORGOTTEN": 1})


def test_a_reader_that_is_given_up_lets_go_of_what_runs_for_it(fan: Bench) -> None:
    fan.finish(0, MIDDLE[:10])
    fan.release(["sink"])
    assert (fan.state("x"), fan.state("sink")) == ({"FORGOTTEN": 20}, {"FORGOTTEN": 1})
    assert len(fan.scheduler.take_actions().recall[fan.scheduler.workers[1]]) == 10


def test_what_runs_for_a_reader_that_has_failed_is_given_up_with_the_client_that_wants_it(bench: Bench) -> None:
    bench.submit(["bad"])
    bench.finish(0, ["source"])
    bench.submit(MIDDLE, ["source"])
    bench.submit(["sink"], ["bad", *MIDDLE])
    bench.run()
    bench.scheduler.failed(0, bench.scheduler.number_of("bad") or 0, "error")
    invariants.check(bench.scheduler)
    assert (bench.state("sink"), bench.state("x"), len(bench.objects)) == ({"ERRED": 1}, {"READY": 1, "RUNNING": 19}, 3)
    bench.release(MIDDLE[::2])
    assert bench.state("x") == {"READY": 1, "RUNNING": 9, "RELEASED": 10}
    assert {task.key for tasks in bench.scheduler.take_actions().recall.values() for task in tasks} == {*MIDDLE[::2]}


def test_a_block_that_too_many_tasks_read_dissolves(bench: Bench) -> None:
    bench.submit(MIDDLE, ["source"])
    for number in range(MAX_READERS):
        bench.submit([f"sink-{number}"], MIDDLE)
    assert len(bench.objects) == 1 + MAX_READERS
    bench.submit(["sink-last"], MIDDLE)
    assert len(bench.objects) == 1 + MAX_READERS + 1 + len(MIDDLE)


# What an arriving result causes while it is told to those that wait for it


def test_a_block_that_a_failure_dissolves_while_its_input_arrives_is_not_queued(bench: Bench) -> None:
    bench.submit(["misfit"], ["source"], restrictions=NOWHERE)
    bench.submit(MIDDLE, ["source"])
    bench.submit(["sink"], ["misfit", *MIDDLE])
    bench.release(MIDDLE)
    bench.finish(0, ["source"])
    assert bench.run() == {}
    assert (bench.state("misfit"), bench.state("sink")) == ({"ERRED": 1}, {"ERRED": 1})
    assert bench.state("x") == {"RELEASED": 20}


@pytest.mark.parametrize("first", ["misfit", "fan"])
def test_tasks_of_a_block_that_a_failure_dissolves_while_an_input_arrives_wait_for_the_other(first: str) -> None:
    bench = Bench()
    bench.submit(["source"])
    bench.submit(["late"])
    assert bench.run() == {0: ["source", "late"]}
    for what in (first, *{"misfit", "fan"} - {first}):
        if what == "fan":
            bench.submit(MIDDLE, ["source", "late"])
        else:
            bench.submit(["misfit"], ["source"], restrictions=NOWHERE)
    bench.submit(["sink"], ["misfit", *MIDDLE])
    bench.submit(["other"], MIDDLE[:10])
    bench.release(MIDDLE)
    bench.finish(0, ["source"])
    assert (bench.run(), bench.state("x")) == ({}, {"WAITING": 10, "RELEASED": 10})
    bench.finish(0, ["late"])
    sent = bench.run()
    assert sorted(key for keys in sent.values() for key in keys) == MIDDLE[:10]


@pytest.mark.parametrize("first", ["misfit", "fan"])
def test_tasks_of_a_block_that_a_failure_dissolves_when_all_inputs_are_there_run(first: str) -> None:
    bench = Bench()
    bench.submit(["source"])
    bench.run()
    for what in (first, *{"misfit", "fan"} - {first}):
        if what == "fan":
            bench.submit(MIDDLE, ["source"])
        else:
            bench.submit(["misfit"], ["source"], restrictions=NOWHERE)
    bench.submit(["sink"], ["misfit", *MIDDLE])
    bench.submit(["other"], MIDDLE[:10])
    bench.release(MIDDLE)
    bench.finish(0, ["source"])
    assert bench.state("x") == {"READY": 10, "RELEASED": 10}
    sent = bench.run()
    assert sorted(key for keys in sent.values() for key in keys) == MIDDLE[:10]


def test_no_task_reads_more_slices_of_a_block_than_many_tasks_may(bench: Bench) -> None:
    n = 5 * (MAX_READERS + 1)
    keys = [f"y-{number}" for number in range(n)]
    bench.submit(keys, ["source"])
    groups = [keys[start : start + 5] for start in range(0, n, 5)]
    bench.submit(["some"], [key for group in groups[:0:-2] for key in group])
    assert len(bench.objects) == 2
    bench.submit(["all"], [key for group in reversed(groups) for key in group])
    assert len(bench.objects) == 3 + n
    assert [item.key for item in bench.scheduler.individual_tasks["all"].deps[:5]] == groups[-1]


def test_a_task_that_leaves_its_block_may_make_too_few_of_its_neighbours(bench: Bench) -> None:
    bench.submit(MIDDLE, ["source"])
    bench.submit(["sink"], [*MIDDLE[:6], *MIDDLE[8:12], MIDDLE[19]])
    assert [_text(item) for item in bench.scheduler.individual_tasks["sink"].reads or ()] == [
        "x-0..x-5",
        "x-8..x-11",
        "x-19",
    ]


def test_what_is_let_go_of_stays_in_no_block(fan: Bench) -> None:
    (block,) = fan.scheduler._index
    fan.finish(0, MIDDLE[:10])
    fan.finish(1, MIDDLE[10:])
    fan.run()
    fan.finish(0, ["sink"])
    assert (fan.state("x"), block.locations) == ({"RELEASED": 20}, [None] * 20)


def test_nothing_goes_ahead_of_a_result_that_a_block_reads_too(bench: Bench) -> None:
    bench.submit(MIDDLE, ["source"])
    bench.submit(["other"], ["source"])
    assert bench.run() == {}
    assert bench.state("other") == {"WAITING": 1}
