"""Data handed in, results that are read or lost, memory that is short: each decision of the scheduler by example, events in, the actions in full out."""

from __future__ import annotations

import pytest
from glassloom.scheduler import LOSSES_ALLOWED, Pressure, State
from scheduler_bench import LONG_S, Bench, blocks

__all__ = ["blocks"]


# Data handed in, results read


def test_data_handed_in_is_there_at_once_and_freed_when_let_go() -> None:
    bench = Bench(1)
    bench.add_data("me", "data", "place", 10)
    assert bench.act() == {"finished": {"me": ["data"]}}
    bench.release("me", ["data"])
    assert bench.act() == {"free": ["place"]}


def test_data_is_kept_while_a_known_task_may_read_it_again() -> None:
    bench = Bench(1)
    bench.add_data("me", "data", "place", 10)
    bench.submit({"a": ["data"]}, ["a"])
    bench.act()
    bench.release("me", ["data"])
    bench.finish(0, "a")
    assert bench.act() == {"finished": {"me": ["a"]}}
    bench.release("me", ["a"])
    assert bench.act() == {"drop": {0: [1]}, "free": ["place"]}


def test_a_second_copy_of_equal_data_is_freed() -> None:
    bench = Bench(1)
    bench.add_data("me", "data", "first", 10)
    bench.add_data("you", "data", "second", 10)
    assert bench.act() == {"finished": {"me": ["data"], "you": ["data"]}, "free": ["second"]}


def test_locating_a_result_publishes_it() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.act()
    bench.locate("a")
    assert bench.act() == {"publish": {0: ["a"]}}
    bench.published(0, bench.number("a"), "place")
    assert bench.act() == {"located": ["a"]}


def test_a_result_that_is_lost_while_it_is_sought_is_located_once_it_is_back() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.act()
    bench.locate("a")
    bench.act()
    bench.worker_left(0)
    assert bench.act() == {"run": {1: ["a"]}}
    bench.finish(1, "a")
    assert bench.act() == {"publish": {1: ["a"]}, "finished": {"me": ["a"]}}
    bench.published(1, bench.number("a"), "place")
    assert bench.act() == {"located": ["a"]}


@pytest.mark.parametrize("end", ["released", "failed"])
def test_who_seeks_a_result_is_told_when_it_will_never_come(end: str) -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.locate("a")
    if end == "released":
        bench.release("me", ["a"])
    else:
        bench.fail(0, "a")
    assert bench.act()["located"] == ["a"]


def test_a_result_that_cannot_be_sent_draws_its_readers_to_it() -> None:
    bench = Bench(1, 1)
    bench.submit({"lock": [], "large": [], "both": ["lock", "large"]}, ["both"])
    assert bench.act()["run"] == {0: ["lock"], 1: ["large"]}
    bench.finish(0, "lock", nbytes=1)
    bench.finish(1, "large", nbytes=10_000)
    assert bench.act() == {"publish": {0: ["lock"]}}
    bench.published(0, bench.number("lock"), None)
    assert bench.act() == {"publish": {1: ["large"]}}
    bench.published(1, bench.number("large"), "place")
    assert bench.act() == {"run": {0: ["both"]}}


def test_two_results_that_cannot_be_sent_cannot_meet() -> None:
    bench = Bench(1, 1)
    bench.submit({"lock-0": [], "lock-1": [], "both": ["lock-0", "lock-1"]}, ["lock-0", "lock-1", "both"])
    bench.act()
    bench.finish(0, "lock-0")
    bench.finish(1, "lock-1")
    bench.act()
    for number in range(2):
        bench.locate(f"lock-{number}")
        bench.published(number, bench.number(f"lock-{number}"), None)
    assert bench.act()["erred"] == {"me": ["both"]}
    assert bench.scheduler.tasks["both"].error[0] == "pinned"


# Memory that is short, results that are lost


def learn_size(bench: Bench, layer: str, nbytes: int) -> None:
    """Let worker 0 run one task of a layer, so that the size of its results is known."""
    bench.submit({f"{layer}-known": []}, [f"{layer}-known"])
    bench.act()
    bench.finish(0, f"{layer}-known", nbytes=nbytes)
    bench.release("me", [f"{layer}-known"])
    bench.act()


def test_a_paused_worker_gets_no_tasks_and_what_is_queued_for_it_goes_elsewhere() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": []}, ["a", "b"])
    bench.act()
    bench.finish(0, "a")
    bench.submit({"c-0": ["a"], "c-1": ["a"]}, ["c-0", "c-1"])
    assert bench.act()["run"] == {0: ["c-0"]}
    bench.set_pressure(0, Pressure.PAUSED)
    bench.finish(0, "c-0")
    bench.finish(1, "b")
    assert bench.act()["publish"] == {0: ["a"]}
    assert bench.scheduler.tasks["c-1"].worker is bench.scheduler.workers[1]


