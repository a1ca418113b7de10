"""The base of the messages of the metrics protocol, which are in `protocol.py` and the modules that it imports."""

from __future__ import annotations

import msgspec


class MessageBase(msgspec.Struct, frozen=True, tag_field="type"):
    """A message: one msgpack map whose field ``type`` names it."""
