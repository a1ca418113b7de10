"""A user's function applied to each block."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, is_known
from glassloom.array.nodes.base import ArrayExpr, BlockwiseArray, make_meta
from glassloom.array.nodes.elementwise import align, broadcast_chunks
from glassloom.array.nodes.joining import same_block
from glassloom.array.nodes.rechunk import pick_axes
from glassloom.array.nodes.slicing import slice_array
from glassloom.backends.arrays import namespace_of
from glassloom.errors import ChunkError
from glassloom.expr.blockwise import Mapping, align_right
from glassloom.graph import function_label


class MapBlocks(BlockwiseArray):
    """``call(*blocks of arrays, *scalars)`` of blocks at the same place.

    `axes` says for each axis of the result which axis of the arrays' common index it follows, None for a new one.
    """

    parameters = ("call", "arrays", "axes", "chunks", "meta")
    operation = "map-blocks"

    call: MappedCall
    arrays: tuple[ArrayExpr, ...]
    axes: tuple[int | None, ...]

    @property
    def label(self) -> str:
        return self.call.label

    @property
    def mappings(self) -> list[Mapping]:
        ndim = max(node.ndim for node in self.arrays)
        place = {axis: position for position, axis in enumerate(self.axes) if axis is not None}
        found: list[Mapping] = []
        for node in self.arrays:
            common = align_right(node.numblocks, ndim)
            found.append(tuple(None if axis is None else place[axis] for axis in common))  # type: ignore[index]
        return found

    @property
    def function(self) -> Any:
        return self.call

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (index,) if self.call.wants_block_id else ()


class MappedCall:
    """A user's function with the arguments that are not blocks."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], wants_block_id: bool
    ) -> None:
        self.function, self.args, self.kwargs, self.wants_block_id = function, args, kwargs, wants_block_id

    @property
    def label(self) -> str:
        return function_label(self.function) if hasattr(self.function, "__name__") else "map-blocks"

    @property
    def __name__(self) -> str:
        return self.label

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.args, self.kwargs, self.wants_block_id)

    def __call__(self, *blocks: Any) -> Any:
        kwargs = self.kwargs
        if self.wants_block_id:
            *blocks, block_id = blocks  # type: ignore[assignment]
            kwargs = {**kwargs, "block_id": block_id}
        rest = iter(blocks)
        args = [next(rest) if arg is BLOCK else arg for arg in self.args]
        return self.function(*args, **kwargs)


class Part:
    """Takes one of several results of a task, as an array. `name` is what dashboards call it."""

    def __init__(self, number: int, name: str = "") -> None:
        self.number = number
        self.name = name or f"output-{number}"

    @property
    def __name__(self) -> str:
        return self.name

    def __glassloom_tokenize__(self) -> tuple[int, str]:
        return self.number, self.name

    def __call__(self, results: Any) -> Any:
        part = results[self.number]
        return part if getattr(part, "ndim", 0) else namespace_of(part).asarray(part)


class _BlockHere:
    """Stands for a block among the arguments of `MappedCall`."""

    def __repr__(self) -> str:
        return "BLOCK"

    def __reduce__(self) -> str:
        return "BLOCK"


BLOCK = _BlockHere()


def map_blocks(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    dtype: Any = None,
    chunks: Any = None,
    drop_axis: tuple[int, ...] = (),
    new_axis: tuple[int, ...] = (),
    meta: Any = None,
    wants_block_id: bool = False,
) -> ArrayExpr:
    """Return the node of a function applied to each block.

    Raises
    ------
    ChunkError
        If a dropped axis has several blocks, or `chunks` doesn't say a length for each axis.
    ValueError
        If the type of the result isn't given and the function can't be tried on a tiny block.
    """
    aligned = align(args)
    arrays = tuple(arg for arg in aligned if isinstance(arg, ArrayExpr))
    if not arrays:
        raise ValueError("map_blocks needs at least one array")
    call = MappedCall(
        function, tuple(BLOCK if isinstance(arg, ArrayExpr) else arg for arg in aligned), kwargs, wants_block_id
    )
    common = broadcast_chunks([node.chunks for node in arrays])
    for axis in drop_axis:
        if len(common[axis]) > 1:
            raise ChunkError(f"drop_axis={axis} has {len(common[axis])} blocks; rechunk it to one first")
    axes: list[int | None] = [axis for axis in range(len(common)) if axis not in drop_axis]
    for place in sorted(new_axis):
        axes.insert(place, None)
    found = _new_chunks(common, axes, chunks)
    if meta is None:
        meta = make_meta(arrays[0].meta, len(axes), _tried_dtype(call, arrays, dtype, len(axes)))
    return MapBlocks(call, arrays, tuple(axes), found, meta)


