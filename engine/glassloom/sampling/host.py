"""CPU, memory, disks and network of the machine that a cluster runs on."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from glassloom_metrics.protocol import NOT_SUPPORTED, HostSamples, Reading

_Counts = tuple[int, int]


class HostSampler:
    """Measures this machine. Rates are since the last sample, "not supported" in the first.

    Parameters
    ----------
    shared_memory
        Where results are shared: the file system there is measured. None: they aren't.
    """

    def __init__(self, shared_memory: Path | None = None) -> None:
        self._shared_memory = shared_memory
        self._host = socket.gethostname()
        self._last_s = 0.0
        self._last: dict[str, _Counts] = {}
        self._has_begun = False

    def sample(self, at_s: float) -> HostSamples | None:
        """Return what the machine does; None if that can't be told, such as for lack of descriptors. Never raises."""
        try:
            return self._measure(at_s)
        except (OSError, RuntimeError, ValueError):  # psutil raises the last two where the system's files are unusual
            return None

    def _measure(self, at_s: float) -> HostSamples:
        if not self._has_begun:
            psutil.cpu_percent()  # the first call only sets the mark
            self._has_begun = True
        memory = psutil.virtual_memory()
        interval_s, self._last_s = at_s - self._last_s, at_s
        read, written = self._rates("disk", interval_s, lambda: psutil.disk_io_counters(), "read_bytes", "write_bytes")
        sent, received = self._rates("net", interval_s, lambda: psutil.net_io_counters(), "bytes_sent", "bytes_recv")
        shared_used, shared_total = _file_system_bytes(self._shared_memory)
        return HostSamples(
            at_s,
            self._host,
            psutil.cpu_count() or 1,
            psutil.cpu_percent(),
            memory.total - memory.available,
            memory.total,
            _swap_used_bytes(),
            read,
            written,
            sent,
            received,
            shared_used,
            shared_total,
        )

    def _rates(self, kind: str, interval_s: float, count: Callable[[], Any], *names: str) -> tuple[Reading, Reading]:
        """Return two counts' growth per second."""
        try:
            counts = count()
        except (OSError, RuntimeError):  # some containers have no such files
            counts = None
        if counts is None:
            return NOT_SUPPORTED, NOT_SUPPORTED
        now = (getattr(counts, names[0]), getattr(counts, names[1]))
        last = self._last.get(kind)
        self._last[kind] = now
        if last is None or interval_s <= 0:
            return NOT_SUPPORTED, NOT_SUPPORTED
        return max(0.0, (now[0] - last[0]) / interval_s), max(0.0, (now[1] - last[1]) / interval_s)


def _swap_used_bytes() -> int:
    try:
        return int(psutil.swap_memory().used)
    except (OSError, RuntimeError):
        return 0


def _file_system_bytes(path: Path | None) -> tuple[Reading, Reading]:
    """Return what is used of a file system, and its size."""
    if path is None:
        return NOT_SUPPORTED, NOT_SUPPORTED
    try:
        status = os.statvfs(path)
    except OSError:
        return NOT_SUPPORTED, NOT_SUPPORTED
    total = status.f_blocks * status.f_frsize
    return total - status.f_bavail * status.f_frsize, total
