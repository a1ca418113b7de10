"""What is computed of each matrix as a whole: determinants, inverses of any shape, eigenvalues of Hermitian matrices.

The last two axes become one block; stacks of matrices are worked on block by block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from glassloom.array.api import diagonals
from glassloom.array.api.array import Array, asarray, matmul
from glassloom.array.api.diagonals import eye
from glassloom.array.api.dispatch import implements
from glassloom.array.api.gufuncs import apply_gufunc
from glassloom.array.linalg.factors import norm
from glassloom.array.linalg.solving import inv
from glassloom.backends.arrays import namespace_of


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


class EigResult(NamedTuple):
    """Complex eigenvalues in no particular order, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


@implements(np.linalg.det)
def det(a: Any) -> Array:
    """Return the determinant of a square matrix, or of each of a stack.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.det(ga.asarray([[1.0, 2.0], [3.0, 4.0]])).compute().round(6)
    np.float64(-2.0)
    """
    whole = _matrices(a, "det", is_square=True)
    made: Array = apply_gufunc(np.linalg.det, "(n,n)->()", whole, output_dtypes=whole.dtype)
    return made


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """Return sign and logarithm of the determinant.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.slogdet(ga.eye(3) * 2).sign.compute()
    np.float64(1.0)
    """
    whole = _matrices(a, "slogdet", is_square=True)
    return SlogdetResult(
        *apply_gufunc(np.linalg.slogdet, "(n,n)->(),()", whole, output_dtypes=[whole.dtype, _real(whole)])
    )


@implements(np.linalg.eigh)
def eigh(a: Any) -> EighResult:
    """Return eigenvalues and eigenvectors of a Hermitian matrix, or of each of a stack; the lower half is read.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.eigh(ga.eye(2)).eigenvalues.compute()
    array([1., 1.])
    """
    whole = _matrices(a, "eigh", is_square=True)
    made = apply_gufunc(np.linalg.eigh, "(n,n)->(n),(n,n)", whole, output_dtypes=[_real(whole), whole.dtype])
    return EighResult(*made)


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any) -> Array:
    """Return the eigenvalues of a Hermitian matrix in ascending order.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.eigvalsh(ga.asarray([[2.0, 0.0], [0.0, 1.0]])).compute()
    array([1., 2.])
    """
    whole = _matrices(a, "eigvalsh", is_square=True)
    made: Array = apply_gufunc(np.linalg.eigvalsh, "(n,n)->(n)", whole, output_dtypes=_real(whole))
    return made


