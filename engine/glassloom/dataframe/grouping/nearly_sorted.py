"""Numbers that are nearly in order, as keys of sorted files are: sorting them is quicker than hashing."""

from __future__ import annotations

from typing import Any

import numpy as np

_STRIDE = 64
_FROM = 4096
_FEW = 1 / 16


def is_nearly_sorted(numbers: Any) -> bool:
    """Whether numbers mostly grow, seen from afar: then a stable sort, which joins what is in order, is quick."""
    if len(numbers) < _FROM:
        return False
    some = numbers[::_STRIDE]
    return int(np.count_nonzero(some[1:] < some[:-1])) <= _FEW * len(some)


def sorted_runs(numbers: Any) -> tuple[Any, Any]:
    """Return the rows in the order of their numbers (equal ones in their old order), and which begin a new number."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    begins = np.ones(len(numbers), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return order, begins
