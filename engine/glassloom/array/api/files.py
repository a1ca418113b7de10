"""Arrays written and read: NPY stacks, Zarr, HDF5, anything that can be assigned to."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.creation import from_array
from glassloom.array.api.dispatch import implements
from glassloom.array.chunks import is_known, starts
from glassloom.array.ops.base import ArrayExpr, describe, normalize_axis
from glassloom.array.ops.creation import FromArray
from glassloom.array.ops.elementwise import Elementwise
from glassloom.array.ops.mapping import map_blocks
from glassloom.array.sources.data_set import h5py_for
from glassloom.array.sources.hdf5_file import DataSetTarget, data_set, finish_data_sets, make_data_sets
from glassloom.array.sources.locks import TemporaryLock
from glassloom.array.sources.npy_stack import NpyStack, NpyStackWriter
from glassloom.array.sources.sink import (
    MARK,
    Replacement,
    Sink,
    ZarrReplacement,
    aligned,
    check_complete,
    identity_of,
    is_known_everywhere,
    is_of_this_process,
    may_change,
    writing_unit,
)
from glassloom.array.sources.stored import StoredSource
from glassloom.array.sources.zarr_store import folder_at, is_node, is_zarr
from glassloom.backends.arrays import to_numpy
from glassloom.collection import compute, persist
from glassloom.errors import ChunkError, OptionError
from glassloom.expr import walk
from glassloom.graph import random_token
from glassloom.local.default import Runtime, choose_runtime

__all__ = [
    "from_hdf5",
    "from_npy_stack",
    "from_zarr",
    "load",
    "save",
    "savez",
    "savez_compressed",
    "store",
    "to_hdf5",
    "to_npy_stack",
    "to_zarr",
]


def store(sources: Any, targets: Any, *, regions: Any = None, lock: Any = True, scheduler: Any = None) -> None:
    """Write arrays into targets, block by block: NumPy arrays, Zarr arrays, HDF5 data sets, memory maps...

    Two tasks never write to one chunk (or shard) of a target that has ``chunks`` (or ``shards``): the array gets blocks
    that end where they do. Other targets are written by one task at a time, of whatever thread or process.

    Parameters
    ----------
    sources, targets
        An array and what takes ``target[slices] = block``, or lists of them. Workers of a client write to what is known
        to be in files or on a server: memory maps, and Zarr arrays in folders and object stores. All else (NumPy
        arrays, open HDF5 files, Zarr arrays in memory and ZIP files, objects of other classes) is written by this
        process's threads.
    regions
        Where in each target, as a tuple of slices of step 1, which have the array's shape; the whole by default.
    scheduler
        As for `Array.compute`. ``scheduler=client`` lets workers write to objects of other classes, too.
    lock
        Whether one task at a time writes to a target that doesn't say what it writes as a whole, or to which several
        arrays are written. False: tasks write at the same time. Otherwise the lock to use, as a context manager.

    Notes
    -----
    An array that is read from one of the targets is computed before anything is written, by this process's threads, and
    held in memory meanwhile; one block after the other is changed if each needs its own place alone, as in
    ``store(x + 1, target)``. Which arrays these are is known of memory maps, Zarr, HDF5 and NumPy, not of what objects
    of other classes refer to.

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
    for array in arrays:
        _check_writable(array.expr)
    read = _nodes_that_read(sinks, arrays)
    runtime = _runtime_that_reaches(sinks, lock, scheduler, is_read=bool(read))
    arrays = _apart_from(sinks, arrays, read)
    with ExitStack() as stack:
        locks = _locks(sinks, lock, stack)
        writes = []
        for array, target, place, held in zip(arrays, sinks, places, locks, strict=True):
            sink = Sink(target, place, array.shape, held)
            writes.append(_write(_in_units(array, sink, writing_unit(target)), sink))
        compute(*writes, scheduler=runtime)


def _nodes_that_read(targets: list[Any], arrays: list[Array]) -> list[FromArray]:
    """Return what arrays are read from that changes as targets are written to."""
    nodes = [node for node in walk([array.expr for array in arrays]) if isinstance(node, FromArray)]
    return [node for node in nodes if any(may_change(node.source, target) for target in targets)]


