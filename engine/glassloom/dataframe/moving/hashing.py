"""Hashes of keys: equal keys have equal hashes in all partitions, processes and dtypes that pandas joins with each other.

Numbers are hashed as 64-bit floats, whatever their dtype: 1, 1.0 and True are one key. Text is hashed by its UTF-8 bytes,
whether Python, Arrow or a categorical holds it. Times are hashed by the instant in microseconds. All that is missing is
one key. Other Python objects are hashed by their `repr`.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Hashes = np.ndarray[Any, np.dtype[np.uint64]]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SHIFT = np.uint64(32)
_WORD = 8
"""Bytes of text that are hashed at a time."""


def hash_keys(columns: Sequence[Any]) -> Hashes:
    """Return a hash for each row.

    Parameters
    ----------
    columns
        Series or indexes of equal length, one or more.
    """
    hashes = hash_column(columns[0])
    for column in columns[1:]:
        hashes = _mixed(hashes * np.uint64(31) + hash_column(column))
    return hashes


def hash_column(column: Any) -> Hashes:
    """Return a hash for each value of a series or index."""
    if isinstance(column, pd.MultiIndex):
        return hash_keys([column.get_level_values(level) for level in range(column.nlevels)])
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _hash_categories(column.array)
    if isinstance(dtype, pd.SparseDtype):
        return hash_column(pd.Series(column.array.to_dense()))
    if isinstance(dtype, pd.PeriodDtype):
        return _with_nulls(_hash_integers(column.array.asi8), np.asarray(column.isna()))
    if isinstance(dtype, pd.IntervalDtype):
        return hash_keys([column.array.left, column.array.right])
    kind = _arrow_kind(dtype)
    if kind == "text":
        return _hash_text(pa.array(column.array))
    if kind == "time" or getattr(dtype, "kind", "O") in "mM":
        return _hash_times(column)
    if pd.api.types.is_numeric_dtype(dtype) or getattr(dtype, "kind", "O") == "b":
        return _hash_numbers(column)
    return _hash_objects(np.asarray(column, dtype=object))


def places_of(hashes: Hashes, count: int) -> np.ndarray[Any, Any]:
    """Return the partition of each hash: 0 to `count` - 1, in the smallest dtype, which is the quickest to sort."""
    places = ((hashes >> _SHIFT) * np.uint64(count)) >> _SHIFT
    return places.astype(np.min_scalar_type(max(count - 1, 0)))


def _arrow_kind(dtype: Any) -> str:
    """Return what an Arrow dtype, or pandas' own for text, holds."""
    if isinstance(dtype, pd.StringDtype):
        return "text"
    if not isinstance(dtype, pd.ArrowDtype):
        return ""
    kind = dtype.pyarrow_dtype
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    return "time" if pa.types.is_temporal(kind) and dtype.kind in "mM" else ""


def _mixed(values: Hashes) -> Hashes:
    """Return values with all bits mixed; the last steps of MurmurHash3. Changes `values` in place."""
    for multiplier in _MULTIPLIERS:
        values ^= values >> _SHIFT
        values *= multiplier
    values ^= values >> _SHIFT
    return values


def _with_nulls(hashes: Hashes, missing: Any) -> Hashes:
    if missing.any():
        hashes[missing] = _NULL
    return hashes


def _hash_integers(values: Any) -> Hashes:
    return _mixed(np.array(values, dtype=np.int64).view(np.uint64))


def _hash_floats(values: Any) -> Hashes:
    """Return the hashes of 64-bit floats. -0.0 is 0.0, and all NaNs are missing."""
    missing = np.isnan(values)
    return _with_nulls(_mixed((values + 0.0).view(np.uint64)), missing)


def _hash_numbers(column: Any) -> Hashes:
    if getattr(column.dtype, "kind", "O") == "c":
        values = np.asarray(column)
        imaginary = np.where(values.imag == 0, np.uint64(0), _hash_floats(values.imag))  # so that 1 + 0j is 1
        return _with_nulls(_hash_floats(values.real) ^ imaginary, np.isnan(values))
    if isinstance(column.dtype, np.dtype):
        return _hash_floats(np.asarray(column).astype(np.float64, copy=False))
    return _hash_floats(column.array.to_numpy(dtype=np.float64, na_value=np.nan))


