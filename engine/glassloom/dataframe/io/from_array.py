"""Frames of lazy arrays: a partition for each block of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.chunks import is_known, starts
from glassloom.dataframe.io.from_map import from_delayed
from glassloom.delayed_call import call


@implements("to_dataframe")
def from_array(x: Any, columns: Any = None) -> Any:
    """Make a frame of an array with two axes, a series of one with one axis.

    Parameters
    ----------
    x
        The array, or what `glassloom.array.asarray` takes. Its columns become one block.
    columns
        The names of the columns; the name of the series. By default columns are numbered.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> import glassloom.dataframe as gd
    >>> gd.from_array(ga.ones((4, 2), chunks=2), columns=["a", "b"]).a.sum().compute()
    np.float64(4.0)
    """
    whole = asarray(x)
    names = _names(whole, columns)
    whole = whole if whole.ndim == 1 else whole.rechunk({1: -1})
    rows = whole.chunks[0]
    begins: Sequence[int | None] = starts(rows) if is_known(rows) else [None] * len(rows)
    parts = [
        call(frame_of, (whole.blocks[number], names, begin), {}, pure=True, label="from-array")
        for number, begin in enumerate(begins)
    ]
    is_plain = is_known(rows) and all(rows)
    divisions = [*starts(rows), sum(rows) - 1] if is_plain else None
    return from_delayed(parts, meta=frame_of(whole.expr.meta, names, 0), divisions=divisions)


def _names(whole: Array, columns: Any) -> Any:
    if whole.ndim not in (1, 2):
        raise ValueError(f"a frame of an array with {whole.ndim} axes, shape {whole.shape}; it needs 1 or 2")
    if whole.ndim == 1:
        return columns
    names = list(range(int(whole.shape[1]))) if columns is None else list(columns)
    if len(names) != whole.shape[1]:
        raise ValueError(f"columns={columns!r} has {len(names)} names for {whole.shape[1]} columns")
    return names


def frame_of(block: Any, names: Any, begin: int | None) -> Any:
    """Return a block of rows as a pandas object, its index beginning there; from 0 if that isn't known."""
    first = begin or 0
    index = pd.RangeIndex(first, first + len(block))
    if block.ndim == 1:
        return pd.Series(block, index=index, name=names)
    return pd.DataFrame(block.reshape(len(block), len(names)), index=index, columns=names)
