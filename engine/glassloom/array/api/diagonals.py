"""Triangles and diagonals of matrices, and matrices that are made of them: `eye`, `tri`, `tril`, `diag`, `trace`..."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray, check_device
from glassloom.array.api.creation import arange, ones, zeros
from glassloom.array.api.dispatch import implements
from glassloom.array.api.elementwise import where
from glassloom.array.api.indexing import cycled, flat_positions, nonzero
from glassloom.array.api.shapes import broadcast_to
from glassloom.array.chunks import normalize_chunks
from glassloom.array.ops.base import normalize_axis
from glassloom.array.ops.elementwise import elementwise
from glassloom.array.ops.indexing import take_points

__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "eye",
    "fill_diagonal",
    "identity",
    "mask_indices",
    "trace",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "vander",
]


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
    powers = arange(count, like=line) if increasing else arange(count - 1, -1, -1, like=line)
    made: Array = line[:, None] ** powers[None, :] if count else ones((line.shape[0], 0), dtype=line.dtype, like=line)
    return made.astype(np.result_type(line.dtype, np.int64) if line.dtype.kind in "biu" else line.dtype)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Array:
    """Return a copy with zeros above a diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.tril(ga.ones((2, 2), chunks=1, dtype=int)).compute()
    array([[1, 0],
           [1, 1]])
    """
    whole = _matrix(m, "tril")
    return _where_typed(_below(whole, k), whole)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Array:
    """Return a copy with zeros below a diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.triu(ga.ones((2, 2), chunks=1, dtype=int)).compute()
    array([[1, 1],
           [0, 1]])
    """
    whole = _matrix(m, "triu")
    return _where_typed(~_below(whole, k - 1), whole)


def _matrix(m: Any, what: str) -> Array:
    whole = asarray(m)
    if not whole.ndim:
        raise ValueError(f"{what} of an array without axes")
    return broadcast_to(whole, (operator.index(whole.shape[0]),) * 2) if whole.ndim == 1 else whole


def _below(whole: Array, k: int) -> Array:
    rows = arange(whole.shape[-2], chunks=(whole.chunks[-2],), like=whole)[:, None]
    columns = arange(whole.shape[-1], chunks=(whole.chunks[-1],), like=whole)[None, :]
    made: Array = columns <= rows + k
    return made


def _where_typed(mask: Array, whole: Array) -> Array:
    return Array(elementwise(np.where, mask.expr, whole.expr, np.zeros((), whole.dtype)[()]))


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return a diagonal of the matrices in two axes, as the last axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diagonal(ga.arange(9).reshape(3, 3)).compute()
    array([0, 4, 8])
    """
    whole = asarray(a)
    if whole.ndim < 2:
        raise ValueError(f"diagonal of an array with {whole.ndim} axes, shape {whole.shape}; it needs at least 2")
    row, column = normalize_axis(axis1, whole.ndim, "axis1"), normalize_axis(axis2, whole.ndim, "axis2")
    if row == column:
        raise ValueError(f"diagonal: axis1={axis1} and axis2={axis2} are the same axis")
    first_row, first_column = max(-offset, 0), max(offset, 0)
    count = max(0, min(whole.shape[row] - first_row, whole.shape[column] - first_column))
    points = np.arange(count)
    made = Array(take_points(whole.expr, (row, column), (points + first_row, points + first_column)))
    return made.transpose((*range(1, made.ndim), 0))


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Array:
    """Return the diagonal of a matrix, or a matrix with this diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diag(ga.asarray([1, 2])).compute()
    array([[1, 0],
           [0, 2]])
    """
    whole = asarray(v)
    if whole.ndim == 2:
        return diagonal(whole, k)
    if whole.ndim != 1:
        raise ValueError(f"diag of an array with {whole.ndim} axes, shape {whole.shape}; it needs 1 or 2")
    length = whole.shape[0]
    square = _where_typed_row(whole)
    if not k:
        return square
    made = zeros((length + abs(k),) * 2, chunks=(whole.chunksize[0] or 1,) * 2, dtype=whole.dtype, like=whole)
    made[max(-k, 0) : max(-k, 0) + length, max(k, 0) : max(k, 0) + length] = square
    return made


