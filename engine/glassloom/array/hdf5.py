"""Arrays in HDF5 files, which one process at a time may have open for writing. Needs the package ``h5py``.

Workers open the file for each block and close it again; the lock of its folder makes writers wait for each other.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glassloom.array.array import Array, asarray
from glassloom.array.creation import from_array
from glassloom.array.files import store
from glassloom.array.protocol import implements
from glassloom.errors import OptionError, ReadError

__all__ = ["from_hdf5", "to_hdf5"]


@implements("to_hdf5")
def to_hdf5(filename: str | Path, *args: Any, scheduler: Any = None, **options: Any) -> None:
    """Write arrays into an HDF5 file, which is made if it isn't there. Needs the package ``h5py``.

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
    h5py = _h5py("to_hdf5")
    if len(args) not in (1, 2):
        raise TypeError(f"to_hdf5 takes a name and an array, or a dict of arrays by name, got {len(args)} arguments")
    named = dict(args[0]) if len(args) == 1 else {args[0]: args[1]}
    arrays = {name: asarray(array) for name, array in named.items()}
    path = str(Path(filename).resolve())
    with _locked(path), h5py.File(path, mode="a") as file:
        for name, array in arrays.items():
            file.require_dataset(name, shape=array.shape, dtype=array.dtype, **options)
    store(list(arrays.values()), [Target(path, name) for name in arrays], scheduler=scheduler)


class Target:
    """A data set that is written block by block."""

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name

    def __setitem__(self, place: Any, block: Any) -> None:
        with _locked(self.path), _h5py("to_hdf5").File(self.path, mode="r+") as file:
            file[self.name][place] = block


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold the lock of a file's folder: HDF5's own lock of the file makes a second writer fail, not wait."""
    folder = os.open(Path(path).parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # closing it gives the lock up
        yield
    finally:
        os.close(folder)


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
        If the file can't be read.
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
    h5py = _h5py("from_hdf5")
    path = Path(filename).resolve()
    try:
        with h5py.File(path, mode="r") as file:
            found = file.get(datapath)
            if not isinstance(found, h5py.Dataset):
                raise OptionError(f"{str(filename)!r} has no data set {datapath!r}; there are {sorted(_names(file))}")
            source = DataSet(str(path), datapath, found.shape, found.dtype)
            own = found.chunks
    except OSError as error:
        raise ReadError(f"{str(filename)!r} isn't an HDF5 file that can be read: {error}") from error
    token = f"hdf5:{path}:{path.stat().st_mtime_ns}:{datapath}"
    return from_array(source, chunks=chunks if chunks is not None else own or "auto", name=token)


def _names(file: Any) -> list[str]:
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if hasattr(item, "dtype") else None)
    return names


class DataSet:
    """A data set of a file that is opened for each block."""

    def __init__(self, path: str, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        self.path, self.name, self.shape, self.dtype = path, name, shape, dtype

    def __getitem__(self, place: Any) -> Any:
        with _h5py("from_hdf5").File(self.path, mode="r") as file:
            return file[self.name][place]


def _h5py(what: str) -> Any:
    try:
        import h5py  # optional: only these functions need it
    except ImportError:
        raise ImportError(f"{what} needs the package h5py: pip install h5py") from None
    return h5py
