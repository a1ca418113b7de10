"""The values of a series of sorted rows for the rows that were sorted, by place: where labels count the rows of each partition, they don't tell these.

Rows that are sorted get a column that says where they come from. Of a series with the sorted rows, one for one, each value goes back there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.wholes import Returned
from glassloom.dataframe.io.from_map import MapSource
from glassloom.dataframe.io.from_pandas import PandasSource
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.label_nodes import Labels, NewLabels
from glassloom.dataframe.moving.exchange import Pieces, Split, split
from glassloom.dataframe.moving.joining import AnyJoin
from glassloom.dataframe.moving.numbering import Renumber
from glassloom.dataframe.moving.sort import SortedExchange
from glassloom.dataframe.nodes import Assign, Columnwise, Filter, FrameExpr, OfSameRows, Projection, Relabelled, Rowwise
from glassloom.dataframe.plan import rebuilt
from glassloom.expr import walk

_PLACE = "__place"
_BITS = 40
"""Of the number of a row in its partition."""
_KEEPS_LABELS = (Projection, Assign, Filter, Rowwise, Columnwise)


class Places(OfSameRows):
    """Where each row is: the number of its partition, and its own in this one, in one number."""

    parameters = ("frame",)
    operation = "places"

    @cached_property
    def meta(self) -> Any:
        return pd.Series([], index=self.frame.meta.index, dtype="int64")

    @property
    def function(self) -> Callable[..., Any]:
        return BlockCall(_places, (Block(0), Block(1)), label="places")

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return index


def counts_partitions(node: FrameExpr) -> bool:
    """Whether labels count the rows of each partition, as far as is known: as where text files are read or frames are joined by columns."""
    if not isinstance(node.meta.index, pd.RangeIndex) or node.divisions[0] is not None or node.npartitions == 1:
        return False
    below = walk([node])
    return not any(isinstance(one, Renumber) for one in below) and any(map(_counts_rows, below))


def _counts_rows(node: Any) -> bool:
    if isinstance(node, (Relabelled, AnyJoin)):
        return isinstance(node.meta.index, pd.RangeIndex)
    is_numbered = isinstance(node, Read) and isinstance(node.meta.index, pd.RangeIndex) and node.divisions[0] is None
    return is_numbered and not isinstance(node.source, (PandasSource, MapSource))


def in_rows_of_one(one: FrameExpr, other: FrameExpr) -> tuple[FrameExpr, FrameExpr] | None:
    """Return two series of the same rows, one of them sorted, both in the order of their numbers, in which pandas combines them; None if that isn't known."""
    if not isinstance(one.meta, pd.Series) or not isinstance(other.meta, pd.Series):
        return None
    if _is_in_order_of_numbers(one) and (found := _from_places(one, other)) is not None:
        return one, found
    if _is_in_order_of_numbers(other) and (found := _from_places(other, one)) is not None:
        return found, other
    return None


def _is_in_order_of_numbers(node: FrameExpr) -> bool:
    """Whether rows are in the order of their labels, which are numbers of their own."""
    below = _labelled_first(node)
    is_read = isinstance(below, (Read, Renumber)) and isinstance(below.meta.index, pd.RangeIndex)
    return (is_read and (isinstance(below, Renumber) or below.divisions[0] is not None)) or _counts_rows(below)


def values_by_place(node: FrameExpr, value: FrameExpr) -> FrameExpr | None:
    """Return the node of a series' values in the rows of a frame if it has these, sorted, one for one; None if that isn't known.

    pandas numbers the rows of such a frame, so that labels say just that.
    """
    return _from_places(node, value) if _numbers_rows(node) else None


def _from_places(node: FrameExpr, value: FrameExpr) -> FrameExpr | None:
    if node.backend != "pandas" or value.backend != "pandas":
        return None
    for moved in walk([value]):
        if isinstance(moved, SortedExchange) and _is_of_rows(moved, node, value):
            return _returned(node, value, moved)
    return None


def _numbers_rows(node: FrameExpr) -> bool:
    """Whether each row of a frame has a number of its own, to pandas: rows of which several may have one label were put together otherwise."""
    return _counts_rows(_labelled_first(node))


def _labelled_first(node: Any) -> Any:
    """Return the node that gave rows their labels; that of others beside which rows were aligned."""
    while isinstance(node, _KEEPS_LABELS) and not isinstance(node, (Labels, NewLabels)):
        if isinstance(node, Rowwise) and not node.keeps_rows:
            return node
        node = node.frame
    return node


def _is_of_rows(moved: SortedExchange, node: FrameExpr, value: FrameExpr) -> bool:
    """Whether a series has the rows of a sort, one for one and under their labels, and the sort those of a frame."""
    sorted_rows, meta = moved.frame, moved.frame.meta
    if (value.rows, value.layout) != (moved.rows, moved.layout):
        return False
    if (sorted_rows.rows, sorted_rows.layout) != (node.rows, node.layout) or moved.found_divisions is not None:
        return False
    return (
        isinstance(meta, pd.DataFrame) and meta.columns.is_unique and all(isinstance(one, str) for one in meta.columns)
    )


def _returned(node: FrameExpr, value: FrameExpr, moved: SortedExchange) -> FrameExpr | None:
    before, columns = moved.frame, list(moved.meta.columns)
    name = next(
        name for name in (f"{_PLACE}{number or ''}" for number in range(len(columns) + 1)) if name not in columns
    )
    placed = Assign(before, (name,), (Places(Projection(before, [])),))
    moving = moved.split
    whole = moved.rebuild([Split(placed, moving.others, moving.call, origin=moving.origin), *moved.operands[1:]])
    (series,) = rebuilt([value], walk([value]), {moved.name: Projection(whole, columns, origin=moved.origin)})
    places = Projection(whole, name)
    if not isinstance(series, FrameExpr) or series.rows != places.rows:
        return None
    meta = value.meta.set_axis(node.meta.index[:0])
    call = BlockCall(partial(_split_back, node.npartitions), (Block(0), Block(1)), label="split-back")
    return Returned(Split(series, (places,), call), node.npartitions, node, meta, True)


# What is done with partitions.


def _places(block: Any, number: int) -> Any:
    return pd.Series((number << _BITS) + np.arange(len(block), dtype=np.int64), index=block.index)


def _split_back(count: int, values: Any, places: Any) -> Pieces:
    """Return values of a partition, to go back to where they come from."""
    found = places.to_numpy()
    made = pd.DataFrame({0: values.array}, index=values.index, copy=False)
    made[1], made[2] = found >> _BITS, found & ((1 << _BITS) - 1)
    return split(made, made[1].to_numpy(), count)
