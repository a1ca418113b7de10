"""A pass over a whole plan: rows that are compared with a result of all rows, as in ``frame[frame.x == frame.x.max()]``, are chosen while they are read.

The result is computed first, of the column that it needs. Without the pass whole rows would be read for both at once, and all be kept until the
result is there. With it other columns are read of the rows that are chosen, or not at all in partitions that have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block
from glassloom.dataframe.column_nodes import is_one_value, is_row_by_row
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.io.read_by_results import Compared, ReadByResults
from glassloom.dataframe.nodes import Filter, FrameExpr, Projection, Rowwise
from glassloom.dataframe.predicates import conjuncts, without
from glassloom.dataframe.quantiles import fractions_found
from glassloom.dataframe.reduce import reduction_name
from glassloom.dataframe.reduction_nodes import TreeReduce
from glassloom.expr import Expr, walk

_OPERATORS = {"eq": "==", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FEW = 0.1
"""The part of the rows that are few."""


def filter_by_results_while_reading(roots: Sequence[Expr]) -> list[Expr]:
    """Let sources compare columns with results while they read the rows that a filter is of."""
    order = walk(roots)
    if not any(isinstance(node, Rowwise) and any(map(is_one_value, node.others)) for node in order):
        return list(roots)
    done: dict[str, Expr] = {}
    for node in order:
        made = node.substitute(lambda child: done[child.name])
        found = _read_by_results(made) if isinstance(made, Filter) else _narrowed(made)
        done[node.name] = made if found is None else found
    return [done[root.name] for root in roots]


def _read_by_results(node: Filter) -> FrameExpr | None:
    """Return the rows that a filter chooses, if some of its conditions are comparisons with results that can be made while they are read."""
    read = node.frame.frame if isinstance(node.frame, Projection) else node.frame
    if not isinstance(read, (Read, ReadByResults)) or not isinstance(read.meta, pd.DataFrame):
        return None
    found = {part.name: pair for part in conjuncts(node.predicate) if (pair := _compared(part, read)) is not None}
    if not any(_likely_keeps_few(one.operator, value) for one, value in found.values()):
        return None
    held, pairs = set(found), list(found.values())
    made = ReadByResults.of(read, tuple([one for one, _ in pairs]), tuple([value for _, value in pairs]))
    if made is None:
        return None
    rows = _narrowed(node.frame.substitute(lambda _: made)) if read is not node.frame else made
    assert isinstance(rows, FrameExpr)
    left = without(node.predicate, held)
    if left is None:
        return rows
    moved = _of_chosen_rows(left, read, made)
    return None if moved is None else Filter(rows, moved, origin=node.origin)


def _of_chosen_rows(node: Expr, read: Read | ReadByResults, chosen: ReadByResults) -> Expr | None:
    """Return what is computed of the rows of a read as computed of those that are chosen; None if it depends on the others."""
    if isinstance(node, (Read, ReadByResults)):
        is_same = node.rows == read.rows and node.divisions == read.divisions
        return chosen.with_columns(tuple(node.meta.columns)) if is_same else None
    if is_one_value(node):
        return node
    if not is_row_by_row(node):
        return None
    made = {child.name: _of_chosen_rows(child, read, chosen) for child in node.dependencies}
    return None if None in made.values() else node.substitute(lambda child: made[child.name] or child)


def _compared(part: Expr, read: Read | ReadByResults) -> tuple[Compared, FrameExpr] | None:
    """Return the comparison of a column of a read with a result that a condition is; None if it is something else."""
    if (
        not isinstance(part, Rowwise)
        or not _is_of_column(part.frame, read)
        or part.call.kwargs
        or len(part.others) != 1
    ):
        return None
    column, (value,), function = part.frame.columns, part.others, part.call.function  # type: ignore[attr-defined]
    numbers = [arg.number if isinstance(arg, Block) else None for arg in part.call.args]
    name = str(getattr(function, "__name__", ""))
    if getattr(function, "__module__", None) != "_operator" or name not in _OPERATORS or numbers != [0, 1]:
        return None
    may_be = is_one_value(value) and _may_be_compared(part.frame.meta.dtype, value.meta)
    return (Compared(column, _OPERATORS[name]), value) if may_be else None


def _likely_keeps_few(operator: str, value: FrameExpr) -> bool:
    """Whether few rows are likely left by a comparison, so that other columns needn't be read of most of them.

    So it is with the largest value, quantiles near it, and what is computed of a mean (``x > x.mean() + 3 * x.std()``); not with a mean itself.
    """
    if operator == "==":
        return True
    if isinstance(value, TreeReduce) and (how := reduction_name(value)):
        return (how == "max" and operator == ">=") or (how == "min" and operator == "<=")
    fractions = fractions_found(value)
    if fractions is not None:
        return min(fractions) >= 1 - _FEW if operator in (">", ">=") else max(fractions) <= _FEW
    return operator in (">", ">=") and isinstance(value, Rowwise)


def _is_of_column(node: Expr, read: Read | ReadByResults) -> bool:
    """Whether a node is a column of the rows of a read."""
    if not isinstance(node, Projection) or isinstance(node.columns, list):
        return False
    own = node.frame
    return isinstance(own, (Read, ReadByResults)) and own.rows == read.rows and own.divisions == read.divisions


def _may_be_compared(dtype: Any, value: Any) -> bool:
    """Whether a source may compare a column of numbers or times with a value of the kind of `value`."""
    if not isinstance(dtype, np.dtype):
        return False
    if dtype.kind == "M":
        return isinstance(value, pd.Timestamp) and value.tz is None
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return dtype.kind in "iuf" and is_number


def _narrowed(node: Expr) -> Expr | None:
    """Return some columns of what is read as a read of these; None of other nodes."""
    if not isinstance(node, Projection) or not isinstance(node.frame, ReadByResults):
        return None
    wanted = tuple(node.labels)
    if len(set(wanted)) < len(wanted):
        return None
    made = node.frame.with_columns(wanted)
    return made if isinstance(node.columns, list) else Projection(made, node.columns, origin=node.origin)
