"""Products that sum over axes: dot, matmul, tensordot. Block products first, then a sum of them in a tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, common_refinement, is_known, text_of
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, SameChunks, make_meta, normalize_axis
from glassloom.array.ops.elementwise import elementwise, on_one_device
from glassloom.array.ops.rechunk import rechunk
from glassloom.array.ops.reductions import reduce_with
from glassloom.array.ops.shapes import Transpose
from glassloom.array.ops.slicing import NewAxes, slice_array
from glassloom.array.tiling.kernels import Fold
from glassloom.backends.arrays import namespace_of
from glassloom.backends.blas import sharing_blas
from glassloom.errors import ChunkError
from glassloom.expr.blockwise import Mapping, block_indices
from glassloom.graph import Key, Task


class BlockProducts(BlockwiseArray):
    """The product of each pair of blocks; contracted axes stay, at the end, with length 1 for each block of them.

    `left_axes` and `right_axes` say which axis of the result each axis of an array becomes.
    """

    parameters = ("left", "right", "left_axes", "right_axes", "product", "dtype")
    operation = "product"

    left: ArrayExpr
    right: ArrayExpr
    left_axes: tuple[int | None, ...]
    right_axes: tuple[int | None, ...]
    product: Any

    @cached_property
    def chunks(self) -> Chunks:
        found: dict[int, tuple[int, ...]] = {}
        contracted = set(self.left_axes) & set(self.right_axes) & set(self.product.summed(self))
        for node, axes in ((self.left, self.left_axes), (self.right, self.right_axes)):
            for axis, blocks in zip(axes, node.chunks, strict=True):
                if axis is None:
                    continue
                if axis in contracted:
                    found[axis] = (1,) * len(blocks)
                elif axis not in found or found[axis] == (1,):
                    found[axis] = blocks
        return tuple(found[axis] for axis in sorted(found))

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.left.meta, self.ndim, self.dtype)

    @property
    def mappings(self) -> list[Mapping]:
        return [
            tuple(None if count == 1 else axis for axis, count in zip(axes, node.numblocks, strict=True))
            for node, axes in ((self.left, self.left_axes), (self.right, self.right_axes))
        ]

    @property
    def function(self) -> Any:
        return self.product


class Tensordot:
    """Multiplies two blocks and sums over pairs of axes."""

    def __init__(self, left: tuple[int, ...], right: tuple[int, ...]) -> None:
        self.left, self.right = left, right

    def __glassloom_tokenize__(self) -> Any:
        return (self.left, self.right)

    def summed(self, node: BlockProducts) -> list[int | None]:
        """Return the axes of the result that stand for contracted ones."""
        return [node.left_axes[axis] for axis in self.left]

    def __call__(self, left: Any, right: Any) -> Any:
        xp = namespace_of(left)
        with sharing_blas():
            if xp is np and left.dtype.kind in "biufcO" and right.dtype.kind in "biufcO":
                made = _tensordot(left, right, self.left, self.right)
            else:
                made = xp.tensordot(left, right, axes=(self.left, self.right))
        return made.reshape(made.shape + (1,) * len(self.left))


def _tensordot(left: Any, right: Any, summed_left: Sequence[int], summed_right: Sequence[int]) -> Any:
    """Return what `numpy.tensordot` gives, by `matmul`.

    `numpy.dot` multiplies by a matrix of one element as by a number, and BLAS takes 0 times NaN for 0 there: blocks have
    such shapes where the whole hasn't.
    """
    rows = [axis for axis in range(left.ndim) if axis not in summed_left]
    columns = [axis for axis in range(right.ndim) if axis not in summed_right]
    shape = [left.shape[axis] for axis in rows], [right.shape[axis] for axis in columns]
    length = math.prod(left.shape[axis] for axis in summed_left)
    one = left.transpose(*rows, *summed_left).reshape(math.prod(shape[0]), length)
    other = right.transpose(*summed_right, *columns).reshape(length, math.prod(shape[1]))
    return np.matmul(one, other).reshape((*shape[0], *shape[1]))


class Matmul:
    """Multiplies two stacks of matrices."""

    def __glassloom_tokenize__(self) -> Any:
        return "matmul"

    def summed(self, node: BlockProducts) -> list[int | None]:
        """Return the axis of the result that stands for the contracted one."""
        return [node.left_axes[-1]]

    def __call__(self, left: Any, right: Any) -> Any:
        with sharing_blas():
            return namespace_of(left).matmul(left, right)[..., None]


class Mirrored(SameChunks):
    """A symmetric matrix of which blocks below the diagonal are those above it, transposed.

    `array` is the whole matrix: of its tasks only those are kept that make the diagonal and what is above it.
    """

    parameters = ("array",)
    operation = "mirror"

    def tasks(self) -> dict[Key, Task]:
        below = [(row, column) for row, column in block_indices(self.numblocks) if row > column]
        return {
            (self.name, row, column): Task.of_blocks(
                (self.name, row, column), transposed_block, [(self.array.name, column, row)]
            )
            for row, column in below
        }

    def aliases(self) -> dict[Key, Key]:
        kept = [(row, column) for row, column in block_indices(self.numblocks) if row <= column]
        return {(self.name, *index): (self.array.name, *index) for index in kept}


def transposed_block(block: Any) -> Any:
    """Return a block with its two axes exchanged, as an array of its own."""
    return namespace_of(block).transpose(block, (1, 0)).copy()


def tensordot(left: ArrayExpr, right: ArrayExpr, axes: Any = 2) -> ArrayExpr:
    """Return the sum of products over pairs of axes, as `numpy.tensordot`.

    Raises
    ------
    ValueError
        If paired axes have different lengths.
    """
    left_sum, right_sum = _paired_axes(left, right, axes)
    if not left_sum:
        return _outer(left, right)
    left, right = _align_pairs(left, right, left_sum, right_sum, "tensordot")
    left_free = [axis for axis in range(left.ndim) if axis not in left_sum]
    right_free = [axis for axis in range(right.ndim) if axis not in right_sum]
    n_free = len(left_free) + len(right_free)
    left_axes = _places(left.ndim, left_free, 0, left_sum, n_free)
    right_axes = _places(right.ndim, right_free, len(left_free), right_sum, n_free)
    dtype = np.tensordot(_sample(left), _sample(right), axes=(left_sum, right_sum)).dtype
    product = Tensordot(tuple(left_sum), tuple(right_sum))
    made = _summed(BlockProducts(left, right, left_axes, right_axes, product, dtype), n_free, len(left_sum))
    return Mirrored(made) if _is_symmetric(left, right, made, left_sum, right_sum) else made


def _is_symmetric(
    left: ArrayExpr, right: ArrayExpr, made: ArrayExpr, left_sum: Sequence[int], right_sum: Sequence[int]
) -> bool:
    """Whether this is ``x.T @ x`` or ``x @ x.T`` in several blocks, which is half as much work."""
    if made.ndim != 2 or len(left_sum) != 1 or made.numblocks[0] < 2 or made.dtype.kind not in "biufc":
        return False
    if left.name == right.name:  # as in tensordot(x, x, axes=(0, 0))
        return left_sum[0] == right_sum[0]
    is_mirror_image = any(
        isinstance(one, Transpose) and one.axes == (1, 0) and one.array.name == other.name
        for one, other in ((left, right), (right, left))
    )
    return is_mirror_image and left_sum[0] != right_sum[0]


def dot(left: ArrayExpr, right: ArrayExpr) -> ArrayExpr:
    """Return the dot product, as `numpy.dot`."""
    if left.ndim == 0 or right.ndim == 0:
        return elementwise(np.multiply, left, right)
    return tensordot(left, right, axes=((left.ndim - 1,), (max(right.ndim - 2, 0),)))


def matmul(left: ArrayExpr, right: ArrayExpr) -> ArrayExpr:
    """Return the matrix product, as `numpy.matmul`: of stacks of matrices if there are more axes.

    Raises
    ------
    ValueError
        If the shapes don't go together.
    """
    if left.ndim == 0 or right.ndim == 0:
        raise ValueError("matmul needs arrays with at least one axis; use * for scalars")
    if left.ndim <= 2 and right.ndim <= 2:
        return tensordot(left, right, axes=((left.ndim - 1,), (max(right.ndim - 2, 0),)))
    row = NewAxes(left, (0,)) if left.ndim == 1 else left
    column = NewAxes(right, (1,)) if right.ndim == 1 else right
    row, column = _align_pairs(row, column, [row.ndim - 1], [column.ndim - 2], "matmul")
    row, column = _align_stacks(row, column)
    ndim = max(row.ndim, column.ndim)
    left_axes = (*range(ndim - row.ndim, ndim - 2), ndim - 2, ndim)
    right_axes = (*range(ndim - column.ndim, ndim - 2), ndim, ndim - 1)
    dtype = np.matmul(np.ones((1, 1), row.dtype), np.ones((1, 1), column.dtype)).dtype
    made = _summed(BlockProducts(row, column, left_axes, right_axes, Matmul(), dtype), ndim, 1)
    drop = [left.ndim == 1 and axis == ndim - 2 or right.ndim == 1 and axis == ndim - 1 for axis in range(ndim)]
    return slice_array(made, tuple(0 if dropped else None for dropped in drop))


def _summed(made: BlockProducts, n_free: int, n_summed: int) -> ArrayExpr:
    kernel = Fold("dot", "add", made.dtype)  # of booleans, add is or
    return reduce_with(made, kernel, tuple(range(n_free, n_free + n_summed)), False, made.dtype, None)


def _outer(left: ArrayExpr, right: ArrayExpr) -> ArrayExpr:
    spread = NewAxes(left, tuple(range(left.ndim, left.ndim + right.ndim))) if right.ndim else left
    return elementwise(np.multiply, spread, right)


def _paired_axes(left: ArrayExpr, right: ArrayExpr, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(left.ndim, right.ndim):
            raise ValueError(f"tensordot over {axes} axes of arrays with {left.ndim} and {right.ndim} axes")
        return list(range(left.ndim - axes, left.ndim)), list(range(axes))
    left_sum, right_sum = ([each] if isinstance(each, (int, np.integer)) else list(each) for each in axes)
    if len(left_sum) != len(right_sum):
        raise ValueError(f"axes={axes!r} pairs {len(left_sum)} axes with {len(right_sum)}")
    return (
        [normalize_axis(axis, left.ndim, "axes") for axis in left_sum],
        [normalize_axis(axis, right.ndim, "axes") for axis in right_sum],
    )


def _align_pairs(
    left: ArrayExpr, right: ArrayExpr, left_sum: Sequence[int], right_sum: Sequence[int], what: str
) -> tuple[ArrayExpr, ArrayExpr]:
    left, right = on_one_device([left, right])
    left_chunks, right_chunks = list(left.chunks), list(right.chunks)
    for one, other in zip(left_sum, right_sum, strict=True):
        if not (is_known(left.chunks[one]) and is_known(right.chunks[other])):
            raise ChunkError(
                f"{what}: axis {one} of shape {left.shape} and axis {other} of shape {right.shape} are summed over, but "
                "their lengths aren't known; call compute_chunk_sizes() first"
            )
        if left.shape[one] != right.shape[other]:
            raise ValueError(
                f"{what}: axis {one} of shape {left.shape} in chunks {text_of(left.chunks)} and axis {other} of shape "
                f"{right.shape} in chunks {text_of(right.chunks)} have different lengths"
            )
        common = common_refinement([left.chunks[one], right.chunks[other]])
        left_chunks[one] = right_chunks[other] = common
    return rechunk(left, tuple(left_chunks)), rechunk(right, tuple(right_chunks))


def _align_stacks(left: ArrayExpr, right: ArrayExpr) -> tuple[ArrayExpr, ArrayExpr]:
    """Return both with equal blocks along the axes in front of the matrices."""
    left_chunks, right_chunks = list(left.chunks), list(right.chunks)
    for back in range(3, min(left.ndim, right.ndim) + 1):
        one, other = left.shape[-back], right.shape[-back]
        if one != other and 1 not in (one, other):
            raise ValueError(
                f"matmul: stacks of shapes {left.shape} in chunks {text_of(left.chunks)} and {right.shape} in chunks "
                f"{text_of(right.chunks)} don't broadcast"
            )
        if one == other:
            left_chunks[-back] = right_chunks[-back] = common_refinement([left.chunks[-back], right.chunks[-back]])
    return rechunk(left, tuple(left_chunks)), rechunk(right, tuple(right_chunks))


def _places(ndim: int, free: Sequence[int], first: int, summed: Sequence[int], n_free: int) -> tuple[int, ...]:
    """Return which axis of the block products each axis of an array becomes."""
    found = [0] * ndim
    for place, axis in enumerate(free, start=first):
        found[axis] = place
    for place, axis in enumerate(summed, start=n_free):
        found[axis] = place
    return tuple(found)


def _sample(node: ArrayExpr) -> Any:
    return np.ones((1,) * node.ndim, dtype=node.dtype)