def test_a_worker_that_is_not_paused_any_more_gets_tasks_again() -> None:
    bench = Bench(1)
    bench.set_pressure(0, Pressure.PAUSED)
    bench.submit({"a": []}, ["a"])
    assert bench.act() == {}
    bench.set_pressure(0, Pressure.NONE)
    assert bench.act() == {"run": {0: ["a"]}}


def test_where_memory_is_short_loads_wait_and_reductions_go() -> None:
    bench = Bench(2)
    learn_size(bench, "load", 100_000)
    learn_size(bench, "sum", 10)
    bench.submit({"load-0": [], "sum-0": ["load-0"], "load-1": [], "sum-1": ["load-1"]}, ["sum-0", "sum-1"])
    bench.act()
    bench.submit({"load-2": []}, ["load-2"], priority=1)
    bench.set_pressure(0, Pressure.HIGH)
    bench.finish(0, "load-0", nbytes=100_000)
    assert bench.act()["run"] == {0: ["sum-0"]}
    bench.finish(0, "sum-0", nbytes=10)
    assert "run" not in bench.act()
    bench.set_pressure(0, Pressure.NONE)
    assert bench.act()["run"] == {0: ["load-2"]}


def test_a_result_larger_than_what_it_frees_waits_where_memory_is_short() -> None:
    bench = Bench(2)
    learn_size(bench, "repeat", 200_000)
    bench.submit({"a": [], "busy": []}, ["a", "busy"])
    bench.act()
    bench.finish(0, "a", nbytes=100_000)
    bench.set_pressure(0, Pressure.HIGH)
    bench.submit({"repeat-0": ["a"]}, ["repeat-0"])
    bench.release("me", ["a"])
    assert bench.act() == {"finished": {"me": ["a"]}}
    bench.set_pressure(0, Pressure.NONE)
    assert bench.act() == {"run": {0: ["repeat-0"]}}


def test_what_a_worker_short_of_memory_passes_over_another_takes() -> None:
    bench = Bench(1)
    learn_size(bench, "load", 100_000)
    bench.worker_joined(1, "w1", 1)
    bench.submit({"busy-0": [], "busy-1": []}, ["busy-0", "busy-1"])
    bench.act()
    bench.set_pressure(0, Pressure.HIGH)
    bench.submit({"load-0": []}, ["load-0"])
    bench.finish(0, "busy-0")
    assert "run" not in bench.act()
    bench.finish(1, "busy-1")
    assert bench.act()["run"] == {1: ["load-0"]}


def test_one_task_at_a_time_grows_memory_when_nothing_else_can_go() -> None:
    bench = Bench(2, 2, 2)
    bench.set_pressure(0, Pressure.PAUSED)
    bench.set_pressure(1, Pressure.HIGH)
    bench.set_pressure(2, Pressure.HIGH)
    bench.submit({f"load-{n}": [] for n in range(3)}, [f"load-{n}" for n in range(3)])
    assert bench.act() == {"run": {1: ["load-0"]}}
    assert bench.act() == {}
    bench.finish(1, "load-0", nbytes=100_000)
    assert bench.act()["run"] == {1: ["load-1"]}


def test_lost_results_are_made_again_if_they_are_needed() -> None:
    bench = Bench(2)
    bench.submit({"a": [], "b": []}, ["a", "b"])
    bench.act()
    bench.finish(0, "a", "b")
    bench.submit({"c": ["b"]}, ["c"])
    bench.release("me", ["b"])
    bench.act()
    bench.finish(0, "c")
    bench.act()  # 'b' is known below 'c', and not held
    bench.results_lost(0, [bench.number("a"), bench.number("b")])
    assert bench.act() == {"run": {0: ["a"]}}


def test_only_the_results_that_lie_on_the_worker_can_be_lost_by_it() -> None:
    bench = Bench(1, 1)
    bench.add_data("me", "data", "place", 10)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.act()
    bench.results_lost(1, [bench.number("a"), bench.number("data"), 99])
    bench.results_lost(7, [bench.number("a")])
    assert (bench.act(), bench.state("a"), bench.state("data")) == ({}, State.MEMORY, State.MEMORY)


