"""The head's side of the fork server: asks for workers, learns of their ends."""

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

from glassloom.protocol.options import WorkerOptions


class ForkServerClient:
    """Talks to a fork server that `fork_server.start` has made. Lives in one event loop.

    Parameters
    ----------
    pid, connection
        What `fork_server.start` returned.
    on_exit
        Called with a worker's number and how it ended.
    on_lost
        Called when the fork server itself is gone, and all workers with it.
    """

    def __init__(
        self,
        pid: int,
        connection: socket.socket,
        on_exit: Callable[[int, str], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._pid = pid
        self._socket = connection
        self._on_exit = on_exit
        self._on_lost = on_lost
        self._numbers: dict[int, int] = {}
        self._buffered = b""
        self._closed = False

    def start(self) -> None:
        """Begin to listen to the fork server."""
        self._socket.setblocking(False)
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._read)

    def spawn(self, options: WorkerOptions) -> None:
        """Ask for a worker."""
        self._tell({"spawn": asdict(options)})

    def kill(self, pid: int) -> None:
        """Ask to end a worker's process at once."""
        self._tell({"kill": pid})

    async def close(self, timeout_s: float = 5.0) -> None:
        """End the fork server and with it all workers; returns when they are gone."""
        if self._closed:
            return
        self._closed = True
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not self._is_gone():
                    await asyncio.sleep(0.005)
                return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def _is_gone(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] == self._pid
        except ChildProcessError:
            return True

    def _tell(self, request: dict[str, Any]) -> None:
        # Requests are far smaller than a socket's buffer, and the fork server does nothing but read them.
        with contextlib.suppress(OSError):
            self._socket.sendall(json.dumps(request).encode() + b"\n")

    def _read(self) -> None:
        try:
            data = self._socket.recv(2**16)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            if not self._closed:
                self._on_lost()
            return
        *lines, self._buffered = (self._buffered + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "spawned" in message:
                self._numbers[message["pid"]] = message["spawned"]
            elif message.get("exited") in self._numbers:
                self._on_exit(self._numbers.pop(message["exited"]), message["status"])
