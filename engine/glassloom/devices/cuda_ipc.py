"""CUDA IPC: memory of a device that another process on the same device can open, where the allocator allows.

The asynchronous allocator and managed memory have no such handles.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class ExportedMemory:
    """A handle of CUDA's on an allocation, and where the data begin in it: pools give out parts of larger allocations."""

    handle: bytes
    offset: int


def exported_memory(runtime: Any, pointer: int) -> ExportedMemory | None:
    """Return the handle on the memory at a pointer, None if the allocator has none.

    Parameters
    ----------
    runtime
        The module `cupy.cuda.runtime`.
    """
    base = _base_of(pointer)
    if base is None:
        return None
    try:
        return ExportedMemory(bytes(runtime.ipcGetMemHandle(base)), pointer - base)
    except runtime.CUDARuntimeError:
        return None


def open_memory(runtime: Any, memory: ExportedMemory) -> int:
    """Return the address of another process's allocation in this one."""
    lazily = getattr(runtime, "cudaIpcMemLazyEnablePeerAccess", 1)
    return int(runtime.ipcOpenMemHandle(memory.handle, lazily))


def close_memory(runtime: Any, pointer: int) -> None:
    """Give up another process's allocation."""
    runtime.ipcCloseMemHandle(pointer)


@cache
def _driver() -> Any:
    """Return the CUDA driver's library; None if there is none."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def _base_of(pointer: int) -> int | None:
    """Return where the allocation begins that a pointer is within."""
    driver = _driver()
    if driver is None:
        return None
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    code = driver.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(pointer))
    return None if code else base.value
