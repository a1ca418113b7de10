"""The same elements in other axes: transposed, reshaped, broadcast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import UNKNOWN, Chunks, is_known, text_of
from glassloom.array.ops.base import ArrayExpr, View, describe, make_meta, normalize_axis
from glassloom.array.ops.rechunk import rechunk
from glassloom.array.tiling.steps import TiledPermute
from glassloom.backends.arrays import namespace_of
from glassloom.errors import ChunkError
from glassloom.expr.blockwise import Mapping, align_right


class Transpose(View):
    """Axes in another order: axis i of the result is axis ``axes[i]`` of the array."""

    parameters = ("array", "axes")

    array: ArrayExpr
    axes: tuple[int, ...]

    @cached_property
    def chunks(self) -> Chunks:
        return tuple(self.array.chunks[axis] for axis in self.axes)

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    @property
    def mappings(self) -> list[Mapping]:
        return [tuple(self.axes.index(axis) for axis in range(self.ndim))]

    @cached_property
    def function(self) -> Any:
        return Permute(self.axes)

    @property
    def tiled(self) -> Any:
        return TiledPermute(self.axes)


class Permute:
    """Puts the axes of a block into another order."""

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def __call__(self, block: Any) -> Any:
        return namespace_of(block).transpose(block, self.axes)


class Reshape(View):
    """Other axes, block by block: `chunks` and `mapping` say where each block comes from."""

    parameters = ("array", "chunks", "mapping")

    array: ArrayExpr
    mapping: Mapping

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim)

    @property
    def mappings(self) -> list[Mapping]:
        return [self.mapping]

    @property
    def function(self) -> Any:
        return reshape_block

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        lengths = self.block_shape(index)
        return (tuple(-1 if math.isnan(length) else length for length in lengths),)


def reshape_block(block: Any, shape: tuple[int, ...]) -> Any:
    """Return a block in another shape."""
    return block.reshape(shape)


class BroadcastTo(View):
    """Repeated along axes of length 1 and along new ones in front."""

    parameters = ("array", "chunks")
    operation = "broadcast"

    array: ArrayExpr

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim)

    @property
    def mappings(self) -> list[Mapping]:
        return [align_right(self.array.numblocks, self.ndim)]

    @property
    def function(self) -> Any:
        return broadcast_block

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (self.block_shape(index),)


def broadcast_block(block: Any, shape: tuple[int, ...]) -> Any:
    """Return a block repeated to a shape."""
    if isinstance(block, np.ma.MaskedArray):
        whole = np.broadcast_to(np.ma.getdata(block), shape)
        return np.ma.masked_array(whole, np.broadcast_to(np.ma.getmaskarray(block), shape))
    return namespace_of(block).broadcast_to(block, shape)


def transpose(node: ArrayExpr, axes: Sequence[int] | None = None) -> ArrayExpr:
    """Return the axes in another order, reversed by default.

    Raises
    ------
    ValueError
        If `axes` doesn't name each axis once.
    """
    order = tuple(reversed(range(node.ndim))) if axes is None else tuple(axes)
    if len(order) != node.ndim:
        raise ValueError(f"axes={order} names {len(order)} axes, but the array has {node.ndim}")
    order = tuple(normalize_axis(axis, node.ndim, "axes") for axis in order)
    if len(set(order)) != node.ndim:
        raise ValueError(f"axes={tuple(axes or ())} names an axis twice")
    source = node
    if isinstance(node, Transpose):
        source, order = node.array, tuple(node.axes[axis] for axis in order)
    return source if order == tuple(range(node.ndim)) else Transpose(source, order)


def broadcast_to(node: ArrayExpr, shape: tuple[int, ...], chunks: Chunks | None = None) -> ArrayExpr:
    """Return the array repeated to a shape.

    Raises
    ------
    ValueError
        If the array doesn't broadcast to the shape.
    """
    if node.shape == shape:
        return node
    offset = len(shape) - node.ndim
    if any(map(math.isnan, (*node.shape, *shape))):
        raise ChunkError(f"an array of {describe(node)} to be broadcast to {shape}; call compute_chunk_sizes() first")
    if offset < 0 or any(own not in (1, new) for own, new in zip(node.shape, shape[offset:], strict=True)):
        raise ValueError(f"an array of {describe(node)} doesn't broadcast to {shape}")
    blocks: list[tuple[int, ...]] = []
    for axis, length in enumerate(shape):
        own = axis - offset
        is_repeated = own < 0 or node.shape[own] != length
        blocks.append((chunks[axis] if chunks else (length,)) if is_repeated else node.chunks[own])
    whole = tuple((1,) if length == 1 else now for length, now in zip(node.shape, node.chunks, strict=True))
    return BroadcastTo(rechunk(node, whole), tuple(blocks))


def ravel(node: ArrayExpr, n_axes: int | None = None) -> ArrayExpr:
    """Return the array with its first axes (all by default) made one, in C order."""
    count = node.ndim if n_axes is None else n_axes
    if count == 1:
        return node
    if not all(map(is_known, node.chunks[:count])):
        if any(len(blocks) > 1 for blocks in node.chunks[1:count]):
            raise ChunkError(f"an array of {describe(node)} can't be raveled: blocks of unknown length in the way")
        rest = node.chunks[count:]
        mapping: Mapping = (0, *(None,) * (count - 1), *range(1, 1 + len(rest)))
        return Reshape(node, ((UNKNOWN,) * node.numblocks[0], *rest), mapping)
    return reshape(node, (math.prod(node.shape[:count]), *node.shape[count:]))


def reshape(node: ArrayExpr, shape: Sequence[int]) -> ArrayExpr:
    """Return the elements in C order in another shape; one length may be -1.

    Axes are grouped so that a group of old axes has as many elements as a group of new ones. Within a group only the
    first axis longer than 1 may have several blocks, and they must end where rows of the new axes end; where they
    don't, the array is rechunked.

    Raises
    ------
    ValueError
        If the number of elements differs.
    """
    if not all(map(is_known, node.chunks)):
        raise ChunkError(f"an array of {describe(node)} can't be reshaped; call compute_chunk_sizes() first")
    new_shape = _fill_in(node, tuple(int(length) for length in shape))
    if new_shape == node.shape:
        return node
    if node.size == 0:
        single = rechunk(node, tuple((length,) for length in node.shape))
        return Reshape(single, tuple((length,) for length in new_shape), (None,) * node.ndim)
    old_chunks = list(node.chunks)
    new_chunks: list[tuple[int, ...]] = [(length,) for length in new_shape]
    mapping: list[int | None] = [None] * node.ndim
    for old_axes, new_axes in _groups(node.shape, new_shape):
        old_lead = next((axis for axis in old_axes if node.shape[axis] > 1), None)
        new_lead = next((axis for axis in new_axes if new_shape[axis] > 1), None)
        for axis in old_axes:
            if axis != old_lead:
                old_chunks[axis] = (node.shape[axis],)
        if old_lead is None or new_lead is None:
            continue
        old_row = math.prod(node.shape[axis] for axis in old_axes if axis > old_lead)
        new_row = math.prod(new_shape[axis] for axis in new_axes if axis > new_lead)
        old_chunks[old_lead] = _whole_rows(node.chunks[old_lead], old_row, new_row)
        new_chunks[new_lead] = tuple(length * old_row // new_row for length in old_chunks[old_lead])
        mapping[old_lead] = new_lead
    return Reshape(rechunk(node, tuple(old_chunks)), tuple(new_chunks), tuple(mapping))


def _fill_in(node: ArrayExpr, shape: tuple[int, ...]) -> tuple[int, ...]:
    unknown = [axis for axis, length in enumerate(shape) if length == -1]
    rest = math.prod(length for length in shape if length != -1)
    if len(unknown) > 1 or any(length < -1 for length in shape):
        raise ValueError(f"shape={shape} may have one -1 and otherwise lengths of 0 or more")
    if unknown and rest and node.size % rest == 0:
        shape = tuple(node.size // rest if length == -1 else length for length in shape)
    if math.prod(shape) != node.size or -1 in shape:
        raise ValueError(
            f"an array of shape {node.shape} in chunks {text_of(node.chunks)} has {node.size} elements "
            f"and can't be reshaped to {shape}"
        )
    return shape


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Return the smallest groups of axes, old and new, that hold equally many elements."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        old_axes, new_axes, n_old, n_new = [], [], 1, 1
        while True:
            if i < len(old) and (n_old <= n_new or j >= len(new)):
                old_axes.append(i)
                n_old *= old[i]
                i += 1
            elif j < len(new):
                new_axes.append(j)
                n_new *= new[j]
                j += 1
            if (n_old == n_new and (old_axes or new_axes)) or (i >= len(old) and j >= len(new)):
                break
        groups.append((old_axes, new_axes))
    return groups


def _whole_rows(blocks: tuple[int, ...], old_row: int, new_row: int) -> tuple[int, ...]:
    """Return blocks that hold whole new rows: the old ones with their ends moved up where need be."""
    unit = new_row // math.gcd(old_row, new_row)
    if all(length % unit == 0 for length in blocks):
        return blocks
    total = sum(blocks)
    ends: list[int] = []
    end = 0
    for length in blocks:
        end += length
        moved = min(total, -(-end // unit) * unit)
        if not ends or moved > ends[-1]:
            ends.append(moved)
    return tuple(stop - start for start, stop in zip([0, *ends], ends, strict=False))
