"""Arrays that are read when their blocks are needed: of Zarr, h5py, and anything with a shape, a dtype and slicing.

They are asked for slices with rising bounds only. What else is wanted of these (one element, steps, falling order) is
taken of what was read, unless less is read by asking for the steps.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np

from glassloom.array.sources.data_set import is_on_disk, reopened
from glassloom.array.sources.source import Region, Selector, Source, lengths, slice_of
from glassloom.array.sources.versions import file_version, folder_version, named_version, unknown_version
from glassloom.array.sources.zarr_store import folder_of, is_zarr, layout_of, metadata_of, with_absolute_path
from glassloom.backends.arrays import compact
from glassloom.backends.sharing import read_only_view
from glassloom.backends.standard_ import wrapped
from glassloom.graph import tokenize

_PAGE_BYTES = 4096
"""Of what lies on disk in one piece, all of a page is read if anything of it is."""
_READERS = ("glassloom", "h5py", "zarr")
"""Packages whose arrays return memory that no other code refers to."""


class StoredSource(Source):
    """Something with ``shape``, ``dtype`` and slicing, of which nothing is in memory.

    Its elements are those that it has when they are read. Pickled as the object that it is; data sets
    of h5py as the names of their files.

    Parameters
    ----------
    array
        The object; `unit` is its ``chunks``, if it has any.
    version
        What stands for its content. By default that of its files; what isn't a file and doesn't say is equal to nothing.
    asarray
        Whether blocks are made NumPy arrays, rather than left as what slicing returns, such as masked arrays.
    lock
        A context manager in which blocks are read; None: several threads read at the same time.
    """

    def __init__(self, array: Any, version: str | None = None, *, asarray: bool = True, lock: Any = None) -> None:
        self.array = with_absolute_path(array) if is_zarr(array) else array
        self.shape, self.dtype = tuple(array.shape), array.dtype
        self._layout = layout_of(self.array) if is_zarr(array) else None
        self.version = named_version(version or version_of(array), array)
        self._lock = lock
        self._kept = None if asarray else self._sample()
        """Of blocks that aren't made NumPy arrays, one without elements."""
        if self._kept is not None:
            self.version = tokenize("as sliced", self.version)
        self.unit = unit_of(array) or (1,) * len(self.shape)

    def __getstate__(self) -> dict[str, Any]:
        is_open = type(self.array).__module__.partition(".")[0] == "h5py"
        return {**self.__dict__, "array": reopened(self.array)} if is_open else self.__dict__

    @property
    def meta(self) -> Any:
        return super().meta if self._kept is None else self._kept

    def _sample(self) -> Any:
        with self._lock or nullcontext():
            return wrapped(self.array[(slice(0, 0),) * len(self.shape)])

    def region(self, region: Region) -> Any:
        shape = lengths(region)
        if 0 in shape:
            return self._empty(shape)
        if self._layout is not None:
            self._layout.check(self.array)
        pairs = [self._asked(axis, selector) for axis, selector in enumerate(region)]
        with self._lock or nullcontext():
            block = self.array[tuple(asked for asked, _ in pairs)]
        block = np.asarray(block) if self._kept is None else wrapped(block)
        if type(self.array).__module__.partition(".")[0] not in _READERS:
            block = read_only_view(block)  # it may be what the object itself holds
        taken = tuple(taken for _, taken in pairs)
        if all(each == slice(None) for each in taken):
            return block
        return compact(block[(*taken, ...)])

    def _empty(self, shape: tuple[int, ...]) -> Any:
        if self._kept is None:
            return np.empty(shape, self.dtype)
        with self._lock or nullcontext():
            return wrapped(self.array[tuple(slice(0, length) for length in shape)])

    def _asked(self, axis: int, selector: Selector) -> tuple[slice, int | slice]:
        """Return what to ask for along an axis, and what to take of the answer."""
        if not isinstance(selector, range):
            return slice(selector, selector + 1), 0
        rising = selector if selector.step > 0 else selector[::-1]
        order = slice(None) if selector.step > 0 else slice(None, None, -1)
        if rising.step == 1 or self._skips(axis, rising.step):
            return _slice_rising(rising), order
        inside = range(0, rising[-1] - rising[0] + 1, rising.step)
        return slice(rising[0], rising[-1] + 1), slice_of(inside if selector.step > 0 else inside[::-1])

    def _skips(self, axis: int, step: int) -> bool:
        """Whether reading every `step`th position reads less, or at least returns quickly."""
        unit = self.unit[axis]
        if unit > 1 and step >= unit:
            return True
        behind = zip(self.unit[axis + 1 :], self.shape[axis + 1 :], strict=True)
        n_together = math.prod(unit if unit > 1 else length for unit, length in behind)
        return step * n_together * np.dtype(self.dtype).itemsize > _PAGE_BYTES


def _slice_rising(selector: range) -> slice:
    step = None if selector.step == 1 else selector.step
    return slice(selector[0], selector[-1] + 1, step)


def unit_of(array: Any, attribute: str = "chunks") -> tuple[int, ...] | None:
    """Return the lengths of an array's chunks; None if it has none, or unequal ones."""
    found = getattr(array, attribute, None)
    if not isinstance(found, tuple) or len(found) != len(array.shape):
        return None
    if not all(isinstance(length, (int, np.integer)) and length > 0 for length in found):
        return None
    return tuple(map(int, found))


def version_of(array: Any) -> str:
    """Return what identifies the content of a stored array."""
    own = type(array)
    if hasattr(own, "__glassloom_tokenize__") or hasattr(own, "__dask_tokenize__"):
        return tokenize(array)
    if is_zarr(array):
        return _version_of_zarr(array)
    if own.__module__.partition(".")[0] == "h5py":
        return _version_of_h5py(array)
    return unknown_version()


def _version_of_zarr(array: Any) -> str:
    """Return the version of a Zarr array: of a folder's files; other stores don't say when they were written to."""
    folder = folder_of(array)
    if folder is None:
        return unknown_version()
    return tokenize("zarr", folder_version(folder), metadata_of(array))  # there may be one of each format in a folder


def _version_of_h5py(data: Any) -> str:
    return f"hdf5:{file_version(data.file.filename)}:{data.name}" if is_on_disk(data) else unknown_version()
