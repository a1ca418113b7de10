"""Leaves: arrays made by a formula, and arrays that exist already. They have literals and no dependencies, so they
become part of whatever uses them. No array library is named here: blocks come from a backend."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, make_meta
from glassloom.array.sources.choice import source_of
from glassloom.array.sources.mapped import unmapped
from glassloom.array.sources.source import Region, Source, whole
from glassloom.array.tiling.steps import TiledFull, TiledSame
from glassloom.backends.arrays import backend_named, meta_namespace
from glassloom.expr import Expr
from glassloom.graph import Key, Task, TaskRef


class Full(BlockwiseArray):
    """An array of one value; `fill` is None for an uninitialised array."""

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
            return xp.zeros(shape, dtype=self.dtype)  # the system allocates zeroed pages: no pass over memory
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
        step = second - start if kind in "fc" else int(second) - int(start)
        positions = xp.arange(first, first + self.stride * length, self.stride)[:length]
        if kind in "fc":
            values = positions.astype(self.dtype) * step + start
            values[positions == 1] = second  # rounded once, where start + 1 * step would be rounded twice
            return values
        return (positions * step + int(start)).astype(self.dtype)


class FromArray(BlockwiseArray):
    """Blocks of an array that exists already. `region` is the part that slicing has left."""

    parameters = ("source", "region", "chunks")
    operation = "from-array"

    source: Source
    region: Region

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.source.meta, self.ndim)

    @cached_property
    def _view(self) -> Any:
        return self.source.region(self.region) if self.source.in_memory else None

    @cached_property
    def function(self) -> Any:
        return _same if self.source.in_memory else LoadBlock(self.source)

    @cached_property
    def final_function(self) -> Any:
        """A block that is kept must not change with the file that it is a view of."""
        return self.function if self.source.in_memory else LoadBlock(self.source, copies=True)

    @property
    def detach(self) -> Any:
        return None if self.source.in_memory else unmapped

    @property
    def pickled_bytes(self) -> int:
        return int(self.size * np.dtype(self.dtype).itemsize) if self.source.in_memory else 0

    def pickled_operands(self) -> tuple[Any, ...]:
        narrowed = self.source.narrowed(self.region)
        return self.operands if narrowed is self.source else (narrowed, whole(narrowed.shape), self.chunks)

    @property
    def tiled(self) -> Any:
        return TiledSame() if self.source.in_memory else None

    @cached_property
    def _cuts(self) -> list[list[slice]]:
        """For each axis of the region that is left, where in it blocks begin and end."""
        return [
            [slice(start, start + length) for start, length in zip(starts(blocks), blocks, strict=True)]
            for blocks in self.chunks
        ]

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        place = tuple([cuts[number] for cuts, number in zip(self._cuts, index, strict=True)])
        if self.source.in_memory:
            return (self._view[(*place, ...)],)
        cut = iter(place)
        return (tuple([each[next(cut)] if isinstance(each, range) else each for each in self.region]),)


class LoadBlock:
    """Reads a block of an array that isn't in memory; `copies` if it must not be a view of a file."""

    def __init__(self, source: Source, copies: bool = False) -> None:
        self.source, self.copies = source, copies

    def __call__(self, region: Region) -> Any:
        block = self.source.region(region)
        return unmapped(block) if self.copies else block


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
    """Returns an array if it has the announced shape and type."""

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
    return meta_namespace(backend).ones((0,) * ndim, dtype=dtype)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex))


def _same(block: Any) -> Any:
    return block


def from_source(source: Source, chunks: Chunks) -> FromArray:
    """Return the node of an array that exists already."""
    return FromArray(source, whole(source.shape), chunks)


def from_numpy(array: Any, *, copy: bool | None = None) -> FromArray:
    """Return the node of an array in memory, in one block.

    Parameters
    ----------
    copy
        None: copy what may be written to. False: it is the caller's own, who lets go of it.
    """
    source = source_of(array, copy=copy)
    return from_source(source, tuple((length,) for length in source.shape))
