"""Arrays written to HDF5 files and read from them. Needs the package ``h5py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glassloom.array.array import Array, asarray
from glassloom.array.creation import from_array
from glassloom.array.files import store
from glassloom.array.protocol import implements
from glassloom.array.sources.data_set import h5py_for
from glassloom.array.sources.hdf5_file import DataSetTarget, data_set, finish_data_sets, make_data_sets

__all__ = ["from_hdf5", "to_hdf5"]


@implements("to_hdf5")
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
