"""Arrays made of positions: `linspace`, `eye`, `meshgrid`, `indices`, `fromfunction`, `tri`, `logspace`, `geomspace`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray, check_device
from glassloom.array.chunks import normalize_chunks
from glassloom.array.creation import arange, ones
from glassloom.array.nodes.elementwise import elementwise
from glassloom.array.nodes.mapping import map_blocks
from glassloom.array.protocol import implements
from glassloom.array.shapes import broadcast_to, moveaxis, stack

__all__ = [
    "eye",
    "fromfunction",
    "geomspace",
    "identity",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "tri",
    "vander",
]


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    chunks: Any = "auto",
    device: Any = None,
) -> Any:
    """Return `num` evenly spaced values from `start` to `stop`.

    Parameters
    ----------
    start, stop
        Numbers or arrays, lazy ones too; of arrays all pairs of ends are taken, side by side.
    retstep
        Whether to return the distance of the values too.
    axis
        Where the new axis goes if the ends are arrays.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linspace(0, 1, 5, chunks=2).compute()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_device(device)
    if num < 0:
        raise ValueError(f"linspace: num={num} is negative")
    gaps = num - 1 if endpoint else num
    is_plain = not any(isinstance(end, Array) or np.ndim(end) for end in (start, stop))
    first, last = (start, stop) if is_plain else (asarray(start), asarray(stop))
    kind = np.result_type(*(end.dtype if isinstance(end, Array) else np.asarray(end) for end in (first, last)), 1.0)
    first, last = (kind.type(end) if is_plain else end.astype(kind) for end in (first, last))
    span = last - first
    positions = arange(num, chunks=chunks, dtype=float)
    if span.ndim:
        positions = positions[(slice(None), *(None,) * span.ndim)]
    step = span / gaps if gaps > 0 else span * np.nan
    values = positions * step + first if gaps > 0 else positions + first
    if endpoint and num > 1:
        end = last.expr if isinstance(last, Array) else last
        values = Array(elementwise(np.where, (positions == num - 1).expr, end, values.expr))
    values = moveaxis(values, 0, axis) if values.ndim > 1 else values
    if dtype is not None and np.dtype(dtype).kind in "iu":
        values = np.floor(values)
    made = values if dtype is None else values.astype(dtype)
    return (made, step) if retstep else made


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, chunks: Any = "auto", like: Any = None,
    device: Any = None,
) -> Array:  # fmt: skip
    """Return an array with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    N, M
        How many rows and columns; as many columns as rows by default.
    k
        Which diagonal: 0 is the main one, positive ones lie above it.
    like
        An array whose library makes the blocks, or the library's name.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.eye(3, chunks=2).sum().compute()
    np.float64(3.0)
    """
    check_device(device)
    width = N if M is None else M
    rows, columns = normalize_chunks(chunks, (N, width), dtype)
    down = arange(N, chunks=(rows,), like=like)[:, None]
    across = arange(width, chunks=(columns,), like=like)[None, :]
    return (down + max(-N, min(k, width)) == across).astype(dtype)


