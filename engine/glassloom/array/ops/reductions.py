"""Reductions as nodes: of each block, then in a tree of groups of blocks, then the end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, is_known, starts
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, describe, make_meta, normalize_axes, normalize_axis
from glassloom.array.ops.elementwise import Elementwise
from glassloom.array.ops.overlap import Overlap
from glassloom.array.ops.rechunk import Split
from glassloom.array.tiling.kernels import ArgExtreme, CentralMoment, Fold, Kernel, Mean, Variance
from glassloom.array.tiling.program import TiledProgram
from glassloom.array.tiling.steps import TiledFinish, TiledFirstStage
from glassloom.backends.arrays import join
from glassloom.errors import ChunkError, OptionError
from glassloom.expr.blockwise import Mapping, Step, block_indices
from glassloom.graph import Key, Task

_MOST_NODES = 100
"""No more nodes are looked at: it is asked of each reduction that is made."""


def shared_axes(array: ArrayExpr) -> set[int]:
    """Return the axes along which neighbouring blocks are made of the same blocks: those of stencils and windows.

    Looks through what is computed element by element.
    """
    found: set[int] = set()
    seen = {array.name}
    todo: list[ArrayExpr] = [array]
    while todo and len(seen) < _MOST_NODES:
        node = todo.pop()
        if isinstance(node, (Split, Overlap)):
            pairs = zip(node.chunks, node.array.chunks, strict=True)
            found.update(axis for axis, (mine, below) in enumerate(pairs) if mine != below and len(below) > 1)
        elif isinstance(node, Elementwise):
            for below in node.dependencies:
                if isinstance(below, ArrayExpr) and below.ndim == array.ndim and below.name not in seen:
                    seen.add(below.name)
                    todo.append(below)
    return found


DEFAULT_SPLIT_EVERY = 16
_LEAST_REDUCED = 8
"""Partial results of which an element stands for fewer elements are not small."""
_SIBLINGS_FROM = 8
"""Blocks: a pass over one takes less than to draw or to read it."""


class ReduceBlocks(BlockwiseArray):
    """The partial result of each block."""

    parameters = ("array", "kernel", "axes")

    array: ArrayExpr
    kernel: Kernel
    axes: tuple[int, ...]

    @property
    def label(self) -> str:
        return self.kernel.name

    @cached_property
    def chunks(self) -> Chunks:
        return tuple(
            (1,) * len(blocks) if axis in self.axes else blocks for axis, blocks in enumerate(self.array.chunks)
        )

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    @property
    def mappings(self) -> list[Mapping]:
        return [tuple(range(self.ndim))]

    @cached_property
    def function(self) -> Any:
        return FirstStage(self.kernel, self.axes)

    @property
    def tiled(self) -> Any:
        return TiledFirstStage(self.kernel, self.axes) if self.kernel.merges_tiles else None

    @property
    def siblings_from(self) -> int | None:
        reduced = [self.array.chunks[axis] for axis in self.axes]
        is_small = not all(map(is_known, reduced)) or math.prod(map(max, reduced)) >= _LEAST_REDUCED
        return _SIBLINGS_FROM if self.kernel.joins_cheaply and is_small else None

    @cached_property
    def final_function(self) -> Any:
        if self.tiled is None or not self.kernel.makes_temporaries:
            return self.function
        return TiledProgram(1, (Step(self.function, (0,), self.tiled),), self.kernel.name)  # tiles a block that is kept


class ReduceBlocksAt(ReduceBlocks):
    """As `ReduceBlocks`, for kernels that need to know where in the array a block begins."""

    @cached_property
    def _starts(self) -> list[list[int]]:
        return [starts(blocks) for blocks in self.array.chunks]

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (tuple(begins[number] for begins, number in zip(self._starts, index, strict=True)),)


class Combine(ArrayExpr):
    """Partial results of neighbouring blocks made one: `group` blocks along each axis."""

    parameters = ("array", "kernel", "axes", "group")

    array: ArrayExpr
    kernel: Kernel
    axes: tuple[int, ...]
    group: tuple[int, ...]

    @property
    def label(self) -> str:
        return f"{self.kernel.name}-combine"

    @cached_property
    def chunks(self) -> Chunks:
        return tuple(
            (1,) * math.ceil(len(blocks) / size) if axis in self.axes else blocks
            for axis, (blocks, size) in enumerate(zip(self.array.chunks, self.group, strict=True))
        )

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            keys, grid = _group_keys(self.array, index, self.group)
            key: Key = (self.name, *index)
            tasks[key] = Task.of_blocks(key, JoinStage(self.kernel, self.axes, grid, None), keys)
        return tasks


class _End(ArrayExpr):
    """The end of a reduction: the reduced axes go away, or have length 1."""

    parameters = ("array", "kernel", "axes", "keepdims", "dtype")

    array: ArrayExpr
    kernel: Kernel
    axes: tuple[int, ...]
    keepdims: bool

    @property
    def label(self) -> str:
        return f"{self.kernel.name}-aggregate"

    @cached_property
    def chunks(self) -> Chunks:
        return _reduced_chunks(self.array, self.axes, self.keepdims)

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim, self.dtype)


class Aggregate(_End):
    """All partial results along the reduced axes become one."""

    def tasks(self) -> dict[Key, Task]:
        source = self.array
        group = tuple(count if axis in self.axes else 1 for axis, count in enumerate(source.numblocks))
        counts = [1 if axis in self.axes else count for axis, count in enumerate(source.numblocks)]
        dropped = () if self.keepdims else self.axes
        tasks: dict[Key, Task] = {}
        for index in block_indices(counts):
            keys, grid = _group_keys(source, index, group)
            kept = tuple(number for axis, number in enumerate(index) if axis not in dropped)
            key: Key = (self.name, *kept)
            tasks[key] = Task.of_blocks(key, JoinStage(self.kernel, self.axes, grid, dropped), keys)
        return tasks


class Finish(_End, BlockwiseArray):
    """The end where there is a single block along the reduced axes: part of that block's task."""

    @property
    def mappings(self) -> list[Mapping]:
        if self.keepdims:
            return [tuple(range(self.ndim))]
        kept = itertools.count()
        return [tuple(None if axis in self.axes else next(kept) for axis in range(self.array.ndim))]

    @cached_property
    def function(self) -> Any:
        grid = (1,) * self.array.ndim
        return JoinStage(self.kernel, self.axes, grid, () if self.keepdims else self.axes)

    @property
    def siblings_from(self) -> int | None:
        return self.array.siblings_from if isinstance(self.array, ReduceBlocks) else None

    @property
    def tiled(self) -> Any:
        return TiledFinish(self.function) if self.kernel.merges_tiles else None


