"""The pool of threads: nothing waits for what it needn't wait for, a crash has a reason, a forked child has its own."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tasks
from glassloom import compute, delayed
from glassloom._gc import gc_paused
from glassloom.errors import GraphError, ThreadPoolEnded
from glassloom.graph import Graph, Key, Task, TaskRef
from glassloom.local.threads import ThreadsRuntime, default_threads
from long_tests import LONG_TESTS
from pools import end, eventually, holds_nothing

WAIT_S = 60.0


@pytest.fixture
def pool() -> Iterator[ThreadsRuntime]:
    runtime = ThreadsRuntime(2, publish=False)
    yield runtime
    holds_nothing(runtime)
    end(runtime)


@pytest.fixture
def one_thread() -> Iterator[ThreadsRuntime]:
    runtime = ThreadsRuntime(1, publish=False)
    yield runtime
    holds_nothing(runtime)
    end(runtime)


class Asking(threading.Thread):
    """A thread that asks a runtime for one task's result."""

    def __init__(self, runtime: ThreadsRuntime, task: Task) -> None:
        super().__init__(daemon=True)
        self.results: list[Any] = []
        self.errors: list[BaseException] = []
        self._ask = lambda: runtime.get(Graph({task.key: task}), [task.key])
        self.start()

    def run(self) -> None:
        try:
            self.results += self._ask()
        except Exception as error:  # the test looks at it
            self.errors.append(error)


def learn_that_they_are_short(runtime: ThreadsRuntime) -> None:
    """Let the pool run tasks of layer x-1 until it queues many of them at once."""
    keys: list[Key] = [("x-1", n) for n in range(50)]
    runtime.get(Graph({key: Task(key, int) for key in keys}), keys)


# F7: a result isn't held back