@implements(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """Return eigenvalues and right eigenvectors of a square matrix, or of each of a stack: always complex.

    The matrix becomes one block: it must fit into the memory of one worker.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.eig(ga.asarray([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.compute().round(6)
    array([0.+1.j, 0.-1.j])
    """
    whole = _matrices(a, "eig", is_square=True)
    kind = _complex(whole)
    return EigResult(*apply_gufunc(eig_block, "(n,n)->(n),(n,n)", whole, output_dtypes=[kind, kind]))


def eig_block(block: Any) -> Any:
    """Return eigenvalues and eigenvectors as complex numbers: LAPACK's are real if all of them happen to be."""
    xp = namespace_of(block)
    values, vectors = xp.linalg.eig(block)
    kind = xp.result_type(block.dtype, xp.complex64)
    return values.astype(kind), vectors.astype(kind)


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Array:
    """Return the eigenvalues of a square matrix, or of each of a stack, as complex numbers.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.eigvals(ga.asarray([[2.0, 1.0], [0.0, 3.0]])).compute().real
    array([2., 3.])
    """
    whole = _matrices(a, "eigvals", is_square=True)
    made: Array = apply_gufunc(eigvals_block, "(n,n)->(n)", whole, output_dtypes=_complex(whole))
    return made


def eigvals_block(block: Any) -> Any:
    """Return eigenvalues as complex numbers."""
    xp = namespace_of(block)
    return xp.linalg.eigvals(block).astype(xp.result_type(block.dtype, xp.complex64))


@implements(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """Return a diagonal of the matrices in the last two axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.diagonal(ga.ones((4, 2, 3))).shape
    (4, 2)
    """
    return diagonals.diagonal(x, offset, -2, -1)


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Return the sum of a diagonal of the matrices in the last two axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.trace(ga.ones((4, 2, 3))).compute()
    array([2., 2., 2., 2.])
    """
    return diagonals.trace(x, offset, -2, -1, dtype)


@implements(np.linalg.pinv)
def pinv(a: Any, *, rtol: Any = None) -> Array:
    """Return the pseudo-inverse of a matrix, or of each of a stack.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.pinv(ga.ones((2, 1))).compute().round(6)
    array([[0.5, 0.5]])
    """
    whole = _matrices(a, "pinv")
    options = {} if rtol is None else {"rtol": rtol}
    made: Array = apply_gufunc(pinv_block, "(m,n)->(n,m)", whole, output_dtypes=whole.dtype, **options)
    return made


def pinv_block(block: Any, **options: Any) -> Any:
    """Return the pseudo-inverse of matrices; CuPy calls the tolerance `rcond`."""
    xp = namespace_of(block)
    is_cupys = not hasattr(xp.linalg, "svdvals")
    return xp.linalg.pinv(block, **({"rcond": options["rtol"]} if is_cupys and options else options))


@implements(np.linalg.matrix_rank)
def matrix_rank(a: Any, *, rtol: Any = None) -> Array:
    """Return the number of singular values that are not as good as zero.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.matrix_rank(ga.ones((3, 3))).compute()
    np.int64(1)
    """
    whole = _matrices(a, "matrix_rank")
    options = {} if rtol is None else {"rtol": rtol}
    made: Array = apply_gufunc(matrix_rank_block, "(m,n)->()", whole, output_dtypes=np.int64, **options)
    return made


def matrix_rank_block(block: Any, **options: Any) -> Any:
    """Return the rank of matrices; CuPy takes no relative tolerance."""
    xp = namespace_of(block)
    if hasattr(xp.linalg, "svdvals"):
        return xp.linalg.matrix_rank(block, **options)
    values = svdvals_block(block)
    rtol = options.get("rtol", max(block.shape[-2:]) * np.finfo(values.dtype).eps)
    return xp.sum(values > xp.max(values, axis=-1, keepdims=True) * xp.asarray(rtol)[..., None], axis=-1)


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Array:
    """Return the singular values of a matrix, or of each of a stack, in descending order.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.svdvals(ga.eye(2) * 3).compute()
    array([3., 3.])
    """
    whole = _matrices(x, "svdvals")
    sizes = {"k": min(whole.shape[-2:])}
    made: Array = apply_gufunc(svdvals_block, "(m,n)->(k)", whole, output_dtypes=_real(whole), output_sizes=sizes)
    return made


def svdvals_block(block: Any) -> Any:
    """Return the singular values of matrices: by `svd`, as CuPy has no `svdvals`."""
    xp = namespace_of(block)
    if hasattr(xp.linalg, "svdvals"):
        return xp.linalg.svdvals(block)
    return xp.linalg.svd(block, compute_uv=False)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Array:
    """Return a square matrix multiplied by itself `n` times; of its inverse if `n` is negative.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.matrix_power(ga.asarray([[1, 1], [0, 1]]), 3).compute()
    array([[1, 3],
           [0, 1]])
    """
    whole = asarray(a)
    if whole.ndim < 2 or whole.shape[-1] != whole.shape[-2]:
        raise ValueError(f"matrix_power of an array of shape {whole.shape}; it needs a square matrix")
    if n < 0:
        whole, n = inv(whole), -n
    made: Array | None = None
    while n:
        if n % 2:
            made = whole if made is None else matmul(made, whole)
        n //= 2
        whole = matmul(whole, whole) if n else whole
    if made is None:
        one = eye(whole.shape[-1], chunks=whole.chunks[-2:], dtype=whole.dtype, like=whole)
        made = np.broadcast_to(one, whole.shape)  # type: ignore[assignment]
    return made  # type: ignore[return-value]


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Return the norm of vectors along axes; of the flat array by default.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.vector_norm(ga.asarray([[3.0], [4.0]])).compute()
    np.float64(5.0)
    """
    whole = asarray(x)
    axes = tuple(range(whole.ndim)) if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(axis % whole.ndim for axis in axes)
    rest = tuple(axis for axis in range(whole.ndim) if axis not in axes)
    flat = whole.transpose((*rest, *axes)).reshape((*(whole.shape[axis] for axis in rest), -1 if whole.size else 0))
    made = norm(flat, ord=ord, axis=-1)
    return made.reshape(tuple(1 if a in axes else n for a, n in enumerate(whole.shape))) if keepdims else made


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Return the norm of the matrices in the last two axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.matrix_norm(ga.asarray([[3.0], [4.0]])).compute()
    np.float64(5.0)
    """
    whole = _matrices(x, "matrix_norm")
    if ord in ("nuc", 2, -2):
        values = svdvals(whole)
        made = values.sum(-1) if ord == "nuc" else values.max(-1) if ord == 2 else values.min(-1)
        return made[..., None, None] if keepdims else made
    return norm(whole, ord=ord, axis=(-2, -1), keepdims=keepdims)


def _matrices(a: Any, what: str, is_square: bool = False) -> Array:
    whole = asarray(a)
    if whole.dtype.kind in "biu":
        whole = whole.astype(float)
    if whole.ndim < 2 or is_square and whole.shape[-1] != whole.shape[-2]:
        raise ValueError(
            f"{what} of an array of shape {whole.shape}; it needs a {'square ' if is_square else ''}matrix"
        )
    return whole


def _complex(whole: Array) -> Any:
    return np.result_type(whole.dtype, np.complex64)


def _real(whole: Array) -> Any:
    return np.finfo(whole.dtype).dtype


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Array:
    """Return the condition numbers of matrices: by a norm, by default the largest singular value over the smallest.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.cond(ga.asarray([[2.0, 0.0], [0.0, 1.0]])).compute()
    np.float64(2.0)
    """
    whole = _matrices(x, "cond", is_square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        values = svdvals(whole)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return matrix_norm(whole, ord=p) * matrix_norm(inv(whole), ord=p)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any) -> Array:
    """Return the product of several matrices, in the order of operations that needs the fewest.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.multi_dot([ga.ones((4, 2)), ga.ones((2, 3)), ga.ones((3, 1))]).shape
    (4, 1)
    """
    parts = [asarray(array) for array in arrays]
    if len(parts) < 2:
        raise ValueError(f"multi_dot needs at least two arrays, got {len(parts)}")
    row, column = parts[0].ndim == 1, parts[-1].ndim == 1
    if row:
        parts[0] = parts[0][None, :]
    if column:
        parts[-1] = parts[-1][:, None]
    made = _cheapest_product(parts)
    made = made[:, 0] if column else made
    return made[0] if row else made


def _cheapest_product(parts: list[Array]) -> Array:
    """Return the product by the matrix chain algorithm: the best split of each run of matrices, the shortest first."""
    n = len(parts)
    sides = [parts[0].shape[0], *(part.shape[1] for part in parts)]
    cost = {(first, first): 0 for first in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for first in range(n - length):
            last = first + length
            options = {
                at: cost[first, at] + cost[at + 1, last] + sides[first] * sides[at + 1] * sides[last + 1]
                for at in range(first, last)
            }
            split[first, last] = min(options, key=lambda at: options[at])
            cost[first, last] = options[split[first, last]]

    def product(first: int, last: int) -> Array:
        if first == last:
            return parts[first]
        at = split[first, last]
        return matmul(product(first, at), product(at + 1, last))

    return product(0, n - 1)
