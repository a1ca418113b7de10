"""`LoopLag`: how late this process's event loop has been, by the clock on the wall. What blocks it blocks every page."""

from __future__ import annotations

import asyncio
import time
from collections import deque

INTERVAL_S = 0.05
KEPT_S = 60.0


class LoopLag:
    """The longest lag of each second of the last minute.

    >>> lag = LoopLag()
    >>> for now_s, lag_s in ((1.0, 0.01), (1.5, 0.2), (30.0, 0.03)):
    ...     lag.note(now_s, lag_s)
    >>> lag.longest_s(30.0), lag.longest_s(70.0), lag.longest_s(100.0)
    (0.2, 0.03, 0.0)
    """

    def __init__(self) -> None:
        self._longest: deque[tuple[int, float]] = deque()

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            before_s = time.monotonic()
            await asyncio.sleep(INTERVAL_S)
            now_s = time.monotonic()
            self.note(now_s, now_s - before_s - INTERVAL_S)

    def note(self, now_s: float, lag_s: float) -> None:
        """Take note of one measurement."""
        if self._longest and self._longest[-1][0] == int(now_s):
            lag_s = max(lag_s, self._longest.pop()[1])
        self._longest.append((int(now_s), lag_s))
        while self._longest[0][0] <= now_s - KEPT_S:
            self._longest.popleft()

    def longest_s(self, now_s: float) -> float:
        """Return the longest lag of the last minute, 0 if there was none."""
        return max((lag_s for at_s, lag_s in self._longest if at_s > now_s - KEPT_S), default=0.0)
