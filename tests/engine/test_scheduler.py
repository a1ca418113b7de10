"""Where and in which order tasks run, and which graphs are refused: each decision of the scheduler by example, events in, the actions in full out."""

from __future__ import annotations

import invariants
import pytest
from glassloom.errors import GraphError
from glassloom.scheduler import Pressure, Scheduler, State
from hypothesis import example, given, settings
from hypothesis import strategies as st
from long_tests import examples
from scheduler_bench import LONG_S, Bench, blocks

__all__ = ["blocks"]


# Running


def test_a_task_runs_and_its_client_is_told() -> None:
    bench = Bench(1)
    bench.submit({"a": []}, ["a"])
    assert bench.act() == {"run": {0: ["a"]}}
    bench.finish(0, "a")
    assert bench.act() == {"finished": {"me": ["a"]}}


def test_dependencies_go_first_and_only_wanted_keys_are_told_of() -> None:
    bench = Bench(1)
    bench.submit({"a": [], "b": ["a"]}, ["b"])
    assert bench.act() == {"run": {0: ["a"]}}
    bench.finish(0, "a")
    assert bench.act() == {"run": {0: ["b"]}}
    bench.finish(0, "b")
    assert bench.act() == {"drop": {0: [0]}, "finished": {"me": ["b"]}}


def test_nothing_runs_without_workers_and_all_runs_once_one_joins() -> None:
    bench = Bench()
    bench.submit({"a": []}, ["a"])
    assert bench.act() == {}
    bench.worker_joined(7, "w7", 1)
    assert bench.act() == {"run": {7: ["a"]}}


def test_a_task_runs_where_most_of_its_data_is() -> None:
    bench = Bench(1, 1)
    bench.submit({"small": [], "large": [], "sum": ["small", "large"]}, ["sum"])
    assert bench.act() == {"run": {0: ["small"], 1: ["large"]}}
    bench.finish(0, "small", nbytes=10)
    bench.finish(1, "large", nbytes=10_000)
    assert bench.act() == {"publish": {0: ["small"]}}
    assert bench.state("sum") is State.STAGING
    bench.published(0, bench.number("small"), "place")
    assert bench.act() == {"run": {1: ["sum"]}}


def test_data_that_all_can_reach_draws_a_task_nowhere() -> None:
    bench = Bench(1, 1)
    bench.add_data("me", "data", "place", 10)
    bench.submit({"a-1": ["data"], "a-2": ["data"]}, ["a-1", "a-2"])
    assert bench.act()["run"] == {0: ["a-1"], 1: ["a-2"]}


