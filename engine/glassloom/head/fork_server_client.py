"""The head's side of the fork server: asks for workers, learns of their ends, and notices when it doesn't answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from glassloom_metrics.time_limit import time_limit

from glassloom.head.health import Heartbeat, Pulse
from glassloom.protocol.options import WorkerOptions


class ForkServerClient:
    """Talks to a fork server that `fork_server.start` has made. Lives in one event loop; writing never waits or loses.

    Parameters
    ----------
    pid, connection
        What `fork_server.start` returned.
    on_exit
        Called in the event loop with a worker's number and how it ended, or why it couldn't be started.
    """

    def __init__(self, pid: int, connection: socket.socket, on_exit: Callable[[int, str], None]) -> None:
        self.pid = pid
        self._socket = connection
        self._on_exit = on_exit
        self._numbers: dict[int, int] = {}
        self._heartbeat = Heartbeat()
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._closed = False
        self.end_reason = "the fork server was killed"
        """Why it is gone, once it is."""

    async def start(self) -> None:
        """Connect to the fork server; `run` listens to it."""
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._socket)

    async def run(self) -> None:
        """Carry on what the fork server tells; returns when it is gone, and all workers with it."""
        with contextlib.suppress(ConnectionError):
            while line := await self._reader.readline():
                self._handle(json.loads(line))

    def spawn(self, options: WorkerOptions) -> None:
        """Ask for a worker."""
        self._tell({"spawn": asdict(options)})

    def check(self, now_s: float) -> Pulse:
        """Ask for a sign of life, unless one is being waited for; return how long it has been waited for."""
        if self._heartbeat.beat(now_s):
            self._tell({"ping": True})
        return self._heartbeat.pulse

    async def close(self, timeout_s: float = 5.0) -> None:
        """End the fork server and with it all workers; returns when they are gone."""
        if self._closed:
            return
        self._closed = True
        self._writer.transport.abort()  # what hasn't been sent by now isn't wanted any more
        if self._heartbeat.pulse is not Pulse.ALIVE:  # it can't end by itself
            self._kill()
        with contextlib.suppress(TimeoutError):
            async with time_limit(timeout_s):
                while not self._is_gone():
                    await asyncio.sleep(0.005)
                return
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _is_gone(self) -> bool:
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        except ChildProcessError:
            return True

    def _tell(self, request: dict[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(request).encode() + b"\n")

    def _handle(self, message: dict[str, Any]) -> None:
        self._heartbeat.answered()  # whatever it says, it is alive
        if "spawned" in message:
            self._numbers[message["pid"]] = message["spawned"]
        elif "crashed" in message:
            self.end_reason = (
                f"the fork server crashed: {message['crashed']} (a fault of Glassloom's own; please report it)"
            )
        elif "refused" in message:
            self._on_exit(message["refused"], message["status"])
        elif message.get("exited") in self._numbers:
            self._on_exit(self._numbers.pop(message["exited"]), message["status"])
