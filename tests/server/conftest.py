"""A Jupyter server with the extension, clusters that are real but for their engine, and a stand-in for the dashboards."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.protocol import PROTOCOL_VERSION, Command, Hello, WorkerJoined, WorkerSamples
from glassloom_metrics.publisher import Publisher
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord, process_started_s, remove_record, write_record
from jupyter_server.utils import url_path_join
from pytest_jupyter.jupyter_core import *  # noqa: F403 - fixtures
from pytest_jupyter.jupyter_server import *  # noqa: F403 - fixtures
from tornado.escape import url_escape
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

HERE = Path(__file__).parent


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {
        "ServerApp": {"jpserver_extensions": {"glassloom_server": True, "jupyter_server_proxy": False}},
        "IdentityProvider": {"cookie_name": "login"},
        "GlassloomServer": {"dashboards_command": [sys.executable, str(HERE / "stub_dashboards.py")]},
    }


@pytest.fixture
def jp_fetch(jp_serverapp: Any, http_server_client: Any, jp_auth_header: dict[str, str], jp_base_url: str) -> Any:
    """Ask the server, as pytest-jupyter's fixture does, whose 20 s are little where a process is started first on a busy machine."""

    def fetch(
        *parts: str,
        headers: dict[str, str] | None = None,
        params: dict[str, str] | None = None,
        request_timeout: float = 60.0,
        **options: Any,
    ) -> Any:
        address = url_path_join(jp_base_url, url_escape(url_path_join(*parts), plus=False))
        return http_server_client.fetch(
            f"{address}?{urlencode(params or {})}",
            headers={**jp_auth_header, **(headers or {})},
            request_timeout=request_timeout,
            **options,
        )

    return fetch


@pytest.fixture
def jp_ws_fetch(http_server_client: Any, jp_auth_header: dict[str, str], jp_http_port: int, jp_base_url: str) -> Any:
    """Open a WebSocket, as pytest-jupyter's fixture does, whose upgrade has 20 s too: the dashboards may be started for it."""

    def fetch(
        *parts: str, headers: dict[str, str] | None = None, params: dict[str, str] | None = None, **options: Any
    ) -> Any:
        path = url_path_join(jp_base_url, url_escape(url_path_join(*parts), plus=False))
        address = f"ws://localhost:{jp_http_port}{path}?{urlencode(params or {})}"
        sent = {**jp_auth_header, **(headers or {})}
        request = HTTPRequest(address, headers=sent, connect_timeout=60.0, request_timeout=60.0)
        return websocket_connect(request, **options)

    return fetch


@pytest.fixture
def services(jp_serverapp: Any) -> Any:
    (extension,) = jp_serverapp.extension_manager.extension_apps["glassloom_server"]
    return extension.services


@dataclass
class RunningCluster:
    """A registered cluster that publishes metrics; its "workers" are only messages."""

    record: ClusterRecord
    recorder: Recorder
    publisher: Publisher
    commands: list[Command] = field(default_factory=list)

    @property
    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        return [(command.name, dict(command.arguments)) for command in self.commands]

    def say(self, *messages: Any) -> None:
        for message in messages:
            self.recorder.record(message)
        self.publisher.notify()

    def sample(self, cpu_percent: float, rss_bytes: int) -> None:
        self.say(WorkerSamples(0.0, [0], [cpu_percent], [rss_bytes], [0], [0], [0], [0], [0]))

    async def end(self) -> None:
        remove_record(self.record.id)
        await self.publisher.close()


StartCluster = Callable[..., Awaitable[RunningCluster]]


@pytest.fixture
def start_cluster(jp_environ: None, jp_asyncio_loop: Any, tmp_path: Path) -> Any:
    running: list[RunningCluster] = []

    async def start(
        cluster_id: str = "c1", name: str = "loom", kind: str = "processes", **fields: Any
    ) -> RunningCluster:
        recorder = Recorder(Hello(PROTOCOL_VERSION, cluster_id, name, kind, 1.0))
        recorder.record(WorkerJoined(1.0, 0, "w0", os.getpid(), nthreads=2, memory_limit_bytes=1000))
        commands: list[Command] = []

        async def on_command(command: Command) -> str:
            commands.append(command)
            if command.name == "refuse me":
                raise CommandRefused("no such command here")
            return f"{command.name} is done."

        publisher = Publisher(recorder, "sekret", on_command)
        socket = str(tmp_path / f"{cluster_id}.sock")
        await publisher.serve(socket)
        record = ClusterRecord(
            id=cluster_id,
            name=name,
            kind=kind,
            pid=os.getpid(),
            pid_started_s=process_started_s(os.getpid()),
            socket=socket,
            secret="sekret",
            started_at_s=float(len(running)),
            directory=str(tmp_path / cluster_id),
            shm_prefix="glassloom-test",
            **fields,
        )
        write_record(record)
        cluster = RunningCluster(record, recorder, publisher, commands)
        running.append(cluster)
        return cluster

    yield start
    for cluster in running:
        jp_asyncio_loop.run_until_complete(cluster.end())


@pytest.fixture
def install_kernel(jp_environ: None, jp_data_dir: Path) -> Callable[..., None]:
    """Install a kernelspec whose "Python" is a script of ours."""

    def install(name: str, interpreter: str, *, language: str = "python") -> None:
        directory = jp_data_dir / "kernels" / name
        directory.mkdir(parents=True)
        spec = {"argv": [interpreter, "-m", "ipykernel"], "display_name": name, "language": language}
        (directory / "kernel.json").write_text(json.dumps(spec))

    return install


@pytest.fixture
def fake_python(tmp_path: Path) -> Callable[[str], str]:
    """Make an executable that stands in for a kernel's Python: it runs the given code, with the arguments as usual."""

    def make(code: str) -> str:
        path = tmp_path / "fake-python"
        path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{code}")
        path.chmod(0o700)
        return str(path)

    return make


@pytest.fixture(autouse=True)
def no_gpu_driver(monkeypatch):
    """Servers have the profiles of a machine without GPUs, whichever machine this is."""
    monkeypatch.setattr("glassloom_server.profiles.has_gpu_driver", lambda: False)
