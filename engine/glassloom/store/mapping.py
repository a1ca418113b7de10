"""Maps files into memory to read, without keeping a descriptor of each: there may be many thousands.

Python's own `mmap` keeps one for every mapping (before 3.13), and descriptors are few: 1024 by default.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from functools import cache
from typing import Any
from weakref import WeakValueDictionary, finalize

from glassloom.errors import DataLost

_FAILED = ctypes.c_void_p(-1).value
_mapped: WeakValueDictionary[int, ctypes.Array[ctypes.c_ubyte]] = WeakValueDictionary()
"""What is mapped now, by address."""
_lock = threading.Lock()


def map_file(path: str) -> memoryview:
    """Return a file's bytes, read-only. It stays mapped while anything refers to them, whether the file is removed or not.

    Raises
    ------
    DataLost
        If there is no such file, or nothing in it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError as error:
        raise DataLost(f"the shared memory of a result is gone: {path}") from error
    try:
        nbytes = os.fstat(descriptor).st_size
        if not nbytes:
            raise DataLost(f"the shared memory of a result is gone: {path} is empty")
        address = _libc().mmap(None, nbytes, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    finally:
        os.close(descriptor)
    if address == _FAILED:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    array = (ctypes.c_ubyte * nbytes).from_address(address)
    with _lock:
        _mapped[address] = array
    finalize(array, _libc().munmap, address, nbytes).atexit = False
    return memoryview(array).cast("c").cast("B").toreadonly()


def unload_mapped() -> None:
    """Take the pages of all mapped files out of this process's memory; they come back when somebody reads them."""
    with _lock:
        arrays = list(_mapped.items())
    for address, array in arrays:
        _libc().madvise(address, len(array), mmap.MADV_DONTNEED)


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64,
    ]  # fmt: skip
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc
