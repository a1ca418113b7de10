"""The rows of one label of a frame. pandas gives one row as a series by column, and so it stands for that beside another frame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import sample
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import BlockOp, FrameExpr
from glassloom.dataframe.reduction_nodes import TreeReduce

_ROWS = "rows-of-label-"
"""How tokens of `rows` begin: operations that keep rows keep the token, and so does what is persisted."""


class RowsOfLabel(TreeReduce):
    """All rows of one label, as a frame in one partition."""

    @property
    def rows(self) -> str:
        return f"{_ROWS}{self.name}"


class OnlyRow(BlockOp):
    """The only row of a frame, as a series by column. It is an error when computing if there are several."""

    keeps_backend = True

    @cached_property
    def meta(self) -> Any:
        return sample(self.frame.meta).iloc[0]


def rows_beside(nodes: Sequence[FrameExpr]) -> list[FrameExpr]:
    """Return operands of an operation, with a series by column for a frame of the rows of one label if there is another frame beside it."""
    frames = [node for node in nodes if isinstance(node.meta, pd.DataFrame)]
    if len(frames) < 2 or not any(map(is_of_label, frames)):
        return list(nodes)
    whole = next((node for node in frames if not is_of_label(node)), frames[0])
    names = {node.name for node in frames if is_of_label(node) and node.rows != whole.rows}
    return [_row_of(node) if node.name in names else node for node in nodes]


def is_of_label(node: FrameExpr) -> bool:
    """Whether a node has the rows of one label."""
    return node.rows.startswith(_ROWS)


def _row_of(node: FrameExpr) -> FrameExpr:
    return OnlyRow(node, (), BlockCall(_only_row, (Block(0),), label="row"))


def _only_row(block: Any) -> Any:
    if len(block) != 1:
        raise ValueError(
            f"a label that occurs {len(block)} times stands for no row: loc[[label]] gives all of its rows, as a frame whose rows are aligned"
        )
    return block.iloc[0]
