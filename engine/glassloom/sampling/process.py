"""CPU and memory of a process: this one's, or a worker's as the head sees it."""

from __future__ import annotations

import os
import sys

import psutil
from glassloom_metrics.protocol import WorkerSamples

_PROGRAM_BYTES = 64 * 2**20
"""Up to this much of mapped files is taken to be programs and libraries; more is results that were mapped from disk."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessSampler:
    """Measures the process in which it was made."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._process.cpu_percent()  # the first call only sets the mark

    def cpu_percent(self) -> float:
        """Return CPU use since the last call; 100 is one core busy."""
        return float(self._process.cpu_percent())

    def rss_bytes(self) -> int:
        """Return the resident set size."""
        return int(self._process.memory_info().rss)

    def sample(self, worker: int, at_s: float) -> WorkerSamples:
        """Return CPU and memory as a message; what the store holds is not known here and counts as unmanaged."""
        return WorkerSamples(at_s, [worker], [self.cpu_percent()], [self.rss_bytes()], [0], [0], [0], [0], [0])


def own_memory_bytes(pid: int, unless_below: int = 0) -> int:
    """Return how much memory a process has to itself: its resident set without results that it only maps.

    Shared memory and files that it maps belong to all who map them, and mapped files are the kernel's to take back.
    Where the system doesn't tell them apart (other than Linux), all of the resident set counts. 0: there is no such
    process.

    Parameters
    ----------
    unless_below
        Don't look closer, and return 0, if the whole resident set is smaller than this: that costs a twentieth.
    """
    if sys.platform != "linux":
        return _resident_bytes(pid)
    try:
        if unless_below:
            with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
                if int(file.read().split()[1]) * _PAGE_BYTES < unless_below:
                    return 0
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            status = file.read()
    except (OSError, IndexError):
        return 0
    return _kib(status, b"RssAnon:") + min(_kib(status, b"RssFile:"), _PROGRAM_BYTES)


def _kib(status: bytes, name: bytes) -> int:
    """Return a field of ``/proc/PID/status`` in bytes; 0 if it isn't there, as for a process that has just ended."""
    start = status.find(name)
    return 0 if start < 0 else int(status[start + len(name) :].split(maxsplit=1)[0]) * 1024


def _resident_bytes(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
