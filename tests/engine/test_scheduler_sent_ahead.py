"""Short tasks that are sent to the worker that makes their inputs, before it has made them: each decision of the scheduler by example, events in, the actions in full out."""

from __future__ import annotations

from scheduler_bench import LONG_S, SHORT_S, Bench, blocks, learn_duration

__all__ = ["blocks"]


def test_a_chain_of_short_tasks_is_sent_at_once() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({"x-0": [], "x-1": ["x-0"], "x-2": ["x-1"]}, ["x-2"])
    assert bench.act() == {"run": {0: ["x-0", "x-1", "x-2"]}}
    bench.finish(0, "x-0", "x-1", "x-2", duration_s=SHORT_S)
    assert bench.act()["finished"] == {"me": ["x-2"]}
    assert bench.scheduler.workers[0].n_ahead == 0


def test_a_task_that_comes_while_its_input_is_made_is_sent_ahead_too() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({"x-0": []}, ["x-0"])
    bench.act()
    bench.submit({"x-1": ["x-0"]}, ["x-1"])
    assert bench.act() == {"run": {0: ["x-1"]}}


def test_a_task_goes_ahead_of_inputs_on_one_worker_only() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.worker_joined(1, "w1", 1)
    bench.submit({"x-0": [], "x-1": [], "x-2": ["x-0", "x-1"]}, ["x-2"])
    assert bench.act() == {"run": {0: ["x-0"], 1: ["x-1"]}}


def test_no_task_goes_ahead_without_reaching_its_other_inputs() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.worker_joined(1, "w1", 1)
    bench.submit({"x-0": [], "x-1": []}, ["x-0", "x-1"])
    bench.act()
    bench.finish(1, "x-1", duration_s=SHORT_S)
    bench.submit({"x-2": ["x-0", "x-1"]}, ["x-2"])
    assert "run" not in bench.act()


def test_long_tasks_are_not_sent_ahead_nor_ahead_of_them() -> None:
    bench = Bench(1)
    learn_duration(bench, "x", duration_s=LONG_S)
    bench.submit({"x-0": [], "x-1": ["x-0"]}, ["x-1"])
    assert bench.act() == {"run": {0: ["x-0"]}}


def test_a_result_that_many_read_is_left_for_all_workers_to_share() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({"x-0": []} | {f"x-{n}": ["x-0"] for n in (1, 2, 3)}, ["x-1", "x-2", "x-3"])
    assert bench.act() == {"run": {0: ["x-0"]}}


def test_a_better_task_is_not_overtaken_by_one_that_is_sent_ahead() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({"x-0": []}, ["x-0"])
    bench.act()
    bench.submit({"x-1": ["x-0"]}, ["x-1"], priority=-1)
    bench.submit({"x-2": []}, ["x-2"])
    assert bench.act() == {"run": {0: ["x-2", "x-1"]}}


def test_a_task_that_was_sent_ahead_takes_no_thread() -> None:
    bench = Bench(2)
    learn_duration(bench, "x")
    bench.submit({"x-0": [], "x-1": ["x-0"]}, ["x-1"])
    bench.act()
    bench.submit({"long": []}, ["long"])
    bench.submit({"other": []}, ["other"])
    assert bench.act() == {"run": {0: ["long"]}}  # unknown, so one to a thread: two are taken


def test_what_was_sent_ahead_of_a_task_that_is_tried_again_comes_back_and_follows_it() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({"x-0": [], "x-1": ["x-0"]}, ["x-1"], retries=1)
    assert bench.act() == {"run": {0: ["x-0", "x-1"]}}
    assert bench.scheduler.failed(0, bench.number("x-0"), "error") is False
    bench.recalled(0, [bench.number("x-1")])
    assert bench.act() == {"run": {0: ["x-0", "x-1"]}}


def test_what_was_sent_ahead_of_a_failed_task_fails_with_it() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({"x-0": [], "x-1": ["x-0"]}, ["x-1"])
    bench.act()
    number = bench.number("x-1")
    bench.fail(0, "x-0")
    assert bench.act() == {"recall": {0: ["x-1"]}, "erred": {"me": ["x-1"]}}
    bench.recalled(0, [number])
    assert bench.scheduler.workers[0].stopping == {}


def test_who_had_not_begun_is_not_blamed_for_a_death() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({"x-0": [], "x-1": ["x-0"]}, ["x-1"])
    bench.act()
    bench.worker_left(0)
    assert [bench.scheduler.tasks[key].n_deaths for key in ("x-0", "x-1")] == [1, 0]
