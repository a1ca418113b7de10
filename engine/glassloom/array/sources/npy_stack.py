"""Folders of NPY files, one for each block along an axis."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.array.sources.source import Region, Source, lengths, slice_of
from glassloom.array.sources.versions import folder_version
from glassloom.errors import OptionError, ReadError
from glassloom.graph import random_token

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
            info = json.loads((root / _INFO).read_text())
        except (OSError, ValueError) as error:
            raise ReadError(f"{str(root)!r} isn't a stack of NPY files: {error}") from error
        self.root, self.mmap_mode = root, mmap_mode
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
        file = np.load(self.root / f"{number}.npy", self.mmap_mode)
        return file[tuple(slice_of(inside if axis == self.axis else each) for axis, each in enumerate(region))]


class NpyStackWriter:
    """Writes a stack beside its place. It comes to its place when it is complete: before that, what was there stays.

    Raises
    ------
    OptionError
        If there is something else in the place.
    """

    def __init__(self, root: Path, axis: int, chunks: Chunks, dtype: Any) -> None:
        if root.exists() and not (root / _INFO).exists():
            raise OptionError(f"folder={str(root)!r} is there and isn't a stack of NPY files")
        self.root, self.axis, self.begins = root, axis, starts(chunks[axis])
        self._info = {"chunks": chunks, "dtype": np.lib.format.dtype_to_descr(dtype), "axis": axis}
        root.parent.mkdir(parents=True, exist_ok=True)
        self._token = random_token()
        self.folder = root.parent / f".{root.name}-{self._token}.partial"
        self.folder.mkdir()

    def __glassloom_tokenize__(self) -> str:
        return self._token

    def put(self, block: Any, begins: tuple[int, ...]) -> None:
        """Write a block to the file of its number."""
        np.save(self.folder / f"{self.begins.index(begins[self.axis])}.npy", block)

    def finish(self) -> None:
        """Put the stack into its place."""
        (self.folder / _INFO).write_text(json.dumps(self._info))
        if self.root.exists():
            shutil.rmtree(self.root)
        self.folder.rename(self.root)

    def discard(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self.folder, ignore_errors=True)
