"""A user's function applied to each block, and what it gets: lazy values as a whole, the position of the block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, is_known, starts
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, make_meta
from glassloom.array.ops.elementwise import align, broadcast_chunks
from glassloom.array.ops.rechunk import pick_axes, rechunk
from glassloom.array.ops.slicing import slice_array
from glassloom.array.sources.memory import frozen
from glassloom.backends.arrays import namespace_of
from glassloom.collection import Collection
from glassloom.delayed_call import Call, call
from glassloom.errors import ChunkError
from glassloom.expr import Expr
from glassloom.expr.blockwise import Mapping, align_right, map_index, same_block
from glassloom.graph import Key, Task, TaskRef, function_label


@dataclass(frozen=True)
class Layout:
    """How an array is cut into blocks."""

    chunks: Chunks

    @cached_property
    def _starts(self) -> list[list[int]]:
        return [starts(blocks) for blocks in self.chunks]

    def at(self, index: tuple[int, ...]) -> dict[str, Any]:
        """Return the entry that describes the block at an index."""
        begins = [axis[number] for axis, number in zip(self._starts, index, strict=True)]
        lengths = self.lengths(index)
        return {
            "shape": tuple(sum(blocks) for blocks in self.chunks),
            "num-chunks": tuple(len(blocks) for blocks in self.chunks),
            "array-location": [(begin, begin + length) for begin, length in zip(begins, lengths, strict=True)],
            "chunk-location": index,
        }

    def lengths(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the block at an index."""
        return tuple(blocks[number] for blocks, number in zip(self.chunks, index, strict=True))


@dataclass(frozen=True)
class BlockInfo:
    """The layouts of arrays, by the position of the argument, with the mapping from the result's index to theirs; and
    that of the result."""

    inputs: tuple[tuple[int, Layout, Mapping], ...]
    output: Layout
    dtype: Any

    def at(self, index: tuple[int, ...]) -> dict[int | None, dict[str, Any]]:
        """Return the ``block_info`` for the block of the result at an index; the key None stands for the result."""
        found: dict[int | None, dict[str, Any]] = {
            position: layout.at(map_index(mapping, index)) for position, layout, mapping in self.inputs
        }
        found[None] = {
            **self.output.at(index), "chunk-shape": self.output.lengths(index), "dtype": np.dtype(self.dtype),
        }  # fmt: skip
        return found


class Value(ArrayExpr):
    """A lazy value as an array without axes: its only block is the concrete value, whatever that is."""

    parameters = ("call",)

    call: Call

    @property
    def chunks(self) -> Chunks:
        return ()

    @property
    def meta(self) -> Any:
        return np.empty((), dtype=object)

    def tasks(self) -> dict[Key, Task]:
        (source,) = self.call.output_keys()
        (key,) = self.output_keys()
        return {key: Task(key, same_block, (TaskRef(source),))}

    @property
    def sample(self) -> Any:
        """The value with ones in place of lazy arrays.

        Raises
        ------
        ValueError
            If it holds a delayed call or a frame, of which nothing is known.
        """
        return _sampled(self.call.args[0])


def _sampled(value: Any) -> Any:
    if isinstance(value, ArrayExpr):
        return namespace_of(value.meta).ones((1,) * value.ndim, dtype=value.dtype)
    if isinstance(value, Expr):
        raise ValueError(f"nothing is known of {value.name} before it is computed")
    if type(value) in (list, tuple, set):
        return type(value)(map(_sampled, value))
    if type(value) is dict:
        return {name: _sampled(item) for name, item in value.items()}
    return value


def holds_lazy(value: Any) -> bool:
    """Whether a value is lazy, or a list, tuple, set or dict that holds a lazy one."""
    if isinstance(value, Collection):
        return True
    if type(value) in (list, tuple, set):
        return any(map(holds_lazy, value))
    return type(value) is dict and any(map(holds_lazy, value.values()))