def test_a_result_is_published_once_for_many_readers() -> None:
    bench = Bench(1, 1, 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.act()
    bench.submit({f"b-{n}": ["a"] for n in range(9)}, [f"b-{n}" for n in range(9)])
    assert bench.act() == {"run": {0: ["b-0"]}, "publish": {0: ["a"]}}


def test_the_first_tasks_of_an_unknown_kind_go_one_to_a_thread() -> None:
    bench = Bench(2, 1)
    bench.submit({f"a-{n}": [] for n in range(10)}, [f"a-{n}" for n in range(10)])
    assert bench.act() == {"run": {0: ["a-0", "a-1"], 1: ["a-2"]}}


def test_short_tasks_are_queued_deep() -> None:
    bench = Bench(1)
    bench.submit({f"a-{n}": [] for n in range(5000)}, ["a-4999"] + [f"a-{n}" for n in range(4999)])
    bench.act()
    bench.finish(0, "a-0", duration_s=1e-4)
    assert len(bench.act()["run"][0]) == 101  # 10 ms of work, and the one that crosses the line


def test_a_worker_that_is_told_at_once_has_less_queued() -> None:
    bench = Bench()
    bench.scheduler.worker_joined(0, "threads", 2, prefetch_s=0.002)
    bench.submit({f"a-{n}": [] for n in range(5000)}, [f"a-{n}" for n in range(5000)])
    bench.act()
    bench.finish(0, "a-0", "a-1", duration_s=1e-4)
    assert len(bench.act()["run"][0]) == 41  # 2 ms of work for each thread, and the one that crosses the line


def test_short_tasks_are_queued_deep_also_after_one_of_them_lost_its_cpu() -> None:
    bench = Bench(1)
    keys = [f"a-{n}" for n in range(5000)]
    bench.submit({key: [] for key in keys}, keys)
    bench.act()
    bench.finish(0, keys[0], duration_s=1e-4)
    bench.act()
    bench.finish(0, keys[1], duration_s=0.2)
    bench.act()
    bench.finish(0, *keys[2:102], duration_s=1e-4)
    assert len(bench.act()["run"][0]) > 50


def test_a_queue_has_at_most_a_thousand_tasks() -> None:
    bench = Bench(1)
    bench.submit({f"a-{n}": [] for n in range(5000)}, [f"a-{n}" for n in range(5000)])
    bench.act()
    bench.finish(0, "a-0", duration_s=1e-9)
    assert len(bench.act()["run"][0]) == 1000


def test_long_tasks_are_withheld_until_a_thread_is_free() -> None:
    bench = Bench(1)
    bench.submit({f"a-{n}": [] for n in range(3)}, ["a-0", "a-1", "a-2"])
    assert bench.act() == {"run": {0: ["a-0"]}}
    bench.finish(0, "a-0", duration_s=LONG_S)
    assert bench.act()["run"] == {0: ["a-1"]}


def test_a_load_is_withheld_while_a_loaded_block_can_be_reduced() -> None:
    bench = Bench(1)
    graph = {f"load-{n}": [] for n in range(3)} | {f"sum-{n}": [f"load-{n}"] for n in range(3)}
    bench.submit(graph, ["sum-0", "sum-1", "sum-2"])
    assert bench.act() == {"run": {0: ["load-0"]}}
    bench.finish(0, "load-0")
    assert bench.act() == {"run": {0: ["sum-0"]}}


def test_an_idle_worker_takes_what_is_queued_for_a_busy_one() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.submit({f"b-{n}": ["a"] for n in range(4)}, [f"b-{n}" for n in range(4)])
    assert bench.act() == {"run": {0: ["b-0"]}, "publish": {0: ["a"]}, "finished": {"me": ["a"]}}
    assert bench.state("b-1") is State.STAGING
    assert bench.scheduler.tasks["b-1"].worker is bench.scheduler.workers[1]


def test_a_busy_workers_next_round_is_left_to_it() -> None:
    bench = Bench(1, 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.submit({"b-0": ["a"], "b-1": ["a"]}, ["b-0", "b-1"])
    assert bench.act()["run"] == {0: ["b-0"]}
    assert bench.state("b-1") is State.READY


def test_the_larger_priority_goes_first_then_the_earlier_graph() -> None:
    bench = Bench(1)
    bench.submit({"busy": []}, ["busy"])
    bench.act()
    bench.submit({"low": []}, ["low"], priority=-1)
    bench.submit({"first": []}, ["first"])
    bench.submit({"second": []}, ["second"])
    bench.submit({"high": []}, ["high"], priority=3)
    order = []
    for done in ("busy", "high", "first", "second"):
        bench.finish(0, done)
        order += bench.act()["run"][0]
    assert order == ["high", "first", "second", "low"]


def tree_reduction(n_leaves: int) -> dict[str, list[str]]:
    graph: dict[str, list[str]] = {f"load-{n}": [] for n in range(n_leaves)}
    level, row = 0, list(graph)
    while len(row) > 1:
        graph |= {f"sum{level}-{n}": row[2 * n : 2 * n + 2] for n in range(len(row) // 2)}
        row = [f"sum{level}-{n}" for n in range(len(row) // 2)]
        level += 1
    return graph


def served(bench: Bench, n_tasks: int) -> list[str]:
    """Let worker 0, of one thread, run tasks one after the other; return their keys."""
    keys: list[str] = []
    for _ in range(n_tasks):
        for key in bench.running.get(0, []):
            bench.finish(0, key)
        keys += bench.act().get("run", {}).get(0, [])
    return keys


def test_clients_take_turns_and_a_clients_own_graphs_go_one_after_the_other() -> None:
    bench = Bench(1)
    for client, graph in (("a", "a"), ("a", "c"), ("b", "b")):
        keys = [f"{graph}-{n}" for n in range(3)]
        bench.submit({key: [] for key in keys}, keys, client=client)
    assert served(bench, 9) == ["a-0", "b-0", "a-1", "b-1", "a-2", "b-2", "c-0", "c-1", "c-2"]


def test_a_client_that_comes_later_shares_from_then_on_and_has_saved_up_nothing() -> None:
    bench = Bench(1)
    bench.submit({f"a-{n}": [] for n in range(100)}, [f"a-{n}" for n in range(100)], client="a")
    served(bench, 50)
    bench.submit({f"b-{n}": [] for n in range(100)}, [f"b-{n}" for n in range(100)], client="b")
    keys = served(bench, 40)
    assert 19 <= sum(key.startswith("a") for key in keys) <= 21  # one was running when the other came


def test_taking_turns_keeps_the_order_inside_each_graph() -> None:
    bench = Bench(1)
    tree = tree_reduction(8)
    for client in ("a", "b"):
        graph = {f"{client}{key}": [f"{client}{dep}" for dep in deps] for key, deps in tree.items()}
        bench.submit(graph, [f"{client}sum2-0"], client=client)
    keys = served(bench, 40)
    alone = Bench(1)
    alone.submit(tree, ["sum2-0"])
    expected = served(alone, 40)
    assert [key[1:] for key in keys if key[0] == "a"] == [key[1:] for key in keys if key[0] == "b"] == expected


@settings(deadline=None, max_examples=examples(40))
@example([(0, 2, 2), (1, 1, 0), (2, 4, 0)])
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 30), st.integers(0, 20)), min_size=2, max_size=8))
def test_clients_with_work_get_as_much_as_each_other(graphs: list[tuple[int, int, int]]) -> None:
    """Between any two moments, clients that have work throughout are served equally, but for three tasks.

    Start-time fair queueing itself allows two (one a client). Here time goes on when a task ends, not when it begins, so
    that a client that has come meanwhile may begin one place earlier.
    """
    bench, books = Bench(1), dict.fromkeys(range(4), 0)
    history: list[tuple[dict[int, int], set[int]]] = []
    waiting = dict.fromkeys(range(4), 0)
    for number, (client, n_tasks, n_served) in enumerate([*graphs, (0, 1, 200)]):
        keys = [f"c{client}-{number}-{n}" for n in range(n_tasks)]
        bench.submit({key: [] for key in keys}, keys, client=client)
        waiting[client] += n_tasks
        for _ in range(n_served):
            for key in served(bench, 1):
                served_client = int(key[1])
                books[served_client] += 1
                waiting[served_client] -= 1
            history.append((dict(books), {client for client, n in waiting.items() if n}))
            if not any(waiting.values()):
                break  # nothing happens any more before the next graph
    for start in range(len(history)):
        busy = set(history[start][1])
        for end in range(start, min(start + 60, len(history))):
            busy &= history[end][1]
            got = [history[end][0][client] - history[start][0][client] for client in busy]
            assert not got or max(got) - min(got) <= 3, (start, end, got)


# Bad graphs


def test_a_cycle_is_refused_and_nothing_has_changed() -> None:
    bench = Bench(1)
    with pytest.raises(GraphError, match=r"^the graph has a cycle through '[ab]'$"):
        bench.submit({"a": ["b"], "b": ["a"]}, ["a"])
    assert (bench.scheduler.tasks, bench.act()) == ({}, {})


def test_building_on_an_unknown_key_is_refused_and_nothing_has_changed() -> None:
    bench = Bench(1)
    message = r"^the graph builds on 'gone', which the cluster doesn't know \(released or cancelled\?\)$"
    with pytest.raises(GraphError, match=message):
        bench.submit({"a": ["gone"]}, ["a"])
    assert (bench.scheduler.tasks, bench.act()) == ({}, {})


def test_a_late_publication_of_an_earlier_run_is_as_good_as_that_of_the_last() -> None:
    scheduler = Scheduler(lambda kind, task: (kind, task.key))
    scheduler.worker_joined(0, "w0", 1)
    scheduler.submit("me", ["x"], ["spec"], [()], wanted=["x"])
    scheduler.take_actions()
    scheduler.finished(0, [0], [8], [1.0], [None])
    task = scheduler.locate("x")
    assert scheduler.take_actions().publish == {scheduler.workers[0]: [task]}
    scheduler.worker_joined(1, "w1", 1)
    scheduler.set_pressure(0, Pressure.PAUSED)
    scheduler.results_lost(0, [0])
    scheduler.take_actions()
    scheduler.finished(1, [0], [8], [1.0], [None])
    assert scheduler.take_actions().publish == {scheduler.workers[1]: [task]}
    scheduler.published(0, 0, "early")
    invariants.check(scheduler)
    assert scheduler.take_actions().located == [task]
    scheduler.published(1, 0, "late")
    invariants.check(scheduler)
    assert (scheduler.tasks["x"].shared_location, scheduler.take_actions().free) == ("early", [(-1, "late")])
