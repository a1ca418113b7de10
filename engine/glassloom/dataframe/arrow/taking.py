"""Some values of an array that Arrow holds in several pieces, as a frame made of partitions has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

_FEW = 16
"""How many times as many values as are taken an array has at least to be taken from piece by piece."""


def taken(array: Any, places: Any, *, has_missing: bool = False) -> Any:
    """Return the values at some places of an array as pandas holds it, and if `has_missing`, missing ones at places -1.

    Arrow joins all pieces of an array before it takes a few values from it; here only those pieces are touched that have one.
    """
    pieces = _pieces_of(array) if len(places) * _FEW < len(array) else ()
    if len(pieces) > 1:
        return array.dtype.__from_arrow__(_from_pieces(pieces, np.asarray(places), has_missing))
    if has_missing:
        return pd.api.extensions.take(array, places, allow_fill=True)
    return array.take(places)


def _pieces_of(array: Any) -> list[Any]:
    held = getattr(array, "_pa_array", None)
    return [piece for piece in held.chunks if len(piece)] if isinstance(held, pa.ChunkedArray) else []


def _from_pieces(pieces: list[Any], places: Any, has_missing: bool) -> Any:
    ends = np.cumsum([len(piece) for piece in pieces])
    numbers = np.searchsorted(ends, places, side="right")
    order = None
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        places, numbers = places[order], numbers[order]
    cuts = np.searchsorted(numbers, np.arange(len(pieces) + 1))
    parts = []
    for piece, end, start, stop in zip(pieces, ends, cuts[:-1], cuts[1:], strict=True):
        if start < stop:
            own = places[start:stop]
            missing = own < 0 if has_missing else None
            parts.append(piece.take(pa.array(own - (end - len(piece)), mask=missing)))
    joined = pa.concat_arrays(parts) if parts else pieces[0][:0]
    if order is None:
        return joined
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return joined.take(pa.array(back))
