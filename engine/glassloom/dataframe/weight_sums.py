"""By how much a weighted variance is corrected for few rows, over the borders of partitions.

The correction is made of sums of weights, and of nothing else: where weights fall fast and values are missing, their difference is all
rounding, and pandas' result with it. So pandas adds them up here, too: of which of the rows before have a value as many are carried on as
weigh anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_LEAST_SHARE = 2.0**-120
"""Rows that weigh less beside the last value change neither sums of weights nor, divided by what rounding leaves of these, a variance."""
LEAST_LOGARITHM = -746.0
"""The exponential function of less is 0."""
_MOST_ROWS = 2**15
"""How many rows are carried on at most."""


class Presence(NamedTuple):
    """Which rows have a value: of each column, those up to its last value, as far as they weigh anything, and how many rows follow."""

    tails: tuple[Any, ...]
    missing: tuple[int, ...]


def rows_that_weigh(fall: float) -> int | None:
    """Return how many rows before a value weigh anything if the weight falls by a factor with each one; None if they are too many to be carried on."""
    if fall <= 0:
        return 1
    if fall >= 1:
        return None
    rows = math.ceil(math.log(_LEAST_SHARE * (1 - fall)) / math.log(fall)) + 1
    return rows if rows <= _MOST_ROWS else None


def presence_of(there: Any, fall: float, ignore_na: bool) -> Presence | None:
    """Return which rows of a partition have a value; None if too many matter."""
    most = rows_that_weigh(fall)
    if most is None:
        return None
    columns = [_tail(there[:, place], most, fall, ignore_na) for place in range(there.shape[1])]
    return Presence(tuple(tail for tail, _ in columns), tuple(missing for _, missing in columns))


def presence_after(before: Presence, own: Presence, fall: float, ignore_na: bool) -> Presence:
    """Return which rows of two partitions have a value, the second one after the first."""
    most = rows_that_weigh(fall) or 0
    both = zip(rows_of(before), rows_of(own), strict=True)
    columns = [_tail(np.concatenate(rows), most, fall, ignore_na) for rows in both]
    return Presence(tuple(tail for tail, _ in columns), tuple(missing for _, missing in columns))


def rows_of(presence: Presence) -> list[Any]:
    """Return of each column for which rows there is a value."""
    return [
        np.concatenate([tail, np.zeros(missing, dtype=bool)])
        for tail, missing in zip(presence.tails, presence.missing, strict=True)
    ]


def _tail(there: Any, most: int, fall: float, ignore_na: bool) -> tuple[Any, int]:
    if ignore_na:
        return np.ones(min(int(there.sum()), most), dtype=bool), 0
    places = np.flatnonzero(there)
    last = int(places[-1]) if len(places) else -1
    return there[max(last + 1 - most, 0) : last + 1], min(len(there) - 1 - last, _rows_until_nothing(fall))


def _rows_until_nothing(fall: float) -> int:
    """Return after how many rows a weight is 0."""
    return 1 if fall <= 0 else math.ceil(LEAST_LOGARITHM / math.log(fall))


def corrections(windows: Any, columns: Sequence[Any]) -> list[Any]:
    """Return the factors of the variances for the rows of each column, of which is said whether they have a value; NaN if pandas has none.

    `windows` makes pandas' windows of a series. Columns of values at the same rows, as are those without missing ones, have the same factors.
    """
    of_rows = {there.tobytes(): there for there in columns}
    found = {key: _factors(windows, there) for key, there in of_rows.items()}
    return [found[there.tobytes()] for there in columns]


def _factors(windows: Any, there: Any) -> Any:
    values = np.where(there, np.cumsum(there) % 2.0, np.nan)  # neighbours differ: the variance of several isn't 0
    made = windows(values)
    biased, corrected = made.var(bias=True).to_numpy(), made.var(bias=False).to_numpy()
    factors = np.where(corrected == 0, 1.0, np.nan)
    return np.divide(corrected, biased, out=factors, where=biased > 0)
