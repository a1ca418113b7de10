"""A real JupyterLab with the extension, in a process and a home of its own, for tests with a browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

ARTIFACTS = Path(__file__).parents[1] / "e2e" / "artifacts"
TOKEN = "sekret"
START_TIMEOUT_S = 120
END_TIMEOUT_S = 60


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab; `environment` is what its kernels and clusters need to be found by it."""

    url: str
    origin: str
    root: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes]

    def address(self, path: str = "lab") -> str:
        """Return the URL of a page, with the token."""
        return f"{self.url}{path}{'&' if '?' in path else '?'}token={TOKEN}"

    def dashboards_pid(self) -> int | None:
        """Return the process id of the dashboards process, if it runs."""
        return next((pid for pid, _ in self._dashboards()), None)

    def dashboards_sockets(self) -> list[Path]:
        """Return the path of the socket of each dashboards process."""
        return [Path(command[command.index("--unix-socket") + 1]) for _, command in self._dashboards()]

    def _dashboards(self) -> list[tuple[int, list[str]]]:
        """Return the process id and the command of each dashboards process; others may end meanwhile."""
        found = []
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):
                command = child.cmdline()
                if "glassloom_dashboards" in command:
                    found.append((child.pid, command))
        return found


@contextmanager
def running_lab(directory: Path, base_url: str, *options: str, port: int = 0) -> Iterator[Lab]:
    """Run a JupyterLab with a home of its own; its log is kept among the artifacts. One that is run there again finds what the first has left."""
    root = directory / "root"
    root.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "HOME": str(directory),
        "IPYTHONDIR": str(directory / "ipython"),
        "JUPYTER_CONFIG_DIR": str(directory / "config"),
        "JUPYTER_DATA_DIR": str(directory / "data"),
        "JUPYTER_RUNTIME_DIR": str(directory / "run"),
        "JUPYTERLAB_SETTINGS_DIR": str(directory / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(directory / "workspaces"),
    }
    log = directory / "lab.log"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}"]
    command += [f"--ServerApp.base_url={base_url}", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"]
    command += options
    # A pane says 12 s after its dashboards have stopped that they don't answer: on a busy machine, too, long before they are killed.
    # Longer than this, and its first question would come before the server knows that they don't.
    command += ["--GlassloomServer.dashboards_silence_s=30"]
    # Lets tests run commands, and keeps JupyterLab from asking about news.
    command += ["--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True"]
    notification = directory / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    notification.parent.mkdir(parents=True, exist_ok=True)
    notification.write_text('{"fetchNews": "false"}')
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        origin = _wait_for_origin(process, log)
        yield Lab(origin + base_url, origin, root, environment, process)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(END_TIMEOUT_S)
        ARTIFACTS.mkdir(exist_ok=True)
        shutil.copy(log, ARTIFACTS / f"{directory.name.rstrip('0123456789')}.log")


def _wait_for_origin(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        text = log.read_text()
        found = re.search(r"http://127\.0\.0\.1:(\d+)(?=/)", text)
        if found and _accepts(int(found[1])):  # it says so a moment before it listens
            return found[0]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
