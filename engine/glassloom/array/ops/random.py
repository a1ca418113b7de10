"""Random arrays: each block is drawn from a stream of its own.

The stream of a block depends on the seed, on which call of the generator it was, and on the block's number: not on
where, when and by how many workers it is drawn, nor on which other blocks are. Slices are never pushed into a draw; on devices, whose kernels draw
each number by its index in the block, what a slice doesn't need of a block isn't drawn all the same.
"""

from __future__ import annotations

import math
from functools import cached_property
from operator import mul
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, SameChunks, make_meta
from glassloom.array.ops.mapping import BLOCK
from glassloom.array.ops.rechunk import rechunk
from glassloom.array.sources.memory import frozen
from glassloom.array.tiling.steps import TiledDraw, TiledIndexedDraw
from glassloom.backends.arrays import (
    backend_named,
    converted,
    draws_by_index,
    host_maker,
    is_of_device,
    maker_backend,
    meta_namespace,
)


class Draw(BlockwiseArray):
    """Random numbers: a method of a generator, called for each block with the block's shape."""

    parameters = ("streams", "method", "args", "kwargs", "chunks", "meta")

    streams: Streams
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def label(self) -> str:
        return self.method.replace("_", "-")

    @cached_property
    def function(self) -> Any:
        return DrawBlock(self.streams, self.method, self.args, self.kwargs)

    @property
    def tiled(self) -> Any:
        return TiledDraw.of(self.function, self.dtype) or TiledIndexedDraw.of(self.function, self.dtype)

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (sum(map(mul, index, self._strides)), self.block_shape(index))

    @cached_property
    def _strides(self) -> list[int]:
        """By how much the block's number grows along each axis."""
        counts = self.numblocks
        return [math.prod(counts[axis + 1 :]) for axis in range(len(counts))]


class Streams:
    """The streams of one call: `entropy` is the seed's, `call` the number of the call.

    `maker` is the name of a backend, one of NumPy's bit generators such as ``numpy.random.PCG64``, or a class such as
    ``numpy.random.RandomState`` that takes an array as its seed.
    """

    def __init__(self, entropy: int, call: int, maker: Any) -> None:
        self.entropy, self.call, self.maker = entropy, call, maker

    def __glassloom_tokenize__(self) -> Any:
        return (self.entropy, self.call, self.maker)

    @property
    def on_host(self) -> Streams:
        """The same drawn by NumPy where a device would draw: nothing of the device is loaded to find types out."""
        return Streams(self.entropy, self.call, host_maker(self.maker))

    def meta(self, sample: Any) -> Any:
        """Return what stands for the arrays that are drawn, given a sample that `on_host` has drawn."""
        backend = maker_backend(self.maker)
        return sample if backend is None else meta_namespace(backend).asarray(sample)

    def parameter(self, block: Any) -> Any:
        """Return a block of a parameter where the numbers are drawn: on the device if a device draws them."""
        is_moved = isinstance(self.maker, str) and is_of_device(self.maker)
        return converted(block, self.maker) if is_moved else block

    @property
    def are_numpys(self) -> bool:
        """Whether NumPy draws, so that a block drawn in pieces has the numbers of the block drawn at once."""
        bit_generators = (np.random.RandomState, np.random.BitGenerator)
        return self.maker == "numpy" or (isinstance(self.maker, type) and issubclass(self.maker, bit_generators))

    @property
    def are_indexed(self) -> bool:
        """Whether a device draws numbers by their index in a block: those of its `glassloom.backends.indexed_draws.BASES`, and what is made of them."""
        return draws_by_index(self.maker)

    def sequence_of(self, number: int) -> np.random.SeedSequence:
        """Return the seed of a block."""
        return np.random.SeedSequence(self.entropy, spawn_key=(self.call, number))

    def of_block(self, number: int) -> Any:
        """Return the generator of a block."""
        sequence = self.sequence_of(number)
        if isinstance(self.maker, str):
            return backend_named(self.maker).generator(sequence)
        if isinstance(self.maker, type) and issubclass(self.maker, np.random.BitGenerator):
            return np.random.Generator(self.maker(sequence))
        return self.maker(sequence.generate_state(8))


