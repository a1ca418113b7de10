"""The same array in other blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, is_known, starts, text_of
from glassloom.array.ops.base import ArrayExpr, View, describe
from glassloom.array.ops.rechunk_plan import default_limit, need, plan
from glassloom.backends.arrays import join
from glassloom.errors import ChunkError
from glassloom.expr import Expr, Pick, walk, whole_plan
from glassloom.expr.blockwise import Mapping, block_indices
from glassloom.graph import Key, Task
from glassloom.units import format_bytes

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
    """Blocks put together out of parts of several old ones. A task may need `limit_bytes`; None is a few blocks."""

    parameters = ("array", "chunks", "limit_bytes")
    operation = "rechunk"

    array: ArrayExpr
    limit_bytes: int | None

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    def stages(self) -> list[Chunks]:
        """Return the blocks of each step of the way, these last."""
        if not all(map(is_known, (*self.array.chunks, *self.chunks))):
            return [self.chunks]
        itemsize = self.dtype.itemsize
        limit = self.limit_bytes or default_limit(self.array.chunks, self.chunks, itemsize)
        return plan(self.array.chunks, self.chunks, itemsize, limit)

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
            tasks[key] = Task.of_blocks(key, merge_pieces, keys, (places, tuple(map(len, mine))))
        return tasks


def merge_pieces(*args: Any) -> Any:
    """Return pieces of blocks joined: called with blocks, then the place in each, and how many there are along each axis."""
    *blocks, places, grid = args
    pieces = [block[place] for block, place in zip(blocks, places, strict=True)]
    is_plain = all(type(piece) is np.ndarray and piece.dtype == pieces[0].dtype for piece in pieces)
    return _join_once(pieces, grid) if is_plain and len(pieces) > 1 else join(pieces, grid)


def _join_once(pieces: list[Any], grid: tuple[int, ...]) -> Any:
    """Copy each piece once, into its place: `join` copies once for each axis."""
    ends = []
    stride = len(pieces)
    for axis, count in enumerate(grid):
        stride //= count
        ends.append([0, *accumulate(piece.shape[axis] for piece in pieces[: stride * count : stride])])
    whole = np.empty(tuple(axis[-1] for axis in ends), pieces[0].dtype)
    for index, piece in zip(block_indices(grid), pieces, strict=True):
        whole[tuple(slice(axis[number], axis[number + 1]) for axis, number in zip(ends, index, strict=True))] = piece
    return whole


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


def rechunk(node: ArrayExpr, chunks: Chunks, limit_bytes: int | None = None) -> ArrayExpr:
    """Return the array in other blocks; itself if it has them already.

    Raises
    ------
    ChunkError
        If old blocks of unknown length would have to be cut or joined, or if tasks must need more than the limit.
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
    if only_splits:
        return Split(node, chunks)
    made = Merge(node, chunks, limit_bytes)
    if limit_bytes is not None:
        _check_limit(made, limit_bytes)
    return made


def _check_limit(node: Merge, limit_bytes: int) -> None:
    steps = pairwise([node.array.chunks, *node.stages()])
    least = max(need(before, after, node.dtype.itemsize).task_bytes for before, after in steps)
    if least > limit_bytes:
        raise ChunkError(
            f"limit={format_bytes(limit_bytes)} is too little to go from {text_of(node.array.chunks)} to "
            f"{text_of(node.chunks)}: a task needs {format_bytes(least)}"
        )


@whole_plan
def rechunk_in_stages(roots: Sequence[Expr]) -> list[Expr]:
    """Put blocks of a size in between where a rechunk would read too many blocks at once."""
    done: dict[str, Expr] = {}
    for node in walk(roots):
        made = node.substitute(lambda child: done[child.name])
        if isinstance(made, Merge):
            for chunks in made.stages()[:-1]:
                made = Merge(rechunk(made.array, chunks), made.chunks, made.limit_bytes, origin=made.origin)
        done[node.name] = made
    return [done[root.name] for root in roots]


def _same_blocks(old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    return old == new or (len(old) == len(new) and not is_known(old) and not is_known(new))
