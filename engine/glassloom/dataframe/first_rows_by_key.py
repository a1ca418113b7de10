"""A pass over a whole plan: the first rows by a key, of wide files, are found by the key alone; other columns are read of these rows only.

``frame.nlargest(10, "x")`` and ``frame.sort_values("x").head(10)`` read ``x``, find the value up to which rows can be among the first, and choose
rows by it while they are read (`ReadByResults`). Partitions that have none read nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.io.read import Read
from glassloom.dataframe.io.read_by_results import Compared, ReadByResults
from glassloom.dataframe.kept_rows import compared_columns
from glassloom.dataframe.moving.sort import SortedEnds
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import Chunk, TreeReduce, UnorderedChunk
from glassloom.expr import Expr, walk

_MOST_ROWS = 1_000
_LEAST_OTHERS = 3
"""Other columns than the key: the key is read twice."""


def find_first_rows_by_key(roots: Sequence[Expr]) -> list[Expr]:
    """Let the first rows by a key be chosen while they are read."""
    order = walk(roots)
    if not any(
        isinstance(node, SortedEnds) or (isinstance(node, TreeReduce) and compared_columns(node)) for node in order
    ):
        return list(roots)
    done: dict[str, Expr] = {}
    for node in order:
        made = node.substitute(lambda child: done[child.name])
        done[node.name] = _of_few_rows(made) or made
    return [done[root.name] for root in roots]


def _of_few_rows(node: Expr) -> Expr | None:
    """Return a node that chooses first rows as one that does so among few; None of other nodes, and where that saves nothing."""
    if isinstance(node, SortedEnds):
        sorting, (_, n, is_last) = node.call.function.__self__, node.call.args  # type: ignore[attr-defined]
        if not sorting.by or sorting.by_levels or (sorting.order.na_position == "last") is is_last:
            return None  # rows whose key is missing may be among them
        few = _few_rows(node.frame, sorting.by[0], n, largest=sorting.order.ascending[0] is is_last)
        return None if few is None else node.rebuild([few, *node.operands[1:]])
    keys = compared_columns(node) if isinstance(node, TreeReduce) else None
    if keys is None or not isinstance(node, TreeReduce) or not isinstance(node.source, Chunk):
        return None
    method, options, _ = node.steps.finish.args  # type: ignore[attr-defined]
    few = _few_rows(node.source.frame, keys[0], options["n"], largest=method == "nlargest")
    if few is None:
        return None
    return node.rebuild([node.source.rebuild([few, *node.source.operands[1:]]), *node.operands[1:]])


def _few_rows(frame: FrameExpr, key: Any, n: int, *, largest: bool) -> FrameExpr | None:
    """Return the rows of a frame that may be among the first `n` by a key; None if the frame isn't one that is read, or narrow."""
    chooses = isinstance(frame, Projection) and isinstance(frame.columns, list)
    read = frame.frame if chooses else frame  # type: ignore[attr-defined]
    if not isinstance(read, (Read, ReadByResults)) or not isinstance(read.meta, pd.DataFrame) or read.npartitions < 2:
        return None
    columns = read.meta.columns
    if not columns.is_unique or key not in columns or len(columns) <= _LEAST_OTHERS or not 0 < n <= _MOST_ROWS:
        return None
    dtype = read.meta.dtypes[key]
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iufM":
        return None
    last = _last_of_first(Projection(read.with_columns((key,)), key), n + 1, largest=largest)
    made = ReadByResults.of(read, (Compared(key, ">=" if largest else "<="),), (last,))
    if made is None or not chooses:
        return made
    return frame.substitute(lambda _: made)


def _last_of_first(column: FrameExpr, n: int, *, largest: bool) -> FrameExpr:
    """Return the node of the last of the first `n` values of a column; None if there are fewer."""
    steps = Operation(
        partial(_first_values, n, largest), partial(_first_of_all, n, largest), partial(_last_value, n, largest)
    )
    meta = pd.Series([1]).astype(column.meta.dtype).iloc[0]
    return tree(column, steps, meta, "first-by-key", chunk_type=UnorderedChunk)


def _first_values(n: int, largest: bool, column: Any) -> Any:
    values = column.to_numpy()
    return _first(values[~pd.isna(values)], n, largest)


def _first(values: Any, n: int, largest: bool) -> Any:
    if len(values) <= n:
        return values
    return np.partition(values, len(values) - n)[-n:] if largest else np.partition(values, n - 1)[:n]


def _first_of_all(n: int, largest: bool, several: list[Any]) -> Any:
    return _first(np.concatenate(several), n, largest)


def _last_value(n: int, largest: bool, several: list[Any]) -> Any:
    values = _first_of_all(n, largest, several)
    if len(values) < n:
        return None
    return pd.Series([values.min() if largest else values.max()]).iloc[0]
