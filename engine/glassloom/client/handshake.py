"""What a client and a head say to each other first, on a new connection."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from glassloom_metrics.framing import frame
from glassloom_metrics.protocol import Connect, Refused, decode, encode

from glassloom.errors import ClusterClosed
from glassloom.protocol import messages


def first_frame(secret: str, topics: Sequence[str]) -> bytes:
    """Return the frame with which a client asks to be let in."""
    return frame(encode(Connect("client", secret, topics=list(topics))))


def read_welcome(payload: bytes) -> messages.Welcome:
    """Return the head's answer.

    Raises
    ------
    ClusterClosed
        If it doesn't let the client in.
    """
    try:
        message = messages.from_head_decoder.decode(payload)
    except msgspec.ValidationError:
        refused = decode(payload)
        reason = refused.reason if isinstance(refused, Refused) else f"it answered {refused!r}"
        raise ClusterClosed(f"the cluster doesn't let this client in: {reason}") from None
    if not isinstance(message, messages.Welcome):
        raise ClusterClosed(f"the cluster answered {type(message).__name__} instead of a welcome")
    return message
