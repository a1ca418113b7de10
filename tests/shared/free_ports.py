"""Ports on which nothing listens."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_RANGE = range(12_000, 32_000)
"""Below the ports that Linux gives to who asks for any, and to each connection: none of those takes it before the test does, or while
the server that had it is started again."""


def free_port() -> int:
    """Return the number of a port of this machine that was free a moment ago."""
    for port in random.SystemRandom().sample(_RANGE, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("of a hundred ports none is free")
