"""Schedulers and workers with another Python, or another dask.distributed, than this process: they are told from what they say of themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import monotonic
from typing import Any

import distributed
import pytest
from glassloom import Client
from glassloom.errors import ClusterError, OptionError

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
BOUND_S = 60.0


@pytest.fixture
def cluster(own_folders: None) -> Iterator[distributed.LocalCluster]:
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50, "protocol": "tcp://", "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **options) as cluster:
        yield cluster


def versions(**packages: str) -> Any:
    ours = {"python": f"{HERE}.0.final.0", "distributed": distributed.__version__}
    return lambda **_: {"host": {}, "packages": {**ours, **packages}}


def test_a_scheduler_with_another_python_is_named(cluster: distributed.LocalCluster) -> None:
    cluster.scheduler.handlers["versions"] = versions(python="3.9.18.final.0")
    began_s = monotonic()
    with pytest.raises(
        ClusterError, match=rf"^the scheduler of tcp\S+ runs Python 3.9, and this process Python {HERE}: .*same Python"
    ):
        Client(cluster.scheduler_address, set_as_default=False)
    assert monotonic() - began_s < BOUND_S


def test_a_worker_with_another_python_is_named_before_it_is_sent_code(cluster: distributed.LocalCluster) -> None:
    (worker,) = cluster.workers.values()
    worker.handlers["versions"] = versions(python="3.9.18.final.0")
    began_s = monotonic()
    with pytest.raises(
        ClusterError, match=rf"^worker tcp\S+ of tcp\S+ runs Python 3.9, and this process Python {HERE}"
    ):
        Client(cluster.scheduler_address, set_as_default=False)
    assert monotonic() - began_s < BOUND_S


def test_another_distributed_that_does_not_understand_is_named(
    cluster: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.scheduler.handlers["versions"] = versions(distributed="2020.1.0")

    class Refused(distributed.Client):
        def __new__(cls, *args: Any, **options: Any) -> Any:
            raise TypeError("Scheduler.identity() got an unexpected keyword argument 'n_workers'")

    monkeypatch.setattr(distributed, "Client", Refused)
    with pytest.raises(
        OptionError,
        match=rf"unexpected keyword .*; distributed is 2020.1.0 there and {distributed.__version__} here: install the same version",
    ):
        Client(cluster.scheduler_address, set_as_default=False)
