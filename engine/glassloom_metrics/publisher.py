"""Serves a recorder's log to subscribers over asyncio streams.

Each subscriber has a place of its own in the log and is sent what comes after it as fast as it reads: a slow one lags
behind, and never costs the cluster memory or time. Lives in one event loop; not thread-safe.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import time
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.framing import HEADER_BYTES, MAX_FRAME_BYTES, frame
from glassloom_metrics.peer import require_own
from glassloom_metrics.protocol import (
    HEARTBEAT_S,
    MIN_VERSION,
    NOW,
    PROTOCOL_VERSION,
    Command,
    Connect,
    Message,
    Outcome,
    Position,
    Refused,
    Request,
    agreed_version,
    decode_request,
    encode,
    topic_of,
)
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.time_limit import time_limit

_READ_FRAMES, _READ_BYTES = 64, 2**18
"""So much is sent at a time: it takes well below a millisecond, between which the head does other work."""
_REQUEST_BYTES = 2**20
_CONNECT_TIMEOUT_S = 10.0
TOLD_APART_S = 0.15
"""Clusters, which flush their logs each 0.1 s, tell their subscribers each second time, but at once of what comes after a pause."""

CommandHandler = Callable[[Command], Awaitable[str]]
"""Carries a command out; returns what it has done as a sentence, or raises `CommandRefused`."""


async def read_frame(reader: asyncio.StreamReader, max_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """Return the payload of the next frame; raises `asyncio.IncompleteReadError` at the end of the stream."""
    length = int.from_bytes(await reader.readexactly(HEADER_BYTES), "little")
    if length > max_bytes:
        raise asyncio.IncompleteReadError(b"", length)
    return await reader.readexactly(length)


def refusal(connect: Connect, secret: str, engine: str = "") -> Refused | None:
    """Return what to answer a connection that is not let in, or None if it is. `engine` is the cluster's Glassloom."""
    if not hmac.compare_digest(connect.secret.encode(), secret.encode()):
        return Refused(
            "the secret is wrong: the caller is not of this user, or the registry record is of another cluster"
        )
    if agreed_version(connect.version, connect.min_version) is None:
        versions = (
            f"versions {MIN_VERSION} to {PROTOCOL_VERSION}" if MIN_VERSION < PROTOCOL_VERSION else PROTOCOL_VERSION
        )
        older = "the caller's" if connect.version < PROTOCOL_VERSION else "the cluster's"
        reason = (
            f"the caller speaks version {connect.version} of the metrics protocol, this cluster {versions}: upgrade "
            f"Glassloom in {older} environment"
        )
        return Refused(reason, PROTOCOL_VERSION, MIN_VERSION, engine)
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
        Called with each command that a subscriber sends, but ``"ping"``.
    now_s
        The cluster's clock, for heartbeats.
    """

    def __init__(
        self, recorder: Recorder, secret: str, on_command: CommandHandler, now_s: Callable[[], float] = time.time
    ) -> None:
        self._recorder = recorder
        self._secret = secret
        self._on_command = on_command
        self._now_s = now_s
        self._notified = len(recorder)
        self._notified_at_s = float("-inf")
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
            async with time_limit(_CONNECT_TIMEOUT_S):
                request = decode_request(await read_frame(reader, _REQUEST_BYTES))
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError, PermissionError, msgspec.DecodeError):
            writer.close()
            return
        await self.admit(request, reader, writer)

    async def admit(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Check a connection's first frame; serve it until either side ends it, or refuse it and say why."""
        if isinstance(request, Connect) and (refused := refusal(request, self._secret, self._recorder.hello.engine)):
            await _refuse(writer, refused)
        elif not isinstance(request, Connect) or request.role != "metrics":
            await _refuse(writer, Refused("a metrics connection begins with a `connect` frame of role 'metrics'"))
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
            await self._read_commands(reader, writer)
            if self._closing:
                with contextlib.suppress(ConnectionError):
                    await sending
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await sending
            writer.transport.abort() if task.cancelling() else writer.close()
            self._tasks.discard(task)

    @property
    def n_subscribers(self) -> int:
        """How many are being served."""
        return len(self._tasks)

    def notify(self, apart_s: float = 0.0) -> None:
        """Let the subscribers know if the log has grown since they were told last.

        Parameters
        ----------
        apart_s
            Do nothing so soon after the last time; who calls again lets them know then. Each time costs the head about 0.13 ms for
            each subscriber, however little there is to send.
        """
        now_s = time.monotonic()
        if self._notified < len(self._recorder) and now_s - self._notified_at_s >= apart_s:
            self._notified, self._notified_at_s = len(self._recorder), now_s
            self._wake()

    def _wake(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()

    async def close(self, timeout_s: float = 2.0) -> None:
        """Send what is left of the log, then end every connection."""
        self._closing = True
        self._wake()
        if self._server is not None:
            self._server.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _send(self, connect: Connect, writer: asyncio.StreamWriter) -> None:
        """Send what a subscriber wants; wait for it where it reads slowly, and for the head's other work at every turn."""
        topics = None if connect.topics is None else frozenset(connect.topics)
        recorder = self._recorder
        position = self._begin(connect, topics, writer)
        while True:
            grown, payloads = self._grown, list[bytes]()
            while position < len(recorder):
                dropped = recorder.dropped(position)
                if dropped is not None:
                    _write(writer, [dropped, *_chosen(recorder.snapshot(), topics)])
                    position = dropped.last + 1
                payloads, position = recorder.read(
                    position, limit=_READ_FRAMES, topics=topics, enough_bytes=_READ_BYTES
                )
                if position < len(recorder):
                    writer.writelines(map(frame, payloads))
                    await writer.drain()
                    await asyncio.sleep(0)  # `drain` returns at once where there is room
            # In one piece: of a viewer at a few thousand tasks a second each call of the system counts.
            writer.writelines(map(frame, [*payloads, encode(Position(self._now_s(), position))]))
            await writer.drain()
            if self._closing:
                writer.close()
                return
            with contextlib.suppress(TimeoutError):
                async with time_limit(HEARTBEAT_S):
                    await grown.wait()

    def _begin(self, connect: Connect, topics: frozenset[str] | None, writer: asyncio.StreamWriter) -> int:
        """Send what comes before the log; return the number of the frame to begin with."""
        recorder = self._recorder
        _write(writer, [recorder.hello])
        if connect.since == NOW:
            position = len(recorder)
            _write(writer, _chosen(recorder.snapshot(), topics))
            if topics is not None:  # who names `log` attributes lines to tasks; others want what happens from now on
                _write(writer, _chosen(recorder.newest_lines(), topics))
            return position
        is_of_this_log = connect.log_id in ("", recorder.hello.log_id) and 0 < connect.since <= len(recorder)
        return connect.since if is_of_this_log else 1

    async def _read_commands(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                request = decode_request(await read_frame(reader, _REQUEST_BYTES))
            except (asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError):
                return
            if isinstance(request, Command):
                outcome = await self._obey(request)
                if request.request and not writer.is_closing():
                    _write(writer, [outcome])

    async def _obey(self, command: Command) -> Outcome:
        if command.name == "ping":
            return Outcome(command.request, "The cluster answers.")
        try:
            return Outcome(command.request, await self._on_command(command))
        except CommandRefused as error:
            return Outcome(command.request, str(error), refused=True)


async def _refuse(writer: asyncio.StreamWriter, refused: Refused) -> None:
    _write(writer, [refused])
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()


def _chosen(messages: Iterable[Message], topics: frozenset[str] | None) -> list[Message]:
    return [message for message in messages if topics is None or topic_of(message) in topics]


def _write(writer: asyncio.StreamWriter, messages: Iterable[Message]) -> None:
    writer.writelines(frame(encode(message)) for message in messages)
