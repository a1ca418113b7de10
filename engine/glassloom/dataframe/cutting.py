"""`cut` and `qcut`: into which of some intervals each value falls. Edges that depend on the values are found out at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.collection import compute
from glassloom.dataframe.argument_kinds import collection_of
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.assembled import assembled
from glassloom.dataframe.keys_at_hand import is_lazy_scalar, key_at_hand
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.wrap import is_node, operate

_PANDAS_CUT: Any = pd.cut


@with_function_arguments()
def cut(x: Any, bins: Any, right: bool = True, labels: Any = None, retbins: bool = False, precision: int = 3,
        include_lowest: bool = False, duplicates: str = "raise", ordered: bool = True) -> Any:  # fmt: skip
    """Return into which of some intervals each value falls.

    Parameters
    ----------
    x
        A lazy series.
    bins
        The edges, which are computed now if they are lazy; or a number of intervals of equal length, for which the series' smallest and
        largest value are computed now.
    right, labels, precision, include_lowest, duplicates, ordered
        As pandas. With ``labels=False`` and given edges the dtype depends on whether a value is outside of all: ``dtype`` says what it is
        if none is, until it is computed.
    retbins
        Whether to return the edges too.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> ages = gd.from_pandas(pd.Series([3, 31, 59, 63]), npartitions=2)
    >>> gd.cut(ages, 2, labels=["young", "old"]).compute().tolist()
    ['young', 'young', 'old', 'old']
    """
    series, bins = _lazy_series("cut", x), _at_hand(bins)
    labels = _at_hand(labels)
    options: dict[str, Any] = {
        "right": right,
        "labels": labels,
        "precision": precision,
        "include_lowest": include_lowest,
    }
    options |= {"duplicates": duplicates, "ordered": ordered}
    if isinstance(bins, (int, np.integer)):
        ends, has_missing = _ends(series)
        _, edges = _PANDAS_CUT(ends, bins, retbins=True, **{**options, "labels": False})
        made = _cut(series, edges, options, "cut", has_missing)
    else:
        edges = bins if isinstance(bins, pd.IntervalIndex) else collection_of("cut", "bins", bins, "edges, or a number")
        made = operate(pd.cut, series, edges, kwargs=options, label="cut")
    if not retbins:
        return made
    return made, edges if isinstance(bins, (int, np.integer)) else _returned_edges(series, edges, options)


@with_function_arguments()
def qcut(x: Any, q: Any, labels: Any = None, retbins: bool = False, precision: int = 3, duplicates: str = "raise") -> Any:  # fmt: skip
    """Return into which of some intervals with equally many values each value falls. The edges are computed now, exactly.

    Parameters
    ----------
    x
        A lazy series.
    q
        The number of intervals, or a list of fractions: ``[0, 0.25, 0.5, 0.75, 1]`` for quarters.
    labels, precision, duplicates
        As pandas.
    retbins
        Whether to return the edges too.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> prices = gd.from_pandas(pd.Series([1, 2, 30, 400]), npartitions=2)
    >>> gd.qcut(prices, 2, labels=False).compute().tolist()
    [0, 0, 1, 1]
    """
    series, q, labels = _lazy_series("qcut", x), _at_hand(q), _at_hand(labels)
    dtype = series.dtype
    is_nullable = not isinstance(dtype, np.dtype) and pd.api.types.is_numeric_dtype(dtype)
    values = series.astype("float64") if is_nullable or dtype == np.dtype(bool) else series
    fractions = np.linspace(0, 1, q + 1) if isinstance(q, (int, np.integer)) else np.asarray(q)
    found, has_missing = compute(values.quantile(fractions.tolist()), values.isna().any())
    edges = pd.Index(found)
    options = {"labels": labels, "precision": precision, "duplicates": duplicates}
    if edges.isna().all():  # there are no values
        made = operate(pd.qcut, series, q, kwargs=options, label="qcut")
        return (made, edges.to_numpy()) if retbins else made
    if edges.hasnans:
        raise ValueError(f"qcut: infinite values have no quantiles between them; the edges are {edges.tolist()}")
    options["include_lowest"] = True
    made = _cut(series, edges, options, "qcut", bool(has_missing))
    return (made, _returned_edges(series, edges, options)) if retbins else made


def _cut(series: Any, edges: Any, options: dict[str, Any], label: str, has_missing: bool) -> Any:
    """Return the intervals of values, of which it is known whether any is missing: then numbers of intervals are floats."""
    if options["labels"] is False and has_missing:
        return operate(_cut_to_floats, series, edges, kwargs=options, label=label)
    return operate(pd.cut, series, edges, kwargs=options, label=label)


def _cut_to_floats(block: Any, edges: Any, **options: Any) -> Any:
    return _PANDAS_CUT(block, edges, **options).astype("float64")


def _lazy_series(function: str, x: Any) -> Any:
    if not is_node(x) or not isinstance(x.expr.meta, pd.Series):
        raise TypeError(
            f"{function} takes a lazy series, got {type(x).__name__}; of other values use pandas.{function}"
        )
    return x


def _at_hand(edges: Any) -> Any:
    """Return a number of bins, edges or labels that are lazy as pandas objects, computed now."""
    if is_node(edges) and not is_lazy_scalar(edges):
        return edges.compute()
    return key_at_hand(edges) if is_lazy_scalar(edges) else edges


def _ends(series: Any) -> tuple[Any, bool]:
    """Return the least and the largest value as a series, as which pandas finds the same edges, and whether a value is missing.

    The series is empty if there are no rows.
    """
    low, high, count, filled = compute(series.min(), series.max(), series.size, series.count())
    return pd.Series([low, high] if count else [], dtype=series.dtype), bool(filled < count)


def _returned_edges(series: Any, edges: Any, options: dict[str, Any]) -> Any:
    return pd.cut(series._meta, edges, retbins=True, **options)[1]


def counts_of_bins(series: Any, bins: Any, *, normalize: bool, sort: bool, ascending: bool, dropna: bool) -> Any:
    """Return how many values of a lazy series are in each interval; see `Series.value_counts`."""
    dtype = series.dtype
    are_times = pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype)
    if not are_times and not pd.api.types.is_numeric_dtype(dtype):
        raise TypeError(f"bins argument only works with numeric data, not {dtype}")
    counts = cut(series, bins, include_lowest=True).value_counts(sort=False, dropna=dropna)
    finish = partial(_of_bins, normalize, sort, ascending, dropna)
    meta = finish(counts._meta, 1)
    return assembled(finish, [counts.expr, Length(series.expr)], "value-counts", meta)


def _of_bins(normalize: bool, sort: bool, ascending: bool, dropna: bool, counts: Any, rows: int) -> Any:
    known = counts[counts.index.notna()]
    known.index = known.index.astype("interval").rename(None)
    known = known.sort_index()
    if dropna and not known.any():
        known = known.iloc[:0]
    known = known.sort_values(ascending=ascending, kind="stable") if sort else known
    return (known / rows).rename("proportion") if normalize else known
