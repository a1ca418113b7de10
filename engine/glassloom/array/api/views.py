"""What `x.blocks` and `x.vindex` return: an array seen as its blocks, or as points."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from glassloom.array.ops import indexing
from glassloom.array.ops.base import describe
from glassloom.array.ops.mapping import blocks_at
from glassloom.collection import Collection


class BlockView:
    """The blocks of an `Array`, by number."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of blocks along each axis."""
        shape: tuple[int, ...] = self._array.numblocks
        return shape

    def __getitem__(self, key: Any) -> Any:
        keys = list(key) if isinstance(key, tuple) else [key]
        node = self._array.expr
        if len(keys) > node.ndim:
            raise IndexError(f"too many indices for the blocks of an array of {describe(node)}")
        keys += [slice(None)] * (node.ndim - len(keys))
        numbers = []
        for axis, (entry, count) in enumerate(zip(keys, node.numblocks, strict=True)):
            if isinstance(entry, slice):
                numbers.append(tuple(range(count)[entry]))
            elif -count <= operator.index(entry) < count:
                numbers.append((entry % count,))
            else:
                raise IndexError(f"block {entry} is out of bounds for axis {axis} with {count} blocks")
        if not all(numbers):
            raise IndexError(f"blocks[{key!r}] takes no block of {node.numblocks}")
        return self._array._with_expr(blocks_at(node, tuple(numbers)))


class PointView:
    """The points of an array: ``x.vindex[[0, 1], [3, 5]]`` is ``x[0, 3]`` and ``x[1, 5]``. Their axes come first."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        entries = [_point_entry(entry) for entry in (key if isinstance(key, tuple) else (key,))]
        slices = tuple(entry if isinstance(entry, slice) else slice(None) for entry in entries)
        made = self._array._with_expr(indexing.select(self._array.expr, slices))
        axes = [axis for axis, entry in enumerate(entries) if not isinstance(entry, slice)]
        if not axes:
            return made
        points_first = made.transpose((*axes, *(axis for axis in range(made.ndim) if axis not in axes)))
        return self._array._with_expr(indexing.select(points_first.expr, tuple(entries[axis] for axis in axes)))


def _point_entry(entry: Any) -> Any:
    if isinstance(entry, slice):
        return entry
    if isinstance(entry, Collection):
        return entry.expr
    if isinstance(entry, (list, tuple, range, np.ndarray, int, np.integer)):
        return np.atleast_1d(entry)
    raise IndexError(f"vindex takes lists of positions, integers and slices, got {entry!r}")
