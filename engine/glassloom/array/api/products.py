"""Products: `dot`, `tensordot`, `einsum`, `inner`, `vdot`, `vecdot`, `kron`, `cross`, `cov`."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray, matmul
from glassloom.array.api.creation import arange
from glassloom.array.api.dispatch import implements
from glassloom.array.api.joining import stack, vstack
from glassloom.array.api.shapes import moveaxis
from glassloom.array.ops import products
from glassloom.array.ops.base import normalize_axis
from glassloom.array.ops.labelled_axes import indexed
from glassloom.backends.arrays import namespace_of
from glassloom.backends.blas import sharing_blas

__all__ = [
    "corrcoef",
    "cov",
    "cross",
    "dot",
    "einsum",
    "inner",
    "kron",
    "matrix_transpose",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]

implements(np.matmul)(matmul)


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
    return Array(products.dot(asarray(left).expr, asarray(right).expr))


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
    return Array(products.tensordot(asarray(left).expr, asarray(right).expr, axes))


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


@implements(np.einsum)
def einsum(
    subscripts: str, *operands: Any, dtype: Any = None, optimize: Any = True, order: str = "K", casting: str = "safe"
) -> Array:
    """Return sums of products in Einstein's notation, such as ``"ij,jk->ik"``.

    Parameters
    ----------
    subscripts
        The names of the axes: letters and an ellipsis. Without an arrow the result has the names that occur once.
    dtype
        Type of the result.
    optimize
        As for `numpy.einsum`: in which order the blocks of more than two arrays are multiplied.
    order
        As NumPy's, and without effect: blocks have no layout in memory that shows.
    casting
        Which casts to the type of the result are allowed.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(4, chunks=2).reshape(2, 2)
    >>> ga.einsum("ij,ij->", x, x).compute()
    np.int64(14)
    """
    arrays = [asarray(operand) for operand in operands]
    names, out = _parse(subscripts, arrays)
    result = np.result_type(*(array.dtype for array in arrays)) if dtype is None else np.dtype(dtype)
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"einsum: order={order!r} is none of 'C', 'F', 'A' and 'K'")
    nodes = [array.astype(result, casting=casting).expr for array in arrays]
    summed = sorted({name for own in names for name in own} - set(out))
    call = EinsumBlock(",".join(map("".join, names)) + "->" + "".join(out), len(summed), optimize)
    made = indexed(call, nodes, names, (*out, *summed), dtype=result, sizes={name: 1 for name in summed})
    whole = Array(made)
    return whole.sum(axis=tuple(range(len(out), whole.ndim)), dtype=result) if summed else whole


class EinsumBlock:
    """Sums products of blocks; summed axes stay, at the end, with length 1."""

    __name__ = "einsum"

    def __init__(self, subscripts: str, n_summed: int, optimize: Any) -> None:
        self.subscripts, self.n_summed, self.optimize = subscripts, n_summed, optimize

    def __glassloom_tokenize__(self) -> Any:
        return (self.subscripts, self.n_summed, self.optimize)

    def __call__(self, *blocks: Any) -> Any:
        xp = namespace_of(blocks[0])
        with sharing_blas():
            made = xp.einsum(self.subscripts, *blocks, optimize=self.optimize if len(blocks) > 1 else False)
        return xp.asarray(made).reshape(made.shape + (1,) * self.n_summed)


def _parse(subscripts: str, arrays: list[Array]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Return the names of each array's axes and of the result's, with letters for what an ellipsis stands for."""
    if not isinstance(subscripts, str):
        raise TypeError(f"einsum: subscripts={subscripts!r} must be text such as 'ij,jk->ik'")
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        raise ValueError(f"einsum: {subscripts!r} names {len(terms)} arrays, got {len(arrays)}")
    free = [letter for letter in string.ascii_letters if letter not in subscripts]
    n_dots = [array.ndim - len(term.replace("...", "")) for term, array in zip(terms, arrays, strict=True)]
    for term, array, count in zip(terms, arrays, n_dots, strict=True):
        if count < 0 or count and "..." not in term:
            raise ValueError(f"einsum: {term!r} names the axes of an array of shape {array.shape}")
    most = max((count for term, count in zip(terms, n_dots, strict=True) if "..." in term), default=0)
    dots = "".join(free[:most])
    names = [
        tuple(term.replace("...", dots[most - count :] if count else ""))
        for term, count in zip(terms, n_dots, strict=True)
    ]
    if arrow:
        out = tuple(right.replace("...", dots))
    else:
        flat = [name for own in names for name in own if name not in dots]
        out = (*dots, *sorted(name for name in set(flat) if flat.count(name) == 1))
    unknown = [name for name in out if not any(name in own for own in names)]
    if unknown or len(set(out)) != len(out):
        raise ValueError(f"einsum: the result of {subscripts!r} has axes that no array has, or one twice")
    return names, out