def test_a_short_task_does_not_wait_for_a_long_one_of_the_same_function(
    one_thread: ThreadsRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The long one is taken for a short one; it ends only when the short one's result has arrived."""
    monkeypatch.setattr("glassloom.local.watchdog.BLOCKED_S", 1000.0)  # no other thread runs the short one
    learn_that_they_are_short(one_thread)
    go_first, go_last = threading.Event(), threading.Event()
    worker = one_thread._pool.scheduler.workers[0]
    calls = [(go_first.wait, WAIT_S), (int, "5"), (go_last.wait, WAIT_S)]
    asking = []
    for number, (function, argument) in enumerate(calls):
        asking.append(Asking(one_thread, Task(("x-1", 100 + number), function, (argument,))))
        eventually(lambda number=number: len(worker.running) == number + 1)  # all are sent to the one thread
    go_first.set()
    asking[1].join(WAIT_S / 2)
    assert (asking[1].results, asking[2].results) == ([5], [])
    go_last.set()
    for thread in asking:
        thread.join(WAIT_S)
    assert asking[2].results == [True]


def test_a_computation_is_read_and_released_while_all_threads_are_busy(one_thread: ThreadsRuntime) -> None:
    go = threading.Event()
    busy = Asking(one_thread, Task("busy", go.wait, (WAIT_S,)))
    eventually(lambda: "busy" in one_thread._pool.scheduler.tasks)
    with pytest.raises(GraphError, match="the graph has a cycle"):
        one_thread.get(
            Graph({"a": Task("a", tasks.inc, (TaskRef("b"),)), "b": Task("b", tasks.inc, (TaskRef("a"),))}), ["a"]
        )
    go.set()
    busy.join(WAIT_S)


# F6: tasks that compute in threads of their own


def nested(depth: int, width: int) -> int:
    """Compute a sum in threads of one's own, whose tasks do the same, `depth` levels deep."""
    if not depth:
        return 1
    with ThreadPoolExecutor(width) as executor:
        calls = [delayed(nested, pure=False)(depth - 1, width) for _ in range(width)]
        return sum(executor.map(lambda call: call.compute(scheduler=nested.runtime), calls))  # type: ignore[attr-defined]


@pytest.mark.fault("a task on threads computes in threads of its own")
@pytest.mark.parametrize(("depth", "width"), [(1, 2), (2, 2), (2, 3), (3, 2)])
def test_tasks_may_compute_in_threads_of_their_own(pool: ThreadsRuntime, depth: int, width: int) -> None:
    nested.runtime = pool  # type: ignore[attr-defined]
    outer = [delayed(nested, pure=False)(depth, width) for _ in range(4)]
    assert compute(*outer, scheduler=pool) == (width**depth,) * 4


def test_tasks_taken_for_short_ones_may_compute_in_threads_of_their_own(one_thread: ThreadsRuntime) -> None:
    """Many are queued behind the one that waits: what it waits for goes first all the same."""
    learn_that_they_are_short(one_thread)

    def in_a_thread(number: int) -> int:
        with ThreadPoolExecutor(1) as executor:
            inner = Graph({f"y-{number}": Task(f"y-{number}", int, (number,))})
            return executor.submit(one_thread.get, inner, [f"y-{number}"]).result()[0]

    keys: list[Key] = [("x-1", n) for n in range(100, 130)]
    graph = Graph({key: Task(key, in_a_thread, (key[1],)) for key in keys})  # type: ignore[index]
    assert one_thread.get(graph, keys) == list(range(100, 130))


def test_threads_that_replaced_blocked_ones_end(pool: ThreadsRuntime) -> None:
    nested.runtime = pool  # type: ignore[attr-defined]
    assert delayed(nested, pure=False)(2, 2).compute(scheduler=pool) == 4
    eventually(lambda: len(pool._pool.slots) == 2)


def test_tasks_that_wait_for_something_else_get_no_threads_beyond_the_pools(pool: ThreadsRuntime) -> None:
    """Only what keeps another computation waiting is replaced: the number of threads bounds what is open at once."""
    lock, running, most, both = threading.Lock(), [0], [0], threading.Event()

    def wait(number: int) -> int:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
            if running[0] == 2:
                both.set()
        both.wait(WAIT_S)  # the second thread may come late on a busy machine
        time.sleep(0.1)  # in which no third one comes
        with lock:
            running[0] -= 1
        return number

    assert compute(*[delayed(wait)(n) for n in range(6)], scheduler=pool) == tuple(range(6))
    assert most[0] == 2


def test_a_computation_does_not_wait_for_the_stuck_tasks_of_an_interrupted_one(one_thread: ThreadsRuntime) -> None:
    begun, go = threading.Event(), threading.Event()

    def stuck() -> bool:
        begun.set()
        return go.wait(WAIT_S)

    main = threading.main_thread().ident or 0
    interrupting = threading.Thread(target=lambda: (begun.wait(WAIT_S), signal.pthread_kill(main, signal.SIGINT)))
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        delayed(stuck)().compute(scheduler=one_thread)
    assert delayed(tasks.inc)(1).compute(scheduler=one_thread) == 2
    assert not go.is_set()
    go.set()


# Crashes of the pool's own code


def crash(*_: Any, **__: Any) -> None:
    raise RuntimeError("a bug")


@pytest.mark.fault("the engine's own code raises in a thread of the pool of threads")
def test_a_thread_that_crashes_ends_every_waiting_computation_with_the_reason(pool: ThreadsRuntime) -> None:
    go = threading.Event()
    waiting = Asking(pool, Task("waits", go.wait, (WAIT_S,)))
    eventually(lambda: "waits" in pool._pool.scheduler.tasks)
    broken = pool._pool
    broken.scheduler.finished = crash  # type: ignore[method-assign]
    with pytest.raises(ThreadPoolEnded, match="its thread glassloom-[01] crashed: RuntimeError: a bug") as caught:
        delayed(tasks.inc)(1).compute(scheduler=pool)
    assert "The next computation starts a new pool." in str(caught.value)
    waiting.join(WAIT_S)
    assert [type(error) for error in waiting.errors] == [ThreadPoolEnded]
    assert delayed(tasks.inc)(1).compute(scheduler=pool) == 2
    assert pool._pool is not broken
    go.set()
    for slot in broken.slots:
        assert slot.thread is not None
        slot.thread.join(WAIT_S)
        assert not slot.thread.is_alive()


@pytest.mark.fault("the engine's own code raises in a thread of the pool of threads")
@pytest.mark.parametrize("method", ["submit", "take_actions", "failed"])
def test_wherever_a_thread_crashes_the_caller_is_told(pool: ThreadsRuntime, method: str) -> None:
    threads = pool.pool()
    works = getattr(threads.scheduler, method)

    def crash_with_a_caller(*args: Any, **kwargs: Any) -> Any:
        """A thread that starts late and finds nothing to do ends no computation."""
        return crash() if threads.computations else works(*args, **kwargs)

    setattr(threads.scheduler, method, crash_with_a_caller)
    call = delayed(tasks.divide)(1, 0) if method == "failed" else delayed(tasks.inc)(1)
    with pytest.raises(ThreadPoolEnded, match="RuntimeError: a bug"):
        call.compute(scheduler=pool)
    assert delayed(tasks.inc)(1).compute(scheduler=pool) == 2


def test_a_watchdog_that_crashes_ends_the_pool_with_the_reason(pool: ThreadsRuntime) -> None:
    assert delayed(tasks.inc)(1).compute(scheduler=pool) == 2
    broken = pool._pool
    broken._watchdog.look = crash  # type: ignore[method-assign]
    broken._watchdog.wake()
    eventually(lambda: not broken.is_usable)
    assert "glassloom-watchdog crashed: RuntimeError: a bug" in str(broken._end_reason)
    assert delayed(tasks.inc)(1).compute(scheduler=pool) == 2


def test_a_closed_runtime_starts_a_new_pool() -> None:
    runtime = ThreadsRuntime(1, publish=False)
    for _ in range(2):
        assert delayed(tasks.inc)(1).compute(scheduler=runtime) == 2
        end(runtime)


def test_closing_a_pool_tells_those_who_wait_for_it() -> None:
    runtime = ThreadsRuntime(1, publish=False)
    go = threading.Event()
    waiting = Asking(runtime, Task("waits", go.wait, (WAIT_S,)))
    eventually(lambda: "waits" in runtime._pool.scheduler.tasks)
    runtime.close()
    waiting.join(WAIT_S)
    assert [str(error).splitlines()[0] for error in waiting.errors] == ["the pool of threads was closed"]
    go.set()
    end(runtime)


# Users' values


class Huge:
    nbytes = 2**80


class Negative:
    nbytes = -5


class EndsThePythonProcess:
    @property
    def nbytes(self) -> int:
        sys.exit(1)


class SaysNothing(Exception):
    def __str__(self) -> str:
        raise SystemExit

    __repr__ = __str__


def fail_with(kind: type[BaseException], *args: Any) -> None:
    raise kind(*args)


@pytest.fixture
def publishing() -> Iterator[ThreadsRuntime]:
    runtime = ThreadsRuntime(1, publish=True)
    yield runtime
    end(runtime)


@pytest.mark.parametrize("kind", [Huge, Negative, EndsThePythonProcess, type("Homeless", (), {"__module__": None})])
def test_a_value_that_cannot_be_measured_is_a_result_like_any_other(publishing: ThreadsRuntime, kind: type) -> None:
    assert type(delayed(kind, pure=False)().compute(scheduler=publishing)) is kind
    assert type(delayed(kind, pure=False)().compute(scheduler=publishing)) is kind


@pytest.mark.parametrize("arguments", [(SaysNothing,), (ValueError, "\udcff"), (OSError, 2, "", "/tmp/\udcff")])
def test_an_exception_that_cannot_be_shown_is_raised_all_the_same(
    publishing: ThreadsRuntime, arguments: tuple[Any, ...]
) -> None:
    for _ in range(2):
        with pytest.raises(arguments[0]):
            delayed(fail_with, pure=False)(*arguments).compute(scheduler=publishing)


# Forks


def in_a_fork(act: Callable[[], Any], timeout_s: float = WAIT_S) -> int:
    """Call `act` in a forked child, which ends with status 0 if it is true; return the status, -9 if it never ended."""
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if act() else 2
        finally:
            os._exit(status)
    return status_of(child, timeout_s)


def status_of(child: int, timeout_s: float = WAIT_S) -> int:
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


@pytest.mark.more
@pytest.mark.fault("a process whose pool of threads is busy forks")
@pytest.mark.parametrize("name", ["threads", "own"])
def test_a_forked_child_computes_while_its_parents_pool_is_busy(pool: ThreadsRuntime, name: str) -> None:
    runtime = default_threads() if name == "threads" else pool
    for _ in range(20 if LONG_TESTS else 5):
        go = threading.Event()
        busy = Asking(runtime, Task("busy", go.wait, (WAIT_S,)))
        graph = Graph({("x-1", n): Task(("x-1", n), int) for n in range(3000)})
        many = threading.Thread(target=runtime.get, args=(graph, list(graph.tasks)))
        many.start()
        call = delayed(tasks.total)([delayed(tasks.inc)(n) for n in range(9)])
        scheduler = "threads" if name == "threads" else pool
        assert in_a_fork(lambda call=call, scheduler=scheduler: call.compute(scheduler=scheduler) == 45) == 0
        go.set()
        for thread in (busy, many):
            thread.join(WAIT_S)
        assert busy.results == [True]


def test_a_task_may_fork_a_child_that_computes(pool: ThreadsRuntime) -> None:
    def fork() -> int:
        return in_a_fork(lambda: delayed(tasks.inc)(1).compute() == 2)

    assert delayed(fork)().compute(scheduler=pool) == 0


@pytest.mark.fault("a task on threads forks, and its child comes back")
@pytest.mark.parametrize(("end_child", "status"), [(lambda: None, 0), (lambda: sys.exit(3), 3), (lambda: 1 / 0, 1)])
def test_a_forked_child_that_comes_back_from_the_task_ends(
    pool: ThreadsRuntime, end_child: Callable[[], Any], status: int
) -> None:
    def fork() -> int:
        child = os.fork()
        if not child:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - of the child, which ends
            end_child()
            return -1
        return status_of(child)

    assert delayed(fork)().compute(scheduler=pool) == status


# Nothing is kept


class Held:
    """Something large: a local variable, an argument or a result of a task."""


def test_what_a_failed_task_held_goes_with_its_exception(pool: ThreadsRuntime) -> None:
    kept: list[weakref.ref[Any]] = []

    def fail(argument: Held) -> None:
        local = Held()
        kept.extend([weakref.ref(local), weakref.ref(argument)])
        raise ValueError(local)

    with gc_paused():  # without the cycle collector's help
        for _ in range(3):
            try:
                delayed(fail)(Held()).compute(scheduler=pool)
            except ValueError as error:
                names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
                assert names[-1] == "fail"
        assert len(kept) == 6
        eventually(lambda: not any(reference() for reference in kept))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_pool_keeps_neither_arguments_nor_results(n_threads: int) -> None:
    runtime = ThreadsRuntime(n_threads, publish=False)
    kept: list[weakref.ref[Any]] = []

    def make(argument: Held) -> Held:
        result = Held()
        kept.extend([weakref.ref(argument), weakref.ref(result)])
        return result

    with gc_paused():
        for _ in range(5):
            compute(*[delayed(make)(Held()) for _ in range(3)], scheduler=runtime)
        assert len(kept) == 30
        eventually(lambda: not any(reference() for reference in kept))
    end(runtime)


def test_many_small_computations_leave_the_books_small(pool: ThreadsRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the scheduler's tables grows with the number of computations that have ended, failed ones among them."""
    monkeypatch.setattr("glassloom.local.thread_pool.N_LAYERS_KEPT", 10)

    def size() -> int:
        gc.collect()
        return sum(1 for thing in gc.get_objects() if str(type(thing).__module__).startswith("glassloom."))

    def run(first: int) -> None:
        for number in range(first, first + 300):
            key = f"x-{number}"
            assert pool.get(Graph({key: Task(key, int, (number,))}), [key]) == [number]
            with pytest.raises(ZeroDivisionError):
                pool.get(Graph({key: Task(key, tasks.divide, (number, 0))}), [key])

    run(0)
    eventually(lambda: len(pool._pool.scheduler.layers) <= 20)
    before = size()
    for first in range(300, 1500, 300):
        run(first)
    eventually(lambda: len(pool._pool.scheduler.layers) <= 20)
    assert size() < before + 300
