"""`set_index`, and the divisions of a sorted column."""

from __future__ import annotations

from typing import Any

from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.moving.shape import SetDivisions
from glassloom.dataframe.nodes import FrameExpr, Rowwise
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import wrap
from glassloom.errors import DivisionError


class SetIndex(Rowwise):
    """A frame with a column as the index: the same rows under other labels."""

    @property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)

    @property
    def layout(self) -> str:
        return self.name


def set_index(frame: Any, column: Any, *, is_sorted: bool, drop: bool) -> Any:
    """Return the frame with a column as its index; see `DataFrame.set_index`."""
    call = BlockCall(Method("set_index"), (Block(0), column), {"drop": drop}, label="set-index")
    node = SetIndex(frame.expr, (), call)
    if not is_sorted:
        return wrap(node)
    return wrap(SetDivisions(node, _find_divisions(frame[column].expr, column)))


def _find_divisions(series: FrameExpr, column: Any) -> tuple[Any, ...]:
    """Compute the first and last label of each partition.

    Raises
    ------
    DivisionError
        If partitions are empty, unsorted or overlap.
    """
    ends = wrap(tree(series, Operation(_first_and_last_label, _flat, _flat), 0, "divisions")).compute()
    for number, end in enumerate(ends):
        if end is None:
            raise DivisionError(f"partition {number} has no rows, so its first {column!r} isn't known; drop it before")
        if not end[2]:
            raise DivisionError(f"partition {number} isn't sorted by {column!r}, or values are missing")
    for number, (before, after) in enumerate(zip(ends, ends[1:], strict=False)):
        if not before[1] < after[0]:
            raise DivisionError(
                f"partitions {number} and {number + 1} overlap: one ends at {column}={before[1]}, the next begins at "
                f"{after[0]}"
            )
    return (*(end[0] for end in ends), ends[-1][1])


def _first_and_last_label(block: Any) -> list[Any]:
    if not len(block):
        return [None]
    is_sorted = bool(block.is_monotonic_increasing and not block.isna().any())
    return [(block.iloc[0], block.iloc[-1], is_sorted)]


def _flat(lists: list[list[Any]]) -> list[Any]:
    return [item for one in lists for item in one]