class FirstStage:
    """Reduces a block to a partial result."""

    def __init__(self, kernel: Kernel, axes: tuple[int, ...]) -> None:
        self.kernel, self.axes = kernel, axes

    @property
    def __name__(self) -> str:
        return self.kernel.name

    def __call__(self, block: Any, *position: Any) -> Any:
        return self.kernel.first(block, self.axes, *position)


class JoinStage:
    """Joins partial results and combines them; with `dropped` given, it is the last to do so."""

    __slots__ = ("axes", "dropped", "grid", "kernel")

    def __init__(
        self, kernel: Kernel, axes: tuple[int, ...], grid: tuple[int, ...], dropped: tuple[int, ...] | None
    ) -> None:
        self.kernel, self.axes, self.grid, self.dropped = kernel, axes, grid, dropped

    def __reduce__(self) -> tuple[Any, ...]:
        return (JoinStage, (self.kernel, self.axes, self.grid, self.dropped))

    def __call__(self, *partials: Any) -> Any:
        if isinstance(partials[0], tuple):
            joined: Any = tuple(join(list(parts), self.grid) for parts in zip(*partials, strict=True))
        else:
            joined = join(list(partials), self.grid)
        if self.dropped is None:
            return self.kernel.combine(joined, self.axes)
        done = self.kernel.finish(joined, self.axes)
        return done[tuple(0 if axis in self.dropped else slice(None) for axis in range(done.ndim))]


def _group_keys(source: ArrayExpr, index: tuple[int, ...], group: tuple[int, ...]) -> tuple[list[Key], tuple[int, ...]]:
    """Return the keys of the blocks in a group, in C order, and how many there are along each axis."""
    ranges = [
        range(number * size, min((number + 1) * size, count))
        for number, size, count in zip(index, group, source.numblocks, strict=True)
    ]
    return [(source.name, *place) for place in itertools.product(*ranges)], tuple(map(len, ranges))


