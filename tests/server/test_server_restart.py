"""Clusters outlive the Jupyter server that started them: another one, of the same user or started later, tells of them and commands them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from eventual import eventually
from glassloom_metrics.registry import read_records

TIMEOUT_S = 60


class JupyterServer:
    """A Jupyter server with the extension, in a process group of its own."""

    def __init__(self, home: Path, name: str) -> None:
        self._log = home / f"{name}.log"
        command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.port=0"]
        command += ["--IdentityProvider.token=sekret", f"--ServerApp.root_dir={home}"]
        command += ["--ServerApp.jpserver_extensions={'glassloom_server': True, 'jupyter_server_proxy': False}"]
        environment = {**os.environ, "HOME": str(home), "JUPYTER_CONFIG_DIR": str(home / "config")}
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    def clusters_url(self) -> str:
        """Return where it tells of clusters, once it does."""
        while self._process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", self._log.read_text())
            if found is not None and listens(int(found[1])):
                return f"{found[0]}glassloom/api/clusters"
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
        raise AssertionError(self._log.read_text())

    def end(self) -> None:
        """End it and all in its group, as a terminal does that is closed."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(TIMEOUT_S)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask(url: str, method: str = "GET", body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"Authorization": "token sekret"}, method=method), timeout=TIMEOUT_S) as answer:
        return json.loads(answer.read() or "null")


def running(url: str) -> list[tuple[str, int]]:
    """Return the names of clusters and their workers, once there is one that has any."""
    found = eventually(lambda: [each for each in ask(url)["clusters"] if each["workers"]], TIMEOUT_S)
    return [(each["name"], each["workers"]) for each in found]


def test_a_cluster_outlives_its_server_and_another_server_goes_on_with_it(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "run"))
    first, second = servers = [JupyterServer(tmp_path, name) for name in ("first", "second")]
    try:
        ask(first.clusters_url(), "POST", {"name": "kept", "n_workers": 1, "threads_per_worker": 1})
        there = second.clusters_url()
        assert running(first.clusters_url()) == running(there) == [("kept", 1)]
        first.end()
        (record,) = read_records()
        assert running(there) == [("kept", 1)]
        assert ask(f"{there}/{record.id}/scale", "POST", {"n": 1})["outcome"].endswith("as before.")
        ask(f"{there}/{record.id}", "DELETE")
        eventually(lambda: not ask(there)["clusters"], TIMEOUT_S)
    finally:
        for server in servers:
            server.end()
    assert read_records() == []
