"""Runtimes inside this process: the pool of threads and the one that runs inline."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import tasks
from glassloom import compute, delayed, persist
from glassloom.errors import GraphError, OptionError
from glassloom.graph import Graph, Task, TaskRef
from glassloom.local.synchronous import SynchronousRuntime
from glassloom.local.threads import ThreadsRuntime
from glassloom_metrics.protocol import Errors, Layers, Progress, TaskEvents, column, stops_s
from glassloom_metrics.registry import find_record, read_records
from glassloom_metrics.subscriber import subscribe
from pools import end, eventually, holds_nothing


@pytest.fixture
def pool() -> Iterator[ThreadsRuntime]:
    """Two threads that publish nothing; they must have forgotten everything when the test ends."""
    runtime = ThreadsRuntime(2, publish=False)
    yield runtime
    holds_nothing(runtime)
    end(runtime)


def graph_of(*tasks: Task) -> Graph:
    return Graph({task.key: task for task in tasks})


DIAMOND = graph_of(
    Task("a", int, ("4",)),
    Task("b", tasks.add, (TaskRef("a"), 1)),
    Task("c", tasks.add, (TaskRef("a"), 2)),
    Task("d", tasks.total, ([TaskRef("b"), TaskRef("c")],)),
)


@pytest.fixture(params=["threads", "inline"])
def runtime(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("pool") if request.param == "threads" else SynchronousRuntime()


def test_results_come_in_the_order_of_the_asked_keys(runtime: Any) -> None:
    assert runtime.get(DIAMOND, ["d", "a", "b"]) == [11, 4, 5]


def test_a_key_asked_for_twice_comes_twice(runtime: Any) -> None:
    assert runtime.get(DIAMOND, ["a", "a"]) == [4, 4]


def test_no_keys_give_no_results(runtime: Any) -> None:
    assert runtime.get(Graph(), []) == []


def test_hold_returns_the_values(runtime: Any) -> None:
    assert dict(runtime.hold(DIAMOND, ["b", "c"])) == {"b": 5, "c": 6}


def test_shared_work_is_done_once(runtime: Any, tmp_path: Path) -> None:
    log = str(tmp_path / "runs")
    graph = graph_of(
        Task("a", tasks.count_run, (log, 1)), *(Task(f"b{n}", tasks.add, (TaskRef("a"), n)) for n in range(9))
    )
    assert runtime.get(graph, [f"b{n}" for n in range(9)]) == [*range(1, 10)]
    assert Path(log).read_text() == "x"


def test_an_exception_leaves_with_its_own_frames(runtime: Any) -> None:
    graph = graph_of(Task("a", tasks.divide, (1, 0)), Task("b", tasks.inc, (TaskRef("a"),)))
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        runtime.get(graph, ["b"])
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "return numerator / denominator"


def test_a_cycle_is_an_error_that_names_a_task(runtime: Any) -> None:
    graph = graph_of(Task("a", tasks.inc, (TaskRef("b"),)), Task("b", tasks.inc, (TaskRef("a"),)))
    with pytest.raises(GraphError, match="the graph has a cycle through '[ab]'"):
        runtime.get(graph, ["a"])


def test_a_chain_of_ten_thousand_tasks_does_not_overflow_the_stack(runtime: Any) -> None:
    chain = [Task(("x-1", 0), int)]
    chain += [Task(("x-1", n), tasks.inc, (TaskRef(("x-1", n - 1)),)) for n in range(1, 10_000)]
    assert runtime.get(graph_of(*chain), [("x-1", 9999)]) == [9999]


def test_a_task_may_compute_collections_itself(runtime: Any) -> None:
    def nested() -> int:
        return delayed(tasks.inc)(delayed(tasks.inc)(1)).compute()

    assert compute(*[delayed(nested)() for _ in range(8)], scheduler=runtime) == (3,) * 8


def test_the_note_on_an_exception_names_the_task_and_the_users_line(pool: ThreadsRuntime) -> None:
    failing = delayed(tasks.divide)(1, 0)  # built here
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        failing.compute(scheduler=pool)
    (note,) = caught.value.__notes__
    assert note.startswith("Task 'divide-")
    assert note.endswith("failing = delayed(tasks.divide)(1, 0)  # built here")


def test_tasks_run_side_by_side(pool: ThreadsRuntime) -> None:
    barrier = threading.Barrier(2, timeout=60)
    both = [delayed(barrier.wait)() for _ in range(2)]
    assert sorted(compute(*both, scheduler=pool)) == [0, 1]


def test_several_threads_may_compute_at_once(pool: ThreadsRuntime) -> None:
    results: dict[int, Any] = {}

    def use(number: int) -> None:
        parts = [delayed(tasks.add, pure=True)(n, number) for n in range(200)]
        results[number] = delayed(tasks.total)(parts).compute(scheduler=pool)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {number: 19900 + 200 * number for number in range(6)}


def test_another_computations_failure_does_not_keep_a_result_back() -> None:
    """A thread that has finished a task and then runs one that fails must still tell of the first."""
    runtime = ThreadsRuntime(1, publish=False)
    go = threading.Event()
    results: list[Any] = []

    def get(graph: Graph, keys: list[Any]) -> None:
        try:
            results.append(runtime.get(graph, keys))
        except ZeroDivisionError:
            results.append("failed")

    def start(graph: Graph, key: str) -> threading.Thread:
        thread = threading.Thread(target=get, args=(graph, [key]), daemon=True)
        thread.start()
        eventually(
            lambda: key in runtime._pool.scheduler.tasks or not thread.is_alive()
        )  # a slow test is run in its place
        return thread

    short = graph_of(*(Task(("x-1", n), int) for n in range(50)), Task("x", len, ([TaskRef(("x-1", 0))],)))
    runtime.get(short, [("x-1", n) for n in range(50)])  # the thread learns that they are short, and queues several
    blocker = start(graph_of(Task("w-0", go.wait)), "w-0")
    fine = start(graph_of(Task(("x-1", 77), int)), ("x-1", 77))  # type: ignore[arg-type]
    failing = start(graph_of(Task(("x-1", 78), tasks.divide, (1, 0))), ("x-1", 78))  # type: ignore[arg-type]
    go.set()
    for thread in (blocker, fine, failing):
        thread.join(60)
    assert len(results) == 3
    assert sorted(map(str, results)) == ["[0]", "[True]", "failed"]
    end(runtime)


def test_a_hundred_thousand_tasks_run(pool: ThreadsRuntime) -> None:
    graph = graph_of(*(Task(("x-1", n), int, (n,)) for n in range(100_000)))
    assert sum(pool.get(graph, list(graph.tasks))) == 4999950000


def test_results_that_nobody_needs_any_more_are_freed_while_the_graph_runs(pool: ThreadsRuntime) -> None:
    alive, most = [0], [0]
    lock = threading.Lock()

    class Block:
        def __init__(self) -> None:
            with lock:
                alive[0] += 1
                most[0] = max(most[0], alive[0])

        def __del__(self) -> None:
            with lock:
                alive[0] -= 1

    def load() -> Block:
        time.sleep(0.012)  # as long as a real one: thousands of tasks of a microsecond are queued at once
        return Block()

    # A chain of sums over 60 loads: each load is used up before the next ones are made.
    graph = Graph()
    for n in range(60):
        graph.add({("load-1", n): Task(("load-1", n), load)})
        last = (TaskRef(("sum-1", n - 1)),) if n else ()
        graph.add({("sum-1", n): Task(("sum-1", n), lambda *_: None, (TaskRef(("load-1", n)), *last))})
    pool.get(graph, [("sum-1", 59)])
    assert most[0] <= 8
    assert alive[0] == 0


INTERRUPTED = """
import sys
sys.path.insert(0, {tests!r})
import tasks
from glassloom import delayed
first = delayed(tasks.begin_and_wait)({begun!r}, {go!r}, 0)
others = [delayed(tasks.wait_for)({go!r}, n) for n in range(20)]
try:
    delayed(tasks.total)([first, *others]).compute()
