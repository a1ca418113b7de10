"""Aggregations of one column by group number. Where NumPy needs no more than one pass it is used, else pandas' kernels.

Each function gives what ``Series.groupby(...)`` gives for groups that all occur, in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.arrow.text import encode_text, is_text
from glassloom.dataframe.grouping.groups import Groups, take
from glassloom.dataframe.value_steps import is_float

Pair = tuple[int, str]
_SUMS = {"sum": "iuf", "floats": "iufb"}
"""The aggregations that are sums, and the kinds of numbers of which NumPy makes them."""


def aggregate(groups: Groups, column: Any, how: str, *, arrow: bool = True) -> Any:
    """Return an array with the value of each group.

    Parameters
    ----------
    groups
        The group of each row.
    column
        A series of as many rows.
    how
        ``size count sum prod min max first last any all``, ``floats`` (the sum as float), ``middle`` (the mean as float) or
        ``squares`` (the sum of squared distances from the mean).
    arrow
        Whether Arrow may encode text.
    """
    quick = _QUICK.get(how)
    found = quick(groups, column) if quick is not None else None
    if found is None and how in ("min", "max") and arrow and is_text(column.dtype):
        found = _extreme_text(groups, column, how)
    if found is None and how in ("min", "max") and column.dtype == object:
        rows = np.flatnonzero(column.notna().to_numpy())  # pandas 2 compares missing values with text
        return by_pandas(groups.codes[rows], groups.count, column.take(rows), how)
    return by_pandas(groups.codes, groups.count, column, how) if found is None else found


def aggregate_together(
    groups: Groups, columns: Mapping[Pair, Any], *, again: bool = False, needs_sizes: bool = False
) -> dict[Pair, Any]:
    """Return those of several aggregations that are made together: sums of plain numbers, and the number of rows.

    Parameters
    ----------
    groups
        The group of each row.
    columns
        Of each pair of a column's number and what is computed of it (see `aggregate`), the column.
    again
        Whether these are partial results (see `aggregate_again`).
    needs_sizes
        Whether the groups' sizes will be asked for; they are known afterwards then, if that costs little more.
    """
    summed = {pair: column.to_numpy() for pair, column in columns.items() if _is_summed(column, pair[1])}
    arrays: list[Any] = list(summed.values())
    if summed and needs_sizes and "sizes" not in vars(groups):
        arrays.append(None)
    if len(arrays) < 2:
        return {}
    found = groups.sums_of_columns(arrays, {place for place, (_, how) in enumerate(summed) if how == "floats"})
    made = dict(zip(summed, found, strict=False))  # without the sizes
    if again:
        return made
    for (place, how), values in summed.items():
        if values.dtype.kind == "f" and np.isnan(made[place, how]).any():
            made[place, how] = _sum_floats(groups, values)
        elif (place, "count") in columns:  # none is missing
            made[place, "count"] = groups.sizes
    return made


def are_quick_sums(columns: Mapping[Pair, Any]) -> bool:
    """Whether these aggregations are all sums of plain numbers, or numbers of rows: NumPy makes them of groups without rows, too."""
    return all(
        how == "size" or _is_summed(column, "floats" if how == "count" else how) for (_, how), column in columns.items()
    )


def _is_summed(column: Any, how: str) -> bool:
    if how not in _SUMS or not isinstance(column.dtype, np.dtype) or column.dtype.kind not in _SUMS[how]:
        return False
    return column.dtype.kind != "f" or column.dtype in (np.float64, np.float32)


def aggregate_again(groups: Groups, column: Any, how: str, *, arrow: bool = True) -> Any:
    """Return an array with the value of each group of partial results, as `aggregate` does: sums are NaN where a partial one is.

    That one had values which don't add, such as infinities of both signs.
    """
    if how not in ("sum", "prod") or not is_float(column.dtype):
        return aggregate(groups, column, how, arrow=arrow)
    if how == "sum" and column.dtype in (np.float64, np.float32):
        return groups.sums(_doubles(column.to_numpy()))
    found = aggregate(groups, column, how, arrow=arrow)
    missing = _missing(column)
    if missing is None:
        return found
    found = found.copy()
    lost = groups.codes[missing]
    found[lost[lost >= 0]] = np.nan if isinstance(column.dtype, np.dtype) else pd.NA
    return found


def by_pandas(codes: Any, count: int, column: Any, how: str) -> Any:
    """Return an array with what pandas' own kernel gives for each of `count` groups."""
    if how == "floats":
        column, how = _as_float(column), "sum"
    numbers = pd.Categorical.from_codes(codes, categories=pd.RangeIndex(count), validate=False)
    grouped = column.reset_index(drop=True).groupby(numbers, observed=False)
    if how == "middle":
        return _plain(grouped.mean())
    if how == "squares":
        return _plain(grouped.var(ddof=0)) * _plain(grouped.count())
    if (
        how == "sum" and column.dtype == object
    ):  # nothing can be added to pandas' 0 of groups without values, if they have texts
        return grouped.sum(min_count=1).array
    return getattr(grouped, how)().array


