"""What ``ps`` and ``top`` call a process of ours. On Linux only, and as far as the system lets us; it never raises.

``ps`` shows the memory that held the command line when the process began. The kernel shows it up to the first zero byte
if its last byte isn't zero any more, which is how ``setproctitle`` of C programs works.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

_PR_SET_NAME = 15
_ARG_START = 45
"""Place of the command line's address among the fields of ``/proc/self/stat`` that follow the command's name."""


def set_process_title(title: str, short: str) -> None:
    """Name this process.

    Parameters
    ----------
    title
        What ``ps`` shows, such as ``"glassloom worker local-7-0"``.
    short
        What ``top`` shows; at most 15 bytes of it.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        ctypes.CDLL(None).prctl(_PR_SET_NAME, short.encode()[:15], 0, 0, 0)
        _overwrite_command_line(title.replace("\0", "").encode(errors="backslashreplace"))


def _overwrite_command_line(title: bytes) -> None:
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b") ")[2].split()
    start, stop = int(fields[_ARG_START]), int(fields[_ARG_START + 1])
    size = stop - start
    if start and size > len(title) + 1:
        ctypes.memmove(start, title + b"\0" * (size - len(title) - 1) + b".", size)
