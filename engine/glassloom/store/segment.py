"""Segments: one value in one file of shared memory, mapped read-only by whoever reads it. Written once, never changed.

If shared memory is full the file goes to the cluster's directory on disk, where it can be mapped just the same.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from glassloom.errors import DataLost, StoreFull
from glassloom.store.mapping import map_file
from glassloom.store.packed_file import Packed, read_packed
from glassloom.store.pickling import dump_buffers, dumps, loads_result
from glassloom.store.shared_memory import SHARED_MEMORY_DIR

_ALIGNMENT = 64
_INLINE_BYTES = 32 * 1024


class Segment(msgspec.Struct, frozen=True, array_like=True, tag="segment"):
    """Where a value lies: the file, and the lengths of the pickle and of each buffer in it (aligned to 64 bytes)."""

    path: str
    nbytes: int
    lengths: list[int]


Location = bytes | Segment | Packed
"""How every process of the cluster can reach a result: its pickle, the segment that holds it, or a part of a packed file."""


class SegmentWriter:
    """Writes segments for one process.

    Parameters
    ----------
    prefix
        How the names of the cluster's segments begin.
    directory
        The cluster's directory, used when shared memory is full.
    writer
        What tells this process's files from those of the others.
    """

    def __init__(self, prefix: str, directory: str, writer: str) -> None:
        self._prefix = prefix
        self._directory = directory
        self._writer = writer
        self._numbers = itertools.count()

    def place(self, value: Any, *, on_disk: bool = False) -> Location:
        """Put `value` where every process can reach it: inline if it is small, else in a segment.

        Parameters
        ----------
        on_disk
            Whether the segment shall be on disk even if shared memory has room.

        Raises
        ------
        SerialisationError
            If it can't be pickled.
        StoreFull
            If neither shared memory nor the disk has room.
        """
        head, buffers = dump_buffers(value)
        if len(head) + sum(buffer.nbytes for buffer in buffers) <= _INLINE_BYTES:
            return dumps(value) if buffers else head
        return self._write([memoryview(head), *buffers], on_disk)

    def _write(self, parts: Sequence[memoryview], on_disk: bool) -> Segment:
        name = (
            f"{self._prefix}{self._writer}-{next(self._numbers)}-{secrets.token_hex(8)}"  # that nobody can take before
        )
        lengths = [part.nbytes for part in parts]
        nbytes = sum(map(_aligned, lengths))
        folders = [str(SHARED_MEMORY_DIR), self._directory]
        for folder in reversed(folders) if on_disk else folders:
            path = os.path.join(folder, name)
            try:
                _write_file(path, parts, nbytes)
            except OSError as error:  # full, or there is no shared memory here at all, as in some containers
                last = error
            else:
                return Segment(path, nbytes, lengths)
        raise StoreFull(
            f"no room for a result of {nbytes} bytes: {SHARED_MEMORY_DIR} and {self._directory} are full "
            f"({last.strerror}); free some, or start the cluster with another local_directory"
        ) from last


def read_location(location: Location) -> Any:
    """Return the value at `location`. Arrays in a segment are read-only views of the mapped file.

    Raises
    ------
    DataLost
        If the segment is gone.
    SerialisationError
        If the value can't be unpickled.
    """
    return loads_result(*load_parts(location))


def load_parts(location: Location) -> tuple[bytes | memoryview, list[memoryview]]:
    """Return the pickle and the buffers of the value at `location`, mapped or read: what `loads_result` takes.

    Raises
    ------
    DataLost
        If the segment is gone.
    """
    if isinstance(location, bytes):
        return location, []
    if isinstance(location, Packed):
        return read_packed(location), []
    mapped = map_file(location.path)
    if mapped.nbytes < location.nbytes:
        raise DataLost(
            f"the file of a result is damaged: {location.path} has {mapped.nbytes} of {location.nbytes} bytes"
        )
    parts, start = [], 0
    for length in location.lengths:
        parts.append(mapped[start : start + length])
        start += _aligned(length)
    return parts[0], parts[1:]


def free_location(location: Location) -> None:
    """Remove a segment's file. Processes that have it mapped keep what they see until they let go of it."""
    if isinstance(location, Segment):
        with contextlib.suppress(OSError):
            os.unlink(location.path)


def is_in_shared_memory(location: Location) -> bool:
    """Tell whether a location takes shared memory."""
    return isinstance(location, Segment) and location.path.startswith(f"{SHARED_MEMORY_DIR}{os.sep}")


def location_bytes(location: Location) -> int:
    """Return how much shared memory a location takes."""
    return location.nbytes if isinstance(location, Segment) else 0


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT


def _write_file(path: str, parts: Sequence[memoryview], nbytes: int) -> None:
    """Write a new file; nothing is left of it if that fails.

    With `write`, not through a mapping: a full file system is then an error here, not a SIGBUS later.
    """
    try:
        # An object owns the descriptor from its first moment on, also if an interrupt comes right after.
        with open(path, "xb", buffering=0, opener=partial(os.open, mode=0o600)) as file:
            for part in parts:
                _write_all(file.fileno(), part.cast("B") if part.nbytes else part)
                _write_all(file.fileno(), memoryview(bytes(_aligned(part.nbytes) - part.nbytes)))
            if os.fstat(file.fileno()).st_size != nbytes:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except FileExistsError:
        raise  # it is another's
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


def _write_all(descriptor: int, data: memoryview) -> None:
    """Write it all: a nearly full disk may take a part of it before it refuses the rest."""
    written = 0
    while written < data.nbytes:
        written += os.write(descriptor, data[written:])
