"""`DeviceAccount`: where the bytes of a worker's device are. Plain data, which travels in messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceAccount:
    """Where the bytes of a worker's device are.

    Attributes
    ----------
    held_bytes
        Results on the device.
    movable_bytes
        Those of them that could move to the host now.
    used_bytes
        All that this process has allocated: results, and what tasks work with.
    pool_bytes
        What its allocator holds: what is used, and what was freed and is kept for later.
    other_bytes
        What other processes have taken.
    moved_bytes
        Results that would be on the device if there were room: on the host, and from there perhaps on disk.
    """

    held_bytes: int = 0
    movable_bytes: int = 0
    used_bytes: int = 0
    pool_bytes: int = 0
    other_bytes: int = 0
    moved_bytes: int = 0
