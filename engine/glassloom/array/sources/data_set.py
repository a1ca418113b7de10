"""`DataSet`: a data set of an HDF5 file, for readers in any process. Needs the package ``h5py``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from glassloom.array.sources.locks import read_locked
from glassloom.errors import ReadError


class DataSet:
    """A data set of a file that is opened for each block."""

    def __init__(self, path: str, name: str, shape: tuple[int, ...], dtype: Any, chunks: Any) -> None:
        self.path, self.name, self.shape, self.dtype, self.chunks = path, name, shape, dtype, chunks

    def __getitem__(self, place: Any) -> Any:
        with read_locked(Path(self.path).parent), h5py_for("from_hdf5").File(self.path, mode="r") as file:
            found = file.get(self.name)
            if getattr(found, "shape", None) != self.shape or found.dtype != self.dtype:
                raise ReadError(f"data set {self.name!r} of {self.path!r} was replaced; call from_hdf5 again")
            return found[place]


def reopened(data: Any) -> DataSet:
    """Return what reads an open data set of h5py in other processes.

    Raises
    ------
    TypeError
        If they can't: the file may be written to, or isn't on disk.
    """
    file = data.file
    if file.mode != "r" or not os.path.isfile(file.filename):
        raise TypeError(
            f"data set {data.name!r} is of an HDF5 file that is open for writing ({file.filename!r}), so that only this "
            "process can read it; close the file and use from_hdf5, or compute with scheduler='threads'"
        )
    return DataSet(os.path.realpath(file.filename), data.name, data.shape, data.dtype, data.chunks)


def h5py_for(what: str) -> Any:
    """Return the package ``h5py``, which a function needs."""
    try:
        import h5py  # optional: only these functions need it
    except ImportError:
        raise ImportError(f"{what} needs the package h5py: pip install h5py") from None
    return h5py
