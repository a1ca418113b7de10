"""The dashboards process: one for the whole Jupyter server, started when first wanted and again if it died.

It listens on a UNIX socket (0600) in a directory (0700) of its own and answers only requests that carry the secret.
Belongs to one event loop; not thread-safe.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from logging import Logger, LoggerAdapter
from pathlib import Path

import psutil
from jupyter_server_proxy.unixsock import UnixResolver
from tornado.httpclient import HTTPClientError
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from glassloom_server.errors import DashboardsUnavailable

COMMAND = (sys.executable, "-m", "glassloom_dashboards")
SECRET_HEADER = "X-Glassloom-Secret"
START_TIMEOUT_S = 45.0
_PROBE_INTERVAL_S = 0.05
_DIRECTORY_PREFIX = "glassloom-dash-"
_LOG_TAIL_BYTES = 2000
_STOP_TIMEOUT_S = 5.0
_MAX_BASE_BYTES = 60
"""A UNIX socket's path may have 107 bytes, those of the private directory's name and the socket's included."""


def _make_directory() -> Path:
    """Return a new private directory; remove those that servers which were killed left behind."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > _MAX_BASE_BYTES:
        base = "/tmp"
    for left in Path(base).glob(f"{_DIRECTORY_PREFIX}*"):
        pid = left.name.removeprefix(_DIRECTORY_PREFIX).partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)  # of another user: not ours to remove, and we cannot
    return Path(tempfile.mkdtemp(prefix=f"{_DIRECTORY_PREFIX}{os.getpid()}-", dir=base))


class DashboardsProcess:
    """Runs the dashboards process.

    Parameters
    ----------
    prefix
        The path, from the root of the server, below which it answers.
    command
        What to run; ``--unix-socket`` and ``--prefix`` are added.
    """

    def __init__(
        self,
        *,
        prefix: str,
        log: Logger | LoggerAdapter[Logger],
        command: Sequence[str] = COMMAND,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self.secret = secrets.token_urlsafe(32)
        self._prefix = prefix
        self._command = command
        self._start_timeout_s = start_timeout_s
        self._log = log
        self._lock = asyncio.Lock()
        self._directory: Path | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Process id, or None if it doesn't run."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def ensure_running(self) -> str:
        """Return the path of the socket of the running process; start it first if need be.

        Raises
        ------
        DashboardsUnavailable
            If it ends at once or isn't ready in time; the message ends with what it said.
        """
        async with self._lock:
            if self._directory is None:
                self._directory = await asyncio.to_thread(_make_directory)
            socket = self._directory / "socket"
            if self.pid is None:
                await self._start(socket)
            return str(socket)

    async def stop(self) -> None:
        """End the process, by force if it doesn't listen, and remove its directory."""
        async with self._lock:
            await self._end_process()
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)
                self._directory = None

    async def _start(self, socket: Path) -> None:
        if self._process is not None:
            self._log.warning("The Glassloom dashboards ended (exit code %s); starting again", self._process.returncode)
        socket.unlink(missing_ok=True)
        log_path = socket.with_name("log")
        with open(log_path, "wb") as output:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                "--unix-socket",
                str(socket),
                "--prefix",
                self._prefix,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "GLASSLOOM_DASH_SECRET": self.secret},
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(self._start_timeout_s):
                await self._until_healthy(self._process, socket)
        except TimeoutError as error:
            await self._end_process()
            raise self._unavailable(f"not ready after {self._start_timeout_s:g} s", log_path) from error
        except ChildProcessError as error:
            raise self._unavailable(f"it ended with exit code {self._process.returncode}", log_path) from error
        except asyncio.CancelledError:
            await self._end_process()
            raise
        self._log.info("Glassloom dashboards run as process %s", self._process.pid)

    async def _until_healthy(self, process: asyncio.subprocess.Process, socket: Path) -> None:
        client = SimpleAsyncHTTPClient(force_instance=True, resolver=UnixResolver(str(socket)))
        try:
            while process.returncode is None:
                with contextlib.suppress(OSError, HTTPClientError):
                    await client.fetch(f"http://localhost{self._prefix}/health", headers={SECRET_HEADER: self.secret})
                    return
                await asyncio.sleep(_PROBE_INTERVAL_S)
            raise ChildProcessError
        finally:
            client.close()

    async def _end_process(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        for sent in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(sent)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STOP_TIMEOUT_S):
                    await process.wait()
                    return

    def _unavailable(self, reason: str, log_path: Path) -> DashboardsUnavailable:
        said = log_path.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip()
        self._log.error("The Glassloom dashboards do not start: %s\n%s", reason, said)
        return DashboardsUnavailable(f"The dashboards process does not start: {reason}.\n{said}".strip())