def _new_chunks(common: Chunks, axes: list[int | None], chunks: Any) -> Chunks:
    if chunks is None:
        return tuple((1,) if axis is None else common[axis] for axis in axes)
    if len(chunks) != len(axes):
        raise ChunkError(f"chunks={chunks!r} has {len(chunks)} entries, but the result has {len(axes)} axes")
    found: list[tuple[int, ...]] = []
    for axis, entry in zip(axes, chunks, strict=True):
        count = 1 if axis is None else len(common[axis])
        blocks: tuple[Any, ...] = (entry,) * count if isinstance(entry, (int, np.integer)) else tuple(entry)
        if len(blocks) != count:
            raise ChunkError(f"chunks={chunks!r} has {len(blocks)} blocks along an axis that has {count}")
        found.append(tuple(length if length != length else int(length) for length in blocks))
    return tuple(found)


def _tried_dtype(call: MappedCall, arrays: tuple[ArrayExpr, ...], dtype: Any, ndim: int) -> Any:
    """Return the type of the result: as told, or by trying the function on blocks of one element."""
    if dtype is not None:
        return np.dtype(dtype)
    tiny = [namespace_of(node.meta).ones((1,) * node.ndim, dtype=node.dtype) for node in arrays]
    extra = ((0,) * ndim,) if call.wants_block_id else ()
    try:
        with np.errstate(all="ignore"):
            return np.asarray(call(*tiny, *extra)).dtype
    except Exception as error:  # the function is the user's: it may do anything to a block of one element
        raise ValueError(
            f"map_blocks tried {call.label} on blocks of one element to learn its type, but it raised "
            f"{type(error).__name__}: {error}. Say dtype=..."
        ) from error


class PickedBlocks(BlockwiseArray):
    """Some blocks of an array, in any order: `numbers` has those of each axis."""

    parameters = ("array", "numbers")
    operation = "blocks"

    array: ArrayExpr
    numbers: tuple[tuple[int, ...], ...]

    @cached_property
    def chunks(self) -> Chunks:
        return tuple(
            tuple(blocks[number] for number in picked)
            for blocks, picked in zip(self.array.chunks, self.numbers, strict=True)
        )

    @cached_property
    def meta(self) -> Any:
        return self.array.meta

    @property
    def mappings(self) -> list[Mapping]:
        return [pick_axes(list(self.numbers), self.array.numblocks)]

    @property
    def function(self) -> Any:
        return same_block


def blocks_at(node: ArrayExpr, numbers: tuple[tuple[int, ...], ...]) -> ArrayExpr:
    """Return the array made of some blocks: `numbers` has those of each axis, consecutive or not."""
    if not all(map(is_known, node.chunks)) or not all(map(_is_run, numbers)):
        return PickedBlocks(node, numbers)
    from_to = []
    for blocks, picked in zip(node.chunks, numbers, strict=True):
        ends = np.cumsum((0, *blocks))
        from_to.append([range(int(ends[number]), int(ends[number + 1])) for number in picked])
    return slice_array(node, tuple(range(axis[0].start, axis[-1].stop) for axis in from_to))


def _is_run(numbers: tuple[int, ...]) -> bool:
    return all(after == before + 1 for before, after in zip(numbers, numbers[1:], strict=False))
