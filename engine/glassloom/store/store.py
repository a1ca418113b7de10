"""A worker's own results: in memory up to a limit, the least recently used ones on disk. Thread-safe.

Files are written and read without the lock: a worker's other threads go on meanwhile. A result that was read back keeps
its file, so that it costs nothing to let go of it once more.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glassloom_metrics.protocol import Action

from glassloom.errors import DataLost, SerialisationError
from glassloom.store.spill_file import read_spill, write_spill

MIN_SPILL_BYTES = 64 * 1024
RETRY_FULL_DISK_S = 5.0
"""How long results stay in memory after the disk was found full, before it is tried again."""

SpillEvent = Callable[[Action, int, float, float, int], None]
"""Called with what was done, the result's number, start and stop (monotonic seconds), and its size."""

_ABSENT = object()


@dataclass(slots=True, eq=False)
class _Entry:
    """A result: its value in memory, a copy of it on disk, or both."""

    value: Any
    nbytes: int
    path: str = ""
    may_spill: bool = True
    is_spilling: bool = False
    being_read: threading.Event | None = None


class Store:
    """Results by number.

    Parameters
    ----------
    target_bytes
        How much memory results may take before the least recently used ones go to disk; None: any amount.
    directory
        Where spilled results go; it must exist.
    on_spill
        Told of every write and read.
    on_full_disk
        Told why a result could not be written, once each time that the disk becomes full.
    codec
        How spilled results are compressed: ``"lz4"``, ``"zstd"`` or not at all.
    """

    def __init__(
        self,
        target_bytes: int | None,
        directory: str,
        on_spill: SpillEvent,
        on_full_disk: Callable[[OSError], None] = lambda error: None,
        codec: str | None = None,
    ) -> None:
        self.target_bytes = target_bytes
        self._directory = directory
        self._on_spill = on_spill
        self._on_full_disk = on_full_disk
        self._codec = codec
        self._entries: dict[int, _Entry] = {}
        self._recent: OrderedDict[int, _Entry] = OrderedDict()
        """What may be spilled, least recently used first."""
        self._leaving_bytes = 0
        self._retry_at_s = 0.0
        self._told_of_full_disk = False
        self._file_numbers = itertools.count()
        self._lock = threading.Lock()
        self.managed_bytes = 0
        self.spilled_bytes = 0
        self.freed_bytes = 0
        """How much memory results have given back since the beginning."""

    def __contains__(self, number: int) -> bool:
        return number in self._entries

    @property
    def spillable_bytes(self) -> int:
        """How much memory spilling could give back now."""
        with self._lock:
            return 0 if self._disk_is_full() else sum(entry.nbytes for entry in self._recent.values())

    def put(self, number: int, value: Any, nbytes: int) -> None:
        """Keep a result; others may be spilled for it."""
        with self._lock:
            self._forget(number)
            self._entries[number] = entry = _Entry(value, nbytes, may_spill=nbytes >= MIN_SPILL_BYTES)
            self._keep_in_memory(number, entry)
        self._stay_within_target(number)

    def replace(self, number: int, value: Any) -> None:
        """The result lies in shared memory now: keep `value`, a view of it, which takes no memory of our own."""
        with self._lock:
            if number in self._entries:
                self._forget(number)
                self._entries[number] = _Entry(value, 0, may_spill=False)

    def get(self, number: int) -> Any:
        """Return a result, read back from disk if it was spilled.

        Raises
        ------
        KeyError
            If it isn't here.
        DataLost
            If it was on disk, and its file is gone or damaged. It isn't here any more then.
        """
        while True:
            with self._lock:
                entry = self._entries[number]
                if entry.value is not _ABSENT:
                    if entry.may_spill:
                        self._recent.move_to_end(number)
                    return entry.value
                being_read = entry.being_read
                if being_read is None:
                    entry.being_read = threading.Event()
            if being_read is None:
                return self._read_back(number, entry)
            being_read.wait()

    def drop(self, number: int) -> None:
        """Forget a result; nothing happens if it isn't here."""
        with self._lock:
            self._forget(number)

    def spill_down_to(self, goal_bytes: int, keep: int = -1) -> None:
        """Spill the least recently used results, but not `keep`, until those in memory take no more than this."""
        while (victim := self._choose_victim(goal_bytes, keep)) is not None and self._spill(*victim):
            pass

    def _stay_within_target(self, keep: int) -> None:
        target_bytes = self.target_bytes
        if target_bytes is not None and self.managed_bytes > target_bytes:
            self.spill_down_to(target_bytes, keep)

    def _choose_victim(self, goal_bytes: int, keep: int) -> tuple[int, _Entry] | None:
        with self._lock:
            if self.managed_bytes - self._leaving_bytes <= goal_bytes:
                return None
            is_full = self._disk_is_full()
            for number, entry in self._recent.items():
                if number != keep and not entry.is_spilling and (entry.path or not is_full):
                    entry.is_spilling = True
                    self._leaving_bytes += entry.nbytes
                    return number, entry
            return None

    def _spill(self, number: int, entry: _Entry) -> bool:
        """Let a result go to disk; return False if the disk has no room."""
        path = entry.path or self._write(number, entry)
        with self._lock:
            entry.is_spilling = False
            self._leaving_bytes -= entry.nbytes
            if self._recent.get(number) is not entry:  # dropped or shared meanwhile
                _remove(path)
            elif path:
                del self._recent[number]
                entry.value, entry.path = _ABSENT, path
                self.managed_bytes -= entry.nbytes
                self.spilled_bytes += entry.nbytes
                self.freed_bytes += entry.nbytes
            elif entry.may_spill:
                return False
            else:
                del self._recent[number]
            return True

    def _write(self, number: int, entry: _Entry) -> str:
        """Write a result to disk; return the file's path, or "" if it stays in memory, where it is safe."""
        value, start_s = entry.value, time.monotonic()
        path = os.path.join(self._directory, f"spill-{os.getpid()}-{number}-{next(self._file_numbers)}")
        try:
            self._write_making_room(path, value)
        except SerialisationError:
            entry.may_spill = False
            return ""
        except OSError as error:
            self._retry_at_s = time.monotonic() + RETRY_FULL_DISK_S
            if not self._told_of_full_disk:
                self._told_of_full_disk = True
                self._on_full_disk(error)
            return ""
        self._retry_at_s, self._told_of_full_disk = 0.0, False
        self._on_spill(Action.SPILL_WRITE, number, start_s, time.monotonic(), entry.nbytes)
        return path

    def _write_making_room(self, path: str, value: Any) -> None:
        """Write a file; if there is no room for it, give up the copies of what is in memory anyway, and try again."""
        try:
            write_spill(path, value, self._codec)
        except OSError:
            with self._lock:
                spare = [entry for entry in self._recent.values() if entry.path and not entry.is_spilling]
                for entry in spare:
                    _remove(entry.path)
                    entry.path = ""
            if not spare:
                raise
            write_spill(path, value, self._codec)

    def _read_back(self, number: int, entry: _Entry) -> Any:
        start_s = time.monotonic()
        try:
            value = read_spill(entry.path)
        except DataLost:
            with self._lock:
                assert entry.being_read is not None
                entry.being_read.set()
                if self._entries.get(number) is not entry:
                    raise KeyError(number) from None
                self._forget(number)
            raise
        with self._lock:
            assert entry.being_read is not None
            entry.being_read.set()
            entry.being_read = None
            if self._entries.get(number) is not entry:
                return value  # dropped meanwhile: nobody else will ask
            entry.value = value
            self.spilled_bytes -= entry.nbytes
            self._keep_in_memory(number, entry)
        self._on_spill(Action.SPILL_READ, number, start_s, time.monotonic(), entry.nbytes)
        self._stay_within_target(number)
        return value

    def _keep_in_memory(self, number: int, entry: _Entry) -> None:
        self.managed_bytes += entry.nbytes
        if entry.may_spill:
            self._recent[number] = entry

    def _forget(self, number: int) -> None:
        entry = self._entries.pop(number, None)
        if entry is None:
            return
        self._recent.pop(number, None)
        if entry.value is _ABSENT:
            self.spilled_bytes -= entry.nbytes
        else:
            self.managed_bytes -= entry.nbytes
            self.freed_bytes += entry.nbytes
        if entry.path and not entry.is_spilling:  # else whoever spills it removes the file
            _remove(entry.path)

    def _disk_is_full(self) -> bool:
        return time.monotonic() < self._retry_at_s


def _remove(path: str) -> None:
    """Remove a file, if there is one."""
    with contextlib.suppress(OSError):
        os.unlink(path)
