"""The same elements in other axes: `transpose`, `reshape`, `flip`, `broadcast_to`, `atleast_2d`..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.chunks import Chunks, normalize_chunks
from glassloom.array.ops import shapes, slicing
from glassloom.array.ops.base import normalize_axes, normalize_axis
from glassloom.array.ops.elementwise import align, broadcast_shape

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "moveaxis",
    "ndim",
    "ravel",
    "reshape",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "transpose",
]


@implements(np.transpose)
def transpose(array: Any, axes: Sequence[int] | None = None) -> Array:
    """Return the axes in another order, reversed by default.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.transpose(ga.ones((2, 3))).shape
    (3, 2)
    """
    whole = asarray(array)
    return whole.transpose() if axes is None else whole.transpose(tuple(axes))


@implements(np.swapaxes)
def swapaxes(array: Any, axis1: int, axis2: int) -> Array:
    """Return two axes swapped.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.swapaxes(ga.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return asarray(array).swapaxes(axis1, axis2)


@implements(np.moveaxis)
def moveaxis(array: Any, source: Any, destination: Any) -> Array:
    """Return axes moved to other places, the others in their order.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.moveaxis(ga.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    whole = asarray(array)
    from_axes = [source] if isinstance(source, (int, np.integer)) else list(source)
    to_axes = [destination] if isinstance(destination, (int, np.integer)) else list(destination)
    if len(from_axes) != len(to_axes):
        raise ValueError(f"moveaxis: source={source!r} and destination={destination!r} have different lengths")
    starts = [normalize_axis(axis, whole.ndim, "source") for axis in from_axes]
    ends = [normalize_axis(axis, whole.ndim, "destination") for axis in to_axes]
    order = [axis for axis in range(whole.ndim) if axis not in starts]
    for end, start in sorted(zip(ends, starts, strict=True)):
        order.insert(end, start)
    return whole.transpose(tuple(order))


@implements(np.reshape)
def reshape(
    array: Any, shape: Any, order: str = "C", *, copy: bool | None = None, merge_chunks: bool = True, limit: Any = None
) -> Array:
    """Return the elements in another shape, in C order or in that of ``"F"``; one length may be -1.

    Lazy arrays are never views, so `copy` makes no difference; nor do Dask's `merge_chunks` and `limit`: blocks are
    merged only where the elements of a new one need it.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.reshape(ga.arange(6, chunks=3), (2, 3)).chunks
    ((1, 1), (3,))
    """
    return asarray(array).reshape(shape, order=order)


@implements(np.broadcast_shapes)
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that arrays of these shapes have together.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return np.broadcast_shapes(*shapes)


@implements(np.ravel)
def ravel(array: Any, order: str = "C") -> Array:
    """Return the elements along one axis, in C order or in that of ``"F"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ravel(ga.ones((2, 3))).shape
    (6,)
    """
    return asarray(array).ravel(order)


@implements(np.squeeze)
def squeeze(array: Any, axis: Any = None) -> Array:
    """Return the array without its axes of length 1, or without those given.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.squeeze(ga.ones((1, 3))).shape
    (3,)
    """
    return asarray(array).squeeze(axis)


@implements(np.expand_dims)
def expand_dims(array: Any, axis: Any) -> Array:
    """Return the array with axes of length 1 put in.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.expand_dims(ga.ones(3), 0).shape
    (1, 3)
    """
    whole = asarray(array)
    n_new = 1 if isinstance(axis, (int, np.integer)) else len(axis)
    return Array(slicing.NewAxes(whole.expr, normalize_axes(axis, whole.ndim + n_new)))


@implements(np.flip)
def flip(array: Any, axis: Any = None) -> Array:
    """Return the elements in reverse order along axes, all by default.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.flip(ga.arange(3, chunks=2)).compute()
    array([2, 1, 0])
    """
    whole = asarray(array)
    axes = normalize_axes(axis, whole.ndim)
    return whole[tuple(slice(None, None, -1 if place in axes else 1) for place in range(whole.ndim))]


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, *, chunks: Any = None) -> Array:
    """Return the array repeated to a shape.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.broadcast_to(ga.arange(3), (2, 3)).compute()
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    whole = asarray(array)
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    blocks: Chunks | None = None if chunks is None else normalize_chunks(chunks, lengths, whole.dtype)
    return Array(shapes.broadcast_to(whole.expr, lengths, blocks))


@implements(np.broadcast_arrays)
def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    """Return the arrays repeated to their common shape, with equal blocks.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [x.shape for x in ga.broadcast_arrays(ga.ones((2, 1)), ga.ones(3))]
    [(2, 3), (2, 3)]
    """
    nodes = align([asarray(array).expr for array in arrays])
    shape = broadcast_shape(nodes)
    return tuple(Array(shapes.broadcast_to(node, shape)) for node in nodes)


@implements(np.shape)
def shape(array: Any) -> tuple[int, ...]:
    """Return the lengths of the axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.shape(ga.ones((2, 3)))
    (2, 3)
    """
    return asarray(array).shape


@implements(np.ndim)
def ndim(array: Any) -> int:
    """Return the number of axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ndim(ga.ones((2, 3)))
    2
    """
    return asarray(array).ndim


@implements(np.may_share_memory, np.shares_memory)
def _shares_memory(a: Any, b: Any, /, max_work: int | None = None) -> bool:
    """Lazy arrays have no memory yet; what they will be made of is read-only."""
    return False


@implements(np.size)
def size(a: Any, axis: int | None = None) -> int:
    """Return the number of elements, or the length of an axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.size(ga.ones((2, 3)))
    6
    """
    whole = asarray(a)
    return whole.size if axis is None else whole.shape[normalize_axis(axis, whole.ndim)]


@implements(np.flipud)
def flipud(m: Any) -> Array:
    """Return the rows in reverse order.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.flipud(ga.arange(4).reshape(2, 2)).compute()
    array([[2, 3],
           [0, 1]])
    """
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Any) -> Array:
    """Return the columns in reverse order.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.fliplr(ga.arange(4).reshape(2, 2)).compute()
    array([[1, 0],
           [3, 2]])
    """
    return flip(m, 1)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Return the array turned by `k` quarters in the plane of two axes, from the first to the second.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.rot90(ga.arange(4).reshape(2, 2)).compute()
    array([[1, 3],
           [0, 2]])
    """
    whole = asarray(m)
    one, other = (normalize_axis(axis, whole.ndim, "axes") for axis in axes)
    if one == other:
        raise ValueError(f"rot90: axes={axes!r} are the same axis")
    quarters = k % 4
    if quarters == 0:
        return whole
    if quarters == 2:
        return flip(whole, (one, other))
    return flip(whole, other).swapaxes(one, other) if quarters == 1 else flip(whole.swapaxes(one, other), other)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """Return one axis moved in front of another.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.rollaxis(ga.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    whole = asarray(a)
    place = normalize_axis(axis, whole.ndim)
    target = normalize_axis(start, whole.ndim + 1, "start")
    return moveaxis(whole, place, target - (target > place))


def _atleast(arrays: tuple[Any, ...], ndim: int) -> Any:
    made = [_with_axes(asarray(array), ndim) for array in arrays]
    return made[0] if len(made) == 1 else tuple(made)


def _with_axes(whole: Array, ndim: int) -> Array:
    if whole.ndim >= ndim:
        return whole
    if ndim == 3 and whole.ndim:
        return whole[None, :, None] if whole.ndim == 1 else whole[:, :, None]
    return whole[(None,) * (ndim - whole.ndim)]


@implements(np.atleast_1d)
def atleast_1d(*arrays: Any) -> Any:
    """Return arrays with at least one axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.atleast_1d(3).shape
    (1,)
    """
    return _atleast(arrays, 1)


@implements(np.atleast_2d)
def atleast_2d(*arrays: Any) -> Any:
    """Return arrays with at least two axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.atleast_2d(ga.ones(3)).shape
    (1, 3)
    """
    return _atleast(arrays, 2)


@implements(np.atleast_3d)
def atleast_3d(*arrays: Any) -> Any:
    """Return arrays with at least three axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.atleast_3d(ga.ones(3)).shape
    (1, 3, 1)
    """
    return _atleast(arrays, 3)
