"""What needs elements in order: `quantile`, `median`, `sort`, `partition`, `topk`.

Quantiles, medians and sorting are exact: the axis becomes one block for them (the whole array without an axis), so a
line along it must fit into memory.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.chunks import UNKNOWN
from glassloom.array.ops.base import make_meta, normalize_axes, normalize_axis
from glassloom.array.ops.labelled_axes import indexed
from glassloom.array.ops.mapping import map_blocks
from glassloom.array.ops.reductions import reduce_with
from glassloom.array.sources.memory import frozen
from glassloom.array.tiling.kernels import ArgTop, Top
from glassloom.backends.arrays import namespace_of
from glassloom.expr.blockwise import same_block

__all__ = [
    "argpartition",
    "argsort",
    "argtopk",
    "lexsort",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "partition",
    "percentile",
    "ptp",
    "quantile",
    "sort",
    "topk",
]


@implements(np.quantile)
def quantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None
) -> Array:
    """Return quantiles (0 to 1) over axes: exact, the axes become one block.

    Parameters
    ----------
    a
        The array.
    q
        One, or several; their axes come first in the result.
    axis
        An axis, several, or None for all.
    method
        How to interpolate between elements, as for `numpy.quantile`.
    keepdims
        Whether the axes stay with length 1.
    weights
        What each element counts, of the array's shape or along one axis; NumPy has it for the method ``"inverted_cdf"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.quantile(ga.arange(5, chunks=2), 0.5).compute()
    np.float64(2.0)
    """
    return _of_lines(a, axis, keepdims, np.quantile, {"q": _flat(q), "method": method}, np.shape(q), weights)


@implements(np.percentile)
def percentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None
) -> Array:
    """Return percentiles (0 to 100) over axes: exact, the axes become one block; see `quantile` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.percentile(ga.arange(5, chunks=2), 50).compute()
    np.float64(2.0)
    """
    return _of_lines(a, axis, keepdims, np.percentile, {"q": _flat(q), "method": method}, np.shape(q), weights)


@implements(np.nanquantile)
def nanquantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None
) -> Array:
    """Return quantiles (0 to 1) over axes, of what isn't NaN: exact, the axes become one block; see `quantile` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanquantile(ga.arange(5, chunks=2), 0.5).compute()
    np.float64(2.0)
    """
    return _of_lines(a, axis, keepdims, np.nanquantile, {"q": _flat(q), "method": method}, np.shape(q), weights)


@implements(np.nanpercentile)
def nanpercentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: Any = None
) -> Array:
    """Return percentiles (0 to 100) over axes, of what isn't NaN: exact, the axes become one block; see `quantile` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanpercentile(ga.arange(5, chunks=2), 50).compute()
    np.float64(2.0)
    """
    return _of_lines(a, axis, keepdims, np.nanpercentile, {"q": _flat(q), "method": method}, np.shape(q), weights)


def _flat(q: Any) -> Any:
    if isinstance(q, (int, float)):  # NumPy's own scalars have a type, Python's don't
        return q
    return np.asarray(q).ravel() if np.ndim(q) > 1 else np.asarray(q)  # nanquantile mixes up the axes of several


@implements(np.median)
def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the median over axes: exact, the axes become one block.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.median(ga.asarray([5, 1, 3])).compute()
    np.float64(3.0)
    """
    return _of_lines(a, axis, keepdims, np.median, {}, ())


