"""Rows by position: ``iloc``, ``at``, and `loc` by single labels. Where partitions begin is found out by a scan of lengths."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.backends.pandas_ import concat, sample
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_at_hand import is_lazy_mask
from glassloom.dataframe.column_expressions import evaluated
from glassloom.dataframe.column_places import columns_at
from glassloom.dataframe.keys_at_hand import key_at_hand
from glassloom.dataframe.nodes import BlockOp, Filter, FrameExpr
from glassloom.dataframe.partitions import Partitions
from glassloom.dataframe.prefix import CarriedRows, scan
from glassloom.dataframe.reduce import Length, Operation, tree
from glassloom.dataframe.rows_of_label import RowsOfLabel
from glassloom.dataframe.setting_new_rows import set_or_add
from glassloom.dataframe.setting_rows import (
    are_positions,
    by_place,
    is_mask,
    labels_to_set,
    mask_of_rows,
    partitions_with,
    positions_to_set,
    shown,
)
from glassloom.dataframe.setting_values import as_cell, set_values
from glassloom.dataframe.text_labels import label_of_text, labels_of_texts, rows_of_text, rows_of_time
from glassloom.dataframe.wrap import is_node, wrap


class ILoc:
    """``frame.iloc[rows]`` and ``frame.iloc[rows, columns]``."""

    __iter__ = None  # by positions it would never end

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        key = key_at_hand(evaluated(key, self._frame))
        node: FrameExpr = self._frame.expr
        rows, columns = rows_and_columns("iloc", key, node.meta, None)
        rows, columns = evaluated(rows, self._frame), evaluated(columns, self._frame)
        if columns is not None:
            node = columns_at(node, columns)
        if is_lazy_mask(rows) or _is_of_labels(rows):
            return wrap(node)[rows]
        if isinstance(rows, slice):
            return wrap(node if rows == slice(None) else rows_between_positions(node, rows))
        if isinstance(rows, (int, np.integer)):
            return wrap(_row_at(node, int(rows)))
        if is_mask(rows):
            return wrap(Filter(node, mask_of_rows(self._frame, by_place(rows), "iloc")))
        if are_positions(rows):
            return wrap(_rows_at(node, tuple(map(int, rows))))
        if rows is None or isinstance(rows, (str, float, np.floating)):
            raise TypeError(f"{shown('iloc', rows)}: Cannot index by location index with a non-integer key")
        raise NotImplementedError(
            f"{shown('iloc', rows)}: positions, lists of them and slices work; by a condition rows are chosen as frame[condition]"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        frame, meta = self._frame, self._frame.expr.meta
        key = key_at_hand(evaluated(key, frame))
        rows, columns = rows_and_columns("iloc", key, meta, slice(None))
        rows, columns = evaluated(rows, frame), evaluated(columns, frame)
        what = shown("iloc", key)
        if not isinstance(meta, pd.DataFrame):
            set_values(frame, positions_to_set(frame, rows, what), slice(None), value, what, by_label=False)
            return
        if isinstance(rows, (range, tuple)) and not isinstance(columns, (int, np.integer, slice)):
            raise NotImplementedError(
                f"{what} = ...: pandas takes these rows and columns by pairs, if all columns have one dtype; list(rows) is all of both"
            )
        numbered = frame if meta.columns.is_unique else frame.set_axis(range(meta.shape[1]), axis=1)
        chosen = numbered.columns[list(columns) if isinstance(columns, (tuple, range)) else columns]
        names = list(chosen) if isinstance(chosen, pd.Index) else chosen
        set_values(numbered, positions_to_set(frame, rows, what), names, value, what, by_label=False)
        if numbered is not frame:
            frame._expr = numbered.set_axis(meta.columns, axis=1).expr


def rows_and_columns(name: str, key: Any, meta: Any, all_columns: Any) -> tuple[Any, Any]:
    """Return what the key of an indexer says of rows and of columns, of which ``...`` and what is left out mean all.

    Raises
    ------
    pandas.errors.IndexingError
        If it says more than that.
    """
    parts = key if isinstance(key, tuple) else (key,)
    places = [place for place, one in enumerate(parts) if one is Ellipsis]
    if len(places) > 1:
        raise pd.errors.IndexingError(f"{name}[...]: indexer may only contain one '...' entry; it has {len(places)}")
    if places:
        all_others = (slice(None),) * (meta.ndim - len(parts) + 1)
        parts = (*parts[: places[0]], *all_others, *parts[places[0] + 1 :])
    if len(parts) > meta.ndim:
        of_what = "a frame has rows and columns" if meta.ndim == 2 else "a series has no columns"
        raise pd.errors.IndexingError(f"{shown(name, key)}: Too many indexers; {of_what}")
    return parts[0] if parts else slice(None), parts[1] if len(parts) > 1 else all_columns


def _is_of_labels(rows: Any) -> bool:
    """Whether rows are chosen by a lazy array of booleans that an index's method has made."""
    return is_node(rows) and isinstance(rows.expr.meta, np.ndarray) and rows.expr.meta.dtype == bool