def value_node(value: Any) -> Any:
    """Return the node of a lazy value; anything else as it is."""
    if not holds_lazy(value):
        return value
    return Value(call(same_block, (value,), {}, pure=True, label="value").expr)


def split_lazy(kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Value]]:
    """Return the keyword arguments that are at hand, and the nodes of those that are lazy."""
    nodes = {name: value_node(value) for name, value in kwargs.items() if holds_lazy(value)}
    return {name: value for name, value in kwargs.items() if name not in nodes}, nodes


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
        ndim = max((node.ndim for node in self.arrays), default=0)
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
        return (index,) if self.call.needs_index else ()


class MappedCall:
    """A user's function with the arguments that are not blocks. It is called with the blocks, then with the values of
    lazy keyword arguments, and with the index of the block if it needs that.

    Parameters
    ----------
    lazy
        The names of the lazy keyword arguments.
    info
        What to tell the function as ``block_info``; None if it doesn't ask.
    called
        What to call it in keys and dashboards, instead of the function's own name.
    """

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], wants_block_id: bool = False,
        *, lazy: tuple[str, ...] = (), info: BlockInfo | None = None, called: str | None = None,
    ) -> None:  # fmt: skip
        self.function, self.wants_block_id = function, wants_block_id
        self.args, self.kwargs = frozen(args), frozen(kwargs)
        self.lazy, self.info, self.called = lazy, info, called

    @property
    def needs_index(self) -> bool:
        """Whether it is called with the index of the block too."""
        return self.wants_block_id or self.info is not None

    @property
    def label(self) -> str:
        if self.called is not None:
            return self.called
        return function_label(self.function) if hasattr(self.function, "__name__") else "map-blocks"

    @property
    def __name__(self) -> str:
        return self.label

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.args, self.kwargs, self.wants_block_id, self.lazy, self.info is None)

    def __call__(self, *blocks: Any) -> Any:
        kwargs = dict(self.kwargs)
        if self.needs_index:
            *blocks, index = blocks  # type: ignore[assignment]
            if self.wants_block_id:
                kwargs["block_id"] = index
            if self.info is not None:
                kwargs["block_info"] = self.info.at(index)
        rest = iter(blocks)
        args = [next(rest) if arg is BLOCK else arg for arg in self.args]
        kwargs.update(zip(self.lazy, rest, strict=True))
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
    wants_block_info: bool = False,
    called: str | None = None,
    align_arrays: bool = True,
) -> ArrayExpr:
    """Return the node of a function applied to each block. Lazy values among the arguments are passed as a whole.

    Raises
    ------
    ChunkError
        If `chunks` doesn't say a length for each axis, or is needed and missing.
    ValueError
        If the type of the result isn't given and the function can't be tried on a tiny block.
    """
    plain, lazy = split_lazy(kwargs)
    values = [value_node(arg) for arg in args]
    aligned = _in_step([arg for arg in values if _is_array(arg)], drop_axis, align_arrays)
    rest = iter(aligned)
    places = [position for position, arg in enumerate(values) if _is_array(arg)]
    values = [next(rest) if _is_array(arg) else arg for arg in values]
    call = MappedCall(
        function, tuple(BLOCK if isinstance(arg, ArrayExpr) else arg for arg in values), plain, wants_block_id,
        lazy=tuple(lazy), called=called,
    )  # fmt: skip
    common = broadcast_chunks([node.chunks for node in aligned]) if aligned else ()
    axes: list[int | None] = [axis for axis in range(len(common)) if axis not in drop_axis]
    for place in sorted(new_axis):
        axes.insert(place, None)
    found = _new_chunks(common, axes, chunks)
    nodes = (*(arg for arg in values if isinstance(arg, ArrayExpr)), *lazy.values())
    if meta is None:
        kind = np.dtype(dtype) if dtype is not None else tried(call, nodes, len(axes), wants_block_info).dtype
        meta = make_meta(aligned[0].meta if aligned else np.empty(0), len(axes), kind)
    made = MapBlocks(call, nodes, tuple(axes), found, meta)
    if not wants_block_info:
        return made
    layouts = iter([(Layout(node.chunks), mapping) for node, mapping in zip(nodes, made.mappings, strict=True)
                    if _is_array(node)])  # fmt: skip
    info = BlockInfo(tuple((place, *next(layouts)) for place in places), Layout(found), made.dtype)
    told = MappedCall(function, call.args, plain, wants_block_id, lazy=call.lazy, info=info, called=called)
    return MapBlocks(told, nodes, tuple(axes), found, meta)


