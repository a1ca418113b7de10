"""SciPy's sparse arrays and matrices: their sizes, tokens, and how they are shared. Loaded only once one turns up."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy import sparse

from glassloom.backends.sharing import read_only_view, register_read_only_view
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.graph import normalize_token

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


_FOUND_OUT_LATER = frozenset(["_has_canonical_format", "_has_sorted_indices", "maxprint"])
"""What a matrix notes of itself as it is used."""


def _normalize_sparse(value: Any) -> Any:
    return {name: part for name, part in sorted(vars(value).items()) if name not in _FOUND_OUT_LATER}


for _format in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
    for _kind in ("array", "matrix"):
        normalize_token(getattr(sparse, f"{_format}_{_kind}"))(_normalize_sparse)
