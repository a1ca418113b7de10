"""What all messages between the processes of a cluster have in common."""

from __future__ import annotations

import msgspec


class Message(msgspec.Struct, array_like=True, frozen=True):
    """A msgpack array, which begins with the tag of its type."""
