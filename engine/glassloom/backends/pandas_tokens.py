"""Tokens of pandas' objects: by content, not by how a frame is laid out in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.label_tables import OF_RESULT
from glassloom.graph import extend_token, normalize_token

_SHORT = 64
"""So many texts, as names of columns are, are hashed one by one: the whole of Arrow's machinery takes longer."""
_KEPT_BY_PANDAS = frozenset(["_mgr", "_item_cache", "_attrs", "_flags", "_data", "_cache", "_name", OF_RESULT])


@normalize_token(pd.DataFrame)
def _normalize_frame(frame: pd.DataFrame) -> Any:
    columns: list[Any] = (
        [frame.iloc[:, place].array for place in range(frame.shape[1])] if len(frame) else list(frame.dtypes)
    )
    return (frame.index, frame.columns, columns, frame.attrs, frame.flags.allows_duplicate_labels)


@normalize_token(pd.Series)
def _normalize_series(series: pd.Series) -> Any:
    return (series.index, series.name, series.array, series.attrs, series.flags.allows_duplicate_labels)


@extend_token(pd.DataFrame)
@extend_token(pd.Series)
@extend_token(pd.Index)
def _state_of_subclass(value: Any) -> Any:
    """Return a value's own attributes, which pandas leaves out of pickles."""
    return {name: attribute for name, attribute in vars(value).items() if name not in _KEPT_BY_PANDAS}


@normalize_token(pd.RangeIndex)
def _normalize_range(index: pd.RangeIndex) -> Any:
    return (index.start, index.stop, index.step, index.name)


@normalize_token(pd.MultiIndex)
def _normalize_levels(index: pd.MultiIndex) -> Any:
    return (list(index.levels), [np.asarray(codes) for codes in index.codes], list(index.names))


@normalize_token(pd.Index)
@normalize_token(pd.CategoricalIndex)
@normalize_token(pd.DatetimeIndex)
@normalize_token(pd.IntervalIndex)
@normalize_token(pd.PeriodIndex)
@normalize_token(pd.TimedeltaIndex)
def _normalize_index(index: pd.Index) -> Any:
    return (index.name, getattr(index, "freqstr", None), index.array)


@normalize_token(pd.CategoricalDtype)
def _normalize_category(dtype: pd.CategoricalDtype) -> Any:
    return (dtype.categories, dtype.ordered)


@normalize_token(pd.Timestamp)
def _normalize_timestamp(value: pd.Timestamp) -> Any:
    return (int(value.asm8.view("int64")), value.unit, value.tz, value.fold)  # `value` is in ns, which may not hold it


@normalize_token(pd.arrays.NumpyExtensionArray)
def _normalize_plain(array: Any) -> Any:
    return (np.asarray(array),)


@normalize_token(pd.Categorical)
def _normalize_categorical(array: pd.Categorical) -> Any:
    return (array.dtype, np.asarray(array.codes))


@normalize_token(pd.arrays.DatetimeArray)
@normalize_token(pd.arrays.PeriodArray)
@normalize_token(pd.arrays.TimedeltaArray)
def _normalize_times(array: Any) -> Any:
    return (array.dtype, getattr(array, "freq", None), np.asarray(array.asi8))


@normalize_token(pd.arrays.BooleanArray)
@normalize_token(pd.arrays.FloatingArray)
@normalize_token(pd.arrays.IntegerArray)
def _normalize_masked(array: Any) -> Any:
    """Return an array with a mask; what lies below the mask doesn't count."""
    return (array.dtype, np.where(array._mask, array._data.dtype.type(0), array._data), array._mask)


# pandas notes of these arrays whether they may be written to, which isn't content.


@normalize_token(pd.arrays.IntervalArray)
def _normalize_intervals(array: Any) -> Any:
    return (array.dtype, array.left.array, array.right.array)


@normalize_token(pd.arrays.SparseArray)
def _normalize_sparse(array: Any) -> Any:
    return (array.dtype, array.sp_index, array.sp_values)


@normalize_token(pd.arrays.StringArray)
def _normalize_texts(array: Any) -> Any:
    return (array.dtype, np.asarray(array, dtype=object))


@normalize_token(pd.StringDtype)
def _normalize_text(dtype: Any) -> Any:
    return (dtype.storage, dtype.na_value is pd.NA)


def _normalize_arrow(array: Any) -> Any:
    if len(array) <= _SHORT and isinstance(array.dtype, pd.StringDtype):
        return (array.dtype, tuple(None if value is array.dtype.na_value else value for value in array))
    return (array.dtype, array.__arrow_array__())


for _arrow_class in {pd.arrays.ArrowExtensionArray, pd.arrays.ArrowStringArray}:
    normalize_token(_arrow_class)(_normalize_arrow)
