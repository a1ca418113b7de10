"""A worker's own results: in memory up to a limit, the least recently used ones on disk. Thread-safe."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from glassloom_metrics.protocol import Action

from glassloom.errors import SerialisationError
from glassloom.store.pickling import dump_buffers, loads

TARGET_FRACTION = 0.6
"""Share of the memory limit that results may take before the oldest are spilled."""

_MIN_SPILL_BYTES = 64 * 1024

SpillEvent = Callable[[Action, int, float, float, int], None]
"""Called with what was done, the result's number, start and stop (monotonic seconds), and its size."""


class Store:
    """Results by number.

    Parameters
    ----------
    limit_bytes
        The worker's memory limit, or None for none.
    directory
        Where spilled results go; it must exist.
    on_spill
        Told of every write and read.
    """

    def __init__(self, limit_bytes: int | None, directory: str, on_spill: SpillEvent) -> None:
        self._target_bytes = None if limit_bytes is None else int(limit_bytes * TARGET_FRACTION)
        self._directory = directory
        self._on_spill = on_spill
        self._values: OrderedDict[int, Any] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._on_disk: dict[int, str] = {}
        self._unspillable: set[int] = set()
        self._lock = threading.RLock()
        self.managed_bytes = 0
        self.spilled_bytes = 0

    def __contains__(self, number: int) -> bool:
        return number in self._sizes

    def put(self, number: int, value: Any, nbytes: int) -> None:
        """Keep a result; others may be spilled for it."""
        with self._lock:
            self.drop(number)
            self._values[number] = value
            self._sizes[number] = nbytes
            self.managed_bytes += nbytes
            if self._target_bytes is not None and self.managed_bytes > self._target_bytes:
                self._spill_down_to(self._target_bytes, keep=number)

    def replace(self, number: int, value: Any) -> None:
        """The result lies in shared memory now: keep `value`, a view of it, which takes no memory of our own."""
        with self._lock:
            if number in self._sizes:
                self.drop(number)
                self._values[number] = value
                self._sizes[number] = 0
                self._unspillable.add(number)

    def get(self, number: int) -> Any:
        """Return a result, read back from disk if it was spilled. Raises KeyError if it isn't here."""
        with self._lock:
            if number in self._values:
                self._values.move_to_end(number)
                return self._values[number]
            return self._read_back(number)

    def drop(self, number: int) -> None:
        """Forget a result; nothing happens if it isn't here."""
        with self._lock:
            nbytes = self._sizes.pop(number, None)
            if nbytes is None:
                return
            self._unspillable.discard(number)
            if number in self._values:
                del self._values[number]
                self.managed_bytes -= nbytes
            path = self._on_disk.pop(number, None)
            if path is not None:
                self.spilled_bytes -= nbytes
                with contextlib.suppress(OSError):
                    os.unlink(path)

    def _spill_down_to(self, target_bytes: int, keep: int) -> None:
        for number in list(self._values):
            if self.managed_bytes <= target_bytes:
                return
            if number != keep and number not in self._unspillable and self._sizes[number] >= _MIN_SPILL_BYTES:
                self._spill(number)

    def _spill(self, number: int) -> None:
        nbytes = self._sizes[number]
        path = os.path.join(self._directory, f"spill-{os.getpid()}-{number}")
        start_s = time.monotonic()
        try:
            head, buffers = dump_buffers(self._values[number])
            with open(path, "wb") as file:
                lengths = [len(head), *(buffer.nbytes for buffer in buffers)]
                file.write(repr(lengths).encode() + b"\n")
                file.write(head)
                for buffer in buffers:
                    file.write(buffer)
        except (SerialisationError, OSError):
            # It can't be pickled, or the disk is full: it stays in memory, where it is safe.
            self._unspillable.add(number)
            with contextlib.suppress(OSError):
                os.unlink(path)
            return
        del self._values[number]
        self._on_disk[number] = path
        self.managed_bytes -= nbytes
        self.spilled_bytes += nbytes
        self._on_spill(Action.SPILL_WRITE, number, start_s, time.monotonic(), nbytes)

    def _read_back(self, number: int) -> Any:
        path, nbytes = self._on_disk[number], self._sizes[number]
        start_s = time.monotonic()
        with open(path, "rb") as file:
            lengths = [int(length) for length in file.readline().strip(b"[]\n").split(b",")]
            parts = [bytearray(length) for length in lengths]
            for part in parts:
                file.readinto(part)
        value = loads(bytes(parts[0]), [memoryview(part) for part in parts[1:]])
        self._on_spill(Action.SPILL_READ, number, start_s, time.monotonic(), nbytes)
        self.put(number, value, nbytes)
        return value
