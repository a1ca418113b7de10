"""Tasks that not every worker may run, and tasks that wait for tasks: each decision of the scheduler by example, events in, the actions in full out."""

from __future__ import annotations

import pytest
from glassloom.scheduler import Restrictions
from scheduler_bench import Bench, blocks

__all__ = ["blocks"]


# Tasks that not every worker may run


SLOT = Restrictions(resources=(("slot", 1),))


def test_tasks_take_up_resources_while_they_run() -> None:
    bench = Bench()
    bench.worker_joined(0, "w0", 4, {"slot": 2})
    bench.submit({f"a-{n}": [] for n in range(3)}, ["a-0", "a-1", "a-2"], restrictions=SLOT)
    assert bench.act() == {"run": {0: ["a-0", "a-1"]}}
    bench.finish(0, "a-1")
    assert bench.act()["run"] == {0: ["a-2"]}


def test_a_stopped_task_keeps_its_resources_until_its_worker_has_answered() -> None:
    bench = Bench()
    bench.worker_joined(0, "w0", 4, {"slot": 1})
    bench.submit({"a": [], "b": []}, ["a", "b"], restrictions=SLOT)
    bench.act()
    number = bench.number("a")
    bench.release("me", ["a"])
    assert bench.act() == {"recall": {0: ["a"]}}
    bench.recalled(0, [number])
    assert bench.act()["run"] == {0: ["b"]}


def test_who_has_no_resources_left_goes_on_with_other_tasks() -> None:
    bench = Bench()
    bench.worker_joined(0, "w0", 2, {"slot": 1})
    bench.submit({"a": [], "b": []}, ["a", "b"], restrictions=SLOT)
    bench.submit({"c": []}, ["c"])
    assert bench.act() == {"run": {0: ["a", "c"]}}


def test_resources_that_no_worker_has_are_waited_for() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"], restrictions=SLOT)
    assert bench.act() == {}
    bench.worker_joined(1, "w1", 1, {"slot": 1})
    assert bench.act() == {"run": {1: ["a"]}}


@pytest.mark.parametrize("name", [1, "w1"])
def test_a_task_waits_for_its_worker_though_others_are_idle(name: int | str) -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": []}, ["a", "b"], restrictions=Restrictions(workers=frozenset([name])))
    assert bench.act() == {"run": {1: ["a"]}}
    bench.finish(1, "a")
    assert bench.act()["run"] == {1: ["b"]}


def test_a_task_whose_workers_are_all_gone_fails() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": []}, ["a", "b"], restrictions=Restrictions(workers=frozenset([1])))
    bench.act()
    bench.worker_left(1)
    assert bench.act() == {"erred": {"me": ["a", "b"]}}
    assert bench.scheduler.tasks["a"].error == ("nowhere", "a")


def test_others_take_over_once_the_workers_that_were_asked_for_are_gone() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": []}, ["a", "b"], restrictions=Restrictions(workers=frozenset([1]), is_loose=True))
    assert bench.act() == {"run": {1: ["a"]}}
    bench.worker_left(1)
    assert bench.act() == {"run": {0: ["a"]}}


def test_a_result_that_cannot_be_sent_keeps_its_readers_where_it_is_if_they_may_run_there() -> None:
    bench = Bench()
    for number in range(2):
        bench.worker_joined(number, f"w{number}", 1, {"slot": 1})
    bench.submit({"lock": []}, ["lock"])
    bench.act()
    bench.finish(0, "lock")
    bench.locate("lock")
    bench.published(0, bench.number("lock"), None)
    bench.submit({"a": ["lock"]}, ["a"], restrictions=SLOT)
    bench.submit({"b": ["lock"]}, ["b"], restrictions=Restrictions(workers=frozenset([1])))
    assert bench.act()["run"] == {0: ["a"]}
    assert bench.scheduler.tasks["b"].error == ("pinned", "lock")


def test_a_better_task_goes_first_whatever_it_needs() -> None:
    bench = Bench()
    bench.worker_joined(0, "w0", 1, {"slot": 1})
    bench.submit({"low": []}, ["low"], restrictions=SLOT)
    bench.submit({"high": []}, ["high"], priority=1)
    assert bench.act() == {"run": {0: ["high"]}}


# Tasks that wait for tasks


def test_a_task_that_waits_for_others_leaves_its_thread_to_them() -> None:
    bench = Bench(1)
    bench.submit({"outer": []}, ["outer"])
    bench.act()
    bench.submit({"inner": []}, ["inner"], client="outer")
    assert bench.act() == {}
    bench.seceded(0, bench.number("outer"))
    assert bench.act() == {"run": {0: ["inner"]}}


def test_a_task_that_goes_on_takes_its_thread_again() -> None:
    bench = Bench(1)
    bench.submit({"outer": []}, ["outer"])
    bench.act()
    bench.seceded(0, bench.number("outer"))
    bench.rejoined(0, bench.number("outer"))
    bench.submit({"next": []}, ["next"])
    assert bench.act() == {}
    bench.finish(0, "outer")
    assert bench.act()["run"] == {0: ["next"]}


def test_a_stopped_task_that_had_seceded_blocks_no_thread() -> None:
    bench = Bench(1)
    bench.submit({"outer": []}, ["outer"])
    bench.act()
    number = bench.number("outer")
    bench.seceded(0, number)
    bench.cancel(["outer"])
    bench.submit({"next": []}, ["next"])
    assert bench.act()["run"] == {0: ["next"]}
    bench.recalled(0, [number])
    assert bench.scheduler.workers[0].seceded == set()


def test_a_task_on_its_last_chance_does_not_keep_alone_while_it_waits_for_others() -> None:
    bench = Bench(1)
    bench.submit({"outer": []}, ["outer"])
    for number in range(2):
        bench.act()
        bench.worker_left(number)
        bench.worker_joined(number + 1, f"w{number + 1}", 1)
    bench.submit({"inner": []}, ["inner"])
    assert bench.act() == {"run": {2: ["outer"]}}
    bench.seceded(2, bench.number("outer"))
    assert bench.act() == {"run": {2: ["inner"]}}
