"""Leaves: arrays made of nothing, and arrays that are there already. They have literals and no dependencies, so they
become part of whatever uses them. No array library is named here: blocks come from a backend."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.array.nodes.base import ArrayExpr, BlockwiseArray, make_meta
from glassloom.array.nodes.tiled import TiledFull, TiledSame
from glassloom.backends.arrays import backend_named
from glassloom.backends.sharing import read_only_view
from glassloom.backends.standard_ import StandardChunk, wrapped
from glassloom.expr import Expr
from glassloom.graph import Key, Task, TaskRef, tokenize


class Full(BlockwiseArray):
    """An array of one value; `fill` is None for an array of whatever is in memory."""

    parameters = ("fill", "chunks", "dtype", "backend")

    fill: Any
    backend: str

    @property
    def label(self) -> str:
        return {None: "empty", 0: "zeros", 1: "ones"}.get(self.fill, "full") if _is_plain(self.fill) else "full"

    @cached_property
    def meta(self) -> Any:
        return _meta(self.backend, self.ndim, self.dtype)

    @cached_property
    def function(self) -> Any:
        return FullBlock(self.fill, self.dtype, self.backend)

    @property
    def tiled(self) -> Any:
        return TiledFull(self.fill, self.dtype) if self.backend == "numpy" and self.fill is not None else None

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (self.block_shape(index),)


class FullBlock:
    """Makes a block of one value."""

    def __init__(self, fill: Any, dtype: Any, backend: str) -> None:
        self.fill, self.dtype, self.backend = fill, dtype, backend

    def __call__(self, shape: tuple[int, ...]) -> Any:
        xp = backend_named(self.backend).namespace()
        if self.fill is None:
            return xp.empty(shape, dtype=self.dtype)
        if _is_plain(self.fill) and self.fill == 0 and np.dtype(self.dtype).kind in "biufc":
            return xp.zeros(shape, dtype=self.dtype)  # the system hands out zeroed pages: no pass over memory
        return xp.full(shape, self.fill, dtype=self.dtype)


class Arange(BlockwiseArray):
    """Evenly spaced values: element i is ``start + (first + stride * i) * step``.

    `first` and `stride` are what slicing changes, so that a slice has bit for bit the values of the whole.
    """

    parameters = ("start", "step", "first", "stride", "chunks", "dtype", "backend")

    start: Any
    step: Any
    first: int
    stride: int
    backend: str

    @cached_property
    def meta(self) -> Any:
        return _meta(self.backend, 1, self.dtype)

    @cached_property
    def function(self) -> Any:
        return ArangeBlock(self.start, self.step, self.stride, self.dtype, self.backend)

    @cached_property
    def _starts(self) -> list[int]:
        return starts(self.chunks[0])

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        (number,) = index
        return (self.first + self.stride * self._starts[number], self.chunks[0][number])


class ArangeBlock:
    """Makes a block of evenly spaced values."""

    def __init__(self, start: Any, step: Any, stride: int, dtype: Any, backend: str) -> None:
        self.start, self.step, self.stride, self.dtype, self.backend = start, step, stride, dtype, backend

    def __call__(self, first: int, length: int) -> Any:
        xp = backend_named(self.backend).namespace()
        kind = np.dtype(self.dtype).kind
        # NumPy's own way: the second value minus the first, both in the type asked for, times the position.
        start = np.asarray(self.start).astype(self.dtype)[()]
        second = np.asarray(self.start + self.step).astype(self.dtype)[()]
        step = second - start
        positions = xp.arange(first, first + self.stride * length, self.stride)[:length]
        if kind in "fc":
            values = positions.astype(self.dtype) * step + start
            values[positions == 1] = second  # rounded once, where start + 1 * step would be rounded twice
            return values
        return (positions * int(step) + int(start)).astype(self.dtype)


class Source:
    """An array that is there already: NumPy's, or anything with a shape, a dtype and slicing (zarr, h5py...)."""

    def __init__(self, array: Any, token: str | None = None) -> None:
        self.array = read_only_view(wrapped(array))
        self._token = token

    @cached_property
    def token(self) -> str:
        return self._token or tokenize(self.array)

    def __glassloom_tokenize__(self) -> str:
        return self.token

    @property
    def in_memory(self) -> bool:
        """Whether slices of it are views that cost nothing."""
        is_numpy_like = hasattr(self.array, "__array_function__") and hasattr(self.array, "strides")
        return is_numpy_like or isinstance(self.array, StandardChunk)


class FromArray(BlockwiseArray):
    """Blocks of an array that is there already. `region` is what slicing left of it: a slice or int for each axis."""

    parameters = ("source", "region", "chunks")
    operation = "from-array"

    source: Source
    region: tuple[Any, ...]

    @cached_property
    def meta(self) -> Any:
        if self.source.in_memory:
            return make_meta(self.source.array, self.ndim)
        return np.ones((0,) * self.ndim, dtype=self.source.array.dtype)

    @cached_property
    def _view(self) -> Any:
        return self.source.array[self.region] if self.source.in_memory else None

    @cached_property
    def function(self) -> Any:
        return _same if self.source.in_memory else LoadBlock(self.source.array)

    @property
    def tiled(self) -> Any:
        return TiledSame() if self.source.in_memory else None

    @cached_property
    def _slices(self) -> list[list[slice]]:
        return [
            [slice(start, start + length) for start, length in zip(starts(blocks), blocks, strict=True)]
            for blocks in self.chunks
        ]

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        place = tuple(axis[number] for axis, number in zip(self._slices, index, strict=True))
        return (self._view[(*place, ...)],) if self.source.in_memory else (place,)


class LoadBlock:
    """Reads a block of an array that isn't in memory."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __call__(self, place: tuple[slice, ...]) -> Any:
        return np.asarray(self.source[place])


class FromBlock(ArrayExpr):
    """An array of one block, which is the result of a delayed call."""

    parameters = ("call", "chunks", "meta")
    operation = "from-delayed"

    call: Expr

    def tasks(self) -> dict[Key, Task]:
        (source,) = self.call.output_keys()
        (key,) = self.output_keys()
        return {key: Task(key, CheckedBlock(self.shape, self.dtype), (TaskRef(source),))}


class CheckedBlock:
    """Passes an array on if it is what was announced."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype

    def __call__(self, block: Any) -> Any:
        shape = getattr(block, "shape", None)
        if shape is None:
            block = np.asarray(block)
            shape = block.shape
        matches = len(shape) == len(self.shape) and all(
            math.isnan(expected) or expected == length for expected, length in zip(self.shape, shape, strict=True)
        )
        if not matches or block.dtype != self.dtype:
            raise ValueError(
                f"from_delayed was told shape={self.shape}, dtype={self.dtype}, "
                f"but the call returned shape={shape}, dtype={block.dtype}"
            )
        return block


def _meta(backend: str, ndim: int, dtype: Any) -> Any:
    return backend_named(backend).namespace().ones((0,) * ndim, dtype=dtype)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex))


def _same(block: Any) -> Any:
    return block


def from_numpy(array: Any, chunks: Chunks, token: str | None = None) -> FromArray:
    """Return the node of an array that is there already."""
    return FromArray(Source(array, token), (slice(None),) * len(chunks), chunks)
