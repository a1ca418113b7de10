"""The default client: which one it is, how long it lives, and that no cluster outlives the client that started it."""

from __future__ import annotations

import gc
import threading
from typing import Any

import glassloom.array as ga
import pytest
from fault_helpers import eventually
from glassloom import Client, get_client
from glassloom.errors import ClusterClosed
from glassloom.local.default import current, latest, set_current, unset_current
from glassloom_metrics.registry import read_records

SMALL: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "1GB"}


@pytest.fixture(autouse=True)
def no_default() -> None:
    assert current() is None


def n_clusters() -> int:
    return sum(record.kind == "processes" for record in read_records())


def test_the_same_cell_run_again_leaves_one_cluster() -> None:
    client = Client(**SMALL)
    first = client.id
    client = Client(**SMALL)
    eventually(lambda: n_clusters() == 1)
    assert (client.id != first, ga.ones(4).sum().compute()) == (True, 4.0)
    client.close()
    assert current() is None


def test_a_client_that_is_not_bound_to_a_name_is_the_default_until_another_takes_its_place() -> None:
    Client(**SMALL)
    gc.collect()
    first = get_client().id
    assert get_client().submit(abs, -3).result(timeout=60) == 3
    Client(**SMALL)
    gc.collect()
    eventually(lambda: n_clusters() == 1)
    assert get_client().id != first
    get_client().close()
    assert current() is None


def test_futures_keep_their_client() -> None:
    future = Client(**SMALL).submit(abs, -3)
    with Client(**SMALL) as second:
        gc.collect()
        assert future.result(timeout=60) == 3
        assert second.submit(abs, -4).result(timeout=60) == 4
    assert current() is future.client
    future.client.close()


def test_an_earlier_client_is_the_default_again_when_the_newest_is_closed() -> None:
    with Client(**SMALL) as first:
        with Client(first.name) as second:
            assert current() is second
        assert current() is first
    assert current() is None


def test_a_client_that_was_dropped_in_another_thread_ends_its_cluster() -> None:
    def drop() -> None:
        client = Client(**SMALL, set_as_default=False)
        client.submit(abs, -1).result(timeout=60)
        cycle: list[Any] = [client]
        cycle.append(cycle)

    gc.disable()
    try:
        drop()
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
    finally:
        gc.enable()
    eventually(lambda: n_clusters() == 0)
    eventually(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("glassloom-client")])


def test_runtimes_that_nothing_refers_to_are_forgotten() -> None:
    class Fake:
        shares_memory = False
        process_memory_bytes = None

        def get(self, graph: Any, keys: Any) -> Any: ...

        def hold(self, graph: Any, keys: Any) -> Any: ...

    first, second, third = Fake(), Fake(), Fake()
    for runtime in (first, second, third):
        set_current(runtime)
    del second
    assert latest(Fake) is third
    unset_current(third)
    assert current() is first
    unset_current(first)
    assert current() is None


@pytest.mark.parametrize("name", ["glassloom-start", "glassloom-client", "glassloom-client-writer"])
def test_a_client_for_which_no_thread_can_be_started_is_an_error_and_leaves_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == name:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises((RuntimeError, ClusterClosed), match="can't start new thread"):
        Client(**SMALL)
    assert current() is None
    eventually(lambda: n_clusters() == 0)