def test_a_task_given_back_for_a_lost_input_runs_once_that_is_back() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    bench.act()
    bench.finish(0, "a")
    assert bench.act() == {"run": {0: ["b"]}}
    bench.scheduler.results_lost(0, [bench.number("a")])
    bench.recalled(0, [bench.number("b")])
    assert bench.act() == {"run": {0: ["a"]}}
    bench.finish(0, "a")
    assert bench.act() == {"run": {0: ["b"]}}
    assert bench.scheduler.tasks["b"].n_deaths == 0


def test_a_task_that_had_read_what_was_lost_finishes_and_the_input_is_not_made_again() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    bench.act()
    bench.finish(0, "a")
    bench.act()
    bench.scheduler.results_lost(0, [bench.number("a")])
    bench.finish(0, "b")
    assert bench.act() == {"finished": {"me": ["b"]}}


def share(bench: Bench, key: str, place: str) -> None:
    """Let the one worker finish a task whose result lies where every process reads it."""
    number = bench.number(key)
    bench.finished(0, [number], [10], [LONG_S], [place])


def test_a_shared_result_that_cannot_be_read_is_made_again_from_inputs_that_are_made_again() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    bench.act()
    share(bench, "a", "place-a")
    assert bench.act() == {"run": {0: ["b"]}}
    share(bench, "b", "place-b")
    bench.act()  # 'a' is known below 'b', and not held
    assert bench.scheduler.shared_result_lost(bench.number("b"), "place-b")
    assert bench.act()["run"] == {0: ["a"]}
    share(bench, "a", "another-a")
    assert bench.act() == {"run": {0: ["b"]}}


def test_a_shared_result_is_lost_only_where_it_is_to_be_read_now() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    number = bench.number("a")
    assert not bench.scheduler.shared_result_lost(number, "old")
    bench.act()
    share(bench, "a", "new")
    assert not bench.scheduler.shared_result_lost(number, "old")
    assert not bench.scheduler.shared_result_lost(99, "new")
    assert (bench.state("a"), bench.scheduler.tasks["a"].shared_location) == (State.MEMORY, "new")
    bench.act()


def test_a_task_that_could_not_read_a_shared_input_runs_once_that_is_back() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    bench.act()
    share(bench, "a", "place")
    bench.act()
    bench.scheduler.shared_result_lost(bench.number("a"), "place")
    bench.recalled(0, [bench.number("b")])
    assert bench.act()["run"] == {0: ["a"]}
    share(bench, "a", "another")
    assert bench.act() == {"run": {0: ["b"]}}


def test_a_result_that_is_lost_again_and_again_fails_with_what_waits_for_it() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["a", "b"])
    for _ in range(LOSSES_ALLOWED):
        assert bench.act()["run"] == {0: ["a"]}
        share(bench, "a", "place")
        bench.act()
        bench.scheduler.shared_result_lost(bench.number("a"), "place")
        bench.recalled(0, [bench.number("b")])
    assert (bench.state("a"), bench.state("b")) == (State.ERRED, State.ERRED)
    assert bench.act()["erred"] == {"me": ["a", "b"]}
    bench.submit({"a": []}, ["a"])  # another chance
    assert bench.act() == {"run": {0: ["a"]}}
    share(bench, "a", "place")
    bench.scheduler.shared_result_lost(bench.number("a"), "place")
    assert bench.act()["run"] == {0: ["a"]}


def test_a_value_that_was_handed_in_and_is_lost_fails_with_what_waits_for_it() -> None:
    bench = Bench(1)
    bench.add_data("me", "data", "place", 10)
    bench.submit({"b": []}, ["b"])
    bench.scheduler.submit("me", ["c"], ["spec"], [(1,)], external=["data"], wanted=["c"])
    bench.act()
    bench.scheduler.shared_result_lost(bench.number("data"), "place")
    assert (bench.state("data"), bench.state("c")) == (State.ERRED, State.ERRED)
    bench.add_data("me", "data", "another", 10)
    assert bench.state("data") is State.MEMORY
    bench.act()


def test_a_shared_result_that_nobody_needs_is_not_made_again() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["a", "b"])
    bench.act()
    share(bench, "a", "place")
    bench.act()
    share(bench, "b", "place-b")
    bench.act()
    bench.scheduler.shared_result_lost(bench.number("a"), "place")
    assert bench.act()["run"] == {0: ["a"]}
    bench.release("me", ["a"])
    share(bench, "a", "third")
    assert bench.scheduler.tasks["b"].state is State.MEMORY
    bench.act()


def test_a_task_given_back_unasked_goes_to_a_worker_with_room() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    assert bench.act() == {"run": {0: ["a"]}}
    bench.recalled(0, [bench.number("a")])
    bench.set_pressure(0, Pressure.PAUSED)
    bench.worker_joined(1, "w1", 1)
    assert bench.act() == {"run": {1: ["a"]}}
