"""Ctrl-C while threads compute: at each place of the engine's code that the caller runs, and at random moments.

After each interrupt the same computation, of the same keys, is right, and the pool holds nothing.
"""

from __future__ import annotations

import _thread
import gc
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import glassloom
import glassloom.array as ga
import numpy as np
import pytest
import tasks
from glassloom import delayed
from glassloom.local import threads
from glassloom.local.threads import ThreadsRuntime, default_threads
from interrupts import interrupt, interrupt_after, sweep
from long_tests import LONG_TESTS
from pools import end, eventually, holds_nothing

pytestmark = pytest.mark.more

N_ROUNDS = 200
N_SMALL_TASKS = 3000


@pytest.fixture
def pool() -> Iterator[ThreadsRuntime]:
    runtime = ThreadsRuntime(2, publish=False)
    yield runtime
    end(runtime)


def check_of(cell: Callable[[], Any], expected: Any, runtime: ThreadsRuntime) -> Callable[[], None]:
    """Return a check that the cell gives what is expected, and that the pool holds nothing then."""

    def check() -> None:
        assert cell() == expected
        holds_nothing(runtime)

    return check


@pytest.mark.fault("Ctrl-C while the pool of threads computes")
def test_compute_is_right_after_an_interrupt_at_any_place(pool: ThreadsRuntime) -> None:
    array = ga.arange(12, chunks=4) + 1

    def cell() -> list[int]:
        return glassloom.compute(array, scheduler=pool)[0].tolist()

    assert sweep(cell, check_of(cell, list(range(1, 13)), pool)) > 50


def test_persist_is_right_after_an_interrupt_at_any_place(pool: ThreadsRuntime) -> None:
    array = ga.arange(12, chunks=4).sum()

    def cell() -> int:
        return int(array.persist(scheduler=pool).compute(scheduler="inline"))

    assert sweep(cell, check_of(cell, 66, pool)) > 50


def test_delayed_calls_are_right_after_an_interrupt_at_any_place(pool: ThreadsRuntime) -> None:
    total = delayed(tasks.total)([delayed(tasks.inc)(n) for n in range(5)])

    def cell() -> int:
        return total.compute(scheduler=pool)

    assert sweep(cell, check_of(cell, 15, pool)) > 50


def test_a_failing_computation_raises_its_own_error_after_an_interrupt_at_any_place(pool: ThreadsRuntime) -> None:
    failing = delayed(tasks.divide)(1, 0)

    def check() -> None:
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            failing.compute(scheduler=pool)
        holds_nothing(pool)

    def cell() -> None:
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            failing.compute(scheduler=pool)

    assert sweep(cell, check) > 50