def _hash_times(column: Any) -> Hashes:
    series = column if isinstance(column, pd.Series) else pd.Series(column)
    if isinstance(series.dtype, pd.ArrowDtype):
        series = pd.Series(pa.chunked_array(pa.array(series.array)).to_pandas())
    array: Any = series.array
    return _with_nulls(_hash_integers(array.as_unit("us").asi8), np.asarray(array.isna()))


def _hash_categories(array: Any) -> Hashes:
    """Return the hashes of a categorical: each category is hashed once."""
    of_categories = hash_column(array.categories) if len(array.categories) else np.empty(0, np.uint64)
    return np.append(of_categories, _NULL)[array.codes]


def _hash_text(array: Any) -> Hashes:
    """Return the hashes of an Arrow array of text: by its UTF-8 bytes, eight at a time over all rows."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        if isinstance(array, pa.ChunkedArray):
            return np.concatenate([np.empty(0, np.uint64), *map(_hash_text, array.chunks)])
    if not pa.types.is_large_string(array.type):
        array = array.cast(pa.large_string())
    missing = np.asarray(pc.is_null(array)) if array.null_count else np.zeros(0, bool)
    if not len(array):
        return np.empty(0, np.uint64)
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    hashes = _hash_bytes(bounds[:-1], np.diff(bounds), data)
    return _with_nulls(hashes, missing) if array.null_count else hashes


def _hash_bytes(starts: Any, lengths: Any, data: Any) -> Hashes:
    """Return the hashes of stretches of a buffer."""
    hashes = lengths.astype(np.uint64)
    shortest, longest = int(lengths.min()), int(lengths.max())
    if not longest:
        return _mixed(hashes)
    first, end = int(starts[0]), int(starts[-1] + lengths[-1])
    padded = np.empty(end - first + _WORD, np.uint8)  # a word may begin at the last byte
    padded[: end - first] = np.frombuffer(data, np.uint8)[first:end]
    padded[end - first :] = 0
    words = np.ndarray((end - first,), "<u8", padded.data, strides=(1,))
    rows: Any = slice(None)  # those that have bytes left
    for done in range(0, longest, _WORD):
        if shortest <= done:
            rows = np.flatnonzero(lengths > done)
        left = lengths[rows] - done
        word = words[starts[rows] - first + done]
        unused = np.maximum(_WORD - left, 0).astype(np.uint64) * np.uint64(8)
        word = (word << unused) >> unused
        hashes[rows] = _mixed(word ^ (hashes[rows] * np.uint64(31)))
    return hashes


def _hash_objects(values: Any) -> Hashes:
    """Return the hashes of Python objects: each distinct one is hashed once."""
    codes, distinct = pd.factorize(values)
    kinds = {type(value) for value in distinct}
    if kinds <= {str}:
        try:
            of_distinct = _hash_text(pa.array(distinct, pa.large_string()))
        except pa.ArrowInvalid:  # lone surrogates
            of_distinct = _hash_each(distinct)
    else:
        of_distinct = _hash_each(distinct)
    return np.append(of_distinct, _NULL)[codes]


def _hash_each(values: Any) -> Hashes:
    return np.array([_hash_object(value) for value in values], dtype=np.uint64)


def _hash_object(value: Any) -> Any:
    for kinds, hash_one in _BY_KIND:
        if isinstance(value, kinds):
            return hash_one(value)
    return _hash_string(repr(value))


def _hash_string(value: str) -> Any:
    data = value.encode("utf-8", "surrogatepass")
    return _hash_bytes(np.array([0]), np.array([len(data)]), data)[0]


def _hash_number(value: Any) -> Any:
    try:
        return _hash_floats(np.array([float(value)]))[0]
    except (TypeError, ValueError, OverflowError):  # complex, or beyond all floats
        return _hash_string(repr(value))


def _hash_time(value: Any) -> Any:
    return hash_column(pd.Series([value]))[0]


def _hash_date(value: Any) -> Any:
    return _hash_integers(np.array([value.toordinal()]))[0]


def _hash_tuple(value: Any) -> Any:
    hashes = _hash_integers(np.array([len(value)]))
    for item in value:
        hashes = _mixed(hashes * np.uint64(31) + np.array([_NULL if _is_missing(item) else _hash_object(item)]))
    return hashes[0]


def _is_missing(value: Any) -> bool:
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


_BY_KIND: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, _hash_string),
    ((numbers.Number, np.bool_), _hash_number),
    ((datetime.datetime, datetime.timedelta, np.datetime64, np.timedelta64), _hash_time),
    (datetime.date, _hash_date),
    (tuple, _hash_tuple),
)
