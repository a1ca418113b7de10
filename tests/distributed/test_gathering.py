"""Results are fetched as many at a time as workers can hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import distributed
import glassloom.array as ga
import numpy as np
import pytest
from glassloom import Client
from glassloom.distributed import gathering
from glassloom.distributed.gathering import batches


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"a": 3, "b": 2, "c": 9, "d": 1}, [["a", "b"], ["c"], ["d"]]),
        ({"a": 9, "b": 9, "c": 0, "d": -1}, [["a"], ["b"], ["c", "d"]]),
        ({}, [["a", "b", "c", "d"]]),
    ],
)
def test_batches_have_what_fits_and_at_least_one(sizes: dict[Any, int], expected: list[list[str]]) -> None:
    assert list(batches("abcd", sizes, 5)) == expected


@pytest.fixture
def theirs(own_folders: None) -> Iterator[distributed.Client]:
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50, "processes": False}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as theirs,
    ):
        yield theirs


def test_results_come_in_several_batches_in_their_order(
    theirs: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    gather = theirs.gather

    def counting(futures: Any, **options: Any) -> Any:
        counts.append(len(futures))
        return gather(futures, **options)

    monkeypatch.setattr(theirs, "gather", counting)
    monkeypatch.setattr(gathering, "MOST_BYTES", 2_000)
    with Client(theirs, set_as_default=False) as client:
        with client.as_current():
            whole = ga.arange(1_000, chunks=100).compute()  # ten blocks of 800 bytes
        assert np.array_equal(whole, np.arange(1_000))
        assert counts == [2, 2, 2, 2, 2]
        first, second = client.map(lambda number: bytes(1_500 + number), range(2))
        assert [len(value) for value in client.gather([second, first, second])] == [1_501, 1_500, 1_501]
        assert counts[5:] == [1, 1]


@pytest.mark.long
def test_results_larger_than_the_memory_of_all_workers_arrive(own_folders: None) -> None:
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50, "memory_limit": "300MiB"}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        assert ga.ones(100_000_000, chunks=2_000_000).compute().sum() == 100_000_000
