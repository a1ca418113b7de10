"""Which array library a chunk belongs to. The libraries themselves are reached through `numpy_`, `cupy_` and `standard_`."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from glassloom.backends import cupy_, numpy_, simulated_, standard_
from glassloom.backends.host_meta import HostMeta
from glassloom.errors import OptionError

_BACKENDS: dict[str, ModuleType] = {"numpy": numpy_, "cupy": cupy_, "simulated": simulated_}


def namespace_of(chunk: Any) -> Any:
    """Return the module whose functions work on `chunk`: ``numpy``, ``cupy`` or another array API namespace."""
    if isinstance(chunk, HostMeta):
        return chunk.__array_namespace__()
    if isinstance(chunk, (np.ndarray, np.generic)):
        return np
    own = getattr(chunk, "__array_namespace__", None)
    if own is not None:
        return own()
    backend = _BACKENDS.get(
        type(chunk).__module__.partition(".")[0], numpy_
    )  # CuPy's arrays don't name their functions
    return backend.namespace()


def backend_named(name: str) -> Any:
    """Return the backend of a name.

    Raises
    ------
    OptionError
        If there is none.
    """
    found = _BACKENDS.get(name) or standard_.backend(name)
    if found is None:
        raise OptionError(
            f"backend={name!r} is none of {sorted(_BACKENDS)}, and no library that follows the array API standard"
        )
    return found


def backend_of(chunk: Any) -> str:
    """Return the name of the backend that makes chunks like this one; NumPy if it isn't known."""
    if isinstance(chunk, HostMeta):
        return chunk.backend
    chunk = standard_.wrapped(chunk)
    if isinstance(chunk, standard_.StandardChunk):
        return standard_.library_of(chunk.array)
    if isinstance(chunk, simulated_.SimulatedArray):
        return "simulated"
    library = type(chunk).__module__.partition(".")[0]
    return library if library in _BACKENDS else "numpy"


def meta_namespace(name: str) -> Any:
    """Return what makes metas of a backend: its own module, or for one of a device what loads no library of the device."""
    backend = backend_named(name)
    return getattr(backend, "meta_namespace", backend.namespace)()


def host_maker(maker: Any) -> Any:
    """Return what draws on the host in place of a backend's name or a class such as ``cupy.random.RandomState``, to find types out."""
    if isinstance(maker, str):
        return getattr(backend_named(maker), "HOST_BACKEND", maker)
    library = str(getattr(maker, "__module__", "")).partition(".")[0]
    is_of_device = hasattr(_BACKENDS.get(library), "HOST_BACKEND")
    return getattr(np.random, maker.__name__, maker) if is_of_device else maker


def maker_backend(maker: Any) -> str | None:
    """Return the backend of a device whose arrays such a class draws; None if it is of none."""
    name = maker if isinstance(maker, str) else str(getattr(maker, "__module__", "")).partition(".")[0]
    return name if hasattr(_BACKENDS.get(name), "HOST_BACKEND") else None


def is_of_device(name: str) -> bool:
    """Tell whether it is the name of a backend whose arrays are on a device and don't mix with NumPy's."""
    return name in _BACKENDS and _BACKENDS[name] is not numpy_


_KERNEL_BACKENDS = {name: module for name, module in _BACKENDS.items() if hasattr(module, "launch")}
"""Backends of devices that run kernels in C: each with ``launch``, ``empty`` and ``owns``."""


def device_that_owns(values: Sequence[Any]) -> Any:
    """Return the backend of the first array that is on a device which runs kernels; None if there is none."""
    for value in values:
        kind = type(value)
        if kind is not np.ndarray and kind.__module__.partition(".")[0] in _KERNEL_BACKENDS:
            return _KERNEL_BACKENDS[kind.__module__.partition(".")[0]]
    return None


def device_that_makes(functions: Sequence[Any]) -> Any:
    """Return the backend of a device which runs kernels that one of the functions makes arrays on; None if there is none."""
    for function in functions:
        name = getattr(function, "backend", None) or maker_backend(
            getattr(getattr(function, "streams", None), "maker", None)
        )
        if isinstance(name, str) and name in _KERNEL_BACKENDS:
            return _KERNEL_BACKENDS[name]
    return None


def draws_by_index(maker: Any) -> bool:
    """Tell whether it is the name of a backend of a device whose generators draw by `glassloom.backends.indexed_draws`."""
    return isinstance(maker, str) and hasattr(_KERNEL_BACKENDS.get(maker), "Draws")


def to_numpy(chunk: Any) -> np.ndarray[Any, Any]:
    """Return a chunk's elements on the host."""
    copy = getattr(backend_named(backend_of(chunk)), "to_numpy", np.asarray)
    found: np.ndarray[Any, Any] = copy(chunk)
    return found


def converted(chunk: Any, name: str) -> Any:
    """Return a chunk as one of another backend, through the host's memory; itself if it is one of that backend."""
    if backend_of(chunk) == name:
        return chunk
    return backend_named(name).namespace().asarray(to_numpy(chunk))


def concatenate(chunks: list[Any], axis: int) -> Any:
    """Join chunks of one library along an axis."""
    if isinstance(chunks[0], np.ma.MaskedArray):
        return np.ma.concatenate(chunks, axis=axis)
    if type(chunks[0]) is np.ndarray and not chunks[0].dtype.isnative:  # NumPy would return the machine's byte order
        kinds = {chunk.dtype for chunk in chunks}
        return np.concatenate(chunks, axis=axis, dtype=kinds.pop() if len(kinds) == 1 else None)
    return namespace_of(chunks[0]).concatenate(chunks, axis=axis)


def join(chunks: list[Any], grid: tuple[int, ...]) -> Any:
    """Join a grid of chunks, given in C order, into one."""
    for axis in reversed(range(len(grid))):
        length = grid[axis]
        if length > 1:
            groups = [chunks[start : start + length] for start in range(0, len(chunks), length)]
            chunks = [concatenate(group, axis) for group in groups]
    (joined,) = chunks
    return joined


def compact(chunk: Any) -> Any:
    """Return the chunk, copied if it is a small view that would keep a large array in memory."""
    base = getattr(chunk, "base", None)
    if base is None or getattr(base, "nbytes", 0) <= 2 * chunk.nbytes:
        return chunk
    return chunk.copy()
