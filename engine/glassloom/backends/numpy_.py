"""Chunks that are NumPy arrays, and the tokens of NumPy's own types."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from glassloom.graph import normalize_token, pickled


def namespace() -> Any:
    """Return the module that creates chunks."""
    return np


def generator(sequence: np.random.SeedSequence) -> Any:
    """Return a random generator of a stream of its own."""
    return np.random.Generator(np.random.PCG64(sequence))


@normalize_token(np.ufunc)
def _normalize_ufunc(value: Any) -> Any:
    name: str = value.__name__
    return name if getattr(np, name, None) is value else pickled(value)


@normalize_token(np.dtype)
def _normalize_dtype(value: Any) -> Any:
    return (value.str, repr(value))


@normalize_token(np.generic)
def _normalize_scalar(value: Any) -> Any:
    return (value.dtype, value.tobytes()) if not value.dtype.hasobject else pickle.dumps(value, protocol=5)


@normalize_token(np.ndarray)
def _normalize_array(value: Any) -> Any:
    if value.dtype.hasobject:
        return (value.shape, value.dtype, pickled(value.tolist()))
    plain = np.ascontiguousarray(value)
    mask = np.ma.getmaskarray(value) if isinstance(value, np.ma.MaskedArray) else None
    return (value.shape, value.dtype, plain.view(np.uint8).data if plain.size else b"", mask)