def _apart_from(targets: list[Any], arrays: list[Array], read: list[FromArray]) -> list[Array]:
    """Return the arrays, computed if blocks could be written before others have read what was there."""
    if not read or (len(arrays) == 1 and _is_in_place(arrays[0], read, targets[0])):
        return arrays
    return list(persist(*(array.map_blocks(np.copy, dtype=array.dtype) for array in arrays), scheduler="threads"))


def _is_in_place(array: Array, read: list[FromArray], target: Any) -> bool:
    """Whether each block is made of nothing that is written but the part of the target which it will have itself."""
    unit = writing_unit(target)
    is_cut_alike = unit is None or aligned(array.chunks, unit, (0,) * array.ndim) == array.chunks
    return (
        is_cut_alike
        and all(isinstance(node, (Elementwise, FromArray)) for node in walk([array.expr]))
        and all(
            node.source.shape == getattr(target, "shape", None) and node.region == tuple(map(range, node.source.shape))
            for node in read
        )
        and all(node.chunks == array.chunks for node in read)
        and not isinstance(target, np.ndarray)
    )


def _runtime_that_reaches(targets: list[Any], lock: Any, scheduler: Any, is_read: bool) -> Runtime:
    """Return a runtime whose tasks write to the files of this process: another process's only if it is known to share them.

    A runtime that is named is believed to reach targets of other classes. What is read from the targets themselves is
    written by threads: tasks of others are run again if a worker dies, and would read what they had written.
    """
    runtime = choose_runtime(scheduler)
    if runtime.shares_memory:
        return runtime
    if scheduler is None:
        is_reached = not is_read and all(map(is_known_everywhere, targets)) and _is_lock_of_all(lock)
        return runtime if is_reached else choose_runtime("threads")
    if type(lock).__module__ in ("_thread", "threading"):
        raise OptionError(
            f"store: lock={lock!r} holds threads of this process alone; use lock=True or a glassloom.Lock, or leave "
            "scheduler= out"
        )
    if is_read:
        raise OptionError(
            f"store: an array is read from a target that it is written to. Tasks of {runtime!r} that were lost with their "
            "worker would be run again, and read what they had written; leave scheduler= out, use scheduler='threads', "
            "or write elsewhere"
        )
    here = next((target for target in targets if is_of_this_process(target)), None)
    if here is not None:
        raise OptionError(
            f"store: {type(here).__name__} of shape {here.shape} is in this process alone, so that tasks of others "
            "can't write to it; leave scheduler= out, or use scheduler='threads'"
        )
    return runtime


def _is_lock_of_all(lock: Any) -> bool:
    """Whether a lock is known to hold tasks of all processes: Python's own, or a copy of another, might hold one's alone."""
    return isinstance(lock, bool) or type(lock).__module__.startswith("glassloom.")


def _locks(targets: list[Any], lock: Any, stack: ExitStack) -> list[Any]:
    """Return a lock for each target that needs one; those of one target are one."""
    if not isinstance(lock, bool):
        return [lock] * len(targets)
    names = [identity_of(target) for target in targets]
    found: dict[Any, Any] = {}
    for target, name in zip(targets, names, strict=True):
        is_shared = names.count(name) > 1 if not isinstance(target, np.ndarray) else False
        needs = lock and (is_shared or writing_unit(target) is None and not isinstance(target, np.ndarray))
        if name not in found:
            found[name] = stack.enter_context(TemporaryLock()) if needs else None
    return [found[name] for name in names]


def _in_units(array: Array, sink: Sink, unit: tuple[int, ...] | None) -> Array:
    if unit is None:
        return array
    return array.rechunk(aligned(array.chunks, unit, sink.begins))


class WriteBlock:
    """Writes a block, and returns an element for it."""

    def __init__(self, sink: Sink | NpyStackWriter, begins: list[list[int]]) -> None:
        self.sink, self.begins = sink, begins

    __name__ = "store"

    def __call__(self, block: Any, block_id: tuple[int, ...]) -> Any:
        place = tuple(axis[number] for axis, number in zip(self.begins, block_id, strict=True))
        self.sink.put(block, place)
        return np.ones((1,) * block.ndim, dtype=bool)


