"""The cluster's log on disk: where the output of its processes goes. Writing to it never raises, whatever the disk does."""

from __future__ import annotations

import contextlib
import os

_STDERR = 2


def write_log(text: str) -> None:
    """Append a line to the log, which is this process's standard error. It is lost if the disk is full.

    It goes past Python's buffers: what they can't write they keep, and raise for it again with every later line.
    """
    with contextlib.suppress(OSError):
        os.write(_STDERR, f"{text}\n".encode(errors="backslashreplace"))
