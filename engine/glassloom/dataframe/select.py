"""Rows by label and by position in the partition: `loc`, `head`, `tail`."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.nodes import BlockOp, Filter, FrameExpr, LabelKeeping, Partitions, Projection, require_aligned
from glassloom.dataframe.wrap import is_node, wrap
from glassloom.errors import DivisionError


class Loc:
    """``frame.loc[rows]`` and ``frame.loc[rows, columns]``."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, None)
        node: FrameExpr = self._frame.expr
        if columns is not None:
            if not isinstance(node.meta, pd.DataFrame):
                raise TypeError("a series has no columns; write series.loc[rows]")
            if isinstance(columns, slice):
                columns = list(node.meta.loc[:, columns].columns)
            require_columns(columns if isinstance(columns, list) else [columns], node.meta)
            node = Projection(node, columns)
        if is_node(rows):
            require_aligned([node, rows.expr], "loc")
            return wrap(Filter(node, rows.expr))
        if isinstance(rows, slice):
            return wrap(node if rows == slice(None) else _rows_between(node, rows))
        raise NotImplementedError(
            f"loc[{rows!r}]: slices of labels and boolean series work, as in loc['2000-01-01':'2000-01-07']"
        )


def _rows_between(node: FrameExpr, rows: slice) -> FrameExpr:
    """Return the rows from one label to another, both included, out of the partitions that may have any.

    Raises
    ------
    DivisionError
        If the divisions aren't known.
    """
    if rows.step is not None:
        raise NotImplementedError(f"loc with step {rows.step!r}: rows can't be counted across partitions")
    divisions = node.divisions
    if divisions[0] is None:
        raise DivisionError(
            f"loc[{rows.start!r}:{rows.stop!r}] needs to know the divisions, and they are not known here; sort the index "
            "with set_index(..., sorted=True), or filter: frame[frame.index >= ...]"
        )
    low, high = _bounds(node.meta.index, rows)
    final = node.npartitions - 1
    first = 0 if low is None else min(max(bisect_right(divisions, low) - 1, 0), final)
    last = final if high is None else min(max(bisect_right(divisions, high) - 1, first), final)
    numbers = tuple(range(first, last + 1))
    chosen = Partitions(node, numbers) if len(numbers) < node.npartitions else node
    return LabelKeeping(chosen, (), BlockCall(_between, (Block(0), low, high), label="loc"))


def _bounds(index: Any, rows: slice) -> tuple[Any, Any]:
    """Return the labels of a slice as labels of the index: text becomes a time, "2000-01" the whole month."""
    if not isinstance(index, pd.DatetimeIndex):
        return rows.start, rows.stop
    some: Any = pd.DatetimeIndex([pd.Timestamp("2000-01-01", tz=index.tz)])
    low = None if rows.start is None else some._maybe_cast_slice_bound(rows.start, "left")
    high = None if rows.stop is None else some._maybe_cast_slice_bound(rows.stop, "right")
    return low, high


def _between(block: Any, low: Any, high: Any) -> Any:
    keep = True
    if low is not None:
        keep = keep & (block.index >= low)
    if high is not None:
        keep = keep & (block.index <= high)
    return block[keep] if keep is not True else block


def first_rows(node: FrameExpr, n: int) -> FrameExpr:
    """Return the first rows of each partition."""
    return _rows_of_partitions(node, "head", n)


def last_rows(node: FrameExpr, n: int) -> FrameExpr:
    """Return the last rows of each partition."""
    return _rows_of_partitions(node, "tail", n)


def _rows_of_partitions(node: FrameExpr, method: str, n: int) -> FrameExpr:
    if isinstance(node.meta, pd.Index):
        bounds = slice(None, n) if method == "head" else slice(-n, None)
        return BlockOp(node, (), BlockCall(_sliced, (Block(0), bounds), label=method))
    return LabelKeeping(node, (), BlockCall(Method(method), (Block(0), n), label=method))


def _sliced(index: Any, bounds: slice) -> Any:
    return index[bounds]
