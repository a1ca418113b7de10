"""Rows from one label to another. The divisions say in which partitions they are; without them all labels are looked at, and must be in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.category_order import comparable, require_known_order
from glassloom.dataframe.label_order import Run, joined_runs, not_in_order, order_before, order_of_labels, run_of_labels
from glassloom.dataframe.label_ranges import between, rows_in_range
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.positions import rows_between_positions
from glassloom.dataframe.prefix import CarriedRows
from glassloom.dataframe.setting_rows import bounds
from glassloom.dataframe.text_labels import are_texts_of_times


def rows_between(node: FrameExpr, rows: slice) -> FrameExpr:
    """Return the rows from one label to another, both included.

    If the divisions aren't known, it is an error when computing if the labels aren't in order. They may descend, unless they are given as
    texts that stand for times. All labels are read before the first row is given, unless the first of two labels is the lesser one.
    """
    if rows.step is not None:
        is_all = rows.start is None and rows.stop is None
        first, last = (rows.start, rows.stop) if rows.step > 0 else (rows.stop, rows.start)
        chosen = node if is_all else rows_between(node, slice(first, last))
        return rows_between_positions(chosen, slice(None, None, rows.step))
    are_intervals = all(one is None or isinstance(one, pd.Interval) for one in (rows.start, rows.stop))
    if isinstance(node.meta.index, pd.IntervalIndex) and not are_intervals:
        raise NotImplementedError(
            f"loc[{rows.start!r}:{rows.stop!r}] of intervals: choose them by a number or an interval, or by a condition, as in "
            "frame[frame.index.left >= ...]"
        )
    low, high = bounds(node.meta.index, rows)
    if node.divisions[0] is not None:
        return rows_in_range(node, low, high)
    what = f"loc[{rows.start!r}:{rows.stop!r}]"
    require_known_order(node.meta.index, what)
    are_texts = are_texts_of_times(node.meta.index, rows)
    is_one_sided = (low is None) != (high is None) and not are_texts
    if is_one_sided or _is_greater(*comparable(node.meta.index, low, high)[1:]):
        before: FrameExpr = order_of_labels(node)
        function: Callable[..., Any] = _between_one_sided if is_one_sided else _between_descending
    else:
        before = order_before(node)
        function = _between_rising if are_texts else _between_in_order
    call = BlockCall(partial(function, what, low, high), (Block(0), Block(1)), label="loc")
    return CarriedRows(node, (before,), call, node.meta)


def truncated(node: FrameExpr, before: Any, after: Any) -> FrameExpr:
    """Return the rows whose labels aren't less than one, nor greater than another; the labels may descend. See `DataFrame.truncate`."""
    low, high = bounds(node.meta.index, slice(before, after))
    if node.divisions[0] is not None:
        return rows_in_range(node, low, high)
    require_known_order(node.meta.index, "truncate")
    call = BlockCall(partial(_between_sorted, low, high), (Block(0), Block(1)), label="truncate")
    return CarriedRows(node, (order_before(node),), call, node.meta)


def _is_greater(one: Any, other: Any) -> bool:
    try:
        return bool(one > other)
    except TypeError:  # labels of unlike kinds, which comparing them with the index will say
        return False


def _order_with(block: Any, before: Run | None) -> Run:
    run = run_of_labels(block)
    return run if before is None else joined_runs([before, run])


def _between_rising(what: str, low: Any, high: Any, block: Any, before: Run | None) -> Any:
    if not _order_with(block, before).rises:
        raise not_in_order(what)
    return between(block, low, high)


def _between_in_order(what: str, low: Any, high: Any, block: Any, before: Run | None) -> Any:
    """Return the rows between two labels, the first of which isn't greater. Labels are taken as rising until one is seen to fall."""
    whole = _order_with(block, before)
    if whole.rises:
        return between(block, low, high)
    if not whole.falls:
        raise not_in_order(what)
    _, least, most = comparable(block.index, low, high)
    if before is not None and before.rises and len(before.ends) and least < most and least <= before.ends[0] <= most:
        raise KeyError(
            f"{what}: the labels fall, and partitions before the first that says so have none but {before.ends[0]!r}: sort_index() before"
        )
    return between(block, high, low)


def _between_descending(what: str, low: Any, high: Any, block: Any, order: Run) -> Any:
    if not order.rises and not order.falls:
        raise not_in_order(what)
    return block[:0] if order.rises else between(block, high, low)


def _between_one_sided(what: str, low: Any, high: Any, block: Any, order: Run) -> Any:
    if not order.rises and not order.falls:
        raise not_in_order(what)
    return between(block, low, high) if order.rises else between(block, high, low)


def _between_sorted(low: Any, high: Any, block: Any, before: Run | None) -> Any:
    whole = _order_with(block, before)
    if not whole.rises and not whole.falls:
        raise ValueError("truncate requires a sorted index: sort_index() before")
    return between(block, low, high)


for _slicing in (_between_rising, _between_in_order, _between_descending, _between_one_sided, _between_sorted):
    vars(_slicing)["keeps_columns"] = True  # see `own_columns`
