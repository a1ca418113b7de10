"""Clusters of dask-gateway: its own server starts scheduler and workers as processes of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import glassloom.array as ga
import pytest
from attached import Told, wait_for
from calls import inc
from free_ports import free_port
from glassloom import Client, cli, config

gateway: Any = pytest.importorskip("dask_gateway", reason="needs dask-gateway and dask-gateway-server[local]")
pytest.importorskip("dask_gateway_server", reason="needs dask-gateway-server[local]")
del gateway.Gateway.__del__  # closed twice it raises


@pytest.fixture
def server(own_folders: None, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Start a server; yield its address, and that of the proxy in front of schedulers."""
    page, proxy = free_port(), free_port()
    options = {
        "DaskGateway.backend_class": "dask_gateway_server.backends.local.UnsafeLocalBackend",
        "DaskGateway.authenticator_class": "dask_gateway_server.auth.SimpleAuthenticator",
        "DaskGateway.address": f"127.0.0.1:{page}",
        "Proxy.address": f"127.0.0.1:{proxy}",
        "UnsafeLocalBackend.clusters_directory": str(tmp_path / "clusters"),
        "ClusterConfig.scheduler_cmd": [sys.executable, "-m", "distributed.cli.dask_scheduler"],
        "ClusterConfig.worker_cmd": [sys.executable, "-m", "distributed.cli.dask_worker"],
        "UnsafeLocalBackend.inherited_environment": ["PATH", "PYTHONPATH"],
    }
    file = tmp_path / "config.py"
    file.write_text("".join(f"c.{name} = {json.dumps(value)}\n" for name, value in options.items()))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "dask_gateway_server", "-f", str(file)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: _answers(f"http://127.0.0.1:{page}/api/health"), "no server")
            yield f"http://127.0.0.1:{page}", f"gateway://127.0.0.1:{proxy}"
        finally:
            process.terminate()


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.long
def test_a_client_stands_on_a_cluster_of_a_gateway(server: tuple[str, str]) -> None:
    entrance = gateway.Gateway(server[0], proxy_address=server[1], auth="basic")
    with entrance, entrance.new_cluster() as cluster:
        cluster.scale(1)
        with config.set(distributed__attach=True), Client(cluster, set_as_default=False) as client:
            assert client.submit(inc, 1).result(timeout=100) == 2
            record = client._link.attached_record(60)  # type: ignore[union-attr]
            assert record is not None and record.address.startswith("gateway://")
            told = Told(record)
            assert client.compute(ga.ones(1000, chunks=100).sum(), sync=True) == 1000
            wait_for(told.rows, "rows")
            client.cluster.scale(2)
            wait_for(lambda: len(client.ncores()) == 2, "a second worker")


def test_an_address_of_a_gateway_that_cannot_be_attached_to_is_an_error(
    own_folders: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["attach", "gateway://127.0.0.1:1/none"]) == 1
    assert "needs certificates" in capsys.readouterr().err
