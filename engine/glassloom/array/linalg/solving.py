"""Systems of equations: `solve`, `solve_triangular`, `inv`, `lu`, `cholesky`, `lstsq`. SciPy isn't needed.

Square matrices are cut into panels of whole columns: those of the array's columns. A panel must fit into memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from glassloom.array.api.array import Array, asarray, matmul
from glassloom.array.api.creation import arange
from glassloom.array.api.diagonals import eye, vander
from glassloom.array.api.dispatch import implements
from glassloom.array.api.gufuncs import apply_gufunc
from glassloom.array.linalg.factors import qr
from glassloom.array.ops.base import make_meta
from glassloom.array.ops.labelled_axes import indexed
from glassloom.array.ops.mapping import Part
from glassloom.array.ops.panels import CholeskyPanels, LuPanels, LuPart, Substitute
from glassloom.backends.arrays import namespace_of


class LUResult(NamedTuple):
    """A permutation, a lower triangle with ones on the diagonal, and an upper triangle: ``P @ L @ U == a``."""

    P: Array
    L: Array
    U: Array


class LstsqResult(NamedTuple):
    """The solution, the sums of squared residuals, the rank, and the singular values."""

    x: Array
    residuals: Array
    rank: Array
    s: Array


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Array:
    """Return the x of ``a @ x == b``, by LU with pivoting.

    Parameters
    ----------
    a
        A square matrix, or a stack of them (then each in one block).
    b
        A vector, or a matrix of right-hand sides as columns.

    Raises
    ------
    numpy.linalg.LinAlgError
        When computed, if the matrix is singular.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> a = ga.asarray([[3.0, 1.0], [1.0, 2.0]]).rechunk(1)
    >>> ga.linalg.solve(a, [9.0, 8.0]).compute()
    array([2., 3.])
    """
    left, right = _square(a, "solve"), _floating(asarray(b))
    if left.ndim > 2 or right.ndim > 2:
        signature = "(n,n),(n)->(n)" if right.ndim == 1 else "(n,n),(n,k)->(n,k)"
        made: Array = apply_gufunc(np.linalg.solve, signature, left, right, output_dtypes=_common(left, right))
        return made
    _check_rows(left, right, "solve")
    if not left.shape[0]:
        return right.astype(_common(left, right))
    factors = LuPanels(_panels(left).expr)
    return _substituted(factors, right, "lu", False, left)


def solve_triangular(a: Any, b: Any, lower: bool = False, *, unit_diagonal: bool = False) -> Array:
    """Return the x of ``a @ x == b``, reading only one triangle of `a`.

    Parameters
    ----------
    lower
        Whether `a` is a lower triangle, not an upper one.
    unit_diagonal
        Whether the diagonal of `a` is taken as ones.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> a = ga.asarray([[2.0, 0.0], [1.0, 4.0]]).rechunk(1)
    >>> ga.linalg.solve_triangular(a, [2.0, 9.0], lower=True).compute()
    array([1., 2.])
    """
    left, right = _square(a, "solve_triangular"), _floating(asarray(b))
    if left.ndim != 2 or right.ndim > 2:
        raise NotImplementedError(f"solve_triangular of stacks, shapes {left.shape} and {right.shape}; use solve")
    _check_rows(left, right, "solve_triangular")
    if not left.shape[0]:
        return right.astype(_common(left, right))
    return _substituted(_panels(left).expr, right, "lower" if lower else "upper", unit_diagonal, left)


def _substituted(factors: Any, right: Array, kind: str, unit: bool, left: Array) -> Array:
    columns = right[:, None] if right.ndim == 1 else right
    made = Array(Substitute(factors, columns.rechunk({0: -1}).expr, kind, unit, _common(left, right)))
    return made[:, 0] if right.ndim == 1 else made


@implements(np.linalg.inv)
def inv(a: Any) -> Array:
    """Return the inverse of a square matrix, or of each of a stack.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.inv(ga.asarray([[2.0, 0.0], [0.0, 4.0]]).rechunk(1)).compute()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    whole = _square(a, "inv")
    if whole.ndim > 2:
        return apply_gufunc(np.linalg.inv, "(n,n)->(n,n)", whole, output_dtypes=whole.dtype)
    n = whole.shape[0]
    return solve(whole, eye(n, chunks=((n,), whole.chunks[1]), dtype=whole.dtype, like=whole))


