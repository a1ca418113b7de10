"""SciPy's sparse arrays and matrices: their sizes, and how they are shared. Loaded only once one turns up."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy import sparse

from glassloom.backends.sharing import read_only_view, register_read_only_view
from glassloom.backends.sizeof import register_sizeof, sizeof

_OBJECT_BYTES = 100


@register_sizeof(sparse.sparray)
@register_sizeof(sparse.spmatrix)
def _sizeof_sparse(value: Any) -> int:
    """Add up what its format keeps: arrays (CSR, CSC, COO, BSR, DIA, LIL) or a dict (DOK)."""
    return _OBJECT_BYTES + sum(
        sizeof(part) for part in vars(value).values() if isinstance(part, (np.ndarray, dict, tuple))
    )


@register_read_only_view(sparse.sparray)
@register_read_only_view(sparse.spmatrix)
def _share_sparse(value: Any) -> Any:
    """Return a matrix of the same arrays, read-only. SciPy can't read LIL's arrays of lists then: they stay as they are."""
    handed = copy.copy(value)
    for name, part in vars(value).items():
        if isinstance(part, np.ndarray) and not part.dtype.hasobject:
            setattr(handed, name, read_only_view(part))
    return handed
