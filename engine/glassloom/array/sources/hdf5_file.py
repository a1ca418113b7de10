"""Data sets of HDF5 files, which one process at a time may have open for writing. Needs the package ``h5py``.

Workers open the file for each block and close it again; the lock of its folder makes writers wait for each other and for
readers, as HDF5's own lock of the file makes the second one fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from glassloom.array.sources.data_set import DataSet, h5py_for, has_own_elements, identity_of_data_set
from glassloom.array.sources.locks import locked, read_locked
from glassloom.array.sources.sink import MARK, check_complete
from glassloom.array.sources.stored import StoredSource
from glassloom.array.sources.versions import file_version, unknown_version
from glassloom.errors import OptionError, ReadError


def data_set(filename: str | Path, name: str) -> StoredSource:
    """Return a data set of a file.

    Raises
    ------
    ReadError
        If the file can't be read, or the data set was not written to its end.
    OptionError
        If there is no such data set.
    """
    h5py = h5py_for("from_hdf5")
    path = Path(filename).resolve()
    try:
        own_version = file_version(path)
        with read_locked(path.parent), h5py.File(path, mode="r") as file:
            found = file.get(name)
            if not isinstance(found, h5py.Dataset):
                raise OptionError(f"{str(filename)!r} has no data set {name!r}; there are {sorted(_names(file))}")
            check_complete(found.attrs, f"data set {name!r} of {str(filename)!r}")
            data = DataSet(str(path), name, found.shape, found.dtype, found.chunks)
            version = _version(found, path, own_version)
    except OSError as error:
        raise ReadError(f"{str(filename)!r} isn't an HDF5 file that can be read: {error}") from error
    return StoredSource(data, f"hdf5:{version}:{name}")


def _version(found: Any, path: Path, own_version: str) -> str:
    """Return the version of a data set that was found in a file, perhaps by a link to another file."""
    if not has_own_elements(found):
        return unknown_version()
    linked = Path(found.file.filename).resolve()
    return own_version if linked == path else f"{own_version}:{file_version(linked)}"


def _names(file: Any) -> list[str]:
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if hasattr(item, "dtype") else None)
    return names


class DataSetTarget:
    """A data set that is written block by block, by any process."""

    is_everywhere = True

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self.identity = identity_of_data_set(path, name)

    def __setitem__(self, place: Any, block: Any) -> None:
        with locked(Path(self.path).parent), h5py_for("to_hdf5").File(self.path, mode="r+") as file:
            file[self.name][place] = block


def make_data_sets(path: str, arrays: dict[str, Any], options: dict[str, Any]) -> None:
    """Make data sets that are marked as incomplete, in a file that is made if it isn't there.

    Raises
    ------
    TypeError
        If HDF5 can't hold the elements of one of the arrays.
    """
    for name, array in arrays.items():
        try:
            h5py_for("to_hdf5").h5t.py_create(np.dtype(array.dtype), logical=True)
        except TypeError as error:
            raise TypeError(
                f"to_hdf5: HDF5 can't hold array {name!r} of dtype={array.dtype}: {error}; convert it first, "
                "text by astype('S') and times by astype('int64')"
            ) from error
    with locked(Path(path).parent), h5py_for("to_hdf5").File(path, mode="a") as file:
        for name, array in arrays.items():
            made = file.require_dataset(name, shape=array.shape, dtype=array.dtype, **options)
            made.attrs[MARK] = True


def finish_data_sets(path: str, names: Iterable[str]) -> None:
    """Say that data sets are complete."""
    with locked(Path(path).parent), h5py_for("to_hdf5").File(path, mode="r+") as file:
        for name in names:
            del file[name].attrs[MARK]
