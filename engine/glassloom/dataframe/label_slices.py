"""Rows from one label to another. The divisions say in which partitions they are; without them all labels are looked at, and must be in order."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import FrameExpr, SomeRows
from glassloom.dataframe.partitions import Partitions
from glassloom.dataframe.positions import rows_between_positions
from glassloom.dataframe.prefix import CarriedRows, scan
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.setting_rows import bounds


class Run(NamedTuple):
    """Some values in their order: whether they rise, whether they fall, and the first and last one (empty if there is none)."""

    rises: bool
    falls: bool
    ends: Any


def run_of(values: Any) -> Run:
    """Return what the values of a partition, or its labels, say of their order."""
    if not len(values):  # of which pandas 2 may say that they aren't in order
        return Run(True, True, values[:0])
    ends = values.take([0, -1])
    return Run(bool(values.is_monotonic_increasing), bool(values.is_monotonic_decreasing), ends)


def joined_runs(runs: list[Run]) -> Run:
    """Return runs that follow each other as one: they are in order if each is, and their ends are."""
    runs = [run for run in runs if len(run.ends)] or runs[:1]
    if len(runs) == 1:
        return runs[0]
    ends = [run.ends for run in runs]
    between = run_of(ends[0].append(ends[1:]) if isinstance(ends[0], pd.Index) else concat(ends))
    rises = between.rises and all(run.rises for run in runs)
    falls = between.falls and all(run.falls for run in runs)
    return Run(rises, falls, between.ends)


def rows_between(node: FrameExpr, rows: slice) -> FrameExpr:
    """Return the rows from one label to another, both included.

    If the divisions aren't known, it is an error when computing if the labels aren't in order. They may descend, unless the first of two
    labels is the lesser one, or a text that stands for a time: then all labels are read before the first row is given.

    Raises
    ------
    NotImplementedError
        If the step is negative.
    """
    if rows.step is not None:
        if rows.step < 1:
            raise NotImplementedError(
                f"loc with step {rows.step!r}: rows keep their order; sort the index descending to turn it round"
            )
        is_all = rows.start is None and rows.stop is None
        chosen = node if is_all else rows_between(node, slice(rows.start, rows.stop))
        return rows_between_positions(chosen, slice(None, None, rows.step))
    low, high = bounds(node.meta.index, rows)
    if node.divisions[0] is not None:
        return _of_partitions(node, low, high)
    what = f"loc[{rows.start!r}:{rows.stop!r}]"
    of_times = isinstance(node.meta.index, pd.DatetimeIndex)
    are_texts_of_times = of_times and (
        isinstance(rows.start, str) or (rows.start is None and isinstance(rows.stop, str))
    )
    is_one_sided = (low is None) != (high is None)
    if are_texts_of_times or (not is_one_sided and not _is_greater(low, high)):
        before = scan(node, _last_label, _greatest, "label-before")
        call = BlockCall(partial(_between_in_order, what, low, high), (Block(0), Block(1)), label="loc")
        return CarriedRows(node, (before,), call, node.meta)
    order = tree(node, Operation(_run_of_labels, joined_runs, joined_runs), True, "order-of-labels")
    function = (
        partial(_between_one_sided, what, low, high) if is_one_sided else partial(_between_descending, what, high, low)
    )
    call = BlockCall(function, (Block(0), Block(1)), label="loc")
    return CarriedRows(node, (order,), call, node.meta)


def truncated(node: FrameExpr, before: Any, after: Any) -> FrameExpr:
    """Return the rows whose labels aren't less than one, nor greater than another; the labels may descend. See `DataFrame.truncate`."""
    low, high = bounds(node.meta.index, slice(before, after))
    if node.divisions[0] is not None:
        return _of_partitions(node, low, high)
    run = scan(node, _run_of_labels, joined_runs, "order-before")
    call = BlockCall(partial(_between_sorted, low, high), (Block(0), Block(1)), label="truncate")
    return CarriedRows(node, (run,), call, node.meta)


def _of_partitions(node: FrameExpr, low: Any, high: Any) -> FrameExpr:
    """Return the rows between labels, out of the partitions that may have any."""
    divisions = node.divisions
    final = node.npartitions - 1
    first = 0 if low is None else min(max(bisect_right(divisions, low) - 1, 0), final)
    last = final if high is None else min(max(bisect_right(divisions, high) - 1, first), final)
    numbers = tuple(range(first, last + 1))
    chosen = Partitions(node, numbers) if len(numbers) < node.npartitions else node
    return SomeRows(chosen, (), BlockCall(_between, (Block(0), low, high), label="loc"))


def _is_greater(one: Any, other: Any) -> bool:
    try:
        return bool(one > other)
    except TypeError:  # labels of unlike kinds, which comparing them with the index will say
        return False


def _between(block: Any, low: Any, high: Any) -> Any:
    keep = True
    if low is not None:
        keep = keep & (block.index >= low)
    if high is not None:
        keep = keep & (block.index <= high)
    return block[keep] if keep is not True else block


def _last_label(block: Any) -> Any:
    return block.index[-1] if len(block) else None


def _greatest(labels: list[Any]) -> Any:
    return labels[-1]


def _run_of_labels(block: Any) -> Run:
    return run_of(block.index)


def _not_in_order(what: str) -> KeyError:
    return KeyError(
        f"{what} takes the rows from one label to another, and the labels aren't in order: sort_index() before, or filter by "
        "frame[frame.index >= ...]"
    )


def _between_in_order(what: str, low: Any, high: Any, block: Any, before: Any) -> Any:
    labels = block.index
    if not run_of(labels).rises or (before is not None and len(labels) and labels[0] < before):
        raise _not_in_order(what)
    return _between(block, low, high)


def _between_descending(what: str, low: Any, high: Any, block: Any, order: Run) -> Any:
    if not order.rises and not order.falls:
        raise _not_in_order(what)
    return block[:0] if order.rises else _between(block, low, high)


def _between_one_sided(what: str, low: Any, high: Any, block: Any, order: Run) -> Any:
    if not order.rises and not order.falls:
        raise _not_in_order(what)
    return _between(block, low, high) if order.rises else _between(block, high, low)


def _between_sorted(low: Any, high: Any, block: Any, before: Run | None) -> Any:
    run = run_of(block.index)
    whole = run if before is None else joined_runs([before, run])
    if not whole.rises and not whole.falls:
        raise ValueError("truncate requires a sorted index: sort_index() before")
    return _between(block, low, high)
