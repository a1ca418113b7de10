"""Rewrite rules of arrays: slices go down to where less is made for them, and what cancels out goes away."""

from __future__ import annotations

import numpy as np

from glassloom.array.nodes.base import ArrayExpr
from glassloom.array.nodes.creation import Arange, FromArray, Full
from glassloom.array.nodes.elementwise import Elementwise
from glassloom.array.nodes.rechunk import Merge, Split, rechunk
from glassloom.array.nodes.reductions import Aggregate, Finish, reduced_array, reduction_of
from glassloom.array.nodes.shaping import Transpose, transpose
from glassloom.array.nodes.slicing import NewAxes, Selector, Slice, slice_array
from glassloom.array.nodes.source_rules import reads_no_more
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
