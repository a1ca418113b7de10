"""Keys of ``x[...]``: interpreted as NumPy does, and turned into nodes; and elements at points, given by several lists that go together."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, starts
from glassloom.array.ops.base import ArrayExpr, describe, make_meta
from glassloom.array.ops.creation import from_numpy
from glassloom.array.ops.labelled_axes import indexed, whole
from glassloom.array.ops.rechunk import rechunk
from glassloom.array.ops.shapes import ravel, reshape, transpose
from glassloom.array.ops.slicing import Compress, NewAxes, Selector, check_known, may_be_equal, slice_array, take
from glassloom.backends.arrays import concatenate, namespace_of
from glassloom.expr.blockwise import block_indices
from glassloom.graph import Key, Task

Positions = np.ndarray[Any, Any]


class TakePoints(ArrayExpr):
    """Elements at points, along a first axis of their own; the axes that points don't name follow.

    `points` has positions for each of `axes`; `lengths` cuts them into blocks.
    """

    parameters = ("array", "axes", "points", "lengths")
    operation = "points"

    array: ArrayExpr
    axes: tuple[int, ...]
    points: tuple[Positions, ...]
    lengths: tuple[int, ...]

    @cached_property
    def _rest(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(self.array.ndim) if axis not in self.axes)

    @cached_property
    def chunks(self) -> Chunks:
        return (self.lengths, *(self.array.chunks[axis] for axis in self._rest))

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.array.meta, self.ndim)

    def tasks(self) -> dict[Key, Task]:
        begins = starts(self.lengths)
        plans = []
        for begin, length in zip(begins, self.lengths, strict=True):
            groups = group_points([each[begin : begin + length] for each in self.points], self.array.chunks, self.axes)
            order = np.argsort(np.concatenate([which for _, which, _ in groups]))
            plans.append((groups, PointGather(self.axes, [place for _, _, place in groups], order)))
        tasks: dict[Key, Task] = {}
        for index in block_indices(self.numblocks):
            groups, function = plans[index[0]]
            keys: list[Key] = [self._source(numbers, index[1:]) for numbers, _, _ in groups]
            key: Key = (self.name, *index)
            tasks[key] = Task.of_blocks(key, function, keys)
        return tasks

    def _source(self, numbers: tuple[int, ...], rest: tuple[int, ...]) -> Key:
        found = [0] * self.array.ndim
        for axis, number in zip((*self.axes, *self._rest), (*numbers, *rest), strict=True):
            found[axis] = number
        return (self.array.name, *found)


def group_points(
    points: Sequence[Positions], chunks: Chunks, axes: Sequence[int]
) -> list[tuple[tuple[int, ...], Positions, tuple[Positions, ...]]]:
    """Return for each block that holds points: its number along `axes`, which points they are, and their positions
    in it. Points of one block keep their order. Without points it is the first block and none.

    >>> group_points([np.array([5, 0])], ((4, 4),), [0])[1]
    ((1,), array([0]), (array([1]),))
    """
    begins = [np.asarray(starts(chunks[axis])) for axis in axes]
    numbers = [np.searchsorted(b, p, side="right") - 1 for b, p in zip(begins, points, strict=True)]
    counts = tuple(len(chunks[axis]) for axis in axes)
    flat = np.ravel_multi_index(numbers, counts) if len(points[0]) else np.zeros(0, dtype=np.intp)
    by_block = np.argsort(flat, kind="stable")
    blocks, first = np.unique(flat[by_block], return_index=True)
    if not len(blocks):
        blocks, first = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
    groups = []
    for block, which in zip(blocks, np.split(by_block, first[1:]), strict=True):
        number = tuple(map(int, np.unravel_index(block, counts)))
        place = tuple(p[which] - b[n] for p, b, n in zip(points, begins, number, strict=True))
        groups.append((number, which, place))
    return groups


class PointGather:
    """Takes points out of several blocks and puts them in order."""

    def __init__(self, axes: tuple[int, ...], places: list[tuple[Positions, ...]], order: Positions) -> None:
        self.axes, self.places, self.order = axes, places, order

    def __call__(self, *blocks: Any) -> Any:
        xp = namespace_of(blocks[0])
        parts = [
            first_axes(block, self.axes)[tuple(map(xp.asarray, place))]
            for block, place in zip(blocks, self.places, strict=True)
        ]
        joined = parts[0] if len(parts) == 1 else concatenate(parts, 0)
        return xp.take(joined, xp.asarray(self.order), axis=0)


def first_axes(block: Any, axes: Sequence[int]) -> Any:
    """Return a view of a block with some axes moved to the front."""
    rest = [axis for axis in range(block.ndim) if axis not in axes]
    return namespace_of(block).transpose(block, (*axes, *rest))


def take_points(node: ArrayExpr, axes: Sequence[int], positions: Sequence[Any]) -> ArrayExpr:
    """Return the elements at points: the axes of the (broadcast) positions first, then the others.

    Parameters
    ----------
    positions
        For each of `axes` an integer array of NumPy or a node, checked and not negative where they are NumPy's.
    """
    if any(isinstance(each, ArrayExpr) for each in positions):
        return _take_lazy_points(node, axes, positions)
    several = np.broadcast_arrays(*positions)
    shape = several[0].shape
    flat = tuple(each.ravel() for each in several)
    limit = max(1, math.prod(max(node.chunks[axis]) for axis in axes))
    count = len(flat[0])
    lengths = tuple(min(limit, count - begin) for begin in range(0, count, limit)) or (0,)
    made = TakePoints(node, tuple(axes), flat, lengths)
    return made if len(shape) == 1 else reshape(made, (*shape, *made.shape[1:]))


def _take_lazy_points(node: ArrayExpr, axes: Sequence[int], positions: Sequence[Any]) -> ArrayExpr:
    """Which blocks hold the points isn't known before they are computed: the axes become one block."""
    lists = [_as_node(each) for each in positions]
    ndim = max(each.ndim for each in lists)
    rest = [axis for axis in range(node.ndim) if axis not in axes]
    labels = [tuple(f"p{number}" for number in range(ndim - each.ndim, ndim)) for each in lists]
    own = tuple(f"a{axis}" for axis in range(node.ndim))
    out = (*(f"p{number}" for number in range(ndim)), *(own[axis] for axis in rest))
    joined = rechunk(node, whole(node.chunks, axes))
    return indexed(TakeLazily(tuple(axes)), [joined, *lists], [own, *labels], out, meta=make_meta(node.meta, len(out)))


