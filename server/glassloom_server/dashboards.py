"""The dashboards process: one for the whole Jupyter server, started when first wanted, and again if it ended or fell silent.
While no page is open it ends after some minutes, as it takes memory.

It listens on a UNIX socket (0600) in a directory (0700) of its own and answers only requests that carry the secret.
While it runs it is asked for its health every few seconds: a process that has been stopped (SIGSTOP), or hangs, is killed.
The next request starts another; one that ends again and again has to wait. Belongs to one event loop; not thread-safe.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from logging import Logger, LoggerAdapter
from pathlib import Path
from typing import NoReturn

import msgspec
import psutil
from glassloom_metrics.host import HostIdentity, Standing, process_started_s, standing, this_host
from glassloom_metrics.pages import MAX_OPEN_PAGES
from glassloom_metrics.time_limit import time_limit
from jupyter_server_proxy.unixsock import UnixResolver
from tornado.httpclient import HTTPClientError
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from glassloom_server.environment import minimal_environment
from glassloom_server.errors import DashboardsUnavailable
from glassloom_server.process_log import ProcessLog
from glassloom_server.restarts import Restarts

COMMAND = (sys.executable, "-m", "glassloom_dashboards")
SECRET_HEADER = "X-Glassloom-Secret"
START_TIMEOUT_S = 45.0
SILENCE_S = 20.0
"""A process that answers nothing for about so long is replaced."""
IDLE_S = 900.0
"""A process that has had no open page, and no request, for so long is ended."""

_FAILURES = 3
"""So many probes in a row must fail: one alone fails too when this process has stood still."""
_PROBE_INTERVAL_S = 0.05
_DIRECTORY_PREFIX = "glassloom-dash-"
_OWNER = "owner.json"
_LOG_TAIL_BYTES = 2000
_LOG_ANSWER_BYTES = 64 * 1024
_STOP_TIMEOUT_S = 5.0
_MAX_BASE_BYTES = 60
"""A UNIX socket's path may have 107 bytes, those of the private directory's name and the socket's included."""


def _make_directory() -> Path:
    """Return a new private directory; remove those that servers which were killed left behind."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > _MAX_BASE_BYTES:
        base = "/tmp"
    for left in Path(base).glob(f"{_DIRECTORY_PREFIX}*"):
        if _has_surely_ended(left):
            _kill_who_listens(left / "socket")
            shutil.rmtree(left, ignore_errors=True)
    directory = Path(tempfile.mkdtemp(prefix=f"{_DIRECTORY_PREFIX}{os.getpid()}-", dir=base))
    owner = Owner(os.getpid(), process_started_s(os.getpid()), this_host())
    (directory / _OWNER).write_bytes(msgspec.json.encode(owner))
    return directory


class Owner(msgspec.Struct, frozen=True):
    """The server that a directory belongs to: containers share folders for temporary files, and pids mean other processes there."""

    pid: int
    started_s: float
    host: HostIdentity


def _has_surely_ended(directory: Path) -> bool:
    """Tell whether the server of a directory has ended; one of another user's, or without a word of its server, is left alone."""
    try:
        owner = msgspec.json.decode((directory / _OWNER).read_bytes(), type=Owner)
    except (OSError, msgspec.DecodeError):
        return False
    return standing(owner.host, owner.pid, owner.started_s) is Standing.ENDED


def _kill_who_listens(socket: Path) -> None:
    """Kill the dashboards process of a server that is gone. It ends by itself, unless it has been stopped (SIGSTOP)."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if str(socket) in process.cmdline():
                process.kill()


@dataclass(frozen=True)
class DashboardsStatus:
    """How the process stands, and the end of its log, also of what earlier ones have said.

    ``state`` is ``"not running"``, ``"running"`` or ``"silent"``; ``ended`` says how often it has ended by itself or was
    replaced, ``restart_wait_s`` how long it must not be started yet.
    """

    state: str
    pid: int | None
    ended: int
    log: str
    restart_wait_s: float = 0.0


class _Running:
    """A started process, and how long it hasn't answered."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.started_s = self.heard_s = time.monotonic()
        self.failures = 0
        self.watching: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        return self.process.returncode is not None