def rows_between_positions(node: FrameExpr, rows: slice) -> FrameExpr:
    """Return the node of the rows of a slice of positions. With a negative step the partitions come from the last to the first."""
    if rows.step is not None and rows.step < 0:
        return _turned_round(node, rows)
    first, last = (0 if rows.start is None else rows.start), rows.stop
    needs_end = first < 0 or (last is not None and last < 0)
    node, rows = _of_known_lengths(node, rows)
    before = scan(node, len, sum, "rows-before")
    after = scan(node, len, sum, "rows-after", is_reversed=True) if needs_end and node.npartitions > 1 else None
    others = (before,) if after is None else (before, after)
    places = (Block(0), Block(1), None if after is None else Block(2))
    return CarriedRows(node, others, BlockCall(partial(_sliced, rows), places, label="iloc"), node.meta)


def _turned_round(node: FrameExpr, rows: slice) -> FrameExpr:
    """Return the rows of a slice with a negative step."""
    if node.lengths is not None:
        places = range(sum(node.lengths))[rows]
        forward = slice(places[-1], places[0] + 1, -places.step) if len(places) else slice(0, 0)
    elif rows.step == -1:
        first = None if rows.stop is None else rows.stop + 1 if rows.stop != -1 else sys.maxsize
        last = None if rows.start in (None, -1) else rows.start + 1
        forward = slice(first, last)
    else:
        return rows_between_positions(
            _turned_round(node, slice(rows.start, rows.stop, -1)), slice(None, None, -rows.step)
        )
    some = node if forward == slice(None) else rows_between_positions(node, forward)
    turned = reversed_partitions(some)
    return BlockOp(turned, (), BlockCall(_from_last_to_first, (Block(0),), label="reverse"))


def reversed_partitions(node: FrameExpr) -> FrameExpr:
    """Return the partitions of a frame, the last one first."""
    return Partitions(node, tuple(range(node.npartitions)[::-1])) if node.npartitions > 1 else node


def _from_last_to_first(block: Any) -> Any:
    return block.iloc[::-1]


def _of_known_lengths(node: FrameExpr, rows: slice) -> tuple[FrameExpr, slice]:
    """Return only the partitions that the slice may be in, and the slice counted from them, if lengths are known."""
    lengths = node.lengths
    if lengths is None or node.npartitions == 1:
        return node, rows
    start, stop, step = rows.indices(sum(lengths))
    ends = np.cumsum(lengths)
    first = min(int(np.searchsorted(ends, start, side="right")), len(lengths) - 1)
    last = min(max(int(np.searchsorted(ends, stop, side="left")), first), len(lengths) - 1)
    begin = int(ends[first] - lengths[first])
    chosen = Partitions(node, tuple(range(first, last + 1)))
    return chosen, slice(start - begin, max(stop - begin, 0), step)


def _sliced(rows: slice, block: Any, before: int | None, after: int | None) -> Any:
    """Return a partition's part of a slice. How many rows there are after it matters only to negative positions."""
    start = before or 0
    first, stop, step = rows.indices(start + len(block) + (after or 0))
    if rows.start is not None and rows.start >= 0:
        first = rows.start
    begin = first - start if first >= start else (first - start) % step
    return block.iloc[begin : max(stop - start, 0) : step]


_sliced.keeps_columns = True  # type: ignore[attr-defined]  # see `own_columns`


