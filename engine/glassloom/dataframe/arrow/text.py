"""Text as codes of a dictionary, made by Arrow without the interpreter's lock. What isn't text is refused, not converted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

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
    small_codes, dictionary = _dictionary_of(pa.array(values.array) if array is None else array)
    codes, distinct = small_codes.astype(np.intp), values.dtype.__from_arrow__(dictionary)
    return sorted_codes(codes, distinct) if sort else (codes, distinct)


def sorted_codes(codes: Codes, values: Any) -> tuple[Codes, Any]:
    """Return codes of distinct texts as those of the sorted ones, by their UTF-8 bytes, and these. A missing one is the last."""
    if len(values) <= 1:
        return codes, values
    order = pc.sort_indices(pa.array(values))
    ranked = order.to_numpy()
    return _ranks(ranked)[codes], values.take(ranked)


def _dictionary_of(array: Any) -> tuple[Any, Any]:
    """Return the code of each text, -1 for missing ones, and the distinct ones in order of appearance.

    Arrow's arrays are never changed: what is known of one is kept while it lives, which it does in frames that are kept.
    """
    known = _encodings.get(array)
    if known is not None:
        return known
    encoded = _one_array(array).dictionary_encode()
    indices = encoded.indices.fill_null(-1) if encoded.indices.null_count else encoded.indices
    codes, dictionary = indices.to_numpy(zero_copy_only=False), encoded.dictionary
    if len(array) >= _LEAST_TO_KEEP:
        _encodings.set(array, (codes, dictionary), codes.nbytes + dictionary.nbytes)
    return codes, dictionary


_LEAST_TO_KEEP = 10_000
"""Texts; with fewer, encoding takes about as little time as looking it up."""
_encodings: BoundedIdentityCache[tuple[Any, Any]] = BoundedIdentityCache(2**28)


def _ranks(order: Any) -> Codes:
    """Return the place of each item in `order`, and -1 for item -1."""
    ranks = np.empty(len(order) + 1, np.intp)
    ranks[order] = np.arange(len(order))
    ranks[-1] = -1
    return ranks


def _one_array(array: Any) -> Any:
    """Return an array in one piece."""
    if not isinstance(array, pa.ChunkedArray):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    joined = array.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def _is_string(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
