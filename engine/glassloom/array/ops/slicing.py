"""Parts of arrays: slices and integers, lists of positions, masks, and new axes."""

from __future__ import annotations

import math
import operator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from glassloom.array.chunks import UNKNOWN, Chunks, is_known, starts
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, View, describe, make_meta
from glassloom.array.ops.rechunk import pick_axes, rechunk
from glassloom.array.tiling.steps import TiledNewAxes, TiledSlice
from glassloom.backends.arrays import concatenate, namespace_of
from glassloom.errors import ChunkError
from glassloom.expr import Pick
from glassloom.expr.blockwise import Mapping, block_indices
from glassloom.graph import Key, Task, tokenize

Selector = int | range | None
"""What is taken of an axis: one element (the axis goes away), a range of them, or all (None)."""


class Slice(View):
    """Evenly spaced parts along each axis. Every block comes from one block, so slices become part of other tasks.

    `index` has a `Selector` for each axis. Blocks of which nothing is taken are not read.
    """

    parameters = ("array", "index")

    array: ArrayExpr
    index: tuple[Selector, ...]

    @property
    def label(self) -> str:
        return "slice"

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim)

    @cached_property
    def _cuts(self) -> list[list[tuple[int, Any, int]]]:
        """For each axis of the array: (number of the block, what is taken of it, how many elements that is)."""
        return [cut_axis(selector, blocks) for selector, blocks in zip(self.index, self.array.chunks, strict=True)]

    @cached_property
    def _kept(self) -> list[int]:
        return [axis for axis, selector in enumerate(self.index) if not isinstance(selector, int)]

    @cached_property
    def chunks(self) -> Chunks:
        return tuple(tuple(length for _, _, length in self._cuts[axis]) for axis in self._kept)

    @property
    def mappings(self) -> list[Mapping]:
        position = {axis: place for place, axis in enumerate(self._kept)}
        entries: list[int | None | Pick] = []
        for axis, cuts in enumerate(self._cuts):
            numbers = tuple(number for number, _, _ in cuts)
            if axis not in position:
                entries.append(Pick(None, numbers) if self.array.numblocks[axis] > 1 else None)
            elif numbers == tuple(range(self.array.numblocks[axis])):
                entries.append(position[axis])
            else:
                entries.append(Pick(position[axis], numbers))
        return [tuple(entries)]

    @property
    def function(self) -> Any:
        return operator.getitem

    @property
    def tiled(self) -> Any:
        return TiledSlice()

    @cached_property
    def _places(self) -> list[list[Any]]:
        return [[place for _, place, _ in cuts] for cuts in self._cuts]

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        if len(index) == len(self.index):
            return (tuple([places[number] for places, number in zip(self._places, index, strict=True)]),)
        numbers = iter(index)
        return (
            tuple(
                places[0] if isinstance(selector, int) else places[next(numbers)]
                for selector, places in zip(self.index, self._places, strict=True)
            ),
        )


@lru_cache(maxsize=32)  # rewriting a slice cuts the same axes again
def cut_axis(selector: Selector, blocks: tuple[int, ...]) -> list[tuple[int, Any, int]]:
    """Return (number of the block, what is taken of it, how many elements that is) for each new block of an axis.

    >>> cut_axis(range(1, 9, 3), (4, 4))
    [(0, slice(1, 4, 3), 1), (1, slice(0, 4, 3), 2)]
    """
    if selector is None:
        return [(number, slice(None), length) for number, length in enumerate(blocks)]
    begins = starts(blocks)
    if isinstance(selector, int):
        number = int(np.searchsorted(begins, selector, side="right")) - 1
        return [(number, selector - begins[number], 1)]
    if not selector:
        return [(0, slice(0, 0), 0)]
    rising = selector if selector.step > 0 else selector[::-1]
    cuts = []
    for number, (begin, length) in enumerate(zip(begins, blocks, strict=True)):
        first = begin + (rising.start - begin) % rising.step if rising.start < begin else rising.start
        end = min(begin + length, rising.stop)
        if first >= end:
            continue
        count = (end - 1 - first) // rising.step + 1
        low = first - begin
        if selector.step > 0:
            cuts.append((number, slice(low, end - begin, rising.step), count))
        else:
            stop = low - rising.step
            high = low + (count - 1) * rising.step
            cuts.append((number, slice(high, stop if stop >= 0 else None, -rising.step), count))
    return cuts if selector.step > 0 else cuts[::-1]


class NewAxes(View):
    """Axes of length 1 put in at `axes` (positions in the result, ascending)."""

    parameters = ("array", "axes")
    operation = "newaxis"

    array: ArrayExpr
    axes: tuple[int, ...]

    @cached_property
    def _old(self) -> list[int]:
        """Positions in the result of the old axes."""
        return [axis for axis in range(self.array.ndim + len(self.axes)) if axis not in self.axes]

    @cached_property
    def chunks(self) -> Chunks:
        found: list[tuple[int, ...]] = [(1,)] * (self.array.ndim + len(self.axes))
        for axis, blocks in zip(self._old, self.array.chunks, strict=True):
            found[axis] = blocks
        return tuple(found)

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim)

    @property
    def mappings(self) -> list[Mapping]:
        return [tuple(self._old)]

    @cached_property
    def function(self) -> Any:
        return InsertAxes(self.axes)

    @property
    def tiled(self) -> Any:
        return TiledNewAxes(self.axes)