except KeyboardInterrupt:
    open({go!r}, "w").close()
    print("interrupted", delayed(tasks.inc)(1).compute())
"""


def test_ctrl_c_leaves_the_pool_usable(tmp_path: Path) -> None:
    path, begun, go = tmp_path / "script.py", tmp_path / "begun", tmp_path / "go"
    path.write_text(INTERRUPTED.format(tests=str(Path(__file__).parent), begun=str(begun), go=str(go)))
    process = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        eventually(begun.exists)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (output, process.returncode) == ("interrupted 2\n", 0)


# Choosing


def test_persist_without_a_client_holds_the_values(pool: ThreadsRuntime, tmp_path: Path) -> None:
    log = str(tmp_path / "runs")
    (held,) = persist(delayed(tasks.count_run)(log, 5), scheduler=pool)
    assert (held.compute(scheduler=pool), held.compute(scheduler="inline")) == (5, 5)
    assert Path(log).read_text() == "x"


def test_a_runtime_can_be_named() -> None:
    assert delayed(os.getpid)().compute(scheduler="inline") == os.getpid()
    assert delayed(threading.current_thread)().compute(scheduler="inline") is threading.current_thread()
    assert delayed(threading.current_thread)().compute(scheduler="threads") is not threading.current_thread()


@pytest.mark.parametrize("scheduler", ["process", "", 3, object()])
def test_an_unknown_scheduler_is_an_error_that_lists_the_known_ones(scheduler: Any) -> None:
    message = r"^scheduler=.* is none of 'processes', 'synchronous', 'threads' and no Client; to compute on a cluster, make a Client"
    with pytest.raises(OptionError, match=message):
        delayed(1).compute(scheduler=scheduler)


# Publishing


def test_the_pool_publishes_its_tasks_as_a_cluster() -> None:
    runtime = ThreadsRuntime(2, publish=True)
    runtime.pool()
    record = eventually(lambda: [r for r in read_records() if r.kind == "threads"])[0]
    try:
        assert record == find_record(f"threads-{os.getpid()}")
        parts = [delayed(tasks.inc, pure=True)(n) for n in range(30)]
        assert delayed(tasks.total)(parts).compute(scheduler=runtime) == 465
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            delayed(tasks.divide)(1, 0).compute(scheduler=runtime)
        messages = asyncio.run(_read_until(record, _is_whole))
    finally:
        end(runtime)
    events = [message for message in messages if isinstance(message, TaskEvents)]
    assert sum(map(len, events)) == 32
    assert sum(sum(column(event, "ok")) for event in events) == 31
    names = dict(pair for m in messages if isinstance(m, Layers) for pair in zip(m.ids, m.names, strict=True))
    assert sorted(names.values()) == ["divide", "inc", "total"]
    (error,) = [message for message in messages if isinstance(message, Errors)]
    assert (error.exceptions, error.messages, error.counts) == (["ZeroDivisionError"], ["division by zero"], [1])
    assert all(0 <= stop - start < 60 for event in events for start, stop in _times(event))
    assert record not in read_records()


def _is_whole(seen: list[Any]) -> bool:
    n_events = sum(len(message) for message in seen if isinstance(message, TaskEvents))
    kinds = {type(message) for message in seen}
    return n_events == 32 and {Layers, Progress, Errors} <= kinds


def _times(event: TaskEvents) -> list[tuple[float, float]]:
    return list(zip(column(event, "start_s"), stops_s(event), strict=True))


async def _read_until(record: Any, enough: Callable[[list[Any]], bool]) -> list[Any]:
    seen: list[Any] = []
    async with asyncio.timeout(60):
        async for message in subscribe(record):
            seen.append(message)
            if enough(seen):
                return seen
    return seen


class BusyQueue(SimpleQueue):  # type: ignore[type-arg]
    """A queue that another thread empties in the moment after it was asked whether it is empty."""

    def empty(self) -> bool:
        return False


def test_a_thread_tells_of_its_last_result_though_others_took_the_tasks_that_it_saw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("glassloom.local.thread_pool.SimpleQueue", BusyQueue)
    monkeypatch.setattr("glassloom.local.thread_pool.BATCH_S", 1000.0)  # no time makes it tell either
    runtime = ThreadsRuntime(1, publish=False)
    found: list[Any] = []
    asking = threading.Thread(
        target=lambda: found.extend(runtime.get(Graph({"x": Task("x", int, (5,))}), ["x"])), daemon=True
    )
    asking.start()
    asking.join(timeout=60)
    runtime.close()
    assert found == [5]


# Blocks: many independent tasks of one layer


def block_of(numbers: range, function: Callable[[int], Any]) -> Graph:
    return graph_of(*(Task(("block-f", number), function, (number,)) for number in numbers))


def test_tasks_behind_one_that_takes_longer_than_expected_are_run_by_other_threads(pool: ThreadsRuntime) -> None:
    learnt = block_of(range(100), int)
    pool.get(learnt, list(learnt.tasks))
    last_has_run = threading.Event()

    def function(number: int) -> int:
        if number == 100:
            assert last_has_run.wait(60)
        elif number == 107:
            last_has_run.set()
        return number

    graph = block_of(range(100, 1100), function)
    assert pool.get(graph, list(graph.tasks)) == list(range(100, 1100))


def test_a_failing_task_of_a_block_fails_the_computation_and_nothing_else(pool: ThreadsRuntime) -> None:
    graph = block_of(range(50), lambda number: 1 // (number - 30))
    with pytest.raises(ZeroDivisionError):
        pool.get(graph, list(graph.tasks))
    assert pool.get(graph, [("block-f", 31), ("block-f", 29)]) == [1, -1]


def test_two_computations_share_the_tasks_of_a_block(pool: ThreadsRuntime) -> None:
    runs: list[int] = []
    may_go_on = threading.Event()

    def function(number: int) -> int:
        runs.append(number)
        assert may_go_on.wait(60)
        return number

    graph = block_of(range(20), function)
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda keys=keys: results.append(pool.get(graph, keys)))
        for keys in (list(graph.tasks), list(graph.tasks)[::2])
    ]
    for thread in threads:
        thread.start()
    eventually(lambda: len(pool.pool().computations) == 2)
    may_go_on.set()
    for thread in threads:
        thread.join()
    assert sorted(results, key=len) == [list(range(0, 20, 2)), list(range(20))]
    assert sorted(runs) == list(range(20))
