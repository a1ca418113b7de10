"""Whether labels are in order, found out of what each partition says of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.category_order import comparable
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.prefix import Scan, scan
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import TreeReduce


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


def order_of_labels(node: FrameExpr) -> TreeReduce:
    """Return the node of the `Run` of all labels of a frame."""
    return tree(node, Operation(run_of_labels, joined_runs, joined_runs), run_of_labels(node.meta), "order-of-labels")


def order_before(node: FrameExpr) -> Scan:
    """Return the node of the `Run` of the labels of all partitions before each."""
    return scan(node, run_of_labels, joined_runs, "order-before")


def not_in_order(what: str) -> KeyError:
    """Return the error of a slice of labels that aren't in order."""
    return KeyError(
        f"{what} takes the rows from one label to another, and the labels aren't in order: sort_index() before, or filter by "
        "frame[frame.index >= ...]"
    )


def run_of_labels(block: Any) -> Run:
    """Return what the labels of a partition say of their order: that of the categories, if they are such."""
    return run_of(comparable(block.index)[0])
