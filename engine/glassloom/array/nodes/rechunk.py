"""The same array in other blocks."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

from glassloom.array.chunks import Chunks, is_known, starts
from glassloom.array.nodes.base import ArrayExpr, View, describe
from glassloom.backends.arrays import join
from glassloom.errors import ChunkError
from glassloom.expr import Pick
from glassloom.expr.blockwise import Mapping, block_indices
from glassloom.graph import Key, Task

Piece = tuple[int, slice]
"""A block's number along an axis, and what is taken of it."""


class Split(View):
    """Blocks cut into smaller ones: each new block lies within one old block."""

    parameters = ("array", "chunks")

    array: ArrayExpr

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    @cached_property
    def _pieces(self) -> list[list[list[Piece]]]:
        return [overlaps(old, new) for old, new in zip(self.array.chunks, self.chunks, strict=True)]

    @property
    def mappings(self) -> list[Mapping]:
        numbers = [tuple(piece[0][0] for piece in pieces) for pieces in self._pieces]
        return [pick_axes(numbers, self.array.numblocks)]

    @property
    def function(self) -> Any:
        return take_place

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (tuple(pieces[number][0][1] for pieces, number in zip(self._pieces, index, strict=True)),)


class Merge(ArrayExpr):
    """Blocks put together out of parts of several old ones."""

    parameters = ("array", "chunks")
    operation = "rechunk"

    array: ArrayExpr

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    def tasks(self) -> dict[Key, Task]:
        pieces = [overlaps(old, new) for old, new in zip(self.array.chunks, self.chunks, strict=True)]
        source = self.array.name
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            mine = [axis[number] for axis, number in zip(pieces, index, strict=True)]
            keys: list[Key] = []
            places = []
            for parts in itertools.product(*mine):
                keys.append((source, *[number for number, _ in parts]))
                places.append(tuple(place for _, place in parts))
            key: Key = (self.name, *index)
            tasks[key] = Task.of_blocks(key, MergePieces(places, tuple(map(len, mine))), keys)
        return tasks


class MergePieces:
    """Cuts pieces out of blocks and joins them."""

    __slots__ = ("grid", "places")

    def __init__(self, places: list[tuple[slice, ...]], grid: tuple[int, ...]) -> None:
        self.places, self.grid = places, grid

    def __reduce__(self) -> tuple[Any, ...]:
        return (MergePieces, (self.places, self.grid))

    def __call__(self, *blocks: Any) -> Any:
        return join([block[place] for block, place in zip(blocks, self.places, strict=True)], self.grid)


def pick_axes(numbers: list[tuple[int, ...]], numblocks: tuple[int, ...]) -> Mapping:
    """Return the mapping that reads these blocks along each axis: plain where they are all blocks in order."""
    return tuple(
        axis if picked == tuple(range(count)) else Pick(axis, picked)
        for axis, (picked, count) in enumerate(zip(numbers, numblocks, strict=True))
    )


def take_place(block: Any, place: tuple[slice, ...]) -> Any:
    """Return a part of a block."""
    return block[place]


def overlaps(old: tuple[int, ...], new: tuple[int, ...]) -> list[list[Piece]]:
    """Return, for each new block along an axis, the pieces of old blocks that it consists of.

    >>> overlaps((4, 4), (3, 5))
    [[(0, slice(0, 3, None))], [(0, slice(3, 4, None)), (1, slice(0, 4, None))]]
    """
    if not is_known(old):
        return [[(number, slice(None))] for number in range(len(old))]
    begins = starts(old)
    found: list[list[Piece]] = []
    number, begin = 0, 0
    for length in new:
        end = begin + length
        pieces: list[Piece] = []
        while length and number < len(old) and begins[number] < end:
            low, high = max(begin - begins[number], 0), min(end - begins[number], old[number])
            if high > low:
                pieces.append((number, slice(low, high)))
            if begins[number] + old[number] > end:
                break
            number += 1
        found.append(pieces or [(min(number, len(old) - 1), slice(0, 0))])
        begin = end
    return found


def rechunk(node: ArrayExpr, chunks: Chunks) -> ArrayExpr:
    """Return the array in other blocks; itself if it has them already.

    Raises
    ------
    ChunkError
        If old blocks of unknown length would have to be cut or joined.
    """
    pairs = list(zip(node.chunks, chunks, strict=True))
    if all(_same_blocks(old, new) for old, new in pairs):
        return node
    for axis, (old, new) in enumerate(pairs):
        if not is_known(old) and not _same_blocks(old, new):
            raise ChunkError(
                f"axis {axis} of an array of {describe(node)} can't be rechunked: its blocks have unknown lengths; "
                "call compute_chunk_sizes() first"
            )
    only_splits = all(len(pieces) == 1 for old, new in pairs for pieces in overlaps(old, new))
    return Split(node, chunks) if only_splits else Merge(node, chunks)


def _same_blocks(old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    return old == new or (len(old) == len(new) and not is_known(old) and not is_known(new))
