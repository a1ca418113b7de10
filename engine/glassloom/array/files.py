"""Arrays written and read: NPY stacks, Zarr, anything that can be assigned to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray
from glassloom.array.chunks import is_known, starts
from glassloom.array.creation import from_array
from glassloom.array.nodes.base import ArrayExpr, describe, normalize_axis
from glassloom.array.nodes.mapping import map_blocks
from glassloom.array.protocol import implements
from glassloom.collection import compute
from glassloom.errors import ChunkError, OptionError, ReadError

__all__ = [
    "from_npy_stack",
    "from_zarr",
    "store",
    "to_npy_stack",
    "to_zarr",
]

_INFO = "info.json"


@implements("store")
def store(sources: Any, targets: Any, *, regions: Any = None, scheduler: Any = None) -> None:
    """Write arrays into targets, block by block: NumPy arrays, Zarr arrays, HDF5 data sets, memory maps...

    Parameters
    ----------
    sources, targets
        An array and what takes ``target[slices] = block``, or lists of them. Into NumPy arrays, which are in this
        process alone, its threads write whatever the client; so they must for other targets that can't be pickled,
        by ``scheduler="threads"``. Blocks that share a chunk of a target may be written at the same time.
    regions
        Where in each target, as a tuple of slices of step 1; the whole by default.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> out = np.zeros(4)
    >>> ga.store(ga.arange(4, chunks=2), out)
    >>> out
    array([0., 1., 2., 3.])
    """
    arrays = [asarray(each) for each in sources] if isinstance(sources, (list, tuple)) else [asarray(sources)]
    sinks = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    places = list(regions) if isinstance(regions, list) else [regions] * len(arrays)
    if not len(arrays) == len(sinks) == len(places):
        raise ValueError(f"store: {len(arrays)} arrays, {len(sinks)} targets and {len(places)} regions")
    if scheduler is None and any(type(sink) is np.ndarray for sink in sinks):
        scheduler = "threads"
    writes = [_write(array, Sink(sink, place)) for array, sink, place in zip(arrays, sinks, places, strict=True)]
    compute(*writes, scheduler=scheduler)


class Sink:
    """Where blocks are written, and in which part of it."""

    def __init__(self, target: Any, region: Any) -> None:
        self.target = target
        self.offsets = None if region is None else tuple(_begin(entry) for entry in region)

    def put(self, block: Any, begins: tuple[int, ...]) -> None:
        """Write a block whose place in the array begins there."""
        offsets = self.offsets or (0,) * block.ndim
        place = tuple(slice(o + b, o + b + n) for o, b, n in zip(offsets, begins, block.shape, strict=True))
        self.target[place] = block


def _begin(entry: Any) -> int:
    if not isinstance(entry, slice) or entry.step not in (None, 1):
        raise OptionError(f"region entry {entry!r} is not a slice of step 1")
    return int(entry.start or 0)


class WriteBlock:
    """Writes a block and returns an element for it."""

    def __init__(self, sink: Any, begins: list[list[int]]) -> None:
        self.sink, self.begins = sink, begins

    __name__ = "store"

    def __call__(self, block: Any, block_id: tuple[int, ...]) -> Any:
        place = tuple(axis[number] for axis, number in zip(self.begins, block_id, strict=True))
        self.sink.put(block, place)
        return np.ones((1,) * block.ndim, dtype=bool)


def _write(array: Array, sink: Any) -> Array:
    node: ArrayExpr = array.expr
    if not all(map(is_known, node.chunks)):
        raise ChunkError(f"an array of {describe(node)} can't be written; call compute_chunk_sizes() first")
    if isinstance(node.meta, np.ma.MaskedArray):
        raise TypeError("files and targets hold no masks; write ga.ma.filled(x, value), and the mask apart")
    call = WriteBlock(sink, [starts(blocks) for blocks in node.chunks])
    ones = (1,) * node.ndim
    return Array(map_blocks(call, (node,), {}, dtype=bool, chunks=ones, wants_block_id=True))


@implements("to_npy_stack")
def to_npy_stack(folder: str | Path, x: Any, axis: int = 0) -> None:
    """Write an array as a folder of NPY files, one for each block along an axis.

    Parameters
    ----------
    folder
        A folder that is made; a stack that is there already is replaced.
    axis
        The axis of the blocks; the others become one block.

    Examples
    --------
    >>> import tempfile
    >>> import glassloom.array as ga
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ga.to_npy_stack(folder + "/x", ga.arange(6, chunks=3))
    ...     ga.from_npy_stack(folder + "/x").compute()
    array([0, 1, 2, 3, 4, 5])
    """
    whole = asarray(x)
    place = normalize_axis(axis, whole.ndim)
    blocks = tuple(length for length in whole.chunks[place] if length) or (0,)
    whole = whole.rechunk({other: blocks if other == place else -1 for other in range(whole.ndim)})
    root = Path(folder)
    if root.exists():
        if not (root / _INFO).exists():
            raise OptionError(f"folder={str(folder)!r} is there and isn't a stack of NPY files")
        shutil.rmtree(root)
    root.mkdir(parents=True)
    compute(_write(whole, Stack(root, place, starts(whole.chunks[place]))))
    info = {"chunks": whole.chunks, "dtype": np.lib.format.dtype_to_descr(whole.dtype), "axis": place}
    (root / _INFO).write_text(json.dumps(info))


class Stack:
    """A folder of NPY files, numbered along an axis."""

    def __init__(self, root: Path, axis: int, begins: list[int]) -> None:
        self.root, self.axis, self.begins = root, axis, begins

    def put(self, block: Any, begins: tuple[int, ...]) -> None:
        """Write a block to the file of its number."""
        np.save(self.root / f"{self.begins.index(begins[self.axis])}.npy", block)


def from_npy_stack(folder: str | Path, mmap_mode: Any = "r") -> Array:
    """Return the array that `to_npy_stack` has written, read block by block.

    Parameters
    ----------
    mmap_mode
        How files are mapped, as for `numpy.load`; None reads them whole.

    Raises
    ------
    ReadError
        If the folder isn't such a stack.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.from_npy_stack("nowhere")
    Traceback (most recent call last):
        ...
    glassloom.errors.ReadError: 'nowhere' isn't a stack of NPY files: [Errno 2] No such file or directory: 'nowhere/info.json'
    """
    root = Path(folder)
    try:
        info = json.loads((root / _INFO).read_text())
    except (OSError, ValueError) as error:
        raise ReadError(f"{str(folder)!r} isn't a stack of NPY files: {error}") from error
    chunks = tuple(tuple(blocks) for blocks in info["chunks"])
    descr = info["dtype"]
    dtype = np.lib.format.descr_to_dtype([tuple(each) for each in descr] if isinstance(descr, list) else descr)
    source = NpyStack(root, info["axis"], chunks, dtype, mmap_mode)
    token = ":".join([str(root.resolve()), *(str(path.stat().st_mtime_ns) for path in sorted(root.glob("*.npy")))])
    return from_array(source, chunks=chunks, name=f"npy-stack:{token}")


class NpyStack:
    """A folder of NPY files as one thing that can be sliced along its axis, a block at a time or across blocks."""

    def __init__(self, root: Path, axis: int, chunks: Any, dtype: Any, mmap_mode: Any) -> None:
        self.root, self.axis, self.chunks, self.dtype, self.mmap_mode = root, axis, chunks, dtype, mmap_mode
        self.shape = tuple(sum(blocks) for blocks in chunks)

    def __getitem__(self, place: tuple[slice, ...]) -> Any:
        begin, end, _ = place[self.axis].indices(self.shape[self.axis])
        begins = starts(self.chunks[self.axis])
        parts = []
        for number, (start, length) in enumerate(zip(begins, self.chunks[self.axis], strict=True)):
            low, high = max(begin - start, 0), min(end - start, length)
            if low < high:
                inside = (*place[: self.axis], slice(low, high), *place[self.axis + 1 :])
                file = np.load(self.root / f"{number}.npy", self.mmap_mode)
                parts.append(file[inside])
        if not parts:
            return np.empty(tuple(len(range(n)[s]) for n, s in zip(self.shape, place, strict=True)), self.dtype)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=self.axis)


@implements("to_zarr")
def to_zarr(x: Any, url: Any, *, component: str | None = None, overwrite: bool = False, **options: Any) -> None:
    """Write an array as a Zarr array whose chunks are its largest blocks. Needs the package ``zarr``.

    Parameters
    ----------
    url
        A path or URL, or a Zarr array to write into.
    component
        The name of the array in a group.
    overwrite
        Whether an array that is there may be replaced.
    options
        Passed on to ``zarr.create_array``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.to_zarr(ga.ones((4, 4), chunks=2), "x.zarr")  # doctest: +SKIP
    """
    whole = asarray(x)
    if hasattr(url, "shape"):
        return store(_whole_chunks(whole, url.chunks), url)
    zarr = _zarr()
    regular = whole.rechunk(tuple(max(max(blocks), 1) for blocks in whole.chunks))
    target = zarr.create_array(
        store=url, name=component, shape=whole.shape, dtype=whole.dtype, overwrite=overwrite,
        chunks=tuple(blocks[0] or 1 for blocks in regular.chunks), **options,
    )  # fmt: skip
    return store(regular, target)


def _whole_chunks(whole: Array, chunks: tuple[int, ...]) -> Array:
    """Return the array in blocks that end where chunks do, so that no two tasks write into one chunk."""
    if all(end % size == 0 for blocks, size in zip(whole.chunks, chunks, strict=True) for end in starts(blocks)):
        return whole
    return whole.rechunk(
        tuple(-(-max(1, *blocks) // size) * size for blocks, size in zip(whole.chunks, chunks, strict=True))
    )


def from_zarr(url: Any, *, component: str | None = None, chunks: Any = None, **options: Any) -> Array:
    """Return a Zarr array, read block by block. Needs the package ``zarr``.

    Parameters
    ----------
    url
        A path or URL, or a Zarr array.
    component
        The name of the array in a group.
    chunks
        As for `from_array`; by default the chunks of the Zarr array.
    options
        Passed on to ``zarr.open_array``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.from_zarr("x.zarr").chunks  # doctest: +SKIP
    ((2, 2), (2, 2))
    """
    source = url if hasattr(url, "shape") else _zarr().open_array(store=url, path=component, mode="r", **options)
    return from_array(source, chunks=tuple(source.chunks) if chunks is None else chunks)


def _zarr() -> Any:
    try:
        import zarr  # optional: only these functions need it
    except ImportError:
        raise ImportError("to_zarr and from_zarr need the package zarr: pip install zarr") from None
    return zarr
