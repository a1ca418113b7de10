"""How often a viewer's page is drawn: often while drawing is cheap, less often when it isn't. Pure."""

from __future__ import annotations

PERIOD_S = 0.1
"""How often a page asks whether it should draw."""

MAX_SHARE = 0.1
LONGEST_WAIT_S = 2.0


class Pacer:
    """Keeps drawing below a tenth of one core for each viewer: frames are shed, never tasks.

    >>> pacer = Pacer()
    >>> pacer.drew(started_s=0.0, stopped_s=0.05)
    >>> pacer.is_due(0.3), pacer.is_due(0.51)
    (False, True)
    """

    def __init__(self) -> None:
        self._due_s = float("-inf")

    def is_due(self, now_s: float) -> bool:
        """Tell whether to draw now."""
        return now_s >= self._due_s

    def drew(self, *, started_s: float, stopped_s: float) -> None:
        """Note that a frame took from `started_s` to `stopped_s`."""
        wait_s = (stopped_s - started_s) * (1 / MAX_SHARE - 1)
        self._due_s = stopped_s + min(wait_s, LONGEST_WAIT_S)
