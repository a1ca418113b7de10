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
        self.identity = identity_of_data_set(path, name)

    def __getitem__(self, place: Any) -> Any:
        with read_locked(Path(self.path).parent), h5py_for("from_hdf5").File(self.path, mode="r") as file:
            found = file.get(self.name)
            if getattr(found, "shape", None) != self.shape or found.dtype != self.dtype:
                raise ReadError(f"data set {self.name!r} of {self.path!r} was replaced; call from_hdf5 again")
            return found[place]


def identity_of_data_set(path: str, name: str) -> tuple[str, str, str]:
    """Return what is equal for two objects that stand for one data set.

    >>> identity_of_data_set("/x.h5", "a") == identity_of_data_set("/x.h5", "/a/")
    True
    """
    return ("hdf5", os.path.realpath(path), name.strip("/"))


def reopened(data: Any) -> DataSet:
    """Return what reads an open data set of h5py in other processes.

    Raises
    ------
    TypeError
        If they can't: the file may be written to, or isn't on disk.
    """
    reason = _why_not_reopened(data)
    if reason is not None:
        raise TypeError(
            f"{reason}, so that only this process can read it; close the file and use from_hdf5, or compute with "
            "scheduler='threads'"
        )
    return DataSet(os.path.realpath(data.file.filename), data.name, data.shape, data.dtype, data.chunks)


def _why_not_reopened(data: Any) -> str | None:
    if not hasattr(data, "file"):
        return f"{type(data).__name__} of shape {data.shape} is a view of data set {data._dset.name!r}"
    file = data.file
    what = f"data set {data.name!r} is of an HDF5 file that"
    if file.mode != "r":
        return f"{what} is open for writing ({file.filename!r})"
    if data.name is None or not os.path.isfile(file.filename):
        return f"{what} is in memory, or has no name in it ({file.filename!r})"
    return None if _is_its_file(file) else f"{what} was replaced since it was opened ({file.filename!r})"


def is_on_disk(data: Any) -> bool:
    """Whether all that an open data set, or a view of one, is read from is the file of its name as it is now."""
    if not hasattr(data, "file") or data.file.mode != "r" or data.file.swmr_mode or data.name is None:
        return False  # what was written may not be in the file yet
    return _is_its_file(data.file) and has_own_elements(data)


def has_own_elements(data: Any) -> bool:
    """Whether the elements of a data set are in its file, and not in others that change without it."""
    return not data.is_virtual and data.external is None


def _is_its_file(file: Any) -> bool:
    """Whether the file that is open is the one that has its name by now."""
    if file.driver != "sec2" or not os.path.isfile(file.filename):
        return False
    opened, named = os.fstat(file.id.get_vfd_handle()), os.stat(file.filename)
    return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)


def h5py_for(what: str) -> Any:
    """Return the package ``h5py``, which a function needs."""
    try:
        import h5py  # optional: only these functions need it
    except ImportError:
        raise ImportError(f"{what} needs the package h5py: pip install h5py") from None
    return h5py
