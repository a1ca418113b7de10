"""Made-up rows of Python objects that an operation makes of other values, such as the offsets between periods: users' functions are tried on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import sample
from glassloom.dataframe.nodes import Assign, BlockOp, FrameExpr, Projection


def of_made_up_objects(nodes: Sequence[FrameExpr]) -> list[Any] | None:
    """Return made-up rows of some nodes; None if for none of them it is known which objects its operation makes."""
    made = [_made_of_operands(node) for node in nodes]
    if all(one is None for one in made):
        return None
    return [sample(node.meta) if one is None else one for one, node in zip(made, nodes, strict=True)]


def _made_of_operands(node: FrameExpr) -> Any:
    """Return what an operation makes of made-up values that aren't objects themselves; None if it has others."""
    if not isinstance(node.meta, pd.Series) or node.meta.dtype != object:
        return None
    source = _source_of(node)
    if not isinstance(source, BlockOp):
        return None
    metas = [one.meta for one in source.operand_nodes]
    if any(isinstance(meta, pd.DataFrame) or pd.api.types.is_object_dtype(meta) for meta in metas):
        return None
    try:
        made = source.call(*map(sample, metas))
    except Exception:  # pandas refuses in many ways, and it may call a user's function
        return None
    if not isinstance(made, pd.Series) or made.dtype != object:
        return None
    made.name = node.meta.name
    return made


def _source_of(node: FrameExpr) -> FrameExpr:
    """Return the node of a series that was set as the column of a frame of which this is one."""
    while isinstance(node, Projection) and not isinstance(node.columns, list):
        frame, name = node.frame, node.columns
        while isinstance(frame, Assign) and name not in frame.names:
            frame = frame.frame
        value = frame.values[frame.names.index(name)] if isinstance(frame, Assign) else None
        if not isinstance(value, FrameExpr):
            return node
        node = value
    return node
