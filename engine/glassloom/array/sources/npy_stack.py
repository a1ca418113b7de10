"""Folders of NPY files, one for each block along an axis."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.array.sources.sink import Replacement
from glassloom.array.sources.source import Region, Source, lengths, slice_of
from glassloom.array.sources.versions import folder_version, stamp_of
from glassloom.errors import OptionError, ReadError

_INFO = "info.json"


class NpyStack(Source):
    """A folder of NPY files that is read file by file.

    Raises
    ------
    ReadError
        If the folder isn't such a stack.
    """

    def __init__(self, root: Path, mmap_mode: Any) -> None:
        try:
            info = _read_info(root)
        except (OSError, ValueError) as error:
            raise ReadError(f"{str(root)!r} isn't a stack of NPY files: {error}") from error
        self.root, self.mmap_mode = Path(os.path.realpath(root)), mmap_mode
        self._stamp = stamp_of(self.root / _INFO)
        self.axis = info["axis"]
        self.chunks: Chunks = tuple(tuple(blocks) for blocks in info["chunks"])
        self.shape = tuple(sum(blocks) for blocks in self.chunks)
        descr = info["dtype"]
        self.dtype = np.lib.format.descr_to_dtype([tuple(each) for each in descr] if isinstance(descr, list) else descr)
        self.unit = tuple(max(*blocks, 1) if mmap_mode is None else 1 for blocks in self.chunks)
        self.version = f"npy-stack:{folder_version(root)}"

    def region(self, region: Region) -> Any:
        shape = lengths(region)
        if 0 in shape:
            return np.empty(shape, self.dtype)
        selector = region[self.axis]
        if not isinstance(selector, range):
            return self._part(region, selector)
        rising = selector if selector.step > 0 else selector[::-1]
        parts = []
        for start, length in zip(starts(self.chunks[self.axis]), self.chunks[self.axis], strict=True):
            first = rising.start + max(0, -(-(start - rising.start) // rising.step)) * rising.step
            own = range(first, min(start + length, rising.stop), rising.step)
            if own:
                parts.append(self._part(region, own))
        axis = sum(isinstance(each, range) for each in region[: self.axis])
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)
        return joined if selector.step > 0 else joined[(*(slice(None),) * axis, slice(None, None, -1))]

    def _part(self, region: Region, own: int | range) -> Any:
        """Return what lies in one file: at positions along the axis, of the whole array."""
        begins = starts(self.chunks[self.axis])
        first = own if isinstance(own, int) else own[0]
        number = max(n for n, begin in enumerate(begins) if begin <= first and self.chunks[self.axis][n])
        begin = begins[number]
        inside = own - begin if isinstance(own, int) else range(own.start - begin, own.stop - begin, own.step)
        try:
            file = np.load(self.root / f"{number}.npy", self.mmap_mode)
            is_same = stamp_of(self.root / _INFO) == self._stamp
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise ReadError(
                f"the stack of NPY files in {str(self.root)!r} was replaced or removed; call from_npy_stack again"
            )
        if self.mmap_mode == "r+":
            file.flags.writeable = False  # tasks must not write to the file
        return file[tuple(slice_of(inside if axis == self.axis else each) for axis, each in enumerate(region))]


class NpyStackWriter:
    """Writes a stack beside its place. It comes to its place when it is complete: before that, what was there stays.

    Raises
    ------
    OptionError
        If there is something else in the place.
    TypeError
        If the elements are Python objects.
    """

    def __init__(self, root: Path, axis: int, chunks: Chunks, dtype: Any) -> None:
        if dtype.hasobject:
            raise TypeError(
                f"to_npy_stack can't write dtype={dtype}: Python objects can't be read from NPY files safely"
            )
        self._replacement = Replacement(Path(os.path.realpath(root)))
        self.folder = self._replacement.folder
        self._check_place()
        self.axis, self.begins = axis, starts(chunks[axis])
        self._info = {"chunks": chunks, "dtype": np.lib.format.dtype_to_descr(dtype), "axis": axis}
        self.folder.mkdir(parents=True)

    def __glassloom_tokenize__(self) -> str:
        return self._replacement.token

    def put(self, block: Any, begins: tuple[int, ...]) -> None:
        """Write a block to the file of its number."""
        np.save(self.folder / f"{self.begins.index(begins[self.axis])}.npy", block)

    def finish(self) -> None:
        """Put the stack into its place."""
        (self.folder / _INFO).write_text(json.dumps(self._info))
        self._check_place()
        self._replacement.finish()

    def discard(self) -> None:
        """Remove what was written."""
        self._replacement.discard()

    def _check_place(self) -> None:
        place = self._replacement.place
        if not os.path.lexists(place) or (place.is_dir() and not any(place.iterdir())):
            return
        try:
            _check_no_other_files(place, _read_info(place))
        except (OSError, ValueError) as error:
            raise OptionError(
                f"folder={str(place)!r} is there and isn't a stack of NPY files, so it is not replaced: {error}"
            ) from error


def _read_info(root: Path) -> dict[str, Any]:
    """Return what the file of a stack says about it: raise OSError or ValueError if there is none."""
    info = json.loads((root / _INFO).read_text())
    is_stack = isinstance(info, dict) and set(info) == {"chunks", "dtype", "axis"}
    if not is_stack or not isinstance(info["chunks"], list) or info["axis"] not in range(len(info["chunks"])):
        raise ValueError(f"{_INFO} is not a stack's")
    return info


def _check_no_other_files(root: Path, info: dict[str, Any]) -> None:
    allowed = {_INFO, *(f"{number}.npy" for number in range(len(info["chunks"][info["axis"]])))}
    others = sorted(entry.name for entry in os.scandir(root) if entry.name not in allowed or not entry.is_file())
    if others:
        raise ValueError(f"it holds {others[0]!r}, which is not a stack's")
