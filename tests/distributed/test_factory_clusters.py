"""Clusters that a factory of Dask's makes, from the command and from profiles of the server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import distributed
import pytest
from attached import Told, wait_for
from glassloom import cli
from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.protocol import Settings, WorkerJoined, WorkerLeft
from glassloom_metrics.registry import find_record
from glassloom_metrics.subscriber import send_command
from glassloom_server.launcher import Factory, start_command
from glassloom_server.wire import StartRequest

LOCAL = Factory(
    "distributed.LocalCluster",
    kwargs={"n_workers": 1, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": ":0", "processes": False, "protocol": "tcp://"},
)  # fmt: skip


@pytest.mark.long
def test_a_local_cluster_is_started_scaled_and_shut_down(own_folders: None) -> None:
    command = start_command([sys.executable], StartRequest(name="of Dask's"), LOCAL)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    record = find_record(json.loads(done.stdout)["id"])
    assert (record.name, record.kind, record.started_by) == ("of Dask's", "dask", "panel")
    told = Told(record)
    with distributed.Client(record.address, set_as_default=False) as client:
        assert client.submit(abs, -2).result() == 2
        wait_for(told.rows, "no row")
        assert set(told.of(Settings)[-1].commands) == {"rename", "scale", "adapt", "shutdown"}
        asyncio.run(send_command(record, "scale", {"n": 2}))
        wait_for(lambda: len(told.of(WorkerJoined)) == 2, "no second worker")
        asyncio.run(send_command(record, "scale", {"n": 1}))
        wait_for(lambda: told.of(WorkerLeft), "still two workers")
        with pytest.raises(CommandRefused, match="whole number"):
            asyncio.run(send_command(record, "scale", {"n": -1}))
    assert cli.main(["cluster", "stop", record.id, "--timeout", "60 s"]) == 0
    assert not Path(record.directory).exists()
    wait_for(lambda: not _runs(record.pid), "its process runs on")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--factory=dask_nowhere.SLURMCluster"], "needs dask_nowhere, which isn't installed: pip install dask_nowhere"),
        (["--factory=distributed.NoCluster"], "there is no such class"),
        (["--factory=builtins.dict"], "makes dict, which is no cluster"),
        (["--factory=distributed.LocalCluster", "--kwargs=[1]"], "should be a map of names to values"),
        (["--factory=distributed.LocalCluster", "--kwargs={"], "is no JSON"),
        (["--factory=distributed.SpecCluster", '--kwargs={"no_such": 1}'], "distributed.SpecCluster makes no cluster: TypeError"),
        (["--factory=distributed.LocalCluster", "--memory-limit=1GB"], "memory_limit='1GB' isn't what distributed.LocalCluster is given by this name"),
    ],
)  # fmt: skip
def test_wrong_factories_are_errors_that_say_so(
    own_folders: None, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["cluster", "start", *options]) == 1
    assert told in capsys.readouterr().err


def test_a_factory_that_does_not_fit_what_is_installed_says_so(
    own_folders: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As dask-yarn's, whose last release is older than all of distributed that is of use."""
    (tmp_path / "old_factory.py").write_text("from distributed.utils import no_such_function")
    monkeypatch.syspath_prepend(tmp_path)
    assert cli.main(["cluster", "start", "--factory=old_factory.Cluster"]) == 1
    told = capsys.readouterr().err
    assert "can't be imported, as packages that are installed don't fit together" in told and "no_such_function" in told


@pytest.mark.parametrize(
    ("factory", "package", "kwargs"),
    [
        ("dask_jobqueue.SLURMCluster", "dask_jobqueue", {"cores": 1, "memory": "1GB"}),
        ("dask_kubernetes.operator.KubeCluster", "dask_kubernetes", {"name": "c"}),
        ("distributed.SSHCluster", "asyncssh", {"hosts": ["127.0.0.1", "127.0.0.1"]}),
    ],
)
def test_factories_that_need_a_package_name_it(
    own_folders: None, factory: str, package: str, kwargs: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    if _is_installed(package):
        pytest.skip(f"{package} is installed")
    assert cli.main(["cluster", "start", f"--factory={factory}", f"--kwargs={json.dumps(kwargs)}"]) == 1
    assert package.replace("_", "-") in capsys.readouterr().err


def _is_installed(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None
