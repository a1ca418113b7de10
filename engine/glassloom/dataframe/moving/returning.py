"""Functions of all rows of equal or neighbouring keys, with a value for each row: keys move, and the values come back.

Only the keys move, as a frame with numbered columns: the keys, the number of the partition that each row comes from, and its
place in it. The result has the rows of the frame, in its partitions and in its order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.wholes import NumberedSplit, Returned, WholeGroups
from glassloom.dataframe.moving.exchange import Pieces, split
from glassloom.dataframe.nodes import FrameExpr


def moved_keys(
    node: FrameExpr, places: Callable[..., Any], count: int, others: tuple[FrameExpr, ...] = ()
) -> FrameExpr:
    """Return the node of the rows of a frame or series in other partitions, each with where it comes from.

    Parameters
    ----------
    node
        A frame or series whose columns are the keys.
    places
        Called with a partition and the only blocks of `others`; returns the new partition of each row.
    count
        Number of new partitions.
    others
        Nodes of one partition.
    """
    blocks = tuple(Block(number) for number in range(len(others) + 2))
    call = BlockCall(partial(_split, places, count), blocks, label="split-keys")
    return WholeGroups(NumberedSplit(node, others, call), count, _packed(node.meta, 0))


def returned_values(
    moved: FrameExpr, function: Callable[..., Any], like: FrameExpr, meta: Any, others: tuple[FrameExpr, ...] = ()
) -> FrameExpr:
    """Return the node of the values that a function makes of moved keys, as a series with the rows of `like`.

    Parameters
    ----------
    moved
        Made by `moved_keys`.
    function
        Called with the keys of a new partition (a frame with numbered columns), the only blocks of `others`, and the number
        of the partition; returns an array with a value for each row.
    like
        The frame whose rows have moved.
    meta
        An empty series like the result.
    """
    blocks = tuple(Block(number) for number in range(len(others) + 2))
    count = like.npartitions
    call = BlockCall(partial(_split_back, function, meta, count), blocks, label="split-back")
    return Returned(NumberedSplit(moved, others, call), count, like, meta, True)


def keys_of(frame: Any) -> Any:
    """Return the keys of rows that have moved."""
    return frame.iloc[:, :-2]


def _packed(block: Any, number: int) -> Any:
    frame = block.to_frame() if isinstance(block, pd.Series) else block
    frame = frame.set_axis(range(frame.shape[1]), axis=1)
    first = frame.shape[1]
    frame[first], frame[first + 1] = np.full(len(frame), number, np.int32), np.arange(len(frame))
    return frame


def _split(places: Callable[..., Any], count: int, block: Any, *others: Any) -> Pieces:
    return split(_packed(block, others[-1]), places(block, *others[:-1]), count)


def _split_back(function: Callable[..., Any], meta: Any, count: int, frame: Any, *others: Any) -> Pieces:
    values = pd.Series(function(keys_of(frame), *others), index=frame.index, dtype=meta.dtype)
    partitions, rows = frame.iloc[:, -2].to_numpy(), frame.iloc[:, -1].to_numpy()
    made = pd.DataFrame({0: values})
    made[1], made[2] = partitions, rows
    return split(made, partitions, count)
