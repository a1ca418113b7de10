"""Reductions that keep rows: the distinct ones, the largest and the smallest, of each partition and then of these."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import TreeReduce
from glassloom.dataframe.widening import concat_promised


def keep_some(node: FrameExpr, method: str, options: dict[str, Any], split_every: int | None = None) -> TreeReduce:
    """Return the node of a method that selects rows, also among its own results: nlargest, drop_duplicates."""
    again = partial(_repeat, method, options, node.meta)
    steps = Operation(partial(_keep, method, options), again, again)
    if method != "drop_duplicates":  # which of equal values are kept depends on the order of the rows
        steps = Operation(
            partial(_keep_in_order, method, options), partial(_repeat_in_order, method, options, node.meta), again
        )
    return tree(
        node, steps, empty(getattr(node.meta, method)(**options)), method.replace("_", "-"), split_every=split_every
    )


def compared_columns(node: TreeReduce) -> list[Any] | None:
    """Return the columns by which ``nlargest`` or ``nsmallest`` of a frame chooses rows; None of other nodes."""
    finish = node.steps.finish
    if not isinstance(finish, partial) or finish.func is not _repeat:
        return None
    columns = finish.args[1].get("columns")
    return columns if columns is None or isinstance(columns, list) else [columns]


def _keep(method: str, options: dict[str, Any], block: Any) -> Any:
    return getattr(block, method)(**options)


def _repeat(method: str, options: dict[str, Any], meta: Any, blocks: list[Any]) -> Any:
    return getattr(concat_promised(meta, blocks), method)(**options)


def _keep_in_order(method: str, options: dict[str, Any], block: Any) -> Any:
    """Keep one row more than asked for, in the order of the block: pandas has another order for all rows."""
    more = options["n"] + 1
    if len(block) <= more:
        return block
    found = getattr(block.reset_index(drop=True), method)(**{**options, "n": more})
    if len(found) < more:  # pandas loses rows beside missing ones of Arrow's dtypes
        return block
    return block.iloc[np.sort(found.index.to_numpy())]


def _repeat_in_order(method: str, options: dict[str, Any], meta: Any, blocks: list[Any]) -> Any:
    return _keep_in_order(method, options, concat_promised(meta, blocks))
