"""`IdleTimer`: since when a cluster is idle, and whether that is long enough to end it. Pure."""

from __future__ import annotations


class IdleTimer:
    """Keeps the time since a cluster was in use last.

    Parameters
    ----------
    timeout_s
        How long it may be idle; None: for ever.

    Attributes
    ----------
    since_s
        When it was in use last, as far as it was observed; None while it is.

    Examples
    --------
    >>> timer = IdleTimer(60.0)
    >>> timer.observe(10.0, is_used=True)
    >>> timer.observe(11.0, is_used=False)
    >>> timer.since_s, timer.is_over(70.0), timer.is_over(71.0)
    (11.0, False, True)
    """

    def __init__(self, timeout_s: float | None) -> None:
        self.timeout_s = timeout_s
        self.since_s: float | None = None

    def observe(self, now_s: float, *, is_used: bool) -> None:
        """Note whether the cluster is in use now."""
        if is_used:
            self.since_s = None
        elif self.since_s is None:
            self.since_s = now_s

    def is_over(self, now_s: float) -> bool:
        """Tell whether the cluster has been idle for too long."""
        return self.timeout_s is not None and self.since_s is not None and now_s - self.since_s >= self.timeout_s