def _size(groups: Groups, column: Any) -> Any:
    return groups.sizes


def _values_count(groups: Groups, column: Any) -> Any:
    missing = _missing(column)
    return groups.sizes if missing is None else groups.counted(~missing)


def _missing(column: Any) -> Any:
    """Return where values are missing, or None if none is."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
        return None
    found = np.asarray(column.isna())
    return found if found.any() else None


def _sum(groups: Groups, column: Any) -> Any:
    """Return sums in 64 bits. Of 32-bit floats they are rounded when all are joined."""
    if not isinstance(column.dtype, np.dtype):
        return None
    values = column.to_numpy()
    if column.dtype in (np.float64, np.float32):
        return _sum_floats(groups, values)
    if column.dtype.kind in "iu":
        return groups.sums(values.astype(np.int64 if column.dtype.kind == "i" else np.uint64, copy=False))
    return None


def _sum_floats(groups: Groups, values: Any) -> Any:
    values = _doubles(values)
    sums = groups.sums(values)
    if np.isnan(sums).any():  # also of infinities
        sums = groups.sums(np.where(np.isnan(values), 0.0, values))
    return sums


def _doubles(values: Any) -> Any:
    return values.astype(np.float64, copy=False)


def _float_sum(groups: Groups, column: Any) -> Any:
    """Return sums as floats: they don't overflow."""
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iufb":
        return None
    return _sum_floats(groups, column.to_numpy())


def _as_float(column: Any) -> Any:
    """Return a nullable column as nullable floats of 64 bits; floats as they are."""
    if column.dtype.kind == "f":
        return column
    return column.astype("double[pyarrow]" if isinstance(column.dtype, pd.ArrowDtype) else "Float64")


def _middle(groups: Groups, column: Any) -> Any:
    values = _floats(column)
    if values is None:
        return None
    return _means(groups, values)[0]


def _squares(groups: Groups, column: Any) -> Any:
    values = _floats(column)
    if values is None:
        return None
    means, missing = _means(groups, values)
    distances = values - np.append(means, 0.0)[groups.codes]
    distances *= distances
    if missing is not None:
        distances[missing] = 0.0
    return groups.sums(distances)


def _means(groups: Groups, values: Any) -> tuple[Any, Any]:
    """Return the mean of each group, NaN for those without values; and which values are missing, or None."""
    missing = np.isnan(values)
    has_missing = bool(missing.any())
    counts = groups.counted(~missing) if has_missing else groups.sizes
    sums = groups.sums(np.where(missing, 0.0, values) if has_missing else values)
    means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return means, missing if has_missing else None


def _floats(column: Any) -> Any:
    """Return a column's values as floats of 64 bits; None if they aren't plain numbers."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or column.dtype.kind == "c":
        return None
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy().astype(np.float64, copy=False)
    return column.array.to_numpy(dtype=np.float64, na_value=np.nan)


def _plain(column: Any) -> Any:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _first(groups: Groups, column: Any) -> Any:
    return _at_rows(groups, column, slice(None, None, -1))


def _last(groups: Groups, column: Any) -> Any:
    return _at_rows(groups, column, slice(None))


def _at_rows(groups: Groups, column: Any, direction: slice) -> Any:
    """Return of each group the value of the row that comes last in a direction and isn't missing."""
    if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype == object:
        return None
    missing = _missing(column)
    rows = np.arange(len(column)) if missing is None else np.flatnonzero(~missing)
    chosen = np.full(groups.count + 1, -1, np.intp)
    rows = rows[direction]
    chosen[groups.codes[rows]] = rows
    return take(column.array, chosen[:-1])


def _smallest(groups: Groups, column: Any) -> Any:
    return _extreme(groups, column, np.minimum)


def _largest(groups: Groups, column: Any) -> Any:
    return _extreme(groups, column, np.maximum)


def _extreme(groups: Groups, column: Any, better: Any) -> Any:
    """Return the smallest or largest numbers; None if the values aren't plain numbers, or some are missing."""
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iuf" or not groups.count:
        return None
    values = column.to_numpy()
    if column.dtype.kind == "f" and np.isnan(values).any():
        return None
    return groups.extreme(better, values)


def _extreme_text(groups: Groups, column: Any, how: str) -> Any:
    """Return the first or last text in the order of the alphabet: by the ranks of the distinct ones."""
    encoded = encode_text(column, sort=True)
    assert encoded is not None
    codes, values = encoded
    kept = (codes >= 0) & (groups.codes >= 0)
    if how == "min":
        best = np.full(groups.count, len(values), np.intp)
        np.minimum.at(best, groups.codes[kept], codes[kept])
        best[best == len(values)] = -1
    else:
        best = np.full(groups.count, -1, np.intp)
        np.maximum.at(best, groups.codes[kept], codes[kept])
    return take(values, best)


_QUICK: dict[str, Callable[[Groups, Any], Any]] = {
    "size": _size,
    "count": _values_count,
    "sum": _sum,
    "floats": _float_sum,
    "middle": _middle,
    "squares": _squares,
    "first": _first,
    "last": _last,
    "min": _smallest,
    "max": _largest,
}