def _row_at(node: FrameExpr, position: int) -> FrameExpr:
    """Return the node of the row at a position: of a frame a series, of a series a scalar."""
    some = rows_between_positions(node, slice(position, position + 1 if position != -1 else None))
    meta = sample(node.meta).iloc[0]
    return tree(some, Operation(_same, concat, partial(_only_row, position)), meta, "iloc")


def _only_row(position: int, blocks: list[Any]) -> Any:
    whole = concat(blocks)
    if not len(whole):
        raise IndexError(f"iloc[{position}]: there are fewer rows")
    return whole.iloc[0]


def _rows_at(node: FrameExpr, positions: tuple[int, ...]) -> FrameExpr:
    if any(position < 0 for position in positions):
        positions = _from_the_start(node, positions)
    wanted = np.unique(np.array(positions, dtype="int64"))
    before = scan(node, len, sum, "rows-before")
    call = BlockCall(partial(_picked, wanted), (Block(0), Block(1)), label="iloc")
    some = CarriedRows(node, (before,), call, node.meta)
    order = np.searchsorted(wanted, positions)
    finish = partial(_in_order, order, int(wanted.max()) if len(wanted) else -1, len(wanted))
    return tree(some, Operation(_same, concat, finish), node.meta, "iloc")


def _from_the_start(node: FrameExpr, positions: tuple[int, ...]) -> tuple[int, ...]:
    """Return positions with those that are counted from the end counted from the start. The rows are counted now, unless that is known."""
    rows = int(wrap(Length(node)).compute()) if node.lengths is None else sum(node.lengths)
    if min(positions) < -rows:
        raise IndexError(f"iloc[[..., {min(positions)}, ...]]: there are fewer rows")
    return tuple(position + rows if position < 0 else position for position in positions)


def _picked(wanted: Any, block: Any, before: int | None) -> Any:
    own = wanted - (before or 0)
    return block.iloc[own[(own >= 0) & (own < len(block))]]


def _in_order(order: Any, highest: int, count: int, blocks: list[Any]) -> Any:
    whole = concat(blocks)
    if len(whole) < count:
        raise IndexError(f"iloc[[..., {highest}, ...]]: there are fewer rows")
    return whole.iloc[order]


class At:
    """``frame.at[label, column]`` and ``series.at[label]``: one value, as a lazy scalar."""

    __iter__ = None  # by positions it would never end

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        node, key = self._frame.expr, key_at_hand(key)
        if isinstance(node.meta, pd.DataFrame):
            if not isinstance(key, tuple) or len(key) != 2:
                raise ValueError(f"at[{key!r}] should be at[label, column]")
            label, column = key
            node = self._frame[column].expr
        else:
            label = key
        return wrap(value_at(node, label))

    def __setitem__(self, key: Any, value: Any) -> None:
        key = key_at_hand(key)
        is_of_frame = isinstance(self._frame.expr.meta, pd.DataFrame)
        if is_of_frame and (not isinstance(key, tuple) or len(key) != 2):
            raise ValueError(f"at[{key!r}] = ...: it should be at[label, column] = ...")
        label, columns = key if is_of_frame else (key, slice(None))
        what = shown("at", key)
        if isinstance(label, (list, np.ndarray, pd.Index)):
            raise pd.errors.InvalidIndexError(f"{what} = ...: at has one label; loc takes a list of them")
        value = as_cell(self._frame, columns, value)
        if columns is None and is_of_frame:
            columns = [None]  # a label, and not all columns
        if set_or_add(self._frame, label, columns if is_of_frame else None, value, what):
            return
        set_values(self._frame, labels_to_set(self._frame, label, what), columns, value, what)