def lu(a: Any) -> LUResult:
    """Return a permutation, a lower and an upper triangle whose product is a square matrix.

    Rows are exchanged as LAPACK does it, over the whole matrix.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> a = ga.asarray([[1.0, 2.0], [3.0, 4.0]]).rechunk(1)
    >>> p, l, u = ga.linalg.lu(a)
    >>> bool(ga.allclose(p @ l @ u, a))
    True
    """
    whole = _square(a, "lu")
    if whole.ndim != 2:
        raise NotImplementedError(f"lu of a stack of matrices, shape {whole.shape}")
    factors = LuPanels(_panels(whole).expr)
    order = Array(LuPart(factors, "order", np.dtype(np.intp)))
    rows = arange(whole.shape[0], chunks=-1, like=whole)
    permutation = (rows[:, None] == order[None, :]).astype(whole.dtype)
    return LUResult(permutation, Array(LuPart(factors, "L", whole.dtype)), Array(LuPart(factors, "U", whole.dtype)))


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """Return the lower triangle L with ``L @ L.conj().T == a``, of a positive definite matrix.

    Parameters
    ----------
    upper
        Whether the upper triangle is returned instead. Only the lower half of `a` is read.

    Raises
    ------
    numpy.linalg.LinAlgError
        When computed, if the matrix isn't positive definite.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linalg.cholesky(ga.asarray([[4.0, 2.0], [2.0, 5.0]]).rechunk(1)).compute()
    array([[2., 0.],
           [1., 2.]])
    """
    whole = _square(a, "cholesky")
    if whole.ndim > 2:
        made = apply_gufunc(np.linalg.cholesky, "(n,n)->(n,n)", whole, output_dtypes=whole.dtype)
    else:
        made = Array(CholeskyPanels(_panels(whole).expr)) if whole.shape[0] else whole
    return np.conjugate(made.mT) if upper else made


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """Return the x of least length that makes the squares of ``a @ x - b`` least.

    A tall matrix is factorised by QR in blocks of rows; only the small triangle is solved in one task.

    Parameters
    ----------
    a
        A matrix.
    b
        A vector, or a matrix of right-hand sides as columns.
    rcond
        Singular values below this part of the largest count as zero.

    Returns
    -------
    LstsqResult
        As NumPy's, but ``residuals`` are there whenever the matrix has more rows than columns.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> a = ga.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]).rechunk(2)
    >>> ga.linalg.lstsq(a, [1.0, 3.0, 5.0]).x.compute().round(6)
    array([1., 2.])
    """
    left, right = _floating(asarray(a)), _floating(asarray(b))
    if left.ndim != 2 or right.ndim not in (1, 2):
        raise ValueError(f"lstsq of arrays of shapes {left.shape} and {right.shape}; it needs a matrix")
    _check_rows(left, right, "lstsq")
    rows, columns = left.shape
    dtype = _common(left, right)
    if rows > columns:
        q, small = qr(left)
        target = matmul(np.conjugate(q.T), right)
    else:
        small, target = left.rechunk(-1), right
    cut = np.finfo(dtype).eps * max(rows, columns) if rcond is None else rcond
    behind = ("k",) if right.ndim == 2 else ()
    real = np.finfo(dtype).dtype
    together = indexed(
        lstsq_block, [small.expr, target.rechunk(-1).expr], [("m", "n"), ("m", *behind)], (),
        meta=make_meta(left.expr.meta, 0, dtype), kwargs={"rcond": float(cut)},
    )  # fmt: skip
    parts = [
        ((columns, *right.shape[1:]), dtype), ((), np.dtype(np.int64)), ((min(rows, columns),), real)
    ]  # fmt: skip
    x, rank, s = (
        Array(
            indexed(
                Part(number), [together], [()], tuple(range(len(shape))),
                meta=make_meta(left.expr.meta, len(shape), kind), sizes={n: (size,) for n, size in enumerate(shape)},
            )
        )
        for number, (shape, kind) in enumerate(parts)
    )  # fmt: skip
    rest = right - matmul(left, x)
    squares = (rest * np.conjugate(rest)).real.sum(axis=0)
    residuals = (squares if right.ndim == 2 else squares[None]) if rows > columns else asarray(np.empty(0, real))
    return LstsqResult(x, residuals, rank, s)


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: bool | str = False
) -> Any:
    """Return the coefficients of the polynomial that makes the squares of distances least, highest power first.

    Points are factorised by QR in blocks; only the small triangle is solved in one task.

    Parameters
    ----------
    x, y
        The points; `y` may have several columns.
    deg
        The highest power.
    rcond
        Singular values below this part of the largest count as zero. Default: the number of points times the type's precision.
    full
        Whether to return residuals, rank, singular values and `rcond` too, as NumPy does.
    w
        What each distance is multiplied by.
    cov
        Whether to return the coefficients' covariances too, unless `full`: scaled by the squares of distances over degrees
        of freedom, or not if it is ``"unscaled"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(6, chunks=3)
    >>> ga.polyfit(x, 2 * x + 1, 1).compute().round(6)
    array([2., 1.])
    """
    points, values = asarray(x) + 0.0, asarray(y) + 0.0
    if points.ndim != 1 or values.ndim not in (1, 2) or deg < 0:
        raise ValueError(f"polyfit of degree {deg} to points of shapes {points.shape} and {values.shape}")
    _check_rows(points, values, "polyfit")
    powers = vander(points, deg + 1)
    if w is not None:
        weights = asarray(w) + 0.0
        powers, values = powers * weights[:, None], values * (weights[:, None] if values.ndim == 2 else weights)
    scale = np.sqrt((powers * powers).sum(axis=0))
    cut = points.shape[0] * np.finfo(points.dtype).eps if rcond is None else rcond
    solved = lstsq(powers / scale, values, cut)
    made = (solved.x.T / scale).T
    if full or not cov:
        return (made, solved.residuals, solved.rank, solved.s, cut) if full else made
    n_free = points.shape[0] - deg - 1
    if cov != "unscaled" and n_free < 1:
        raise ValueError(
            f"polyfit: cov={cov!r} needs more than {deg + 1} points for degree {deg}, not {points.shape[0]}"
        )
    left = powers / scale
    spread = inv(left.T @ left) / (scale[:, None] * scale)
    factor = 1.0 if cov == "unscaled" else solved.residuals / n_free
    return made, spread * factor if values.ndim == 1 else spread[:, :, None] * factor


