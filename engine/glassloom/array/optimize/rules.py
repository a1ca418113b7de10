"""Rewrite rules of arrays: which plan gives the same elements, and when it may be taken for another.

Slices and lists of positions go down to where less is made for them, and what cancels out goes away.
"""

from __future__ import annotations

import numpy as np

from glassloom.array.chunks import is_known
from glassloom.array.ops.base import ArrayExpr
from glassloom.array.ops.creation import Arange, FromArray, Full
from glassloom.array.ops.elementwise import Elementwise
from glassloom.array.ops.joining import Concatenate
from glassloom.array.ops.products import BlockProducts, Mirrored
from glassloom.array.ops.rechunk import Merge, Split, rechunk
from glassloom.array.ops.reductions import Aggregate, Finish, reduced_array, reduction_of
from glassloom.array.ops.shapes import BroadcastTo, Transpose, transpose
from glassloom.array.ops.slicing import NewAxes, Selector, Slice, Take, TakeWithin, cut_axis, slice_array
from glassloom.array.optimize.reads import reads_no_more
from glassloom.expr import rule

_SQUARED_BITWISE = (np.dtype(np.float32), np.dtype(np.float64))


@rule(Slice, Slice, unshared=True)
def slice_once(parent: Slice, child: Slice) -> ArrayExpr:
    """``x[a][b]`` is one slice of x."""
    outer = iter(parent.index)
    combined = [inner if isinstance(inner, int) else _slice_of_slice(inner, next(outer)) for inner in child.index]
    return Slice(child.array, tuple(combined), origin=parent.origin)


def _slice_of_slice(inner: range | None, outer: Selector) -> Selector:
    if inner is None:
        return outer
    if outer is None:
        return inner
    if isinstance(outer, int):
        return inner[outer]
    if not outer:
        return range(0)
    start, step = inner[outer.start], inner.step * outer.step
    return range(start, start + len(outer) * step, step)


@rule(Slice, Elementwise, unshared=True)
def slice_before_elementwise(parent: Slice, child: Elementwise) -> ArrayExpr:
    """``(x + y)[a]`` is ``x[a] + y[a]``; axes along which an operand is repeated are left alone."""
    args = [_sliced_operand(arg, parent.index, child) if isinstance(arg, ArrayExpr) else arg for arg in child.args]
    return Elementwise(child.ufunc, tuple(args), child.kwargs, origin=child.origin)


def _sliced_operand(operand: ArrayExpr, index: tuple[Selector, ...], node: Elementwise) -> ArrayExpr:
    offset = node.ndim - operand.ndim
    selectors: list[Selector] = []
    for axis, length in enumerate(operand.shape):
        selector = index[offset + axis]
        is_repeated = length == 1 and node.shape[offset + axis] != 1
        if is_repeated:
            selector = 0 if isinstance(selector, int) else None
        selectors.append(selector)
    return slice_array(operand, tuple(selectors))


@rule(Elementwise)
def square_for_power(node: Elementwise) -> ArrayExpr | None:
    """``x ** 2`` is a product, bit for bit, and three times faster so."""
    if node.ufunc is not np.power or node.kwargs:
        return None
    base, exponent = node.args
    if not isinstance(base, ArrayExpr) or type(exponent) not in (int, float) or exponent != 2:
        return None
    fits = base.dtype in _SQUARED_BITWISE or base.dtype.kind in "iu" and type(exponent) is int
    return Elementwise(np.square, (base,), {}, origin=node.origin) if fits else None


@rule(Slice, Transpose, unshared=True)
def slice_before_transpose(parent: Slice, child: Transpose) -> ArrayExpr:
    """``x.T[a, b]`` is ``x[b, a].T``."""
    selectors: list[Selector] = [None] * child.ndim
    for selector, axis in zip(parent.index, child.axes, strict=True):
        selectors[axis] = selector
    kept = [axis for axis in range(child.ndim) if not isinstance(selectors[axis], int)]
    order = [kept.index(axis) for axis in child.axes if axis in kept]
    return transpose(slice_array(child.array, tuple(selectors)), order)


