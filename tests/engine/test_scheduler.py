"""Each decision of the scheduler by example: events in, the actions in full out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import invariants
import pytest
from glassloom.errors import GraphError
from glassloom.sampling.progress import layer_counts
from glassloom.scheduler import LOSSES_ALLOWED, Actions, Pressure, Restrictions, Scheduler, State
from glassloom.scheduler.task_block import TaskSlice
from hypothesis import example, given, settings
from hypothesis import strategies as st
from long_tests import examples

SHORT_S, LONG_S = 1e-5, 1.0


class Bench:
    """A scheduler with a few words for what its tests say often; the invariants are checked after each."""

    min_block = 8
    """Set by the fixture `blocks`."""

    def __init__(self, *nthreads: int) -> None:
        self.scheduler = Scheduler(lambda kind, task: (kind, task.key), min_block=self.min_block)
        self.running: dict[int, list[str]] = {}
        """Keys of what each worker was sent and hasn't finished."""
        for number, count in enumerate(nthreads):
            self.scheduler.worker_joined(number, f"w{number}", count)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.scheduler, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            invariants.check(self.scheduler)
            return result

        return call

    def submit(
        self, graph: dict[str, Sequence[str]], wanted: Sequence[str], *, client: Any = "me", **kwargs: Any
    ) -> None:
        """Hand in tasks by key with their dependencies; those that aren't in the graph are known already."""
        external = sorted({dep for deps in graph.values() for dep in deps} - graph.keys())
        position = {key: number for number, key in enumerate([*graph, *external])}
        deps = [[position[dep] for dep in below] for below in graph.values()]
        self.scheduler.submit(
            client, list(graph), [f"spec {key}" for key in graph], deps, external=external, wanted=wanted, **kwargs
        )
        invariants.check(self.scheduler)

    def act(self) -> dict[str, Any]:
        """Take the actions; return those that there are, with keys for tasks and numbers for workers."""
        actions: Actions = self.scheduler.take_actions()
        invariants.check(self.scheduler)
        invariants.check_settled(self.scheduler)
        found: dict[str, Any] = {}
        for name in ("run", "publish", "recall"):
            found[name] = {worker.number: keys_of(tasks) for worker, tasks in getattr(actions, name).items()}
        for worker, keys in found["run"].items():
            self.running.setdefault(worker, []).extend(keys)
        found["drop"] = {worker.number: list(numbers) for worker, numbers in actions.drop.items()}
        for name in ("finished", "erred"):
            found[name] = {client: keys_of(tasks) for client, tasks in getattr(actions, name).items()}
        found["cancelled"] = {client: list(keys) for client, keys in actions.cancelled.items()}
        found["free"] = [location for _, location in invariants.freed(actions)]
        found["located"] = [task.key for task in actions.located]
        found["stop"] = [worker.number for worker in actions.stop]
        return {name: value for name, value in found.items() if value}

    def number(self, key: str) -> int:
        return self.scheduler.numbers_of([key])[0]

    def finish(
        self, worker: int, *keys: str, nbytes: int = 100, duration_s: float = LONG_S, location: Any = None
    ) -> None:
        """A worker has run tasks."""
        n = len(keys)
        self.running[worker] = [key for key in self.running.get(worker, ()) if key not in keys]
        self.finished(worker, [self.number(key) for key in keys], [nbytes] * n, [duration_s] * n, [location] * n)

    def fail(self, worker: int, key: str, error: Any = "error") -> bool:
        return self.failed(worker, self.number(key), error)

    def state(self, key: str) -> State:
        return self.scheduler.tasks[key].state


def keys_of(tasks: Sequence[Any]) -> list[str]:
    """Return the keys of tasks and of slices of blocks."""
    return [key for item in tasks for key in (item.keys if isinstance(item, TaskSlice) else [item.key])]


