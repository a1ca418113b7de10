"""What ``x[key] = value`` makes where the key is lazy: masks with a value for each element, and positions.

Which block a value goes to isn't known before the key is computed, so each block gets all values and positions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from glassloom.array.chunks import UNKNOWN, is_known, length_of
from glassloom.array.nodes.base import ArrayExpr, describe
from glassloom.array.nodes.collecting import collect
from glassloom.array.nodes.creation import Arange, from_numpy
from glassloom.array.nodes.elementwise import astype, elementwise
from glassloom.array.nodes.fitting import copied_for, is_masked
from glassloom.array.nodes.indexed import indexed
from glassloom.array.nodes.points import first_axes
from glassloom.array.nodes.rechunk import rechunk
from glassloom.array.nodes.scans import scan
from glassloom.array.nodes.shaping import ravel, reshape
from glassloom.backends.arrays import join, namespace_of
from glassloom.errors import ChunkError


def assign_values_by_mask(node: ArrayExpr, mask: ArrayExpr, axis: int, value: ArrayExpr) -> ArrayExpr:
    """Return the array with the elements of `value`, one after the other, where a lazy mask is true.

    Parameters
    ----------
    axis
        The first axis that the mask stands for.
    value
        Has an axis for the elements where the mask is true, in place of the mask's axes.
    """
    covered = range(axis, axis + mask.ndim)
    for place, along in enumerate(covered):
        if not (is_known(node.chunks[along]) and is_known(mask.chunks[place])):
            raise ChunkError(f"values by a mask in an array of {describe(node)}; call compute_chunk_sizes() first")
    plain = elementwise(np.ma.getdata, mask) if is_masked(mask) else mask
    flat = ravel(plain) if mask.ndim != 1 else plain
    running = scan(astype(flat, np.intp), "add", 0, np.intp)
    numbers = reshape(running, mask.shape) if mask.ndim != 1 else running
    labels: tuple[Hashable, ...] = tuple(range(node.ndim))
    behind = labels[axis + mask.ndim :]
    own: tuple[Hashable, ...] = (*labels[:axis], "values", *behind)[max(0, axis + 1 + len(behind) - value.ndim) :]
    last = _last(running)
    return indexed(
        AssignMasked(axis), [node, mask, numbers, value, last],
        [labels, labels[axis : axis + mask.ndim], labels[axis : axis + mask.ndim], own, ("last",)], labels,
        meta=node.meta,
    )  # fmt: skip


def _last(running: ArrayExpr) -> ArrayExpr:
    """Return the last element of a running sum, as an array of length 1 (0 if there is none)."""
    return collect(running, last_of_blocks, ((UNKNOWN,),), running.meta)


def last_of_blocks(blocks: list[Any]) -> Any:
    """Return the last element of several blocks, as an array of length 1, or 0."""
    return next((block[-1:] for block in reversed(blocks) if len(block)), blocks[0][:0])


class AssignMasked:
    """Puts values into a block where a mask is true; `numbers` counts where it is, from 1."""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def __glassloom_tokenize__(self) -> Any:
        return self.axis

    def __call__(self, block: Any, mask: Any, numbers: Any, values: Any, last: Any) -> Any:
        xp = namespace_of(block)
        n_behind = block.ndim - self.axis - mask.ndim
        place = values.ndim - 1 - n_behind
        count, given = int(last[-1]) if len(last) else 0, values.shape[place]
        if given not in (1, count):
            raise ValueError(f"{given} values can't be assigned to the {count} elements where the mask is true")
        if given != 1:
            values = xp.take(values, numbers[mask] - 1, axis=place)
        made = copied_for(block, values)
        made[(*(slice(None),) * self.axis, mask) if self.axis else mask] = values
        return made


def assign_at_points(node: ArrayExpr, axes: Sequence[int], positions: Sequence[Any], value: ArrayExpr) -> ArrayExpr:
    """Return the array with values at points, some of whose positions are lazy.

    Parameters
    ----------
    positions
        For each of `axes` the positions along one axis: NumPy's, or nodes.
    value
        Its axes are the points, then one for each other axis of the array.
    """
    own = tuple(range(node.ndim))
    rest = [axis for axis in own if axis not in axes]
    lists = [_one_block(each if isinstance(each, ArrayExpr) else _as_node(each)) for each in positions]
    value = value if is_known(value.chunks[0]) else _one_block(value)
    where = [Arange(0, 1, 0, 1, (node.chunks[axis],), np.dtype(np.intp), "numpy") for axis in axes]
    lengths = tuple(length_of(node.chunks[axis]) for axis in axes)
    return indexed(
        AssignPoints(tuple(axes), tuple(map(int, lengths))), [node, value, *where, *lists],
        [own, ("points", *rest), *((axis,) for axis in axes), *((("points", number),) for number in range(len(axes)))],
        own, meta=node.meta,
    )  # fmt: skip


class AssignPoints:
    """Puts values at points into a block, if they are in it."""

    def __init__(self, axes: tuple[int, ...], lengths: tuple[int, ...]) -> None:
        self.axes, self.lengths = axes, lengths

    def __glassloom_tokenize__(self) -> Any:
        return (self.axes, self.lengths)

    def __call__(self, block: Any, values: Any, *where_and_positions: Any) -> Any:
        xp = namespace_of(block)
        n = len(self.axes)
        inside: Any = True
        places = []
        for axis, length, where, positions in zip(
            self.axes, self.lengths, where_and_positions[:n], where_and_positions[n:], strict=True
        ):
            wrong = positions[(positions < -length) | (positions >= length)]
            if len(wrong):
                raise IndexError(f"index {wrong[0]} is out of bounds for axis {axis} with {length} elements")
            place = xp.where(positions < 0, positions + length, positions) - (where[0] if len(where) else 0)
            inside = inside & (place >= 0) & (place < len(where))
            places.append(place)
        made = copied_for(block, values)
        found = [xp.broadcast_to(place, inside.shape)[inside] for place in places]
        if values.shape[0] not in (1, len(inside)):
            raise ValueError(f"{values.shape[0]} values can't be assigned to {len(inside)} positions")
        first_axes(made, self.axes)[tuple(found)] = values if values.shape[0] == 1 else values[inside]
        return made


def _as_node(positions: Any) -> ArrayExpr:
    return from_numpy(positions)


def _one_block(node: ArrayExpr) -> ArrayExpr:
    """Return the array with its first axis in one block, whether its length is known or not."""
    if is_known(node.chunks[0]):
        return rechunk(node, ((length_of(node.chunks[0]),), *node.chunks[1:]))
    if len(node.chunks[0]) == 1:
        return node
    if any(len(blocks) > 1 for blocks in node.chunks[1:]):
        raise ChunkError(f"values of {describe(node)} for lazy positions; call compute_chunk_sizes() first")
    return collect(node, Joined(node.numblocks), ((UNKNOWN,), *node.chunks[1:]), node.meta)


class Joined:
    """Puts the blocks of an array together."""

    def __init__(self, numblocks: tuple[int, ...]) -> None:
        self.numblocks = numblocks

    def __glassloom_tokenize__(self) -> Any:
        return self.numblocks

    def __call__(self, blocks: list[Any]) -> Any:
        return join(blocks, self.numblocks)
