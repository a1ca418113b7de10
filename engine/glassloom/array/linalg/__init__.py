"""Linear algebra of lazy arrays. SciPy isn't needed.

`eig`, `eigh` and their kin make a matrix one block. Not there: eigenvalues of matrices larger than a worker's memory, and
`qr` or `svd` of matrices that are large both ways (their shorter axis becomes one block); `svd_compressed` approximates
the largest singular values of such.
"""

from glassloom.array.api.array import matmul
from glassloom.array.api.products import cross, matrix_transpose, outer, tensordot, vecdot
from glassloom.array.linalg.factors import QRResult, SVDResult, norm, qr, sfqr, svd, svd_compressed, tsqr
from glassloom.array.linalg.matrices import (
    EighResult,
    EigResult,
    SlogdetResult,
    cond,
    det,
    diagonal,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    pinv,
    slogdet,
    svdvals,
    trace,
    vector_norm,
)
from glassloom.array.linalg.solving import (
    LstsqResult,
    LUResult,
    cholesky,
    inv,
    lstsq,
    lu,
    solve,
    solve_triangular,
)

__all__ = [
    "EigResult",
    "EighResult",
    "LUResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "sfqr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svd_compressed",
    "svdvals",
    "tensordot",
    "trace",
    "tsqr",
    "vecdot",
    "vector_norm",
]
