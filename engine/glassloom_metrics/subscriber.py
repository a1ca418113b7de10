"""Watching a cluster from another process: its messages as an async iterator.

async for message in subscribe(find_record("my-cluster")):
    ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from glassloom_metrics.errors import CommandRefused, ConnectionRefused
from glassloom_metrics.framing import frame
from glassloom_metrics.peer import require_own
from glassloom_metrics.protocol import NOW, Command, Connect, Hello, Message, Position, Refused, decode, encode
from glassloom_metrics.publisher import read_frame
from glassloom_metrics.registry import ClusterRecord


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


async def subscribe_frames(
    record: ClusterRecord, topics: Sequence[str] | None = None, *, since: int = 0, log_id: str = ""
) -> AsyncIterator[bytes]:
    """Yield the payloads of the cluster's frames: the backlog, then the stream, `Position`s in between. Ends when the cluster ends.

    Parameters
    ----------
    topics, since, log_id
        As `protocol.Connect`.

    Raises
    ------
    ConnectionRefused
        If the cluster does not let us in.
    OSError
        If it cannot be reached (`ConnectionError`, `FileNotFoundError`: it has just ended).
    """
    chosen = None if topics is None else list(topics)
    connect = Connect("metrics", record.secret, topics=chosen, since=since, log_id=log_id)
    async with _connected(record, connect) as (reader, _):
        try:
            first = await read_frame(reader)
            message = decode(first)
            if isinstance(message, Refused):
                raise ConnectionRefused(f"cluster {record.name!r} refused the connection: {message.reason}")
            yield first
            while True:
                yield await read_frame(reader)
        except (asyncio.IncompleteReadError, ConnectionResetError):
            return


async def subscribe(
    record: ClusterRecord, topics: Sequence[str] | None = None, *, since: int = 0, log_id: str = ""
) -> AsyncIterator[Message]:
    """Yield the cluster's messages; like `subscribe_frames`, decoded, without the `Position`s.

    Parameters
    ----------
    topics
        Message types to get, such as ``["samples", "progress"]``; None for all. `Hello` always comes first.
    since, log_id
        Number of the frame to begin with, 0 for everything since the cluster's start, `protocol.NOW` for a snapshot and what
        happens from now on; and the log that it is a number in.
    """
    async for payload in subscribe_frames(record, topics, since=since, log_id=log_id):
        message = decode(payload)
        if not isinstance(message, Position):
            yield message


async def send_command(record: ClusterRecord, name: str) -> None:
    """Ask the cluster for something (``"shutdown"``); returns once it has answered the connection and got the command.

    Raises
    ------
    CommandRefused
        If the cluster is a process's pool of threads, which ends with that process.
    ConnectionRefused, OSError
        As `subscribe_frames`.
    """
    connect = Connect("metrics", record.secret, topics=[], since=NOW)
    async with _connected(record, connect) as (reader, writer):
        try:
            message = decode(await read_frame(reader))
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError(f"cluster {record.name!r} closed the connection") from error
        if not isinstance(message, Hello):
            reason = message.reason if isinstance(message, Refused) else f"it sent {message!r}"
            raise ConnectionRefused(f"cluster {record.name!r} refused the connection: {reason}")
        if message.kind == "threads":
            raise CommandRefused(
                f"{record.name!r} is the pool of threads of process {record.pid}: it ends with that process, and can't be "
                f"asked for {name!r}"
            )
        writer.write(frame(encode(Command(name))))
        await writer.drain()