def _check_writable(node: ArrayExpr) -> None:
    if not all(map(is_known, node.chunks)):
        raise ChunkError(f"an array of {describe(node)} can't be written; call compute_chunk_sizes() first")
    if isinstance(node.meta, np.ma.MaskedArray):
        raise TypeError("files and targets hold no masks; write ga.ma.filled(x, value), and the mask apart")


def _write(array: Array, sink: Sink | NpyStackWriter) -> Array:
    node: ArrayExpr = array.expr
    call = WriteBlock(sink, [starts(blocks) for blocks in node.chunks])
    ones = (1,) * node.ndim
    return Array(map_blocks(call, (node,), {}, dtype=bool, chunks=ones, wants_block_id=True))


def to_npy_stack(folder: str | Path, x: Any, axis: int = 0) -> None:
    """Write an array as a folder of NPY files, one for each block along an axis.

    Parameters
    ----------
    folder
        A folder that is made. A stack that is there already is replaced when the new one is complete.
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
    _check_writable(whole.expr)
    place = normalize_axis(axis, whole.ndim)
    blocks = tuple(length for length in whole.chunks[place] if length) or (0,)
    whole = whole.rechunk({other: blocks if other == place else -1 for other in range(whole.ndim)})
    writer = NpyStackWriter(Path(folder), place, whole.chunks, whole.dtype)
    try:
        compute(_write(whole, writer))
        writer.finish()
    finally:
        writer.discard()


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
    source = NpyStack(Path(folder), mmap_mode)
    return from_array(source, chunks=source.chunks)


def to_zarr(x: Any, url: Any, *, component: str | None = None, overwrite: bool = False, **options: Any) -> None:
    """Write an array as a Zarr array whose chunks are its largest blocks. Needs the package ``zarr``.

    No two tasks write to one chunk or shard. An array that is made here has the attribute ``glassloom_incomplete``
    until all is written. If that ends too early, `from_zarr` refuses to read it; other programs see the attribute.

    Parameters
    ----------
    url
        A path or URL, or a Zarr array to write into, which is not marked.
    component
        The name of the array in a group.
    overwrite
        Whether an array that is there may be replaced.
    options
        Passed on to ``zarr.create_array``, such as ``chunks`` or ``shards``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.to_zarr(ga.ones((4, 4), chunks=2), "x.zarr")  # doctest: +SKIP
    """
    whole = asarray(x)
    _check_writable(whole.expr)
    if hasattr(url, "shape"):
        return store(whole, url)
    zarr = _zarr()
    options.setdefault("chunks", tuple(max(1, *blocks) for blocks in whole.chunks))
    attributes = dict(options.pop("attributes", None) or {})
    options |= {"shape": whole.shape, "dtype": whole.dtype, "attributes": {**attributes, MARK: True}}
    folder = folder_at(url, component) if overwrite else None
    if folder is not None and folder.exists():
        _replace_zarr(whole, folder, options)
        return None
    if overwrite:
        _check_not_read(whole, url, component)
    target = zarr.create_array(store=url, name=component, overwrite=overwrite, **options)
    store(whole, target)
    del target.attrs[MARK]
    return None


def _replace_zarr(whole: Array, folder: Path, options: dict[str, Any]) -> None:
    """Write an array beside one that is there, and put it into its place when it is complete."""
    if not is_node(folder) and any(folder.iterdir()):
        raise OptionError(f"{str(folder)!r} is there and is neither a Zarr array nor a group, so it is not overwritten")
    replacement = Replacement(folder)
    try:
        target = _zarr().create_array(store=str(replacement.folder), **options)
        store(whole, ZarrReplacement(target, replacement.folder))
        del target.attrs[MARK]
        replacement.finish()
    finally:
        replacement.discard()


def _check_not_read(whole: Array, url: Any, component: str | None) -> None:
    """Raise if writing would erase what the array is read from: for stores that aren't local files."""
    zarr = _zarr()
    try:
        there = zarr.open(store=url, path=component, mode="r")
    except FileNotFoundError:  # what zarr raises of nodes that aren't there
        return
    erased = identity_of(there)
    for node in walk([whole.expr]):
        source = node.source.array if isinstance(node, FromArray) and isinstance(node.source, StoredSource) else None
        if is_zarr(source) and f"{identity_of(source)}/".startswith(f"{erased.rstrip('/')}/"):
            raise OptionError(f"to_zarr: the array is read from {url!r}, which overwrite=True would erase first")


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

    Raises
    ------
    ReadError
        If `to_zarr` has not written it to its end.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.from_zarr("x.zarr").chunks  # doctest: +SKIP
    ((2, 2), (2, 2))
    """
    source = url if hasattr(url, "shape") else _zarr().open_array(store=url, path=component, mode="r", **options)
    check_complete(source.attrs, f"Zarr array {url!r}")
    return from_array(source, chunks=tuple(source.chunks) if chunks is None else chunks)


def _zarr() -> Any:
    try:
        import zarr  # optional: only these functions need it
    except ImportError:
        raise ImportError("to_zarr and from_zarr need the package zarr: pip install zarr") from None
    return zarr


def to_hdf5(filename: str | Path, *args: Any, scheduler: Any = None, **options: Any) -> None:
    """Write arrays into an HDF5 file, which is made if it isn't there. Needs the package ``h5py``.

    Data sets have the attribute ``glassloom_incomplete`` until all is written. If that ends too early, `from_hdf5`
    refuses to read them; other programs see the attribute.

    Parameters
    ----------
    args
        A name and an array, or a dict of arrays by name.
    scheduler
        As for `Array.compute`: threads and worker processes both write, one block at a time.
    options
        Passed on to ``File.require_dataset``, such as ``chunks`` or ``compression``.

    Examples
    --------
    >>> import tempfile
    >>> import glassloom.array as ga
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ga.to_hdf5(folder + "/x.h5", {"/a": ga.arange(4, chunks=2), "/b": ga.ones((2, 2))})
    ...     ga.from_hdf5(folder + "/x.h5", "/a").compute()
    array([0, 1, 2, 3])
    """
    h5py_for("to_hdf5")
    if len(args) not in (1, 2):
        raise TypeError(f"to_hdf5 takes a name and an array, or a dict of arrays by name, got {len(args)} arguments")
    named = dict(args[0]) if len(args) == 1 else {args[0]: args[1]}
    arrays = {name: asarray(array) for name, array in named.items()}
    path = str(Path(filename).resolve())
    make_data_sets(path, arrays, options)
    store(list(arrays.values()), [DataSetTarget(path, name) for name in arrays], scheduler=scheduler, lock=False)
    finish_data_sets(path, arrays)


def from_hdf5(filename: str | Path, datapath: str, *, chunks: Any = None) -> Array:
    """Return a data set of an HDF5 file as an array, read block by block. Needs the package ``h5py``.

    Parameters
    ----------
    datapath
        The name of the data set.
    chunks
        As for `from_array`; by default the data set's own, or ``"auto"`` if it has none.

    Raises
    ------
    ReadError
        If the file can't be read, or the data set was not written to its end.
    OptionError
        If it has no such data set.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.from_hdf5("nowhere.h5", "/x")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
        ...
    glassloom.errors.ReadError: ...
    """
    source = data_set(filename, datapath)
    return from_array(source, chunks=chunks if chunks is not None else source.array.chunks or "auto")


@implements(np.save)
def save(file: Any, arr: Any, *, scheduler: Any = None) -> None:
    """Write an array as an NPY file: blocks are written to their places as they are made.

    The file is written beside its place, and takes it when it is complete.

    Parameters
    ----------
    file
        A path, to which ``.npy`` is added if it has no such ending; or an open file, for which the whole array is computed.
    scheduler
        As for `Array.compute`.

    Examples
    --------
    >>> import os, tempfile
    >>> import glassloom.array as ga
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> ga.save(path, ga.arange(4, chunks=2))
    >>> ga.load(path).sum().compute()
    np.int64(6)
    """
    whole = asarray(arr)
    if hasattr(file, "write"):
        np.save(file, whole.compute(scheduler=scheduler), allow_pickle=False)
        return
    _check_plain(whole, "save")
    with _written_beside(file, ".npy") as path:
        if not whole.ndim or not whole.size:
            np.save(path, whole.compute(scheduler=scheduler))
            return
        target = np.lib.format.open_memmap(path, mode="w+", dtype=whole.dtype, shape=whole.shape)
        store(whole, target, scheduler=scheduler)
        target.flush()


@implements(np.savez)
def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write several arrays into one NPZ file, uncompressed: one block of rows is computed and written after the other.

    Arguments without names are ``arr_0``, ``arr_1`` and so on.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> file = io.BytesIO()
    >>> ga.savez(file, x=ga.arange(4, chunks=2))
    >>> np.load(io.BytesIO(file.getvalue()))["x"]
    array([0, 1, 2, 3])
    """
    _save_zip(file, args, kwds, zipfile.ZIP_STORED)


