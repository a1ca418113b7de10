"""Tasks that fail, and workers that die: each decision of the scheduler by example, events in, the actions in full out."""

from __future__ import annotations

from glassloom.scheduler import State
from scheduler_bench import Bench, blocks

__all__ = ["blocks"]


# Failing


def test_a_failure_reaches_all_that_waits_and_nothing_else() -> None:
    bench = Bench(2)
    bench.submit({"a": [], "b": ["a"], "c": ["b"], "other": []}, ["a", "c", "other"])
    bench.act()
    assert bench.fail(0, "a") is True
    assert bench.act() == {"erred": {"me": ["a", "c"]}}
    assert [bench.state(key) for key in ("b", "other")] == [State.ERRED, State.RUNNING]


def test_retries_are_used_up_before_a_task_fails() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"], retries=1)
    bench.act()
    assert bench.fail(0, "a") is False
    assert bench.act() == {"run": {0: ["a"]}}
    assert bench.fail(0, "a") is True
    assert bench.act() == {"erred": {"me": ["a"]}}


def test_a_failed_task_that_is_handed_in_again_runs_again() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    bench.act()
    bench.fail(0, "a")
    bench.act()
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    assert bench.act() == {"run": {0: ["a"]}}


def test_what_builds_on_a_failed_task_fails_at_once() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.fail(0, "a", "why")
    bench.act()
    bench.submit({"b": ["a"]}, ["b"])
    assert bench.act() == {"erred": {"me": ["b"]}}
    assert bench.scheduler.tasks["b"].error == "why"


# Deaths


def test_a_dead_workers_task_runs_elsewhere() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": []}, ["a", "b"])
    bench.act()
    bench.worker_left(0)
    bench.finish(1, "b")
    assert bench.act() == {"run": {1: ["a"]}, "finished": {"me": ["b"]}}


def test_lost_results_are_computed_again_as_far_back_as_needed() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": ["a"], "c": ["b"]}, ["c"])
    for key in ("a", "b"):
        assert bench.act()["run"] == {0: [key]}
        bench.finish(0, key)
    assert bench.act() == {"run": {0: ["c"]}, "drop": {0: [0]}}
    bench.worker_left(0)
    for key in ("a", "b", "c"):
        assert bench.act()["run"] == {1: [key]}
        bench.finish(1, key)
    assert bench.act()["finished"] == {"me": ["c"]}


def test_a_published_result_outlives_its_worker() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.locate("a")
    bench.published(0, bench.number("a"), "place")
    bench.act()
    bench.worker_left(0)
    assert bench.act() == {}
    assert bench.state("a") is State.MEMORY


def test_a_task_is_blamed_for_the_third_death() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    for number in range(3):
        assert bench.act() == {"run": {number: ["a"]}}
        bench.worker_left(number)
        bench.worker_joined(number + 1, f"w{number + 1}", 1)
    assert bench.act() == {"erred": {"me": ["a"]}}
    assert bench.scheduler.tasks["a"].error == ("worker-lost", "a")


def test_deaths_that_are_nobodys_fault_are_not_counted() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    for number in range(5):
        assert bench.act() == {"run": {number: ["a"]}}
        bench.worker_left(number, blame=False)
        bench.worker_joined(number + 1, f"w{number + 1}", 1)
    assert bench.act() == {"run": {5: ["a"]}}


def test_a_task_on_its_last_chance_runs_alone() -> None:
    bench = Bench(2)
    bench.submit({"a": [], "b": []}, ["a", "b"])
    for number in range(2):
        assert bench.act() == {"run": {number: ["a", "b"]}}
        bench.worker_left(number)
        bench.worker_joined(number + 1, f"w{number + 1}", 2)
    assert bench.act() == {"run": {2: ["a"]}}
    bench.worker_left(2)
    bench.worker_joined(3, "w3", 2)
    assert bench.act() == {"run": {3: ["b"]}, "erred": {"me": ["a"]}}


def test_a_task_on_its_last_chance_waits_until_its_worker_is_empty() -> None:
    bench = Bench(2)
    bench.submit({"a": []}, ["a"])
    for number in range(2):
        bench.act()
        bench.worker_left(number)
        bench.worker_joined(number + 1, f"w{number + 1}", 2)
    bench.submit({"b": []}, ["b"], priority=1)
    assert bench.act() == {"run": {2: ["b"]}}
    bench.finish(2, "b")
    assert bench.act()["run"] == {2: ["a"]}


def test_messages_of_a_dead_worker_change_nothing() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.worker_left(0)
    bench.finish(0, "a", location="place")
    assert bench.fail(0, "a") is False
    bench.recalled(0, [bench.number("a")])
    assert bench.act() == {"run": {1: ["a"]}, "free": ["place"]}


def test_a_result_told_twice_counts_once() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.finish(0, "a")
    assert bench.act() == {"finished": {"me": ["a"]}}


def test_a_retiring_worker_hands_over_its_results_and_gets_no_tasks() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": []}, ["a", "b"])
    bench.act()
    bench.finish(0, "a")
    bench.retire(0)
    assert bench.act() == {"publish": {0: ["a"]}, "finished": {"me": ["a"]}}
    bench.submit({"c": ["a"]}, ["c"])
    assert bench.act() == {}
    bench.published(0, bench.number("a"), "place")
    assert bench.act() == {"stop": [0]}


def test_what_is_queued_for_a_retiring_worker_goes_elsewhere() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": []}, ["a", "b"])
    bench.act()
    bench.finish(0, "a")
    bench.submit({"c-0": ["a"], "c-1": ["a"]}, ["c-0", "c-1"])
    assert bench.act()["run"] == {0: ["c-0"]}
    bench.retire(0)
    bench.act()
    bench.published(0, bench.number("a"), "place")
    bench.finish(1, "b")
    assert bench.act()["run"] == {1: ["c-1"]}
