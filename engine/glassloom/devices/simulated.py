"""A simulated device for tests: `glassloom.backends.simulated_` has its arrays, this what a worker asks of it."""

from __future__ import annotations

import os
import pickle
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from glassloom.backends.simulated_ import (
    SimulatedArray,
    SimulatedMemory,
    SimulatedOutOfMemory,
    from_host,
    set_memory,
)
from glassloom.devices.device import DeviceIdentity
from glassloom.errors import DataLost
from glassloom.units import parse_bytes

BYTES_A_SECOND = 1e9
"""How fast a simulated device writes what it allocates: its only measure of time, so that tests know what to expect."""


class SimulatedSpan:
    """The time of a task on a simulated device: a second for each `BYTES_A_SECOND` that were allocated meanwhile."""

    def __init__(self, is_done: threading.Event, start_bytes: int) -> None:
        self._is_done = is_done
        self._start_bytes = start_bytes
        self.stop_bytes: int | None = None

    def seconds(self) -> float | None:
        """Return how long it took; None as long as the device is behind."""
        if self.stop_bytes is None or not self._is_done.is_set():
            return None
        return (self.stop_bytes - self._start_bytes) / BYTES_A_SECOND


class SimulatedDevice:
    """A device that doesn't exist; see `glassloom.devices.device.Device`.

    Parameters
    ----------
    total_bytes
        Its memory.
    limit_bytes
        How much of it results may take; None: all.
    index
        Processes whose devices have the same index share a device as to `export` and `fetch`; each has memory of its own.
    """

    def __init__(self, total_bytes: int, limit_bytes: int | None = None, index: int = 0) -> None:
        self.identity = DeviceIdentity("simulated", f"SIM-{os.getuid()}-{index}", index, "Simulated device")
        self.total_bytes = total_bytes
        self.limit_bytes = total_bytes if limit_bytes is None else limit_bytes
        self.memory = SimulatedMemory(total_bytes)
        self.keys: list[str] = []
        """Tasks that have begun on it."""
        self.other_bytes = 0
        """What other processes have taken."""
        self.answers = threading.Event()
        """Clear it, and the device doesn't answer."""
        self.answers.set()
        self.is_done = threading.Event()
        """Clear it, and the device is behind: what tasks have given it to do isn't done yet."""
        self.is_done.set()

    def used(self) -> int:
        return self.memory.used_bytes

    def pool(self) -> int:
        return self.memory.used_bytes + self.memory.cached_bytes

    def free(self) -> int:
        self.answers.wait()
        return self.total_bytes - self.pool() - self.other_bytes

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, SimulatedOutOfMemory)

    def owns(self, value: Any) -> bool:
        return isinstance(value, SimulatedArray)

    def nbytes(self, value: Any) -> int:
        return int(value.device_bytes)

    def to_host(self, value: Any) -> Any:
        return value.get()

    def to_device(self, form: Any) -> Any:
        return from_host(form)

    def export(self, value: Any) -> bytes | None:
        descriptor = os.memfd_create("glassloom-simulated", os.MFD_CLOEXEC)
        weakref.finalize(value, os.close, descriptor).atexit = False
        with open(descriptor, "wb", closefd=False) as file:
            np.save(file, value._data)  # the device's memory as it is: no copy to the host is counted
        return pickle.dumps((self.identity.uuid, f"/proc/{os.getpid()}/fd/{descriptor}", os.fstat(descriptor).st_ino))

    def fetch(self, handle: bytes) -> Any:
        uuid, path, inode = pickle.loads(handle)
        if uuid != self.identity.uuid:
            raise DataLost(f"a result is on device {uuid}, which this process on {self.identity.uuid} doesn't see")
        try:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_ino != inode:  # the descriptor's number was given to another file
                    raise DataLost(f"another process's memory on {uuid} is freed")
                return SimulatedArray(np.load(file))
        except OSError as error:
            raise DataLost(f"another process's memory on {uuid} can't be opened: {error}") from error

    def free_cached(self) -> None:
        self.memory.free_cached()

    def synchronize(self) -> None:
        pass

    @contextmanager
    def task_range(self, key: str) -> Iterator[SimulatedSpan]:
        self.keys.append(key)
        span = SimulatedSpan(self.is_done, self.memory.allocated_bytes)
        try:
            yield span
        finally:
            span.stop_bytes = self.memory.allocated_bytes


def open_device(name: str, settings: dict[str, Any]) -> SimulatedDevice:
    """Return the device of a name such as ``"64MiB"`` or, for the second of a host, ``"64MiB#1"``; it is this process's now."""
    size, _, index = name.partition("#")
    device = SimulatedDevice(parse_bytes(size), index=int(index or 0))
    set_memory(device.memory)
    return device


def restored(form: Any) -> Any:
    """Return what `SimulatedDevice.to_host` has made a copy of, in a process that needn't have a device."""
    return from_host(form)