class DashboardsProcess:
    """Runs the dashboards process.

    Parameters
    ----------
    prefix
        The path, from the root of the server, below which it answers.
    command
        What to run; ``--unix-socket``, ``--prefix`` and ``--max-pages`` are added.
    start_timeout_s
        How long it may take until it answers for the first time.
    silence_s
        How long it may answer nothing before it is replaced.
    idle_s
        How long it may have neither an open page nor a request before it is ended. The next request starts it again; what it
        has folded of a cluster it then folds again, as far back as the cluster's log goes.
    max_pages
        How many pages may be open at once.
    """

    def __init__(
        self,
        *,
        prefix: str,
        log: Logger | LoggerAdapter[Logger],
        command: Sequence[str] = COMMAND,
        start_timeout_s: float = START_TIMEOUT_S,
        silence_s: float = SILENCE_S,
        idle_s: float = IDLE_S,
        max_pages: int = MAX_OPEN_PAGES,
    ) -> None:
        self.secret = secrets.token_urlsafe(32)
        self._prefix = prefix
        self._command = command
        self._start_timeout_s = start_timeout_s
        self._silence_s = silence_s
        self._idle_s = idle_s
        self._open_pages = 0
        self._used_s = -math.inf
        self._max_pages = max_pages
        self._log = log
        self._lock = asyncio.Lock()
        self._directory: Path | None = None
        self._process_log: ProcessLog | None = None
        self._running: _Running | None = None
        self._restarts = Restarts()

    @property
    def pid(self) -> int | None:
        """Process id, or None if it doesn't run."""
        return self._running.process.pid if self._running is not None and not self._running.has_ended else None

    @property
    def is_starting(self) -> bool:
        """Whether the process runs, but hasn't answered for the first time yet."""
        return self.pid is not None and self._running is not None and self._running.watching is None

    async def ensure_running(self) -> str:
        """Return the path of the socket of the running process; start it first if need be.

        Raises
        ------
        DashboardsUnavailable
            If it ends at once or isn't ready in time (the message ends with what it said), if it has ended so often that
            the next start has to wait, or if it doesn't answer.
        """
        async with self._lock:
            self._used_s = time.monotonic()
            if self._directory is None:
                self._directory = await asyncio.to_thread(_make_directory)
                self._process_log = ProcessLog(self._directory / "log")
            socket = self._directory / "socket"
            if self.pid is None:
                self._note_end()
                self._require_patience()
                await self._start(socket, self._process_log)
                self._used_s = time.monotonic()  # what it was started for comes only now
            running = self._running
            if running is not None and running.failures:
                silent_s = time.monotonic() - running.heard_s
                raise DashboardsUnavailable(
                    f"The dashboards have not answered for {silent_s:.0f} s. If they still don't after about "
                    f"{self._silence_s:g} s, they are started again."
                )
            return str(socket)

    def note_page_opened(self) -> None:
        """Keep the process until the page is closed."""
        self._open_pages += 1

    def note_page_closed(self) -> None:
        """One page less keeps the process."""
        self._open_pages -= 1
        self._used_s = time.monotonic()

    async def status(self) -> DashboardsStatus:
        """Return how the process stands; starts nothing."""
        running = self._running
        state = "not running" if self.pid is None else "silent" if running and running.failures else "running"
        log = self._process_log
        said = "" if log is None else await asyncio.to_thread(log.tail, _LOG_ANSWER_BYTES)
        unnoted = running is not None and running.has_ended
        wait_s = self._restarts.wait_s(time.monotonic())
        return DashboardsStatus(state, self.pid, self._restarts.ended + unnoted, said, wait_s)

    async def ask_for_health(self, timeout_s: float) -> None:
        """Ask the running process for an answer, as pages do; raises OSError or HTTPClientError if none comes in time."""
        if self._directory is None:
            raise FileNotFoundError("the dashboards process was never started")
        await self._probe(self._directory / "socket", timeout_s)

    async def stop(self) -> None:
        """End the process, by force if it doesn't listen, and remove its directory."""
        async with self._lock:
            running, self._running = self._running, None
            if running is not None:
                if running.watching is not None:
                    running.watching.cancel()
                await self._end_process(running.process, (signal.SIGTERM, signal.SIGKILL))
            if self._directory is not None:
                await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)
                self._directory = self._process_log = None

    def _note_end(self) -> None:
        """If the process has ended by itself, or was replaced, take note of it."""
        running, self._running = self._running, None
        if running is not None:
            now_s = time.monotonic()
            self._restarts.note_end(now_s=now_s, ran_s=now_s - running.started_s)
            self._log.warning(
                "The Glassloom dashboards ended (exit code %s); starting again", running.process.returncode
            )

    def _require_patience(self) -> None:
        """Raise `DashboardsUnavailable` if it has ended so often that it mustn't be started yet."""
        wait_s = self._restarts.wait_s(time.monotonic())
        if wait_s:
            said = self._process_log.said(_LOG_TAIL_BYTES) if self._process_log is not None else ""
            reason = (
                f"The dashboards process has ended {self._restarts.ended} times. "
                f"It is started again in {math.ceil(wait_s)} s."
            )
            raise DashboardsUnavailable(f"{reason}\n{said}".strip())

    async def _start(self, socket: Path, log: ProcessLog | None) -> None:
        assert log is not None, "made with the directory"
        socket.unlink(missing_ok=True)
        log.trim()
        log.mark()
        output = log.open()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                "--unix-socket",
                str(socket),
                "--prefix",
                self._prefix,
                "--max-pages",
                str(self._max_pages),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**minimal_environment(os.environ), "GLASSLOOM_DASH_SECRET": self.secret},
                start_new_session=True,
            )
        except OSError as error:
            self._refuse(f"could not run {self._command[0]}: {error.strerror or error}", log)
        finally:
            os.close(output)
        running = self._running = _Running(process)
        try:
            async with time_limit(self._start_timeout_s):
                await self._until_healthy(process, socket)
        except TimeoutError:
            await self._give_up(running)
            self._refuse(f"not ready after {self._start_timeout_s:g} s", log)
        except ChildProcessError:
            await self._give_up(running)
            self._refuse(f"it ended with exit code {process.returncode}", log)
        except asyncio.CancelledError:
            await self._give_up(running)
            raise
        running.heard_s = time.monotonic()
        running.watching = asyncio.create_task(self._watch(running, socket, log), name="glassloom-dashboards-health")
        self._log.info("Glassloom dashboards run as process %s; their log is %s", process.pid, log.path)

    async def _give_up(self, running: _Running) -> None:
        self._running = None
        await self._end_process(running.process, (signal.SIGTERM, signal.SIGKILL))

    def _refuse(self, reason: str, log: ProcessLog) -> NoReturn:
        self._restarts.note_end(now_s=time.monotonic(), ran_s=0.0)
        said = log.said(_LOG_TAIL_BYTES)
        self._log.error("The Glassloom dashboards do not start: %s\n%s", reason, said)
        raise DashboardsUnavailable(f"The dashboards process does not start: {reason}.\n{said}".strip())

    async def _until_healthy(self, process: asyncio.subprocess.Process, socket: Path) -> None:
        while process.returncode is None:
            with contextlib.suppress(OSError, HTTPClientError):
                await self._probe(socket, self._start_timeout_s)
                return
            await asyncio.sleep(_PROBE_INTERVAL_S)
        raise ChildProcessError

    async def _probe(self, socket: Path, timeout_s: float) -> None:
        """Ask the process's loop for an answer; raises OSError or HTTPClientError if none comes in time."""
        client = SimpleAsyncHTTPClient(force_instance=True, resolver=UnixResolver(str(socket)))
        try:
            await client.fetch(
                f"http://localhost{self._prefix}/health",
                headers={SECRET_HEADER: self.secret},
                connect_timeout=timeout_s,
                request_timeout=timeout_s,
            )
        finally:
            client.close()

    async def _watch(self, running: _Running, socket: Path, log: ProcessLog) -> None:
        """Ask for the process's health until it ends; kill it if it doesn't answer."""
        process = running.process
        while not running.has_ended and running.failures < _FAILURES:
            with contextlib.suppress(TimeoutError):
                async with time_limit(self._silence_s / 10):
                    await process.wait()
                    break
            try:
                await self._probe(socket, self._silence_s / 4)
            except (OSError, HTTPClientError):
                running.failures += 1
            else:
                running.failures, running.heard_s = 0, time.monotonic()
            await asyncio.to_thread(log.trim)
            if self._is_idle and await self._end_idle(running, log):
                return
        if running.has_ended:
            log.note(f"process {process.pid} ended with exit code {process.returncode}")
            return
        silent_s = time.monotonic() - running.heard_s
        self._log.warning(
            "The Glassloom dashboards (process %s) have not answered for %.0f s, and are ended", process.pid, silent_s
        )
        log.note(f"process {process.pid} was killed: it had not answered for {silent_s:.0f} s")
        await self._end_process(process, (signal.SIGKILL,))

    @property
    def _is_idle(self) -> bool:
        return self._open_pages == 0 and time.monotonic() - self._used_s > self._idle_s

    async def _end_idle(self, running: _Running, log: ProcessLog) -> bool:
        """End the process unless it was asked for meanwhile; tell whether it was ended. Who asks now waits, and starts another."""
        async with self._lock:
            if not self._is_idle or running is not self._running:
                return False
            self._running = None
            reason = f"no page was open for {self._idle_s:g} s"
            self._log.info("The Glassloom dashboards (process %s) are ended: %s", running.process.pid, reason)
            log.note(f"process {running.process.pid} was ended: {reason}")
            await self._end_process(running.process, (signal.SIGTERM, signal.SIGKILL))
            return True

    @staticmethod
    async def _end_process(process: asyncio.subprocess.Process, signals: Sequence[signal.Signals]) -> None:
        for sent in signals if process.returncode is None else ():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(sent)
            with contextlib.suppress(TimeoutError):
                async with time_limit(_STOP_TIMEOUT_S):
                    await process.wait()
                    return
