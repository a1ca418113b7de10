"""Rows whose labels are in a range, whatever their order. The divisions say in which partitions they may be."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.category_order import comparable
from glassloom.dataframe.nodes import FrameExpr, RowsByLabel
from glassloom.dataframe.partitions import Partitions


def rows_in_range(node: FrameExpr, low: Any, high: Any) -> FrameExpr:
    """Return the rows between labels, both included, out of the partitions that may have any."""
    some = partitions_in_range(node, low, high)
    return RowsByLabel(some, (), BlockCall(between, (Block(0), low, high), label="loc"))


def partitions_in_range(node: FrameExpr, low: Any, high: Any) -> FrameExpr:
    """Return the partitions that may have rows between labels: the node itself if all may."""
    divisions = node.divisions
    if divisions[0] is None:
        return node
    final = node.npartitions - 1
    first = 0 if low is None else min(max(bisect_right(divisions, low) - 1, 0), final)
    last = final if high is None else min(max(bisect_right(divisions, high) - 1, first), final)
    numbers = tuple(range(first, last + 1))
    return Partitions(node, numbers) if len(numbers) < node.npartitions else node


def between(block: Any, low: Any, high: Any) -> Any:
    """Return the rows of a partition between labels, both included; None: no limit."""
    return block if low is None and high is None else block[is_between(block.index, low, high)]


between.keeps_columns = True  # type: ignore[attr-defined]  # see `own_columns`


def is_between(index: Any, low: Any, high: Any) -> Any:
    """Return where labels lie between two, both included; None: no limit."""
    index, low, high = comparable(index, low, high)
    keep = np.ones(len(index), dtype=bool)
    if low is not None:
        keep &= _are_true(index >= low)
    if high is not None:
        keep &= _are_true(index <= high)
    return keep


def _are_true(found: Any) -> Any:
    return (
        found if isinstance(found, np.ndarray) else found.to_numpy(dtype=bool, na_value=False)
    )  # a missing label's is missing
