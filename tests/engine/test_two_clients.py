"""Futures that one client of a process is handed by another: the head hears of them through two sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import glassloom.array as ga
import pytest
import tasks
from fault_helpers import eventually
from glassloom import Client, Future, Queue, Variable, compute
from glassloom.errors import GraphError

TIMEOUT_S = 60


@pytest.fixture
def other(client: Client) -> Iterator[Client]:
    with Client(client.name, set_as_default=False) as another:
        yield another


def soon(function: Callable[[], None]) -> None:
    """Call a function when the head has read what the other client has sent; if it is called before, the test says less."""
    threading.Timer(0.2, function).start()


@contextmanager
def slow_to_write(client: Client) -> Iterator[threading.Event]:
    """Let nothing that a client sends arrive before the event is set."""
    outbox = client._connection._outbox
    assert outbox is not None
    send, go_on = outbox._send, threading.Event()

    def send_later(frames: list[bytes]) -> None:
        assert go_on.wait(TIMEOUT_S)
        send(frames)

    outbox._send = send_later  # type: ignore[method-assign]
    try:
        yield go_on
    finally:
        go_on.set()
        outbox._send = send  # type: ignore[method-assign]


def test_a_task_may_take_a_future_of_which_another_client_has_not_told_the_head_yet(
    client: Client, other: Client
) -> None:
    with slow_to_write(client) as go_on:
        first = client.submit(tasks.inc, 1, pure=False)
        alone = other.submit(tasks.inc, first, pure=False)
        nested = other.submit(tasks.total, [first, 10], pure=False)
        mapped = other.map(tasks.inc, [first, first], pure=False)
        soon(go_on.set)
        assert other.gather([alone, nested, *mapped]) == [3, 12, 3, 3]
    assert first.result() == 2


def test_a_collection_may_have_blocks_of_which_another_client_has_not_told_the_head_yet(
    client: Client, other: Client
) -> None:
    with slow_to_write(client) as go_on:
        persisted = client.persist(ga.arange(20, chunks=5))
        total = other.compute(persisted.sum())
        soon(go_on.set)
        assert int(total.result(timeout=TIMEOUT_S)) == 190


@pytest.mark.parametrize("through", ["variable", "queue", "dataset"])
def test_what_is_shared_by_name_may_have_futures_of_which_another_client_has_not_told_the_head_yet(
    client: Client, other: Client, through: str
) -> None:
    with slow_to_write(client) as go_on:
        first = client.submit(tasks.inc, 40, pure=False)
        soon(go_on.set)  # the calls below return when the head has answered
        if through == "variable":
            variable = Variable("handed-on", client=other)
            variable.set(first)
            received = variable.get(timeout=TIMEOUT_S)
            variable.delete()
        elif through == "queue":
            queue = Queue("handed-on", client=other)
            queue.put(first)
            received = queue.get(timeout=TIMEOUT_S)
        else:
            other.publish_dataset(handed_on=first, override=True)
            received = other.get_dataset("handed_on")
            other.unpublish_dataset("handed_on")
        assert received.client is other
        assert received.result(timeout=TIMEOUT_S) == 41


def test_nothing_stays_held_for_a_client_that_was_handed_a_future(client: Client, other: Client) -> None:
    first = client.submit(tasks.inc, 1, pure=False)
    assert other.submit(tasks.inc, first, pure=False).result(timeout=TIMEOUT_S) == 3
    key = first.key
    del first
    eventually(lambda: key not in client.who_has())
    assert not other._connection.holds(key)


def test_retrying_and_cancelling_futures_of_another_client_is_left_to_that(
    client: Client, other: Client, tmp_path: Path
) -> None:
    failed = client.submit(tasks.fail_until, str(tmp_path / "calls"), 1)
    with pytest.raises(ValueError, match="call 1"):
        failed.result(timeout=TIMEOUT_S)
    for _ in range(5):
        other.submit(tasks.inc, 1, pure=False).result(timeout=TIMEOUT_S)  # its messages have other numbers
    other.retry(failed)
    assert failed.result(timeout=TIMEOUT_S) == 2
    waiting = client.submit(time.sleep, 600, pure=False)
    other.cancel(waiting)
    eventually(waiting.cancelled)


def test_a_future_of_another_cluster_is_refused_where_it_is_used(client: Client) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as elsewhere:
        foreign = elsewhere.submit(tasks.inc, 1)
        for use in (
            lambda: client.submit(tasks.inc, foreign),
            lambda: client.map(tasks.inc, [foreign]),
            lambda: compute(elsewhere.persist(ga.ones(4, chunks=2)).sum(), scheduler=client),
            lambda: Variable("foreign", client=client).set(foreign),
        ):
            with pytest.raises(
                GraphError, match=f"is a future of cluster '{elsewhere.name}': nothing on cluster '{client.name}'"
            ):
                use()
        assert client.submit(tasks.inc, foreign.result(timeout=TIMEOUT_S)).result(timeout=TIMEOUT_S) == 3


def test_many_tasks_of_two_clients_that_take_each_others_results_are_right(client: Client, other: Client) -> None:
    futures: list[Future] = [client.submit(tasks.inc, 0, pure=False)]
    for number in range(200):
        futures.append((client, other)[number % 2].submit(tasks.inc, futures[-1], pure=False))
    assert futures[-1].result(timeout=TIMEOUT_S) == 201
