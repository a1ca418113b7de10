"""Dask's collections on our engine, on worker processes and on threads, and through our client on dask.distributed."""

from __future__ import annotations

import copy
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import glassloom
import numpy as np
import pandas as pd
import pytest
from calls import add, attempts, fail, inc, process, total
from dask.utils import SerializableLock
from glassloom import Client
from glassloom.distributed.dask_scheduler import set_scheduler
from glassloom.errors import ClusterClosed, GraphError, SerialisationError
from glassloom.graph import layer_name
from processes import processes

Get = Callable[..., Any]


@pytest.fixture(scope="module")
def remote(own_folders: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start a cluster of dask.distributed, whose workers have their names and modules from processes of their own."""
    with (
        processes(2, tmp_path_factory.mktemp("remote"), n_threads=2) as cluster,
        Client(cluster.address, set_as_default=False) as remote,
    ):
        yield remote


@pytest.fixture(params=["client", "threads", "distributed"])
def get(request: pytest.FixtureRequest) -> Iterator[Get]:
    """Let Dask's collections run on a client, also one of a cluster of dask.distributed, and on threads."""
    name = {"client": "client", "distributed": "remote"}.get(request.param)
    chosen = glassloom.get if name is None else request.getfixturevalue(name).get
    with dask.config.set(scheduler=chosen):
        yield chosen


def test_results_are_nested_as_the_keys(get: Get) -> None:
    graph = {"x": 1, ("y", 0): (inc, "x"), "z": (total, ["x", ("y", 0)]), 7: "z", "all": ["x", "z"]}
    assert get(graph, "z") == 3
    assert get(graph, ["z", [["x"], ("y", 0)], 7]) == (3, ((1,), 2), 3)
    assert get(graph, "all") == [1, 3]
    assert get(graph, []) == ()


def test_a_key_names_another_task_in_the_next_graph(get: Get) -> None:
    for number in range(20):
        assert get({"x": number, "y": (inc, "x")}, ["x", "y"]) == (number, number + 1)
        with pytest.raises(ValueError, match=f"no {number}"):
            get({"z": (fail, number)}, "z")


@pytest.mark.parametrize(
    "graph",
    [{"x": (inc, "x")}, {"x": "y", "y": "x"}, {"x": (inc, "y"), "y": (inc, "x")}],
    ids=["self", "names", "tasks"],
)
def test_a_cycle_is_an_error_that_says_so(get: Get, graph: dict[str, Any]) -> None:
    with pytest.raises(GraphError, match="the graph has a cycle through '[xy]'"):
        get(graph, "x")


def test_arrays(get: Get) -> None:
    values = np.arange(60.0).reshape(6, 10)
    x = da.from_array(values, chunks=(2, 5))
    assert np.array_equal((x + x.T.T).compute(), 2 * values)
    assert x.sum(axis=0).mean().compute() == values.sum(axis=0).mean()
    result = x.rechunk((6, 10)).compute()
    result[0] = 0  # the user's own


def test_frames(get: Get) -> None:
    frame = pd.DataFrame({"a": range(40), "b": np.arange(40) % 3})
    lazy = dd.from_pandas(frame, npartitions=4)
    pd.testing.assert_series_equal(lazy.groupby("b").a.sum().compute(), frame.groupby("b").a.sum())
    assert lazy.a.max().compute() == 39
    assert len(lazy.shuffle("b").compute()) == 40


def test_bags_and_delayed_calls(get: Get) -> None:
    assert db.range(10, npartitions=3).map(inc).filter(lambda value: value > 7).compute() == [8, 9, 10]
    one = dask.delayed(inc)(1)
    assert dask.compute(one, [one, {"a": dask.delayed(add)(one, 3)}], 5) == (2, [2, {"a": 5}], 5)


def test_persisted_collections_compute_to_the_same(get: Get) -> None:
    x = (da.arange(20, chunks=5) + 1).persist()
    assert x.sum().compute() == 210
    frame = dd.from_pandas(pd.DataFrame({"a": range(20)}), npartitions=4).persist()
    assert frame.a.sum().compute() == 190
    one, other = dask.persist(dask.delayed(inc)(1), db.range(4, npartitions=2))
    assert dask.compute(one, other.sum()) == (2, 6)


def test_an_error_keeps_its_key_its_traceback_and_the_users_line(get: Get) -> None:
    lazy = dask.delayed(fail, pure=True)(dask.delayed(inc)(1))
    with pytest.raises(ValueError, match="no 2") as raised:
        lazy.compute()  # the user's line
    text = "".join(traceback.format_exception(raised.value))
    assert f"Task {lazy.key!r}, built at" in text and "lazy.compute()  # the user's line" in text
    assert 'calls.py", line' in text and "in fail" in text


def test_a_key_that_no_task_makes_is_an_error(get: Get) -> None:
    with pytest.raises(GraphError, match="'nowhere'"):
        get({"a": dask._task_spec.Task("a", inc, dask._task_spec.TaskRef("nowhere"))}, "a")


def test_an_unknown_option_names_those_that_there_are(get: Get) -> None:
    with pytest.raises(TypeError, match="'retrys'; did you mean 'retries'"):
        dask.delayed(inc)(1).compute(retrys=3)
    assert dask.delayed(inc)(1).compute(num_workers=2, priority=1) == 2


def test_tasks_are_tried_again_as_asked(get: Get, tmp_path: Path) -> None:
    assert dask.delayed(attempts)(str(tmp_path / "a"), 3).compute(retries=2) == 3


# With a client only


@pytest.fixture
def on_client(client: Client) -> Iterator[Client]:
    with dask.config.set(scheduler=client.get):
        yield client


@pytest.fixture(params=["client", "remote"])
def either(request: pytest.FixtureRequest) -> Iterator[Client]:
    """Let Dask's collections run on a client, also one of a cluster of dask.distributed."""
    chosen: Client = request.getfixturevalue(request.param)
    with dask.config.set(scheduler=chosen.get):
        yield chosen


def test_what_only_this_process_has_is_written_by_it(either: Client) -> None:
    target = np.zeros(8, int)
    (da.arange(8, chunks=2) + 1).store(target)
    assert target.tolist() == list(range(1, 9))


def test_tasks_run_in_worker_processes(on_client: Client) -> None:
    pids = set(dask.compute(*[dask.delayed(process, pure=False)() for _ in range(8)]))
    assert pids <= {worker["pid"] for worker in on_client.scheduler_info()["workers"].values()}


def test_persisted_results_stay_on_the_workers(on_client: Client) -> None:
    x = (da.ones(1000, chunks=100) + 1).persist()
    futures = glassloom.client.future.futures_of(x)
    assert len(futures) == 10
    glassloom.wait(x)
    assert set(on_client.who_has()) >= {future.key for future in futures}
    y = x.sum()
    keys = [future.key for future in futures]
    del x, futures
    assert y.compute() == 2000
    del y
    assert on_client.submit(inc, 1).result() == 2
    assert set(on_client.who_has()).isdisjoint(keys)


def test_client_compute_and_persist_take_collections_of_dask(either: Client) -> None:
    client, x = either, da.arange(20, chunks=5)
    future, listed = client.compute(x.sum(), [dask.delayed(inc)(1), 5])
    assert future.result() == 190 and listed[0].result() == 2 and listed[1] == 5
    assert client.compute(x.sum(), sync=True) == 190
    persisted, frame = client.persist([x, dd.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=2)])
    assert type(persisted) is da.Array and client.gather(client.compute([persisted.sum(), frame.a.sum()])) == [190, 3]
    assert x.sum().compute(scheduler=client) == 190


