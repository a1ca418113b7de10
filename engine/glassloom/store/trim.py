"""Gives freed memory back to the system: allocators keep what was freed, and it would count as the process's own."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import cache
from typing import Any
from weakref import finalize

_M_TRIM_THRESHOLD, _M_TOP_PAD = -1, -2  # glibc's malloc.h
_KEPT_BY = {_M_TRIM_THRESHOLD: "MALLOC_TRIM_THRESHOLD_", _M_TOP_PAD: "MALLOC_TOP_PAD_"}
"""The environment variables that have set how much each arena keeps at its end (see `_allocators`)."""
_HELD_BYTES, _LEFT_BYTES = 2**18, 2**16
"""Size of the chunk that is held in each arena, and what it is cut to: what is cut off must be 64 KiB or more."""


class _Chunk:
    """Memory that a thread holds. It may move when it is cut."""

    def __init__(self, address: int) -> None:
        self.address = address


_threads = threading.local()
_held: set[_Chunk] = set()
"""The chunk of each thread."""
_lock = threading.Lock()


def trim_freed_memory() -> None:
    """Give back what C's and Arrow's allocators keep of freed memory. Takes some milliseconds for each freed GiB.

    Includes what the arenas of the threads that have called `reach_arena` keep at their ends. Thread-safe.
    """
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and hasattr(pyarrow, "default_memory_pool"):
        pyarrow.default_memory_pool().release_unused()
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)
        _trim_ends_of_arenas(libc)


def reach_arena() -> None:
    """Let `trim_freed_memory` reach the arena in which the calling thread allocates.

    glibc has an arena for each thread, up to eight for each CPU. Its `malloc_trim` gives back the free pages amid an arena, but
    those at the end only of the first one. Of the others only a call of `free` gives them back: one of 64 KiB or more in that arena,
    if more is free at the end than is to be kept, which `_allocators` sets to more than an arena has. So a chunk is held in each
    of them, of which any thread can free a part.
    """
    libc = _glibc()
    if libc is None or hasattr(_threads, "holder"):
        return
    address = libc.malloc(_HELD_BYTES)
    if address:
        chunk = _Chunk(address)
        with _lock:
            _held.add(chunk)
        _threads.holder = _Holder()
        finalize(_threads.holder, _let_go, chunk, os.getpid()).atexit = False


class _Holder:
    """Lives as long as its thread."""


def _let_go(chunk: _Chunk, pid: int) -> None:
    """Free the chunk of a thread that has ended; not in a forked child, where all threads but one end, one of which may have had the lock."""
    if os.getpid() != pid:
        return
    libc = _glibc()
    with _lock:
        _held.remove(chunk)
        if libc is not None:
            libc.free(chunk.address)


def _begin_anew_in_child() -> None:
    global _lock
    _lock = threading.Lock()
    _held.clear()


os.register_at_fork(after_in_child=_begin_anew_in_child)


def _trim_ends_of_arenas(libc: Any) -> None:
    kept = {parameter: os.environ.get(name, "") for parameter, name in _KEPT_BY.items()}
    if not all(value.isdecimal() for value in kept.values()):
        return  # glibc chooses by itself, and would no longer if it was told once
    with _lock:
        for parameter in kept:
            libc.mallopt(parameter, 0)
        for chunk in _held:
            for nbytes in (_LEFT_BYTES, _HELD_BYTES):
                chunk.address = libc.realloc(chunk.address, nbytes) or chunk.address
        for parameter, value in kept.items():
            libc.mallopt(parameter, int(value))


@cache
def _glibc() -> Any:
    """Return the C library, or None if it isn't glibc (musl, macOS)."""
    try:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = libc.realloc.restype = ctypes.c_void_p
        libc.malloc.argtypes = [ctypes.c_size_t]
        libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None
        libc.mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
        libc.malloc_trim.argtypes = [ctypes.c_size_t]
    except (OSError, AttributeError):
        return None
    return libc
