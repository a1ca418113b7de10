"""Arrays in memory. Writeable arrays are copied when they are passed, so that later changes have no effect."""

from __future__ import annotations

import copy as copying
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.sources.source import Region, Source, slice_of, whole
from glassloom.backends.arrays import backend_of, meta_namespace
from glassloom.backends.sharing import read_only_view
from glassloom.backends.standard_ import StandardChunk
from glassloom.graph import tokenize

_UNCHANGING = {
    bool, int, float, complex, str, bytes, type(None), Decimal, Fraction, date, datetime, time, timedelta,
    np.bool_, np.int64, np.float64, np.str_,
}  # fmt: skip
"""Types of elements that arrays share with their copies."""


class MemorySource(Source):
    """An array in memory: of NumPy, CuPy or a library of the array API standard.

    Parameters
    ----------
    array
        The array.
    version
        What stands for its content; by default a hash, about 1 second per GB.
    copy
        Whether later changes must not show. None: copy what may be written to. False: take the array as it is, which
        nobody may change then.
    """

    in_memory = True

    def __init__(self, array: Any, version: str | None = None, *, copy: bool | None = None) -> None:
        self.array = read_only_view(owned(array, copy))
        self.owned = copy is not False or not is_writeable(array)
        self.shape, self.dtype = tuple(array.shape), array.dtype
        self.unit = (1,) * len(self.shape)
        self._version = version

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        return self._version or (overlapping_version(self.array) if overlaps(self.array) else tokenize(self.array))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self.array, self.version))

    @property
    def meta(self) -> Any:
        if isinstance(self.array, np.ma.MaskedArray):
            return np.ma.ones((0,) * len(self.shape), dtype=self.dtype)
        return meta_namespace(backend_of(self.array)).ones((0,) * len(self.shape), dtype=self.dtype)

    def region(self, region: Region) -> Any:
        return self.array[(*map(slice_of, region), ...)]

    def narrowed(self, region: Region) -> Source:
        if region == whole(self.shape):
            return self
        return MemorySource(self.region(region), tokenize(self.version, region), copy=False)


def _restored(array: Any, version: str) -> MemorySource:
    return MemorySource(array, version, copy=False)  # nothing else refers to what was unpickled


def is_array(value: Any) -> bool:
    """Whether a value is an array in memory, whose slices are views."""
    is_numpy_like = hasattr(value, "__array_function__") and hasattr(value, "strides")
    return is_numpy_like or isinstance(value, StandardChunk)


def owned(array: Any, copy: bool | None = None) -> Any:
    """Return an array that no other code will write to: a copy, if it could.

    Parameters
    ----------
    copy
        None: if it may be written to. True: in any case. False: never.
    """
    if copy is False or (copy is None and not is_writeable(array)):
        return array
    if isinstance(array, np.ndarray) and array.dtype.hasobject:
        return _with_own_objects(array)
    if not isinstance(array, np.ndarray):
        return array.copy()
    repeated = tuple(slice(0, 1) if not stride else slice(None) for stride in array.strides)
    if type(array) is np.ndarray and 0 in array.strides and array.size:
        return np.broadcast_to(_copied(array[repeated]), array.shape)  # not what is repeated
    return _copied(array)


def _with_own_objects(array: np.ndarray) -> np.ndarray:
    """Return a copy whose elements are copies too, if they may change; what can't be copied (a lock) stays what it is."""
    if array.dtype.kind == "O" and all(type(each) in _UNCHANGING for each in np.ma.getdata(array).flat):
        return array.copy(order="K")
    if isinstance(array.dtype, np.dtypes.StringDType):
        return array.copy(order="K")
    try:
        return copying.deepcopy(array)
    except Exception:  # what users' classes raise
        return array.copy(order="K")


def _copied(array: np.ndarray) -> np.ndarray:
    """Return a copy; for views that repeat elements, such as sliding windows, a view of a copy of their base."""
    if not overlaps(array):
        return array.copy(order="K")
    begin, memory = _span(array)
    return np.ndarray(array.shape, array.dtype, memory.copy(), begin, array.strides)


def overlaps(array: Any) -> bool:
    """Whether a plain array has more elements than the memory that it lies in."""
    if type(array) is not np.ndarray or array.dtype.hasobject or not array.size:
        return False
    return _bounds(array)[1] < array.nbytes


def overlapping_version(array: np.ndarray) -> str:
    """Return the hash of an array that overlaps itself: of the memory, not of each element as often as it occurs."""
    begin, memory = _span(array)
    return tokenize("overlapping", begin, memory, array.shape, array.strides, array.dtype)


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """Return where in the memory that an array lies in its first element begins, and how many bytes that has."""
    reaches = [stride * (length - 1) for stride, length in zip(array.strides, array.shape, strict=True)]
    before = -sum(reach for reach in reaches if reach < 0)
    return before, before + sum(reach for reach in reaches if reach > 0) + array.itemsize


class _Memory:
    """Bytes at an address, as NumPy's array interface says it."""

    def __init__(self, array: np.ndarray, address: int, n_bytes: int) -> None:
        self._array = array  # kept alive
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (n_bytes,), "data": (address, True)}


def _span(array: np.ndarray) -> tuple[int, np.ndarray]:
    begin, n_bytes = _bounds(array)
    address = array.__array_interface__["data"][0] - begin
    return begin, np.asarray(_Memory(array, address, n_bytes))


def is_writeable(array: Any) -> bool:
    """Whether an array can be written to, through itself or through its base.

    A read-only view of an array that can be written to may change any time. An array that owns its memory and is
    read-only was frozen by its owner, who is trusted not to write to it through a view that was made before.
    """
    if isinstance(array, np.ma.MaskedArray):
        return is_writeable(array.data) or is_writeable(np.ma.getmask(array))
    if not isinstance(array, np.ndarray):
        return isinstance(array, StandardChunk) or hasattr(array, "__array_function__")
    base: Any = array
    while isinstance(base, np.ndarray) or isinstance(getattr(base, "base", None), np.ndarray):  # or as `as_strided` has
        if isinstance(base, np.ndarray) and base.flags.writeable:
            return True
        base = base.base
    return not (base is None or isinstance(base, bytes) or _is_read_only(base))


def _is_read_only(buffer: Any) -> bool:
    try:
        return memoryview(buffer).readonly
    except TypeError:  # an object of another library: it made the array read-only, and keeps its memory alive
        return True


def frozen(value: Any) -> Any:
    """Return an argument of a call as it is now: lists and dicts, and writeable arrays in them, are copied."""
    kind = type(value)
    if kind in (list, tuple):
        return kind([frozen(item) for item in value])
    if kind is dict:
        return {name: frozen(item) for name, item in value.items()}
    return owned(value) if isinstance(value, np.ndarray) else value