class TakeLazily:
    """Takes points out of a block that is whole along their axes."""

    __name__ = "points"

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def __glassloom_tokenize__(self) -> Any:
        return self.axes

    def __call__(self, block: Any, *positions: Any) -> Any:
        return first_axes(block, self.axes)[positions]


@dataclass(frozen=True)
class Parsed:
    """A key, read.

    ``lists`` are the axes with positions, ``others`` what stands elsewhere, in order: integers, slices, and None for
    new axes. With lists, their common axes (``n_point_axes`` of them) stand at ``points_at`` in the result, which has
    the ``shape``. A lazy ``mask`` stands at ``mask_axis``, alone but for integers and slices.
    """

    node: ArrayExpr
    lists: list[tuple[int, Any]]
    others: list[Any]
    points_at: int
    n_point_axes: int
    mask: ArrayExpr | None
    mask_axis: int

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of what is selected, if there is no mask."""
        points = np.broadcast_shapes(*(entry.shape for _, entry in self.lists)) if self.lists else ()
        list_axes = {axis for axis, _ in self.lists}
        axes = iter([axis for axis in range(self.node.ndim) if axis not in list_axes])
        rest: list[Any] = []
        for entry in self.others:
            if entry is None:
                rest.append(1)
                continue
            axis = next(axes)
            if isinstance(entry, int):
                continue
            selector = selector_of(entry, self.node, axis)
            rest.append(self.node.shape[axis] if selector is None else len(selector))  # type: ignore[arg-type]
        return (*rest[: self.points_at], *points, *rest[self.points_at :])

    @staticmethod
    def selectors(entries: Sequence[Any], node: ArrayExpr, axes: Sequence[int]) -> tuple[Selector, ...]:
        """Return the selectors of integers and slices."""
        return tuple(selector_of(entry, node, axis) for entry, axis in zip(entries, axes, strict=True))


def select(node: ArrayExpr, key: Any) -> ArrayExpr:
    """Return ``array[key]``.

    Raises
    ------
    IndexError
        If the key has too many entries, or one that is out of bounds or no index.
    """
    parsed = parse(node, key, masks_stay=True)
    if parsed.mask is not None:
        return _select_by_mask(parsed)
    list_axes = {axis for axis, _ in parsed.lists}
    entries = iter([entry for entry in parsed.others if entry is not None])
    selectors = [None if axis in list_axes else selector_of(next(entries), node, axis) for axis in range(node.ndim)]
    made = slice_array(node, tuple(selectors))
    at = parsed.points_at
    if parsed.lists:
        left = [axis for axis in range(node.ndim) if not isinstance(selectors[axis], int)]
        axes = [left.index(axis) for axis, _ in parsed.lists]
        made = _take_lists(made, axes, [entry for _, entry in parsed.lists])
    new = _new_axes(parsed)
    if new:
        made = NewAxes(made, new)
    if parsed.n_point_axes and at:
        n = parsed.n_point_axes
        made = transpose(made, (*range(n, n + at), *range(n), *range(n + at, made.ndim)))
    return made


def _take_lists(node: ArrayExpr, axes: Sequence[int], lists: Sequence[Any]) -> ArrayExpr:
    """Return the elements at positions, whose axes come first."""
    if len(lists) == 1 and isinstance(lists[0], np.ndarray) and lists[0].ndim == 1:
        (axis,) = axes
        made = take(node, lists[0], axis)
        return transpose(made, (axis, *(other for other in range(made.ndim) if other != axis)))
    return take_points(node, axes, lists)


def _new_axes(parsed: Parsed) -> tuple[int, ...]:
    """Return where new axes go in an array whose points come first."""
    found, position = [], parsed.n_point_axes
    for entry in parsed.others:
        if entry is None:
            found.append(position)
        if not isinstance(entry, int):
            position += 1
    return tuple(found)


def _select_by_mask(parsed: Parsed) -> ArrayExpr:
    """Return the elements where a lazy mask is true."""
    node, mask, axis = parsed.node, parsed.mask, parsed.mask_axis
    assert mask is not None
    before = parsed.others[:axis]
    if mask.ndim != 1 and any(entry != slice(None) for entry in parsed.others):
        raise NotImplementedError("a mask of several axes must be the only index but for full slices")
    if mask.ndim == 0:
        return Compress(NewAxes(node, (axis,)), NewAxes(mask, (0,)), axis)
    if mask.ndim > 1:
        if axis:
            raise NotImplementedError("a mask of several axes must be the first and only index")
        return _rows_by_mask(node, mask)
    count_before = sum(entry is not None for entry in before)
    entries: list[Any] = [entry for entry in parsed.others if entry is not None]
    entries.insert(count_before, slice(None))
    selectors = Parsed.selectors(entries, node, range(node.ndim))
    at = sum(not isinstance(selector, int) for selector in selectors[:count_before])
    made = take(slice_array(node, selectors), mask, at)
    new, position = [], 0
    for entry in [*parsed.others[:axis], slice(None), *parsed.others[axis:]]:
        if entry is None:
            new.append(position)
        if not isinstance(entry, int):
            position += 1
    if _is_apart([*parsed.others[:axis], mask, *parsed.others[axis:]]):
        raise NotImplementedError("a lazy mask and an integer with a slice between them; index one after the other")
    return NewAxes(made, tuple(new)) if new else made


def _rows_by_mask(node: ArrayExpr, mask: ArrayExpr) -> ArrayExpr:
    """Return the elements where a mask of several axes is true, in C order: blocks must be whole rows for that."""
    if not all(map(may_be_equal, mask.shape, node.shape[: mask.ndim])):
        raise IndexError(f"a mask of shape {mask.shape} for an array of {describe(node)}")
    rows = (node.chunks[0], *((length,) for length in node.shape[1 : mask.ndim]))
    flat = ravel(rechunk(node, (*rows, *node.chunks[mask.ndim :])), mask.ndim)
    return Compress(flat, ravel(rechunk(mask, rows), mask.ndim), 0)


def parse(node: ArrayExpr, key: Any, *, masks_stay: bool = False) -> Parsed:
    """Return a key, read.

    Parameters
    ----------
    masks_stay
        Whether a mask of several axes that is NumPy's and stands alone counts as a lazy one: then the selected
        elements needn't be listed.

    Raises
    ------
    IndexError
        If the key has too many entries, or one that is out of bounds or no index.
    """
    entries = _expand(node, key if isinstance(key, tuple) else (key,))
    if masks_stay:
        entries = [_as_node(entry) if _is_mask(entry) and entry.ndim > 1 and _stands_alone(entry, entries) else entry
                   for entry in entries]  # fmt: skip
    lazy_masks = [place for place, entry in enumerate(entries) if _is_mask(entry) and isinstance(entry, ArrayExpr)]
    n_lists = sum(_is_list(entry) for entry in entries)
    if lazy_masks:
        if n_lists > 1:
            raise NotImplementedError("a lazy mask together with other lists or masks; index one after the other")
        place = lazy_masks[0]
        mask = entries.pop(place)
        return Parsed(node, [], entries, 0, 0, mask, place)
    lists: list[tuple[int, Any]] = []
    axis = 0
    read: list[Any] = []
    for entry in entries:
        if _is_mask(entry):
            for position in _checked_mask(entry, node, axis).nonzero():
                lists.append((axis, position))
                read.append(position)
                axis += 1
            continue
        if _is_list(entry):
            entry = _checked_list(entry, node, axis)
            lists.append((axis, entry))
        read.append(entry)
        axis += entry is not None
    _check_broadcast(lists)
    others = [entry for entry in read if not _is_list(entry)]
    at = 0
    if lists and not _is_apart(read):
        first = next(place for place, entry in enumerate(read) if _is_list(entry) or isinstance(entry, int))
        at = sum(not isinstance(entry, int) for entry in read[:first])
    n_points = max((entry.ndim for _, entry in lists), default=0)
    return Parsed(node, lists, others, at, n_points, None, 0)


def _is_apart(entries: Sequence[Any]) -> bool:
    """Whether a slice or new axis stands between lists and integers: NumPy then puts the points first."""
    advanced = [place for place, entry in enumerate(entries) if _is_list(entry) or isinstance(entry, int)]
    return len(advanced) > 1 and advanced[-1] - advanced[0] >= len(advanced)


def _stands_alone(mask: Any, entries: Sequence[Any]) -> bool:
    return entries[0] is mask and all(isinstance(entry, slice) and entry == slice(None) for entry in entries[1:])


def _as_node(positions: Any) -> ArrayExpr:
    return positions if isinstance(positions, ArrayExpr) else from_numpy(positions)


def _checked_mask(mask: Any, node: ArrayExpr, axis: int) -> Any:
    for place, length in enumerate(mask.shape):
        if length != check_known(node, axis + place):
            text = f"{length} elements" if mask.ndim == 1 else f"shape {mask.shape}"
            raise IndexError(f"a mask of {text} for axis {axis + place} with {node.shape[axis + place]} elements")
    return mask


def _checked_list(positions: Any, node: ArrayExpr, axis: int) -> Any:
    """Return positions counted from the front; lazy ones are checked when they are used."""
    if positions.dtype.kind not in "iu" and positions.size:
        raise IndexError(f"positions must be integers or booleans, got {positions.dtype}: {positions!r}")
    length = check_known(node, axis)
    if isinstance(positions, ArrayExpr):
        return positions
    array = positions.astype(np.intp)
    wrong = array[(array < -length) | (array >= length)]
    if len(wrong):
        raise IndexError(f"index {wrong[0]} is out of bounds for axis {axis} with {length} elements")
    return np.where(array < 0, array + length, array)


def _check_broadcast(lists: Sequence[tuple[int, Any]]) -> None:
    shapes = [entry.shape for _, entry in lists]
    try:
        np.broadcast_shapes(*(tuple(1 if length != length else length for length in shape) for shape in shapes))
    except ValueError:
        raise IndexError(f"lists of positions with the shapes {shapes} don't go together") from None


def _expand(node: ArrayExpr, key: tuple[Any, ...]) -> list[Any]:
    """Return one entry for each axis, and None for each new axis: ellipsis and missing entries filled in."""
    entries: list[Any] = []
    for entry in key:
        if isinstance(entry, (bool, np.bool_)):
            if any(isinstance(other, (list, np.ndarray, ArrayExpr)) for other in key):
                raise NotImplementedError(f"a single {entry!r} as an index together with lists")
            entry = np.asarray(entry)
        entries.append(_plain_entry(entry))
    n_axes = sum(_axes_used(entry) for entry in entries)
    if n_axes > node.ndim:
        raise IndexError(f"too many indices: {n_axes} for an array of {describe(node)}, which has {node.ndim} axes")
    dots = [place for place, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    place = dots[0] if dots else len(entries)
    fill = [slice(None)] * (node.ndim - n_axes)
    return [*entries[:place], *fill, *entries[place + len(dots) :]]


def _plain_entry(entry: Any) -> Any:
    if entry is None or entry is Ellipsis or isinstance(entry, (slice, ArrayExpr)):
        return entry
    if isinstance(entry, (list, tuple, range)):
        entry = np.asarray(entry)
        if not entry.size:
            entry = entry.astype(np.intp)
    if isinstance(entry, np.ndarray) and (entry.ndim > 0 or entry.dtype.kind == "b"):
        return entry if entry.ndim else _as_node(entry)
    try:
        return operator.index(entry)
    except TypeError:
        raise IndexError(
            f"{entry!r} is not an index; use integers, slices, '...', None, lists of integers or masks"
        ) from None


def _axes_used(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return int(entry.ndim) if _is_mask(entry) else 1


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, (np.ndarray, ArrayExpr)) and entry.dtype.kind == "b"


def _is_list(entry: Any) -> bool:
    return isinstance(entry, (np.ndarray, ArrayExpr))


def selector_of(entry: Any, node: ArrayExpr, axis: int) -> Selector:
    """Return what an integer or a slice takes of an axis.

    Raises
    ------
    IndexError
        If an integer is out of bounds, or a slice isn't one of integers.
    """
    if isinstance(entry, slice) and entry == slice(None):
        return None
    length = check_known(node, axis)
    if isinstance(entry, slice):
        if isinstance(entry.step, (int, np.integer)) and entry.step == 0:
            raise ValueError("slice step cannot be zero")
        try:
            found = range(length)[entry]
        except TypeError:
            raise IndexError(f"{entry!r} is not a slice of integers") from None
        return range(found.start, found.start + len(found) * found.step, found.step) if found else range(0)
    if not -length <= entry < length:
        raise IndexError(f"index {entry} is out of bounds for axis {axis} with {length} elements")
    return int(entry % length)
