"""`SpillLog`: tells the cluster's log what moves between a worker's device, host memory and disk, in a line a second at most."""

from __future__ import annotations

import threading
from collections.abc import Callable

from glassloom_metrics.protocol import Action

from glassloom.protocol.clock import monotonic_s
from glassloom.units import format_bytes

LEAST_BETWEEN_S = 1.0
"""How long after a line the next one may come; what moves meanwhile is added up."""
_WAYS = {
    Action.DEVICE_TO_HOST: "device to host",
    Action.SPILL_WRITE: "host to disk",
    Action.SPILL_READ: "disk to host",
    Action.HOST_TO_DEVICE: "host to device",
}


class SpillLog:
    """Adds up what has moved since the last line. Thread-safe.

    Parameters
    ----------
    write
        Writes a line.
    clock
        Returns the time in seconds.
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = monotonic_s) -> None:
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._moved: dict[Action, tuple[int, int, float]] = {}
        """How often, bytes and seconds."""
        self._next_s = -1.0

    def note(self, action: Action, nbytes: int, length_s: float) -> None:
        """Note that a result has moved, or small ones together."""
        if action not in _WAYS:
            return
        with self._lock:
            count, total_bytes, total_s = self._moved.get(action, (0, 0, 0.0))
            self._moved[action] = count + 1, total_bytes + nbytes, total_s + length_s
        self.flush_due()

    def flush_due(self) -> None:
        """Write a line, if there is something to write and the last one is old enough."""
        with self._lock:
            now_s = self._clock()
            if not self._moved or now_s < self._next_s:
                return
            moved, self._moved, self._next_s = self._moved, {}, now_s + LEAST_BETWEEN_S
        told = [
            f"{way}: {moved[action][0]} x, {format_bytes(moved[action][1])} in {moved[action][2]:.3g} s"
            for action, way in _WAYS.items()
            if action in moved
        ]
        self._write(f"results moved, {'; '.join(told)}")