def test_a_pool_starts_right_after_an_interrupt_at_any_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first computation makes the pool and starts its threads: as many as ever, however often that is interrupted."""
    started: list[ThreadsRuntime] = []
    monkeypatch.setattr(threads.ThreadsRuntime, "__init__", _noting(threads.ThreadsRuntime.__init__, started))
    call = delayed(tasks.inc)(1)

    def cell() -> int:
        return call.compute(scheduler="threads")

    def fresh_cell() -> int:
        threads._runtime_of.cache_clear()
        return cell()

    def check() -> None:
        assert cell() == 2
        runtime = default_threads()
        eventually(lambda: len(runtime._pool.slots) == runtime.nthreads)
        for runtime in started:
            end(runtime)
        started.clear()
        eventually(
            lambda: not [thread for thread in threading.enumerate() if _is_of_a_pool(thread) and thread not in known]
        )

    known = set(threading.enumerate())
    assert sweep(fresh_cell, check) > 50
    threads._runtime_of.cache_clear()


def _noting(make: Callable[..., None], made: list[Any]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        made.append(self)

    return __init__


def _is_of_a_pool(thread: threading.Thread) -> bool:
    return thread.name.startswith("glassloom-")


def test_a_second_interrupt_while_the_first_one_leaves_loses_nothing(pool: ThreadsRuntime) -> None:
    """The waiting call is interrupted, and what Python does on the way out is interrupted again, at any place."""
    go = threading.Event()
    waiting = delayed(go.wait)()

    def twice(number: int) -> str | None:
        def cell() -> None:
            has_left = threading.Event()
            timer = threading.Thread(target=_interrupt_when, args=(lambda: pool._pool.computations, has_left))
            timer.start()
            try:
                waiting.compute(scheduler=pool)
            finally:
                has_left.set()
                timer.join()

        try:
            return interrupt(cell, number)
        except KeyboardInterrupt:
            return "once"

    for number in range(1, 400, 7 if LONG_TESTS else 23):
        twice(number)
        eventually(lambda: not pool._pool.computations)
    go.set()
    assert waiting.compute(scheduler=pool) is True
    holds_nothing(pool)


def test_an_interrupt_that_comes_just_before_the_wait_ends_it(pool: ThreadsRuntime) -> None:
    """Such a signal is noted, but it wakes no system call, as none has begun."""
    begun, go = threading.Event(), threading.Event()
    timer = threading.Thread(target=lambda: (begun.wait(60), _thread.interrupt_main()))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            delayed(lambda: (begun.set(), go.wait()))().compute(scheduler=pool)
    finally:
        go.set()
    timer.join()
    holds_nothing(pool)


def _interrupt_when(condition: Callable[[], Any], has_left: threading.Event) -> None:
    while not condition():
        if has_left.is_set():  # an earlier interrupt has kept the computation from being posted
            return
        time.sleep(0.001)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Python ignores one in a finaliser
@pytest.mark.fault("Ctrl-C while the pool of threads computes")
def test_signals_at_random_moments_leave_the_pool_right(pool: ThreadsRuntime) -> None:
    total = delayed(tasks.total)([delayed(tasks.inc, pure=True)(n) for n in range(N_SMALL_TASKS)])
    expected = sum(range(1, N_SMALL_TASKS + 1))

    def took_s() -> float:
        began_s = time.perf_counter()
        assert total.compute(scheduler=pool) == expected
        return time.perf_counter() - began_s

    usual_s = min(
        took_s() for _ in range(3)
    )  # one may have been held up: no interrupt would come before the others' end
    moments = random.Random(1)
    n_interrupted = 0
    for _ in range(N_ROUNDS if LONG_TESTS else N_ROUNDS // 10):
        n_interrupted += interrupt_after(lambda: total.compute(scheduler=pool), moments.uniform(1e-4, usual_s))
    assert n_interrupted > 0
    assert total.compute(scheduler=pool) == expected
    holds_nothing(pool)


def test_results_of_an_interrupted_computation_are_let_go(pool: ThreadsRuntime) -> None:
    begun, go = threading.Event(), threading.Event()

    def block(number: int) -> np.ndarray:
        begun.set()
        if number:
            go.wait(60)
        return np.ones(1000)

    both = delayed(len)([delayed(block)(n) for n in range(2)])
    timer = threading.Thread(target=lambda: (begun.wait(60), signal.pthread_kill(main, signal.SIGINT)))
    main = threading.main_thread().ident or 0
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        both.compute(scheduler=pool)
    eventually(lambda: not pool._pool.computations and not pool._pool.results)
    go.set()
    holds_nothing(pool)


def test_a_signal_during_a_callback_of_the_garbage_collector_is_ignored() -> None:
    """Python would drop the exception there, and pytest then blames whichever test runs."""

    def strike(_phase: str, _info: dict[str, int]) -> None:
        signal.raise_signal(signal.SIGINT)

    gc.callbacks.append(strike)
    try:
        assert not interrupt_after(gc.collect, 60)
    finally:
        gc.callbacks.remove(strike)
    assert interrupt_after(lambda: signal.raise_signal(signal.SIGINT), 60)