@implements(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> tuple[Array, ...]:
    """Return the coordinates of a grid's points: an array for each axis.

    Parameters
    ----------
    indexing
        ``"xy"`` (the first two axes swapped, as for pictures) or ``"ij"``.
    sparse
        Whether axes along which nothing changes keep length 1.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.meshgrid(ga.arange(2), ga.arange(3))[0].compute()
    array([[0, 1],
           [0, 1],
           [0, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing={indexing!r} is neither 'xy' nor 'ij'")
    lines = [asarray(x).ravel() for x in xi]
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[0], order[1] = 1, 0
    shape = tuple(lines[axis].shape[0] for axis in order)
    chunks = tuple(lines[axis].chunks[0] for axis in order)
    made = []
    for number, line in enumerate(lines):
        place = order.index(number)
        spread = line[tuple(slice(None) if axis == place else None for axis in range(len(lines)))]
        made.append(spread if sparse else broadcast_to(spread, shape, chunks=chunks))
    return tuple(made)


def indices(dimensions: Any, dtype: Any = int, *, sparse: bool = False, chunks: Any = "auto") -> Any:
    """Return the positions along each axis of every point of a grid.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.indices((2, 2), chunks=1)[0].compute()
    array([[0, 0],
           [1, 1]])
    """
    shape = tuple(dimensions)
    blocks = normalize_chunks(chunks, shape, dtype)
    lines = [arange(n, chunks=(own,), dtype=dtype) for n, own in zip(shape, blocks, strict=True)]
    grids = meshgrid(*lines, indexing="ij", sparse=sparse) if lines else ()
    if sparse:
        return grids
    return stack(grids) if grids else asarray(np.empty((0,), dtype=dtype))


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, chunks: Any = "auto", **kwargs: Any
) -> Array:
    """Return an array made by a function of positions, block by block.

    Parameters
    ----------
    function
        Called with an array of positions for each axis, all of a block's shape.
    dtype
        Type of the positions.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.fromfunction(lambda i, j: i * 10 + j, (2, 3), chunks=2, dtype=int).compute()
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    blocks = normalize_chunks(chunks, lengths, dtype)
    lines = [arange(n, chunks=(own,), dtype=dtype) for n, own in zip(lengths, blocks, strict=True)]
    grids = tuple(grid.expr for grid in meshgrid(*lines, indexing="ij"))
    if not grids:
        raise ValueError("fromfunction of a shape without axes")
    return Array(map_blocks(function, grids, kwargs))


def tri(
    N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, chunks: Any = "auto", like: Any = None
) -> Array:
    """Return ones at and below a diagonal, zeros above; see `eye` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.tri(2, 3, chunks=1).compute()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    columns = N if M is None else M
    rows, across = normalize_chunks(chunks, (N, columns), dtype)
    below = arange(columns, chunks=(across,), like=like)[None, :] <= arange(N, chunks=(rows,), like=like)[:, None] + k
    made: Array = below.astype(dtype)
    return made


def identity(n: int, dtype: Any = float, *, chunks: Any = "auto") -> Array:
    """Return a square matrix with ones on its diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.identity(2, chunks=1).compute()
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype, chunks=chunks)


def logspace(
    start: float, stop: float, num: int = 50, *, endpoint: bool = True, base: float = 10.0, chunks: Any = "auto",
    dtype: Any = None,
) -> Array:  # fmt: skip
    """Return powers of `base` whose exponents are evenly spaced.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.logspace(0, 2, 3, chunks=2).compute()
    array([  1.,  10., 100.])
    """
    made: Array = base ** linspace(start, stop, num, endpoint=endpoint, chunks=chunks)
    return made if dtype is None else made.astype(dtype)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """Return the powers of each element as rows: a Vandermonde matrix.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.vander(ga.asarray([1, 2, 3]), 3).compute()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    line = asarray(x)
    if line.ndim != 1:
        raise ValueError(f"vander of an array of shape {line.shape}; it needs one axis")
    count = line.shape[0] if N is None else N
    powers = arange(count) if increasing else arange(count - 1, -1, -1)
    made: Array = line[:, None] ** powers[None, :] if count else ones((line.shape[0], 0), dtype=line.dtype)
    return made.astype(np.result_type(line.dtype, np.int64) if line.dtype.kind in "biu" else line.dtype)


@implements(np.geomspace)
def geomspace(
    start: float, stop: float, num: int = 50, *, endpoint: bool = True, chunks: Any = "auto", dtype: Any = None
) -> Array:
    """Return positive numbers from `start` to `stop`, each the same multiple of the one before.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.geomspace(1, 100, 3, chunks=2).compute()
    array([  1.,  10., 100.])
    """
    if start <= 0 or stop <= 0:
        raise ValueError(f"geomspace from {start} to {stop}; both must be positive")
    ends = (np.log10(start), np.log10(stop))
    return logspace(*ends, num, endpoint=endpoint, chunks=chunks, dtype=dtype)
