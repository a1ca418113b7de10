"""Chunks that are NumPy arrays, and the tokens of NumPy's own types."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from glassloom.backends.sharing import register_read_only_view
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.graph import normalize_token, pickled

_SAMPLED_ITEMS = 100


def namespace() -> Any:
    """Return the module that creates chunks."""
    return np


def generator(sequence: np.random.SeedSequence) -> Any:
    """Return a random generator of a stream of its own."""
    return np.random.Generator(np.random.PCG64(sequence))


@register_sizeof(np.ndarray)
def _sizeof_array(value: np.ndarray) -> int:
    """Return the bytes in memory: repeated elements (of broadcast arrays) once, Python objects by a sample."""
    nbytes = value.nbytes
    if 0 in value.strides and nbytes:
        nbytes = value.itemsize
        for length, stride in zip(value.shape, value.strides, strict=True):
            nbytes *= length if stride else 1
    if value.dtype.hasobject and value.dtype.kind == "O" and value.size:
        sample = value.ravel()[:: max(1, value.size // _SAMPLED_ITEMS)]
        nbytes += sum(map(sizeof, sample)) * value.size // len(sample)
    return nbytes


@register_sizeof(np.ma.MaskedArray)
def _sizeof_masked(value: np.ma.MaskedArray) -> int:
    return _sizeof_array(value.data) + int(np.ma.getmask(value).nbytes)


@register_read_only_view(np.ndarray)
def _share_array(value: np.ndarray) -> np.ndarray:
    if not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


@register_read_only_view(np.ma.MaskedArray)
def _share_masked(value: np.ma.MaskedArray) -> np.ma.MaskedArray:
    return np.ma.MaskedArray(
        _share_array(value.data), _share_array(np.ma.getmaskarray(value)), fill_value=value.fill_value
    )


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
