"""Random numbers of workers: no two draw the same, though all are forked from one process."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas  # noqa: F401 - has the fork server import it too, and with it numpy.random
import pytest
from glassloom import Client
from glassloom.worker import after_fork


@pytest.fixture(scope="module")
def own_client(nothing_is_left_behind: Any) -> Iterator[Client]:
    """Start a cluster, as the tests restart it."""
    with Client(n_workers=2, threads_per_worker=1, memory_limit="1GB", set_as_default=False) as client:
        yield client


def draw() -> list[float]:
    return [float(np.random.rand()), random.random()]  # noqa: NPY002 - it is the global state that is tested


def draw_slowly(_: int) -> tuple[str, float]:
    time.sleep(0.01)  # so that both workers get some
    return "drawn", float(np.random.normal())  # noqa: NPY002


def draws_by_worker(client: Client) -> list[float]:
    return [number for drawn in client.run(draw).values() for number in drawn]


def has_numpy_random() -> bool:
    return "numpy.random" in sys.modules


@pytest.mark.long
def test_no_two_workers_draw_the_same(own_client: Client) -> None:
    assert all(own_client.run(has_numpy_random).values())  # else nothing is tested
    first = draws_by_worker(own_client)
    own_client.restart()
    second = draws_by_worker(own_client)
    assert len({*first, *second}) == 8


def test_no_two_tasks_draw_the_same(own_client: Client) -> None:
    drawn = own_client.gather(own_client.map(draw_slowly, range(20), pure=False))
    assert len(set(drawn)) == 20


def test_callbacks_are_called_in_order_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(after_fork, "_callbacks", [])

    def one() -> None:
        called.append(1)

    after_fork.after_worker_fork(one)
    after_fork.after_worker_fork(lambda: called.append(2))
    assert after_fork.after_worker_fork(one) is one
    after_fork.run_after_fork()
    assert called == [1, 2]
