"""A client whose cluster has ended says so: what it was asked to do isn't quietly done elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from glassloom import Client, delayed
from glassloom.errors import ClusterClosed


def write_into(values: np.ndarray) -> None:
    values[0] = 1


def test_compute_after_the_cluster_ended_is_an_error_until_the_client_is_closed() -> None:
    client = Client(n_workers=1, threads_per_worker=1)
    try:
        assert client.cluster is not None
        client.cluster.close()
        with pytest.raises(ClusterClosed, match="the client is closed"):
            delayed(pow)(2, 3).compute()
    finally:
        client.close()
    assert delayed(pow)(2, 3).compute() == 8


def test_a_task_that_writes_into_its_input_is_told_to_copy(shared_client: Client) -> None:
    shared = shared_client.scatter(np.zeros(100_000))
    with pytest.raises(ValueError, match="read-only") as caught:
        shared_client.submit(write_into, shared).result(timeout=60)
    assert any("change a copy: x = x.copy()" in note for note in caught.value.__notes__)
