"""Results that nobody needs any more, and how many tasks are told to be in which state: each decision of the scheduler by example, events in, the actions in full out."""

from __future__ import annotations

from glassloom.sampling.progress import layer_counts
from scheduler_bench import LONG_S, Bench, blocks

__all__ = ["blocks"]


# Letting go


def test_a_result_is_dropped_when_its_last_reader_is_done() -> None:
    bench = Bench(2)
    bench.submit({"a": [], "b": ["a"], "c": ["a"]}, ["b", "c"])
    bench.act()
    bench.finish(0, "a")
    bench.act()
    bench.finish(0, "b")
    assert bench.act() == {"finished": {"me": ["b"]}}
    bench.finish(0, "c")
    assert bench.act() == {"drop": {0: [bench.number("a")]}, "finished": {"me": ["c"]}}


def test_releasing_a_result_forgets_it_and_what_only_it_depended_on() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    for key in ("a", "b"):
        bench.act()
        bench.finish(0, key)
    bench.act()
    bench.release("me", ["b"])
    assert bench.act() == {"drop": {0: [1]}}
    assert bench.scheduler.tasks == {}


def test_a_result_is_held_until_the_last_client_lets_go() -> None:
    bench = Bench(1)
    for client in ("me", "you"):
        bench.submit({"a": []}, ["a"], client=client)
    assert bench.act() == {"run": {0: ["a"]}}
    bench.finish(0, "a")
    assert bench.act() == {"finished": {"me": ["a"], "you": ["a"]}}
    bench.release("me", ["a"])
    assert bench.act() == {}
    bench.client_left("you")
    assert bench.act() == {"drop": {0: [0]}}


def test_a_running_task_that_nobody_needs_is_recalled_and_its_result_dropped() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    number = bench.number("a")
    bench.release("me", ["a"])
    assert bench.act() == {"recall": {0: ["a"]}}
    bench.finished(0, [number], [100], [LONG_S], [None])
    assert bench.act() == {"drop": {0: [number]}}
    assert bench.scheduler.workers[0].stopping == {}


def test_nothing_is_queued_behind_a_task_that_was_stopped_but_has_not_ended() -> None:
    bench = Bench(1, 1)
    bench.submit({"stuck": [], "other": []}, ["stuck", "other"])
    bench.act()
    bench.cancel(["stuck"])
    bench.act()
    bench.submit({"a": []}, ["a"])
    assert bench.act() == {}
    bench.finish(1, "other")
    assert bench.act()["run"] == {1: ["a"]}


def test_a_stopped_task_that_is_wanted_again_waits_for_its_last_run() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": [], "b": ["a"]}, ["a"])
    bench.submit({"a": [], "keep": ["a"]}, ["keep"])
    bench.act()
    bench.finish(0, "a")
    bench.act()
    bench.finish(0, "keep")
    bench.release("me", ["a"])
    bench.act()  # 'a' is remembered below 'keep', its result is not
    bench.want("me", ["a"])
    (worker,) = bench.act()["run"]
    bench.release("me", ["a"])
    bench.act()
    bench.want("me", ["a"])
    assert bench.act() == {}
    bench.finish(worker, "a")
    assert bench.act() == {"finished": {"me": ["a"]}}


def test_cancelling_tells_every_client_and_takes_dependents_along() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["a", "b"])
    bench.submit({"c": ["a"]}, ["c"], client="you")
    bench.act()
    bench.cancel(["a"])
    assert bench.act() == {"recall": {0: ["a"]}, "cancelled": {"me": ["a", "b"], "you": ["c"]}}
    assert bench.scheduler.tasks == {}


def test_cancelling_a_ladder_of_diamonds_visits_each_task_once() -> None:
    bench = Bench(1)
    graph: dict[str, list[str]] = {"x-0": []}
    for rung in range(1, 60):  # 2**59 ways lead from the bottom to the top
        graph |= {
            f"l-{rung}": [f"x-{rung - 1}"],
            f"r-{rung}": [f"x-{rung - 1}"],
            f"x-{rung}": [f"l-{rung}", f"r-{rung}"],
        }
    bench.submit(graph, ["x-59"])
    bench.act()
    bench.cancel(["x-0"])
    assert bench.act() == {"recall": {0: ["x-0"]}, "cancelled": {"me": ["x-59"]}}


def test_wanting_what_is_unknown_is_answered_as_cancelled() -> None:
    bench = Bench(1)
    bench.want("me", ["gone"])
    assert bench.act() == {"cancelled": {"me": ["gone"]}}


# What people who watch are told: waiting, ready, running, in memory, released, erred


def told(bench: Bench) -> dict[str, tuple[int, ...]]:
    return {layer.name: layer_counts(layer) for layer in bench.scheduler.layers.values()}


def test_only_what_had_a_result_is_told_as_released() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"], "c": ["b"]}, ["a", "c"])
    bench.act()
    bench.finish(0, "a")
    bench.cancel(["a"])
    assert bench.scheduler.tasks == {}
    assert told(bench) == {"a": (0, 0, 0, 0, 1, 0), "b": (0, 0, 0, 0, 0, 0), "c": (0, 0, 0, 0, 0, 0)}


def test_a_failure_is_told_as_one_after_it_was_let_go() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    bench.act()
    bench.fail(0, "a")
    bench.release("me", ["b"])
    assert bench.scheduler.tasks == {}
    assert told(bench) == {"a": (0, 0, 0, 0, 0, 1), "b": (0, 0, 0, 0, 0, 1)}


def test_a_lost_result_is_not_told_as_released_while_it_is_made_again() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.worker_left(0)
    bench.act()
    assert told(bench) == {"a": (0, 0, 1, 0, 0, 0)}
    bench.finish(1, "a")
    bench.release("me", ["a"])
    assert told(bench) == {"a": (0, 0, 0, 0, 1, 0)}
