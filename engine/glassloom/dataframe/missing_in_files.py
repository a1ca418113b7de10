"""Rewrites of what asks only which values are missing: columns of which files say that none is aren't read for it.

They concern ``isna``, ``notna``, ``count`` and ``dropna`` of what is read, and conditions. Files say nothing of NaN among floats, which pandas takes for missing.
"""

from __future__ import annotations

from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.column_nodes import ChosenByColumns, are_some
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.nodes import Assign, Columnwise, Filter, FrameExpr, OfSameRows, Projection, SomeRows
from glassloom.dataframe.predicates import MOST_CONDITIONS, both_hold, conjuncts, without
from glassloom.dataframe.reduce import reduction_name
from glassloom.dataframe.reduction_nodes import Chunk, TreeReduce
from glassloom.expr import Expr, rule

_TESTS = frozenset(["isna", "isnull", "notna", "notnull"])
_OF_TESTS = frozenset(["all", "any", "mean", "sum"])


class Placeholders(OfSameRows):
    """The rows of a frame under `labels`: its own columns, and for others, of which no value is missing, zeros that take no memory."""

    parameters = ("frame", "labels")

    frame: FrameExpr
    labels: pd.Index
    label = "placeholders"

    @cached_property
    def meta(self) -> Any:
        return _with_placeholders(self.labels, self.frame.meta)

    @property
    def function(self) -> Any:
        return BlockCall(partial(_with_placeholders, self.labels), (Block(0),), label=self.label)


def _with_placeholders(labels: pd.Index, block: Any) -> pd.DataFrame:
    nothing_missing = np.broadcast_to(np.int8(0), len(block))
    columns = {place: block[name] if name in block.columns else nothing_missing for place, name in enumerate(labels)}
    made = pd.DataFrame(columns, index=block.index, copy=False)
    made.columns = labels
    return made


@rule(Projection, Placeholders)
def keep_needed_placeholders(node: Projection, inner: Placeholders) -> Expr | None:
    """Some of the columns."""
    wanted = node.labels
    if len(wanted) == len(inner.labels) or len(set(wanted)) < len(wanted):
        return None
    left = [name for name in wanted if name in inner.frame.meta.columns]
    labels = inner.labels[[list(inner.labels).index(name) for name in wanted]]
    made = Placeholders(Projection(inner.frame, left), labels, origin=node.origin)
    return made if isinstance(node.columns, list) else Projection(made, node.columns, origin=node.origin)


@rule(Columnwise, Read)
def test_columns_that_may_miss(node: Columnwise, read: Read) -> Expr | None:
    """``frame.isna()`` of all columns."""
    if not _name_of_test(node) or not isinstance(read.meta, pd.DataFrame):
        return None
    made = _with_less_read(read)
    return None if made is None else node.rebuild([made, *node.operands[1:]])


@rule(TreeReduce, Chunk)
def count_columns_that_may_miss(node: TreeReduce, chunk: Chunk) -> Expr | None:
    """``frame.count()``, ``series.count()``, and ``series.isna().sum()`` or the like."""
    how, below = reduction_name(node), chunk.frame
    if how in _OF_TESTS and isinstance(below, Columnwise) and _name_of_test(below):
        made = _with_less_read(below.frame)
        tested: FrameExpr | None = None if made is None else below.rebuild([made, *below.operands[1:]])
    else:
        tested = _with_less_read(below) if how == "count" and not chunk.others else None
    if tested is None:
        return None
    return node.rebuild([chunk.rebuild([tested, *chunk.operands[1:]]), *node.operands[1:]])


@rule(SomeRows, FrameExpr)
def drop_by_columns_that_may_miss(node: SomeRows, below: FrameExpr) -> Expr | None:
    """``frame.dropna()`` of rows that are read, some of which may have been left out."""
    function, options = node.call.function, node.call.kwargs
    if (
        type(node) not in (SomeRows, ChosenByColumns)
        or not isinstance(function, Method)
        or function.path != ("dropna",)
    ):
        return None
    if len(node.call.args) != 1 or node.others or options.get("how", "any") != "any" or "thresh" in options:
        return None
    read = _read_below(below)
    if read is None or not below.meta.columns.is_unique:
        return None
    looked_at = options.get("subset", list(below.meta.columns))
    complete = read.source.complete_columns
    left = [name for name in looked_at if name not in complete]
    if len(left) == len(looked_at):
        return None
    if not left:
        return below
    if len(left) <= MOST_CONDITIONS and are_some(tuple(left), below):
        tests: list[FrameExpr] = [
            Columnwise(Projection(below, name), (), BlockCall(Method("notna"), (Block(0),))) for name in left
        ]
        return Filter(below, reduce(both_hold, tests), origin=node.origin)
    call = BlockCall(function, node.call.args, {**options, "subset": left}, label=node.call.label)
    return ChosenByColumns(below, (), call, origin=node.origin)


@rule(Filter, FrameExpr)
def leave_out_conditions_that_hold(node: Filter, below: FrameExpr) -> Expr | None:
    """``frame[frame.x.notna()]``, of which ``dropna(subset=["x"])`` consists, too."""
    held = {part.name for part in conjuncts(node.predicate) if _holds(part, below)}
    if not held:
        return None
    left = without(node.predicate, held)
    return below if left is None else Filter(below, left, origin=node.origin)


def _holds(part: Expr, below: FrameExpr) -> bool:
    """Whether a condition says of the rows of a frame that a column has values, as files say, too."""
    column = part.frame if isinstance(part, Columnwise) and _name_of_test(part).startswith("not") else None
    read = column.frame if isinstance(column, Projection) else None
    if not isinstance(column, Projection) or not isinstance(read, Read):
        return False
    if column.columns not in read.source.complete_columns:
        return False
    rows: Expr = below
    while isinstance(rows, (Assign, Columnwise, Filter, Projection)):
        rows = rows.frame
    return isinstance(rows, Read) and rows.layout == read.layout


def _name_of_test(node: Columnwise) -> str:
    """Return the name of the method, if it is ``isna`` or the like; else ""."""
    function: Any = node.call.function
    is_test = isinstance(function, Method) and len(function.path) == 1 and not node.others
    return function.path[0] if is_test and function.path[0] in _TESTS else ""


def _read_below(node: Expr) -> Read | None:
    """Return what reads the rows and columns of a frame, or more of them."""
    while isinstance(node, Filter) or (isinstance(node, Projection) and isinstance(node.columns, list)):
        node = node.frame
    return node if isinstance(node, Read) and isinstance(node.meta, pd.DataFrame) else None


def _with_less_read(node: Expr) -> FrameExpr | None:
    """Return what is read, or a column of it, with placeholders for columns of which no value is missing; None if there are none."""
    read = node.frame if isinstance(node, Projection) and not isinstance(node.columns, list) else node
    if not isinstance(read, Read) or not isinstance(read.meta, pd.DataFrame) or not read.meta.columns.is_unique:
        return None
    known = read.meta.columns
    labels = known if read is node else known[known == node.columns]  # type: ignore[attr-defined]
    names = list(labels)
    complete = read.source.complete_columns
    left = tuple([name for name in names if name not in complete])
    if len(left) == len(names):
        return None
    made = Placeholders(read.with_columns(left), labels, origin=node.origin)
    return made if read is node else Projection(made, names[0], origin=node.origin)