@implements(np.inner)
def inner(a: Any, b: Any) -> Array:
    """Return sums of products over the last axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.inner(ga.arange(3), ga.arange(3)).compute()
    np.int64(5)
    """
    left, right = asarray(a), asarray(b)
    if not left.ndim or not right.ndim:
        made: Array = left * right
        return made
    return tensordot(left, right, axes=((-1,), (-1,)))


@implements(np.vdot)
def vdot(a: Any, b: Any) -> Array:
    """Return the sum of products of two flat arrays, the first conjugated.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.vdot(ga.asarray([1j]), ga.asarray([2j])).compute()
    np.complex128(2+0j)
    """
    left = asarray(a).ravel()
    left = left.conj() if left.dtype.kind == "c" else left
    return tensordot(left, asarray(b).ravel(), axes=1)


@implements(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Return sums of products along an axis, the first conjugated; the other axes broadcast.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.vecdot(ga.ones((2, 3)), ga.arange(3)).compute()
    array([3., 3.])
    """
    left, right = asarray(x1), asarray(x2)
    if not left.ndim or not right.ndim:
        raise ValueError(f"vecdot of arrays of shapes {left.shape} and {right.shape}; both need an axis")
    if left.shape[axis] != right.shape[axis]:
        raise ValueError(f"vecdot along axis {axis} of arrays of shapes {left.shape} and {right.shape}")
    left, right = moveaxis(left, axis, -1), moveaxis(right, axis, -1)
    product = np.conjugate(left) * right if left.dtype.kind == "c" else left * right
    made: Array = product.sum(axis=-1, dtype=product.dtype)
    return made


@implements(np.kron)
def kron(a: Any, b: Any) -> Array:
    """Return the Kronecker product: the second array, multiplied by each element of the first.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.kron(ga.asarray([1, 10]), ga.asarray([1, 2])).compute()
    array([ 1,  2, 10, 20])
    """
    left, right = asarray(a), asarray(b)
    ndim = max(left.ndim, right.ndim)
    left = left[(None,) * (ndim - left.ndim)] if left.ndim < ndim else left
    right = right[(None,) * (ndim - right.ndim)] if right.ndim < ndim else right
    product = left[(slice(None), None) * ndim] * right[(None, slice(None)) * ndim]
    made: Array = product.reshape(tuple(n * m for n, m in zip(left.shape, right.shape, strict=True)))
    return made


@implements(np.linalg.cross, np.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Return the cross products of vectors with three elements along an axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.cross(ga.asarray([1, 0, 0]), ga.asarray([0, 1, 0])).compute()
    array([0, 0, 1])
    """
    left, right = asarray(x1), asarray(x2)
    if left.shape[normalize_axis(axis, left.ndim)] != 3 or right.shape[normalize_axis(axis, right.ndim)] != 3:
        raise ValueError(
            f"cross along axis {axis} of arrays of shapes {left.shape} and {right.shape}; it needs 3 elements"
        )
    a, b = moveaxis(left, axis, -1), moveaxis(right, axis, -1)
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return moveaxis(stack(parts, -1), -1, axis)


@implements(np.linalg.matrix_transpose, np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Array:
    """Return the last two axes swapped.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.matrix_transpose(ga.ones((2, 3, 4))).shape
    (2, 4, 3)
    """
    return asarray(x).mT


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Array:  # fmt: skip
    """Return the covariances of variables: rows, or columns if not `rowvar`.

    Parameters
    ----------
    y
        Further variables.
    bias
        Whether to divide by the number of observations, not by that less one; `ddof` overrides it.
    fweights
        How often each observation occurred: integers.
    aweights
        What each observation counts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.cov(ga.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).compute()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    whole = _variables(m, rowvar)
    if y is not None:
        whole = vstack([whole, _variables(y, rowvar)])
    kind = np.result_type(whole.dtype, np.float64) if dtype is None else np.dtype(dtype)
    whole = whole.astype(kind)
    less = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        centred = whole - whole.mean(axis=1, keepdims=True)
        made: Array = dot(centred, np.conjugate(centred.T)) / max(whole.shape[1] - less, 0)
    else:
        made = _weighted_cov(whole, less, fweights, aweights)
    return made.squeeze() if 1 in made.shape else made


def _weighted_cov(whole: Array, less: int, fweights: Any, aweights: Any) -> Array:
    """Return covariances, divided by the sum of weights less what NumPy takes off it."""
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None and asarray(given).shape != whole.shape[1:]:
            raise ValueError(f"cov: {name} of shape {asarray(given).shape} for {whole.shape[1]} observations")
    if fweights is not None and not isinstance(fweights, Array) and (np.round(fweights) != np.asarray(fweights)).any():
        raise TypeError("cov: fweights must be integers")
    each = asarray(1 if aweights is None else aweights).astype(float)
    weights: Array = each if fweights is None else each * asarray(fweights)
    total = weights.sum()
    off = less if aweights is None else less * (weights * each).sum() / total
    centred = whole - ((whole * weights).sum(axis=1) / total)[:, None]
    return dot(centred, np.conjugate((centred * weights).T)) / (total - off).clip(0, None)


def _variables(m: Any, rowvar: bool) -> Array:
    whole = asarray(m)
    if whole.ndim > 2:
        raise ValueError(f"cov of an array with {whole.ndim} axes, shape {whole.shape}; it needs at most 2")
    whole = whole if whole.ndim == 2 else whole.reshape(1, -1)
    return whole if rowvar or asarray(m).ndim != 2 else whole.T


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """Return the correlations of variables: rows, or columns if not `rowvar`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.corrcoef(ga.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).compute()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    spread = cov(x, y, rowvar, dtype=dtype)
    if not spread.ndim:
        made: Array = spread / spread
        return made
    n = arange(spread.shape[0], like=spread)
    deviation = np.sqrt(spread.vindex[n, n].real)
    scaled: Array = spread / deviation[:, None] / deviation[None, :]
    return scaled.clip(-1, 1) if scaled.dtype.kind == "f" else scaled


@implements(np.matvec)
def matvec(x1: Any, x2: Any) -> Array:
    """Return the products of matrices and vectors, in the last axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.matvec(ga.asarray([[1, 2], [3, 4]]), [1, 1]).compute()
    array([3, 7])
    """
    made: Array = matmul(x1, asarray(x2)[..., None])[..., 0]
    return made


@implements(np.vecmat)
def vecmat(x1: Any, x2: Any) -> Array:
    """Return the products of vectors, conjugated, and matrices, in the last axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.vecmat([1, 1], ga.asarray([[1, 2], [3, 4]])).compute()
    array([4, 6])
    """
    row = asarray(x1)
    made: Array = matmul((np.conjugate(row) if row.dtype.kind == "c" else row)[..., None, :], x2)[..., 0, :]
    return made
