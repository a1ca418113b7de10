"""Watching a cluster from another process: its messages as an async iterator.

async for message in subscribe(find_record("my-cluster")):
    ...
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from glassloom_metrics.errors import CommandRefused, ConnectionRefused, OtherVersion
from glassloom_metrics.framing import frame
from glassloom_metrics.host import is_stopped
from glassloom_metrics.peer import require_own
from glassloom_metrics.protocol import (
    NOW,
    PROTOCOL_VERSION,
    Command,
    Connect,
    Hello,
    Message,
    Outcome,
    Position,
    Refused,
    decode_known,
    encode,
)
from glassloom_metrics.publisher import read_frame
from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.time_limit import time_limit

COMMAND_TIMEOUT_S = 10.0
"""How long a cluster may take to take a command."""
_REQUEST = 1

_VERSION_OF_CLUSTER = re.compile(r"speaks version \d+ of the protocol, this cluster (\d+)")
"""How a cluster of version 1 refuses callers of other versions: only in words."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def _connected(
    record: ClusterRecord, connect: Connect
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_unix_connection(record.socket)
    try:
        require_own(writer.get_extra_info("socket"))  # before it is told the secret
        writer.write(frame(encode(connect)))
        yield reader, writer
    finally:
        writer.close()


def _check_hello(payload: bytes, record: ClusterRecord) -> Hello:
    """Return the first message of a cluster; raises `ConnectionRefused` if we can't go on after it."""
    try:
        message = decode_known(payload)
    except msgspec.DecodeError as error:
        raise ConnectionRefused(f"cluster {record.name!r} sent a first message that cannot be read: {error}") from error
    if isinstance(message, Hello):
        return message
    if isinstance(message, Refused):
        in_words = _VERSION_OF_CLUSTER.search(message.reason)
        version = message.version or (int(in_words[1]) if in_words else 0)
        if version:
            raise OtherVersion(record.name, version, PROTOCOL_VERSION, message.engine)
        raise ConnectionRefused(f"cluster {record.name!r} refused the connection: {message.reason}")
    raise ConnectionRefused(f"cluster {record.name!r} sent {message!r} where it should say hello")


async def subscribe_frames(
    record: ClusterRecord, topics: Sequence[str] | None = None, *, since: int = 0, log_id: str = ""
) -> AsyncGenerator[bytes]:
    """Yield the payloads of the cluster's frames: the backlog, then the stream, `Position`s in between. Ends when the cluster ends.

    Parameters
    ----------
    topics, since, log_id
        As `protocol.Connect`.

    Raises
    ------
    ConnectionRefused
        If the cluster does not let us in; `OtherVersion` if that is because of the protocol's version.
    OSError
        If it cannot be reached (`ConnectionError`, `FileNotFoundError`: it has just ended).
    """
    chosen = None if topics is None else list(topics)
    connect = Connect("metrics", record.secret, topics=chosen, since=since, log_id=log_id)
    async with _connected(record, connect) as (reader, _):
        try:
            first = await read_frame(reader)
            _check_hello(first, record)
            yield first
            while True:
                yield await read_frame(reader)
        except (asyncio.IncompleteReadError, ConnectionResetError):
            return


async def subscribe(
    record: ClusterRecord,
    topics: Sequence[str] | None = None,
    *,
    since: int = 0,
    log_id: str = "",
    heard: Callable[[], None] | None = None,
    told_time: Callable[[float], None] | None = None,
) -> AsyncIterator[Message]:
    """Yield the cluster's messages; like `subscribe_frames`, decoded, without the `Position`s.

    A message of a type that this version doesn't know is left out. One that can't be read is logged and left out.

    Parameters
    ----------
    topics
        Message types to get, such as ``["samples", "progress"]``; None for all. `Hello` always comes first.
    since, log_id
        Number of the frame to begin with, 0 for everything since the cluster's start, `protocol.NOW` for a snapshot and what
        happens from now on; and the log that it is a number in.
    heard
        Called with each sign of life: at least once in `protocol.HEARTBEAT_S` while the head answers.
    told_time
        Called with what the cluster's clock shows, as often. It may be off this process's: it follows no steps of the
        system's clock, and stands still while the machine sleeps.
    """
    async for payload in subscribe_frames(record, topics, since=since, log_id=log_id):
        if heard is not None:
            heard()
        try:
            message = decode_known(payload)
        except msgspec.DecodeError as error:
            log.warning("a message of cluster %r is left out, for it cannot be read: %s", record.name, error)
            continue
        if isinstance(message, Position):
            if told_time is not None:
                told_time(message.at_s)
        elif message is not None:
            yield message


@asynccontextmanager
async def _in_time(record: ClusterRecord, timeout_s: float) -> AsyncIterator[None]:
    try:
        async with time_limit(timeout_s):
            yield
    except TimeoutError:
        stopped = "; its process is stopped by a signal" if is_stopped(record.pid) else ""
        raise TimeoutError(
            f"the head of cluster {record.name!r} (process {record.pid}) didn't answer within {timeout_s:g} s{stopped}"
        ) from None


async def send_command(
    record: ClusterRecord,
    name: str,
    arguments: Mapping[str, int | float | str | None] | None = None,
    *,
    timeout_s: float = COMMAND_TIMEOUT_S,
) -> str:
    """Ask the cluster for something; return what it has done, as a sentence.

    Parameters
    ----------
    name, arguments
        As `protocol.Command`; ``"ping"`` asks for an answer only.

    Raises
    ------
    TimeoutError
        If it doesn't answer in time: its head is stopped, or busy.
    CommandRefused
        If it doesn't do that, and why; a process's pool of threads takes no commands.
    ConnectionRefused, OSError
        As `subscribe_frames`.
    """
    connect = Connect("metrics", record.secret, topics=[], since=NOW)
    async with _in_time(record, timeout_s), _connected(record, connect) as (reader, writer):
        try:
            message = _check_hello(await read_frame(reader), record)
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError(f"cluster {record.name!r} closed the connection") from error
        if message.kind == "threads" and name != "ping":
            raise CommandRefused(
                f"{record.name!r} is the pool of threads of process {record.pid}: it ends with that process, and can't be "
                f"asked for {name!r}"
            )
        writer.write(frame(encode(Command(name, dict(arguments or {}), _REQUEST))))
        writer.write_eof()
        outcome = await _outcome(reader)
    if outcome is None and name != "shutdown":
        raise CommandRefused(f"cluster {record.name!r} doesn't know {name!r}: its Glassloom is older than this one")
    if outcome is not None and outcome.refused:
        raise CommandRefused(outcome.text)
    return outcome.text if outcome is not None else ""


async def _outcome(reader: asyncio.StreamReader) -> Outcome | None:
    """Return the cluster's answer; None if it closes the connection without one, as older clusters do when they have read all."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionResetError):
        while True:
            message = decode_known(await read_frame(reader))
            if isinstance(message, Outcome) and message.request == _REQUEST:
                return message
    return None
