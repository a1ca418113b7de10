"""`argsort`: values go to the partition of their range, and the numbers of their rows to the place that they have in order."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.wholes import NumberedSplit, Returned
from glassloom.dataframe.moving.boundaries import Order
from glassloom.dataframe.moving.exchange import Pieces, split
from glassloom.dataframe.moving.ranks import boundaries_of, places_in
from glassloom.dataframe.moving.returning import keys_of, moved_keys
from glassloom.dataframe.nodes import FrameExpr, Rowwise, SomeRows
from glassloom.dataframe.reduce import Operation, tree

_ORDER = Order((True,))


def argsorted(node: FrameExpr, *, has_missing: bool = HAS_COPY_ON_WRITE) -> FrameExpr:
    """Return the node of the positions of a series' rows in the order of their values, equal ones in the order of the rows.

    Parameters
    ----------
    has_missing
        Whether missing values come last. If not, as for series before pandas 3, they are left out, and -1 stands where they are.
    """
    if node.npartitions == 1:
        function = _argsorted_with_missing if has_missing else _argsorted
        return Rowwise(node, (), BlockCall(function, (Block(0),), label="argsort"))
    count = node.npartitions
    known = node if has_missing else SomeRows(node, (), BlockCall(_known, (Block(0),), label="dropna"))
    starts = tree(known, Operation(_lengths, _flat, _starts), 0, "row-numbers", split_every=1024)
    moved = moved_keys(known, partial(places_in, _ORDER), count, (boundaries_of(known, _ORDER),))
    sizes = tree(moved, Operation(_lengths, _flat, _starts), 0, "range-sizes", split_every=1024)
    call = BlockCall(partial(_split_to_places, count), tuple(map(Block, range(4))), label="split-to-places")
    meta = pd.Series([], dtype="int64", name=node.meta.name)
    placed = Returned(NumberedSplit(moved, (starts, sizes), call), count, known, meta, True)
    return Rowwise(node, (placed,), BlockCall(_labelled, (Block(0), Block(1)), label="argsort"))


def _argsorted(block: Any) -> Any:
    return block.argsort(kind="stable")


def _argsorted_with_missing(block: Any) -> Any:
    return pd.Series(block.array.argsort(kind="stable"), block.index, name=block.name)


def _known(block: Any) -> Any:
    return block.dropna()


def _lengths(block: Any) -> list[int]:
    return [len(block)]


def _flat(lists: list[list[int]]) -> list[int]:
    return [item for one in lists for item in one]


def _starts(lists: list[list[int]]) -> Any:
    return np.cumsum([0, *_flat(lists)])


def _split_to_places(count: int, frame: Any, starts: Any, sizes: Any, number: int) -> Pieces:
    """Return the positions of the rows of a range, to go where the rows are that have these places in order."""
    order = _ORDER.sorted(keys_of(frame).reset_index(drop=True)).index.to_numpy()
    partitions, rows = frame.iloc[:, -2].to_numpy()[order], frame.iloc[:, -1].to_numpy()[order]
    places = sizes[number] + np.arange(len(frame))
    goals = np.searchsorted(starts, places, side="right") - 1
    made = pd.DataFrame({0: starts[partitions] + rows, 1: goals, 2: places - starts[goals]}).astype("int64")
    return split(made, goals, count)


def _labelled(block: Any, positions: Any) -> Any:
    made = np.full(len(block), -1, dtype="int64")
    made[slice(None) if len(positions) == len(block) else block.notna().to_numpy()] = positions.to_numpy()
    return pd.Series(made, index=block.index, name=block.name)
