"""A JupyterLab in a process of its own, the latency of its kernels, and what it costs. Used by `benchmarks.jupyter`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
from tornado.websocket import WebSocketClientConnection, websocket_connect

TOKEN = "bench"
LOGIN = {"Authorization": f"token {TOKEN}"}
START_TIMEOUT_S = 120
_PING_EVERY_S = 0.05


@dataclass(frozen=True)
class Jupyter:
    """A running JupyterLab: ``url`` ends with its base URL; ``environment`` lets clusters be found by it."""

    url: str
    process: psutil.Process
    environment: dict[str, str]
    probe: Path | None = None

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Return the JSON of an answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = LOGIN | {"Content-Type": "application/json"}
        with urlopen(Request(f"{self.url}{path}", data, headers, method=method), timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def cpu_s(self) -> float:
        """Return the CPU time of the server's own process."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def tree_cpu_s(self) -> float:
        """Return the CPU time of the server and all processes below it that run."""
        return tree_cpu_s(self.process)

    def longest_callbacks_ms(self) -> list[tuple[float, str]]:
        """Return what has held up the loop the longest, by CPU time; of a probed one."""
        return json.loads(self.probe.read_text()) if self.probe is not None else []

    def rss_mb(self) -> float:
        """Return the resident memory of the server's own process."""
        return float(self.process.memory_info().rss / 1e6)


def tree_cpu_s(process: psutil.Process) -> float:
    """Return the CPU time of a process and all below it that run, or have run and were waited for."""
    total_s = 0.0
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            total_s += sum(each.cpu_times()[:4])
    return total_s


@contextmanager
def jupyter_lab(python: str, *, is_probed: bool = False, options: Sequence[str] = ()) -> Iterator[Jupyter]:
    """Run the JupyterLab of an environment with a home of its own, until the block ends.

    Parameters
    ----------
    is_probed
        Whether its loop is watched by `benchmarks.loop_probe`.
    options
        What else JupyterLab is started with.
    """
    with tempfile.TemporaryDirectory(prefix="glassloom-bench-") as directory:
        home = Path(directory)
        (home / "root").mkdir()
        probe = home / "loop.json" if is_probed else None
        if probe is not None:
            (home / "config").mkdir()
            install = f"from benchmarks.loop_probe import install\ninstall({str(probe)!r})\n"
            (home / "config" / "jupyter_server_config.py").write_text(install)
        environment = {
            **os.environ, "HOME": directory, "JUPYTER_CONFIG_DIR": f"{directory}/config", "JUPYTER_DATA_DIR": f"{directory}/data",
            "JUPYTER_RUNTIME_DIR": f"{directory}/run", "JUPYTERLAB_SETTINGS_DIR": f"{directory}/settings",
            "JUPYTERLAB_WORKSPACES_DIR": f"{directory}/workspaces", "PATH": f"{Path(python).parent}:{os.environ['PATH']}",
        }  # fmt: skip
        command = [python, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port=0"]
        command += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={home / 'root'}"]
        command += ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None", *options]
        with open(home / "log", "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            yield Jupyter(_wait_for_url(process, home / "log"), psutil.Process(process.pid), environment, probe)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def _wait_for_url(process: subprocess.Popen[bytes], log: Path) -> str:
    end_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end_s and process.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/(?=lab)", log.read_text())
        if found and _listens(int(found[1])):
            return found[0]
        time.sleep(0.02)
    raise RuntimeError(f"JupyterLab doesn't start:\n{log.read_text()}")


def _listens(port: int) -> bool:
    """Whether the server takes connections; it tells its address a moment before it does."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def start_kernel(jupyter: Jupyter) -> str:
    """Start a kernel; return its id."""
    return str(jupyter.ask("api/kernels", "POST", {"name": "python3"})["id"])


async def connect_to_kernel(jupyter: Jupyter, kernel: str) -> WebSocketClientConnection:
    """Open the WebSocket that a notebook has to its kernel; return when the kernel answers over it."""
    url = f"{jupyter.url.replace('http', 'ws', 1)}api/kernels/{kernel}/channels?token={TOKEN}"
    connection = await websocket_connect(url, max_message_size=2**28)
    await request(connection, "kernel_info_request", {})
    return connection


def _acknowledge_at_once(connection: WebSocketClientConnection) -> None:
    """Let the system acknowledge what has come so far without waiting for something to send.

    Jupyter answers with three small messages, and its sockets hold the second until the first is acknowledged (Nagle's
    algorithm, RFC 896). The usual 40 ms of a delayed acknowledgement would hide what the server's loop takes. It holds
    until the next message only: see `man 7 tcp`.
    """
    protocol = connection.protocol
    if protocol is not None and hasattr(socket, "TCP_QUICKACK"):
        protocol.stream.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


async def request(connection: WebSocketClientConnection, kind: str, content: dict[str, Any]) -> dict[str, Any]:
    """Send a message to the kernel; return the content of its reply."""
    number = uuid.uuid4().hex
    header = {"msg_id": number, "msg_type": kind, "username": "", "session": "bench", "version": "5.4", "date": ""}
    message = {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "content": content,
        "channel": "shell",
        "buffers": [],
    }
    await connection.write_message(json.dumps(message))
    while True:
        _acknowledge_at_once(connection)
        text = await connection.read_message()
        if text is None:
            raise ConnectionError("the kernel's WebSocket was closed")
        reply = json.loads(text)
        if reply.get("channel") == "shell" and reply["parent_header"].get("msg_id") == number:
            return dict(reply["content"])


async def run_code(connection: WebSocketClientConnection, code: str) -> None:
    """Run a cell; raises RuntimeError if it fails."""
    reply = await request(connection, "execute_request", {"code": code, "silent": False, "store_history": True})
    if reply["status"] != "ok":
        raise RuntimeError("\n".join(reply.get("traceback", [])))


async def ping_ms(connection: WebSocketClientConnection, seconds: float) -> list[float]:
    """Ask the kernel for as little as can be, for so long; return how many milliseconds each answer took by the clock on the wall."""
    took_ms: list[float] = []
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        began_s = time.perf_counter()
        await request(connection, "kernel_info_request", {})
        took_ms.append(1e3 * (time.perf_counter() - began_s))
        await asyncio.sleep(_PING_EVERY_S)
    return took_ms


def quantiles(values: list[float]) -> dict[str, float]:
    """Return the median, the 99th percentile and the largest."""
    return {"p50": statistics.median(values), "p99": statistics.quantiles(values, n=100)[98], "max": max(values)}


def stalled_socket(jupyter: Jupyter, path: str) -> socket.socket:
    """Open a WebSocket that is never read."""
    host, _, rest = jupyter.url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    viewer = socket.socket()
    viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    viewer.settimeout(60)
    viewer.connect((name, int(port)))
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    viewer.sendall(
        f"GET /{rest}{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: token {TOKEN}\r\n{upgrade}\r\n\r\n".encode()
    )
    answer = viewer.recv(12)
    if answer != b"HTTP/1.1 101":
        raise RuntimeError(f"{path}: {answer!r}")
    return viewer