def test_futures_of_ours_are_arguments_of_delayed_calls(either: Client) -> None:
    future = either.submit(inc, 1)
    assert dask.delayed(add)(future, dask.delayed(total)([future, 1])).compute() == 5


def test_futures_of_ours_are_blocks_of_arrays_and_frames(either: Client) -> None:
    block = either.submit(np.ones, 3)
    blocks = [da.from_delayed(block, shape=(3,), dtype=float) for _ in range(2)]
    assert (da.concatenate(blocks) + 1).sum().compute() == 12  # fused, so that the future is inside a task
    part = either.submit(pd.DataFrame, {"a": [1, 2]})
    assert dd.from_delayed([part], meta=pd.DataFrame({"a": [1]})).a.sum().compute() == 3


def test_annotations_of_layers_hold_for_their_tasks(either: Client, tmp_path: Path) -> None:
    with dask.annotate(retries=2):
        lazy = dask.delayed(attempts)(str(tmp_path / "a"), 3)
    assert dask.delayed(inc)(lazy).compute(optimize_graph=False) == 4
    pids = either.run(process)
    chosen = next(iter(pids))
    with dask.annotate(workers=[chosen]):
        where = [dask.delayed(process, pure=False)() for _ in range(4)]
    assert dask.compute(*where, optimize_graph=False) == (pids[chosen],) * 4


