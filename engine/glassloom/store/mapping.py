"""Maps files into memory to read, without keeping a descriptor of each: there may be many thousands.

Python's own `mmap` keeps one for every mapping (before 3.13), and descriptors are few: 1024 by default.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import stat
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
        If there is no such file, or nothing in it, or if it isn't ours.
    """
    descriptor = open_own_file(path)
    try:
        nbytes = os.fstat(descriptor).st_size
        if not nbytes:
            raise DataLost(f"the file of a result is gone: {path} is empty")
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


def open_own_file(path: str) -> int:
    """Open a file to read; return its descriptor.

    What is read gets unpickled, and anybody may make files in ``/dev/shm``: a name that was freed may be another user's
    file by now.

    Raises
    ------
    DataLost
        If there is no such file, or if it isn't a regular file of this user.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise DataLost(f"the file of a result is gone: {path}") from error
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EACCES, errno.ENXIO):
            raise
        raise DataLost(f"the file of a result isn't ours: {path}: {error.strerror}") from error
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise DataLost(f"the file of a result isn't ours: {path} belongs to user {status.st_uid}")
    return descriptor


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
