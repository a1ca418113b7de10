"""An array with some of its elements replaced: what ``x[key] = value`` makes.

Where a key is lazy, which block a value goes to isn't known before the key is computed, so each block gets all values and positions.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import UNKNOWN, is_known, length_of
from glassloom.array.ops.base import ArrayExpr, SameChunks, describe
from glassloom.array.ops.creation import Arange, from_numpy
from glassloom.array.ops.elementwise import astype, copied_for, elementwise, fitted, is_masked, on_one_device
from glassloom.array.ops.indexing import Parsed, Positions, first_axes, group_points, parse
from glassloom.array.ops.joining import collect
from glassloom.array.ops.labelled_axes import indexed
from glassloom.array.ops.rechunk import rechunk
from glassloom.array.ops.scans import scan
from glassloom.array.ops.shapes import broadcast_to, ravel, reshape, transpose
from glassloom.array.ops.slicing import NewAxes, Selector, cut_axis, may_be_equal, slice_array, take
from glassloom.backends.arrays import join, namespace_of
from glassloom.backends.standard_ import StandardChunk
from glassloom.errors import ChunkError
from glassloom.graph import Key, Task


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


class Assign(SameChunks):
    """`value` in place of some elements: at `points` along `axes` (none for plain slices), and where `index` has
    selectors for the other axes. Blocks that nothing changes are the array's own.

    `value` has the axes: points (if there are), then one for each other axis; its blocks are those of `groups`.
    """

    parameters = ("array", "value", "axes", "points", "index")

    array: ArrayExpr
    value: ArrayExpr
    axes: tuple[int, ...]
    points: tuple[Positions, ...]
    index: tuple[Selector, ...]

    @cached_property
    def _rest(self) -> list[int]:
        """The axes that points don't name."""
        return [axis for axis in range(self.ndim) if axis not in self.axes]

    @cached_property
    def _changed(self) -> dict[tuple[int, ...], tuple[tuple[int, ...], tuple[Any, ...]]]:
        """For each block that changes: the value's block, and the places in this one."""
        of_axes: list[list[tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]]]] = []
        if self.axes:
            groups = group_points(self.points, self.chunks, self.axes)
            of_axes.append([(numbers, (position,), place) for position, (numbers, _, place) in enumerate(groups)])
        for entry, axis in zip(self.index, self._rest, strict=True):
            cuts = cut_axis(entry, self.chunks[axis])
            of_axes.append([((number,), (position,), (place,)) for position, (number, place, _) in enumerate(cuts)])
        order = np.argsort((*self.axes, *self._rest)).tolist()
        found = {}
        for parts in itertools.product(*of_axes):
            numbers, position, places = (
                tuple(itertools.chain.from_iterable(part[which] for part in parts)) for which in range(3)
            )
            found[tuple([numbers[place] for place in order])] = (position, places)
        return found

    def tasks(self) -> dict[Key, Task]:
        function = AssignBlock(self.axes)
        tasks: dict[Key, Task] = {}
        for index, (position, places) in self._changed.items():
            sources: list[Key] = [(self.array.name, *index), (self.value.name, *position)]
            key: Key = (self.name, *index)
            tasks[key] = Task.of_blocks(key, function, sources, (places,))
        return tasks

    def aliases(self) -> dict[Key, Key]:
        found = dict(zip(self.output_keys(), self.array.output_keys(), strict=True))
        for index in self._changed:
            del found[self.name, *index]
        return found


class AssignBlock:
    """Returns a block with a part of it replaced."""

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def __call__(self, block: Any, value: Any, places: tuple[Any, ...]) -> Any:
        xp = namespace_of(block)
        made = copied_for(block, value)
        where = tuple(place if isinstance(place, slice) else xp.asarray(place) for place in places)
        moved = first_axes(made, self.axes)
        moved[where] = value
        if not isinstance(moved, StandardChunk):
            return made  # `moved` is a view of it
        rest = [axis for axis in range(block.ndim) if axis not in self.axes]
        return xp.transpose(moved, np.argsort((*self.axes, *rest)).tolist())


