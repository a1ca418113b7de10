"""`DeviceTimes`: how long tasks took on the worker's device, of which the worker learns after they have returned.

A task returns when it has handed its work to the device, which may do that work later.
"""

from __future__ import annotations

import math
import threading
from collections import deque

from glassloom.devices.device import DeviceSpan
from glassloom.protocol.messages import DeviceTimes as Message

MAX_PENDING = 1000
"""How many tasks a device may be behind; of older ones it isn't told how long they took."""


class DeviceTimes:
    """Measurements that the device hasn't ended. Thread-safe."""

    def __init__(self) -> None:
        self._pending: deque[tuple[int, float, DeviceSpan]] = deque(maxlen=MAX_PENDING)
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        """Tell whether any measurement hasn't been taken."""
        return bool(self._pending)

    def add(self, number: int, start_s: float, span: DeviceSpan) -> None:
        """A task that began at `start_s` has ended, and the head will be told so before it is told what is taken from now on."""
        self._pending.append((number, start_s, span))

    def take(self) -> Message | None:
        """Return what the device has ended since the last time, in the order of the tasks; None if that is nothing."""
        numbers, starts_s, seconds = [], [], []
        with self._lock:
            while self._pending:
                number, start_s, span = self._pending[0]
                took_s = span.seconds()
                if took_s is None:
                    break
                self._pending.popleft()
                if not math.isnan(took_s):
                    numbers.append(number)
                    starts_s.append(start_s)
                    seconds.append(took_s)
        return Message(numbers, starts_s, seconds) if numbers else None
