"""`Sink`: the target that blocks are written to, and which parts of it one task must write alone. Doesn't depend on nodes.

`Replacement` is a folder that is written beside its place, and takes the place of what is there when it is complete.
"""

from __future__ import annotations

import math
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.array.sources.data_set import identity_of_data_set
from glassloom.array.sources.locks import TemporaryLock
from glassloom.array.sources.mapped import MappedPlace, MappedSource, mapped_place
from glassloom.array.sources.memory import MemorySource
from glassloom.array.sources.source import Source
from glassloom.array.sources.stored import StoredSource, unit_of
from glassloom.array.sources.zarr_store import identity_of_zarr, is_everywhere, is_node, is_zarr, with_absolute_path
from glassloom.errors import OptionError, ReadError
from glassloom.graph import random_token


class Replacement:
    """A folder beside its place: what is in the place stays until `finish`, also if that fails.

    Parameters
    ----------
    place
        An absolute path without symbolic links.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.token = random_token()
        self.folder = place.parent / f".{place.name}-{self.token}.partial"

    def finish(self) -> None:
        """Put the folder into its place, and remove what was there.

        If the process ends in between, one of both is in the place, or the old one is beside it, its name ending in
        ``.replaced``.
        """
        if not self.place.exists():
            self.folder.rename(self.place)
            return
        old = self.folder.with_suffix(".replaced")
        self.place.rename(old)
        try:
            self.folder.rename(self.place)
        except OSError:
            old.rename(self.place)
            raise
        shutil.rmtree(old)

    def discard(self) -> None:
        """Remove what was written, unless it is in its place: renamed first, so that late tasks find no folder."""
        if self.folder.exists():
            removed = self.folder.with_suffix(".discarded")
            self.folder.rename(removed)
            shutil.rmtree(removed, ignore_errors=True)


class ZarrReplacement:
    """A Zarr array in the folder of a `Replacement`, as a target of `store`.

    Zarr makes folders that aren't there. What a task writes after the replacement was discarded is removed again.
    """

    is_everywhere = True

    def __init__(self, array: Any, folder: Path) -> None:
        self.array, self.folder = array, folder
        self.shape, self.chunks, self.shards = array.shape, array.chunks, array.shards

    def __setitem__(self, place: Any, block: Any) -> None:
        self.array[place] = block
        if not is_node(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)


MARK = "glassloom_incomplete"
"""An attribute of arrays in files that are being written: they have it for good if that ends too early."""


class Sink:
    """A part of a target: what takes ``target[slices] = block``.

    Parameters
    ----------
    region
        A slice of step 1 for each axis; None for the whole.
    shape
        The shape of what is written, which must be that of the region.
    lock
        What is held while a block is written: a `TemporaryLock`, a context manager of the user's, or None.

    Raises
    ------
    OptionError
        If the shapes differ, or the region is no tuple of slices of step 1.
    ValueError
        If the target is a read-only array.
    """

    def __init__(self, target: Any, region: Any, shape: tuple[int, ...], lock: Any = None) -> None:
        if isinstance(target, np.ndarray) and not target.flags.writeable:
            raise ValueError(f"store: the target, an array of shape {target.shape}, is read-only")
        place = mapped_place(target) if isinstance(target, np.ndarray) else None
        if place is not None:
            self.target: Any = MappedTarget(target, place)
        else:
            self.target = with_absolute_path(target) if is_zarr(target) else target
        self.begins = _begins(region, shape, getattr(target, "shape", None))
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


def _begins(region: Any, shape: tuple[int, ...], of_target: Any) -> tuple[int, ...]:
    """Return where a region begins, having checked that an array of a shape fits it."""
    if region is None:
        if of_target is not None and tuple(of_target) != shape:
            raise OptionError(f"store: an array of shape {shape} doesn't fit a target of shape {tuple(of_target)}")
        return (0,) * len(shape)
    if not isinstance(region, tuple) or len(region) != len(shape):
        raise OptionError(f"store: region {region!r} is not a tuple of {len(shape)} slices, one for each axis")
    if of_target is not None and len(of_target) != len(shape):
        raise OptionError(f"store: a region of {len(shape)} axes is no part of a target of shape {tuple(of_target)}")
    lengths = (None,) * len(shape) if of_target is None else tuple(of_target)
    spans = [_span(entry, there, ours) for entry, there, ours in zip(region, lengths, shape, strict=True)]
    found = tuple(map(len, spans))
    if found != shape:
        raise OptionError(f"store: an array of shape {shape} doesn't fit region {region!r}, which has shape {found}")
    return tuple(span.start for span in spans)


def _span(entry: Any, of_target: int | None, of_array: int) -> range:
    if not isinstance(entry, slice) or entry.step not in (None, 1):
        raise OptionError(f"store: region entry {entry!r} is not a slice of step 1")
    if of_target is not None:
        start, stop, _ = entry.indices(of_target)
        return range(start, max(start, stop))
    start = int(entry.start or 0)
    stop = start + of_array if entry.stop is None else int(entry.stop)
    if start < 0 or stop < 0:
        raise OptionError(f"store: region entry {entry!r} counts from the end of a target that has no shape")
    return range(start, max(start, stop))


def writing_unit(target: Any) -> tuple[int, ...] | None:
    """Return the lengths of the units that a target writes: shards, or else chunks; None if it doesn't say."""
    return unit_of(target, "shards") or unit_of(target)


def identity_of(target: Any) -> Any:
    """Return what is equal for two objects that write to one array."""
    if is_zarr(target):
        return identity_of_zarr(target)
    if _is_h5py(target):
        return identity_of_data_set(target.file.filename, target.name)
    return getattr(target, "identity", None) or id(target)


def may_change(source: Source, target: Any) -> bool:
    """Whether what is written to a target may change what a source gives, for the kinds of both that say where they are."""
    if not isinstance(target, np.ndarray):
        return isinstance(source, StoredSource) and identity_of(source.array) == identity_of(target)
    place = mapped_place(target)
    if isinstance(source, MappedSource):
        return place is not None and source.place.inode == place.inode
    if not isinstance(source, MemorySource) or not isinstance(source.array, np.ndarray):
        return False
    return np.may_share_memory(source.array, target)


def is_of_this_process(target: Any) -> bool:
    """Whether what other processes write to a target would be lost, or can't be sent to them."""
    if isinstance(target, np.ndarray):
        return mapped_place(target) is None
    if is_zarr(target):
        return type(target.store).__module__.startswith("zarr.") and not is_everywhere(target)
    return _is_h5py(target)


def is_known_everywhere(target: Any) -> bool:
    """Whether other processes are known to write to what this one sees: other classes may keep it in their memory."""
    if isinstance(target, np.ndarray):
        return mapped_place(target) is not None
    if is_zarr(target):
        return is_everywhere(target)
    return hasattr(type(target), "is_everywhere")


def _is_h5py(target: Any) -> bool:
    return type(target).__module__.partition(".")[0] == "h5py"


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