class InsertAxes:
    """Puts axes of length 1 into a block."""

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def __call__(self, block: Any) -> Any:
        ndim = block.ndim + len(self.axes)
        return block[tuple(None if axis in self.axes else slice(None) for axis in range(ndim))]


class _Positions(ArrayExpr):
    """Positions along one axis, in any order."""

    parameters = ("array", "axis", "pieces")

    array: ArrayExpr
    axis: int
    pieces: tuple[np.ndarray[Any, Any], ...]
    """The positions, cut into those of each new block."""

    def token_of_operands(self) -> str:
        """Return the token by all positions in one array: there may be very many pieces."""
        lengths = np.asarray([len(piece) for piece in self.pieces])
        positions = np.concatenate(self.pieces) if self.pieces else lengths
        return tokenize(type(self).__qualname__, self.array.name, self.axis, positions, lengths)

    @cached_property
    def chunks(self) -> Chunks:
        lengths = tuple(len(piece) for piece in self.pieces)
        return (*self.array.chunks[: self.axis], lengths, *self.array.chunks[self.axis + 1 :])

    @cached_property
    def meta(self) -> Any:
        return self.array.meta


class Take(_Positions):
    """Positions along one axis, taken from blocks all over it."""

    def tasks(self) -> dict[Key, Task]:
        begins = np.asarray(starts(self.array.chunks[self.axis]))
        plans = [_gather_plan(piece, begins) for piece in self.pieces]
        functions = [Gather(self.axis, places, order) for _, places, order in plans]
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            key: Key = (self.name, *index)
            number = index[self.axis]
            before, after = index[: self.axis], index[self.axis + 1 :]
            keys: list[Key] = [(self.array.name, *before, source, *after) for source in plans[number][0]]
            tasks[key] = Task.of_blocks(key, functions[number], keys)
        return tasks


