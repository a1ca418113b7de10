"""NumPy's memory maps of files: never hashed, never copied, and sent to other processes as the file's name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from glassloom.array.sources.source import Region, Source, slice_of
from glassloom.array.sources.versions import file_version, unknown_version
from glassloom.errors import ReadError
from glassloom.graph import tokenize


class MappedSource(Source):
    """A memory map of a file, or a view of one. A map that can be written to is equal to nothing: its content may change at any time.

    So is one whose file this process maps for writing, too. What other processes write through maps doesn't always change
    the time of the file (never that of a file in memory, tmpfs): give such a map a `version`, or copy it.

    Its elements are those that the file has when they are read.
    """

    def __init__(self, array: np.ndarray, place: MappedPlace, version: str | None = None) -> None:
        view = array.view(np.ndarray)
        view.flags.writeable = False
        self.array, self.place = view, place
        self.shape, self.dtype = view.shape, view.dtype
        self.unit = (1,) * view.ndim
        self.version = version or place.version(view)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopened, (self.place, self.shape, self.array.strides, self.dtype, self.version))

    @property
    def views_are_free(self) -> bool:
        return True

    def region(self, region: Region) -> Any:
        return self.array[(*map(slice_of, region), ...)]


class MappedPlace:
    """Where in a file an array begins, and which file that was."""

    def __init__(self, path: str, offset: int, first: int, length: int, inode: int, is_constant: bool) -> None:
        self.path, self.inode, self.is_constant = path, inode, is_constant
        self.offset = offset
        self.first = first
        """The first byte of the map, `offset` being that of the first element, which may be the last of its axis."""
        self.length = length

    def version(self, array: np.ndarray) -> str:
        """Return what stands for the content of an array that begins here."""
        if not self.is_constant or _is_mapped_for_writing(self.inode):
            return unknown_version()
        return tokenize(file_version(self.path), self.offset, array.shape, array.strides, array.dtype)

    def view(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, mode: Any = "r") -> np.ndarray:
        """Map the file and return the array that begins here.

        Raises
        ------
        ReadError
            If it is another file by now, or is shorter.
        """
        found = os.stat(self.path)
        if found.st_ino != self.inode or found.st_size < self.first + self.length:
            raise ReadError(f"{self.path!r} was replaced or cut since it was mapped; map it again")
        if not self.length:
            return np.empty(shape, dtype)
        data = np.memmap(self.path, np.uint8, mode, self.first, (self.length,))
        return np.ndarray(shape, dtype, data, self.offset - self.first, strides)


def _reopened(
    place: MappedPlace, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, version: str
) -> MappedSource:
    return MappedSource(place.view(shape, strides, dtype), place, version)


def unmapped(block: Any) -> Any:
    """Return a block that doesn't change with a file: a copy, if it is a view of a map.

    >>> unmapped(3), unmapped(np.ones(2))
    (3, array([1., 1.]))
    """
    base = block
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return np.array(block, subok=False)
        base = base.base
    return block


def mapped_place(array: Any) -> MappedPlace | None:
    """Return where in a file an array lies; None if it is no map of a file, or one whose changes aren't the file's."""
    root = array
    while isinstance(root, np.ndarray) and isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.mode == "c" or root.filename is None or array.dtype.hasobject:
        return None
    path = Path(os.path.realpath(root.filename))
    address, begin = array.__array_interface__["data"][0], root.__array_interface__["data"][0]
    if not path.exists() or (inode := os.stat(path).st_ino) != _mapped_inode(begin, inode):
        return None  # another file has the name by now
    return MappedPlace(
        str(path), root.offset + address - begin, root.offset, root.nbytes, inode, is_constant=root.mode == "r"
    )


def _is_mapped_for_writing(inode: int) -> bool:
    """Whether this process may write to a file through a map; False where the system doesn't say."""
    return any(int(line.split(None, 5)[4]) == inode for line in _maps() if " rw-s " in line)


def _maps() -> list[str]:
    try:
        return Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []


def _mapped_inode(address: int, default: int) -> int:
    """Return the number of the file that is mapped at an address; `default` where the system doesn't say."""
    for line in _maps():
        begin, _, end = line.partition(" ")[0].partition("-")
        if int(begin, 16) <= address < int(end, 16):
            return int(line.split()[4])
    return default
