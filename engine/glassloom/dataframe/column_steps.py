"""Steps of reductions beyond sums: moments up to the fourth, where extremes lie, means of times, sums of at least n values.

Each step is ``chunk(column, options)``, ``combine(cells, options)`` and ``finish(cell, dtype, options)``; the last returns
a series of one value. Moments are joined as in Pébay, "Formulas for robust, one-pass parallel computation of covariances
and arbitrary-order statistical moments" (2008).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.backends.pandas_ import concat
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.value_steps import is_float

Powers = tuple[int, float, float, float, float, float]
"""Number, about the mean, what it lacks, sums of second to fourth powers. Of large values that differ little, a mean of one number isn't
exact enough."""
_EQUAL_VALUES = [1.0] * 4
"""pandas has said 0 or NaN of the skewness of equal values, depending on its version."""
_CORRECTS_ARROW = PANDAS_VERSION >= (3, 1)
"""Whether pandas has the skewness of Arrow's columns without bias, as that of all others; before, it has that of PyArrow."""


def values_of(column: Any, options: dict[str, Any]) -> Any:
    """Return the values of a column as floats, without the missing ones unless ``skipna`` is false: often the column's own."""
    kind = column.dtype.kind
    values = column.to_numpy(dtype="complex128" if kind == "c" else "float64", na_value=np.nan)
    if options.get("skipna", True) and not (kind in "iu" and isinstance(column.dtype, np.dtype)):
        missing = np.isnan(values)
        if missing.any():
            is_of_arrow = kind == "f" and isinstance(column.dtype, pd.ArrowDtype)  # where NaN isn't missing
            return values[~column.isna().to_numpy()] if is_of_arrow else values[~missing]
    return values


def of_objects(chunk: Callable[..., Any], column: Any, options: dict[str, Any]) -> Any:
    """Return what the chunk of a reduction makes of a column of objects that are numbers, or missing."""
    return chunk(_numbers(column), options)


def numbers_of_objects(block: Any) -> Any:
    """Return a frame or series with floats in place of objects; the same one if there are none.

    Raises
    ------
    TypeError
        If an object is no number, such as text or a time, which isn't read as one.
    """
    if isinstance(block, pd.Series):
        return _numbers(block) if pd.api.types.is_object_dtype(block.dtype) else block
    made = block
    for place, dtype in enumerate(block.dtypes):
        if pd.api.types.is_object_dtype(dtype):
            made = made.copy(deep=False) if made is block else made
            column: Any = _numbers(block.iloc[:, place])
            made.isetitem(place, column)
    return made


def _numbers(column: Any) -> Any:
    values = column.to_numpy()
    for value in values:
        if isinstance(value, (str, bytes, np.datetime64, np.timedelta64)):
            raise TypeError(f"Could not convert {value!r} to numeric, in column {column.name!r}")
    missing = column.isna().to_numpy()
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = values[~missing].astype("float64")
    return pd.Series(numbers, index=column.index, name=column.name)


