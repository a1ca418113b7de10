"""Methods of `Array` that are functions too: reductions, and those that call functions of `glassloom.array.api`.

This is how the class stays in one file while its functions live in theirs. Of reductions, `axis` is an axis, a tuple of axes, or
None for all; `split_every` is how many blocks a task of the tree joins, or by axis how many along it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from glassloom.array.api.dispatch import functions, implementation_of, namespace
from glassloom.array.api.views import BlockView, PointView
from glassloom.array.ops import reductions
from glassloom.array.ops.base import ArrayExpr
from glassloom.array.ops.elementwise import ToBackend
from glassloom.backends.arrays import backend_named, backend_of, is_of_device
from glassloom.backends.cupy_gaps import has_dtype
from glassloom.collection import Collection
from glassloom.config import Configured, chosen
from glassloom.delayed_call import call

_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class ArrayMethods(Collection):
    """The methods."""

    _expr: ArrayExpr

    # Reductions.

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        split_every: int | dict[int, int] | None = None,
    ) -> Self:
        """Return the sum over axes."""
        return self._fold(np.sum, "add", axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every)

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        split_every: int | dict[int, int] | None = None,
    ) -> Self:
        """Return the product over axes."""
        return self._fold(np.prod, "multiply", axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every)

    def min(self, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None) -> Self:
        """Return the minimum over axes."""
        return self._fold(np.min, "minimum", axis=axis, keepdims=keepdims, split_every=split_every, empty_is_error=True)

    def max(self, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None) -> Self:
        """Return the maximum over axes."""
        return self._fold(np.max, "maximum", axis=axis, keepdims=keepdims, split_every=split_every, empty_is_error=True)

    def any(self, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None) -> Self:
        """Return whether any element is true."""
        return self._fold(np.any, "logical_or", axis=axis, keepdims=keepdims, split_every=split_every)

    def all(self, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None) -> Self:
        """Return whether all elements are true."""
        return self._fold(np.all, "logical_and", axis=axis, keepdims=keepdims, split_every=split_every)

    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        split_every: int | dict[int, int] | None = None,
    ) -> Self:
        """Return the mean over axes."""
        made = reductions.mean(self._expr, axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every)
        return self._with_expr(made)

    def var(
        self, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
        correction: float | None = None, split_every: int | dict[int, int] | None = None,
    ) -> Self:  # fmt: skip
        """Return the variance over axes; the divisor is the number of elements less `ddof`, alias `correction`."""
        return self._spread(axis, dtype, _degrees(ddof, correction), keepdims, split_every, root=False)

    def std(
        self, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
        correction: float | None = None, split_every: int | dict[int, int] | None = None,
    ) -> Self:  # fmt: skip
        """Return the standard deviation over axes: the root of `var`."""
        return self._spread(axis, dtype, _degrees(ddof, correction), keepdims, split_every, root=True)

    def moment(
        self, order: int, axis: Any = None, dtype: Any = None, keepdims: bool = False, ddof: float = 0, *,
        split_every: int | dict[int, int] | None = None,
    ) -> Self:  # fmt: skip
        """Return a central moment over axes: the mean of a power of distances from the mean; 0 for the first."""
        if order in (0, 1):
            constant: Any = self.mean(axis, dtype, keepdims, split_every=split_every) * 0 + (1 - order)  # type: ignore[operator]
            return constant
        made = reductions.moment(
            self._expr, order=order, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, split_every=split_every
        )
        return self._with_expr(made)

    def argmin(
        self, axis: int | None = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
    ) -> Self:
        """Return where the smallest value is, along an axis or in the flat array."""
        made = reductions.arg_extreme(self._expr, smallest=True, axis=axis, keepdims=keepdims, split_every=split_every)
        return self._with_expr(made)

    def argmax(
        self, axis: int | None = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
    ) -> Self:
        """Return where the largest value is, along an axis or in the flat array."""
        made = reductions.arg_extreme(self._expr, smallest=False, axis=axis, keepdims=keepdims, split_every=split_every)
        return self._with_expr(made)

    def _fold(self, function: Callable[..., Any], ufunc: str, **options: Any) -> Self:
        return self._with_expr(reductions.fold(self._expr, function, ufunc, **options))

    def _spread(
        self,
        axis: Any,
        dtype: Any,
        ddof: float,
        keepdims: bool,
        split_every: int | dict[int, int] | None,
        *,
        root: bool,
    ) -> Self:
        made = reductions.variance(
            self._expr, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, split_every=split_every, root=root
        )
        return self._with_expr(made)

    # Functions of the array.

    def argsort(
        self, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
    ) -> Self:
        """Return the positions that sort the elements along an axis, which becomes one block."""
        return functions().argsort(self, axis, kind, descending=descending, stable=stable)

    def argtopk(self, k: int, axis: int = -1, split_every: Any = None) -> Self:
        """Return the positions of the `k` largest elements along an axis, or of the smallest if `k` is negative."""
        return functions().argtopk(self, k, axis, split_every)

    def choose(self, choices: Sequence[Any]) -> Self:
        """Return elements of several arrays: this one says by number which."""
        return functions().choose(self, choices)

    def cumprod(
        self, axis: int | None = None, dtype: Any = None, out: Any = None, *, method: str | None = None
    ) -> Self:
        """Return the running products along an axis; see `glassloom.array.cumprod`."""
        return functions().cumprod(self, axis, dtype, out, method=method)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None, *, method: str | None = None) -> Self:
        """Return the running sums along an axis; see `glassloom.array.cumsum`."""
        return functions().cumsum(self, axis, dtype, out, method=method)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """Return a diagonal of each matrix that two axes make."""
        return functions().diagonal(self, offset, axis1, axis2)

    def nonzero(self) -> tuple[Self, ...]:
        """Return the positions of elements that aren't zero, one array for each axis."""
        return functions().nonzero(self)

    def ptp(self, axis: Any = None, keepdims: bool = False) -> Self:
        """Return the distance from the smallest to the largest element over axes."""
        return functions().ptp(self, axis, keepdims)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Put values at positions of the flat array; changes this array. See `glassloom.array.put`."""
        functions().put(self, indices, values, mode)

    def repeat(self, repeats: Any, axis: int | None = None) -> Self:
        """Return each element several times, one after the other."""
        return functions().repeat(self, repeats, axis)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Self:
        """Return where elements would be put into this sorted array."""
        return functions().searchsorted(self, v, side, sorter)

    def topk(self, k: int, axis: int = -1, split_every: Any = None) -> Self:
        """Return the `k` largest elements along an axis, or the smallest if `k` is negative."""
        return functions().topk(self, k, axis, split_every)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Self:
        """Return the sum of a diagonal of each matrix that two axes make."""
        return functions().trace(self, offset, axis1, axis2, dtype)

    def to_backend(self: Any, backend: str | Configured = Configured("array.backend")) -> Any:
        """Return the same array with blocks of another library: ``"cupy"`` moves them to the device, ``"numpy"`` to the host.

        Parameters
        ----------
        backend
            The name of the library. Default: the option ``array.backend``.

        Raises
        ------
        TypeError
            If a device has no arrays of this type: text, objects, times, extended precision.
        """
        name = chosen(backend)
        backend_named(name)
        if is_of_device(name) and not has_dtype(self.dtype):
            raise TypeError(
                f"to_backend({name!r}) of an array of type {self.dtype}: devices have truth values and numbers of up to 64 bits a "
                "part; convert it with astype, or leave it on the host"
            )
        return self if backend_of(self.expr.meta) == name else self._with_expr(ToBackend(self.expr, name))

    def compress(self, condition: Any, axis: int | None = None) -> Any:
        """Return the elements along an axis where a mask is true."""
        return functions().compress(condition, self, axis)

    def fill(self: Any, value: Any) -> None:
        """Put a value in place of every element; changes this array."""
        self[...] = value

    def shuffle(self: Any, indexer: Any, axis: int = 0, chunks: Any = "auto") -> Any:
        """Return the elements at groups of positions along an axis, one group after the other; see
        `glassloom.array.shuffle`."""
        return functions().shuffle(self, indexer, axis, chunks)

    def sort(self: Any, axis: int = -1, kind: str | None = None) -> None:
        """Sort the elements along an axis, which becomes one block; changes this array."""
        self._expr = functions().sort(self, axis, kind).expr

    def tolist(self: Any) -> Any:
        """Compute the array and return it as nested lists."""
        return np.asarray(self.compute()).tolist()

    def to_numpy(self: Any) -> Any:
        """Compute the array and return it as NumPy's, whatever library its blocks are of. Matplotlib asks for it."""
        return np.asarray(self.to_backend("numpy").compute())

    def to_hdf5(self, filename: Any, datapath: str, **options: Any) -> None:
        """Write the array into an HDF5 file; see `glassloom.array.to_hdf5`."""
        functions().to_hdf5(filename, datapath, self, **options)

    def to_dataframe(self, columns: Any = None) -> Any:
        """Return a lazy frame (a series, of an array with one axis) of the rows; see `glassloom.dataframe.from_array`."""
        make = implementation_of("to_dataframe")
        if make is None:
            raise ImportError("import glassloom.dataframe first: arrays don't load pandas' side by themselves")
        return make(self, columns=columns)

    def to_delayed(self: Any) -> Any:
        """Return a NumPy array of `Delayed`, one for each block, in the shape of the grid of blocks."""
        found = np.empty(self.numblocks, dtype=object)
        for index in np.ndindex(*self.numblocks):
            found[index] = call(_same, (self.blocks[index] if index else self,), {}, pure=True, label="block")
        return found

    def store(self, target: Any, **options: Any) -> None:
        """Write the array into a target; see `glassloom.array.store`."""
        functions().store(self, target, **options)

    def to_zarr(self, url: Any, **options: Any) -> None:
        """Write the array as a Zarr array; see `glassloom.array.to_zarr`."""
        functions().to_zarr(self, url, **options)

    def map_overlap(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Apply a function to blocks that reach into their neighbours; see `glassloom.array.map_overlap`."""
        return functions().map_overlap(function, self, *args, **options)

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
        return namespace()

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
    def blocks(self) -> BlockView:
        """The blocks by number: ``x.blocks[0, 1]`` is an array of that block alone."""
        return BlockView(self)

    partitions = blocks

    @property
    def vindex(self) -> PointView:
        """The points of the array: ``x.vindex[[0, 1], [3, 5]]`` is ``x[0, 3]`` and ``x[1, 5]``."""
        return PointView(self)


def _degrees(ddof: float, correction: float | None) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise ValueError(f"ddof={ddof} and correction={correction} mean the same; give one of them")
    return correction


def _same(block: Any) -> Any:
    return block
