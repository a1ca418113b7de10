"""Reductions of a column's values to one of their kind: sums, products and extremes, and which values needn't add or compare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.backends.pandas_ import concat


def _series_of_value(value: Any, dtype: Any) -> Any:
    """Return a series of one value, whose dtype fits the value."""
    if pd.api.types.is_object_dtype(dtype):  # as it is: pandas would make text of text, and numbers of numbers
        return pd.Series([value], dtype=object)
    is_arrow_time = (
        isinstance(dtype, pd.ArrowDtype) and dtype.kind in "mM"
    )  # pandas' own beside a missing one are objects, before 3.1
    if value is None or value is pd.NA or value is pd.NaT or is_arrow_time or pd.api.types.is_string_dtype(dtype):
        return pd.Series([value], dtype=dtype)
    return pd.Series([value])


OF_VALUES = ("min", "max", "sum", "prod")
"""Reductions whose result is of the kind of the values."""


def applied(how: str, names: tuple[str, ...], column: Any, options: dict[str, Any]) -> Any:
    """Return a series of a column's reduction, which gets the options that are named."""
    chosen = {name: options[name] for name in names if name in options}
    value = getattr(column, how)(**chosen)
    if how in ("sum", "prod") and column.dtype == object and not chosen.get("skipna", True):
        is_missing = isinstance(value, float) and value != value and not _do_add(how, column)
        return pd.Series([None, np.nan] if is_missing else [value], dtype=object)
    if how in ("min", "max") and isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Series([value], dtype=column.dtype)
    if value is pd.NA and how in ("any", "all"):
        return pd.Series([value], dtype="boolean")
    if value is pd.NA and how in ("sum", "prod") and getattr(column.dtype, "kind", "O") == "b":
        return pd.Series([value], dtype="Int64" if isinstance(column.dtype, pd.BooleanDtype) else "uint64[pyarrow]")
    return _series_of_value(value, column.dtype) if how in OF_VALUES else pd.Series([value])


def missing_sum(cell: Any, *, of_frame: bool) -> Any:
    """Return the sum of objects; of a frame it is None if some are missing and they don't add, else NaN."""
    return cell if len(cell) == 1 else pd.Series([None if of_frame else np.nan], dtype=object)


def with_none(cell: Any) -> Any:
    """Return a missing result of a column of objects as pandas has it in frames: None."""
    return pd.Series([None], dtype=object) if isinstance(cell.iloc[0], float) and cell.isna().iloc[0] else cell


def counted_dtype(dtype: Any, wide: Any) -> Any:
    """Return the dtype of sums of at least so many values, given theirs and, nullable or Arrow's, that of too few: floats, also of whole numbers."""
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iu":
        return dtype if isinstance(dtype, pd.api.extensions.ExtensionDtype) else wide
    return f"{dtype}[pyarrow]" if isinstance(wide, pd.ArrowDtype) else {"i": "Int64", "u": "UInt64"}[dtype.kind]


def _do_add(how: str, column: Any) -> bool:
    """Whether objects, of which some are missing, add or multiply. Those that don't are two values that don't."""
    try:
        getattr(column.to_numpy(), how)()
    except TypeError:
        return False
    return True


def applied_again(how: str, names: tuple[str, ...], cells: list[Any], options: dict[str, Any]) -> Any:
    return applied(how, names, concat(cells), options)


# With skipna=False results are missing where a value is, and others of the column need not compare, or add.


class Unlike:
    """Stands for values that don't compare, or don't add: whatever is tried with it raises what was raised of them."""

    def __init__(self, message: str) -> None:
        self._message = message

    def _refuse(self, *others: Any) -> Any:
        raise TypeError(self._message)

    __add__ = __radd__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def objects_value(how: str, column: Any, options: dict[str, Any]) -> Any:
    """Return the extreme or sum of a column; or two that are `Unlike`, if its values don't compare or add and others may be missing."""
    try:
        return applied(how, ("skipna",), column, options)
    except TypeError as error:
        if options.get("skipna", True) or column.dtype != object:
            raise
        return pd.Series([Unlike(str(error))] * 2, dtype=object)


def objects_value_again(how: str, cells: list[Any], options: dict[str, Any]) -> Any:
    whole = concat(cells)
    if how in ("sum", "prod") and is_float(whole.dtype):
        options = {**options, "skipna": False}
    return objects_value(how, whole, options)


def is_float(dtype: Any) -> bool:
    """Whether sums of partitions may be NaN though no value is missing, as infinity less infinity is, or NaN among Arrow's numbers."""
    return getattr(dtype, "kind", "O") in "fc" and not isinstance(dtype, pd.CategoricalDtype)


def known_value(how: str, cell: Any, dtype: Any, options: dict[str, Any]) -> Any:
    return cell if len(cell) == 1 else applied(how, ("skipna",), cell, options)


def own_missing(cell: Any, dtype: Any) -> Any:
    """Return a value of a row of objects, where each column keeps the missing value of its dtype."""
    value = cell.iloc[0]
    has_na = isinstance(dtype, (pd.ArrowDtype, BaseMaskedDtype)) and not isinstance(cell.dtype, pd.ArrowDtype)
    return pd.NA if has_na and isinstance(value, (float, np.floating)) and value != value else value
