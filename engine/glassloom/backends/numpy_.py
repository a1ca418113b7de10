"""Chunks that are NumPy arrays, and the tokens of NumPy's own types."""

from __future__ import annotations

import pickle
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from glassloom.backends.sharing import register_read_only_view
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.graph import extend_token, normalize_token, random_token

BIT_GENERATOR = np.random.SFC64
"""What draws the random bits of blocks unless something else is asked for: `docs/decisions/0030-bit-generators.md`."""

_SAMPLED_ITEMS = 100


def namespace() -> Any:
    """Return the module that creates chunks."""
    return np


def generator(sequence: np.random.SeedSequence) -> Any:
    """Return a random generator of a stream of its own."""
    return np.random.Generator(BIT_GENERATOR(sequence))


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


# Tokens: by content, not by how an array is laid out in memory.

_PLAIN_KINDS = frozenset("biufcSUVmM")
_NUMBERS = frozenset("biufcmM")
_LONG_DOUBLE_BYTES = 10 if np.finfo(np.longdouble).nmant == 63 else np.dtype(np.longdouble).itemsize
"""What of an extended number counts; the rest is padding, which may hold anything."""

_VOLATILE_MASK_STATE = frozenset(["_basedict", "_fill_value", "_isfield", "_mask", "_sharedmask"])


@normalize_token(np.ufunc, is_simple=True)
def _normalize_ufunc(value: Any) -> Any:
    name: str = value.__name__
    if getattr(np, name, None) is value:
        return name
    module = _module_of_ufunc(value)
    is_there = module != "__main__" and getattr(sys.modules.get(module), name, None) is value
    return (module if is_there else random_token(), name)


@lru_cache(256)
def _module_of_ufunc(value: Any) -> str:
    """Return where pickles look for a function of another package; one that was made of a Python function isn't there."""
    return pickle.whichmodule(value, value.__name__)  # type: ignore[attr-defined]


def _normalize_dtype(value: Any) -> Any:
    if value.kind in _NUMBERS and value.metadata is None:
        return value.str
    metadata = None if value.metadata is None else dict(value.metadata)
    return (value.type, repr(value), metadata, value.__reduce__()[1:2] if value.kind == "T" else None, _fields(value))


def _fields(dtype: np.dtype[Any]) -> Any:
    """Return what a dtype is made of, as its text leaves the metadata of its parts out."""
    if dtype.subdtype is not None:
        return dtype.subdtype
    return None if dtype.fields is None else dict(dtype.fields)


_kinds: set[Any] = {*np.sctypeDict.values(), "T"}
for _dtype_class in {type(np.dtype(kind)) for kind in _kinds}:
    normalize_token(_dtype_class, is_simple=True)(_normalize_dtype)


def _normalize_scalar(value: Any) -> Any:
    if value.dtype.kind in _NUMBERS and value.dtype.itemsize <= 16 and not isinstance(value, np.longdouble):
        return (value.dtype.str, value.tobytes())
    return np.asarray(value)


for _scalar_class in {*np.sctypeDict.values(), np.void, np.record}:
    normalize_token(_scalar_class, is_simple=True)(_normalize_scalar)


@normalize_token(np.memmap)
@normalize_token(np.ndarray)
def _normalize_array(value: Any) -> Any:
    dtype = value.dtype
    return (value.shape, dtype.str if dtype.kind in _NUMBERS else dtype, dtype.metadata, _content(np.asarray(value)))


def _content(array: np.ndarray) -> Any:
    """Return the elements in C order: bytes where they say all, else the objects or fields."""
    dtype = array.dtype
    if dtype.names is not None:  # there may be padding between fields
        return [_content(array[name]) for name in dtype.names]
    if dtype.hasobject or dtype.kind not in _PLAIN_KINDS:
        return array.ravel().tolist()
    if not array.nbytes:
        return b""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if dtype.type in (np.longdouble, np.clongdouble):
        data = np.ascontiguousarray(data.reshape(-1, np.dtype(np.longdouble).itemsize)[:, :_LONG_DOUBLE_BYTES])
    return data.data


@normalize_token(np.ma.MaskedArray)
def _normalize_masked(value: Any) -> Any:
    mask = np.ma.getmaskarray(value)
    return (value.data, mask, np.asarray(value.fill_value), value.hardmask)


@extend_token(np.generic)
@extend_token(np.ndarray)
def _state_of_subclass(value: Any) -> Any:
    """Return a value's own attributes, which NumPy leaves out of pickles."""
    return {
        name: attribute
        for name, attribute in getattr(value, "__dict__", {}).items()
        if not isinstance(value, np.ma.MaskedArray) or name not in _VOLATILE_MASK_STATE
    }
