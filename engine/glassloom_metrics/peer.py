"""Who is at the other end of a UNIX socket: checked at both ends of every connection, before anything is said.

The kernel tells, so it can't be forged. Permissions of directories and sockets keep others out as well; this is for
when they don't, as when a path was taken before.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from dataclasses import dataclass
from typing import Protocol

_CREDENTIALS = struct.Struct("3i")


class _Socket(Protocol):
    """What a `socket.socket` and asyncio's stand-in for one have in common."""

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


@dataclass(frozen=True)
class Peer:
    """A process at the other end: the one that connected or listened, whoever uses the socket now.

    Attributes
    ----------
    pid
        As seen from here; 0 if it is in a container whose processes can't be seen.
    """

    pid: int
    uid: int


def peer_of(connection: _Socket) -> Peer | None:
    """Return who is at the other end; None where the system doesn't tell (other than Linux)."""
    if sys.platform != "linux":
        return None
    pid, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return Peer(pid, uid)


def require_own(connection: _Socket) -> Peer | None:
    """Return who is at the other end.

    Raises
    ------
    PermissionError
        If it is a process of another user.
    """
    peer = peer_of(connection)
    if peer is not None and peer.uid != os.getuid():
        raise PermissionError(f"process {peer.pid} at the other end belongs to user {peer.uid}, not to {os.getuid()}")
    return peer
