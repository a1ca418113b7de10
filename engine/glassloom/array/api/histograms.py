"""Counting elements by value: `histogram`, `histogram2d`, `histogramdd`, `bincount`, `digitize`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.api.joining import stack
from glassloom.array.chunks import UNKNOWN
from glassloom.array.ops.base import make_meta
from glassloom.array.ops.elementwise import align, elementwise
from glassloom.array.ops.joining import collect
from glassloom.array.ops.labelled_axes import indexed
from glassloom.backends.arrays import namespace_of, to_numpy

__all__ = [
    "bincount",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Array, Array]:
    """Return how many elements fall into each bin, and the edges of the bins.

    Parameters
    ----------
    bins
        The number of bins, or their edges.
    range
        The lowest and the highest edge, which may be lazy; by default the smallest and the largest element, which costs another pass.
    density
        Whether to return a density, whose integral is 1.
    weights
        What each element counts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> counts, edges = ga.histogram(ga.arange(10, chunks=3), bins=2, range=(0, 10))
    >>> counts.compute(), edges.compute()
    (array([5, 5]), array([ 0.,  5., 10.]))
    """
    whole = asarray(a)
    if isinstance(bins, str):
        raise NotImplementedError(f"histogram: bins={bins!r}; give a number of bins or their edges")
    nodes = [whole.expr] if weights is None else align([whole.expr, asarray(weights).expr])
    own = tuple(f"x{axis}" for axis in np.arange(whole.ndim))
    n_bins, spec, edges = _bins(whole, bins, range)
    kind = np.dtype(np.intp) if weights is None else np.dtype(np.asarray(np.histogram([1], weights=[1])[0]).dtype)
    if weights is not None:
        kind = asarray(weights).dtype if asarray(weights).dtype.kind in "fc" else kind
    names = [own] * len(nodes)
    options = {"bins": spec, "has_weights": weights is not None, "ndim": whole.ndim}
    if range is not None and _is_lazy_range(range):
        range = None
    if spec is None or isinstance(spec, int) and range is None:
        nodes, names = [*nodes, edges.expr], [*names, ("e",)]
        options["bins"] = n_bins
    counts = Array(
        indexed(
            histogram_block, nodes, names, (*own, "bin"), dtype=kind, kwargs={**options, "range": range},
            sizes={**{name: 1 for name in own}, "bin": (n_bins,)},
        )
    ).sum(axis=tuple(np.arange(whole.ndim).tolist()), dtype=kind)  # fmt: skip
    if not density:
        return counts, edges
    width = edges[1:] - edges[:-1]
    return counts / width / counts.sum(), edges


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """Return the edges of the bins that `histogram` counts in; see there for the parameters. `weights` have no effect.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.histogram_bin_edges(ga.arange(9, chunks=3), bins=2).compute()
    array([0., 4., 8.])
    """
    if isinstance(bins, str):
        raise NotImplementedError(f"histogram_bin_edges: bins={bins!r}; give a number of bins or their edges")
    edges = _bins(asarray(a), bins, range)[2]
    return edges


def _bins(whole: Array, bins: Any, range: Any) -> tuple[int, Any, Array]:
    """Return the number of bins, what says them to each block (None: their edges, a lazy array), and their edges."""
    if np.ndim(bins) == 0 and not isinstance(bins, Array):
        try:
            count = operator.index(bins)
        except TypeError:
            raise TypeError(f"histogram: bins={bins!r} must be an integer, or edges") from None
        if count < 1:
            raise ValueError(f"histogram: bins={bins!r} must be at least 1")
        if range is not None and _is_lazy_range(range):
            return count, count, _lazy_edges(whole, stack([asarray(end) for end in range]).rechunk(-1), count)
        if range is not None:
            kind = whole.dtype if whole.dtype.kind in "fc" else np.float64
            return count, count, asarray(np.histogram_bin_edges(np.empty(0, dtype=kind), count, tuple(range)))
        if whole.size == 0:
            return count, None, asarray(np.histogram_bin_edges(np.empty(0, dtype=whole.dtype), count))
        return count, count, _lazy_edges(whole, stack([whole.min(), whole.max()]).rechunk(-1), count)
    edges = asarray(bins).rechunk(-1)
    if edges.ndim != 1 or edges.shape[0] < 2:
        raise ValueError(f"histogram: bins of shape {edges.shape} must be a number, or at least two edges")
    return edges.shape[0] - 1, None, edges


def _is_lazy_range(range: Any) -> bool:
    return isinstance(range, Array) or any(isinstance(end, Array) for end in range)


def _lazy_edges(whole: Array, limits: Array, count: int) -> Array:
    """Return the edges of bins between limits that aren't known yet."""
    kind = np.histogram_bin_edges(np.ones(1, dtype=whole.dtype), count).dtype
    made = indexed(
        edges_between, [limits.expr], [("l",)], ("e",), dtype=kind, kwargs={"bins": count}, sizes={"e": (count + 1,)}
    )
    return Array(made)


def edges_between(limits: Any, bins: int) -> Any:
    """Return the edges of bins from the smallest to the largest element."""
    edges = np.histogram_bin_edges(to_numpy(limits), bins)  # of two numbers; CuPy hasn't it
    return namespace_of(limits).asarray(edges)


