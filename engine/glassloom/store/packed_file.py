"""Packed files: many small pickled results in one file, for results that the head has no more memory for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

import msgspec

from glassloom.errors import DataLost
from glassloom.store.mapping import open_own_file


class Packed(msgspec.Struct, frozen=True, array_like=True, tag="packed"):
    """Where a small pickled result lies: a part of a file."""

    path: str
    start: int
    nbytes: int


def write_packed(path: str, pickles: Sequence[bytes]) -> list[Packed]:
    """Write pickles to a new file, and return where each is.

    Raises
    ------
    OSError
        If there is no room. Nothing is left of the file then.
    """
    data = memoryview(b"".join(pickles))
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            written = 0
            while written < data.nbytes:  # a nearly full disk may take a part of it before it refuses the rest
                written += os.write(descriptor, data[written:])
        finally:
            os.close(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    places, start = [], 0
    for pickle in pickles:
        places.append(Packed(path, start, len(pickle)))
        start += len(pickle)
    return places


def read_packed(place: Packed) -> bytes:
    """Return a pickle. It is read, not mapped: a process can map some 65,000 files at once, and there may be more results.

    Raises
    ------
    DataLost
        If the file is gone, damaged, or another user's.
    """
    descriptor = open_own_file(place.path)
    try:
        data = os.pread(descriptor, place.nbytes, place.start)
    except OSError as error:
        raise DataLost(f"the file of a result can't be read: {place.path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(data) != place.nbytes:
        raise DataLost(f"the file of a result is damaged: {place.path}")
    return data
