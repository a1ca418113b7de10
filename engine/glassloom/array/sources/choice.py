"""Chooses the source for an object that a user passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.sources.locks import ProcessLock
from glassloom.array.sources.mapped import MappedSource, mapped_place
from glassloom.array.sources.memory import MemorySource, is_array
from glassloom.array.sources.source import Source
from glassloom.array.sources.stored import StoredSource
from glassloom.array.sources.versions import named_version
from glassloom.backends.standard_ import wrapped


def source_of(
    value: Any, name: str | None = None, *, copy: bool | None = None, asarray: bool | None = None, lock: Any = False
) -> Source:
    """Return the source that stands for an array, or for anything with ``shape``, ``dtype`` and slicing.

    Parameters
    ----------
    name
        What stands for the content instead of its hash, or of the time when its file changed. Arrays of one name
        that differ in kind, shape or type have different versions.
    copy
        For what is in memory: None to copy what may be written to, True to copy it in any case, False not to.
    asarray
        Whether blocks are made NumPy arrays: None for those that are read alone.
    lock
        For what is read: a context manager, True for one that holds the threads of a process, False for none.
    """
    if isinstance(value, Source):
        return value
    value = wrapped(value)
    if not is_array(value):
        held = ProcessLock() if lock is True else lock or None
        return StoredSource(value, name, asarray=asarray is not False, lock=held)
    if asarray:
        value = np.asarray(value)
    version = None if name is None else named_version(name, value)
    place = mapped_place(value) if copy is not True and isinstance(value, np.ndarray) else None
    if place is not None and not isinstance(value, np.ma.MaskedArray):
        return MappedSource(value, place, version)
    return MemorySource(value, version, copy=copy)
