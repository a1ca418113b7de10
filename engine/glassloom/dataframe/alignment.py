"""Whether frames are cut alike, so that they can be combined partition by partition, and how messages show where a frame is cut."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom.dataframe.category_order import can_divide
from glassloom.dataframe.nodes import FrameExpr
from glassloom.errors import DivisionError


def require_aligned(nodes: Sequence[FrameExpr], what: str) -> None:
    """Check that frames can be combined partition by partition.

    Raises
    ------
    DivisionError
        If neither their layouts nor their known divisions are equal.
    """
    for other in nodes[1:]:
        first = nodes[0]
        has_layout = other.layout == first.layout and other.npartitions == first.npartitions
        has_divisions = other.divisions == first.divisions and first.divisions[0] is not None
        if has_layout or has_divisions or other.npartitions == first.npartitions == 1:
            continue
        raise DivisionError(
            f"{what}: the operands are cut differently: {describe_divisions(first)} and {describe_divisions(other)}. "
            "Take both from the same frame, compute() the smaller one first, join them with merge(), or sort both by index: set_index() and "
            "sort_index() find the divisions"
        )


def describe_divisions(node: FrameExpr) -> str:
    """Return the partitions of a node as messages show them."""
    count = f"{node.npartitions} partition{'s' if node.npartitions != 1 else ''}"
    if node.divisions[0] is None:
        return (
            f"{count} with unknown divisions{'' if can_divide(node.meta) else ' of categories not in ascending order'}"
        )
    shown = [str(label) for label in node.divisions]
    if len(shown) > 5:
        shown = [*shown[:3], "...", shown[-1]]
    return f"{count} with divisions ({', '.join(shown)})"
