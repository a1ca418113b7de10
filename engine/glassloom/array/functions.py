"""NumPy's functions for lazy arrays; `__array_function__` finds them here. Methods of `Array` do the work."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray, matmul, operand_of
from glassloom.array.chunks import Chunks, normalize_chunks
from glassloom.array.nodes import contraction, joining, reductions, shaping, slicing
from glassloom.array.nodes.base import normalize_axes, normalize_axis
from glassloom.array.nodes.elementwise import align, broadcast_shape, elementwise
from glassloom.array.nodes.mapping import map_blocks as map_blocks_node
from glassloom.array.protocol import implements

implements(np.matmul)(matmul)


def _reduction(name: str, numpy_function: Any, example: str) -> Callable[..., Array]:
    """Return the function that calls the method of this name."""

    def function(array: Any, axis: Any = None, **options: Any) -> Array:
        made: Array = getattr(asarray(array), name)(axis, **options)
        return made

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"""Return `numpy.{name}` of a lazy array, over one axis, several, or all.

    Parameters
    ----------
    array
        The array, or what `asarray` takes.
    axis
        An axis, a tuple of axes, or None for all.
    options
        ``keepdims``, ``split_every`` (how many blocks a task joins, default 16) and what NumPy's function takes of
        ``dtype`` and ``ddof``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.{name}(ga.arange(1, 5, chunks=2)).compute()
    {example}
    """
    return implements(numpy_function)(function)


sum = _reduction("sum", np.sum, "np.int64(10)")
prod = _reduction("prod", np.prod, "np.int64(24)")
min = _reduction("min", np.min, "np.int64(1)")
max = _reduction("max", np.max, "np.int64(4)")
any = _reduction("any", np.any, "np.True_")
all = _reduction("all", np.all, "np.True_")
mean = _reduction("mean", np.mean, "np.float64(2.5)")
var = _reduction("var", np.var, "np.float64(1.25)")
std = _reduction("std", np.std, "np.float64(1.118033988749895)")
argmin = _reduction("argmin", np.argmin, "np.int64(0)")
argmax = _reduction("argmax", np.argmax, "np.int64(3)")


def _nan_fold(function: Callable[..., Any], ufunc: str, array: Any, **options: Any) -> Array:
    return Array(reductions.fold(asarray(array).expr, function, ufunc, **options))


@implements(np.nansum)
def nansum(
    array: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *, split_every: int | None = None
) -> Array:
    """Return the sum over axes with NaN taken as zero.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nansum(ga.asarray([1.0, float("nan"), 2.0])).compute()
    np.float64(3.0)
    """
    options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "split_every": split_every}
    return _nan_fold(np.nansum, "add", array, skips_nan=True, **options)


@implements(np.nanprod)
def nanprod(
    array: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *, split_every: int | None = None
) -> Array:
    """Return the product over axes with NaN taken as one.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanprod(ga.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(6.0)
    """
    options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "split_every": split_every}
    return _nan_fold(np.nanprod, "multiply", array, skips_nan=True, **options)


@implements(np.nanmin)
def nanmin(array: Any, axis: Any = None, keepdims: bool = False, *, split_every: int | None = None) -> Array:
    """Return the minimum over axes, ignoring NaN; NaN where there is nothing else.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanmin(ga.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(2.0)
    """
    options = {"axis": axis, "keepdims": keepdims, "split_every": split_every}
    return _nan_fold(np.nanmin, "fmin", array, empty_is_error=True, **options)


@implements(np.nanmax)
def nanmax(array: Any, axis: Any = None, keepdims: bool = False, *, split_every: int | None = None) -> Array:
    """Return the maximum over axes, ignoring NaN; NaN where there is nothing else.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanmax(ga.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(3.0)
    """
    options = {"axis": axis, "keepdims": keepdims, "split_every": split_every}
    return _nan_fold(np.nanmax, "fmax", array, empty_is_error=True, **options)


@implements(np.nanmean)
def nanmean(
    array: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *, split_every: int | None = None
) -> Array:
    """Return the mean over axes of what isn't NaN.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanmean(ga.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(2.5)
    """
    made = reductions.mean(
        asarray(array).expr, axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every, skips_nan=True
    )
    return Array(made)


@implements(np.nanvar)
def nanvar(
    array: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
    split_every: int | None = None,
) -> Array:  # fmt: skip
    """Return the variance over axes of what isn't NaN.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanvar(ga.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(0.25)
    """
    return _nan_variance(array, axis, dtype, ddof, keepdims, split_every, root=False)


@implements(np.nanstd)
def nanstd(
    array: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
    split_every: int | None = None,
) -> Array:  # fmt: skip
    """Return the standard deviation over axes of what isn't NaN.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanstd(ga.asarray([3.0, float("nan"), 2.0])).compute()
    np.float64(0.5)
    """
    return _nan_variance(array, axis, dtype, ddof, keepdims, split_every, root=True)


def _nan_variance(
    array: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, split_every: int | None, root: bool
) -> Array:
    made = reductions.variance(
        asarray(array).expr, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, split_every=split_every,
        root=root, skips_nan=True,
    )  # fmt: skip
    return Array(made)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return elements of `x` where the condition is true, else of `y`; with the condition alone, as `nonzero`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(4, chunks=2)
    >>> ga.where(x > 1, x, 0).compute()
    array([0, 0, 2, 3])
    """
    if x is None and y is None:
        return asarray(condition).nonzero()
    if x is None or y is None:
        raise ValueError("where takes either the condition alone, or both x and y")
    if not builtins.any(isinstance(value, Array) for value in (condition, x, y)):
        condition = asarray(condition)
    return Array(elementwise(np.where, *(operand_of(value) for value in (condition, x, y))))


@implements(np.clip)
def clip(array: Any, min: Any = None, max: Any = None) -> Array:
    """Return values limited to the range from `min` to `max`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.clip(ga.arange(5, chunks=2), 1, 3).compute()
    array([1, 1, 2, 3, 3])
    """
    made: Array = asarray(array).clip(min, max)
    return made


@implements(np.round, np.around)
def round(array: Any, decimals: int = 0) -> Array:
    """Return values rounded to a number of decimals.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.round(ga.asarray([1.26, 2.34]), 1).compute()
    array([1.3, 2.3])
    """
    return asarray(array).round(decimals)


@implements(np.isclose)
def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Return where values are equal within a tolerance.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isclose(ga.asarray([1.0, 2.0]), [1.0, 2.1]).compute()
    array([ True, False])
    """
    return Array(elementwise(np.isclose, operand_of(x), operand_of(y), rtol=rtol, atol=atol, equal_nan=equal_nan))


@implements(np.allclose)
def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Return whether all values are equal within a tolerance.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.allclose(ga.ones(3, chunks=2), 1).compute()
    np.True_
    """
    return isclose(asarray(x), y, rtol, atol, equal_nan).all()


@implements(np.real)
def real(array: Any) -> Array:
    """Return real parts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.real(ga.asarray([1 + 2j])).compute()
    array([1.])
    """
    return asarray(array).real


@implements(np.imag)
def imag(array: Any) -> Array:
    """Return imaginary parts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.imag(ga.asarray([1 + 2j])).compute()
    array([2.])
    """
    return asarray(array).imag


@implements(np.dot)
def dot(left: Any, right: Any) -> Array:
    """Return the dot product, as `numpy.dot`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(4, chunks=2)
    >>> ga.dot(x, x).compute()
    np.int64(14)
    """
    return Array(contraction.dot(asarray(left).expr, asarray(right).expr))


@implements(np.tensordot)
def tensordot(left: Any, right: Any, axes: Any = 2) -> Array:
    """Return the sum of products over pairs of axes, as `numpy.tensordot`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.ones((2, 3), chunks=2)
    >>> ga.tensordot(x, x, axes=([0, 1], [0, 1])).compute()
    np.float64(6.0)
    """
    return Array(contraction.tensordot(asarray(left).expr, asarray(right).expr, axes))


@implements(np.outer)
def outer(left: Any, right: Any) -> Array:
    """Return the products of all pairs of elements.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.outer(ga.arange(2), ga.arange(3)).compute()
    array([[0, 0, 0],
           [0, 1, 2]])
    """
    return tensordot(asarray(left).ravel(), asarray(right).ravel(), axes=0)


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
def reshape(array: Any, shape: Any) -> Array:
    """Return the elements in C order in another shape; one length may be -1.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.reshape(ga.arange(6, chunks=3), (2, 3)).chunks
    ((1, 1), (3,))
    """
    return asarray(array).reshape(shape)


@implements(np.ravel)
def ravel(array: Any) -> Array:
    """Return the elements in C order along one axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ravel(ga.ones((2, 3))).shape
    (6,)
    """
    return asarray(array).ravel()


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
def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Array:
    """Return arrays one after the other along an axis; raveled if `axis` is None.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.concatenate([ga.arange(2), ga.arange(3)]).compute()
    array([0, 1, 0, 1, 2])
    """
    wholes = [asarray(array) for array in arrays]
    if axis is None:
        return Array(joining.concatenate([whole.ravel().expr for whole in wholes], 0))
    return Array(joining.concatenate([whole.expr for whole in wholes], axis))


@implements(np.stack)
def stack(arrays: Sequence[Any], axis: int = 0) -> Array:
    """Return arrays of one shape side by side along a new axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stack([ga.ones(3), ga.zeros(3)]).shape
    (2, 3)
    """
    return Array(joining.stack([asarray(array).expr for array in arrays], axis))


@implements(np.vstack)
def vstack(arrays: Sequence[Any]) -> Array:
    """Return arrays below each other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.vstack([ga.ones(3), ga.zeros(3)]).shape
    (2, 3)
    """
    wholes = [asarray(array) for array in arrays]
    return concatenate([whole[None, :] if whole.ndim == 1 else whole for whole in wholes], 0)


@implements(np.hstack)
def hstack(arrays: Sequence[Any]) -> Array:
    """Return arrays beside each other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.hstack([ga.ones(3), ga.zeros(2)]).shape
    (5,)
    """
    wholes = [asarray(array) for array in arrays]
    return concatenate(wholes, 0 if wholes and wholes[0].ndim == 1 else 1)


@implements(np.take)
def take(array: Any, indices: Any, axis: int | None = None) -> Array:
    """Return the elements at positions along an axis, or of the flat array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.take(ga.arange(10, 20, chunks=4), [7, 0]).compute()
    array([17, 10])
    """
    return asarray(array).take(indices, axis)


@implements(np.compress)
def compress(condition: Any, array: Any, axis: int | None = None) -> Array:
    """Return the elements along an axis where a mask is true.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.compress([True, False, True], ga.arange(3, chunks=2)).compute()
    array([0, 2])
    """
    whole = asarray(array) if axis is not None else asarray(array).ravel()
    place = 0 if axis is None else normalize_axis(axis, whole.ndim)
    mask = condition.expr if isinstance(condition, Array) else np.asarray(condition, dtype=bool)
    return Array(slicing.take(whole.expr, mask, place))


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


@implements("map_blocks")
def map_blocks(
    function: Callable[..., Any],
    *args: Any,
    dtype: Any = None,
    chunks: Any = None,
    drop_axis: Any = (),
    new_axis: Any = (),
    meta: Any = None,
    block_id: bool = False,
    **kwargs: Any,
) -> Array:
    """Apply a function to each block.

    Parameters
    ----------
    function
        Called as ``function(*blocks, **kwargs)``; blocks of several arrays are those at the same place.
    args
        Arrays, which may broadcast, and other values, which are passed on.
    dtype
        Type of the result. Without it the function is tried on blocks of one element.
    chunks
        Lengths of the result's blocks, an entry for each axis; needed where they differ from the arrays'.
    drop_axis, new_axis
        Axes that the function removes (they must have one block) and then puts in.
    meta
        A chunk without elements that says library and type of the result, instead of `dtype`.
    block_id
        Whether the function also gets the block's index as ``block_id``.
    kwargs
        Passed on to the function.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.map_blocks(lambda block: block[::-1], ga.arange(6, chunks=3)).compute()
    array([2, 1, 0, 5, 4, 3])
    """
    ndim_in = builtins.max((arg.ndim for arg in args if isinstance(arg, Array)), default=0)
    dropped = _axes_of(drop_axis, ndim_in)
    added = _axes_of(new_axis, ndim_in - len(dropped) + _count(new_axis))
    nodes = tuple(arg.expr if isinstance(arg, Array) else arg for arg in args)
    made = map_blocks_node(
        function, nodes, kwargs, dtype=dtype, chunks=chunks, drop_axis=dropped, new_axis=added, meta=meta,
        wants_block_id=block_id,
    )  # fmt: skip
    return Array(made)


def _axes_of(axes: Any, ndim: int) -> tuple[int, ...]:
    return () if axes is None or axes == () or axes == [] else normalize_axes(axes, ndim)


def _count(axes: Any) -> int:
    if axes is None:
        return 0
    return len(axes) if isinstance(axes, (tuple, list)) else 1
