"""Axes moved, put in, taken away, and arrays put beside each other: `transpose`, `reshape`, `concatenate`, `stack`..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray
from glassloom.array.chunks import Chunks, normalize_chunks
from glassloom.array.nodes import joining, shaping, slicing
from glassloom.array.nodes.base import normalize_axes, normalize_axis
from glassloom.array.nodes.elementwise import align, broadcast_shape
from glassloom.array.protocol import implements

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "concatenate",
    "expand_dims",
    "flip",
    "hstack",
    "moveaxis",
    "ndim",
    "ravel",
    "reshape",
    "shape",
    "size",
    "squeeze",
    "stack",
    "swapaxes",
    "transpose",
    "vstack",
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
    return Array(shaping.broadcast_to(whole.expr, lengths, blocks))


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
    return tuple(Array(shaping.broadcast_to(node, shape)) for node in nodes)


@implements(np.concatenate)
def concatenate(arrays: Sequence[Any], axis: int | None = 0, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Return arrays one after the other along an axis; raveled if `axis` is None.

    Parameters
    ----------
    dtype, casting
        The type of the result, and which casts to it are allowed; by default that which holds all.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.concatenate([ga.arange(2), ga.arange(3)]).compute()
    array([0, 1, 0, 1, 2])
    """
    wholes = _in_type(arrays, dtype, casting)
    if axis is None:
        return Array(joining.concatenate([whole.ravel().expr for whole in wholes], 0))
    return Array(joining.concatenate([whole.expr for whole in wholes], axis))


def _in_type(arrays: Sequence[Any], dtype: Any, casting: str) -> list[Array]:
    wholes = [asarray(array) for array in arrays]
    return wholes if dtype is None else [whole.astype(dtype, casting=casting) for whole in wholes]


@implements(np.stack)
def stack(arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Return arrays of one shape side by side along a new axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stack([ga.ones(3), ga.zeros(3)]).shape
    (2, 3)
    """
    return Array(joining.stack([whole.expr for whole in _in_type(arrays, dtype, casting)], axis))


@implements(np.vstack)
def vstack(arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Return arrays below each other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.vstack([ga.ones(3), ga.zeros(3)]).shape
    (2, 3)
    """
    wholes = [asarray(array) for array in arrays]
    return concatenate(
        [whole[(None,) * (2 - whole.ndim)] if whole.ndim < 2 else whole for whole in wholes], 0, dtype, casting
    )


@implements(np.hstack)
def hstack(arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Return arrays beside each other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.hstack([ga.ones(3), ga.zeros(2)]).shape
    (5,)
    """
    wholes = [whole if whole.ndim else whole[None] for whole in map(asarray, arrays)]
    return concatenate(wholes, 0 if wholes and wholes[0].ndim == 1 else 1, dtype, casting)


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


concat = concatenate


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