class DrawBlock:
    """Draws a block."""

    def __init__(self, streams: Streams, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.streams, self.method, self.args, self.kwargs = streams, method, args, kwargs

    @property
    def __name__(self) -> str:
        return self.method

    def __call__(self, number: int, shape: tuple[int, ...]) -> Any:
        generator = self.streams.of_block(number)
        return getattr(generator, self.method)(*self.args, size=shape, **self.kwargs)


class DrawWith(BlockwiseArray):
    """Random numbers whose parameters are arrays: blocks of `args` are drawn from together with their numbers."""

    parameters = ("streams", "method", "args", "kwargs", "chunks", "meta")

    streams: Streams
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def label(self) -> str:
        return self.method.replace("_", "-")

    @cached_property
    def function(self) -> Any:
        args = tuple(BLOCK if isinstance(arg, ArrayExpr) else arg for arg in self.args)
        return DrawBlockWith(self.streams, self.method, args, self.kwargs)

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (int(np.ravel_multi_index(index, self.numblocks)) if index else 0, self.block_shape(index))


class DrawBlockWith:
    """Draws a block, given blocks of the parameters."""

    def __init__(self, streams: Streams, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.streams, self.method, self.args, self.kwargs = streams, method, args, kwargs

    @property
    def __name__(self) -> str:
        return self.method

    def __glassloom_tokenize__(self) -> Any:
        return (self.streams, self.method, self.args, self.kwargs)

    def __call__(self, *blocks_and_place: Any) -> Any:
        *blocks, number, shape = blocks_and_place
        rest = iter(blocks)
        args = [self.streams.parameter(next(rest)) if arg is BLOCK else arg for arg in self.args]
        return getattr(self.streams.of_block(number), self.method)(*args, size=shape, **self.kwargs)


class PermuteLines(SameChunks, BlockwiseArray):
    """Each line along an axis, which has one block, in a random order of its own."""

    parameters = ("array", "streams", "axis")
    operation = "permuted"

    streams: Streams
    axis: int

    @cached_property
    def function(self) -> Any:
        return PermuteBlockLines(self.streams, self.axis)

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (int(np.ravel_multi_index(index, self.numblocks)),)


class PermuteBlockLines:
    """Puts each line along an axis of a block into a random order of its own."""

    def __init__(self, streams: Streams, axis: int) -> None:
        self.streams, self.axis = streams, axis

    def __call__(self, block: Any, number: int) -> Any:
        return self.streams.of_block(number).permuted(block, axis=self.axis)


class DrawVectors(Draw):
    """Random vectors, along a last axis that has one block: as `Draw` for methods whose results have an axis more."""

    @property
    def tiled(self) -> Any:
        return None

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        number, shape = super().literals(index)
        return (number, shape[:-1])


def draw_vectors(
    streams: Streams, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], chunks: Chunks
) -> DrawVectors:
    """Return the node of random vectors; `chunks` are those of the axes in front of theirs."""
    args, kwargs = frozen(args), frozen(kwargs)
    sample = streams.meta(getattr(streams.on_host.of_block(0), method)(*args, size=(0,), **kwargs))
    meta = make_meta(sample, len(chunks) + 1)
    return DrawVectors(streams, method, args, kwargs, (*chunks, (sample.shape[-1],)), meta)


def draw_with(
    streams: Streams, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], chunks: Chunks, dtype: Any
) -> DrawWith:
    """Return the node of random numbers with arrays among their parameters, which get the blocks of the result."""
    fitted = tuple(_fit(arg, chunks) if isinstance(arg, ArrayExpr) else arg for arg in args)
    like = next(arg for arg in args if isinstance(arg, ArrayExpr)).meta
    if isinstance(streams.maker, str):
        like = meta_namespace(streams.maker).ones((0,), dtype=dtype)
    return DrawWith(streams, method, fitted, kwargs, chunks, make_meta(like, len(chunks), dtype))


def _fit(node: ArrayExpr, chunks: Chunks) -> ArrayExpr:
    own = chunks[len(chunks) - node.ndim :]
    return rechunk(node, tuple((1,) if length == 1 else blocks for length, blocks in zip(node.shape, own, strict=True)))


def draw(streams: Streams, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], chunks: Chunks) -> Draw:
    """Return the node of a random array. The method is called once with no elements: it says what is wrong."""
    args, kwargs = frozen(args), frozen(kwargs)
    sample = streams.meta(
        getattr(streams.on_host.of_block(0), method)(*args, size=(0,) * max(len(chunks), 1), **kwargs)
    )
    meta = sample if chunks else sample.sum()
    return Draw(streams, method, args, kwargs, chunks, np.asarray(meta) if not hasattr(meta, "ndim") else meta)
