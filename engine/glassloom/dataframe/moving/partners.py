"""Rows without a partner needn't move: in a join that keeps the rows of a small side, those of the large one are left out where they are.

The small side's keys become a look-up table. What is left of the large side moves, and is joined as if all had moved: in equal partitions, in equal order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glassloom.dataframe import on_device
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.moving.joining import Joining
from glassloom.dataframe.moving.lookup import (
    JoinByLookup,
    Lookup,
    LookupJoin,
    LookupTable,
    are_columns,
    have_keys_to_look_up,
)
from glassloom.dataframe.moving.size import size_of
from glassloom.dataframe.nodes import FrameExpr, Projection

LEAST_ROWS = 100_000
"""Of a side with fewer rows, all move in little time."""
MANY_TIMES = 3
"""Rows of a side are looked up if it likely has so many times as many as the other one."""
MOST_BYTES = 256 * 2**20
"""Keys that take more aren't made a table."""
_SAMPLE, _MOSTLY = 1024, 0.75
"""If so many of a few rows of a block have a partner, all of its rows move: to look up the others would take longer."""
_LARGE_SIDE = {"left": "right", "leftsemi": "right", "leftanti": "right", "left_anti": "right", "right": "left", "right_anti": "left"}  # fmt: skip
"""The side whose rows without a partner are in no row of a join."""


def with_partners(
    left: FrameExpr, right: FrameExpr, joining: Joining, *, moves: dict[str, bool]
) -> tuple[FrameExpr, FrameExpr]:
    """Return the sides of a join, the larger one likely with few rows that have no partner, if these are in no row of the join.

    Parameters
    ----------
    left, right, joining
        The sides and how they are joined.
    moves
        Whether the rows of each side move.
    """
    side = _LARGE_SIDE.get(joining.how, "")
    if not moves.get(side) or joining.validate is not None or left.name == right.name:
        return left, right
    large, small = (right, left) if side == "right" else (left, right)
    if not _has_many_times_the_rows(large, small) or not _can_look_up(left, right, joining):
        return left, right
    own, others = joining.right_on, joining.left_on
    if side == "left":
        own, others = others, own
    keys = Projection(small, list(dict.fromkeys(others or ())))
    semi = Joining("leftsemi", own, others, False, False, joining.same_keys, ("_x", "_y"), False, None)
    call = BlockCall(WithPartners(semi, finds_right=True), (Block(0), Block(1)), label="with-partners")
    made = LookupJoin(large, (LookupTable(keys, others or ()),), call)
    return (left, made) if side == "right" else (made, right)


def _has_many_times_the_rows(large: FrameExpr, small: FrameExpr) -> bool:
    large_size, small_size = size_of(large), size_of(small)
    if large_size is None or small_size is None or large_size.most_rows < LEAST_ROWS:
        return False
    is_many = small_size.likely_rows * MANY_TIMES <= large_size.likely_rows
    return is_many and small_size.most_bytes <= MOST_BYTES


def _can_look_up(left: FrameExpr, right: FrameExpr, joining: Joining) -> bool:
    if left.backend != "pandas" or right.backend != "pandas" or joining.left_index or joining.right_index:
        return False
    metas = left.meta, right.meta
    return are_columns(*metas, joining) and have_keys_to_look_up(*metas, joining)


@dataclass(frozen=True)
class WithPartners(JoinByLookup):
    """The rows of a block whose keys are among those of a `Lookup`; all rows if most are, or keys can't be looked up."""

    def kept(self, lookup: Lookup, columns: list[Any]) -> Any:
        """See `JoinByLookup.kept`."""
        step = len(columns[0]) // _SAMPLE
        if step > 1:
            some = lookup.has([column.iloc[::step] for column in columns])
            if some is None or some.mean() > _MOSTLY:
                return slice(None)
        kept = super().kept(lookup, columns)
        return slice(None) if kept is None else kept

    def __call__(self, block: Any, lookup: Lookup) -> Any:
        return block if on_device.is_on_device(block) else super().__call__(block, lookup)
