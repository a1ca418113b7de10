"""Norms, and QR and SVD of arrays that are tall or wide.

A matrix with many rows is cut into blocks of whole rows, each block is factorised, and the triangular factors are
stacked and factorised again, as a tree (Demmel, Grigori, Hoemmen and Langou, 2012, "Communication-optimal parallel and
sequential QR and LU factorizations"). Matrices that are large both ways are compressed by random projections first (Halko,
Martinsson and Tropp, 2011, "Finding structure with randomness: probabilistic algorithms for constructing approximate matrix
decompositions", algorithms 4.3, 4.4 and 5.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from glassloom.array.api.array import Array, asarray, matmul
from glassloom.array.api.dispatch import implements
from glassloom.array.api.elementwise import where
from glassloom.array.api.gufuncs import apply_gufunc
from glassloom.array.api.joining import concatenate
from glassloom.array.api.shapes import expand_dims
from glassloom.array.chunks import Chunks
from glassloom.array.ops.base import make_meta, normalize_axis
from glassloom.array.ops.mapping import BLOCK, MapBlocks, MappedCall, Part
from glassloom.array.random import RandomState, default_rng
from glassloom.backends.arrays import namespace_of
from glassloom.backends.blas import one_blas_thread
from glassloom.errors import OptionError

_ROWS_PER_COLUMN = 4
"""How much taller than wide a block should be, so that stacking the factors makes the matrix much smaller."""


class QRResult(NamedTuple):
    """Orthonormal columns and a triangular matrix."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """Left singular vectors, singular values, and right singular vectors as rows."""

    U: Array
    S: Array
    Vh: Array


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Return Q with orthonormal columns and an upper triangular R with ``Q @ R == a``.

    Parameters
    ----------
    a
        A matrix; its columns are put into one block. Best if it has many more rows than columns. Each matrix of a
        stack becomes one block.
    mode
        ``"reduced"``; ``"r"`` for R alone; ``"complete"`` for a square Q, which makes the matrix one block.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.random.default_rng(0).random((40, 3), chunks=(10, 3))
    >>> q, r = ga.linalg.qr(x)
    >>> bool(ga.allclose(q @ r, x))
    True
    """
    if mode not in ("reduced", "r", "complete"):
        raise ValueError(f"qr: mode={mode!r} is none of 'reduced', 'r' and 'complete'")
    whole = _matrices(a, "qr")
    if whole.ndim > 2 or mode == "complete":
        rows, columns = whole.shape[-2:]
        sizes = {"k": rows if mode == "complete" else min(rows, columns)}
        kind = "complete" if mode == "complete" else "reduced"
        factors = QRResult(
            *apply_gufunc(
                np.linalg.qr,
                "(m,n)->(m,k),(k,n)",
                whole,
                output_dtypes=[whole.dtype] * 2,
                output_sizes=sizes,
                mode=kind,
            )
        )
    else:
        factors = _tall_qr(whole.rechunk({0: _tall_blocks(whole), 1: -1}))
    return factors.R if mode == "r" else factors


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Return the singular value decomposition: ``U * S @ Vh == a``.

    Parameters
    ----------
    a
        A matrix; its shorter axis is put into one block. The decomposition of the triangular factor of the shorter
        length runs in one task. Each matrix of a stack becomes one block.
    full_matrices
        Whether U and Vh are square, which makes the matrix one block. Unlike NumPy's the default is the reduced
        decomposition: the full one of a matrix with a million rows has a million columns.
    compute_uv
        Whether U and Vh are returned too, not the singular values alone.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.random.default_rng(0).random((40, 3), chunks=(10, 3))
    >>> u, s, vh = ga.linalg.svd(x)
    >>> u.shape, s.shape, vh.shape
    ((40, 3), (3,), (3, 3))
    """
    whole = _matrices(a, "svd")
    factors = _svd_of_stack(whole, full_matrices) if whole.ndim > 2 or full_matrices else _reduced_svd(whole)
    return factors if compute_uv else factors.S


def _svd_of_stack(whole: Array, full_matrices: bool) -> SVDResult:
    rows, columns = whole.shape[-2:]
    k = min(rows, columns)
    sizes = {"k": k, "r": rows if full_matrices else k, "c": columns if full_matrices else k}
    made = apply_gufunc(
        np.linalg.svd, "(m,n)->(m,r),(k),(c,n)", whole, output_sizes=sizes, full_matrices=full_matrices,
        output_dtypes=[whole.dtype, np.finfo(whole.dtype).dtype, whole.dtype],
    )  # fmt: skip
    return SVDResult(*made)


def _reduced_svd(whole: Array) -> SVDResult:
    if whole.shape[0] < whole.shape[1]:
        u, s, vh = _reduced_svd(whole.T)
        return SVDResult(vh.T, s, u.T)
    q, r = qr(whole)
    rank, columns = r.shape
    factors = _zip_blocks(_svd_block, (r,), ((rank,), (columns,)), r)
    u = _zip_blocks(Part(0, "u"), (factors,), ((rank,), (rank,)), r)
    s = _zip_blocks(Part(1, "s"), (factors,), ((rank,),), r, meta=make_meta(r.expr.meta, 1, r.expr.meta.real.dtype))
    vh = _zip_blocks(Part(2, "v"), (factors,), ((rank,), (columns,)), r)
    return SVDResult(matmul(q, u), s, vh)


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Return the norm of vectors or matrices, as `numpy.linalg.norm`.

    Parameters
    ----------
    x
        The array.
    ord
        Of vectors: None, any number, or infinite. Of matrices: None, "fro", "nuc", 1, 2, -1, -2 or infinite.
    axis
        The axis of the vectors, the two axes of the matrices, or None for the whole array.
    keepdims
        Whether the axes stay with length 1.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.norm(ga.asarray([3.0, 4.0])).compute()
    np.float64(5.0)
    """
    whole = asarray(x)
    if whole.dtype.kind not in "fc":
        whole = whole.astype(float)
    if axis is None:
        if ord is None:
            return _root_of_squares(whole, None, keepdims)
        axes: tuple[int, ...] = tuple(range(whole.ndim))
    else:
        axes = tuple(normalize_axis(each, whole.ndim) for each in (axis if isinstance(axis, tuple) else (axis,)))
    if len(axes) == 1:
        return _vector_norm(whole, ord, axes[0], keepdims)
    if len(axes) == 2 and axes[0] != axes[1]:
        return _matrix_norm(whole, ord, axes, keepdims)
    raise ValueError(f"norm: axis={axis!r} of an array of shape {whole.shape} is neither one axis nor two")


