"""Elements at points: several lists of positions that go together, one for each of some axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.array.nodes.base import ArrayExpr, make_meta
from glassloom.array.nodes.creation import from_numpy
from glassloom.array.nodes.indexed import indexed, whole
from glassloom.array.nodes.rechunk import rechunk
from glassloom.array.nodes.shaping import reshape
from glassloom.backends.arrays import concatenate, namespace_of
from glassloom.expr.blockwise import block_indices
from glassloom.graph import Key, Task

Positions = np.ndarray[Any, Any]


class TakePoints(ArrayExpr):
    """Elements at points, along a first axis of their own; the axes that points don't name follow.

    `points` has positions for each of `axes`; `lengths` cuts them into blocks.
    """

    parameters = ("array", "axes", "points", "lengths")
    operation = "points"

    array: ArrayExpr
    axes: tuple[int, ...]
    points: tuple[Positions, ...]
    lengths: tuple[int, ...]

    @cached_property
    def _rest(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(self.array.ndim) if axis not in self.axes)

    @cached_property
    def chunks(self) -> Chunks:
        return (self.lengths, *(self.array.chunks[axis] for axis in self._rest))

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim)

    def tasks(self) -> dict[Key, Task]:
        begins = starts(self.lengths)
        plans = []
        for begin, length in zip(begins, self.lengths, strict=True):
            groups = group_points([each[begin : begin + length] for each in self.points], self.array.chunks, self.axes)
            order = np.argsort(np.concatenate([which for _, which, _ in groups]))
            plans.append((groups, PointGather(self.axes, [place for _, _, place in groups], order)))
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            groups, function = plans[index[0]]
            keys: list[Key] = [self._source(numbers, index[1:]) for numbers, _, _ in groups]
            key: Key = (self.name, *index)
            tasks[key] = Task.of_blocks(key, function, keys)
        return tasks

    def _source(self, numbers: tuple[int, ...], rest: tuple[int, ...]) -> Key:
        found = [0] * self.array.ndim
        for axis, number in zip((*self.axes, *self._rest), (*numbers, *rest), strict=True):
            found[axis] = number
        return (self.array.name, *found)


def group_points(
    points: Sequence[Positions], chunks: Chunks, axes: Sequence[int]
) -> list[tuple[tuple[int, ...], Positions, tuple[Positions, ...]]]:
    """Return for each block that holds points: its number along `axes`, which points they are, and their positions
    in it. Points of one block keep their order. Without points it is the first block and none.

    >>> group_points([np.array([5, 0])], ((4, 4),), [0])[1]
    ((1,), array([0]), (array([1]),))
    """
    begins = [np.asarray(starts(chunks[axis])) for axis in axes]
    numbers = [np.searchsorted(b, p, side="right") - 1 for b, p in zip(begins, points, strict=True)]
    counts = tuple(len(chunks[axis]) for axis in axes)
    flat = np.ravel_multi_index(numbers, counts) if len(points[0]) else np.zeros(0, dtype=np.intp)
    by_block = np.argsort(flat, kind="stable")
    blocks, first = np.unique(flat[by_block], return_index=True)
    if not len(blocks):
        blocks, first = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
    groups = []
    for block, which in zip(blocks, np.split(by_block, first[1:]), strict=True):
        number = tuple(map(int, np.unravel_index(block, counts)))
        place = tuple(p[which] - b[n] for p, b, n in zip(points, begins, number, strict=True))
        groups.append((number, which, place))
    return groups


class PointGather:
    """Takes points out of several blocks and puts them in order."""

    def __init__(self, axes: tuple[int, ...], places: list[tuple[Positions, ...]], order: Positions) -> None:
        self.axes, self.places, self.order = axes, places, order

    def __call__(self, *blocks: Any) -> Any:
        xp = namespace_of(blocks[0])
        parts = [
            first_axes(block, self.axes)[tuple(map(xp.asarray, place))]
            for block, place in zip(blocks, self.places, strict=True)
        ]
        joined = parts[0] if len(parts) == 1 else concatenate(parts, 0)
        return xp.take(joined, xp.asarray(self.order), axis=0)


def first_axes(block: Any, axes: Sequence[int]) -> Any:
    """Return a view of a block with some axes moved to the front."""
    rest = [axis for axis in range(block.ndim) if axis not in axes]
    return namespace_of(block).transpose(block, (*axes, *rest))


def take_points(node: ArrayExpr, axes: Sequence[int], positions: Sequence[Any]) -> ArrayExpr:
    """Return the elements at points: the axes of the (broadcast) positions first, then the others.

    Parameters
    ----------
    positions
        For each of `axes` an integer array of NumPy or a node, checked and not negative where they are NumPy's.
    """
    if any(isinstance(each, ArrayExpr) for each in positions):
        return _take_lazy_points(node, axes, positions)
    several = np.broadcast_arrays(*positions)
    shape = several[0].shape
    flat = tuple(each.ravel() for each in several)
    limit = max(1, math.prod(max(node.chunks[axis]) for axis in axes))
    count = len(flat[0])
    lengths = tuple(min(limit, count - begin) for begin in range(0, count, limit)) or (0,)
    made = TakePoints(node, tuple(axes), flat, lengths)
    return made if len(shape) == 1 else reshape(made, (*shape, *made.shape[1:]))


def _take_lazy_points(node: ArrayExpr, axes: Sequence[int], positions: Sequence[Any]) -> ArrayExpr:
    """Which blocks hold the points isn't known before they are computed: the axes become one block."""
    lists = [each if isinstance(each, ArrayExpr) else _as_node(each) for each in positions]
    ndim = max(each.ndim for each in lists)
    rest = [axis for axis in range(node.ndim) if axis not in axes]
    labels = [tuple(f"p{number}" for number in range(ndim - each.ndim, ndim)) for each in lists]
    own = tuple(f"a{axis}" for axis in range(node.ndim))
    out = (*(f"p{number}" for number in range(ndim)), *(own[axis] for axis in rest))
    joined = rechunk(node, whole(node.chunks, axes))
    return indexed(TakeLazily(tuple(axes)), [joined, *lists], [own, *labels], out, meta=make_meta(node.meta, len(out)))


def _as_node(positions: Positions) -> ArrayExpr:
    return from_numpy(positions)


class TakeLazily:
    """Takes points out of a block that is whole along their axes."""

    __name__ = "points"

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def __glassloom_tokenize__(self) -> Any:
        return self.axes

    def __call__(self, block: Any, *positions: Any) -> Any:
        return first_axes(block, self.axes)[positions]
