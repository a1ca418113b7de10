"""Blocks with a margin of their neighbours, and the margin taken off again."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from glassloom.array.chunks import Chunks
from glassloom.array.ops.base import ArrayExpr, View
from glassloom.array.ops.rechunk import Piece, merge_pieces, take_place
from glassloom.expr.blockwise import Mapping, block_indices
from glassloom.graph import Key, Task

Windows = tuple[tuple[tuple[int, int], ...], ...]
"""For each axis, for each block, from where to where it reaches."""


class Overlap(ArrayExpr):
    """Windows of an array as blocks: they may overlap."""

    parameters = ("array", "windows")

    array: ArrayExpr
    windows: Windows

    @cached_property
    def chunks(self) -> Chunks:
        return tuple(tuple(end - begin for begin, end in axis) for axis in self.windows)

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    def tasks(self) -> dict[Key, Task]:
        pieces = [
            window_pieces(windows, blocks) for windows, blocks in zip(self.windows, self.array.chunks, strict=True)
        ]
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            mine = [axis[number] for axis, number in zip(pieces, index, strict=True)]
            parts = list(itertools.product(*mine))
            keys: list[Key] = [(self.array.name, *(number for number, _ in part)) for part in parts]
            places = [tuple(place for _, place in part) for part in parts]
            key: Key = (self.name, *index)
            tasks[key] = Task.of_blocks(key, merge_pieces, keys, (places, tuple(map(len, mine))))
        return tasks


def window_pieces(windows: Sequence[tuple[int, int]], blocks: tuple[int, ...]) -> list[list[Piece]]:
    """Return, for each window along an axis, the pieces of blocks that it consists of.

    >>> window_pieces([(2, 6)], (3, 3, 3))
    [[(0, slice(2, 3, None)), (1, slice(0, 3, None))]]
    """
    ends = list(accumulate(blocks))
    found = []
    for begin, end in windows:
        pieces: list[Piece] = []
        for number in range(bisect_right(ends, begin), len(blocks)):  # from the first block that ends behind the begin
            start = ends[number] - blocks[number]
            if start >= end:
                break
            low, high = max(begin - start, 0), min(end - start, blocks[number])
            if high > low:
                pieces.append((number, slice(low, high)))
        found.append(pieces or [(0, slice(0, 0))])
    return found


class Trim(View):
    """Blocks without their margins: `margins` has, for each axis and block, what goes in front and behind."""

    parameters = ("array", "margins")

    array: ArrayExpr
    margins: Windows

    @cached_property
    def chunks(self) -> Chunks:
        return tuple(
            tuple(length - front - behind for length, (front, behind) in zip(blocks, axis, strict=True))
            for blocks, axis in zip(self.array.chunks, self.margins, strict=True)
        )

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    @property
    def mappings(self) -> list[Mapping]:
        return [tuple(range(self.ndim))]

    @property
    def function(self) -> Any:
        return take_place

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        margins = [axis[number] for axis, number in zip(self.margins, index, strict=True)]
        return (tuple(slice(front, -behind if behind else None) for front, behind in margins),)
