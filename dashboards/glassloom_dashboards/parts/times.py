"""Times for people."""

from __future__ import annotations

import math
import time

from glassloom_dashboards.parts.numbers import three_digits


def duration_text(seconds: float) -> str:
    """Return a length of time to at most three digits, or in minutes, hours and days.

    >>> duration_text(0.0042), duration_text(0.5), duration_text(12.34), duration_text(125), duration_text(7260)
    ('4.2 ms', '500 ms', '12.3 s', '2 min 05 s', '2 h 01 min')
    >>> duration_text(0), duration_text(25e-6), duration_text(59.95), duration_text(-0.25), duration_text(float("nan"))
    ('0 s', '25 µs', '1 min 00 s', '-250 ms', 'unknown')
    """
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 0:
        return f"-{duration_text(-seconds)}"
    if seconds == 0:
        return "0 s"
    if seconds < 999.5e-6:
        return f"{math.floor(seconds * 1e6 + 0.5)} µs" if seconds >= 0.5e-6 else "<1 µs"
    if seconds < 0.9995:
        return f"{_trimmed(three_digits(seconds * 1e3))} ms"
    if seconds < 59.95:
        return f"{_trimmed(three_digits(seconds))} s"
    minutes, rest_s = divmod(math.floor(seconds + 0.5), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s:02d} s"
    hours, minutes = divmod(math.floor(seconds / 60 + 0.5), 60)
    if hours < 24:
        return f"{hours} h {minutes:02d} min"
    days, hours = divmod(math.floor(seconds / 3600 + 0.5), 24)
    return f"{days:,} d {hours:02d} h"


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def about_text(seconds: float) -> str:
    """Return an estimate: in whole seconds, at least one.

    >>> about_text(0.2), about_text(38.7), about_text(250)
    ('1 s', '39 s', '4 min 10 s')
    """
    return duration_text(max(round(seconds), 1))


def clock_text(at_s: float, now_s: float) -> str:
    """Return the local time of day at `at_s`, with the date if that isn't the one at `now_s`."""
    at, now = time.localtime(at_s), time.localtime(now_s)
    is_today = (at.tm_year, at.tm_yday) == (now.tm_year, now.tm_yday)
    return time.strftime("%H:%M:%S" if is_today else "%b %d %H:%M:%S", at)