def histogram_block(block: Any, *more: Any, bins: Any, range: Any, has_weights: bool, ndim: int) -> Any:
    """Return how many elements of a block fall into each bin, behind axes of length 1 for those of the block."""
    xp = namespace_of(block)
    rest = list(more)
    weights = rest.pop(0) if has_weights else None
    edges = rest.pop() if rest else None
    if edges is not None:
        counts = xp.histogram(block, bins=edges, weights=weights)[0]
    else:
        counts = xp.histogram(block, bins=bins, range=range, weights=weights)[0]
    return counts.reshape((1,) * ndim + counts.shape)


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Array, list[Array]]:
    """Return how many points fall into each cell of a grid, and the edges of the grid.

    Parameters
    ----------
    sample
        Points as rows, or a sequence of arrays: one for each coordinate.
    bins
        For each coordinate the number of bins (with `range`), or their edges; or one number for all.
    range
        For each coordinate the lowest and the highest edge.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> counts, edges = ga.histogramdd([ga.arange(4), ga.arange(4)], bins=2, range=[(0, 4), (0, 4)])
    >>> counts.compute()
    array([[2., 0.],
           [0., 2.]])
    """
    points = sample if isinstance(sample, Array) else stack([asarray(each) for each in sample], axis=1)
    if points.ndim != 2:
        raise ValueError(f"histogramdd of points of shape {points.shape}; it needs rows of coordinates")
    n = points.shape[1]
    each = [bins] * n if isinstance(bins, (int, np.integer)) else list(bins)
    ranges = [None] * n if range is None else list(range)
    if len(each) != n or len(ranges) != n:
        raise ValueError(f"histogramdd: {len(each)} bins and {len(ranges)} ranges for {n} coordinates")
    edges = []
    for which, limits in zip(each, ranges, strict=True):
        if not isinstance(which, (int, np.integer)):
            edges.append(np.asarray(which))
        elif limits is None:
            raise ValueError(
                "histogramdd with a number of bins needs range=...; compute the smallest and largest first"
            )
        else:
            edges.append(np.linspace(limits[0], limits[1], int(which) + 1))
    nodes, names = [points.expr], [("n", "d")]
    if weights is not None:
        nodes.append(asarray(weights).expr)
        names.append(("n",))  # type: ignore[arg-type]
    cells = tuple(f"b{axis}" for axis in np.arange(n))
    sizes: dict[Any, Any] = {name: (len(edge) - 1,) for name, edge in zip(cells, edges, strict=True)}
    counts = Array(
        indexed(
            histogramdd_block, nodes, names, ("n", *cells), dtype=np.float64, kwargs={"bins": edges},
            sizes={"n": 1, **sizes},
        )
    ).sum(axis=0)  # fmt: skip
    made: list[Array] = [asarray(edge) for edge in edges]
    if density:
        total = counts.sum()
        for axis, edge in enumerate(edges):
            counts = counts / np.diff(edge).reshape([-1 if a == axis else 1 for a in np.arange(n)])
        counts = counts / total
    return counts, made


def histogramdd_block(points: Any, weights: Any = None, *, bins: Sequence[Any]) -> Any:
    """Return how many points of a block fall into each cell, behind an axis of length 1."""
    return namespace_of(points).histogramdd(points, bins=list(bins), weights=weights)[0][None]


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Array, Array, Array]:
    """Return how many points fall into each cell of a grid, and the edges along both axes; see `histogramdd`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> counts, _, _ = ga.histogram2d(ga.arange(4), ga.arange(4), bins=2, range=[(0, 4), (0, 4)])
    >>> counts.compute()
    array([[2., 0.],
           [0., 2.]])
    """
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


@implements(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Array:
    """Return how often each integer from 0 on occurs; the length is known when it has been computed.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.bincount(ga.asarray([1, 3, 1])).compute()
    array([0, 2, 0, 1])
    """
    whole = asarray(x)
    if whole.ndim != 1 or whole.dtype.kind not in "biu":
        raise TypeError(f"bincount of an array of shape {whole.shape} and type {whole.dtype}; it needs integers")
    if minlength < 0:
        raise ValueError(f"bincount: minlength={minlength} is negative")
    arrays = [whole.expr] if weights is None else align([whole.expr, asarray(weights).expr])
    counts = indexed(
        bincount_block, arrays, [(0,)] * len(arrays), (0,), dtype=np.intp if weights is None else np.float64,
        kwargs={"minlength": minlength}, sizes={0: UNKNOWN},
    )  # fmt: skip
    return Array(collect(counts, sum_of_lengths, ((UNKNOWN,),), make_meta(counts.meta, 1)))


def bincount_block(block: Any, weights: Any = None, *, minlength: int) -> Any:
    """Return how often each integer occurs in a block."""
    return namespace_of(block).bincount(block, weights=weights, minlength=minlength)


def sum_of_lengths(counts: list[Any]) -> Any:
    """Return the sum of arrays of different lengths."""
    made = counts[0][:0]
    for each in counts:
        longer, shorter = (each, made) if len(each) > len(made) else (made, each)
        made = longer.copy()
        made[: len(shorter)] += shorter
    return made


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """Return the number of the bin that each element falls into.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.digitize(ga.asarray([0.5, 2.5]), [1, 2]).compute()
    array([0, 2])
    """
    edges = np.asarray(bins)
    steps = np.diff(edges)
    if edges.ndim != 1 or (steps < 0).any() and (steps > 0).any():
        raise ValueError(f"digitize: bins={bins!r} must be a list in ascending or descending order")
    return Array(elementwise(digitize_block, asarray(x).expr, edges=edges, right=right))


def digitize_block(block: Any, edges: Any, right: bool) -> Any:
    """Return the number of the bin that each element of a block falls into."""
    xp = namespace_of(block)
    return xp.asarray(xp.digitize(block, xp.asarray(edges), right=right))
