"""`Sink`: where blocks are written to, and what must be written by one task alone. It knows no node."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.array.sources.locks import TemporaryLock
from glassloom.array.sources.mapped import MappedPlace, mapped_place
from glassloom.array.sources.stored import unit_of
from glassloom.errors import OptionError, ReadError
from glassloom.graph import random_token

MARK = "glassloom_incomplete"
"""An attribute of arrays in files that are being written: they have it for good if that ends too early."""


class Sink:
    """A part of a target: what takes ``target[slices] = block``.

    Parameters
    ----------
    region
        A slice of step 1 for each axis; None for the whole.
    lock
        What is held while a block is written: a `TemporaryLock`, a context manager of the user's, or None.
    """

    def __init__(self, target: Any, region: Any, ndim: int, lock: Any = None) -> None:
        place = mapped_place(target) if isinstance(target, np.ndarray) else None
        self.target = target if place is None else MappedTarget(target, place)
        self.begins = (0,) * ndim if region is None else tuple(map(_begin, region))
        self.lock = lock
        self._token = random_token()

    def __glassloom_tokenize__(self) -> str:
        return self._token  # what is written twice is written twice, whatever the targets hold

    def put(self, block: Any, begins: tuple[int, ...]) -> None:
        """Write a block whose place in the array begins there."""
        place = tuple(slice(o + b, o + b + n) for o, b, n in zip(self.begins, begins, block.shape, strict=True))
        with self.lock.held() if isinstance(self.lock, TemporaryLock) else self.lock or nullcontext():
            self.target[place] = block


class MappedTarget:
    """A memory map that other processes map themselves."""

    def __init__(self, array: np.ndarray, place: MappedPlace) -> None:
        self._array, self._place = array, place

    def __reduce__(self) -> tuple[Any, ...]:
        array = self._array
        return (_reopened, (self._place, array.shape, array.strides, array.dtype))

    def __setitem__(self, place: Any, block: Any) -> None:
        self._array[place] = block


def _reopened(place: MappedPlace, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> MappedTarget:
    return MappedTarget(place.view(shape, strides, dtype, mode="r+"), place)


def _begin(entry: Any) -> int:
    if not isinstance(entry, slice) or entry.step not in (None, 1):
        raise OptionError(f"region entry {entry!r} is not a slice of step 1")
    return int(entry.start or 0)


def writing_unit(target: Any) -> tuple[int, ...] | None:
    """Return the lengths of what a target writes as a whole: of shards, or else of chunks; None if it doesn't say."""
    return unit_of(target, "shards") or unit_of(target)


def identity_of(target: Any) -> Any:
    """Return what is equal for two objects that write to one array."""
    path = getattr(target, "store_path", None)  # of Zarr
    return id(target) if path is None else str(path)


def is_of_this_process(target: Any) -> bool:
    """Whether what other processes write to a target would be lost, or can't be sent to them."""
    if isinstance(target, np.ndarray):
        return mapped_place(target) is None
    if type(target).__module__.partition(".")[0] == "h5py":
        return True
    return "Memory" in type(getattr(target, "store", None)).__name__


def aligned(chunks: Chunks, unit: tuple[int, ...], begins: tuple[int, ...]) -> Chunks:
    """Return blocks that end where units of the target do, so that no two tasks write to one; the same if they do.

    >>> aligned(((3, 3, 3),), (2,), (1,)), aligned(((2, 4),), (2,), (0,))
    (((3, 4, 2),), ((2, 4),))
    """
    return tuple(map(_aligned_axis, chunks, unit, begins))


def _aligned_axis(blocks: tuple[int, ...], unit: int, begin: int) -> tuple[int, ...]:
    if all((begin + start) % unit == 0 for start in starts(blocks)[1:]) or not sum(blocks):
        return blocks
    length = math.ceil(max(blocks) / unit) * unit
    end = begin + sum(blocks)
    cuts = [begin, *range(begin // unit * unit + length, end, length), end]
    return tuple(after - before for before, after in zip(cuts, cuts[1:], strict=False))


def check_complete(attributes: Any, what: str) -> None:
    """Raise `ReadError` if an array in a file was not written to its end."""
    if attributes.get(MARK):
        raise ReadError(
            f"{what} was not written to its end: the process that wrote it has stopped, or is still writing. "
            f"Write it again, or remove its attribute {MARK!r} to read what is there"
        )
