"""Blocks are cut below element-wise functions, where that makes nothing twice and holds nothing longer.

The operands of a stencil begin at different elements, so that each further one cuts the blocks of all before it. Cut
above, each step would be an array of its own, held until its neighbours are there; cut below, all steps of a piece are one
task, which reads views of the blocks that the stencil reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from glassloom.array.ops.base import ArrayExpr, PersistedArray
from glassloom.array.ops.creation import FromArray
from glassloom.array.ops.elementwise import Elementwise, fit
from glassloom.array.ops.joining import Concatenate
from glassloom.array.ops.rechunk import Split
from glassloom.array.ops.slicing import Slice
from glassloom.expr import Expr, walk, whole_plan
from glassloom.expr.pushdown import push_down


@whole_plan
def cut_before_elementwise(roots: Sequence[Expr]) -> list[Expr]:
    """Cut the operands of element-wise functions instead of their results, if their blocks are there anyway.

    Nothing is done where only functions of one array are cut: a block takes as much room before them as after them.
    """
    order = walk(roots)
    if not any([_is_cut_of_several(node) for node in order]):
        return list(roots)
    held = _held_anyway(order, roots)

    def rewrite(node: Expr, is_shared: Callable[[Expr], bool]) -> Expr | None:
        if not isinstance(node, Split) or not isinstance(node.array, Elementwise):
            return None
        child = node.array
        if is_shared(child) or not all([below.name in held for below in child.dependencies]):
            return None
        return _cut(child, node)

    return push_down(roots, rewrite)


def _is_cut_of_several(node: Expr) -> bool:
    return isinstance(node, Split) and isinstance(node.array, Elementwise) and len(node.array.dependencies) > 1


def _cut(node: Elementwise, cut: Split) -> Elementwise:
    """Return an element-wise function of operands in the blocks of a cut of it."""
    args = [fit(_uncut(arg), cut.chunks) if isinstance(arg, ArrayExpr) else arg for arg in node.args]
    return Elementwise(node.ufunc, tuple(args), node.kwargs, origin=node.origin)


def _uncut(node: ArrayExpr) -> ArrayExpr:
    return node.array if isinstance(node, Split) else node


def _held_anyway(order: Sequence[Expr], roots: Sequence[Expr]) -> set[str]:
    """Return the names of nodes whose blocks are there for others too, and of those that are made of nothing else by
    taking parts and element by element."""
    n_consumers = Counter([*{root.name for root in roots}, *[name for node in order for name in _names_below(node)]])
    held: set[str] = set()
    for node in order:
        is_there = isinstance(node, PersistedArray) or (isinstance(node, FromArray) and node.source.views_are_free)
        is_made_of_held = isinstance(node, (Slice, Split, Concatenate, Elementwise)) and _names_below(node) <= held
        if is_there or is_made_of_held or n_consumers[node.name] > 1:
            held.add(node.name)
    return held


def _names_below(node: Expr) -> set[str]:
    return {below.name for below in node.dependencies}