def lstsq_block(left: Any, right: Any, rcond: float) -> tuple[Any, Any, Any]:
    """Return solution, rank and singular values of a system in one block."""
    xp = namespace_of(left)
    x, _, rank, s = xp.linalg.lstsq(left, right, rcond=rcond)
    return x, xp.asarray(rank, dtype=np.int64), s


def _square(a: Any, what: str) -> Array:
    whole = _floating(asarray(a))
    if whole.ndim < 2 or whole.shape[-1] != whole.shape[-2]:
        raise ValueError(f"{what} of an array of shape {whole.shape}; it needs a square matrix")
    return whole


def _floating(whole: Array) -> Array:
    if whole.dtype.kind in "biu":
        return whole.astype(float)
    if whole.dtype.kind not in "fc" or whole.dtype == np.float16:
        raise TypeError(f"linear algebra of an array of type {whole.dtype}")
    return whole


def _check_rows(left: Array, right: Array, what: str) -> None:
    if not right.ndim or right.shape[0] != left.shape[0]:
        raise ValueError(f"{what}: a matrix of shape {left.shape} and right-hand sides of shape {right.shape}")


def _common(left: Array, right: Array) -> Any:
    return np.result_type(left.dtype, right.dtype)


def _panels(whole: Array) -> Array:
    blocks = tuple(length for length in whole.chunks[1] if length)
    return whole.rechunk({0: -1, 1: blocks})