def _vector_norm(x: Array, ord: Any, axis: int, keepdims: bool) -> Array:
    if ord is None or ord == 2:
        return _root_of_squares(x, axis, keepdims)
    if ord == math.inf:
        return abs(x).max(axis, keepdims)
    if ord == -math.inf:
        return abs(x).min(axis, keepdims)
    if ord == 0:
        return (x != 0).astype(abs(x).dtype).sum(axis, keepdims=keepdims)
    if isinstance(ord, (int, float, np.integer, np.floating)):
        return (abs(x) ** ord).sum(axis, keepdims=keepdims) ** (1 / ord)
    raise ValueError(f"norm: ord={ord!r} is not one of vectors; use None, a number, or infinite")


def _matrix_norm(x: Array, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    if ord is None or ord == "fro":
        return _root_of_squares(x, axes, keepdims)
    if ord in (1, -1):
        sums, along = abs(x).sum(axes[0], keepdims=True), axes[1]
    elif ord in (math.inf, -math.inf):
        sums, along = abs(x).sum(axes[1], keepdims=True), axes[0]
    elif ord in (2, -2, "nuc"):
        rest = tuple(axis for axis in range(x.ndim) if axis not in axes)
        values = svd(x.transpose((*rest, *axes)), compute_uv=False)
        made: Array = values.sum(-1) if ord == "nuc" else values.max(-1) if ord == 2 else values.min(-1)
        return expand_dims(made, axes) if keepdims else made
    else:
        raise ValueError(f"norm: ord={ord!r} is not one of matrices; use None, 'fro', 'nuc', 1, 2, -1, -2 or infinite")
    found = sums.max(along, keepdims=True) if ord > 0 else sums.min(along, keepdims=True)
    return found if keepdims else found.squeeze(axes)


def _root_of_squares(x: Array, axis: Any, keepdims: bool) -> Array:
    squares = x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x
    made: Array = np.sqrt(squares.sum(axis, keepdims=keepdims))
    return made


def _matrices(a: Any, what: str) -> Array:
    whole = asarray(a)
    if whole.ndim < 2:
        raise ValueError(f"{what} of an array with {whole.ndim} axes, shape {whole.shape}; it needs at least 2")
    if whole.dtype.kind in "biu":
        whole = whole.astype(float)
    if whole.dtype.kind not in "fc":
        raise TypeError(f"{what} of an array of type {whole.dtype}")
    return whole


def _tall_blocks(whole: Array) -> tuple[int, ...]:
    """Return blocks of rows at least `_ROWS_PER_COLUMN` times as tall as wide, made of whole old blocks."""
    columns = whole.shape[1]
    least = max(1, _ROWS_PER_COLUMN * columns)
    blocks: list[int] = []
    for length in whole.chunks[0]:
        if blocks and (blocks[-1] < least or length < columns):
            blocks[-1] += length
        else:
            blocks.append(length)
    return tuple(blocks)


def _tall_qr(whole: Array) -> QRResult:
    """Return the factors of a matrix whose blocks are whole rows."""
    rows, columns = whole.chunks[0], whole.shape[1]
    ranks = tuple(min(length, columns) for length in rows)
    if len(rows) == 1:
        factors = _zip_blocks(_qr_block, (whole,), whole.chunks, whole)
        q = _zip_blocks(Part(0, "q"), (factors,), (rows, ranks), whole)
        return QRResult(q, _zip_blocks(Part(1, "r"), (factors,), (ranks, (columns,)), whole))
    factors = _zip_blocks(_qr_block, (whole,), whole.chunks, whole)
    r_blocks = _zip_blocks(Part(1, "r"), (factors,), (ranks, (columns,)), whole)
    inner, r = _tall_qr(r_blocks.rechunk({0: _tall_blocks(r_blocks)}))
    q_blocks = _zip_blocks(Part(0, "q"), (factors,), whole.chunks, whole)
    q = _zip_blocks(_product, (q_blocks, inner.rechunk({0: ranks})), (rows, inner.chunks[1]), whole)
    return QRResult(q, r)


def _zip_blocks(
    function: Callable[..., Any], arrays: tuple[Array, ...], chunks: Chunks, like: Array, meta: Any = None
) -> Array:
    """Return a function of the blocks at the same place, whatever their shapes."""
    call = MappedCall(function, (BLOCK,) * len(arrays), {}, wants_block_id=False)
    axes = tuple(range(len(chunks)))
    nodes = tuple(array.expr for array in arrays)
    return Array(MapBlocks(call, nodes, axes, chunks, like.expr.meta if meta is None else meta))


def _qr_block(block: Any) -> Any:
    with one_blas_thread():
        return tuple(namespace_of(block).linalg.qr(block))


def _svd_block(block: Any) -> Any:
    with one_blas_thread():
        return tuple(namespace_of(block).linalg.svd(block, full_matrices=False))


def _product(left: Any, right: Any) -> Any:
    with one_blas_thread():
        return left @ right


def tsqr(data: Any, compute_svd: bool = False) -> Any:
    """Return the QR decomposition of a matrix with many more rows than columns (or its SVD): `qr` (`svd`) under the
    name that Dask has for it.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [part.shape for part in ga.linalg.tsqr(ga.ones((40, 3), chunks=(10, 3)))]
    [(40, 3), (3, 3)]
    """
    return svd(data) if compute_svd else qr(data)


def sfqr(data: Any) -> QRResult:
    """Return the QR decomposition of a matrix with more columns than rows: of its first columns, applied to the others.

    The rows become one block, and so do as many blocks of columns as a square needs; the others stay as they are.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.random.default_rng(0).random((3, 40), chunks=(3, 10))
    >>> q, r = ga.linalg.sfqr(x)
    >>> bool(ga.allclose(q @ r, x)), r.numblocks
    (True, (1, 4))
    """
    whole = _matrices(data, "sfqr")
    rows, columns = whole.shape
    if whole.ndim != 2 or rows > columns:
        raise ValueError(f"sfqr of an array of shape {whole.shape}; it needs a matrix with more columns than rows")
    first, blocks = 0, list(whole.chunks[1])
    while blocks and first < rows:
        first += blocks.pop(0)
    whole = whole.rechunk({0: -1, 1: (first, *blocks)})
    q, r = qr(whole[:, :first])
    if not blocks:
        return QRResult(q, r)
    return QRResult(q, concatenate([r, matmul(np.conjugate(q.T), whole[:, first:])], 1))


def svd_compressed(
    a: Any,
    k: int,
    iterator: str = "power",
    n_power_iter: int = 0,
    n_oversamples: int = 10,
    seed: Any = None,
    compute: bool = False,
    *,
    coerce_signs: bool = True,
) -> SVDResult:
    """Return the `k` largest singular values and their vectors, approximately: ``U * S @ Vh`` is near to `a`.

    The matrix is multiplied by a random one with ``k + n_oversamples`` columns, and what that spans is factorised
    exactly. Nothing larger than ``max(a.shape) * (k + n_oversamples)`` is held beside blocks of `a`.

    Parameters
    ----------
    a
        A matrix in blocks of any kind.
    k
        How many singular values.
    iterator
        How products with `a` are repeated: ``"power"``, or ``"QR"``, which makes the vectors orthonormal in between
        and so finds small singular values where powers lose them to rounding.
    n_power_iter
        How often; 2 to 4 help where singular values fall slowly. Each costs two passes over `a`.
    n_oversamples
        How many columns more than `k` the random matrix has.
    seed
        A number, or a generator of this package.
    compute
        Whether products with `a` are computed and kept as they are repeated, so that `a` is read once for each, and the
        plan stays short.
    coerce_signs
        Whether signs are chosen so that the sum of each right singular vector isn't negative.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.random.default_rng(0).normal(size=(60, 40), chunks=20)
    >>> low = x[:, :3] @ x[:3]
    >>> u, s, vh = ga.linalg.svd_compressed(low, k=3, seed=1)
    >>> bool(ga.allclose((u * s) @ vh, low))
    True
    """
    whole = asarray(a)
    if whole.ndim != 2:
        raise ValueError(f"svd_compressed of an array with {whole.ndim} axes, shape {whole.shape}; it needs 2")
    if not 0 < k <= min(whole.shape):
        raise ValueError(f"svd_compressed: k={k} of a matrix of shape {whole.shape}")
    if iterator not in ("power", "QR"):
        raise OptionError(f"iterator={iterator!r} is neither 'power' nor 'QR'")
    if whole.dtype.kind in "biu":
        whole = whole.astype(float)
    basis = _range_of(whole, min(k + n_oversamples, min(whole.shape)), iterator, n_power_iter, seed, compute)
    u, s, vh = svd(matmul(_adjoint(basis), whole))
    u, s, vh = matmul(basis, u[:, :k]), s[:k], vh[:k]
    if not coerce_signs:
        return SVDResult(u, s, vh)
    signs = where(vh.real.sum(axis=1) < 0, -1, 1).astype(whole.dtype)
    return SVDResult(u * signs, s, signs[:, None] * vh)


def _range_of(whole: Array, columns: int, iterator: str, n_power_iter: int, seed: Any, compute: bool) -> Array:
    """Return orthonormal columns that span about what the matrix spans most of."""
    rng = seed if isinstance(seed, RandomState) else default_rng(seed)
    omega = rng.normal(size=(whole.shape[1], columns), chunks=(whole.chunks[1], -1)).astype(whole.dtype)
    sample = matmul(whole, omega)
    for _ in range(n_power_iter):
        if iterator == "QR":
            back = qr(matmul(_adjoint(whole), qr(sample).Q)).Q
            sample = matmul(whole, back)
        else:
            sample = matmul(whole, matmul(_adjoint(whole), sample))
        sample = sample.persist() if compute else sample
    basis: Array = qr(sample).Q
    return basis


def _adjoint(matrix: Array) -> Array:
    made: Array = np.conjugate(matrix.T)  # type: ignore[assignment]
    return made
