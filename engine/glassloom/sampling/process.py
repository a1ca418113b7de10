"""CPU and memory of a process: this one's, or a worker's as the head sees it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import psutil
from glassloom_metrics.protocol import WorkerSamples
from glassloom_metrics.registry import process_started_s

_PROGRAM_BYTES = 64 * 2**20
"""Up to this much of mapped files is taken to be programs and libraries; more is results that were mapped from disk."""
_STATUS = {
    b"T": psutil.STATUS_STOPPED,
    b"t": psutil.STATUS_STOPPED,
    b"Z": psutil.STATUS_ZOMBIE,
    b"X": psutil.STATUS_DEAD,
    b"": psutil.STATUS_DEAD,
}
"""What the letters in ``/proc/PID/stat`` mean, where that matters here."""
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

    def memory(self) -> Memory:
        """Return what the process has in memory, of one moment: of two, it might have more to itself than is resident."""
        return memory_of(self._process.pid)

    def sample(self, worker: int, at_s: float) -> WorkerSamples:
        """Return CPU and memory as a message; what the store holds is not known here and counts as unmanaged."""
        memory = self.memory()
        zero = [0]
        return WorkerSamples(
            at_s,
            [worker],
            [self.cpu_percent()],
            [memory.resident_bytes],
            managed_bytes=zero,
            shared_bytes=zero,
            spilled_bytes=zero,
            executing=zero,
            queued=zero,
            own_bytes=[memory.own_bytes],
            unmanaged_bytes=[memory.own_bytes],
            pressure=zero,
        )


@dataclass(frozen=True)
class Memory:
    """What a process has in memory to itself, and what it maps of that which others may have mapped too.

    Shared memory and mapped files belong to all who map them, and are the kernel's to take back. Where the system doesn't
    tell them apart (other than Linux), all counts as the process's own.
    """

    own_bytes: int
    mapped_bytes: int

    @property
    def resident_bytes(self) -> int:
        """The resident set size."""
        return self.own_bytes + self.mapped_bytes


def memory_of(pid: int) -> Memory:
    """Return what a process has in memory; nothing if there is no such process. Takes some 30 us on Linux."""
    if sys.platform != "linux":
        return Memory(_resident_bytes(pid), 0)
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            status = file.read()
    except OSError:
        return Memory(0, 0)
    files = _kib(status, b"RssFile:")
    programs = min(files, _PROGRAM_BYTES)
    return Memory(_kib(status, b"RssAnon:") + programs, _kib(status, b"RssShmem:") + files - programs)


def own_memory_bytes(pid: int, unless_below: int) -> int:
    """Return what a process has in memory to itself; 0 without a closer look if all that it has is less than a bound."""
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
            if int(file.read().split()[1]) * _PAGE_BYTES < unless_below:
                return 0
    except (OSError, IndexError):
        pass  # not Linux, or it has just ended
    return memory_of(pid).own_bytes


def is_stopped(pid: int) -> bool:
    """Tell whether a process is stopped, by a signal or a debugger."""
    return _status(pid) == psutil.STATUS_STOPPED


def has_ended(pid: int, started_s: float | None = None) -> bool:
    """Tell whether a process is surely gone, or only waits for its parent to hear of its end.

    Parameters
    ----------
    started_s
        When it began, if that is known: another process may have its pid by now.
    """
    if _status(pid) in ("", psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
        return True
    try:
        return started_s is not None and process_started_s(pid) != started_s
    except psutil.NoSuchProcess:
        return True
    except (OSError, psutil.Error):
        return False  # it can't be told, such as for lack of descriptors


def started_s_or_none(pid: int) -> float | None:
    """Return when a process began (see `registry.process_started_s`), or None if there is none, or it can't be told."""
    try:
        return process_started_s(pid)
    except (OSError, psutil.Error):
        return None


def _status(pid: int) -> str:
    """Return one of psutil's words for what a process does; empty if there is surely none."""
    if sys.platform == "linux":
        try:
            with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
                letter = file.read().rpartition(b") ")[2][:1]
        except (FileNotFoundError, ProcessLookupError):
            return ""
        except OSError:
            return psutil.STATUS_RUNNING  # it can't be told, such as for lack of descriptors
        return _STATUS.get(letter, psutil.STATUS_RUNNING)
    try:
        return str(psutil.Process(pid).status())
    except psutil.NoSuchProcess:
        return ""
    except (OSError, psutil.Error):
        return str(psutil.STATUS_RUNNING)


def _kib(status: bytes, name: bytes) -> int:
    """Return a field of ``/proc/PID/status`` in bytes; 0 if it isn't there, as for a process that has just ended."""
    start = status.find(name)
    return 0 if start < 0 else int(status[start + len(name) :].split(maxsplit=1)[0]) * 1024


def _resident_bytes(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
