"""`drop_duplicates`: in one partition by a tree of tasks, or in several by hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from glassloom.dataframe.arrow.blocks import Column, TableBlock, plain
from glassloom.dataframe.arrow.forms import takes_blocks
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.repeated import is_repeated, joined_without_repeated, without_repeated
from glassloom.dataframe.moving.shuffle import hash_shuffle
from glassloom.dataframe.nodes import FrameExpr, SomeRows, empty
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import RowsChunk, TreeReduce
from glassloom.dataframe.widening import concat_promised, is_wider


@dataclass(frozen=True)
class Distinct:
    """Which rows are left of equal ones: those equal in the columns `subset` (None: all)."""

    subset: tuple[Any, ...] | None
    keep: str | bool
    promised: Any = None
    """The meta of the rows: blocks without rows decide on dtypes where theirs are wider."""

    @property
    def __name__(self) -> str:
        return "drop_duplicates"

    def __glassloom_tokenize__(self) -> Any:
        return (self.subset, self.keep, self.promised)

    def __call__(self, block: Any) -> Any:
        """Return the distinct rows of a block."""
        return without_repeated(block, self.subset, self.keep)

    @takes_blocks
    def chunk(self, block: Any) -> list[Any]:
        if type(block) is TableBlock:
            names = block.columns if self.subset is None else self.subset
            compared = pd.DataFrame(
                {place: block.series(name) for place, name in enumerate(names)}, index=block.rows.numbers, copy=False
            )
            mask = ~is_repeated(compared, None, self.keep)
            return [block.of_rows(block.rows.where(Column.of(mask))).to_pandas()]
        return [self(plain(block))]

    def combine(self, several: list[list[Any]]) -> list[Any]:
        return self._with_wider(joined_without_repeated(several, self.subset, self.keep, is_last=False), several)

    def pieces(self, several: list[list[Any]]) -> list[Any]:
        """Return what `finish` does in pieces that follow each other: as many as needn't be joined for it."""
        return joined_without_repeated(several, self.subset, self.keep, is_last=True)

    def finish(self, several: list[list[Any]]) -> Any:
        return concat_promised(self.promised, self._with_wider(self.pieces(several), several))

    def _with_wider(self, made: list[Any], several: list[list[Any]]) -> list[Any]:
        """Return blocks with those that have no rows and decide on dtypes."""
        left_out = [block for some in several for block in some if is_wider(block, self.promised)]
        return [*made, *left_out] if len(made[0]) else left_out or made


def distinct_of(node: Any) -> Distinct | None:
    """Return which rows are left by a node that joins the distinct rows of partitions; None of other nodes."""
    finish = node.steps.finish if isinstance(node, TreeReduce) else None
    distinct = getattr(finish, "__self__", None)
    return distinct if isinstance(distinct, Distinct) and finish == distinct.finish else None


def distinct_rows(
    node: FrameExpr,
    subset: tuple[Any, ...] | None,
    keep: str | bool,
    ignore_index: bool,
    split_out: int | None,
    split_every: int | None,
) -> FrameExpr:
    """Return the node of ``frame.drop_duplicates(...)``; see `MovingRows.drop_duplicates`."""
    distinct = Distinct(subset, keep, empty(node.meta))
    if split_out == 1 and keep is not False:
        steps = Operation(distinct.chunk, distinct.combine, distinct.finish)
        found: FrameExpr = tree(
            node, steps, empty(node.meta), "drop-duplicates", split_every=split_every, chunk_type=RowsChunk
        )
    else:
        all_columns = tuple(node.meta.columns) if isinstance(node.meta, pd.DataFrame) else (node.meta.name,)
        few = node if keep is False else _in_each_partition(node, distinct)
        found = _in_each_partition(hash_shuffle(few, subset or all_columns, split_out), distinct)
    return renumber(found) if ignore_index else found


def _in_each_partition(node: FrameExpr, distinct: Distinct) -> FrameExpr:
    return SomeRows(node, (), BlockCall(distinct, (Block(0),), label="drop-duplicates"))
