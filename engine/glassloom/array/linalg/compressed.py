"""The largest singular values of matrices that are large both ways, by random projections.

Halko, Martinsson and Tropp (2011), "Finding structure with randomness: probabilistic algorithms for constructing
approximate matrix decompositions", algorithms 4.3, 4.4 and 5.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray, matmul
from glassloom.array.elements import where
from glassloom.array.linalg.factors import SVDResult, qr, svd
from glassloom.array.random import RandomState, default_rng
from glassloom.errors import OptionError


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
