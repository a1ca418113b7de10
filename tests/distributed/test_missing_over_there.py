"""What a scheduler and workers in processes of their own lack: modules, and values that a killed worker had."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import distributed
import glassloom.array as ga
import pytest
from eventual import eventually
from glassloom import Client
from glassloom.client.more_workers import way_to_more_workers
from glassloom.errors import ClusterError, DataLost, OptionError
from processes import processes


@pytest.fixture
def client(own_folders: None, tmp_path: Path) -> Iterator[Client]:
    """Start a scheduler and two workers whose search path is not this process's."""
    with processes(2, tmp_path) as started, Client(started.address, set_as_default=False) as client:
        yield client


def test_a_module_that_is_missing_is_named_and_can_be_sent(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    path = folder / "only_here_module.py"
    path.write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(folder))
    import only_here_module  # type: ignore[import-not-found]

    with pytest.raises(ModuleNotFoundError) as missed:
        client.submit(only_here_module.double, 4).result()
    first_line = str(missed.value).splitlines()[0]
    assert first_line.startswith(f"No module named 'only_here_module' on the scheduler at {client.name}")
    assert f"client.upload_file({str(path)!r})" in first_line
    with pytest.raises(ModuleNotFoundError, match="No module named 'only_here_module'") as raised:
        client.submit(lambda: __import__("only_here_module").double(4)).result()
    assert any("on worker tcp://" in note for note in raised.value.__notes__)
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'only_here_module' on worker tcp://"):
        client.run(only_here_module.double, 4)

    with pytest.raises(OptionError, match="there is no such file"):
        client.upload_file(folder / "absent.py")
    assert client.upload_file(path) == ["only_here_module"]
    assert client.submit(only_here_module.double, 5).result() == 10


def test_a_module_that_only_workers_lack_ends_none_of_them(
    own_folders: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        pids = client.run(os.getpid)
        path = tmp_path / "only_client_module.py"
        path.write_text("class Thing:\n    pass\n\ndef double(x):\n    return 2 * x\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        import only_client_module  # type: ignore[import-not-found]

        text = r"^No module named 'only_client_module' on worker tcp://\S+, tcp://\S+: send it, client.upload_file\("
        with pytest.raises(ModuleNotFoundError, match=text):
            client.submit(only_client_module.double, 4).result()
        with pytest.raises(ModuleNotFoundError, match=text):
            client.compute(ga.ones(10, chunks=5).map_blocks(only_client_module.double)).result()
        with pytest.raises(ModuleNotFoundError, match=text):
            client.submit(str, only_client_module.Thing()).result()
        assert client.submit(int, "7").result() == 7
        client.upload_file(path)
        assert client.submit(only_client_module.double, 4).result() == 8
        assert client.run(os.getpid) == pids


def test_a_scattered_value_of_a_killed_worker_is_said_to_be_lost(client: Client) -> None:
    pids = client.run(os.getpid)
    address = next(iter(pids))
    held = client.scatter([1, 2, 3], workers=[address])
    os.kill(pids[address], signal.SIGKILL)
    eventually(lambda: len(client.scheduler_info()["workers"]) == 1)
    with pytest.raises(DataLost, match=r"was scattered and is lost.*Scatter it again"):
        client.gather(held)
    with pytest.raises(DataLost, match=r"was scattered and is lost") as raised:
        client.submit(sum, held).result()
    assert any("sum-" in note for note in raised.value.__notes__)
    assert client.submit(sum, client.scatter([4, 5, 6])).result() == 15


def test_a_client_of_an_address_says_who_can_scale(client: Client) -> None:
    with pytest.raises(
        ClusterError, match=r"scale\(\) needs the object that starts the cluster's workers.*Client\(cluster\)"
    ):
        client.scale(3)
    with pytest.raises(
        ClusterError, match=r"Or by hand: this command starts a worker.*: dask worker tcp://127.0.0.1:\d+$"
    ):
        client.scale(3)
    with pytest.raises(ClusterError, match=r"adapt\(\) needs the object"):
        client.adapt(minimum=1, maximum=3)
    with pytest.raises(OptionError, match="minimum=3 is larger than maximum=1"):
        client.adapt(minimum=3, maximum=1)


@pytest.mark.parametrize(
    ("address", "has_object", "way"),
    [
        ("tcp://s:8786", True, "client.scale(n) starts some"),
        ("tcp://s:8786", False, "dask worker tcp://s:8786"),
        ("tls://s:8786", False, "dask worker tls://s:8786 --tls-ca-file FILE --tls-cert FILE --tls-key FILE"),
        ("inproc://10.0.0.1/7/1", False, "await distributed.Worker('inproc://10.0.0.1/7/1')"),
        ("", False, "client.scale(n) starts some"),
    ],
)
def test_what_starts_workers_is_what_can(address: str, has_object: bool, way: str) -> None:
    kind = "distributed" if address else "local"
    record = SimpleNamespace(kind=kind, socket=address, name="a cluster")
    assert way_to_more_workers(record, object() if has_object else None).endswith(way)  # type: ignore[arg-type]


def test_clients_of_clusters_scale(own_folders: None) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        with Client(cluster, set_as_default=False) as client:
            client.scale(2)
            client.wait_for_workers(2, timeout=60)
            client.adapt(minimum=1, maximum=1)
            assert cluster._adaptive is not None
        with (
            distributed.Client(cluster, set_as_default=False) as theirs,
            Client(theirs, set_as_default=False) as client,
        ):
            client.scale(2)
            client.wait_for_workers(2, timeout=60)
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        client.scale(2)
        assert len(client.scheduler_info()["workers"]) == 2
        with Client(client.name, set_as_default=False) as other:
            other.scale(1)
            eventually(lambda: len(other.scheduler_info()["workers"]) == 1)
            other.adapt(minimum=1, maximum=1)


def test_tasks_are_not_hashed_to_be_handed_over(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from dask import _task_spec

    def refuse(_: Any) -> str:
        raise AssertionError("a task is hashed")

    monkeypatch.setattr(_task_spec.Task, "__dask_tokenize__", refuse)
    assert client.compute(ga.ones(100, chunks=10).sum()).result() == 100