def test_runs_and_layers_are_named_as_dask_names_layers(on_client: Client) -> None:
    lazy = [dask.delayed(inc)(number) for number in range(5)]
    persisted = on_client.persist(lazy)
    layers = {
        layer_name(glassloom.graph.key_layer(future.key))
        for one in persisted
        for future in glassloom.client.future.futures_of(one)
    }
    assert layers == {"inc"}


def test_a_client_serves_dask_as_long_as_it_is_open(own_folders: None) -> None:
    lazy = dask.delayed(process, pure=False)()
    with (
        dask.config.set(scheduler="sync"),
        Client(n_workers=1, threads_per_worker=1, dask=True, set_as_default=False) as client,
    ):
        (worker,) = client.scheduler_info()["workers"].values()
        assert lazy.compute() == worker["pid"]
        assert lazy.persist().compute() == worker["pid"]
        scheduler = dask.config.get("scheduler")
        client.close()
        assert dask.config.get("scheduler") == "sync"
    with pytest.raises(ClusterClosed, match="closed"):
        scheduler({"a": 1}, "a")


def test_the_configuration_of_dask_can_be_copied_and_sent(own_folders: None) -> None:
    with Client(n_workers=1, threads_per_worker=1, dask=True, set_as_default=False) as client:
        assert pickle.loads(pickle.dumps(dask.config.get("scheduler"))) is None
        with dask.config.set(scheduler=client.get):
            assert copy.deepcopy(dask.config.config)["scheduler"] == client.get


def test_what_is_set_in_its_place_stays(own_folders: None) -> None:
    with dask.config.set(scheduler=None):
        with Client(n_workers=1, threads_per_worker=1, dask=True, set_as_default=False):
            dask.config.set(scheduler="sync")
        assert dask.config.get("scheduler") == "sync"


class Calculator:
    """What a client is to Dask."""

    def get(self, graph: Any, keys: Any, **options: Any) -> Calculator:
        return self


def test_clients_are_closed_in_any_order() -> None:
    first, second, third = Calculator(), Calculator(), Calculator()
    with dask.config.set(scheduler="sync"):
        close_first, close_second = set_scheduler(first), set_scheduler(second)
        close_first()
        assert dask.config.get("scheduler")({}, []) is second
        close_third = set_scheduler(third)
        close_second()
        close_third()
        assert dask.config.get("scheduler") == "sync"
        forgotten = Calculator()
        set_scheduler(forgotten)
        close_first = set_scheduler(first)
        del forgotten
        close_first()
        assert dask.config.get("scheduler") == "sync"


def test_of_a_part_that_the_cluster_refuses_the_error_is_told(on_client: Client) -> None:
    with dask.annotate(resources={"FORGE": 1}):
        there = da.ones(4, chunks=2) + 1
    with pytest.raises(Exception, match="FORGE"):
        there.sum().compute(optimize_graph=False)


def test_a_lock_of_this_process_in_a_task_is_said_to_be_what_cannot_be_sent(on_client: Client) -> None:
    with pytest.raises(SerialisationError, match=r"_thread\.lock") as raised:
        dask.delayed(add)(1, threading.Lock()).compute()
    assert any("dask.config.set(scheduler=glassloom.get)" in note for note in raised.value.__notes__)


def test_a_writer_with_a_lock_that_can_be_sent_runs_in_worker_processes(on_client: Client, tmp_path: Path) -> None:
    path = tmp_path / "array.npy"
    np.lib.format.open_memmap(path, mode="w+", dtype="f8", shape=(8,)).flush()
    target = np.load(path, mmap_mode="r+")
    da.store(da.arange(8, chunks=2, dtype="f8"), FileTarget(str(path)), lock=SerializableLock())
    assert target.tolist() == list(range(8))


def test_the_configuration_with_a_clients_get_says_how_it_can_be_sent(client: Client) -> None:
    with dask.config.set(scheduler=client.get), pytest.raises(TypeError, match=r"by Client\(dask=True\), not by"):
        pickle.dumps(dask.config.config)


class FileTarget:
    """Writes into a file from any process."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __setitem__(self, place: object, value: object) -> None:
        array = np.load(self.path, mmap_mode="r+")
        array[place] = value
        array.flush()
