"""How short a worker's device is of memory. Decides nothing else, and asks no device."""

from __future__ import annotations

from glassloom.protocol.options import MemoryLimits
from glassloom.scheduler import Pressure
from glassloom.store.device_account import DeviceAccount
from glassloom.worker.memory_monitor import pressure_at

SPILL_SHARE = 0.8
"""Share of a device's memory that may be taken by what can't move to the host, before only tasks that free memory begin."""
PAUSE_SHARE = 0.9
"""Share of it before no task begins."""


def device_pressure(account: DeviceAccount, total_bytes: int, before: Pressure) -> Pressure:
    """Return how short of memory a device is: results that can move to the host don't count, as they make room.

    >>> account = DeviceAccount(held_bytes=900, movable_bytes=800, used_bytes=950)
    >>> device_pressure(account, 1000, Pressure.NONE).name
    'NONE'
    """
    limits = MemoryLimits(total_bytes, target=None, spill=SPILL_SHARE, pause=PAUSE_SHARE, terminate=None)
    return pressure_at(fixed_bytes(account), limits, before)


def fixed_bytes(account: DeviceAccount) -> int:
    """Return what takes memory of the device and can't move to the host: tasks' own, pinned results, other processes."""
    return max(0, account.used_bytes - account.movable_bytes) + account.other_bytes
