"""Methods of `Array` that are functions too: each calls the function that is registered for NumPy's, or for a name.

This is how the class stays in one file while its functions live in theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glassloom.array.nodes.converting import ToBackend
from glassloom.array.protocol import implementation_of
from glassloom.backends.arrays import backend_named, backend_of
from glassloom.config import Configured, chosen
from glassloom.delayed_call import call


def _method(function: Any) -> Callable[..., Any]:
    name = function if isinstance(function, str) else function.__name__

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return implementation_of(function)(self, *args, **options)  # type: ignore[misc]

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return `glassloom.array.{name}` of this array."
    return method


def _same(block: Any) -> Any:
    return block


_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class FunctionMethods:
    """The methods."""

    argsort = _method(np.argsort)
    argtopk = _method("argtopk")
    choose = _method(np.choose)
    cumprod = _method(np.cumprod)
    cumsum = _method(np.cumsum)
    diagonal = _method(np.diagonal)
    nonzero = _method(np.nonzero)
    ptp = _method(np.ptp)
    repeat = _method(np.repeat)
    searchsorted = _method(np.searchsorted)
    topk = _method("topk")
    trace = _method(np.trace)

    def to_backend(self: Any, backend: str | Configured = Configured("array.backend")) -> Any:
        """Return the same array with blocks of another library: ``"cupy"`` moves them to the device, ``"numpy"`` to the host.

        Parameters
        ----------
        backend
            The name of the library. Default: the option ``array.backend``.
        """
        name = chosen(backend)
        backend_named(name)
        return self if backend_of(self.expr.meta) == name else self._with_expr(ToBackend(self.expr, name))

    def compress(self, condition: Any, axis: int | None = None) -> Any:
        """Return the elements along an axis where a mask is true."""
        return implementation_of(np.compress)(condition, self, axis)  # type: ignore[misc]

    def fill(self: Any, value: Any) -> None:
        """Put a value in place of every element; changes this array."""
        self[...] = value

    def shuffle(self: Any, indexer: Any, axis: int = 0, chunks: Any = "auto") -> Any:
        """Return the elements at groups of positions along an axis, one group after the other; see
        `glassloom.array.shuffle`."""
        return implementation_of("shuffle")(self, indexer, axis, chunks)  # type: ignore[misc]

    def sort(self: Any, axis: int = -1) -> None:
        """Sort the elements along an axis, which becomes one block; changes this array."""
        self._expr = implementation_of(np.sort)(self, axis).expr  # type: ignore[misc]

    def tolist(self: Any) -> Any:
        """Compute the array and return it as nested lists."""
        return np.asarray(self.compute()).tolist()

    def to_hdf5(self, filename: Any, datapath: str, **options: Any) -> None:
        """Write the array into an HDF5 file; see `glassloom.array.to_hdf5`."""
        implementation_of("to_hdf5")(filename, datapath, self, **options)  # type: ignore[misc]

    def to_dataframe(self, columns: Any = None) -> Any:
        """Return a lazy frame (a series, of an array with one axis) of the rows; see `glassloom.dataframe.from_array`."""
        make = implementation_of("to_dataframe")
        if make is None:
            raise ImportError("import glassloom.dataframe first: arrays don't load pandas' side by themselves")
        return make(self, columns)

    def to_delayed(self: Any) -> Any:
        """Return a NumPy array of `Delayed`, one for each block, in the shape of the grid of blocks."""
        found = np.empty(self.numblocks, dtype=object)
        for index in np.ndindex(*self.numblocks):
            found[index] = call(_same, (self.blocks[index] if index else self,), {}, pure=True, label="block")
        return found

    def store(self, target: Any, **options: Any) -> None:
        """Write the array into a target; see `glassloom.array.store`."""
        implementation_of("store")(self, target, **options)  # type: ignore[misc]

    def to_zarr(self, url: Any, **options: Any) -> None:
        """Write the array as a Zarr array; see `glassloom.array.to_zarr`."""
        implementation_of("to_zarr")(self, url, **options)  # type: ignore[misc]

    def map_overlap(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Apply a function to blocks that reach into their neighbours; see `glassloom.array.map_overlap`."""
        return implementation_of("map_overlap")(function, self, *args, **options)  # type: ignore[misc]

    # The array API standard, and the exchange of memory.

    @property
    def device(self) -> str:
        """Where blocks are made: ``"cpu"``; CuPy's are on the device of their worker."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """Return the array if it is there already; nothing else is possible."""
        if device != self.device:
            raise ValueError(
                f"to_device({device!r}): only {self.device!r} is there; use like='cupy' to make GPU arrays"
            )
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version not in (None, *_API_VERSIONS):
            raise ValueError(f"api_version={api_version!r} is none of {_API_VERSIONS}")
        return implementation_of("namespace")()  # type: ignore[misc]

    def __dlpack__(
        self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Compute the array and export its memory."""
        made = np.asarray(self.compute())
        return made.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return that computed arrays are in the main memory."""
        return (1, 0)

    @property
    def blocks(self) -> Any:
        """The blocks by number: ``x.blocks[0, 1]`` is an array of that block alone."""
        return implementation_of("blocks")(self)  # type: ignore[misc]

    partitions = blocks

    @property
    def vindex(self) -> Any:
        """The points of the array: ``x.vindex[[0, 1], [3, 5]]`` is ``x[0, 3]`` and ``x[1, 5]``."""
        return implementation_of("vindex")(self)  # type: ignore[misc]
