"""Numbers for people, to three digits, and shares. ``static/glassloom.js`` has the same for hover cards."""

from __future__ import annotations

import math


def three_digits(value: float) -> str:
    """Return a number below 1,000 to three digits; ties are rounded up, as JavaScript does.

    >>> three_digits(1.5), three_digits(12.25), three_digits(512.0), three_digits(9.996)
    ('1.50', '12.3', '512', '10.0')
    """
    size = abs(value)
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{math.copysign(math.floor(size * 10**digits + 0.5) / 10**digits, value):.{digits}f}"


def share_text(share: float) -> str:
    """Return a share as per cent.

    >>> share_text(0.634), share_text(0.0123), share_text(0.0), share_text(0.0001)
    ('63 %', '1.2 %', '0 %', '<0.1 %')
    """
    percent = 100 * share
    if percent >= 9.95 or not percent:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 0.05 else "<0.1 %"
