"""`Device`: what a worker asks of its device. Imports no library of any device.

A worker process has one device at most: `current_device`. The head, clients, the fork server and the Jupyter server have
none. `glassloom.devices.opening` makes the device of a worker; the modules beside it are its kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class DeviceIdentity:
    """Which device it is.

    Attributes
    ----------
    kind
        ``"cuda"`` or ``"simulated"``: the module of `glassloom.devices` that knows it.
    uuid
        What tells it from all others, on any host.
    index
        Its place among the devices of the host.
    name
        What its maker calls it.
    bus_id
        Its PCI address; "" if it has none.
    """

    kind: str
    uuid: str
    index: int
    name: str
    bus_id: str = ""


class DeviceSpan(Protocol):
    """The time of one task on the device, from the first of its work there to the last."""

    def seconds(self) -> float | None:
        """Return how long it took; None as long as the device isn't done with it, NaN if it can't be measured. Never waits."""
        ...


class Device(Protocol):
    """The device of this process. All methods are thread-safe.

    *Values* are single objects of the device's libraries, such as an array or a frame. What holds several of them, such
    as a tuple, is taken apart by `glassloom.devices.values`.

    Attributes
    ----------
    identity
        Which device it is.
    total_bytes
        The memory of the device.
    limit_bytes
        How much of it this process's results may take before they move to the host.
    """

    identity: DeviceIdentity
    total_bytes: int
    limit_bytes: int

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Tell whether an error says that memory of the device can't be allocated; a lack of the host's memory doesn't."""
        ...

    def used(self) -> int:
        """Return the bytes of all values of this process, temporary ones included."""
        ...

    def pool(self) -> int:
        """Return the bytes that this process's allocator holds: those used, and freed ones that it keeps."""
        ...

    def free(self) -> int:
        """Return the bytes that no process has taken: with `pool`, the rest of `total_bytes` is that of others."""
        ...

    def owns(self, value: Any) -> bool:
        """Tell whether `value` is of the device's libraries. Called for every object that might be one, so it is quick."""
        ...

    def nbytes(self, value: Any) -> int:
        """Return the bytes of device memory that a value keeps."""
        ...

    def to_host(self, value: Any) -> Any:
        """Return a value copied to the host: something that pickles with its buffers out of band, and knows what it was.

        Returns when the copy is complete.
        """
        ...

    def to_device(self, form: Any) -> Any:
        """Return the value of what `to_host` returned, copied to this device; raises what `is_out_of_memory` knows if that is full."""
        ...

    def export(self, value: Any) -> bytes | None:
        """Return a handle by which another process on this device can copy the value, while this process keeps it.

        None: the allocator has no such handles, or the value can't be had that way.
        """
        ...

    def fetch(self, handle: bytes) -> Any:
        """Return a copy of the value that another process on the same device has exported.

        Raises
        ------
        DataLost
            If the value isn't there any more.
        """
        ...

    def free_cached(self) -> None:
        """Give freed memory that the allocator keeps back to the device."""
        ...

    def synchronize(self) -> None:
        """Return when all that was begun on the device is done."""
        ...

    def task_range(self, key: str) -> AbstractContextManager[DeviceSpan]:
        """Return what a task runs within, which marks it by its key for profilers, and measures its time on the device."""
        ...


_current: list[Device] = []


def current_device() -> Device | None:
    """Return this process's device; None if it has none."""
    return _current[0] if _current else None


def set_current_device(device: Device | None) -> None:
    """Make `device` this process's."""
    _current[:] = [] if device is None else [device]


@contextmanager
def using_device(device: Device) -> Iterator[Device]:
    """Make `device` this process's for a while."""
    before = current_device()
    set_current_device(device)
    try:
        yield device
    finally:
        set_current_device(before)