def _gather_plan(
    piece: np.ndarray[Any, Any], begins: np.ndarray[Any, Any]
) -> tuple[list[int], list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Return the blocks to read, the positions in each, and how to order what was read."""
    numbers = np.searchsorted(begins, piece, side="right") - 1
    by_block = np.argsort(numbers, kind="stable")
    sources = np.unique(numbers)
    places = [piece[numbers == source] - begins[source] for source in sources]
    order = np.empty_like(by_block)
    order[by_block] = np.arange(len(by_block))
    return sources.tolist(), places, order


class Gather:
    """Takes positions out of several blocks and puts them in order."""

    def __init__(self, axis: int, places: list[np.ndarray[Any, Any]], order: np.ndarray[Any, Any]) -> None:
        self.axis, self.places, self.order = axis, places, order

    def __call__(self, *blocks: Any) -> Any:
        xp = namespace_of(blocks[0])
        parts = [
            xp.take(block, xp.asarray(place), axis=self.axis) for block, place in zip(blocks, self.places, strict=True)
        ]
        if len(parts) == 1:
            return xp.take(parts[0], xp.asarray(self.order), axis=self.axis)
        return xp.take(concatenate(parts, self.axis), xp.asarray(self.order), axis=self.axis)


class TakeWithin(_Positions, BlockwiseArray):
    """Positions along one axis, those of each new block within one old block."""

    operation = "take"

    @cached_property
    def _begins(self) -> np.ndarray[Any, Any]:
        return np.asarray(starts(self.array.chunks[self.axis]))

    @cached_property
    def _numbers(self) -> tuple[int, ...]:
        """The old block of each new one; 0 for a new block without elements."""
        first = np.asarray([piece[0] if len(piece) else 0 for piece in self.pieces])
        found: list[int] = (np.searchsorted(self._begins, first, side="right") - 1).tolist()
        return tuple([number if len(piece) else 0 for number, piece in zip(found, self.pieces, strict=True)])

    @property
    def mappings(self) -> list[Mapping]:
        numbers = [tuple(range(count)) for count in self.array.numblocks]
        numbers[self.axis] = self._numbers
        return [pick_axes(numbers, self.array.numblocks)]

    @cached_property
    def function(self) -> Any:
        return TakeAlong(self.axis)

    @cached_property
    def _places(self) -> list[np.ndarray[Any, Any]]:
        begins = self._begins[list(self._numbers)].tolist()
        return [piece - begin for piece, begin in zip(self.pieces, begins, strict=True)]

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (self._places[index[self.axis]],)


class TakeAlong:
    """Takes positions along an axis of a block."""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def __call__(self, block: Any, positions: Any) -> Any:
        xp = namespace_of(block)
        return xp.take(block, xp.asarray(positions), axis=self.axis)


class Compress(BlockwiseArray):
    """The elements along one axis where a mask is true; how many is known when it has run."""

    parameters = ("array", "mask", "axis")
    operation = "mask"

    array: ArrayExpr
    mask: ArrayExpr
    axis: int

    @cached_property
    def chunks(self) -> Chunks:
        unknown = (UNKNOWN,) * self.array.numblocks[self.axis]
        return (*self.array.chunks[: self.axis], unknown, *self.array.chunks[self.axis + 1 :])

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    @property
    def mappings(self) -> list[Mapping]:
        return [tuple(range(self.ndim)), (self.axis,)]

    @cached_property
    def function(self) -> Any:
        return CompressBlock(self.axis)


class CompressBlock:
    """Takes the elements along an axis where a mask is true."""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def __call__(self, block: Any, mask: Any) -> Any:
        return block[(*(slice(None),) * self.axis, mask)]


def slice_array(node: ArrayExpr, selectors: tuple[Selector, ...]) -> ArrayExpr:
    """Return a `Slice`, or the array itself if everything is taken."""
    canonical = tuple(
        None if isinstance(selector, range) and selector == range(length) and length == length else selector
        for selector, length in zip(selectors, (_known_length(blocks) for blocks in node.chunks), strict=True)
    )
    return node if all(selector is None for selector in canonical) else Slice(node, canonical)


def take(node: ArrayExpr, positions: Any, axis: int, whole: ArrayExpr | None = None) -> ArrayExpr:
    """Return the elements at positions, or where a mask is true, along an axis."""
    length = node.shape[axis]
    if isinstance(positions, ArrayExpr):
        if positions.dtype.kind == "b":
            return _compress(node, positions, axis)
        raise NotImplementedError("positions must be a list or a NumPy array for now; call compute() on them first")
    array = np.asarray(positions)
    if array.dtype.kind == "b":
        if len(array) != length:
            raise IndexError(f"a mask of {len(array)} elements for axis {axis} with {length} elements")
        array = np.flatnonzero(array)
    elif array.size == 0:
        array = array.astype(np.intp)
    elif array.dtype.kind not in "iu":
        raise IndexError(f"positions must be integers or booleans, got {array.dtype}: {positions!r}")
    if array.ndim != 1:
        raise NotImplementedError(f"positions must be one list, got an array with {array.ndim} axes")
    check_known(node, axis)
    array = array.astype(np.intp)
    wrong = array[(array < -length) | (array >= length)]
    if len(wrong):
        raise IndexError(f"index {wrong[0]} is out of bounds for axis {axis} with {length} elements")
    array = np.where(array < 0, array + int(length), array)
    pieces, within = _take_pieces(array, node.chunks[axis])
    return TakeWithin(node, axis, pieces) if within else Take(node, axis, pieces)


def _take_pieces(
    positions: np.ndarray[Any, Any], blocks: tuple[int, ...]
) -> tuple[tuple[np.ndarray[Any, Any], ...], bool]:
    """Return the positions cut into new blocks, and whether each lies within one old block.

    Runs of one block stay together if there are few of them, up to twice the longest block: two tasks that read one block
    keep it from being made in the task that reads it. Else the new blocks are as long as the old ones.
    """
    if not len(positions):
        return (positions,), True
    numbers = np.searchsorted(starts(blocks), positions, side="right") - 1
    ends = np.flatnonzero(np.diff(numbers)) + 1
    if len(ends) < max(2 * len(blocks), len(positions) // max(blocks)):
        runs = np.split(positions, ends)
        longest = max(blocks)
        return tuple(part for run in runs for part in ([run] if len(run) <= 2 * longest else _cut(run, longest))), True
    return tuple(_cut(positions, max(blocks))), False


def _cut(positions: np.ndarray[Any, Any], length: int) -> list[np.ndarray[Any, Any]]:
    return [positions[start : start + length] for start in range(0, len(positions), length)]


def _compress(node: ArrayExpr, mask: ArrayExpr, axis: int) -> ArrayExpr:
    if mask.ndim != 1 or not may_be_equal(mask.shape[0], node.shape[axis]):
        raise IndexError(f"a mask of {describe(mask)} for axis {axis} of an array of {describe(node)}")
    if is_known(node.chunks[axis]) and is_known(mask.chunks[0]):
        mask = rechunk(mask, (node.chunks[axis],))
    elif mask.numblocks[0] != node.numblocks[axis]:
        raise ChunkError(f"a mask of {describe(mask)} doesn't line up with axis {axis} of an array of {describe(node)}")
    return Compress(node, mask, axis)


def check_known(node: ArrayExpr, axis: int) -> int:
    """Return the length of an axis; raise `ChunkError` if it isn't known."""
    if not is_known(node.chunks[axis]):
        raise ChunkError(f"axis {axis} has blocks of unknown length; call compute_chunk_sizes() first")
    return int(node.shape[axis])


def _known_length(blocks: tuple[int, ...]) -> int:
    return sum(blocks) if is_known(blocks) else -1


def may_be_equal(one: float, other: float) -> bool:
    """Whether two lengths are equal as far as they are known."""
    return one == other or math.isnan(one) or math.isnan(other)
