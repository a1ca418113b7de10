"""The rows of one label of a frame. pandas gives one row as a series by column, and so it stands for that beside another frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import concat, sample
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import FrameExpr, Projection, SomeRows
from glassloom.dataframe.reduction_nodes import TreeReduce, TreeSteps, WholeChunk
from glassloom.expr.core import walk

_ROWS = "rows-of-label-"
"""How tokens of `rows` begin: operations that keep rows keep the token, and so does what is persisted."""
_ROWS_OF_TEXT = "rows-of-text-"
"""The same of a text that may be one label."""
_ROWS_AT_ONCE = 8


class RowsOfLabel(TreeReduce):
    """All rows of one label, as a frame in one partition."""

    @property
    def rows(self) -> str:
        return f"{_ROWS}{self.name}"


class RowsOfText(SomeRows):
    """All rows of a text that is one of the labels, or else a stretch of time: which of them `is_one` finds out, reading all labels."""

    parameters = ("frame", "others", "call", "given_meta", "is_one")

    given_meta: Any
    is_one: Callable[[], bool]

    @property
    def meta(self) -> Any:
        return self.given_meta

    @property
    def rows(self) -> str:
        return f"{_ROWS_OF_TEXT}{self.name}"


def rows_beside(nodes: Sequence[FrameExpr]) -> list[FrameExpr]:
    """Return operands of an operation, with a series by column for a frame of the rows of one label if there is another frame beside it.

    Whether a text is one label is found out now.
    """
    frames = [node for node in nodes if isinstance(node.meta, pd.DataFrame)]
    if len(frames) < 2 or not any(map(is_of_label, frames)):
        return list(nodes)
    whole = next((node for node in frames if not is_of_label(node)), frames[0])
    names = {node.name for node in frames if is_of_label(node) and node.rows != whole.rows and _is_of_one(node)}
    return [_row_of(node) if node.name in names else node for node in nodes]


def is_of_label(node: FrameExpr) -> bool:
    """Whether a node has the rows of one label, or of a text that may be one."""
    return node.rows.startswith((_ROWS, _ROWS_OF_TEXT))


def _is_of_one(node: FrameExpr) -> bool:
    if node.rows.startswith(_ROWS):
        return True
    asked = next((one for one in walk([node]) if isinstance(one, RowsOfText) and one.rows == node.rows), None)
    if asked is None:
        raise ValueError(
            "the persisted rows of a text beside another frame: whether the text is one label or a stretch of time isn't known any more; "
            "loc[pd.Timestamp(text)] is one label, loc[text:text] gives rows that are aligned"
        )
    return asked.is_one()


def _row_of(node: FrameExpr) -> FrameExpr:
    """Return the only row of a frame, as a series by column. It is an error when computing if there are several."""
    rows = WholeChunk(node, (), BlockCall(_same, (Block(0),), label="row"))
    dtype = _dtype_of_row(node)
    steps = TreeSteps(concat, partial(_only_row, dtype), sample(node.meta).iloc[0].astype(dtype))
    return TreeReduce(rows, steps, _ROWS_AT_ONCE, "row")


def _dtype_of_row(node: FrameExpr) -> Any:
    """Return the dtype of the row in pandas: the common one of all columns that the row was taken of, not only of those chosen of it."""
    whole = node
    while isinstance(whole, Projection):
        whole = whole.frame
    taken = whole if isinstance(whole, (RowsOfLabel, RowsOfText)) else node
    return sample(taken.meta).iloc[0].dtype


def _same(block: Any) -> Any:
    return block


def _only_row(dtype: Any, blocks: list[Any]) -> Any:
    whole = concat(blocks)
    if len(whole) != 1:
        raise ValueError(
            f"a label that occurs {len(whole)} times stands for no row: loc[[label]] gives all of its rows, as a frame whose rows are aligned"
        )
    return whole.iloc[0].astype(dtype)
