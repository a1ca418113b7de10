"""A worker's copy of a result goes with the result, in whichever way that was read."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from fault_helpers import eventually
from glassloom import Client, wait
from glassloom.store.store import Store


@pytest.fixture(scope="module")
def pair() -> Iterator[Client]:
    """A client of two workers, which write results that are read to messages or to shared memory, by their size."""
    with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as client:
        yield client


def make(n_bytes: int) -> np.ndarray:
    return np.zeros(n_bytes, np.uint8)


def size(values: np.ndarray, _: int = 0) -> int:
    return len(values)


def read_by_the_client(client: Client, n_bytes: int) -> None:
    assert len(client.submit(make, n_bytes, pure=False).result()) == n_bytes


def read_by_the_client_with_others(client: Client, n_bytes: int) -> None:
    client.gather(client.map(make, [n_bytes] * 10, pure=False))


def read_by_a_task_elsewhere(client: Client, n_bytes: int) -> None:
    here, there = client.scheduler_info()["workers"]
    made = client.submit(make, n_bytes, pure=False, workers=[here])
    assert client.submit(size, made, pure=False, workers=[there]).result() == n_bytes


def read_by_a_task_elsewhere_later(client: Client, n_bytes: int) -> None:
    here, there = client.scheduler_info()["workers"]
    made = client.submit(make, n_bytes, pure=False, workers=[here])
    wait(made)
    assert client.submit(size, made, pure=False, workers=[there]).result() == n_bytes


def read_by_many(client: Client, n_bytes: int) -> None:
    made = client.submit(make, n_bytes, pure=False)
    assert client.gather(client.map(size, [made] * 20, range(20), pure=False)) == [n_bytes] * 20


def read_by_none(client: Client, n_bytes: int) -> None:
    wait(client.submit(make, n_bytes, pure=False))


def read_where_it_is(client: Client, n_bytes: int) -> None:
    assert client.submit(size, client.submit(make, n_bytes, pure=False), pure=False).result() == n_bytes


WAYS = [
    read_by_the_client, read_by_the_client_with_others, read_by_a_task_elsewhere, read_by_a_task_elsewhere_later,
    read_by_many, read_by_none, read_where_it_is,
]  # fmt: skip


@pytest.mark.each_choice
@pytest.mark.parametrize("n_bytes", [100, 20_000, 200_000])
@pytest.mark.parametrize("way", WAYS)
def test_no_worker_keeps_a_result_that_was_let_go(
    pair: Client, way: Callable[[Client, int], None], n_bytes: int
) -> None:
    for _ in range(5):
        way(pair, n_bytes)
    eventually(lambda: not any(pair.run(n_held_here).values()))


def n_held_here() -> int:
    """Return how many results this worker's store has."""
    (store,) = (item for item in gc.get_objects() if isinstance(item, Store))
    return len(store._entries)