@rule(Slice, NewAxes, unshared=True)
def slice_before_new_axes(parent: Slice, child: NewAxes) -> ArrayExpr | None:
    """``x[None][:, a]`` is ``x[a][None]``."""
    of_new = [parent.index[axis] for axis in child.axes]
    if any(isinstance(selector, range) and len(selector) != 1 for selector in of_new):
        return None
    of_old = [selector for axis, selector in enumerate(parent.index) if axis not in child.axes]
    sliced = slice_array(child.array, tuple(of_old))
    kept = [axis for axis, selector in enumerate(parent.index) if not isinstance(selector, int)]
    new_axes = tuple(place for place, axis in enumerate(kept) if axis in child.axes)
    return NewAxes(sliced, new_axes) if new_axes else sliced


@rule(Slice, Full)
def slice_of_full(parent: Slice, child: Full) -> ArrayExpr:
    """A part of an array of ones is a smaller array of ones."""
    return Full(child.fill, parent.chunks, child.dtype, child.backend, origin=child.origin)


@rule(Slice, Arange)
def slice_of_arange(parent: Slice, child: Arange) -> ArrayExpr | None:
    """A slice of evenly spaced values is evenly spaced: only the positions change."""
    (selector,) = parent.index
    if not isinstance(selector, range) or not selector:
        return None
    first = child.first + child.stride * selector.start
    stride = child.stride * selector.step
    return Arange(
        child.start, child.step, first, stride, parent.chunks, child.dtype, child.backend, origin=child.origin
    )


@rule(Transpose, Transpose)
def transpose_once(parent: Transpose, child: Transpose) -> ArrayExpr:
    """``x.T.T`` is x."""
    return transpose(child.array, [child.axes[axis] for axis in parent.axes])


@rule(Elementwise)
def transpose_after_elementwise(node: Elementwise) -> ArrayExpr | None:
    """``x.T + y.T`` is ``(x + y).T``: a transposition that comes last costs nothing, and may go away there."""
    arrays = [arg for arg in node.args if isinstance(arg, ArrayExpr)]
    if not all(isinstance(arg, Transpose) and arg.axes == arrays[0].axes for arg in arrays):  # type: ignore[attr-defined]
        return None
    args = tuple(arg.array if isinstance(arg, Transpose) else arg for arg in node.args)
    return transpose(Elementwise(node.ufunc, args, node.kwargs, origin=node.origin), arrays[0].axes)  # type: ignore[attr-defined]


@rule(Aggregate)
@rule(Finish)
def reduce_before_transpose(node: Aggregate | Finish) -> ArrayExpr | None:
    """``x.T.sum(axis=0)`` is ``x.sum(axis=1)``: no block is read across."""
    source = reduced_array(node)
    if not isinstance(source, Transpose) or not node.kernel.ignores_order:
        return None
    made = reduction_of(node, source.array, source.axes)
    old_axes = [axis for axis in range(source.ndim) if node.keepdims or axis not in node.axes]
    kept = sorted(source.axes[axis] for axis in old_axes)
    return transpose(made, [kept.index(source.axes[axis]) for axis in old_axes])


@rule(Merge)
def rechunk_once(node: Merge) -> ArrayExpr | None:
    """Only the last of several rechunks counts, and what is made of nothing is made in the right blocks at once."""
    return _rechunked(node)


@rule(Split)
def split_once(node: Split) -> ArrayExpr | None:
    """As `rechunk_once`, for blocks that are only cut."""
    return _rechunked(node)


def _rechunked(node: Merge | Split) -> ArrayExpr | None:
    child = node.array
    if isinstance(child, (Merge, Split)):
        return rechunk(child.array, node.chunks, node.limit_bytes if isinstance(node, Merge) else None)
    if isinstance(child, Full):
        return Full(child.fill, node.chunks, child.dtype, child.backend, origin=child.origin)
    if isinstance(child, Arange):
        return Arange(*child.operands[:4], node.chunks, child.dtype, child.backend, origin=child.origin)
    if isinstance(child, FromArray) and reads_no_more(child, node.chunks):
        return FromArray(child.source, child.region, node.chunks, origin=child.origin)
    return None


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
