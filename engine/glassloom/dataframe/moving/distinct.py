"""`drop_duplicates`: in one partition by a tree of tasks, or in several by hash."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.shuffle import hash_shuffle
from glassloom.dataframe.nodes import FrameExpr, LabelKeeping
from glassloom.dataframe.reduce import keep_some


def distinct_rows(
    node: FrameExpr,
    subset: tuple[Any, ...] | None,
    keep: str | bool,
    ignore_index: bool,
    split_out: int | None,
    split_every: int | None,
) -> FrameExpr:
    """Return the node of ``frame.drop_duplicates(...)``; see `MovingRows.drop_duplicates`."""
    options: dict[str, Any] = {"keep": keep} if subset is None else {"keep": keep, "subset": list(subset)}
    if split_out == 1 and keep is not False:
        found: FrameExpr = keep_some(node, "drop_duplicates", options, split_every)
    else:
        all_columns = tuple(node.meta.columns) if isinstance(node.meta, pd.DataFrame) else (node.meta.name,)
        few = node if keep is False else _in_each_partition(node, options)
        found = _in_each_partition(hash_shuffle(few, subset or all_columns, split_out), options)
    return renumber(found) if ignore_index else found


def _in_each_partition(node: FrameExpr, options: dict[str, Any]) -> FrameExpr:
    return LabelKeeping(node, (), BlockCall(Method("drop_duplicates"), (Block(0),), options, label="drop-duplicates"))
