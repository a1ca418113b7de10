"""`ArrayExpr`: a node that stands for an array cut into blocks, and the leaf of one that has been computed."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, is_known, length_of, text_of
from glassloom.array.ops.in_place import in_place, regions
from glassloom.array.tiling.program import TiledProgram
from glassloom.array.tiling.tiles import copy_along_lines
from glassloom.backends.arrays import backend_of, compact, join, meta_namespace
from glassloom.backends.standard_ import unwrapped
from glassloom.errors import ChunkError
from glassloom.expr import Blockwise, Expr, Persisted
from glassloom.expr.blockwise import Program, block_indices
from glassloom.graph import Key, Task


class ArrayExpr(Expr):
    """A node with `chunks` and `meta`, an array of the right library, type and number of axes without elements."""

    @property
    def chunks(self) -> Chunks:
        """For each axis the lengths of its blocks."""
        raise NotImplementedError

    @property
    def meta(self) -> Any:
        """A chunk without elements (with one if it has no axes)."""
        raise NotImplementedError

    def validate(self) -> None:
        """Find chunks and type now: errors belong to the user's line, and chains may be deeper than Python's stack."""
        self.chunks  # noqa: B018
        self.meta  # noqa: B018 - NumPy says here which types don't go together

    @property
    def dtype(self) -> Any:
        return self.meta.dtype

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(length_of, self.chunks))

    @property
    def ndim(self) -> int:
        return len(self.chunks)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def numblocks(self) -> tuple[int, ...]:
        return tuple(len(blocks) for blocks in self.chunks)

    @property
    def n_tasks(self) -> int:
        return math.prod(self.numblocks)

    def block_shape(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([blocks[number] for blocks, number in zip(self.chunks, index, strict=True)])

    def output_keys(self) -> list[Key]:
        return [(self.name, *index) for index in block_indices(self.numblocks)]

    def assemble(self, blocks: list[Any]) -> Any:
        if len(blocks) == 1:
            return unwrapped(_own(blocks[0]))
        if all(type(block) is np.ndarray for block in blocks) and all(map(is_known, self.chunks)):
            return self._assemble_in_place(blocks)
        return unwrapped(join(blocks, self.numblocks))

    def _assemble_in_place(self, blocks: list[Any]) -> Any:
        """Copy each block once, into its place. `join` would copy it once for each axis."""
        kinds = {block.dtype for block in blocks}
        whole = np.empty(self.shape, kinds.pop() if len(kinds) == 1 else np.result_type(*kinds))
        for index, region, block in zip(block_indices(self.numblocks), regions(self.chunks), blocks, strict=True):
            expected = self.block_shape(index)
            if block.shape != expected:
                raise ChunkError(
                    f"block {index} of {self.label} has the shape {block.shape}, but its chunks say {expected}"
                )
            copy_along_lines(block, whole[region])
        return whole

    def in_place(self, source: Expr) -> Expr:
        return in_place(self, source)

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return PersistedArray(Persisted(name or self.name, held), self.chunks, self.meta, origin=self.origin)


class SameChunks(ArrayExpr):
    """A node whose blocks have the shapes and the type of those of its operand `array`."""

    array: ArrayExpr

    @cached_property
    def chunks(self) -> Chunks:
        return self.array.chunks

    @cached_property
    def meta(self) -> Any:
        return self.array.meta


class PersistedArray(ArrayExpr):
    """Blocks that the runtime holds. Has the name of the node that made them, so that their keys are equal."""

    parameters = ("source", "chunks", "meta")
    operation = "persisted"

    source: Persisted

    def __init__(self, source: Persisted, chunks: Chunks, meta: Any, origin: Any = None) -> None:
        self.operands = (source, chunks, meta)
        self.origin = origin
        self.name = source.name

    @property
    def n_tasks(self) -> int:
        return 0

    def tasks(self) -> dict[Key, Task]:
        return self.source.tasks(self.output_keys())

    def assemble(self, blocks: list[Any]) -> Any:
        if len(blocks) == 1:
            return unwrapped(blocks[0].copy())  # what is held must not change with what the user does to the result
        return super().assemble(blocks)

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return self


class BlockwiseArray(ArrayExpr, Blockwise):
    """A node that makes one block from one block of each dependency."""

    dependencies: list[ArrayExpr]  # type: ignore[assignment]

    @property
    def program_type(self) -> type[Program]:
        return TiledProgram


class View(BlockwiseArray):
    """A node whose blocks are views of its dependency's blocks: copied if they are small and are kept."""

    @cached_property
    def final_function(self) -> Any:
        return Compacted(self.function)


class Compacted:
    """A function whose result doesn't keep a much larger array in memory."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __glassloom_tokenize__(self) -> Any:
        return self.function

    def __reduce__(self) -> tuple[Any, ...]:
        return (Compacted, (self.function,))

    def __call__(self, *args: Any) -> Any:
        return compact(self.function(*args))


def make_meta(like: Any, ndim: int, dtype: Any = None) -> Any:
    """Return a chunk of the library of `like` with no elements, or one element that is 1 if it has no axes."""
    if isinstance(like, np.ma.MaskedArray):
        return np.ma.ones((0,) * ndim, dtype=like.dtype if dtype is None else dtype)
    xp = np if type(like) is np.ndarray else meta_namespace(backend_of(like))
    return xp.ones((0,) * ndim, dtype=like.dtype if dtype is None else dtype)


def describe(node: ArrayExpr) -> str:
    """Return shape and chunks as messages name them."""
    return f"shape {node.shape} in chunks {text_of(node.chunks)}"


def normalize_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """Return an axis counted from the front.

    Raises
    ------
    numpy.exceptions.AxisError
        If the array has no such axis.
    """
    number = axis.__index__() if hasattr(axis, "__index__") else None
    if number is None:
        raise TypeError(f"{what}={axis!r} is not an integer")
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(f"{what}={number} is out of bounds for an array with {ndim} axes")
    return int(number % ndim)


def normalize_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front, in order; None stands for all.

    Raises
    ------
    numpy.exceptions.AxisError
        If the array has no such axis.
    ValueError
        If an axis is named twice.
    """
    if axes is None:
        return tuple(range(ndim))
    found = [normalize_axis(axis, ndim) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))]
    if len(set(found)) != len(found):
        raise ValueError(f"axis={axes!r} names an axis twice")
    return tuple(sorted(found))


def _own(block: Any) -> Any:
    """Return a result that the user may change: never a view of data that the engine keeps."""
    if getattr(block, "ndim", None) == 0:
        return block[()]
    return block.copy() if getattr(block, "base", None) is not None else block
