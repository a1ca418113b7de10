"""Exact quantiles and medians, in two passes and without sorting all values in one place.

In the first pass each partition sorts its values and sends a few hundred of them, at known places. Together they bound
where each wanted value lies. In the second pass partitions count what is below the bounds, and send what is between.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.backends.pandas_ import sample
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.widening import can_miss_nothing, is_narrowing
from glassloom.errors import OptionError

_SENT = 256
"""Values that a partition sends in the first pass."""
_MOST_COMPARED = 16
"""With more bounds, sorting the values once takes less time than comparing all of them with each."""


class Wanted(NamedTuple):
    """What is asked for: a method of pandas' series, ``quantile`` or ``median``, and its arguments."""

    how: str
    fractions: tuple[float, ...]
    interpolation: str
    skipna: bool


class _Grid(NamedTuple):
    """Some of a partition's sorted values: those at `places`. `total` is how many there are, `missing` are not."""

    total: int
    missing: int
    places: Any
    values: Any


class Bounds(NamedTuple):
    """For each wanted rank the values between which it lies, both included, and the number of values and missing ones."""

    total: int
    missing: int
    lows: Any
    highs: Any


def column_quantiles(series: FrameExpr, wanted: Wanted, split_every: int | None = None) -> FrameExpr:
    """Return the node of the quantiles of a series: a series by fraction for several, else a scalar.

    Raises
    ------
    OptionError
        If a fraction isn't between 0 and 1.
    TypeError
        If the values are categories.
    """
    if isinstance(series.meta.dtype, pd.CategoricalDtype):
        raise TypeError(
            f"{wanted.how} of categories isn't supported (column {series.meta.name!r}); of an ordered one take "
            "the quantile of its .cat.codes, with interpolation='lower'"
        )
    for fraction in wanted.fractions:
        if not 0 <= fraction <= 1:
            raise OptionError(f"q={fraction!r} should be between 0 and 1")
    is_bool = series.meta.dtype == np.dtype(bool)  # pandas has quantiles of none: it objects when there are values
    meta = _of_pandas(sample(series.meta).astype("float64") if is_bool else sample(series.meta), wanted)
    grids = Operation(_grid, _flat, partial(_bounds, wanted))
    bounds = tree(series, grids, None, f"{wanted.how}-bounds", split_every=split_every)
    between = Operation(partial(_between), _joined, partial(_picked, wanted, series.meta))
    return tree(series, between, meta, wanted.how, others=(bounds,), split_every=split_every)


def _of_pandas(series: Any, wanted: Wanted) -> Any:
    if wanted.how == "median":
        return series.median(skipna=wanted.skipna)
    return series.quantile(list(wanted.fractions), interpolation=wanted.interpolation)


def _numbers(block: Any) -> tuple[Any, int]:
    """Return the values that aren't missing as a NumPy array, and the number of those that are."""
    missing = block.isna().to_numpy()
    some = block[~missing] if missing.any() else block
    if some.dtype.kind in "mM":
        values = some.astype("int64").to_numpy()
    else:
        values = some.to_numpy(dtype=getattr(some.dtype, "numpy_dtype", None))
    return values, int(missing.sum())


def _grid(block: Any) -> list[_Grid]:
    values, missing = _numbers(block)
    values = np.sort(values)
    count = len(values)
    if not count:
        return [_Grid(0, missing, values, values)] if missing else []
    places = np.unique(np.linspace(0, count - 1, min(_SENT, count)).astype("int64"))
    return [_Grid(count, missing, places, values[places])]


def _flat(lists: list[list[Any]]) -> list[Any]:
    return [item for one in lists for item in one]


def _bounds(wanted: Wanted, lists: list[list[_Grid]]) -> Bounds:
    grids = _flat(lists)
    filled = [grid for grid in grids if grid.total]
    count, missing = sum(grid.total for grid in grids), sum(grid.missing for grid in grids)
    if not filled:
        return Bounds(0, missing, np.empty(0), np.empty(0))
    candidates = np.unique(np.concatenate([grid.values for grid in filled]))
    below_at_most = np.zeros(len(candidates), dtype="int64")
    upto_at_least = np.zeros(len(candidates), dtype="int64")
    for grid in filled:
        left = np.searchsorted(grid.values, candidates, side="left")
        right = np.searchsorted(grid.values, candidates, side="right")
        ends = np.append(grid.places, grid.total)
        below_at_most += np.where(left > 0, ends[left], 0)
        upto_at_least += np.where(right > 0, grid.places[np.maximum(right - 1, 0)] + 1, 0)
    ranks = np.array(_ranks(wanted, count))
    lows = np.searchsorted(below_at_most, ranks, side="right") - 1
    highs = np.searchsorted(upto_at_least, ranks + 1, side="left")
    return Bounds(count, missing, candidates[np.maximum(lows, 0)], candidates[np.minimum(highs, len(candidates) - 1)])


