"""Reductions by their names, or as functions of NumPy's and Python's for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.dataframe.options import refused


def reduction_name(func: Any) -> str:
    """Return the name of a reduction that is given by name or as NumPy's function.

    Raises
    ------
    NotImplementedError
        If it is the name of no reduction.
    """
    if not is_reduction(func):
        raise refused(
            "agg", "func", func, f"it takes {', '.join(_REDUCTIONS)}, and functions of yours that get a lazy series"
        )
    return _name_of(func)


def is_reduction(func: Any) -> bool:
    """Whether something is a reduction's name, or NumPy's or Python's function for it."""
    name = _name_of(func)
    if name not in _REDUCTIONS:
        return False
    return isinstance(func, str) or getattr(np, name, None) is func or func in (sum, min, max, all, any)


def _name_of(func: Any) -> str:
    name = func if isinstance(func, str) else getattr(func, "__name__", repr(func))
    return str({"amin": "min", "amax": "max"}.get(name, name))


_REDUCTIONS = (
    "sum", "mean", "min", "max", "count", "prod", "var", "std", "sem", "median", "nunique", "any", "all", "skew", "kurt",
    "idxmin", "idxmax", "size",
)  # fmt: skip