def _reduced_chunks(array: ArrayExpr, axes: tuple[int, ...], keepdims: bool) -> Chunks:
    if keepdims:
        return tuple((1,) if axis in axes else blocks for axis, blocks in enumerate(array.chunks))
    return tuple(blocks for axis, blocks in enumerate(array.chunks) if axis not in axes)


def reduced_array(node: Aggregate | Finish) -> ArrayExpr:
    """Return the array that a reduction reduces."""
    below: ArrayExpr = node.array
    while isinstance(below, Combine):
        below = below.array
    assert isinstance(below, ReduceBlocks)  # what `reduce_with` builds
    return below.array


def reduction_of(node: Aggregate | Finish, array: ArrayExpr, order: tuple[int, ...] | None = None) -> ArrayExpr:
    """Return the same reduction of another array: of one with its axes in another `order`, the same of those axes."""
    order = tuple(range(array.ndim)) if order is None else order
    axes = tuple(sorted(order[axis] for axis in node.axes))
    steps: list[ArrayExpr] = [node]
    while not isinstance(steps[-1], ReduceBlocks):
        steps.append(steps[-1].operands[0])
    made = array
    for step in reversed(steps):
        rest = list(step.operands[3:])
        if isinstance(step, Combine):
            rest = [tuple(step.group[order.index(axis)] for axis in range(array.ndim))]
        made = type(step)(made, node.kernel, axes, *rest, origin=step.origin)
    return made


def reduce_with(
    node: ArrayExpr,
    kernel: Kernel,
    axes: tuple[int, ...],
    keepdims: bool,
    dtype: Any,
    split_every: int | dict[int, int] | None,
) -> ArrayExpr:
    """Return the reduction of an array by a kernel: a tree in which a task joins about `split_every` blocks."""
    first_stage = ReduceBlocksAt if kernel.needs_position else ReduceBlocks
    partial: ArrayExpr = first_stage(node, kernel, axes)
    several = [axis for axis in axes if partial.numblocks[axis] > 1]
    if not several:
        return Finish(partial, kernel, axes, keepdims, np.dtype(dtype))
    if isinstance(split_every, dict):
        limits = {normalize_axis(axis, node.ndim): _checked_split(count) for axis, count in split_every.items()}
        group = tuple(limits.get(axis, 2) if axis in axes else 1 for axis in range(node.ndim))
        while any(partial.numblocks[axis] > group[axis] for axis in axes):
            partial = Combine(partial, kernel, axes, group)
        return Aggregate(partial, kernel, axes, keepdims, np.dtype(dtype))
    limit = _checked_split(split_every)
    first = shared_axes(node) if math.prod(partial.numblocks[axis] for axis in axes) > limit else set()
    while math.prod(partial.numblocks[axis] for axis in axes) > limit:
        wide = [axis for axis in axes if partial.numblocks[axis] > 1]
        # Blocks that are made of the same blocks are joined first, so that they are made one after the other.
        wide = [axis for axis in wide if axis in first][-1:] or wide
        side = max(2, int(limit ** (1 / len(wide)) + 1e-9))
        group = tuple(side if axis in wide else 1 for axis in range(node.ndim))
        partial = Combine(partial, kernel, axes, group)
    return Aggregate(partial, kernel, axes, keepdims, np.dtype(dtype))


def _checked_split(split_every: int | dict[int, int] | None) -> int:
    if split_every is None:
        return DEFAULT_SPLIT_EVERY
    if not isinstance(split_every, (int, np.integer)) or split_every < 2:
        raise OptionError(f"split_every={split_every!r} is not a number of blocks of at least 2")
    return int(split_every)


def _dtype_by_numpy(function: Callable[..., Any], node: ArrayExpr, **options: Any) -> np.dtype[Any]:
    """Return the type that NumPy's own function gives; it says here which types it can't do."""
    sample = np.ones((1,) * max(node.ndim, 1), dtype=node.dtype)
    with np.errstate(all="ignore"):
        return np.asarray(function(sample, **options)).dtype


_OF_OBJECTS = ("add", "multiply", "minimum", "maximum", "fmin", "fmax")
"""Functions whose results, of objects, are objects."""


