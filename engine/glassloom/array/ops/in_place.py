"""Writes blocks straight to their places in the result of `compute`, where tasks run in the caller's memory.

A block is released as soon as it is copied, and blocks are copied in parallel. Without this all blocks exist until the
last one is there, and one thread copies them then.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, is_known, starts
from glassloom.array.tiling.tiles import copy_along_lines
from glassloom.expr import Expr
from glassloom.expr.blockwise import block_indices
from glassloom.graph import Key, Task

MIN_BLOCK_BYTES = 2**20
"""A task of its own for a smaller block costs more than copying it later."""

_WRITTEN = object()
"""What a task returns that has put its block into the result."""

_numbers = itertools.count()

Region = tuple[slice, ...]


class InPlace(Expr):
    """The result of one `compute`, and a task for each block that writes to it. `source` makes the blocks of `array`.

    Each has a name of its own: a result belongs to one caller. Blocks that turn out to be something else than `array`
    says (another type, shape or library) are handed through, and put together as they are without this node.
    """

    parameters = ("array", "source")
    operation = "write"

    array: Any
    source: Expr

    def __init__(self, array: Any, source: Expr) -> None:
        self.operands = (array, source)
        self.origin = array.origin
        self.name = f"{self.operation}-{next(_numbers):016x}"
        self._result = _Result(np.empty(array.shape, array.dtype))

    @property
    def dependencies(self) -> list[Expr]:
        return [self.source]

    def output_keys(self) -> list[Key]:
        return [(self.name, *index) for index in block_indices(self.array.numblocks)]

    def tasks(self) -> dict[Key, Task]:
        found = zip(self.output_keys(), self.source.output_keys(), regions(self.array.chunks), strict=True)
        return {key: Task.of_blocks(key, self._result.write, [block], (region,)) for key, block, region in found}

    def assemble(self, blocks: list[Any]) -> Any:
        whole = self._result.hand_over()
        if all(block is _WRITTEN for block in blocks):
            return whole
        made = zip(blocks, regions(self.array.chunks), strict=True)
        return self.array.assemble([whole[region] if block is _WRITTEN else block for block, region in made])


class _Result:
    """An array that is being written. Tasks refer to it by this, so that finished ones don't keep it in memory."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def write(self, block: Any, region: Region) -> Any:
        """Copy a block to its place; return it if it doesn't fit there."""
        place = self._array[region]
        if type(block) is not np.ndarray or block.dtype != place.dtype or block.shape != place.shape:
            return block
        copy_along_lines(block, place)
        return _WRITTEN

    def hand_over(self) -> Any:
        """Return the array, and forget it."""
        array, self._array = self._array, None
        return array


def in_place(array: Any, source: Expr) -> Expr:
    """Return the node that writes the blocks of `array` to one result; `source` where that can't be or doesn't pay."""
    if type(array.meta) is not np.ndarray or array.dtype.hasobject or not all(map(is_known, array.chunks)):
        return source
    n_blocks = math.prod(array.numblocks)
    if n_blocks < 2 or array.size * array.dtype.itemsize < n_blocks * MIN_BLOCK_BYTES:
        return source
    return InPlace(array, source)


def regions(chunks: Chunks) -> Iterator[Region]:
    """Yield where each block lies in the whole array, blocks in C order.

    >>> list(regions(((2, 3),)))
    [(slice(0, 2, None),), (slice(2, 5, None),)]
    """
    along = [
        [slice(start, start + length) for start, length in zip(starts(lengths), lengths, strict=False)]
        for lengths in chunks
    ]
    return itertools.product(*along)
