"""`isin` of lazy values: their distinct ones are brought together in one block, which all partitions are tested by."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.moving.distinct import distinct_rows
from glassloom.dataframe.nodes import FrameExpr, Rowwise


class RowsAmong(Rowwise):
    """A test of each row by the only block of the last of `others`, which is no part of the rows."""

    def is_beside(self, node: FrameExpr) -> bool:
        return node is self.others[-1]


def rows_among(node: FrameExpr, values: Any) -> FrameExpr:
    """Return the node of where the values of a node are among those of a lazy series or index.

    Raises
    ------
    NotImplementedError
        If one of both is a frame: pandas aligns these by label.
    """
    if isinstance(node.meta, pd.DataFrame):
        raise NotImplementedError("isin of a frame takes a list or a dict: test columns by frame[column].isin(values)")
    if isinstance(values.expr.meta, pd.Index):
        values = values.to_series()
    if not isinstance(values.expr.meta, pd.Series):
        raise NotImplementedError(
            "isin takes a list, a lazy series or a lazy index; rows that are equal in several columns are found by "
            "merge(how='leftsemi')"
        )
    distinct = distinct_rows(values.expr, None, "first", False, 1, None)
    return RowsAmong(node, (distinct,), BlockCall(_is_among, (Block(0), Block(1)), label="isin"))


def _is_among(block: Any, values: Any) -> Any:
    return block.isin(values)