def _ranks(wanted: Wanted, count: int) -> list[int]:
    """Return the places, in sorted order, of the values that are asked for: two for each fraction."""
    ranks: list[int] = []
    for fraction in wanted.fractions:
        place = (count - 1) * fraction
        ranks += [int(np.floor(place)), min(int(np.floor(place)) + 1, count - 1)]
    return ranks


class _Between(NamedTuple):
    bounds: Bounds
    below: Any
    values: list[Any]
    counts: list[Any]


def _between(block: Any, bounds: Bounds) -> _Between:
    values, _ = _numbers(block)
    pairs = list(zip(bounds.lows, bounds.highs, strict=True)) if bounds.total else []
    if len(pairs) > _MOST_COMPARED:
        values = np.sort(values)
        starts = np.searchsorted(values, bounds.lows, side="left")
        ends = np.searchsorted(values, bounds.highs, side="right")
        parts = [np.unique(values[start:end], return_counts=True) for start, end in zip(starts, ends, strict=True)]
    else:
        starts = np.array([np.count_nonzero(values < low) for low, _ in pairs], dtype="int64")
        parts = [np.unique(values[(values >= low) & (values <= high)], return_counts=True) for low, high in pairs]
    return _Between(bounds, starts, [part[0] for part in parts], [part[1] for part in parts])


def _joined(parts: list[_Between]) -> _Between:
    some = [part for part in parts if part is not None]
    below = sum((part.below for part in some[1:]), some[0].below)
    values = [np.concatenate(column) for column in zip(*[part.values for part in some], strict=True)]
    counts = [np.concatenate(column) for column in zip(*[part.counts for part in some], strict=True)]
    return _Between(some[0].bounds, below, values, counts)


def _picked(wanted: Wanted, known: Any, parts: list[_Between]) -> Any:
    """Return what pandas makes of the two values beside each wanted place."""
    whole = _joined(parts)
    bounds = whole.bounds
    if not bounds.total or not wanted.fractions or (bounds.missing and not wanted.skipna):
        dtype = "float64" if bounds.missing and can_miss_nothing(known.dtype) else known.dtype
        return _of_pandas(pd.Series([None] if bounds.missing else [], dtype=dtype, name=known.name), wanted)
    found = [
        _value_at(rank - below, values, counts)
        for rank, below, values, counts in zip(
            _ranks(wanted, bounds.total), whole.below, whole.values, whole.counts, strict=True
        )
    ]
    pairs = list(zip(found[::2], found[1::2], strict=True))
    if wanted.how == "median":
        return _series(pairs[0] if bounds.total % 2 == 0 else pairs[0][:1], known).median()
    made = [
        _quantile(pair, fraction, bounds, wanted, known) for pair, fraction in zip(pairs, wanted.fractions, strict=True)
    ]
    joined = pd.concat(made) if len(made) > 1 else made[0]
    joined.index = pd.Index(list(wanted.fractions), dtype="float64")
    return joined.rename(known.name)


def _quantile(pair: Any, fraction: float, bounds: Bounds, wanted: Wanted, known: Any) -> Any:
    place = (bounds.total - 1) * fraction
    part = place - np.floor(place)
    if wanted.interpolation == "nearest":  # NumPy rounds half to even places
        part = float(np.round(place) - np.floor(place))
    values = _series(pair, known)
    if bounds.missing and isinstance(known.dtype, BaseMaskedDtype):  # whose dtype pandas keeps then, and only then
        values = pd.concat([values, pd.Series([pd.NA], dtype=known.dtype)])
    return values.quantile([part], interpolation=wanted.interpolation)


def _value_at(place: int, values: Any, counts: Any) -> Any:
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts[order])
    return values[order][int(np.searchsorted(ends, place, side="right"))]


def _series(values: Sequence[Any], known: Any) -> Any:
    made = pd.Series(np.array(values), name=known.name)
    are_floats = made.dtype.kind == "f" and is_narrowing(
        made.dtype, known.dtype
    )  # of a partition alone, as replace() makes them
    return made if made.dtype == known.dtype or are_floats else made.astype(known.dtype)


def fractions_of(q: Any) -> tuple[tuple[float, ...], bool]:
    """Return the fractions of an argument `q`, and whether it is a list."""
    if pd.api.types.is_list_like(q):
        return tuple(float(one) for one in q), True
    return (float(q),), False
