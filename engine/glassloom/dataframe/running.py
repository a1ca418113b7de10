"""Aggregations of all rows up to each one: what a partition hands on to the next, and how the next goes on from it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

_PLAIN = frozenset(type(np.dtype(kind)) for kind in "?bhilqBHILQefd")
"""Dtypes of columns that are made floats all at once."""


class State(NamedTuple):
    """An aggregation of expanding windows: its name, how many values it needs, and its options."""

    how: str
    min_periods: int
    options: dict[str, Any]


class Moments(NamedTuple):
    """Number of rows; of each column: number of values, infinite ones among them, and of finite values the number, sum, mean,
    sum of squared distances from the mean, smallest and largest: pandas takes infinite ones for missing, unless it counts.
    """

    rows: int
    values: Any
    count: Any
    total: Any
    mean: Any
    squares: Any
    low: Any
    high: Any


def state_of(block: Any) -> Moments | None:
    """Return what a partition hands on; None if it has no rows."""
    if not len(block):
        return None
    values = values_of(block)
    n_values = (~np.isnan(values)).sum(axis=0).astype("float64")
    values = finite(values)
    count = (~np.isnan(values)).sum(axis=0).astype("float64")
    total = np.nansum(values, axis=0)
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    squares = np.nansum((values - mean) ** 2, axis=0)
    low = np.fmin.reduce(values, axis=0, initial=np.inf)
    high = np.fmax.reduce(values, axis=0, initial=-np.inf)
    return Moments(len(block), n_values, count, total, mean, squares, low, high)


def state_together(states: list[Moments]) -> Moments:
    """Return what partitions hand on together (Chan, Golub and LeVeque 1979)."""
    first, *rest = states
    for other in rest:
        first = _joined(first, other)
    return first


def _joined(one: Moments, other: Moments) -> Moments:
    count = one.count + other.count
    share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
    apart = other.mean - one.mean
    return Moments(
        one.rows + other.rows,
        one.values + other.values,
        count,
        one.total + other.total,
        np.where(one.count > 0, one.mean + apart * share, other.mean),
        one.squares + other.squares + np.where((one.count > 0) & (other.count > 0), apart**2 * one.count * share, 0.0),
        np.fmin(one.low, other.low),
        np.fmax(one.high, other.high),
    )


def with_state(state: State, block: Any, before: Moments | None = None) -> Any:
    """Return the expanding aggregation of a partition, after what the partitions before hand on."""
    how, min_periods, options = state
    if before is None or not len(block):
        return getattr(block.expanding(min_periods), how)(**options)
    if options.get("numeric_only") and isinstance(block, pd.DataFrame):
        raise_if_dropped(block)
    values = values_of(block)
    n_values = np.cumsum(~np.isnan(values), axis=0) + before.values
    if how == "count":  # pandas asks whether there are enough rows, those without value among them
        n_rows = np.arange(1, len(block) + 1) + before.rows
        made = np.where((n_rows >= min_periods)[:, None], n_values, np.nan)
    else:
        values, ddof = finite(values), options.get("ddof", 1)
        count = np.cumsum(~np.isnan(values), axis=0) + before.count
        made = _RESULTS["std" if how == "sem" else how](values, count, before, ddof)
        least = min_periods if how == "sum" else max(min_periods, 1)  # the sum of no values is 0, where none is needed
        made = np.where(count >= least, made, np.nan)
        made = _error_of_mean(made, n_values, ddof) if how == "sem" else made
    if isinstance(block, pd.Series):
        return pd.Series(made[:, 0], index=block.index, name=block.name)
    return pd.DataFrame(made, index=block.index, columns=block.columns)


def raise_if_dropped(block: Any) -> None:
    """Check that `numeric_only` leaves no column out.

    Raises
    ------
    NotImplementedError
        If it does.
    """
    dropped = [name for name, dtype in block.dtypes.items() if not pd.api.types.is_numeric_dtype(dtype)]
    if dropped:
        raise NotImplementedError(f"expanding(...)(numeric_only=True) with {dropped!r}: choose the columns before")


def finite(values: Any) -> Any:
    """Return numbers with NaN for infinite ones, which windows of pandas take for missing."""
    return np.where(np.isfinite(values), values, np.nan)


def values_of(block: Any) -> Any:
    """Return a partition's columns, or a series, as a matrix of floats with NaN for what is missing."""
    if isinstance(block, pd.DataFrame) and all(type(dtype) in _PLAIN for dtype in block.dtypes.array):
        return block.to_numpy(dtype="float64")
    columns = [block] if isinstance(block, pd.Series) else [block.iloc[:, place] for place in range(block.shape[1])]
    arrays = [_floats(column) for column in columns]
    return np.stack(arrays, axis=1) if arrays else np.empty((len(block), 0))


def _floats(column: Any) -> Any:
    if column.dtype.kind not in "mM":
        return column.to_numpy(dtype="float64", na_value=np.nan)
    return np.where(column.isna(), np.nan, column.astype("int64").to_numpy(dtype="float64"))


def _sum(values: Any, count: Any, before: Moments, ddof: int) -> Any:
    return np.nancumsum(values, axis=0) + before.total


def _mean(values: Any, count: Any, before: Moments, ddof: int) -> Any:
    return np.divide(_sum(values, count, before, ddof), count, out=np.full(values.shape, np.nan), where=count > 0)


def _min(values: Any, count: Any, before: Moments, ddof: int) -> Any:
    return np.fmin(np.fmin.accumulate(values, axis=0), before.low)


def _max(values: Any, count: Any, before: Moments, ddof: int) -> Any:
    return np.fmax(np.fmax.accumulate(values, axis=0), before.high)


def _var(values: Any, count: Any, before: Moments, ddof: int) -> Any:
    own = pd.DataFrame(values).expanding(1)
    own_count = count - before.count
    mean = own.mean().to_numpy()
    squares = np.nan_to_num(own.var(ddof=0).to_numpy()) * own_count
    apart = np.where(before.count > 0, np.nan_to_num(mean - before.mean), 0.0)
    share = np.divide(own_count, count, out=np.zeros(values.shape), where=count > 0)
    free = count - ddof
    joined = before.squares + squares + apart**2 * before.count * share
    return np.divide(joined, free, out=np.full(values.shape, np.nan), where=free > 0)


def _std(values: Any, count: Any, before: Moments, ddof: int) -> Any:
    return np.sqrt(_var(values, count, before, ddof))


def _error_of_mean(deviation: Any, n_values: Any, ddof: int) -> Any:
    divisor = n_values if HAS_COPY_ON_WRITE else np.maximum(n_values - ddof, 0)  # pandas' own formula until version 3
    return np.divide(deviation, np.sqrt(divisor), out=np.full(deviation.shape, np.nan), where=divisor > 0)


_RESULTS = {
    "sum": _sum,
    "mean": _mean,
    "min": _min,
    "max": _max,
    "var": _var,
    "std": _std,
}
