"""How C's allocator and Arrow's keep freed memory: long enough that the next block of a computation is given the same pages.

Blocks of a computation are of some MiB, made and freed all the time. Left alone, the allocators return each to the system at
once, which clears the pages before it gives them out again: of the TPC-H queries that was a quarter of the processor time.
What is kept is bounded, and `store.trim` returns it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h
_SETTINGS = {
    _M_MMAP_THRESHOLD: 2**25,  # the most there is: larger blocks go back at once
    _M_TRIM_THRESHOLD: 2**28,
    _M_TOP_PAD: 3 * 2**24,
}
"""A thread's memory is in heaps of 64 MiB. The last one is returned as soon as it is empty and `_M_TOP_PAD` of the one before are free:
with less than most of a heap it comes and goes with each block."""
_VARIABLES = {
    "MALLOC_MMAP_THRESHOLD_": _SETTINGS[_M_MMAP_THRESHOLD],
    "MALLOC_TRIM_THRESHOLD_": _SETTINGS[_M_TRIM_THRESHOLD],
    "MALLOC_TOP_PAD_": _SETTINGS[_M_TOP_PAD],
}
_POOL_VARIABLE = "ARROW_DEFAULT_MEMORY_POOL"

_tuned_malloc = False
_tuned_arrow = False


def tune_allocators() -> None:
    """Have freed memory kept from now on, unless the user's environment says how.

    Cheap enough to be called before each computation: PyArrow may have been imported since the last.
    """
    global _tuned_malloc, _tuned_arrow
    if not _tuned_malloc:
        _tuned_malloc = True
        if not _has_users_settings(os.environ):
            _tune_malloc()
    if not _tuned_arrow and "pyarrow" in sys.modules:
        _tuned_arrow = True
        if _POOL_VARIABLE not in os.environ:
            _use_malloc_in_arrow()


def settings_for_processes(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that have processes that are started with `environ` keep freed memory from their start."""
    if not sys.platform.startswith("linux"):
        return {}
    found = {} if _has_users_settings(environ) else {name: str(value) for name, value in _VARIABLES.items()}
    return found if _POOL_VARIABLE in environ else {**found, _POOL_VARIABLE: "system"}


def _has_users_settings(environ: Mapping[str, str]) -> bool:
    """Whether a user set how malloc works, or put another in its place."""
    return any(environ.get(name) for name in ("GLIBC_TUNABLES", "LD_PRELOAD", *_VARIABLES))


def _tune_malloc() -> None:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # musl, macOS, Windows
        return
    for parameter, value in _SETTINGS.items():
        mallopt(parameter, value)


def _use_malloc_in_arrow() -> None:
    """Have Arrow allocate by malloc, too: what it freed is then there for NumPy. Its own allocators return pages early."""
    if not sys.platform.startswith("linux"):
        return
    pyarrow = sys.modules["pyarrow"]
    if hasattr(pyarrow, "system_memory_pool"):
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())
