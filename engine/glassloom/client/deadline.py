"""`Deadline`: when a wait must be over, however many steps it has."""

from __future__ import annotations

from threading import TIMEOUT_MAX
from time import monotonic


class Deadline:
    """A point in time, or never.

    >>> Deadline(None).left_s, Deadline(0).is_over
    (None, True)

    Parameters
    ----------
    timeout_s
        Seconds from now; None: never.
    """

    __slots__ = ("_at_s", "timeout_s")

    def __init__(self, timeout_s: float | None) -> None:
        self.timeout_s = timeout_s
        self._at_s = None if timeout_s is None else monotonic() + timeout_s

    @property
    def left_s(self) -> float | None:
        """Seconds until then, 0.0 if it is over; None: it never is."""
        return None if self._at_s is None else min(max(0.0, self._at_s - monotonic()), TIMEOUT_MAX)

    @property
    def is_over(self) -> bool:
        """Whether the time has come."""
        return self._at_s is not None and monotonic() >= self._at_s
