"""Text as codes of a dictionary, made by Arrow without the interpreter's lock. What isn't text is refused, not converted."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from glassloom.backends.pandas_ import concat
from glassloom.graph.identity_cache import BoundedIdentityCache

Codes = np.ndarray[Any, np.dtype[np.intp]]


def is_text(dtype: Any) -> bool:
    """Whether a column of this dtype holds text in Arrow's memory, or nothing."""
    if isinstance(dtype, pd.StringDtype):
        return dtype.storage == "pyarrow"
    return isinstance(dtype, pd.ArrowDtype) and _is_string(dtype.pyarrow_dtype)


def encode_text(values: Any, *, sort: bool = False) -> tuple[Codes, Any] | None:
    """Return the code of each value, -1 for missing ones, and the distinct values; None if these aren't text of Arrow.

    Parameters
    ----------
    values
        A series or index.
    sort
        Whether distinct values are sorted, by their UTF-8 bytes, which is Python's order too. Else they come in order of
        appearance.
    """
    if not is_text(values.dtype):
        return None
    array = getattr(values.array, "_pa_array", None)  # the one object that all views of a column have
    found = _dictionary_of(pa.array(values.array) if array is None else array)
    codes, distinct = found.codes.astype(np.intp), found.of_dtype(values.dtype)
    return sorted_codes(codes, distinct) if sort else (codes, distinct)


def of_distinct_texts(values: Any, function: Callable[[pd.Series], Any]) -> Any:
    """Return a function's result, each row of which depends on the text at its place alone, called with the distinct texts.

    None if these aren't few, or aren't of Arrow. Lists in the result are those of one row each.
    """
    if len(values) < _LEAST_TO_KEEP or not isinstance(values, pd.Series) or not is_text(values.dtype):
        return None
    if len(pd.unique(values.array[:_SAMPLE])) * _REPEATED > _SAMPLE:
        return None
    encoded = encode_text(values)
    if encoded is None or len(encoded[1]) * _REPEATED > len(values):
        return None
    codes, distinct = encoded
    if (codes < 0).any():  # a missing one is the last
        distinct = distinct.take(np.append(np.arange(len(distinct)), -1), allow_fill=True)
    made = function(pd.Series(distinct, name=values.name))
    rows = made.take(np.where(codes < 0, len(distinct) - 1, codes)).set_axis(values.index, axis=0)
    return _with_own_lists(rows) if isinstance(rows, pd.Series) and rows.dtype == object else rows


def _with_own_lists(column: pd.Series) -> pd.Series:
    items = np.empty(len(column), dtype=object)
    items[:] = [item.copy() if type(item) is list else item for item in column.to_numpy()]
    return pd.Series(items, index=column.index, name=column.name, dtype=object)


def sorted_codes(codes: Codes, values: Any) -> tuple[Codes, Any]:
    """Return codes of distinct texts as those of the sorted ones, by their UTF-8 bytes, and these. A missing one is the last."""
    if len(values) <= 1:
        return codes, values
    known = _orders.get(values)
    if known is None:
        ranked = pc.sort_indices(pa.array(values)).to_numpy()
        known = _ranks(ranked), values.take(ranked)
        if len(values) >= _LEAST_SORTED_TO_KEEP:
            _orders.set(values, known, known[0].nbytes + known[1].nbytes)
    return known[0][codes], known[1]


def joined_texts(columns: Sequence[Any]) -> tuple[list[Codes], Any]:
    """Return the places of each column's texts among the distinct ones of all, -1 for missing ones, and these.

    Parameters
    ----------
    columns
        Arrays of text of one dtype: those that `encode_text` returned, as what is found of them is kept while all of them live.
    """
    known = _unions.get(columns[0])
    if known is not None and [id(reference()) for reference in known.columns] == [id(column) for column in columns]:
        return known.places, known.values
    encoded = encode_text(pd.Series(concat([pd.Series(one) for one in columns])))
    assert encoded is not None
    codes, values = encoded
    places = np.split(codes, np.cumsum([len(one) for one in columns[:-1]]))
    _unions.set(columns[0], _Union([weakref.ref(one) for one in columns], places, values), codes.nbytes + values.nbytes)
    return places, values


class _Union(NamedTuple):
    columns: list[weakref.ref[Any]]
    places: list[Codes]
    values: Any


class _Dictionary(NamedTuple):
    """The code of each text of a column, -1 for missing ones, and the distinct ones in order of appearance."""

    codes: Any
    values: Any
    made: dict[Any, Any]

    def of_dtype(self, dtype: Any) -> Any:
        """Return the distinct texts as an array of pandas, the same one each time: what is known of it is found by it."""
        if dtype not in self.made:
            self.made[dtype] = dtype.__from_arrow__(self.values)
        return self.made[dtype]


def _dictionary_of(array: Any) -> _Dictionary:
    """Return the codes and the distinct ones of texts.

    Arrow's arrays are never changed: what is known of one is kept while it lives, which it does in frames that are kept.
    """
    known = _encodings.get(array)
    if known is not None:
        return known
    encoded = one_array(array).dictionary_encode()
    indices = encoded.indices.fill_null(-1) if encoded.indices.null_count else encoded.indices
    found = _Dictionary(indices.to_numpy(zero_copy_only=False), encoded.dictionary, {})
    if len(array) >= _LEAST_TO_KEEP:
        _encodings.set(array, found, found.codes.nbytes + found.values.nbytes)
    return found


_LEAST_TO_KEEP = 10_000
"""Texts; with fewer, encoding takes about as little time as looking it up."""
_LEAST_SORTED_TO_KEEP = 1_000
_SAMPLE = 4_096
_REPEATED = 4
"""How often a distinct text must occur on average to be looked at once in place of each time."""
_encodings: BoundedIdentityCache[_Dictionary] = BoundedIdentityCache(2**28)
_orders: BoundedIdentityCache[tuple[Any, Any]] = BoundedIdentityCache(2**26)
_unions: BoundedIdentityCache[_Union] = BoundedIdentityCache(2**26)


def _ranks(order: Any) -> Codes:
    """Return the place of each item in `order`, and -1 for item -1."""
    ranks = np.empty(len(order) + 1, np.intp)
    ranks[order] = np.arange(len(order))
    ranks[-1] = -1
    return ranks


def one_array(array: Any) -> Any:
    """Return an array in one piece."""
    if not isinstance(array, pa.ChunkedArray):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    joined = array.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def _is_string(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