@implements(np.savez_compressed)
def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """Write several arrays into one compressed NPZ file; see `savez`.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> file = io.BytesIO()
    >>> ga.savez_compressed(file, ga.arange(4, chunks=2))
    >>> np.load(io.BytesIO(file.getvalue()))["arr_0"]
    array([0, 1, 2, 3])
    """
    _save_zip(file, args, kwds, zipfile.ZIP_DEFLATED)


def load(file: str | Path, *, chunks: Any = "auto") -> Array:
    """Return the array in an NPY file, which is mapped into memory: blocks are read when they are needed.

    Raises
    ------
    NotImplementedError
        If it is an NPZ file, which can't be mapped.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.load("x.npy", chunks=1000)  # doctest: +SKIP
    """
    if zipfile.is_zipfile(file):
        raise NotImplementedError(
            f"load of {str(file)!r}, an NPZ file: from_array(numpy.load(file)[name]) reads an array whole"
        )
    return from_array(np.load(file, mmap_mode="r"), chunks=chunks)


def _check_plain(whole: Array, what: str) -> None:
    if whole.dtype.hasobject:
        raise TypeError(f"{what} of an array of type {whole.dtype}, whose elements are Python objects")
    if not all(map(is_known, whole.chunks)):
        raise ChunkError(f"{what} of an array of {describe(whole.expr)}; call compute_chunk_sizes() first")