def assign(node: ArrayExpr, key: Any, value: Any) -> ArrayExpr:
    """Return the array as ``array[key] = value`` leaves it.

    Parameters
    ----------
    value
        A node, a scalar, or nested lists of scalars.

    Raises
    ------
    IndexError
        If the key is none of the array.
    ValueError
        If the value doesn't broadcast to what the key selects.
    TypeError, ValueError, OverflowError
        What NumPy raises, if a scalar can't be an element of the array.
    """
    if value is np.ma.masked and is_masked(node) and node.dtype.names is None:
        mask = assign(elementwise(np.ma.getmaskarray, node), key, True)
        return elementwise(with_mask, node, mask)  # which keeps what is below, as NumPy does
    parsed = parse(node, key)
    if not isinstance(value, ArrayExpr):
        made = fitted(value, node.dtype, key=_kind_of_key(parsed), has_mask=is_masked(node))
        value = from_numpy(made, copy=False)
    if value.ndim > 1 and _is_mask_of_all(key, node):
        raise TypeError(f"a mask of the whole array takes values with 0 or 1 axes, not {describe(value)}")
    _, value = on_one_device([node, value])
    return _assign(node, parsed, value)


def with_mask(block: Any, mask: Any) -> Any:
    """Return a masked array with another mask."""
    made = block.copy()
    made.mask = mask
    return made


def _kind_of_key(parsed: Parsed) -> Any:
    """Return the key of the same kind for one element: NumPy puts scalars in place in three ways."""
    if parsed.lists or parsed.mask is not None:
        return [0]
    return 0 if parsed.others and all(isinstance(entry, int) for entry in parsed.others) else ...


def _is_mask_of_all(key: Any, node: ArrayExpr) -> bool:
    """Whether a key is one mask, for all axes: NumPy then takes fewer values than for positions."""
    entry = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    mask = np.asarray(entry) if isinstance(entry, list) else entry
    return getattr(mask, "dtype", None) == np.dtype(bool) and mask.ndim == node.ndim > 0


def _assign(node: ArrayExpr, parsed: Parsed, value_node: ArrayExpr) -> ArrayExpr:
    if parsed.mask is not None:
        return _assign_by_mask(node, parsed, value_node)
    if any(isinstance(entry, ArrayExpr) for _, entry in parsed.lists):
        return _assign_lazily(node, parsed, value_node)
    wanted = _fit(value_node, parsed.shape, node)
    if 0 in parsed.shape:
        return node
    return _assign_plainly(node, parsed, _canonical(wanted, parsed))


def assign_fields(node: ArrayExpr, key: str | list[str], value: Any) -> ArrayExpr:
    """Return an array of structures as ``array[key] = value`` leaves it, where the key names fields."""
    names = [key] if isinstance(key, str) else key
    wrong = [name for name in names if name not in (node.dtype.names or ())]
    if wrong:
        raise ValueError(f"no field {wrong[0]!r} in an array of type {node.dtype}")
    if not isinstance(value, ArrayExpr):
        np.zeros(np.shape(value), node.dtype)[key] = value  # raises what NumPy does
        value = from_numpy(np.asarray(value)) if np.ndim(value) else value
    if isinstance(value, ArrayExpr):
        value = _fit(value, node.shape, node)
    return elementwise(replace_fields, node, value, key=key)


def replace_fields(block: Any, value: Any, key: Any) -> Any:
    """Return a block of structures with values in fields."""
    made = block.copy()
    made[key] = value
    return made


def _fit(value: ArrayExpr, shape: tuple[int, ...], node: ArrayExpr) -> ArrayExpr:
    """Return the value repeated to a shape; further axes of length 1 in front are dropped, as NumPy does."""
    extra = value.ndim - len(shape)
    if extra > 0 and all(length == 1 for length in value.shape[:extra]):
        value = slice_array(value, (0,) * extra + (None,) * len(shape))
    try:
        return broadcast_to(value, shape)
    except ValueError:
        raise ValueError(
            f"a value of {describe(value)} can't be assigned to a part of shape {shape} of an array of {describe(node)}"
        ) from None


def _canonical(value: ArrayExpr, parsed: Parsed) -> ArrayExpr:
    """Return the value with the axes that `Assign` wants: points first, then one for each other axis of the array."""
    n_points, before = parsed.n_point_axes, parsed.points_at
    if n_points and before:
        rest = [axis for axis in range(value.ndim) if not before <= axis < before + n_points]
        value = transpose(value, (*range(before, before + n_points), *rest))
    kept: list[Any] = [None] * n_points
    new: list[int] = []
    for entry in parsed.others:
        if entry is None:
            kept.append(0)  # a new axis: away with it
        elif not isinstance(entry, int):
            kept.append(None)
    value = slice_array(value, tuple(kept))
    if n_points != 1 and n_points:
        value = reshape(value, (-1 if value.size else 0, *value.shape[n_points:]))
    position = 1 if n_points else 0
    for entry in parsed.others:
        if isinstance(entry, int):
            new.append(position)
        if entry is not None:
            position += 1
    return NewAxes(value, tuple(new)) if new else value