def powers(column: Any, options: dict[str, Any]) -> Powers:
    """Return the powers of the distances from the mean."""
    values = values_of(column, options)
    return _powers(values) if len(values) else (0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _powers(values: Any) -> Powers:
    about = float(values.mean())
    apart = values - about
    rest = float(apart.mean())
    apart -= rest
    squares = apart * apart
    sums = float(squares.sum()), float((squares * apart).sum()), float((squares * squares).sum())
    return (len(values), about, rest, *sums)


def joined_powers(cells: list[Powers], options: dict[str, Any]) -> Powers:
    """Return the powers of all values."""
    first, *rest = [cell for cell in cells if cell[0]] or cells[:1]
    for other in rest:
        first = _joined(first, other)
    return first


def _joined(one: Powers, other: Powers) -> Powers:
    na, about_a, rest_a, a2, a3, a4 = one
    nb, about_b, rest_b, b2, b3, b4 = other
    n = na + nb
    d = (about_b - about_a) + (rest_b - rest_a)
    second = a2 + b2 + d**2 * na * nb / n
    third = a3 + b3 + d**3 * na * nb * (na - nb) / n**2 + 3 * d * (na * b2 - nb * a2) / n
    fourth = (
        a4 + b4 + d**4 * na * nb * (na**2 - na * nb + nb**2) / n**3
        + 6 * d**2 * (na**2 * b2 + nb**2 * a2) / n**2 + 4 * d * (na * b3 - nb * a3) / n
    )  # fmt: skip
    return (n, about_a, rest_a + d * nb / n, second, third, fourth)


def skewness(cell: Powers, dtype: Any, options: dict[str, Any]) -> Any:
    """Return the skewness as pandas has it: without bias."""
    n, mean, _, second, third, _ = cell
    is_biased = not _CORRECTS_ARROW and isinstance(dtype, pd.ArrowDtype)
    if n < (1 if is_biased else 3) or np.isnan(third):
        return _float(np.nan, dtype)
    if _is_noise(second, n, mean):
        return _of_equal_values("skew", dtype)
    scale = n**0.5 if is_biased else n * (n - 1) ** 0.5 / (n - 2)
    return _float(scale * third / second**1.5, dtype)


def kurtosis(cell: Powers, dtype: Any, options: dict[str, Any]) -> Any:
    """Return the excess kurtosis, without bias, as pandas has it."""
    n, mean, _, second, _, fourth = cell
    if n < 4 or np.isnan(fourth):
        return _float(np.nan, dtype)
    if _is_noise(second, n, mean):
        return _of_equal_values("kurt", dtype)
    scale = (n - 2) * (n - 3)
    return _float(n * (n + 1) * (n - 1) * fourth / (scale * second**2) - 3 * (n - 1) ** 2 / scale, dtype)


def _of_equal_values(how: str, dtype: Any) -> Any:
    if not isinstance(dtype, pd.ArrowDtype):
        return _float(getattr(pd.Series(_EQUAL_VALUES), how)(), dtype)
    column = pd.Series(_EQUAL_VALUES, dtype="double[pyarrow]").to_frame()
    return getattr(column, how)()  # which is NaN, and not missing


def _is_noise(second: float, n: int, mean: float) -> bool:
    """Whether all values are equal but for rounding."""
    return bool(second <= n * (np.finfo("float64").eps * abs(mean)) ** 2)


def _float(value: float, dtype: Any) -> Any:
    return pd.Series([value], dtype=float_dtype(dtype))


def float_dtype(dtype: Any) -> Any:
    """Return NumPy's dtype of the mean and the moments of a column of floats, nullable ones too; None for a column of another dtype."""
    plain: Any = getattr(dtype, "numpy_dtype", None) if isinstance(dtype, BaseMaskedDtype) else dtype
    return plain if isinstance(plain, np.dtype) and plain.kind == "f" else None


# Where the extremes lie: a series of one value, under its label.


def extreme(how: str, column: Any, options: dict[str, Any]) -> Any:
    """Return the row of the smallest or largest value; of none if all are missing."""
    filled = column.dropna()
    if not options.get("skipna", True) and len(filled) < len(column):
        return column[column.isna()].iloc[:1]
    place = (filled.argmin() if how == "idxmin" else filled.argmax()) if len(filled) else 0
    return filled.iloc[place : place + 1]


def joined_extremes(how: str, cells: list[Any], options: dict[str, Any]) -> Any:
    """Return the row of the smallest or largest of all values."""
    return extreme(how, concat(cells), options)


def label_of_extreme(how: str, cell: Any, dtype: Any, options: dict[str, Any]) -> Any:
    """Return the label; what pandas does where all values are missing."""
    source = cell if len(cell) else pd.Series([None], dtype=dtype)
    label = getattr(source, how)(**options)
    has_label = len(cell) > 0 and bool(cell.notna().all()) and cell.index.dtype != object
    return pd.Series([label], dtype=cell.index.dtype if has_label else None)


# Means of times, as whole numbers: the sum of many doesn't fit into 64 bits.


def time_sums(column: Any, options: dict[str, Any]) -> tuple[int, int]:
    """Return number and sum; None for the sum if one is missing and they aren't skipped."""
    missing = column.isna().to_numpy()
    numbers = column.astype("int64").to_numpy() if not missing.any() else column[~missing].astype("int64").to_numpy()
    if missing.any() and not options.get("skipna", True):
        return (-1, 0)
    high, low = numbers >> 32, numbers & 0xFFFFFFFF
    return (len(numbers), (int(high.sum()) << 32) + int(low.sum()))


def joined_time_sums(cells: list[tuple[int, int]], options: dict[str, Any]) -> tuple[int, int]:
    """Return number and sum of all."""
    if any(count < 0 for count, _ in cells):
        return (-1, 0)
    return (sum(count for count, _ in cells), sum(total for _, total in cells))


def time_mean(cell: tuple[int, int], dtype: Any, options: dict[str, Any]) -> Any:
    """Return the mean, missing if there is none."""
    count, total = cell
    if count < 1:
        return pd.Series([pd.NaT], dtype=dtype)
    towards_zero = total // count if total >= 0 else -(-total // count)  # as pandas rounds
    return pd.Series([towards_zero], dtype="int64").astype(dtype)


def time_moments(column: Any, options: dict[str, Any]) -> Powers:
    """Return the powers of times or durations as numbers."""
    missing = column.isna()
    numbers = column[~missing].astype("int64").astype("float64")
    if missing.any() and not options.get("skipna", True):
        numbers = pd.Series([np.nan])
    return powers(numbers, options)


def time_deviation(cell: Powers, dtype: Any, options: dict[str, Any]) -> Any:
    """Return the standard deviation as a duration of the same unit."""
    n, _, _, second, _, _ = cell
    free = n - options.get("ddof", 1)
    kind = _durations_of(dtype)
    if free <= 0 or np.isnan(second):
        return pd.Series([pd.NaT], dtype=kind)
    return pd.Series([int((second / free) ** 0.5)], dtype="int64").astype(kind)


def _durations_of(dtype: Any) -> Any:
    """Return the dtype of durations that have the unit of times or durations."""
    if isinstance(dtype, pd.ArrowDtype):
        return pd.ArrowDtype(pa.duration(dtype.pyarrow_dtype.unit))
    return f"timedelta64[{getattr(dtype, 'unit', None) or np.datetime_data(dtype)[0]}]"


# Sums and products of at least so many values.


def counted(how: str, column: Any, options: dict[str, Any]) -> tuple[int, Any]:
    """Return how many values count, and what they make."""
    skipna = options.get("skipna", True)
    value = getattr(column, how)(skipna=skipna)
    return (int(column.count()) if skipna else len(column), pd.Series([value]) if not _is_none(value) else value)


def _is_none(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT


def joined_counted(how: str, cells: list[tuple[int, Any]], options: dict[str, Any]) -> tuple[int, Any]:
    """Return the same of all values."""
    missing = [value for _, value in cells if _is_none(value)]
    count = sum(count for count, _ in cells)
    if missing:
        return (count, missing[0])
    whole = concat([value for _, value in cells])
    skipna = options.get("skipna", True) and not is_float(whole.dtype)
    return (count, pd.Series([getattr(whole, how)(skipna=skipna)]))


def enough_counted(how: str, cell: tuple[int, Any], dtype: Any, options: dict[str, Any]) -> Any:
    """Return the value if enough count; else what pandas has for too few."""
    count, value = cell
    if count < options["min_count"]:
        few = getattr(pd.Series([], dtype=dtype), how)(min_count=1)
        return pd.Series([few], dtype=dtype if _is_none(few) else None)
    return pd.Series([value], dtype=dtype) if _is_none(value) else value


STEPS: dict[str, tuple[Any, Any, Any]] = {
    "skew": (powers, joined_powers, skewness),
    "kurt": (powers, joined_powers, kurtosis),
    **{how: (partial(extreme, how), partial(joined_extremes, how), partial(label_of_extreme, how)) for how in ("idxmin", "idxmax")},
}  # fmt: skip
OF_TIMES: dict[str, tuple[Any, Any, Any]] = {
    "mean": (time_sums, joined_time_sums, time_mean),
    "std": (time_moments, joined_powers, time_deviation),
}
WITH_MIN_COUNT: dict[str, tuple[Any, Any, Any]] = {
    how: (partial(counted, how), partial(joined_counted, how), partial(enough_counted, how)) for how in ("sum", "prod")
}
