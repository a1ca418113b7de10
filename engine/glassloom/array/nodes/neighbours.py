"""Which blocks read the same blocks: what makes a difference to the order in which they are best made."""

from __future__ import annotations

from glassloom.array.nodes.base import ArrayExpr
from glassloom.array.nodes.elementwise import Elementwise
from glassloom.array.nodes.overlap import Overlap
from glassloom.array.nodes.rechunk import Split

_MOST_NODES = 100
"""No more nodes are looked at: it is asked of each reduction that is made."""


def shared_axes(array: ArrayExpr) -> set[int]:
    """Return the axes along which neighbouring blocks are made of the same blocks: those of stencils and windows.

    Looks through what is computed element by element.
    """
    found: set[int] = set()
    seen = {array.name}
    todo: list[ArrayExpr] = [array]
    while todo and len(seen) < _MOST_NODES:
        node = todo.pop()
        if isinstance(node, (Split, Overlap)):
            pairs = zip(node.chunks, node.array.chunks, strict=True)
            found.update(axis for axis, (mine, below) in enumerate(pairs) if mine != below and len(below) > 1)
        elif isinstance(node, Elementwise):
            for below in node.dependencies:
                if isinstance(below, ArrayExpr) and below.ndim == array.ndim and below.name not in seen:
                    seen.add(below.name)
                    todo.append(below)
    return found
