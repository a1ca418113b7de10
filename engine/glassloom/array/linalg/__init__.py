"""Linear algebra of lazy arrays. SciPy isn't needed.

`eig`, `eigh` and their kin make a matrix one block. Not there: eigenvalues of matrices larger than a worker's memory, and
`qr` or `svd` of matrices that are large both ways (their shorter axis becomes one block); `svd_compressed` approximates
the largest singular values of such.
"""

from glassloom.array.array import matmul
from glassloom.array.linalg.factors import QRResult, SVDResult, norm, qr, svd
from glassloom.array.linalg.matrices import (
    EighResult,
    EigResult,
    SlogdetResult,
    det,
    diagonal,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_norm,
    matrix_power,
    matrix_rank,
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
from glassloom.array.products import cross, matrix_transpose, outer, tensordot, vecdot

__all__ = [
    "EigResult",
    "EighResult",
    "LUResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
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
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
