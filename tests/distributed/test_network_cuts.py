"""A network between a client and a scheduler of dask.distributed that refuses nothing and brings nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import distributed
import pytest
from calls import inc, when_there_is
from glassloom import Client, config
from glassloom.client import head_watch
from glassloom.distributed import connecting
from glassloom.errors import ClusterNotFound
from proxies import Proxy, proxy_of


@pytest.fixture(scope="module")
def cluster(own_folders: None) -> Iterator[distributed.LocalCluster]:
    options = {
        "processes": False,
        "protocol": "tcp://",
        "host": "127.0.0.1",
        "dashboard_address": ":0",
        "silence_logs": 50,
    }
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, **options) as cluster:
        yield cluster


@pytest.fixture
def proxy(cluster: distributed.LocalCluster) -> Iterator[Proxy]:
    with proxy_of(cluster.scheduler_address) as proxy:
        yield proxy


@pytest.mark.fault("the network between a client and dask.distributed's scheduler is cut")
def test_a_wait_ends_while_the_network_is_cut_and_the_result_comes_afterwards(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_watch, "PING_AFTER_S", 0.1)
    monkeypatch.setattr(head_watch, "WARN_AFTER_S", 0.2)
    go = tmp_path / "go"
    with Client(proxy.address, set_as_default=False) as client:
        future = client.submit(when_there_is, str(go), 5)
        proxy.hold()
        go.touch()
        with (
            config.set({"timeouts.request": 2.0}),
            pytest.warns(UserWarning, match=r"the scheduler of dask.distributed at tcp\S+ hasn't answered for"),
            pytest.raises(
                TimeoutError,
                match=r"the scheduler of dask.distributed at tcp\S+ hasn't answered for .* was waiting for",
            ),
        ):
            future.result()
        proxy.go_on()
        assert future.result() == 5
        assert client.submit(inc, 1).result() == 2


def test_a_wait_for_long_tasks_of_a_scheduler_that_answers_goes_on(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_watch, "PING_AFTER_S", 0.0)
    go = tmp_path / "go"
    pings = []
    with Client(proxy.address, set_as_default=False) as client:
        link = client._connection
        post = link.post_question

        def counted(make):
            pings.append(make(0))
            if len(pings) == 3:
                go.touch()
            return post(make)

        monkeypatch.setattr(link, "post_question", counted)
        assert client.submit(when_there_is, str(go), 5).result() == 5


def test_an_address_where_nothing_comes_back_is_an_error_in_bounded_time(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.hold()
    monkeypatch.setattr(connecting, "TIMEOUT_S", 1.0)
    with pytest.raises(ClusterNotFound, match="no scheduler of dask.distributed answers"):
        Client(proxy.address, set_as_default=False)