@implements(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the median over axes of what isn't NaN: exact, the axes become one block.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanmedian(ga.asarray([5, 1, float("nan")])).compute()
    np.float64(3.0)
    """
    return _of_lines(a, axis, keepdims, np.nanmedian, {}, ())


def _of_lines(
    a: Any, axis: Any, keepdims: bool, function: Any, options: dict[str, Any], new: tuple[int, ...], weights: Any = None
) -> Array:
    """Return a function of lines along axes, which go away; it may put new axes in front."""
    whole = asarray(a)
    axes = normalize_axes(axis, whole.ndim)
    tiny = np.ones((1,) * max(whole.ndim, 1), dtype=whole.dtype)
    own = tuple(range(whole.ndim))
    nodes, labels = [whole.expr], [own]
    told = {}
    if weights is not None:
        parts = asarray(weights)
        if parts.shape != whole.shape and (len(axes) != 1 or parts.shape != (whole.shape[axes[0]],)):
            raise ValueError(f"weights of shape {parts.shape} for axes {axes} of an array of shape {whole.shape}")
        nodes, labels = [whole.expr, parts.expr], [own, own if parts.ndim == whole.ndim else axes]
        told = {"weights": np.ones(tiny.shape, parts.dtype)}
    dtype = np.asarray(function(tiny, **options, **told)).dtype
    dtype = whole.dtype if dtype.kind in "USTO" else dtype  # the sample's text has one character
    front = tuple(f"q{number}" for number in range(len(new)))
    rest = tuple(each for each in own if each not in axes)
    sizes: dict[Any, Any] = {name: (length,) for name, length in zip(front, new, strict=True)}
    call = OfLines(function, axes, frozen(options), dtype, new)
    made = Array(indexed(call, nodes, labels, (*front, *rest), dtype=dtype, sizes=sizes))
    if not keepdims:
        return made
    return made[(*(slice(None),) * len(front), *(None if each in axes else slice(None) for each in own))]


class OfLines:
    """Calls a function of NumPy's over axes of a block."""

    def __init__(
        self, function: Any, axes: tuple[int, ...], options: dict[str, Any], dtype: Any, new: tuple[int, ...]
    ) -> None:
        self.function, self.axes, self.options, self.dtype, self.new = function, axes, options, dtype, new

    @property
    def __name__(self) -> str:
        return str(self.function.__name__)

    def __glassloom_tokenize__(self) -> Any:
        return (self.function.__name__, self.axes, self.options, self.dtype, self.new)

    def __call__(self, block: Any, *weights: Any) -> Any:
        xp = namespace_of(block)
        options = {**self.options, "weights": weights[0]} if weights else self.options
        rest = tuple(length for axis, length in enumerate(block.shape) if axis not in self.axes)
        if 0 in rest:  # no lines; NumPy's nan-functions then forget their shape
            return xp.empty((*self.new, *rest), dtype=self.dtype)
        made = getattr(xp, self.function.__name__)(block, axis=self.axes, **options)
        return xp.asarray(made, dtype=self.dtype).reshape((*self.new, *rest))  # NumPy's type may depend on the values


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """Return the distance from the smallest to the largest element, over axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ptp(ga.asarray([5, 1, 3])).compute()
    np.int64(4)
    """
    whole = asarray(a)
    made: Array = whole.max(axis, keepdims) - whole.min(axis, keepdims)
    return made


def _along(whole: Array, axis: int, name: str, dtype: Any = None, length: int | None = None, **options: Any) -> Array:
    """Return a function of the array namespace applied along an axis, which becomes one block."""
    own = tuple(range(whole.ndim))
    inner = tuple("line" if each == axis else each for each in own)
    sizes: dict[Any, Any] = {"new": (whole.shape[axis] if length is None else length,)}
    out = tuple("new" if each == axis else each for each in own)
    call = Along(name, axis, options)
    meta = make_meta(whole.expr.meta, whole.ndim, whole.dtype if dtype is None else dtype)
    return Array(indexed(call, [whole.expr], [inner], out, meta=meta, sizes=sizes))


class Along:
    """Calls a function of a chunk's library, or one of ours, along an axis of a block."""

    def __init__(self, name: str, axis: int, options: dict[str, Any]) -> None:
        self.name, self.axis, self.options = name, axis, options

    @property
    def __name__(self) -> str:
        return self.name

    def __glassloom_tokenize__(self) -> Any:
        return (self.name, self.axis, self.options)

    def __call__(self, block: Any) -> Any:
        own = _OURS.get(self.name)
        function: Any = own or getattr(namespace_of(block), self.name)
        return function(block, axis=self.axis, **self.options)


@implements(np.sort)
def sort(
    a: Any, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
) -> Array:
    """Return the elements in ascending order along an axis, which becomes one block; None sorts the flat array.

    `kind`, one of NumPy's, has no effect but that of ``"stable"`` and ``"mergesort"``, which sort stably.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.sort(ga.asarray([3, 1, 2])).compute()
    array([1, 2, 3])
    """
    whole = asarray(a).ravel() if axis is None else asarray(a)
    place = normalize_axis(-1 if axis is None else axis, whole.ndim)
    stable = _is_stable("sort", kind) or stable
    made = _along(whole, place, "sort", kind="stable" if stable else None)
    return made[(*(slice(None),) * place, slice(None, None, -1))] if descending else made


@implements(np.argsort)
def argsort(
    a: Any, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
) -> Array:
    """Return the positions that sort along an axis, which becomes one block; None sorts the flat array; `kind` as for `sort`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.argsort(ga.asarray([3, 1, 2])).compute()
    array([1, 2, 0])
    """
    whole = asarray(a)
    whole = whole.ravel() if axis is None or not whole.ndim else whole
    place = normalize_axis(-1 if axis is None else axis, whole.ndim)
    stable = _is_stable("argsort", kind) or stable
    if descending:
        return _along(whole, place, "argsort_descending", np.intp)
    return _along(whole, place, "argsort", np.intp, kind="stable" if stable else None)


def _is_stable(what: str, kind: str | None) -> bool:
    if kind not in (None, "quicksort", "heapsort", "mergesort", "stable"):
        raise ValueError(f"{what}: kind={kind!r} is none of 'quicksort', 'heapsort', 'mergesort' and 'stable'")
    return kind in ("mergesort", "stable")


def argsort_descending(block: Any, axis: int) -> Any:
    """Return the positions that sort a block from large to small; equal elements keep their order."""
    xp = namespace_of(block)
    backwards = xp.argsort(xp.flip(block, axis), axis=axis, kind="stable")
    return xp.flip(block.shape[axis] - 1 - backwards, axis)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Array:
    """Return the positions that sort by several keys, the last first of all; the axis becomes one block.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.lexsort([ga.asarray([3, 1, 2]), ga.asarray([0, 1, 0])]).compute()
    array([2, 0, 1])
    """
    wholes = [asarray(key) for key in keys]
    if not wholes or len({whole.shape for whole in wholes}) > 1:
        raise ValueError(f"lexsort by keys of the shapes {[whole.shape for whole in wholes]}; they must be equal")
    if not wholes[0].ndim:
        return asarray(np.intp(0))
    place = normalize_axis(axis, wholes[0].ndim)
    own = tuple(range(wholes[0].ndim))
    inner, out = (tuple(name if each == place else each for each in own) for name in ("line", "new"))
    made = indexed(
        lexsort_blocks, [whole.expr for whole in wholes], [inner] * len(wholes), out, dtype=np.intp,
        kwargs={"axis": place}, sizes={"new": (wholes[0].shape[place],)},
    )  # fmt: skip
    return Array(made)


def lexsort_blocks(*keys: Any, axis: int) -> Any:
    """Return the positions that sort blocks by several keys."""
    xp = namespace_of(keys[0])
    if xp is np:
        return np.lexsort(keys, axis=axis)
    order = xp.argsort(keys[0], axis=axis, kind="stable")  # CuPy sorts along no other axis than the last of two
    for key in keys[1:]:
        sorted_so_far = xp.take_along_axis(key, order, axis=axis)
        order = xp.take_along_axis(order, xp.argsort(sorted_so_far, axis=axis, kind="stable"), axis=axis)
    return order.astype(np.intp)


@implements(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1) -> Array:
    """Return the elements with those at positions `kth` where sorting puts them, smaller ones before, along an axis,
    which becomes one block; None takes the flat array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.partition(ga.asarray([3, 1, 2]), 1).compute()
    array([1, 2, 3])
    """
    return _partitioned(a, axis, "partition", kth=kth)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: int | None = -1) -> Array:
    """Return the positions that `partition` takes the elements from.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.argpartition(ga.asarray([3, 1, 2]), 1).compute()
    array([1, 2, 0])
    """
    return _partitioned(a, axis, "argpartition", np.intp, kth=kth)


