"""What the badge beside a cluster's name says: live, or when it was last heard. Pure: the times are the caller's.

A cluster says something at least once a second (`HEARTBEAT_S`). An open connection alone proves nothing: its head may be stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

from glassloom_dashboards.folds.aggregate import ClusterAggregate

SILENT_AFTER_S = 5.0
"""A cluster that says nothing for longer isn't called live."""

LATE_S = 3.0
"""A drawing that comes so long after the one before it came late: this process stood still, and heard nobody.

Longer than pages wait between two drawings (`serving.pacing`): else no silence would ever be long.
"""

STATE_WORDS = {
    "connecting": "connecting …",
    "live": "live",
    "reconnecting": "reconnecting …",
    "ended": "ended",
    "refused": "cannot be read",
    "loading": "loading …",
    "recording": "recording",
}


@dataclass(frozen=True)
class Badge:
    """The badge's CSS class and words."""

    look: str
    words: str


class Attention:
    """Tells how long a cluster has been silent while this process listened.

    After a pause of this process, what clusters have sent meanwhile is still to be read: silence begins anew.

    >>> attention = Attention()
    >>> for now_s in (0.0, 0.5, 60.0):
    ...     attention.look(now_s)
    >>> attention.silence_s(heard_at_s=0.0, now_s=60.2)
    0.2
    """

    def __init__(self) -> None:
        self._since_s: float | None = None
        self._last_s = 0.0

    def look(self, now_s: float) -> None:
        """Note that this process runs now."""
        if self._since_s is None or now_s - self._last_s > LATE_S:
            self._since_s = now_s
        self._last_s = now_s

    def silence_s(self, heard_at_s: float, now_s: float) -> float:
        """Return the seconds since `heard_at_s` in which we listened."""
        since_s = heard_at_s if self._since_s is None else max(heard_at_s, self._since_s)
        return round(max(now_s - since_s, 0.0), 3)


def badge_of(aggregate: ClusterAggregate, attention: Attention, now_s: float) -> Badge:
    """Return the badge of a cluster at `now_s`."""
    state, heard_at_s = aggregate.state, aggregate.heard_at_s
    if state not in ("connecting", "live") or heard_at_s is None:
        return Badge(state, STATE_WORDS[state])
    if attention.silence_s(heard_at_s, now_s) <= SILENT_AFTER_S:
        return Badge(state, STATE_WORDS[state])
    ago = age_text(now_s - heard_at_s)
    return Badge("silent", f"last heard {ago} ago" if state == "live" else f"no answer for {ago}")


def age_text(seconds: float) -> str:
    """Return a length of time for people.

    >>> age_text(12.4), age_text(150), age_text(7300)
    ('12 s', '2 min', '2 h')
    """
    for unit, size_s in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size_s:
            return f"{seconds // size_s:.0f} {unit}"
    return f"{seconds:.0f} s"
