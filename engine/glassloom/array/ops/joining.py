"""Arrays one after the other, and all blocks of one in one task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, common_refinement, is_known
from glassloom.array.ops.base import ArrayExpr, describe, normalize_axis
from glassloom.array.ops.elementwise import astype, on_one_device
from glassloom.array.ops.rechunk import rechunk
from glassloom.array.ops.slicing import NewAxes
from glassloom.expr.blockwise import block_indices
from glassloom.graph import Key, Task, function_label


class Concatenate(ArrayExpr):
    """The blocks of several arrays along one axis; they have equal types and equal blocks along the others."""

    parameters = ("arrays", "axis")

    arrays: tuple[ArrayExpr, ...]
    axis: int

    @cached_property
    def chunks(self) -> Chunks:
        first = self.arrays[0].chunks
        along = tuple(length for node in self.arrays for length in node.chunks[self.axis])
        return (*first[: self.axis], along, *first[self.axis + 1 :])

    @cached_property
    def meta(self) -> Any:
        return self.arrays[0].meta

    def tasks(self) -> dict[Key, Task]:
        return {}

    def aliases(self) -> dict[Key, Key]:
        ends = list(accumulate(node.numblocks[self.axis] for node in self.arrays))
        owner = np.searchsorted(ends, range(ends[-1]), side="right").tolist()
        found: dict[Key, Key] = {}
        for index in block_indices(self.numblocks):
            number = index[self.axis]
            node = self.arrays[owner[number]]
            inside = number - (ends[owner[number]] - node.numblocks[self.axis])
            found[(self.name, *index)] = (node.name, *index[: self.axis], inside, *index[self.axis + 1 :])
        return found


def concatenate(nodes: Sequence[ArrayExpr], axis: int = 0) -> ArrayExpr:
    """Return the arrays one after the other along an axis.

    Raises
    ------
    ValueError
        If there are none, or if they differ along another axis.
    """
    if not nodes:
        raise ValueError("concatenate needs at least one array")
    nodes = on_one_device(nodes)
    axis = normalize_axis(axis, nodes[0].ndim)
    first = nodes[0]
    for number, node in enumerate(nodes):
        if node.ndim != first.ndim or _others(node.shape, axis) != _others(first.shape, axis):
            raise ValueError(
                f"concatenate along axis {axis}: array 0 has {describe(first)}, array {number} has {describe(node)}; "
                "they must agree along the other axes"
            )
    dtype = np.result_type(*(node.dtype for node in nodes))
    same = [astype(node, dtype) for node in nodes if node.shape[axis] != 0 or len(nodes) == 1] or [astype(first, dtype)]
    wanted = [
        common_refinement([node.chunks[other] for node in same]) if _all_known(same, other) else same[0].chunks[other]
        for other in range(first.ndim)
    ]
    aligned = [
        rechunk(node, tuple(node.chunks[o] if o == axis else wanted[o] for o in range(node.ndim))) for node in same
    ]
    return aligned[0] if len(aligned) == 1 else Concatenate(tuple(aligned), axis)


def stack(nodes: Sequence[ArrayExpr], axis: int = 0) -> ArrayExpr:
    """Return the arrays side by side along a new axis.

    Raises
    ------
    ValueError
        If there are none, or if their shapes differ.
    """
    if not nodes:
        raise ValueError("stack needs at least one array")
    for number, node in enumerate(nodes):
        if node.shape != nodes[0].shape:
            raise ValueError(
                f"stack: array 0 has {describe(nodes[0])}, array {number} has {describe(node)}; shapes must be equal"
            )
    axis = normalize_axis(axis, nodes[0].ndim + 1)
    return concatenate([NewAxes(node, (axis,)) for node in nodes], axis)


def _others(shape: tuple[int, ...], axis: int) -> list[Any]:
    return [None if length != length else length for place, length in enumerate(shape) if place != axis]


def _all_known(nodes: Sequence[ArrayExpr], axis: int) -> bool:
    return all(is_known(node.chunks[axis]) for node in nodes)


class Collect(ArrayExpr):
    """``function(list of all blocks)``, blocks in C order: an array of one block."""

    parameters = ("array", "function", "chunks", "meta")

    array: ArrayExpr
    function: Any

    @property
    def label(self) -> str:
        return function_label(self.function) if hasattr(self.function, "__name__") else "collect"

    def tasks(self) -> dict[Key, Task]:
        (key,) = self.output_keys()
        return {key: Task.of_blocks(key, Listed(self.function), self.array.output_keys())}


class Listed:
    """Calls a function with its arguments as one list."""

    def __init__(self, function: Any) -> None:
        self.function = function

    @property
    def __name__(self) -> str:
        return function_label(self.function) if hasattr(self.function, "__name__") else "collect"

    def __call__(self, *blocks: Any) -> Any:
        return self.function(list(blocks))


def collect(node: ArrayExpr, function: Any, chunks: Chunks, meta: Any) -> ArrayExpr:
    """Return an array of one block, made of all blocks of another. The function is importable or has a token."""
    return Collect(node, function, chunks, meta)
