"""Ctrl-C at every place of the client's calls where Python can raise it: the same cell again gives the right answer."""

from __future__ import annotations

import _thread
import gc
import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import glassloom.array as ga
import numpy as np
import pytest
from fault_helpers import eventually
from glassloom import Client, Lock, Queue, as_completed, wait
from glassloom.client.blocking import Signal, run_sync, until
from glassloom.local.default import current
from interrupts import DAY, interrupt, n_places, numbers_of_today, sweep
from long_tests import LONG_TESTS

pytestmark = pytest.mark.more

IN_TIME_S = 60


def double(number: int) -> int:
    return 2 * number


@pytest.fixture(autouse=True)
def time_for_all_places(bounded_time: None) -> None:
    """Many places of a call take minutes."""
    if LONG_TESTS:
        signal.alarm(600)


@pytest.fixture
def nothing_stays_held(client: Client) -> Iterator[Client]:
    """The head holds nothing for the client when the test is over."""
    before = set(client.who_has())
    yield client
    gc.collect()
    eventually(lambda: set(client.who_has()) <= before)
    assert client._connection._keys._holds.keys() <= before
    assert client._connection._replies == {}


def cells(client: Client) -> dict[str, tuple[Callable[[], Any], Any]]:
    """Return what a user may do, and what it gives."""
    array = ga.arange(24, chunks=6)
    return {
        "submit and result": (lambda: client.submit(double, 3).result(timeout=IN_TIME_S), 6),
        "submit with a large argument": (lambda: client.submit(len, b"x" * 100_000).result(timeout=IN_TIME_S), 100_000),
        "map and gather": (lambda: client.gather(client.map(double, range(4))), [0, 2, 4, 6]),
        "compute": (lambda: float((array + 1).sum().compute(scheduler=client)), 300.0),
        "compute of futures": (lambda: float(client.compute(array.sum()).result(timeout=IN_TIME_S)), 276.0),
        "persist": (lambda: float(client.persist(array * 2).sum().compute(scheduler=client)), 552.0),
        "wait": (lambda: len(wait(client.map(double, range(3)), timeout=IN_TIME_S).done), 3),
        "as_completed": (lambda: sorted(f.result() for f in as_completed(client.map(double, range(3)))), [0, 2, 4]),
        "scatter": (lambda: client.submit(len, client.scatter(b"y" * 100_000)).result(timeout=IN_TIME_S), 100_000),
        "scheduler_info": (lambda: len(client.scheduler_info()["workers"]), 2),
        "run": (lambda: sorted(client.run(double, 4).values()), [8, 8]),
        "cancel and again": (lambda: _cancelled_and_again(client), 10),
        "queue": (lambda: _queued(client), 14),
        "publish": (lambda: _published(client), 12),
    }


def _cancelled_and_again(client: Client) -> Any:
    client.submit(double, 5).cancel()
    return client.submit(double, 5).result(timeout=IN_TIME_S)


def _queued(client: Client) -> Any:
    queue = Queue("of-a-cell", client=client)
    queue.get(batch=True)
    queue.put(client.submit(double, 7))
    return queue.get(timeout=IN_TIME_S).result(timeout=IN_TIME_S)


def _published(client: Client) -> Any:
    client.publish_dataset(double=client.submit(double, 6), override=True)
    value = client.get_dataset("double").result(timeout=IN_TIME_S)
    client.unpublish_dataset("double")
    return value


@pytest.mark.fault("Ctrl-C at the n-th place of a call of a client")
@pytest.mark.parametrize("name", cells(None))  # type: ignore[arg-type]
def test_a_cell_that_was_interrupted_anywhere_gives_the_right_answer_when_it_runs_again(
    nothing_stays_held: Client, name: str
) -> None:
    cell, expected = cells(nothing_stays_held)[name]

    def check() -> None:
        assert cell() == expected

    check()
    assert sweep(cell, check) > 20


@pytest.mark.fault("Ctrl-C while a large graph is sent")
def test_an_interrupt_while_much_is_sent_leaves_the_client_usable(nothing_stays_held: Client) -> None:
    client = nothing_stays_held
    arguments = [bytes([number]) * 60_000 for number in range(20)]  # several times what a socket takes at once

    def cell() -> list[int]:
        result: list[int] = client.gather(client.map(len, arguments))
        return result

    assert sweep(cell, lambda: client.submit(double, 1).result(timeout=IN_TIME_S)) > 20
    assert cell() == [60_000] * 20


@pytest.mark.fault("Ctrl-C at the n-th place of a call of a client")
def test_an_interrupted_acquire_has_the_lock_or_not_and_knows_it(nothing_stays_held: Client) -> None:
    lock = Lock("interrupted", client=nothing_stays_held)

    def check() -> None:
        if lock._leases:
            lock.release()
        other = Lock("interrupted", client=nothing_stays_held)
        assert other.acquire(timeout=IN_TIME_S)
        other.release()

    assert sweep(lambda: lock.acquire(timeout=IN_TIME_S), check) > 20


def test_an_interrupt_that_comes_just_before_a_wait_ends_it() -> None:
    """Such a signal is noted, but it wakes no system call, as none has begun."""
    never = Signal()
    timer = threading.Thread(target=lambda: (eventually(lambda: never._callbacks), _thread.interrupt_main()))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_sync(until(never))
    timer.join()
    assert not never._callbacks


@pytest.mark.long
@pytest.mark.fault("Ctrl-C at the n-th place of Client()")
def test_an_interrupted_client_leaves_no_cluster(nothing_is_left_behind: Any) -> None:
    before, there = current(), set(nothing_is_left_behind.left_outside())
    last = n_places(_start_and_close)
    if LONG_TESTS:
        numbers = set(itertools.takewhile(lambda number: number < last, numbers_of_today(1, last // 40)))
    else:
        among_all, among_the_last = last // 5, 15  # others each day
        numbers = {
            *range(1 + DAY % among_all, last, among_all),
            *range(last - 60 + DAY % among_the_last, last, among_the_last),
        }
    n_interrupts = sum(interrupt(_start_and_close, number) is not None for number in sorted(numbers))
    assert n_interrupts > 5
    assert current() is before
    nothing_is_left_behind.wait_for_the_outside_to_be_clean()
    assert set(nothing_is_left_behind.left_outside()) - there == set()


def _start_and_close() -> None:
    with Client(n_workers=1, threads_per_worker=1, memory_limit="1GB"):
        pass


def test_the_interrupts_come_where_python_looks_for_signals(client: Client) -> None:
    places = [interrupt(lambda: client.submit(double, 3), number) or "" for number in range(1, 4)]
    assert all("glassloom" in place and "test_" not in place for place in places)
    assert np.isclose(client.submit(double, 0.5).result(timeout=IN_TIME_S), 1.0)
