"""Spilled results that are too small for a file each: many in one file. Where each lies is known in memory only.

A file goes when nothing in it is wanted any more. If little of it is wanted, the store copies that to another file.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from glassloom.errors import DataLost
from glassloom.store.mapping import open_own_file
from glassloom.store.pickling import loads_result
from glassloom.store.spill_file import compress, decompress, write_all

SPARSE = 0.25
"""Share of a file below which what is still wanted of it is worth copying."""


class BatchFile:
    """One file and how much of it is still wanted. Not thread-safe: the store's lock guards it."""

    __slots__ = ("live_bytes", "n_live", "path", "size")

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        self.live_bytes = 0
        self.n_live = 0

    @property
    def is_sparse(self) -> bool:
        """Whether little of it is still wanted."""
        return 0 < self.live_bytes < SPARSE * self.size


@dataclass(frozen=True, slots=True, eq=False)
class BatchCopy:
    """A result in a batch file.

    Attributes
    ----------
    offset, stored
        Where its bytes begin, and how many they are in the file.
    nbytes
        How many they are when they aren't compressed.
    checksum
        Of the bytes in the file.
    """

    file: BatchFile
    offset: int
    stored: int
    nbytes: int
    checksum: int
    codec: str | None

    def read(self) -> Any:
        """Return the value.

        Raises
        ------
        DataLost
            If the file is gone or damaged.
        SerialisationError
            If the value can't be unpickled.
        """
        data = self.read_stored()
        return loads_result(data if self.stored == self.nbytes else decompress(data, self.nbytes, self.codec))

    def read_stored(self) -> memoryview:
        """Return the bytes as they are in the file; raise DataLost if it is gone or damaged."""
        try:
            descriptor = open_own_file(self.file.path)
            try:
                data = os.pread(descriptor, self.stored, self.offset)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise DataLost(f"a spilled result can't be read from {self.file.path}: {error}") from error
        if len(data) != self.stored or zlib.crc32(data) != self.checksum:
            raise DataLost(f"a spilled result can't be read from {self.file.path}: it has changed since it was written")
        return memoryview(data)

    def release(self) -> str | None:
        """The result isn't wanted any more. Return the file's path if it can be removed."""
        self.file.n_live -= 1
        self.file.live_bytes -= self.stored
        return None if self.file.n_live else self.file.path


def write_batch(path: str, pickles: Sequence[bytes], codec: str | None) -> list[BatchCopy]:
    """Write pickled results to a new file; return where each lies.

    Raises
    ------
    OSError
        If the file can't be written. The caller removes what is left of it.
    """
    compressed = [compress(memoryview(data), codec) for data in pickles]
    sizes = [(len(data), codec) for data in pickles]
    return _write(path, compressed, sizes)


def copy_batch(path: str, copies: Sequence[BatchCopy]) -> list[BatchCopy]:
    """Copy results of other batch files to a new one; return where each lies there.

    Raises
    ------
    DataLost
        If one of the files is gone or damaged.
    OSError
        If the file can't be written. The caller removes what is left of it.
    """
    return _write(path, [copy.read_stored() for copy in copies], [(copy.nbytes, copy.codec) for copy in copies])


def _write(path: str, parts: Sequence[memoryview], sizes: Sequence[tuple[int, str | None]]) -> list[BatchCopy]:
    file = BatchFile(path)
    copies = []
    for part, (nbytes, codec) in zip(parts, sizes, strict=True):
        copies.append(BatchCopy(file, file.size, part.nbytes, nbytes, zlib.crc32(part), codec))
        file.size += part.nbytes
    file.n_live, file.live_bytes = len(copies), file.size
    with open(path, "xb", buffering=0) as stream:
        write_all(stream, memoryview(b"".join(parts)))
    return copies
