"""The head's socket: who connects, whether it is let in, and as what. What the other side does wrong ends its connection only."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import msgspec
from glassloom_metrics.framing import FrameError
from glassloom_metrics.peer import require_own
from glassloom_metrics.protocol import Connect, decode_request
from glassloom_metrics.publisher import Publisher, read_frame, refusal
from glassloom_metrics.time_limit import time_limit

from glassloom._supervision import OnCrash, start_task
from glassloom.errors import ClusterStartError
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.head.supervised_tasks import SupervisedTasks

_CONNECT_TIMEOUT_S = 10.0
_CONNECT_BYTES = 2**20

Serve = Callable[[Connect, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Called in the event loop; serves a connection that was let in until the other side ends it."""


class Listener:
    """Accepts connections on a UNIX socket.

    Parameters
    ----------
    secret
        What a connection must show.
    publisher
        Serves those that ask for metrics, and refuses those that aren't let in.
    serve_client, serve_worker
        Serve the others.
    on_crash, on_metrics_crash
        Called with an error of our own: of a client's or worker's connection, or of one for metrics.
    """

    def __init__(
        self,
        secret: str,
        publisher: Publisher,
        metrics_writer: MetricsWriter,
        *,
        serve_client: Serve,
        serve_worker: Serve,
        on_crash: OnCrash,
        on_metrics_crash: OnCrash,
    ) -> None:
        self._secret = secret
        self._publisher = publisher
        self._metrics_writer = metrics_writer
        self._serve_as = {"client": serve_client, "worker": serve_worker}
        self._on_metrics_crash = on_metrics_crash
        self._connections = SupervisedTasks(on_crash)
        self._server: asyncio.AbstractServer | None = None

    async def start(self, path: str) -> None:
        """Listen at a path that only this user can reach.

        Raises
        ------
        ClusterStartError
            If there is no room for the socket.
        """
        try:
            self._server = await asyncio.start_unix_server(self._accept, path)
            os.chmod(path, 0o600)
        except OSError as error:
            raise ClusterStartError(f"can't make the cluster's socket {path!r}: {error.strerror or error}") from error

    def close(self) -> None:
        """Accept no more connections; those that there are go on."""
        if self._server is not None:
            self._server.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.start("connection", self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends. After an error of our own it stays open: the head sends the reason on it."""
        try:
            require_own(writer.get_extra_info("socket"))
            async with time_limit(_CONNECT_TIMEOUT_S):
                connect = decode_request(await read_frame(reader, _CONNECT_BYTES))
            if isinstance(connect, Connect):
                await self._admit(connect, reader, writer)
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side is gone, or says nothing; what that means is decided where it is noticed
        except PermissionError as error:
            self._metrics_writer.log("error", f"a connection is refused: {error}")
        except (msgspec.DecodeError, FrameError) as error:
            self._metrics_writer.log("error", f"a connection is closed, because what came on it can't be read: {error}")
        writer.close()

    async def _admit(self, connect: Connect, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connect.role == "metrics" or refusal(connect, self._secret):
            await start_task("metrics", self._publisher.admit(connect, reader, writer), on_crash=self._on_metrics_crash)
        elif connect.role in self._serve_as:
            await self._serve_as[connect.role](connect, reader, writer)
