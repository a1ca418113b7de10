"""Random arrays: each block is drawn from a stream of its own.

The stream of a block depends on the seed, on which call of the generator it was, and on the block's number: not on
where, when and by how many workers it is drawn, nor on which other blocks are. Slices are never pushed into a draw.
"""

from __future__ import annotations

import math
from functools import cached_property
from operator import mul
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks
from glassloom.array.nodes.base import BlockwiseArray
from glassloom.array.nodes.tiled import TiledDraw
from glassloom.backends.arrays import backend_named


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

    @cached_property
    def tiled(self) -> Any:
        return TiledDraw.of(self.function, self.dtype)

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (sum(map(mul, index, self._strides)), self.block_shape(index))

    @cached_property
    def _strides(self) -> list[int]:
        """By how much the block's number grows along each axis."""
        counts = self.numblocks
        return [math.prod(counts[axis + 1 :]) for axis in range(len(counts))]


class Streams:
    """The streams of one call: `entropy` is the seed's, `call` the number of the call.

    `maker` is the name of a backend, or a class such as ``numpy.random.RandomState`` that takes an array as its seed.
    """

    def __init__(self, entropy: int, call: int, maker: Any) -> None:
        self.entropy, self.call, self.maker = entropy, call, maker

    def __glassloom_tokenize__(self) -> Any:
        return (self.entropy, self.call, self.maker)

    def of_block(self, number: int) -> Any:
        """Return the generator of a block."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(self.call, number))
        if isinstance(self.maker, str):
            return backend_named(self.maker).generator(sequence)
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


def draw(streams: Streams, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], chunks: Chunks) -> Draw:
    """Return the node of a random array. The method is called once with no elements: it says what is wrong."""
    sample = getattr(streams.of_block(0), method)(*args, size=(0,) * max(len(chunks), 1), **kwargs)
    meta = sample if chunks else sample.sum()
    return Draw(streams, method, args, kwargs, chunks, np.asarray(meta) if not hasattr(meta, "ndim") else meta)
