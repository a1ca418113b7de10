"""Rewrite rules that bring slices and lists of positions below what is costly, to where less is made for them."""

from __future__ import annotations

from glassloom.array.chunks import is_known
from glassloom.array.nodes.base import ArrayExpr
from glassloom.array.nodes.contraction import BlockProducts, Mirrored
from glassloom.array.nodes.elementwise import Elementwise
from glassloom.array.nodes.joining import Concatenate
from glassloom.array.nodes.rechunk import Merge, Split, rechunk
from glassloom.array.nodes.reductions import Aggregate, Finish, reduced_array, reduction_of
from glassloom.array.nodes.shaping import BroadcastTo
from glassloom.array.nodes.slicing import Selector, Slice, Take, TakeWithin, cut_axis, slice_array
from glassloom.expr import rule


@rule(Slice, Aggregate, unshared=True)
@rule(Slice, Finish, unshared=True)
def slice_before_reduction(parent: Slice, child: Aggregate | Finish) -> ArrayExpr | None:
    """``x.sum(axis=0)[a]`` is ``x[:, a].sum(axis=0)``, where a position's result doesn't depend on other positions."""
    if not child.kernel.by_position:
        return None
    source = reduced_array(child)
    below: list[Selector] = [None] * source.ndim
    above: list[Selector] = []
    positions = [axis for axis in range(source.ndim) if child.keepdims or axis not in child.axes]
    for axis, selector in zip(positions, parent.index, strict=True):
        if axis in child.axes:
            above.append(selector)
        elif isinstance(selector, int):
            below[axis] = range(selector, selector + 1)
            above.append(0)
        else:
            below[axis] = selector
            above.append(None)
    if any(isinstance(selector, range) and not selector for selector in below):
        return None
    sliced = slice_array(source, tuple(below))
    return (
        None if sliced is source else _if_in_blocks_of(parent, slice_array(reduction_of(child, sliced), tuple(above)))
    )


@rule(Slice, BlockProducts, unshared=True)
def slice_before_products(parent: Slice, child: BlockProducts) -> ArrayExpr | None:
    """Rows of a product are products of rows; the axes that are summed over later are left alone."""
    summed = set(child.product.summed(child))
    if any(selector is not None and axis in summed for axis, selector in enumerate(parent.index)):
        return None
    if any(selector is not None and not isinstance(selector, range) for selector in parent.index):
        return None
    sides = []
    for node, axes in ((child.left, child.left_axes), (child.right, child.right_axes)):
        is_repeated = [axis is None or node.shape[own] != child.shape[axis] for own, axis in enumerate(axes)]
        selectors = [None if skip or axis is None else parent.index[axis]
                     for skip, axis in zip(is_repeated, axes, strict=True)]  # fmt: skip
        sides.append(slice_array(node, tuple(selectors)))
    return BlockProducts(*sides, *child.operands[2:], origin=child.origin)


@rule(Slice, Mirrored, unshared=True)
def slice_of_mirrored(parent: Slice, child: Mirrored) -> ArrayExpr:
    """A part of a symmetric matrix is made as that of any other."""
    return slice_array(child.array, parent.index)


@rule(Slice, Concatenate, unshared=True)
def slice_before_concatenate(parent: Slice, child: Concatenate) -> ArrayExpr | None:
    """Of arrays one after the other only those are made of which something is taken."""
    axis, selector = child.axis, parent.index[child.axis]
    if not all(is_known(node.chunks[axis]) for node in child.arrays):
        return None
    parts = []
    for number, place, _ in cut_axis(selector, tuple(node.shape[axis] for node in child.arrays)):
        node = child.arrays[number]
        own = place if isinstance(place, int) else range(node.shape[axis])[place]
        parts.append(slice_array(node, (*parent.index[:axis], own, *parent.index[axis + 1 :])))
    if len(parts) == 1:
        return _if_in_blocks_of(parent, parts[0])
    n_gone = sum(isinstance(other, int) for other in parent.index[:axis])
    return _if_in_blocks_of(parent, Concatenate(tuple(parts), axis - n_gone, origin=child.origin))


def _if_in_blocks_of(parent: Slice, made: ArrayExpr) -> ArrayExpr | None:
    """Return a node that stands for `parent` if it has the same blocks: slices leave out empty ones, whole arrays don't."""
    return made if made.chunks == parent.chunks else None


@rule(Slice, BroadcastTo, unshared=True)
def slice_before_broadcast(parent: Slice, child: BroadcastTo) -> ArrayExpr:
    """What is repeated is sliced where it isn't, and repeated less often where it is."""
    offset = child.ndim - child.array.ndim
    selectors: list[Selector] = []
    for axis, length in enumerate(child.array.shape):
        selector = parent.index[offset + axis]
        is_repeated = length != child.shape[offset + axis]
        selectors.append((0 if isinstance(selector, int) else None) if is_repeated else selector)
    sliced = slice_array(child.array, tuple(selectors))
    return sliced if sliced.chunks == parent.chunks else BroadcastTo(sliced, parent.chunks, origin=child.origin)


@rule(Slice, Merge, unshared=True)
@rule(Slice, Split, unshared=True)
def slice_before_rechunk(parent: Slice, child: Merge | Split) -> ArrayExpr | None:
    """Less is moved into other blocks."""
    if not all(map(is_known, child.chunks)) or parent.size >= child.size:
        return None
    return rechunk(slice_array(child.array, parent.index), parent.chunks)


@rule(TakeWithin, Elementwise, unshared=True)
@rule(Take, Elementwise, unshared=True)
def take_before_elementwise(parent: TakeWithin | Take, child: Elementwise) -> ArrayExpr | None:
    """``(x + y)[:, [1, 5]]`` is ``x[:, [1, 5]] + y[:, [1, 5]]``, unless positions are taken more than once, or from
    all over several arrays."""
    if sum(map(len, parent.pieces)) > child.shape[parent.axis]:
        return None
    args = []
    for arg in child.args:
        axis = parent.axis - (child.ndim - arg.ndim) if isinstance(arg, ArrayExpr) else -1
        is_read = axis >= 0 and arg.shape[axis] == child.shape[parent.axis]
        args.append(type(parent)(arg, axis, parent.pieces) if is_read else arg)
    n_taken = sum(arg is not old for arg, old in zip(args, child.args, strict=True))
    if n_taken > 1 and isinstance(parent, Take):
        return None
    return Elementwise(child.ufunc, tuple(args), child.kwargs, origin=child.origin)
