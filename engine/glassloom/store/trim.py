"""Gives freed memory back to the system: allocators keep what was freed, and it would count as the process's own."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


def trim_freed_memory() -> None:
    """Give back what C's and Arrow's allocators keep of freed memory. Takes some milliseconds for each freed GiB."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and hasattr(pyarrow, "default_memory_pool"):
        pyarrow.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    """Return the C library's `malloc_trim`, or None where there is none (musl, macOS)."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