@contextmanager
def _written_beside(file: Any, ending: str) -> Iterator[Path]:
    """Yield a path beside the place of a file; what is written there takes the place, if nothing is raised."""
    name = os.fspath(file)
    place = Path(name if name.endswith(ending) else name + ending)
    path = place.with_name(f".{place.name}-{random_token()}{ending}")
    try:
        yield path
        os.replace(path, place)
    finally:
        path.unlink(missing_ok=True)


def _save_zip(file: Any, args: Any, kwds: dict[str, Any], compression: int) -> None:
    named = {f"arr_{number}": each for number, each in enumerate(args)}
    if twice := sorted(set(named) & set(kwds)):
        raise ValueError(f"savez: {twice[0]!r} is the name of an array without name, too")
    arrays = {name: asarray(each) for name, each in {**named, **kwds}.items()}
    for whole in arrays.values():
        _check_plain(whole, "savez")
    place = nullcontext(file) if hasattr(file, "write") else _written_beside(file, ".npz")
    with place as target, zipfile.ZipFile(target, "w", compression) as archive:
        for name, whole in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                _write_rows(entry, whole)


def _write_rows(file: Any, whole: Array) -> None:
    """Write an array in the NPY format, one block of rows after the other."""
    header = {"descr": np.lib.format.dtype_to_descr(whole.dtype), "fortran_order": False, "shape": whole.shape}
    np.lib.format.write_array_header_2_0(file, header)
    rows = whole.rechunk(dict.fromkeys(range(1, whole.ndim), -1)) if whole.ndim > 1 else whole
    for number in range(rows.numblocks[0] if whole.ndim else 1):
        block = rows.blocks[number] if whole.ndim else rows
        file.write(np.ascontiguousarray(to_numpy(block.compute())).tobytes())