class IAt:
    """``frame.iat[row, column]`` and ``series.iat[row]``: one value by position, as a lazy scalar."""

    __iter__ = None  # by positions it would never end

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        key = key_at_hand(key)
        self._check(key)
        return self._frame.iloc[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        key = key_at_hand(key)
        self._check(key)
        column = self._frame.columns[key[1]] if self._frame.ndim == 2 else None
        self._frame.iloc[key] = as_cell(self._frame, column, value)

    def _check(self, key: Any) -> None:
        places = key if isinstance(key, tuple) else (key,)
        if len(places) != self._frame.ndim or not all(isinstance(place, (int, np.integer)) for place in places):
            raise ValueError(f"iat[{key!r}] should have {self._frame.ndim} whole numbers; iloc takes slices and lists")


def value_at(node: FrameExpr, label: Any) -> FrameExpr:
    """Return the node of the value of a series at a label, or of its values in the time that a text stands for.

    Computing it raises ValueError if the label occurs several times.
    """
    given = label
    label, bounds = label_of_text(node, given)
    if bounds is not None:
        return rows_of_text(node, given, bounds)
    some = rows_of_labels(node, [label])
    return tree(some, Operation(_same, concat, partial(_value_at, label, given)), sample(node.meta).iloc[0], "at")


def _value_at(label: Any, given: Any, blocks: list[Any]) -> Any:
    try:
        found = concat(blocks).at[label]
    except KeyError:
        raise KeyError(given) from None
    if isinstance(found, pd.Series):  # which what follows would take for one value of all rows
        raise ValueError(
            f"the label {given!r} occurs {len(found)} times: loc[[{label!r}]] gives all of its values, as a series"
        )
    return found


def rows_of_labels(node: FrameExpr, labels: list[Any]) -> FrameExpr:
    """Return the node of the rows of some labels, in the order of the frame, out of the partitions that may have any."""
    call = BlockCall(_having, (Block(0), list(labels)), label="loc")
    return CarriedRows(partitions_with(node, labels), (), call, node.meta)


def labels_chosen(node: CarriedRows) -> list[Any] | None:
    """Return the labels by which `rows_of_labels` chooses rows; None of other nodes."""
    return node.call.args[1] if node.call.function is _having and not node.others else None


def _having(block: Any, labels: list[Any]) -> Any:
    if isinstance(block.index, pd.IntervalIndex):
        return block[_where_intervals(block.index, labels)]
    try:
        return block[block.index.isin(labels)]
    except pa.ArrowException:  # Arrow has no such values as one of the labels
        return block[block.index.astype(object).isin(labels)]


def _where_intervals(index: Any, labels: list[Any]) -> Any:
    """Return where intervals are among labels, or contain one that is a number or time."""
    found = np.zeros(len(index), dtype=bool)
    for label in labels:
        found |= np.asarray(index == label if isinstance(label, pd.Interval) else index.contains(label))
    return found


def rows_by_label(node: FrameExpr, labels: Any) -> FrameExpr:
    """Return the node of the rows of labels in the order of the list, as pandas has them: missing ones raise KeyError."""
    index = node.meta.index
    are_of_times = isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex))
    listed = list(labels_of_texts(index, labels) if are_of_times else labels)
    some = rows_of_labels(node, listed)
    return tree(some, Operation(_same, concat, partial(_by_label, listed)), node.meta, "loc")


def rows_of_one_label(node: FrameExpr, label: Any) -> FrameExpr:
    """Return the node of all rows of one label of a frame, or a KeyError when computing. See `glassloom.dataframe.rows_of_label`.

    A text among times may be a stretch of time: it gives all rows in it.
    """
    text = label
    if isinstance(text, str) and isinstance(node.meta.index, pd.DatetimeIndex):
        found = rows_of_time(node, text)
        if found is not None:
            return found
    label, bounds = label_of_text(node, text)
    if bounds is not None:
        return rows_of_text(node, text, bounds)
    some = rows_of_labels(node, [label])
    return RowsOfLabel(*tree(some, Operation(_same, concat, partial(_of_one_label, label)), node.meta, "loc").operands)


def _of_one_label(label: Any, blocks: list[Any]) -> Any:
    whole = concat(blocks)
    if not len(whole):
        raise KeyError(label)
    is_found = isinstance(whole.index, pd.IntervalIndex) or isinstance(
        label, (bool, np.bool_)
    )  # which lists of are masks
    return whole if is_found else whole.loc[[label]]


def _by_label(labels: list[Any], blocks: list[Any]) -> Any:
    whole = concat(blocks)
    if not len(whole) and labels and isinstance(whole.index, pd.IntervalIndex):  # pandas can't say so of no intervals
        raise KeyError(f"{labels!r} not in index")
    return whole.loc[labels]


def _same(block: Any) -> Any:
    return block