def _partitioned(a: Any, axis: int | None, *operation: Any, kth: Any) -> Array:
    whole = asarray(a).ravel() if axis is None else asarray(a)
    return _along(whole, normalize_axis(-1 if axis is None else axis, whole.ndim), *operation, kth=kth)


def topk(a: Any, k: int, axis: int = -1, split_every: Any = None) -> Array:
    """Return the `k` largest elements along an axis, largest first; the smallest, ascending, if `k` is negative.

    Only `k` elements of each block are kept.

    Parameters
    ----------
    split_every
        How many blocks a task of the tree joins.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.topk(ga.asarray([5, 1, 3, 6]), 2).compute()
    array([6, 5])
    """
    whole = asarray(a)
    return _extremes(whole, Top(_checked_count(k, "topk")), whole.dtype, axis, split_every)


def argtopk(a: Any, k: int, axis: int = -1, split_every: Any = None) -> Array:
    """Return where the `k` largest elements along an axis are; the smallest if `k` is negative.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.argtopk(ga.asarray([5, 1, 3, 6]), 2).compute()
    array([3, 0])
    """
    whole = asarray(a)
    operator.index(whole.shape[normalize_axis(axis, whole.ndim)])  # positions need known lengths
    return _extremes(whole, ArgTop(_checked_count(k, "argtopk")), np.intp, axis, split_every)


def _checked_count(k: int, what: str) -> int:
    if not isinstance(k, (int, np.integer)) or not k:
        raise ValueError(f"{what}: k={k!r} must be an integer other than 0")
    return int(k)


def _extremes(whole: Array, kernel: Top, dtype: Any, axis: int, split_every: Any) -> Array:
    place = normalize_axis(axis, whole.ndim)
    found = reduce_with(whole.expr, kernel, (place,), True, dtype, split_every)
    length = whole.shape[place]
    count = min(abs(kernel.k), length) if length == length else UNKNOWN
    chunks = tuple((count,) if each == place else blocks for each, blocks in enumerate(found.chunks))
    return Array(map_blocks(same_block, (found,), {}, meta=found.meta, chunks=chunks))


_OURS = {
    "argsort_descending": argsort_descending,
}
