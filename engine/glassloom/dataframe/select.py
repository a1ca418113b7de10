"""Rows by label and by position in the partition: `loc`, `head`, `tail`."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.nodes import BlockOp, Filter, FrameExpr, LabelKeeping, Partitions, Projection, require_aligned
from glassloom.dataframe.positions import rows_by_label
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import DivisionError


class Loc:
    """``frame.loc[rows]`` and ``frame.loc[rows, columns]``. One label gives a frame, of all rows that have it."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, None)
        node: FrameExpr = self._frame.expr
        if columns is not None:
            if not isinstance(node.meta, pd.DataFrame):
                raise TypeError("a series has no columns; write series.loc[rows]")
            if isinstance(columns, slice) or callable(columns) or _is_mask(columns):
                columns = list(node.meta.loc[:, columns].columns)
            require_columns(columns if isinstance(columns, list) else [columns], node.meta)
            node = Projection(node, columns)
        if is_node(rows):
            require_aligned([node, rows.expr], "loc")
            return wrap(Filter(node, rows.expr))
        if isinstance(rows, slice):
            return wrap(node if rows == slice(None) else _rows_between(node, rows))
        if callable(rows):
            return Loc(wrap(node))[rows(self._frame)]
        if isinstance(rows, (list, pd.Index)) and not (len(rows) and isinstance(rows[0], (bool, np.bool_))):
            return wrap(rows_by_label(node, rows))
        if isinstance(rows, str) and isinstance(node.meta.index, pd.DatetimeIndex):
            return wrap(_rows_between(node, slice(rows, rows)))
        if pd.api.types.is_scalar(rows):
            return wrap(rows_by_label(node, [rows]))
        raise NotImplementedError(
            f"loc[{rows!r}]: labels, lists and slices of them, and lazy boolean series work, as in "
            "loc['2000-01-01':'2000-01-07']"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        frame = self._frame
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if callable(rows) and not is_node(rows):
            rows = rows(frame)
        condition = self._condition(rows, key)
        if not isinstance(frame.expr.meta, pd.DataFrame):
            frame._expr = _set_all(frame, None, value) if condition is None else frame.mask(condition, value).expr
            return
        names = _named(frame.expr.meta, columns)
        for name, own in zip(names, _value_of_each(names, columns, value, key), strict=True):
            is_new = name not in frame.columns
            if condition is None and is_new:
                frame[name] = own
            elif condition is None:
                frame._expr = _set_all(frame, name, own)
            elif is_new:  # missing in the other rows
                whole = wrap(frame._assigned({name: own}))
                frame[name] = whole[name].where(condition)
            else:
                frame[name] = frame[name].mask(condition, own)

    def _condition(self, rows: Any, key: Any) -> Any:
        """Return which rows are set, as a lazy boolean series; None for all."""
        node = self._frame.expr
        if isinstance(rows, slice) and rows == slice(None):
            return None
        if is_node(rows):
            return rows
        if isinstance(rows, str) and isinstance(node.meta.index, pd.DatetimeIndex):
            rows = slice(rows, rows)
        if isinstance(rows, slice) and rows.step is None:
            return operate(_is_between, self._frame, *_bounds(node.meta.index, rows), label="between")
        raise NotImplementedError(
            f"loc[{key!r}] = ...: values are set for the rows of a lazy condition or a slice of labels, as in "
            "frame.loc[frame.x > 1, 'x'] = 0"
        )


def _named(meta: Any, columns: Any) -> list[Any]:
    """Return the names of the columns that are set."""
    if isinstance(columns, slice) or callable(columns) or _is_mask(columns):
        return list(meta.loc[:, columns].columns)
    return list(columns) if isinstance(columns, (list, pd.Index)) else [columns]


def _value_of_each(names: list[Any], columns: Any, value: Any, key: Any) -> list[Any]:
    """Return what each of some columns is set to: one value for all, or one of a list for each, as in pandas."""
    is_row = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if not is_row or not (isinstance(columns, (list, slice, pd.Index)) or callable(columns) or _is_mask(columns)):
        return [value] * len(names)
    if len(value) != len(names):
        raise ValueError(f"loc[{key!r}] = {len(value)} values: there are {len(names)} columns, and each takes one")
    return list(value)


def _set_all(frame: Any, name: Any, value: Any) -> FrameExpr:
    """Return the node of a frame with a column, or a series, whose values are set, as far as possible without another dtype."""
    made: FrameExpr = operate(_with_values, frame, name, value, label="setitem").expr
    return made


def _with_values(block: Any, name: Any, value: Any) -> Any:
    block = block.copy()
    block.loc[slice(None) if name is None else (slice(None), name)] = value
    return block


def _is_between(block: Any, low: Any, high: Any) -> Any:
    keep = np.ones(len(block), dtype=bool)
    if low is not None:
        keep &= np.asarray(block.index >= low)
    if high is not None:
        keep &= np.asarray(block.index <= high)
    return pd.Series(keep, index=block.index)


def _is_mask(columns: Any) -> bool:
    return not is_node(columns) and pd.api.types.is_list_like(columns) and pd.api.types.is_bool_dtype(pd.Index(columns))


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