def _where_typed_row(row: Array) -> Array:
    positions = arange(row.shape[0], chunks=row.chunks, like=row)
    return _where_typed(positions[:, None] == positions[None, :], row)


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Array:
    """Return the sum of a diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.trace(ga.arange(9).reshape(3, 3)).compute()
    np.int64(12)
    """
    return diagonal(a, offset, axis1, axis2).sum(axis=-1, dtype=dtype)


def tril_indices(n: int, k: int = 0, m: int | None = None, *, chunks: Any = "auto") -> tuple[Array, ...]:
    """Return the positions of the lower triangle of an n by m matrix: rows and columns, of unknown length.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [axis.compute().tolist() for axis in ga.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return nonzero(tril(ones((n, n if m is None else m), chunks=chunks, dtype=bool), k))


def triu_indices(n: int, k: int = 0, m: int | None = None, *, chunks: Any = "auto") -> tuple[Array, ...]:
    """Return the positions of the upper triangle of an n by m matrix: rows and columns, of unknown length.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [axis.compute().tolist() for axis in ga.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return nonzero(triu(ones((n, n if m is None else m), chunks=chunks, dtype=bool), k))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Return the positions of the lower triangle of a matrix; see `tril_indices`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> len(ga.tril_indices_from(ga.eye(3)))
    2
    """
    return nonzero(tril(_ones_of_matrix(arr, "tril_indices_from"), k))


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Return the positions of the upper triangle of a matrix; see `triu_indices`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> len(ga.triu_indices_from(ga.eye(3)))
    2
    """
    return nonzero(triu(_ones_of_matrix(arr, "triu_indices_from"), k))


def _ones_of_matrix(arr: Any, what: str) -> Array:
    whole = asarray(arr)
    if whole.ndim != 2:
        raise ValueError(f"{what} of an array of shape {whole.shape}; it needs a matrix")
    return ones(whole.shape, chunks=whole.chunks, dtype=bool, like=whole)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    """Return a matrix with the elements of the flat array on a diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diagflat(ga.asarray([[1, 2]])).compute()
    array([[1, 0],
           [0, 2]])
    """
    return diag(asarray(v).ravel(), k)


@implements(np.fill_diagonal)
def fill_diagonal(a: Array, val: Any, wrap: bool = False) -> None:
    """Put values on the main diagonal, in place; they are repeated if they are fewer.

    Parameters
    ----------
    a
        A lazy array of at least two axes, of equal length if there are more.
    wrap
        Whether the diagonal of a tall matrix begins anew below, with one row between.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.zeros((2, 2), chunks=1, dtype=int)
    >>> ga.fill_diagonal(x, 4)
    >>> x.compute()
    array([[4, 0],
           [0, 4]])
    """
    if not isinstance(a, Array):
        raise TypeError(f"fill_diagonal changes a lazy array in place, got {type(a).__name__}; use numpy.fill_diagonal")
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ValueError(f"fill_diagonal of an array of shape {a.shape}; it needs two axes, or more of equal length")
    step = sum(math.prod(a.shape[axis + 1 :]) for axis in range(a.ndim))
    positions: Any = flat_positions(a)
    is_on = positions % step == 0
    if not wrap:
        is_on = is_on & (positions < math.prod(a.shape[1:]) * a.shape[1])
    values = asarray(val).ravel().astype(a.dtype)
    a._expr = where(is_on, cycled(values, positions // step), a).rechunk(a.chunks).expr


def diag_indices(n: int, ndim: int = 2, *, chunks: Any = "auto") -> tuple[Array, ...]:
    """Return the positions of the main diagonal of an array with `ndim` axes of length `n`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diag_indices(2)[0].compute()
    array([0, 1])
    """
    return (arange(n, chunks=chunks),) * ndim


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Return the positions of the main diagonal of an array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diag_indices_from(ga.ones((2, 2)))[1].compute()
    array([0, 1])
    """
    whole = asarray(arr)
    if whole.ndim < 2 or len(set(whole.shape)) > 1:
        raise ValueError(
            f"diag_indices_from an array of shape {whole.shape}; it needs at least two axes of equal length"
        )
    return diag_indices(operator.index(whole.shape[0]), whole.ndim)


def mask_indices(n: int, mask_func: Any, k: Any = 0, *, chunks: Any = "auto") -> tuple[Array, ...]:
    """Return the positions in an n-by-n matrix that a function such as `tril` leaves.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [each.compute().tolist() for each in ga.mask_indices(2, ga.triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return nonzero(mask_func(ones((n, n), dtype=int, chunks=chunks), k) != 0)
