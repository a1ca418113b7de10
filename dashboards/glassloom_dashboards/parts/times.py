"""Times for people."""

from __future__ import annotations

import time


def duration_text(seconds: float) -> str:
    """Return a length of time.

    >>> duration_text(0.0042), duration_text(0.5), duration_text(12.34), duration_text(125), duration_text(7260)
    ('4.2 ms', '500 ms', '12.3 s', '2 min 05 s', '2 h 01 min')
    >>> duration_text(0), duration_text(25e-6), duration_text(99.97), duration_text(119.7)
    ('0 s', '25 µs', '1 min 40 s', '2 min 00 s')
    """
    if seconds == 0:
        return "0 s"
    for unit, size_s in (("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        count = seconds / size_s
        if count < (999.5 if unit != "s" else 99.95):
            return f"{count:.{1 if count < 9.95 or unit == 's' else 0}f} {unit}"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60:02d} min"


def clock_text(at_s: float, now_s: float) -> str:
    """Return the local time of day at `at_s`, with the date if that isn't the one at `now_s`."""
    at, now = time.localtime(at_s), time.localtime(now_s)
    is_today = (at.tm_year, at.tm_yday) == (now.tm_year, now.tm_yday)
    return time.strftime("%H:%M:%S" if is_today else "%b %d %H:%M:%S", at)
