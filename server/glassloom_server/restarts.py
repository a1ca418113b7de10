"""When a process that ends again and again may be started again. Pure: the times are the caller's."""

from __future__ import annotations

FIRST_DELAY_S = 1.0
LAST_DELAY_S = 60.0
SETTLED_S = 60.0
"""A process that has run for so long counts as one that works."""


class Restarts:
    """Counts ends and says how long to wait: not at all after the first, then twice as long each time.

    >>> restarts = Restarts()
    >>> restarts.note_end(now_s=10.0, ran_s=0.1)
    >>> restarts.wait_s(now_s=10.0)
    0.0
    >>> restarts.note_end(now_s=11.0, ran_s=0.1)
    >>> restarts.wait_s(now_s=11.25)
    0.75
    """

    def __init__(self) -> None:
        self.ended = 0
        """How often it has ended."""
        self._delay_s = 0.0
        self._ended_at_s = 0.0

    def note_end(self, *, now_s: float, ran_s: float) -> None:
        """It has ended by itself, or been ended because it was of no use."""
        if ran_s >= SETTLED_S or not self.ended:
            self._delay_s = 0.0
        else:
            self._delay_s = min(max(2 * self._delay_s, FIRST_DELAY_S), LAST_DELAY_S)
        self.ended += 1
        self._ended_at_s = now_s

    def wait_s(self, now_s: float) -> float:
        """Return how long it must not be started yet."""
        return max(0.0, self._ended_at_s + self._delay_s - now_s) if self.ended else 0.0
