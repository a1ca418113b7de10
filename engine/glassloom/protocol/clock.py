"""The cluster's clock: seconds since the epoch that never step, from the monotonic clock and one reading of the other.

On one machine all processes share the monotonic clock, so the head's epoch makes their times comparable exactly.
"""

from __future__ import annotations

import time

monotonic_s = time.monotonic


class Clock:
    """Turns monotonic readings of any process of this machine into seconds since the epoch."""

    def __init__(self) -> None:
        self.epoch_s = time.time() - time.monotonic()

    def now_s(self) -> float:
        """Return the present in seconds since the epoch."""
        return time.monotonic() + self.epoch_s
