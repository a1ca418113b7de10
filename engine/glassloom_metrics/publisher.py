"""Serves a recorder's log to subscribers over asyncio streams.

Each subscriber has a place of its own in the log and is sent what comes after it as fast as it reads: a slow one lags
behind, and never costs the cluster memory or time. Lives in one event loop; not thread-safe.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
from collections.abc import Awaitable, Callable

import msgspec

from glassloom_metrics.framing import HEADER_BYTES, MAX_FRAME_BYTES, frame
from glassloom_metrics.peer import require_own
from glassloom_metrics.protocol import PROTOCOL_VERSION, Command, Connect, Refused, Request, decode_request, encode
from glassloom_metrics.recorder import Recorder

_READ_FRAMES = 64
_REQUEST_BYTES = 2**20
_CONNECT_TIMEOUT_S = 10.0

CommandHandler = Callable[[str], Awaitable[None]]


async def read_frame(reader: asyncio.StreamReader, max_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """Return the payload of the next frame; raises `asyncio.IncompleteReadError` at the end of the stream."""
    length = int.from_bytes(await reader.readexactly(HEADER_BYTES), "little")
    if length > max_bytes:
        raise asyncio.IncompleteReadError(b"", length)
    return await reader.readexactly(length)


def refusal(connect: Connect, secret: str) -> str | None:
    """Return why a connection is not let in, or None if it is."""
    if not hmac.compare_digest(connect.secret.encode(), secret.encode()):
        return "the secret is wrong: the caller is not of this user, or the registry record is of another cluster"
    if connect.version != PROTOCOL_VERSION:
        return f"the caller speaks version {connect.version} of the protocol, this cluster {PROTOCOL_VERSION}"
    return None


class Publisher:
    """Lets subscribers in and sends them the log of `recorder`.

    Parameters
    ----------
    recorder
        The log; call `notify` after it has grown.
    secret
        What a connection must show.
    on_command
        Called with the name of each command that a subscriber sends.
    """

    def __init__(self, recorder: Recorder, secret: str, on_command: CommandHandler) -> None:
        self._recorder = recorder
        self._secret = secret
        self._on_command = on_command
        self._grown = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.AbstractServer | None = None
        self._closing = False

    async def serve(self, path: str) -> None:
        """Listen on the UNIX socket `path` (mode 0600). For clusters whose head has no listener of its own."""
        self._server = await asyncio.start_unix_server(self._accept, path)
        os.chmod(path, 0o600)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            require_own(writer.get_extra_info("socket"))
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                request = decode_request(await read_frame(reader, _REQUEST_BYTES))
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError, PermissionError, msgspec.DecodeError):
            writer.close()
            return
        await self.admit(request, reader, writer)

    async def admit(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Check a connection's first frame; serve it until either side ends it, or refuse it and say why."""
        if not isinstance(request, Connect) or request.role != "metrics":
            await _refuse(writer, "a metrics connection begins with a `connect` frame of role 'metrics'")
        elif reason := refusal(request, self._secret):
            await _refuse(writer, reason)
        else:
            await self._serve_subscriber(request, reader, writer)

    async def _serve_subscriber(
        self, connect: Connect, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None, "runs inside a task"
        self._tasks.add(task)
        sending = asyncio.ensure_future(self._send(connect, writer))
        try:
            await self._read_commands(reader)
            if self._closing:
                with contextlib.suppress(ConnectionError):
                    await sending
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await sending
            writer.transport.abort() if task.cancelling() else writer.close()
            self._tasks.discard(task)

    def notify(self) -> None:
        """Tell the subscribers that the log has grown."""
        self._grown.set()
        self._grown = asyncio.Event()

    async def close(self, timeout_s: float = 2.0) -> None:
        """Send what is left of the log, then end every connection."""
        self._closing = True
        self.notify()
        if self._server is not None:
            self._server.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _send(self, connect: Connect, writer: asyncio.StreamWriter) -> None:
        topics = None if connect.topics is None else {"hello", *connect.topics}
        recorder = self._recorder
        hello = recorder.read(0, limit=1)
        position = 1 if connect.backlog else len(recorder)
        writer.writelines(frame(payload) for _, payload in hello)
        while True:
            grown = self._grown
            while position < len(recorder):
                frames = recorder.read(position, limit=_READ_FRAMES)
                position += len(frames)
                chosen = (payload for topic, payload in frames if topics is None or topic in topics)
                writer.writelines(frame(payload) for payload in chosen if payload)
                await writer.drain()
            if self._closing:
                writer.close()
                return
            await grown.wait()

    async def _read_commands(self, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                request = decode_request(await read_frame(reader, _REQUEST_BYTES))
            except (asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError):
                return
            if isinstance(request, Command):
                await self._on_command(request.name)


async def _refuse(writer: asyncio.StreamWriter, reason: str) -> None:
    writer.write(frame(encode(Refused(reason))))
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()