def _assign_plainly(node: ArrayExpr, parsed: Parsed, value: ArrayExpr) -> ArrayExpr:
    axes = tuple(axis for axis, _ in parsed.lists)
    rest = [axis for axis in range(node.ndim) if axis not in axes]
    entries = [entry for entry in parsed.others if entry is not None]
    index = tuple(range(e, e + 1) if isinstance(e, int) else e for e in parsed.selectors(entries, node, rest))
    lengths = [
        tuple(length for _, _, length in cut_axis(entry, node.chunks[axis]))
        for entry, axis in zip(index, rest, strict=True)
    ]
    points: tuple[Positions, ...] = ()
    if axes:
        several = np.broadcast_arrays(*(entry for _, entry in parsed.lists))
        points = tuple(each.ravel() for each in several)
        groups = group_points(points, node.chunks, axes)
        order = np.concatenate([which for _, which, _ in groups])
        points = tuple(each[order] for each in points)
        value = take(value, order, 0)
        lengths.insert(0, tuple(len(which) for _, which, _ in groups))
    return Assign(node, rechunk(value, tuple(lengths)), axes, points, index)


def _assign_by_mask(node: ArrayExpr, parsed: Parsed, value: ArrayExpr) -> ArrayExpr:
    """A lazy mask: how many elements it selects isn't known, so the value must not have an axis for them."""
    mask, axis = parsed.mask, parsed.mask_axis
    assert mask is not None
    if any(entry is None for entry in parsed.others):
        raise NotImplementedError("assigning with a lazy mask and new axes; use where(mask, value, x)")
    if any(entry != slice(None) for entry in parsed.others):
        return _assign_in_part(node, parsed, value)
    n_behind = node.ndim - axis - mask.ndim
    for own, along in zip(mask.shape, node.shape[axis:], strict=False):
        if not may_be_equal(own, along):
            raise IndexError(f"a mask of shape {mask.shape} for an array of {describe(node)}")
    if not axis and not is_known(value.chunks[0] if value.ndim else ()) and value.ndim == 1 + n_behind:
        return _assign_masked_values(node, mask, value)
    if value.ndim > n_behind and any(length != 1 for length in value.shape[: value.ndim - n_behind]):
        return assign_values_by_mask(node, mask, axis, _without_axes_in_front(value, axis + 1 + n_behind))
    if axis and is_masked(mask):
        mask = elementwise(np.ma.getdata, mask)  # NumPy looks at what a mask itself masks only if it is the whole key
    spread = NewAxes(mask, tuple(range(mask.ndim, mask.ndim + n_behind))) if n_behind else mask
    flat = _fit(value, node.shape[axis + mask.ndim :], node) if value.ndim else value
    return elementwise(replace_where, node, spread, flat)


def _assign_in_part(node: ArrayExpr, parsed: Parsed, value: ArrayExpr) -> ArrayExpr:
    """A lazy mask beside integers and slices: assigned in the part that those select, which goes back to its place."""
    assert parsed.mask is not None
    mask, axis = parsed.mask, parsed.mask_axis
    full = (slice(None),) * mask.ndim
    entries = [*parsed.others[:axis], *full, *parsed.others[axis:]]
    if any(isinstance(entry, int) for entry in parsed.others) and _is_apart(entries, axis, mask.ndim):
        raise NotImplementedError("a lazy mask and an integer with a slice between them; assign to one after the other")
    part = slice_array(node, parsed.selectors(entries, node, range(node.ndim)))
    at = sum(not isinstance(entry, int) for entry in parsed.others[:axis])
    key = (*(slice(None),) * at, elementwise(np.ma.getdata, mask) if is_masked(mask) else mask)
    return assign(node, tuple(entries), _assign(part, parse(part, key), value))


def _is_apart(entries: list[Any], axis: int, ndim: int) -> bool:
    """Whether a slice stands between a mask's axes and an integer: NumPy then puts the points first."""
    advanced = [at for at, entry in enumerate(entries) if isinstance(entry, int) or axis <= at < axis + ndim]
    return advanced[-1] - advanced[0] >= len(advanced)