@pytest.fixture(autouse=True, params=[2, 8, 10**9], ids=["blocks", "some blocks", "no blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each decision is the same for tasks in blocks and for others."""
    monkeypatch.setattr(Bench, "min_block", request.param)


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


# Sent ahead: to the worker that makes the inputs, before it has made them


def learn_duration(bench: Bench, *layers: str, duration_s: float = SHORT_S) -> None:
    """Let worker 0 run one task of each layer, so that their durations are known."""
    for layer in layers:
        bench.submit({f"{layer}-known": []}, [f"{layer}-known"])
        bench.act()
        bench.finish(0, f"{layer}-known", duration_s=duration_s)
        bench.release("me", [f"{layer}-known"])
        bench.act()


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


# Given back: by workers that are slower than was expected


def queue_ten_that_last(bench: Bench) -> None:
    """Queue ten tasks that were short before on worker 0; worker 1 comes afterwards."""
    learn_duration(bench, "x")
    bench.submit({f"x-{n}": [] for n in range(10)}, [f"x-{n}" for n in range(10)])
    assert len(bench.act()["run"][0]) == 10
    assert bench.rebalance(0.1) is False
    bench.worker_joined(1, "w1", 1)
    bench.act()


def test_an_idle_worker_gets_what_a_slow_one_has_queued() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    assert bench.rebalance(0.1) is True
    assert sorted(bench.act()["recall"][0]) == [f"x-{n}" for n in range(1, 10)]
    bench.recalled(0, [bench.number(f"x-{n}") for n in range(1, 10)])
    bench.scheduler.layers["x"].learnt.duration_s = LONG_S
    assert bench.act() == {"run": {1: ["x-1"]}}


def test_a_task_is_asked_back_once_and_a_slow_worker_is_not_filled_again() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.rebalance(0.1)
    bench.act()
    bench.rebalance(0.1)
    assert bench.act() == {"recall": {0: ["x-0"]}}  # as if it hadn't begun that either
    assert bench.rebalance(0.1) is False
    bench.recalled(0, [bench.number(f"x-{n}") for n in range(1, 10)])
    assert list(bench.act()["run"]) == [1]
    assert bench.rebalance(0.1) is False


def test_what_is_asked_back_was_sent_last_in_whichever_order_tasks_left_their_block() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    assert bench.scheduler.tasks["x-5"].state is State.RUNNING  # looked up, it leaves its block before the others
    assert bench.rebalance(0.1) is True
    assert bench.act()["recall"][0] == [f"x-{n}" for n in range(9, 0, -1)]
    assert [task.key for task in bench.scheduler.tasks_on(0)[0]] == [f"x-{n}" for n in range(10)]


def test_a_task_that_was_not_given_back_does_not_keep_the_others_there() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.rebalance(0.1)
    bench.act()
    bench.recalled(0, [bench.number(f"x-{n}") for n in range(1, 9)])  # for some reason it has begun x-9
    bench.worker_joined(2, "w2", 20)
    bench.act()
    assert bench.rebalance(0.1) is True
    assert bench.act()["recall"] == {0: ["x-0"]}


def test_tasks_before_another_on_its_worker_are_those_that_were_sent_earlier() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    task = bench.scheduler.tasks["x-5"]
    n_individual = sum(other.turn < task.turn for other in bench.scheduler.workers[0].running)
    assert bench.count_before(task) + n_individual == 5


def test_a_worker_that_was_sent_tasks_just_before_a_look_is_not_slow() -> None:
    bench = Bench(1)
    learn_duration(bench, "x", duration_s=0.001)
    keys = [f"x-{n}" for n in range(20)]
    bench.submit({key: [] for key in keys}, keys)
    n_sent = len(bench.act()["run"][0])
    assert bench.rebalance(0.1) is False
    bench.finish(0, *keys[:6], duration_s=0.001)
    assert bench.act()["run"] == {0: keys[n_sent : n_sent + 6]}


def test_a_fast_worker_keeps_its_queue() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.finish(0, *[f"x-{n}" for n in range(5)], duration_s=SHORT_S)
    assert bench.rebalance(0.1) is False


def test_nothing_is_asked_back_while_all_are_busy() -> None:
    bench = Bench(1)
    learn_duration(bench, "x")
    bench.submit({f"x-{n}": [] for n in range(10)}, [f"x-{n}" for n in range(10)])
    bench.act()
    assert bench.rebalance(0.1) is False


def test_a_task_that_had_begun_when_it_was_asked_back_simply_ends() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.rebalance(0.1)
    bench.act()
    bench.finish(0, "x-9", duration_s=LONG_S)
    assert bench.act()["finished"] == {"me": ["x-9"]}
    assert bench.number("x-9") not in bench.scheduler.workers[0].asked_back


def test_a_retiring_worker_is_asked_for_what_it_has_not_begun() -> None:
    bench = Bench(1)
    queue_ten_that_last(bench)
    bench.retire(0)
    assert len(bench.act()["recall"][0]) == 10
    bench.recalled(0, [bench.number(f"x-{n}") for n in range(1, 10)])
    assert list(bench.act()["run"]) == [1]


def test_a_task_known_to_last_is_moved_even_out_of_the_next_round() -> None:
    bench = Bench(1)
    learn_duration(bench, "b", duration_s=LONG_S)
    bench.worker_joined(1, "w1", 1)
    bench.submit({"a": []}, ["a"])
    bench.act()
    bench.finish(0, "a")
    bench.submit({"b-0": ["a"], "b-1": ["a"]}, ["b-0", "b-1"])
    assert bench.act()["publish"] == {0: ["a"]}
    assert bench.scheduler.tasks["b-1"].worker is bench.scheduler.workers[1]


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
