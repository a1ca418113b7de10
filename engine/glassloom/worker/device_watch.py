"""`DeviceWatch`: measures a worker's device twice a second or more often, on a thread of its own, which may hang with the device."""

from __future__ import annotations

import threading
from collections.abc import Callable

from glassloom.protocol.clock import monotonic_s
from glassloom.scheduler import Pressure
from glassloom.store.device_account import DeviceAccount
from glassloom.store.device_store import DeviceStore
from glassloom.worker.device_memory import device_pressure, fixed_bytes

LOOK_S = 0.1
SILENT_S = 60.0
"""How long a device may not answer before its worker ends: its results are made again elsewhere."""

OnPressure = Callable[[Pressure, int], None]
"""Called in the thread that watches with how short the device is of memory, and the bytes there that can't move."""


class DeviceSilent(Exception):
    """A device doesn't answer any more."""


class DeviceWatch:
    """Watches over a device.

    Attributes
    ----------
    account
        What was measured last.
    pressure
        How short of memory the device was then.
    """

    def __init__(self, store: DeviceStore, on_pressure: OnPressure) -> None:
        self.account = DeviceAccount()
        self.pressure = Pressure.NONE
        self._store = store
        self._on_pressure = on_pressure
        self._asked_s: float | None = None
        """When the question was asked that has no answer yet."""
        self._missed: tuple[float | None, int] = None, 0
        """The question that had no answer when it was looked for last, and how often in a row."""

    def run(self, stopping: threading.Event) -> None:
        """Measure until the worker stops."""
        while not stopping.wait(LOOK_S):
            self.look()

    def look(self) -> None:
        """Measure once."""
        self._asked_s = monotonic_s()
        self.account = account = self._store.account()
        self._asked_s = None
        pressure = device_pressure(account, self._store.device.total_bytes, self.pressure)
        if pressure is not self.pressure:
            self.pressure = pressure
            self._on_pressure(pressure, fixed_bytes(account))

    def require_answer(self, now_s: float) -> None:
        """Raise DeviceSilent if the device hasn't answered for too long. Called by another thread."""
        asked_s = self._asked_s
        same, n_missed = self._missed
        n_missed = n_missed + 1 if asked_s == same else 0
        self._missed = asked_s, n_missed
        # A process that was stopped and goes on may look before the device's thread has had its turn.
        if asked_s is not None and now_s - asked_s > SILENT_S and n_missed:
            name = self._store.device.identity.name
            raise DeviceSilent(f"its device, {name}, has not answered for {now_s - asked_s:.0f} s")
