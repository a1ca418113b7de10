"""Linear algebra of lazy arrays. SciPy isn't needed.

Not there: `eig` and `eigvals` of general matrices, `eigsh`, and `qr` or `svd` of matrices that are large both ways
(their shorter axis becomes one block).
"""

from glassloom.array.array import matmul
from glassloom.array.functions import outer, tensordot
from glassloom.array.linalg.factors import QRResult, SVDResult, norm, qr, svd
from glassloom.array.linalg.matrices import (
    EighResult,
    SlogdetResult,
    det,
    eigh,
    eigvalsh,
    matrix_norm,
    matrix_power,
    matrix_rank,
    pinv,
    slogdet,
    svdvals,
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
from glassloom.array.products import cross, matrix_transpose, vecdot
from glassloom.array.selecting import diagonal, trace

__all__ = [
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
    "eigh",
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