def _is_array(value: Any) -> bool:
    return isinstance(value, ArrayExpr) and not isinstance(value, Value)


def _in_step(arrays: list[Any], drop_axis: tuple[int, ...], align_arrays: bool) -> list[Any]:
    """Return arrays with their blocks aligned, one block along axes that go away. Arrays whose shapes don't go together
    are taken block by block if their numbers of blocks do."""
    ndim = max((node.ndim for node in arrays), default=0)
    whole = [
        rechunk(node, tuple(
            (node.shape[axis],) if axis + ndim - node.ndim in drop_axis and len(blocks) > 1 else blocks
            for axis, blocks in enumerate(node.chunks)
        ))
        for node in arrays
    ]  # fmt: skip
    try:
        if align_arrays:
            return align(whole)
        np.broadcast_shapes(*(node.numblocks for node in whole))
        return whole
    except ValueError:
        if not _go_together([node.numblocks for node in whole]):
            raise
        return whole


def _go_together(several: Sequence[tuple[int, ...]]) -> bool:
    try:
        np.broadcast_shapes(*several)
    except ValueError:
        return False
    return True


def _new_chunks(common: Chunks, axes: list[int | None], chunks: Any) -> Chunks:
    if chunks is None:
        return tuple((1,) if axis is None else common[axis] for axis in axes)
    if len(chunks) != len(axes):
        raise ChunkError(f"chunks={chunks!r} has {len(chunks)} entries, but the result has {len(axes)} axes")
    found: list[tuple[int, ...]] = []
    for axis, entry in zip(axes, chunks, strict=True):
        is_one = isinstance(entry, (int, np.integer)) or entry != entry
        count = (1 if is_one or common else len(entry)) if axis is None else len(common[axis])
        blocks: tuple[Any, ...] = (entry,) * count if is_one else tuple(entry)
        if len(blocks) != count:
            raise ChunkError(f"chunks={chunks!r} has {len(blocks)} blocks along an axis that has {count}")
        found.append(tuple(length if length != length else int(length) for length in blocks))
    return tuple(found)


def tried(
    call: MappedCall, nodes: Sequence[ArrayExpr], ndim: int, wants_block_info: bool = False, what: str = "map_blocks"
) -> Any:
    """Return what a user's function makes of blocks of one element, with ``block_info=None``; as an array.

    Raises
    ------
    ValueError
        If that isn't known, or the function raises.
    """
    extra = ((0,) * ndim,) if call.wants_block_id else ()
    told = {"block_info": None} if wants_block_info else {}
    trial = MappedCall(call.function, call.args, {**call.kwargs, **told}, call.wants_block_id, lazy=call.lazy)
    try:
        tiny = [node.sample if isinstance(node, Value) else _tiny(node) for node in nodes]
        with np.errstate(all="ignore"):
            return np.asarray(trial(*tiny, *extra))
    except Exception as error:  # the function is the user's: it may do anything to a block of one element
        raise ValueError(
            f"{what} tried {call.label} on blocks of one element to learn its type, but it raised "
            f"{type(error).__name__}: {error}. Say dtype=..."
        ) from error


def _tiny(node: ArrayExpr) -> Any:
    return namespace_of(node.meta).ones((1,) * node.ndim, dtype=node.dtype)


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
