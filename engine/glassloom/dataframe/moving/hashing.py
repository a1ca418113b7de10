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

from glassloom.dataframe.moving.text_words import WORD_BYTES, TextWords
from glassloom.dataframe.numbered_levels import level_at

Hashes = np.ndarray[Any, np.dtype[np.uint64]]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SHIFT = np.uint64(32)


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
        return hash_keys([level_at(column, level) for level in range(column.nlevels)])
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _hash_categories(column.array)
    if isinstance(dtype, pd.SparseDtype):
        return hash_column(pd.Series(column.array.to_dense()))
    if isinstance(dtype, pd.PeriodDtype):
        return _with_nulls(_hash_integers(column.array.asi8), np.asarray(column.isna()))
    if isinstance(dtype, pd.IntervalDtype):
        return hash_keys([column.array.left, column.array.right])
    if is_text(dtype):
        return _hash_text(pa.array(column.array))
    if getattr(dtype, "kind", "O") in "mM":
        return _hash_times(column)
    if pd.api.types.is_numeric_dtype(dtype) or getattr(dtype, "kind", "O") == "b":
        return _hash_numbers(column)
    return _hash_objects(np.asarray(column, dtype=object))


def places_of(hashes: Hashes, count: int) -> np.ndarray[Any, Any]:
    """Return the partition of each hash: 0 to `count` - 1, in the smallest dtype, which is the quickest to sort."""
    places = ((hashes >> _SHIFT) * np.uint64(count)) >> _SHIFT
    return places.astype(np.min_scalar_type(max(count - 1, 0)))


def is_text(dtype: Any) -> bool:
    """Whether a dtype is pandas' own for text, or Arrow's."""
    if not isinstance(dtype, pd.ArrowDtype):
        return isinstance(dtype, pd.StringDtype)
    kind = dtype.pyarrow_dtype
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


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
        values = np.asarray(column).astype(np.complex128, copy=False)
        imaginary = np.where(values.imag == 0, np.uint64(0), _hash_floats(values.imag))  # so that 1 + 0j is 1
        return _with_nulls(_hash_floats(values.real) ^ imaginary, np.isnan(values))
    if isinstance(column.dtype, np.dtype):
        return _hash_floats(np.asarray(column).astype(np.float64, copy=False))
    return _hash_floats(column.array.to_numpy(dtype=np.float64, na_value=np.nan))


def _hash_times(column: Any) -> Hashes:
    series = column if isinstance(column, pd.Series) else pd.Series(column)
    if isinstance(series.dtype, pd.ArrowDtype):
        values = pa.chunked_array(pa.array(series.array))
        series = pd.Series((values.cast(pa.timestamp("ms")) if pa.types.is_date(values.type) else values).to_pandas())
    array: Any = series.array
    return _with_nulls(_hash_integers(array.as_unit("us").asi8), np.asarray(array.isna()))


def _hash_categories(array: Any) -> Hashes:
    """Return the hashes of a categorical: each category is hashed once."""
    of_categories = hash_column(array.categories) if len(array.categories) else np.empty(0, np.uint64)
    return np.append(of_categories, _NULL)[array.codes]


def _hash_text(array: Any) -> Hashes:
    """Return the hashes of an Arrow array of text."""
    hashes = _hash_words(TextWords.of(array))
    return _with_nulls(hashes, np.asarray(pc.is_null(array))) if array.null_count else hashes


def _hash_words(words: TextWords) -> Hashes:
    hashes = words.lengths.astype(np.uint64)
    rows: Any = slice(None)  # those that have bytes left
    shortest = int(words.lengths.min()) if len(hashes) else 0
    for number in range(words.n_words):
        if shortest <= number * WORD_BYTES:
            rows = np.flatnonzero(words.lengths > number * WORD_BYTES)
        hashes[rows] = _mixed(words.word(number, rows) ^ (hashes[rows] * np.uint64(31)))
    return hashes if words.n_words else _mixed(hashes)


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
    return _hash_words(TextWords(np.array([0]), np.array([len(data)]), data))[0]


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