def _assign_lazily(node: ArrayExpr, parsed: Parsed, value: ArrayExpr) -> ArrayExpr:
    """Lazy positions, beside which there may be others, integers and slices."""
    axes = [axis for axis, _ in parsed.lists]
    lists = [entry for _, entry in parsed.lists]
    rest = [axis for axis in range(node.ndim) if axis not in axes]
    if all(is_known(blocks) for entry in lists if isinstance(entry, ArrayExpr) for blocks in entry.chunks):
        points = np.broadcast_shapes(*(entry.shape for entry in lists))
        wanted = _canonical(_fit(value, parsed.shape, node), parsed)
        if not points:
            wanted = NewAxes(wanted, (0,))
        lists = [_flat(entry, points) for entry in lists]
    elif any(entry.ndim != 1 for entry in lists) or any(entry != slice(None) for entry in parsed.others):
        raise ChunkError(
            "lazy positions whose number isn't known, with other indices; call compute_chunk_sizes() first"
        )
    else:
        missing = 1 + len(rest) - value.ndim
        wanted = NewAxes(value, tuple(range(missing))) if missing > 0 else value
        if parsed.points_at and value.ndim > parsed.points_at:
            raise ChunkError("values for lazy positions whose number isn't known; call compute_chunk_sizes() first")
    entries = [entry for entry in parsed.others if entry is not None]
    index: list[Any] = [slice(None)] * node.ndim
    for axis, entry in zip(rest, entries, strict=True):
        at = entry % node.shape[axis] if isinstance(entry, int) else 0
        index[axis] = slice(at, at + 1) if isinstance(entry, int) else entry
    if all(entry == slice(None) for entry in index):
        return assign_at_points(node, axes, lists, wanted)
    part = slice_array(node, parsed.selectors(index, node, range(node.ndim)))
    return assign(node, tuple(index), assign_at_points(part, axes, lists, wanted))


def _flat(positions: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(positions, ArrayExpr):
        spread = broadcast_to(positions, shape)
        return ravel(spread) if shape else NewAxes(spread, (0,))
    return np.broadcast_to(positions, shape).ravel()


def _without_axes_in_front(value: ArrayExpr, ndim: int) -> ArrayExpr:
    """Return a value without further axes of length 1 in front, as NumPy takes it."""
    extra = value.ndim - ndim
    if extra > 0 and all(length == 1 for length in value.shape[:extra]):
        return slice_array(value, (0,) * extra + (None,) * ndim)
    if extra > 0:
        raise ValueError(f"a value of {describe(value)} for a selection with {ndim} axes")
    return value


def _assign_masked_values(node: ArrayExpr, mask: ArrayExpr, value: ArrayExpr) -> ArrayExpr:
    """A value for each element where the mask is true, made of ``x[mask]``: its blocks belong to those of the mask."""
    first = node.chunks[0] if value.numblocks[0] > 1 else (node.shape[0],)
    rows = (first, *((length,) for length in node.shape[1 : mask.ndim]))
    behind = node.chunks[mask.ndim :]
    if len(rows[0]) != value.numblocks[0]:
        raise ChunkError(
            f"a value of {describe(value)} doesn't line up with a mask of {describe(mask)}; use where(mask, values, x)"
        )
    nodes = [rechunk(node, (*rows, *behind)), rechunk(mask, rows), rechunk(value, (value.chunks[0], *behind))]
    own = tuple(range(node.ndim))
    labels = [own, own[: mask.ndim], (0, *own[mask.ndim :])]
    return indexed(assign_masked, nodes, labels, own, meta=node.meta, align=False)


def assign_masked(block: Any, mask: Any, value: Any) -> Any:
    """Return a block with values, one after the other, where a mask is true."""
    made = copied_for(block, value)
    made[mask] = value
    return made


def replace_where(block: Any, mask: Any, value: Any) -> Any:
    """Return a block with a value where a mask is true; the type stays the block's."""
    if isinstance(block, np.ma.MaskedArray):
        return replace_and_unmask(block, mask, value)
    xp = namespace_of(block)
    return xp.where(mask, xp.asarray(value).astype(block.dtype), block)


def replace_and_unmask(block: Any, mask: Any, value: Any) -> Any:
    """Return a masked array with a value where a mask is true: masked where the value is, and not where it isn't."""
    made = copied_for(block, value)
    where = np.broadcast_to(np.ma.getdata(mask), block.shape)
    values = np.broadcast_to(np.ma.getdata(value), block.shape)[where]
    if isinstance(value, np.ma.MaskedArray):
        made[where] = np.ma.masked_array(values, np.broadcast_to(np.ma.getmaskarray(value), block.shape)[where])
    elif isinstance(mask, np.ma.MaskedArray):
        made.data[where] = values  # of such a mask NumPy leaves the array's own as it is
    else:
        made[where] = values
    return made
