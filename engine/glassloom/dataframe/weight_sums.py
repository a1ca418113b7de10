"""By how much a weighted variance is corrected for few rows, over the borders of partitions.

The correction is made of sums of weights, and of nothing else: where weights fall fast and values are missing, their difference is all
rounding, and pandas' result with it. So pandas adds them up here, too: of which of the rows before have a value as many are carried on as
weigh anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
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
    return _presence(of_each(lambda column: _tail(column, most, fall, ignore_na), list(there.T)))


def presence_after(before: Presence, own: Presence, fall: float, ignore_na: bool) -> Presence:
    """Return which rows of two partitions have a value, the second one after the first."""
    most = rows_that_weigh(fall) or 0
    return _presence(
        of_each(
            lambda one, other: _tail(np.concatenate([one, other]), most, fall, ignore_na), rows_of(before), rows_of(own)
        )
    )


def _presence(columns: list[tuple[Any, int]]) -> Presence:
    return Presence(tuple(tail for tail, _ in columns), tuple(missing for _, missing in columns))


def rows_of(presence: Presence) -> list[Any]:
    """Return of each column for which rows there is a value."""
    return of_each(_with_missing, presence.tails, presence.missing)


def _with_missing(tail: Any, missing: int) -> Any:
    return np.concatenate([tail, np.zeros(missing, dtype=bool)]) if missing else tail


def of_each(function: Callable[..., Any], *several: Sequence[Any]) -> list[Any]:
    """Return what a function returns of each column, of which it gets an item of each sequence: arrays of booleans, or numbers.

    It is called once for columns of equal items, as those without missing values have.
    """
    found: dict[tuple[Any, ...], Any] = {}
    made: list[Any] = []
    for items in zip(*several, strict=True):
        key = tuple([item.tobytes() if isinstance(item, np.ndarray) else item for item in items])
        if key not in found:
            found[key] = function(*items)
        made.append(found[key])
    return made


def _tail(there: Any, most: int, fall: float, ignore_na: bool) -> tuple[Any, int]:
    if ignore_na:
        return np.ones(min(int(there.sum()), most), dtype=bool), 0
    places = np.flatnonzero(there)
    last = int(places[-1]) if len(places) else -1
    return there[max(last + 1 - most, 0) : last + 1], min(len(there) - 1 - last, _rows_until_nothing(fall))


def _rows_until_nothing(fall: float) -> int:
    """Return after how many rows a weight is 0."""
    return 1 if fall <= 0 else math.ceil(LEAST_LOGARITHM / math.log(fall))


def of_distinct(function: Callable[[Any], Any], there: Any) -> Any:
    """Return what a function returns of the columns of a matrix of booleans. It gets those that differ, as a matrix, and returns one like it."""
    numbers: dict[bytes, int] = {}
    columns = [numbers.setdefault(column.tobytes(), len(numbers)) for column in there.T]
    if len(numbers) == len(columns):
        return function(there)
    return function(there[:, [columns.index(number) for number in range(len(numbers))]])[:, columns]


def aligned(columns: Sequence[Any], least: int) -> Any:
    """Return columns of booleans as a matrix of as many rows as the longest has, `least` at least: the last rows beside each other, False before them."""
    there = np.zeros((max(map(len, columns), default=least), len(columns)), dtype=bool)
    for place, column in enumerate(columns):
        there[len(there) - len(column) :, place] = column
    return there


def corrections(windows: Any, there: Any) -> Any:
    """Return the factors of the variances for the rows of columns, of which is said whether they have a value; NaN if pandas has none.

    `windows` makes pandas' windows of a matrix. Rows before the first value weigh nothing. Columns of values at the same rows, as are those
    without missing ones, have the same factors.
    """
    return of_distinct(partial(_factors, windows), there)


def _factors(windows: Any, there: Any) -> Any:
    values = np.where(
        there, np.cumsum(there, axis=0) % 2.0, np.nan
    )  # neighbours differ: the variance of several isn't 0
    made = windows(values)
    biased, corrected = made.var(bias=True).to_numpy(), made.var(bias=False).to_numpy()
    factors = np.where(corrected == 0, 1.0, np.nan)
    return np.divide(corrected, biased, out=factors, where=biased > 0)
