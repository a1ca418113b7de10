"""Random graphs on a real cluster while everything goes wrong: killed and stopped processes, Ctrl-C, cancelled tasks.

Every result is compared with what plain Python computes. The bound on each wait is what a user would still call "it works".
``GLASSLOOM_LONG_TESTS=1`` runs 10^5 task completions. A failure names its seed.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import glassloom as gl
import psutil
import pytest
from fault_helpers import fork_server_of, head_of, worker_pids
from glassloom import Client
from glassloom.errors import CancelledError
from interrupts import interrupt_after
from long_tests import LONG_TESTS
from tasks import combine

pytestmark = pytest.mark.more

N_COMPLETIONS = 100_000 if LONG_TESTS else 1_500
SEED = int(os.environ.get("GLASSLOOM_CHAOS_SEED", "1"))
BOUND_S = 60.0
"""A round's results must be there within this time, whatever was done to the cluster."""
STOPPED_S = 0.3
BOUND = 3600 if LONG_TESTS else 240


@pytest.fixture(autouse=True)
def bounded_time() -> Iterator[None]:
    """Bound the whole test, which takes longer than others may."""

    def interrupt(_signal: int, _frame: Any) -> None:
        raise TimeoutError(f"chaos with seed {SEED} didn't end within {BOUND} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(BOUND)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


class RandomGraph:
    """A layered graph of delayed calls, and what it should give."""

    def __init__(self, rng: random.Random) -> None:
        self.n_tasks = 0
        self.values: list[int] = []
        self.lazy: list[Any] = []
        pairs: list[tuple[int, Any]] = []
        for _ in range(rng.randint(1, 6)):
            layer = [self._add(rng, pairs) for _ in range(rng.randint(1, 60))]
            pairs = layer + rng.sample(pairs, min(len(pairs), 5))
        self.values, self.lazy = [value for value, _ in pairs], [lazy for _, lazy in pairs]

    def _add(self, rng: random.Random, below: list[tuple[int, Any]]) -> tuple[int, Any]:
        chosen = rng.sample(below, min(len(below), rng.randint(0, 4)))
        number = rng.randrange(10**6)
        self.n_tasks += 1
        value = combine(number, *[value for value, _ in chosen])
        return value, gl.delayed(combine)(number, *[lazy for _, lazy in chosen])


# What is done to the cluster


def nothing(client: Client, rng: random.Random) -> None:
    pass


def kill_a_worker(client: Client, rng: random.Random) -> None:
    pids = worker_pids(client)
    if pids:
        with suppress(ProcessLookupError):
            os.kill(rng.choice(pids), signal.SIGKILL)


def kill_all_workers(client: Client, rng: random.Random) -> None:
    for pid in worker_pids(client):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stop_a_worker(client: Client, rng: random.Random) -> None:
    pids = worker_pids(client)
    if pids:
        _stop_for_a_while(rng.choice(pids))


def stop_the_head(client: Client, rng: random.Random) -> None:
    _stop_for_a_while(head_of(client).pid)


def stop_the_fork_server(client: Client, rng: random.Random) -> None:
    _stop_for_a_while(fork_server_of(client).pid)


def _stop_for_a_while(pid: int) -> None:
    def go_on() -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(STOPPED_S, go_on).start()


FAULTS: list[Callable[[Client, random.Random], None]] = [
    nothing, kill_a_worker, kill_a_worker, kill_all_workers, stop_a_worker, stop_the_head, stop_the_fork_server,
]  # fmt: skip


# What a user does meanwhile


def compute(client: Client, graph: RandomGraph, fault: Callable[[], None], rng: random.Random) -> None:
    futures = client.compute(graph.lazy)
    fault()
    assert [future.result(timeout=BOUND_S) for future in futures] == graph.values


def interrupt_and_compute_again(
    client: Client, graph: RandomGraph, fault: Callable[[], None], rng: random.Random
) -> None:
    fault()
    interrupt_after(lambda: gl.compute(*graph.lazy, scheduler=client), rng.uniform(0.0, 0.1))
    assert list(gl.compute(*graph.lazy, scheduler=client)) == graph.values


def cancel_and_compute_again(client: Client, graph: RandomGraph, fault: Callable[[], None], rng: random.Random) -> None:
    futures = client.compute(graph.lazy)
    fault()
    client.cancel(rng.sample(futures, rng.randint(1, len(futures))))
    for future, value in zip(futures, graph.values, strict=True):
        try:
            assert future.result(timeout=BOUND_S) == value
        except CancelledError:
            assert future.cancelled()
    again = client.compute(graph.lazy)
    assert [future.result(timeout=BOUND_S) for future in again] == graph.values


def interrupt_a_gather(client: Client, graph: RandomGraph, fault: Callable[[], None], rng: random.Random) -> None:
    numbers = [rng.randrange(10**6) for _ in range(graph.n_tasks)]
    futures = client.map(combine, numbers)
    fault()
    interrupt_after(lambda: client.gather(futures), rng.uniform(0.0, 0.05))
    assert client.gather(futures) == [combine(number) for number in numbers]


def fan_out_and_in(client: Client, graph: RandomGraph, fault: Callable[[], None], rng: random.Random) -> None:
    """Tasks that read one result, and a task that reads theirs, three times over; the last of them is what is asked for."""
    value, future = 1, client.submit(combine, 1)
    fault_at = rng.randrange(3)
    for turn in range(3):
        numbers = [rng.randrange(10**6) for _ in range(rng.randint(8, 200))]
        middle = client.map(combine, numbers, [future] * len(numbers))
        future = client.submit(sum, middle, priority=rng.choice([0, 0, 1]))
        value = sum(combine(number, value) for number in numbers)
        if rng.random() < 0.7:
            del middle
        if turn == fault_at:
            fault()
    assert future.result(timeout=BOUND_S) == value


ACTIONS = [compute, fan_out_and_in, interrupt_and_compute_again, cancel_and_compute_again, interrupt_a_gather]


@pytest.mark.fault("killed and stopped processes, Ctrl-C and cancelled tasks at random, again and again")
def test_random_graphs_give_right_results_whatever_is_done_to_the_cluster() -> None:
    rng = random.Random(SEED)
    n_completed = n_rounds = 0
    with Client(n_workers=2, threads_per_worker=2, memory_limit="500MB", set_as_default=False) as client:
        while n_completed < N_COMPLETIONS:
            graph, action, fault = RandomGraph(rng), rng.choice(ACTIONS), rng.choice(FAULTS)
            try:
                action(client, graph, lambda fault=fault: fault(client, rng), rng)
            except BaseException as error:
                error.add_note(
                    f"seed {SEED}, round {n_rounds}: {action.__name__} of {graph.n_tasks} tasks, {fault.__name__}"
                )
                raise
            n_completed += graph.n_tasks
            n_rounds += 1
        del graph
        psutil.Process(client._record.pid).status()  # the head is still the one that was started
