"""`duplicated`: the keys of rows go to the partition of their hash, and whether they repeat others comes back."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.moving.hashing import hash_keys, places_of
from glassloom.dataframe.moving.repeated import is_repeated
from glassloom.dataframe.moving.returning import moved_keys, returned_values
from glassloom.dataframe.nodes import FrameExpr, Projection, Rowwise


def duplicated_rows(node: FrameExpr, subset: tuple[Any, ...] | None, keep: str | bool) -> FrameExpr:
    """Return the node of which rows repeat others; see `MovingRows.duplicated`."""
    is_frame = isinstance(node.meta, pd.DataFrame)
    keys = node if subset is None or not is_frame else Projection(node, list(subset))
    name = None if is_frame else node.meta.name
    if node.npartitions == 1 or (is_frame and not len(keys.meta.columns)):
        return Rowwise(keys, (), BlockCall(_in_block, (Block(0), keep, name), label="duplicated"))
    meta = pd.Series([], dtype=bool, index=node.meta.index, name=name)
    moved = moved_keys(keys, partial(_places, node.npartitions), node.npartitions)
    return returned_values(moved, partial(_repeated, keep), keys, meta)  # whose rows are those of all columns


def _in_block(block: Any, keep: str | bool, name: Any) -> Any:
    return pd.Series(is_repeated(block, None, keep), index=block.index, name=name, dtype=bool)


def _places(count: int, block: Any) -> Any:
    columns = [block] if isinstance(block, pd.Series) else [block.iloc[:, place] for place in range(block.shape[1])]
    return places_of(hash_keys(columns), count)


def _repeated(keep: str | bool, keys: Any, number: int) -> Any:
    return is_repeated(keys, None, keep)
