"""Numbers that are sorted quicker than hashed: those nearly in order, as keys of sorted files are, and mostly distinct ones."""

from __future__ import annotations

from typing import Any

import numpy as np

_STRIDE = 64
_FROM = 4096
_FEW = 1 / 16
_SAMPLED, _SAMPLED_FROM = 4096, 2**17
_MOST = 7 / 8


def is_nearly_sorted(numbers: Any) -> bool:
    """Whether numbers mostly grow, seen from afar: then a stable sort, which joins what is in order, is quick."""
    if len(numbers) < _FROM:
        return False
    some = numbers[::_STRIDE]
    return int(np.count_nonzero(some[1:] < some[:-1])) <= _FEW * len(some)


def is_in_order(numbers: Any) -> bool:
    """Whether many numbers never decrease. Of those that do, mostly a few are looked at."""
    if len(numbers) < _FROM:
        return False
    some = numbers[::_STRIDE]
    return not bool((some[1:] < some[:-1]).any() or (numbers[1:] < numbers[:-1]).any())


def are_mostly_distinct(numbers: Any) -> bool:
    """Whether of some numbers from all places few are equal: then a table of them doesn't fit the processor's cache."""
    if len(numbers) < _SAMPLED_FROM:
        return False
    some = numbers[:: len(numbers) // _SAMPLED]
    return len(np.unique(some)) > _MOST * len(some)


def sorted_runs(numbers: Any, *, stable: bool = True) -> tuple[Any, Any]:
    """Return the rows in the order of their numbers, and which begin a new number. If stable, equal ones keep their order."""
    order = np.argsort(numbers, kind="stable" if stable else None)
    ordered = numbers[order]
    begins = np.ones(len(numbers), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return order, begins