def fold(
    node: ArrayExpr,
    function: Callable[..., Any],
    ufunc: str,
    *,
    axis: Any,
    dtype: Any = None,
    keepdims: bool = False,
    split_every: int | dict[int, int] | None = None,
    skips_nan: bool = False,
    empty_is_error: bool = False,
) -> ArrayExpr:
    """Return a reduction that NumPy's `function` names and that folds a ufunc."""
    axes = normalize_axes(axis, node.ndim)
    _refuse_empty(node, axes, function.__name__, empty_is_error)
    options = {} if dtype is None else {"dtype": dtype}
    result = _dtype_by_numpy(function, node, **options)
    if node.dtype == object and dtype in (None, object) and ufunc in _OF_OBJECTS:
        result = node.dtype  # and not that of the sample's elements
    can_be_nan = node.dtype.kind in "fc"
    told = _working_dtype(result) if ufunc in ("add", "multiply") else None
    rounded = result if told is not None and told != result else None
    kernel = Fold(function.__name__, ufunc, told, skips_nan and can_be_nan, rounded)
    return reduce_with(node, kernel, axes, keepdims, result, split_every)


def mean(
    node: ArrayExpr, *, axis: Any, dtype: Any = None, keepdims: bool = False, split_every: int | dict[int, int] | None = None,
    skips_nan: bool = False,
) -> ArrayExpr:  # fmt: skip
    """Return the mean over axes."""
    axes = normalize_axes(axis, node.ndim)
    result = _dtype_by_numpy(np.mean, node, dtype=dtype)
    kernel = Mean(_working_dtype(result), result, skips_nan and node.dtype.kind in "fc")
    return reduce_with(node, kernel, axes, keepdims, result, split_every)


def variance(
    node: ArrayExpr, *, axis: Any, dtype: Any = None, ddof: float = 0, keepdims: bool = False, root: bool = False,
    split_every: int | dict[int, int] | None = None, skips_nan: bool = False,
) -> ArrayExpr:  # fmt: skip
    """Return the variance over axes, or its square root."""
    axes = normalize_axes(axis, node.ndim)
    result = _dtype_by_numpy(np.std if root else np.var, node, dtype=dtype)
    working = _working_dtype(_dtype_by_numpy(np.mean, node, dtype=dtype))
    kernel = Variance(working, result, ddof, root, skips_nan and node.dtype.kind in "fc")
    return reduce_with(node, kernel, axes, keepdims, result, split_every)


def moment(
    node: ArrayExpr, *, order: int, axis: Any, dtype: Any = None, ddof: float = 0, keepdims: bool = False,
    split_every: int | dict[int, int] | None = None,
) -> ArrayExpr:  # fmt: skip
    """Return a central moment over axes: the mean of that power of distances from the mean."""
    if not isinstance(order, (int, np.integer)) or order < 2:
        raise OptionError(f"order={order!r} of a moment is not an integer of at least 2")
    axes = normalize_axes(axis, node.ndim)
    working = _working_dtype(_dtype_by_numpy(np.mean, node, dtype=dtype))
    return reduce_with(node, CentralMoment(working, int(order), ddof), axes, keepdims, working, split_every)


def arg_extreme(
    node: ArrayExpr,
    *,
    smallest: bool,
    axis: Any,
    keepdims: bool = False,
    split_every: int | dict[int, int] | None = None,
) -> ArrayExpr:
    """Return where the smallest or largest value is, along one axis or in the flat array."""
    if isinstance(axis, (tuple, list)):
        raise TypeError(f"axis={axis!r} must be one axis or None")
    axes = normalize_axes(axis, node.ndim)
    name = "argmin" if smallest else "argmax"
    if not all(is_known(node.chunks[along]) for along in axes):
        raise ChunkError(f"{name} in an array of {describe(node)}; call compute_chunk_sizes() first")
    _refuse_empty(node, axes, name, True)
    kernel = ArgExtreme(name, smallest, tuple(node.shape), axis is None)
    return reduce_with(node, kernel, axes, keepdims, np.int64, split_every)


def _working_dtype(result: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type to add up in: half precision overflows too soon."""
    return np.dtype(np.float32) if result == np.float16 else result


def _refuse_empty(node: ArrayExpr, axes: tuple[int, ...], name: str, refuse: bool) -> None:
    if refuse and any(node.shape[axis] == 0 for axis in axes) and node.size == 0:
        others = [node.shape[axis] for axis in range(node.ndim) if axis not in axes]
        if 0 not in others:
            raise ValueError(f"{name} of no elements has no value: the array has {describe(node)}")
