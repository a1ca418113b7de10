"""`sort_values` and `sort_index`: rows go to the partition of their range of keys, and are sorted there.

Sorts are stable, as pandas' with ``kind="stable"``: rows of equal keys keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.backends.frames import converted, takes_any_library
from glassloom.backends.pandas_ import columns_of, guarded
from glassloom.dataframe.bottom_up import found_bottom_up
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.lazy_closures import require_at_hand_values
from glassloom.dataframe.moving.boundaries import (
    SAMPLES_PER_PARTITION,
    Order,
    Samples,
    choose_boundaries,
    join_samples,
    places_among,
    sample_keys,
)
from glassloom.dataframe.moving.bounds_in_files import bounds_in_files
from glassloom.dataframe.moving.exchange import Exchange, Pieces, Split, split, splits_on_device, tasks_of_neighbours
from glassloom.dataframe.moving.ordering import places_of_ends, stable_order
from glassloom.dataframe.nodes import FrameExpr, Projection, SomeRows
from glassloom.dataframe.numbered_levels import level_at, with_level
from glassloom.dataframe.on_device import is_on_device
from glassloom.dataframe.reduce import Operation, join_all, tree
from glassloom.dataframe.reduction_nodes import Chunk
from glassloom.dataframe.sorting import is_in_order
from glassloom.dataframe.widening import concat_promised
from glassloom.errors import OptionError
from glassloom.graph import Key, Task

_MOST_ROWS_OF_EACH = 10_000
"""Rows up to which the ends of a sorted frame are made of those of each partition."""
_SOME_OF, _FROM = 8, 2**12
"""Of how many times as many rows, and of how many at least, the ends are found without sorting all."""


@dataclass(frozen=True)
class Sorting:
    """What a frame is sorted by.

    Attributes
    ----------
    by
        Columns; none: by the values of a series.
    order
        In which direction.
    key
        A user's function of each key column, or None.
    by_index
        Whether the keys are the index labels.
    levels
        Of which levels of the index, in this order; none: of all.
    n_keyed
        How many of the levels `key` is called with; the others follow it as they are.
    by_levels
        Which of `by` are levels of the index, by name.
    """

    by: tuple[Any, ...]
    order: Order
    key: Callable[[Any], Any] | None = None
    by_index: bool = False
    levels: tuple[int, ...] = ()
    n_keyed: int = 0
    by_levels: tuple[Any, ...] = ()

    def __glassloom_tokenize__(self) -> Any:
        return (self.by, self.order, self.key, self.by_index, self.levels, self.n_keyed, self.by_levels)

    @property
    def runs_on_device(self) -> bool:
        """Whether blocks on a device may stay there, but for the keys."""
        return bool(self.by) and self.key is None and not self.by_index and not self.by_levels

    def keys_of(self, block: Any) -> Any:
        """Return the keys as a frame on the host; its index counts the rows."""
        if is_on_device(block):
            block = converted(columns_of(block, list(dict.fromkeys(self.by))), "pandas")
        columns = self._columns(block)
        n_keyed = self.n_keyed or len(columns)
        found = [self._applied(column) if place < n_keyed else _plain(column) for place, column in enumerate(columns)]
        return pd.DataFrame(dict(enumerate(found)), copy=False)

    def _columns(self, block: Any) -> list[Any]:
        if self.by_index:
            index = block.index
            levels = [level_at(index, level) for level in self.levels or range(index.nlevels)]
            return levels if self.key is not None else [_plain(level) for level in levels]
        columns = [self._key(block, name) for name in self.by] if isinstance(block, pd.DataFrame) else [block]
        return [column.reset_index(drop=True) for column in columns]

    def _key(self, block: Any, name: Any) -> Any:
        return block.index.get_level_values(name).to_series() if name in self.by_levels else block[name]

    def _applied(self, column: Any) -> Any:
        if self.key is None:
            return column
        made = call_users_function(self.key, column)
        require_at_hand_values(made, "key=", self.key)
        if len(made) != len(column):
            raise ValueError(f"key= returned {len(made)} values for {len(column)}; it should return one for each")
        return pd.Series(made.array if isinstance(made, (pd.Series, pd.Index)) else made)

    def with_categories_of(self, block: Any, boundaries: Any) -> Any:
        """Return a block whose keys of categories have those of the boundaries, by whose order all partitions are sorted."""
        if self.key is not None:
            return block
        dtypes = list(boundaries.dtypes)
        if self.by_index:
            levels = self.levels or range(block.index.nlevels)
            return _with_labels_of(block, dict(zip(levels, dtypes, strict=True)))
        if not isinstance(block, pd.DataFrame):
            return block.cat.set_categories(dtypes[0].categories) if _has_others(block.dtype, dtypes[0]) else block
        for name, dtype in zip(self.by, dtypes, strict=True):
            if name in self.by_levels:
                block = _with_labels_of(block, {list(block.index.names).index(name): dtype})
            elif _has_others(block[name].dtype, dtype):
                block = block.copy(deep=False)
                block[name] = block[name].cat.set_categories(dtype.categories)
        return block

    def sorted(self, block: Any) -> Any:
        """Return a block in order."""
        if is_on_device(block):
            keys = self.keys_of(block)
            places = stable_order(keys, self.order)
            return block.take(self.order.sorted(keys).index.to_numpy() if places is None else places)
        if self._is_sorted(block):
            return guarded(block)
        if self.key is None and (places := stable_order(self.keys_of(block), self.order)) is not None:
            return block.take(places)
        if self.levels:
            return block.take(self.order.sorted(self.keys_of(block)).index.to_numpy())
        order = self.order
        options: dict[str, Any] = {"na_position": order.na_position, "kind": "stable", "key": self.key}
        several = isinstance(block.index, pd.MultiIndex) if self.by_index else len(self.by) > 1
        options["ascending"] = list(order.ascending) if several else order.ascending[0]
        if self.by_index:
            return block.sort_index(**options)
        if isinstance(block, pd.DataFrame):
            return block.sort_values(list(self.by), **options)
        return block.sort_values(**options)

    def _is_sorted(self, block: Any) -> bool:
        """Whether a block is in order as it is, where that is quickly seen."""
        if self.key is not None or self.order.ascending != (True,) or self.levels or self.by_levels:
            return False
        if self.by_index:
            return type(block.index) in _COMPARED and bool(block.index.is_monotonic_increasing)
        keys = block[self.by[0]] if self.by else block
        if not isinstance(keys, pd.Series) or not isinstance(keys.dtype, np.dtype) or keys.dtype.kind not in "iuM":
            return False
        numbers = keys.to_numpy()
        numbers = numbers.view("int64") if keys.dtype.kind == "M" else numbers  # a missing time is the least of all
        return is_in_order(numbers) and not keys.iloc[:1].isna().any()

    def ends(self, block: Any, n: int, is_last: bool) -> Any:
        """Return the first or last rows of a block in order: of many rows only those are sorted that may be among them."""
        index = block.index
        is_plain = self.key is None and not is_on_device(block) and getattr(index, "freq", None) is None
        whole, count = None, max(n, 3)
        if is_plain and n > 0 and len(block) >= max(count * _SOME_OF, _FROM):
            places = places_of_ends(self.keys_of(block), self.order, count, is_last=is_last)
            if places is not None and not (type(index) is pd.RangeIndex and _are_evenly_spaced(places)):
                whole = block.take(places)
        whole = self.sorted(block) if whole is None else whole
        return whole.tail(n) if is_last else whole.head(n)


_COMPARED = (pd.Index, pd.DatetimeIndex, pd.TimedeltaIndex, pd.RangeIndex)
"""Indexes that know whether they are in order, once somebody has asked."""


def _are_evenly_spaced(places: Any) -> bool:
    """Whether pandas makes a range of the labels at these places, which it may not where all rows are sorted."""
    steps = np.diff(places)
    return bool((steps == steps[0]).all())


def _plain(labels: Any) -> Any:
    return pd.Series(labels.array, dtype=labels.dtype)


def _has_others(own: Any, wanted: Any) -> bool:
    """Whether a dtype of categories has other ones, or in another order."""
    are_categories = isinstance(own, pd.CategoricalDtype) and isinstance(wanted, pd.CategoricalDtype)
    return are_categories and not own.categories.equals(wanted.categories)


def _with_labels_of(block: Any, dtypes: dict[int, Any]) -> Any:
    """Return a block with the categories of some dtypes in levels of its index."""
    index: Any = block.index
    for number, dtype in dtypes.items():
        level: Any = index.levels[number] if isinstance(index, pd.MultiIndex) else index
        if _has_others(level.dtype, dtype):
            made = level.set_categories(dtype.categories)
            index = with_level(index, number, made) if isinstance(index, pd.MultiIndex) else made
    return block if index is block.index else block.set_axis(index, axis=0)


class SortedExchange(Exchange):
    """A frame in order of its keys."""

    parameters: ClassVar[tuple[str, ...]] = ("split", "count", "sorting", "found_divisions")
    operation = "sort"

    sorting: Sorting
    found_divisions: tuple[Any, ...] | None

    keeps_rows = True

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.found_divisions or (None,) * (self.count + 1)

    @property
    def finish(self) -> Callable[[list[Any]], Any]:
        return partial(_sorted_whole, self.sorting, self.meta)


class NearlySorted(SortedExchange):
    """A frame in order of its keys whose partitions were nearly so: each is made of rows of those that lie beside it.

    `sources` are the first of these, and the one after the last; of `n_sources` partitions.
    """

    parameters = ("split", "count", "sorting", "found_divisions", "sources", "n_sources")
    operation = "sort"

    sources: tuple[tuple[int, int], ...]
    n_sources: int

    def tasks(self) -> dict[Key, Task]:
        return tasks_of_neighbours(self, self.sources, sends=True) if self._is_as_said else super().tasks()

    def tasks_in_shared_memory(self) -> dict[Key, Task]:
        if not self._is_as_said:
            return super().tasks_in_shared_memory()
        return tasks_of_neighbours(self, self.sources, sends=False)

    @property
    def _is_as_said(self) -> bool:
        """Whether the partitions are still those of which the sources were said: some may be read together."""
        return self.frame.npartitions == self.n_sources


class _OfSorting(SomeRows):
    """What a method of a `Sorting` makes of each partition."""

    @property
    def keeps_backend(self) -> bool:
        return isinstance(self.frame.meta, pd.DataFrame) and bool(self.call.function.__self__.runs_on_device)  # type: ignore[attr-defined]


class SortedBlocks(_OfSorting):
    """A frame each of whose partitions is sorted by itself."""

    @found_bottom_up
    def lengths(self) -> tuple[int, ...] | None:
        return self.frame.lengths


class SortedEnds(_OfSorting):
    """The first or last rows of each partition as it would be sorted by itself."""


def sorting_of(node: FrameExpr) -> Sorting | None:
    """Return what a node sorts rows by, throughout or in each partition; None of other nodes."""
    if isinstance(node, SortedExchange):
        return node.sorting
    return node.call.function.__self__ if isinstance(node, SortedBlocks) else None  # type: ignore[attr-defined]


class SampledChunk(Chunk):
    """Samples of the keys of each partition."""

    @property
    def takes_any_library(self) -> bool:
        return self.call.takes_any_library


def sort(node: FrameExpr, sorting: Sorting, npartitions: int | None = None) -> FrameExpr:
    """Return a frame in order; its divisions are not known."""
    count = npartitions or node.npartitions
    if node.npartitions == count == 1 or (npartitions is None and _is_sorted_by_partition(node, sorting)):
        return sort_blocks(node, sorting)
    n_samples = max(SAMPLES_PER_PARTITION, SAMPLES_PER_PARTITION * count // node.npartitions)
    steps = Operation(
        partial(_sample, sorting, n_samples), join_samples, partial(_choose_boundaries, count, sorting.order)
    )
    boundaries = tree(
        _keys_of(node, sorting), steps, 0, "boundaries", chunk_type=SampledChunk if sorting.runs_on_device else Chunk
    )
    call = BlockCall(_split_by_boundaries, (Block(0), Block(1), sorting, count), label="split-by-range")
    return SortedExchange(Split(node, (boundaries,), call), count, sorting, None)


def _is_sorted_by_partition(node: FrameExpr, sorting: Sorting) -> bool:
    """Whether files say that no row belongs before a row of the partitions before its own."""
    is_plain = (
        len(sorting.by) == 1 and not sorting.by_levels and sorting.key is None and sorting.order.ascending == (True,)
    )
    if not is_plain or not isinstance(node.meta, pd.DataFrame) or not node.meta.columns.is_unique:
        return False
    return bounds_in_files(Projection(node, sorting.by[0])) is not None


def _keys_of(node: FrameExpr, sorting: Sorting) -> FrameExpr:
    """Return the columns by which a frame is sorted, if these are all that is looked at."""
    meta = node.meta
    by = list(dict.fromkeys(sorting.by))
    if not by or sorting.by_levels or not isinstance(meta, pd.DataFrame) or not meta.columns.is_unique:
        return node
    return node if len(by) == len(meta.columns) else Projection(node, by)


def sort_at(node: FrameExpr, sorting: Sorting, boundaries: Any, divisions: tuple[Any, ...] | None) -> FrameExpr:
    """Return a frame in order, cut at keys that are known: a frame with a column for each key."""
    count = len(boundaries) + 1
    call = BlockCall(_split_by_boundaries, (Block(0), boundaries, sorting, count), label="split-by-range")
    return SortedExchange(Split(node, (), call), count, sorting, divisions)


def sort_blocks(node: FrameExpr, sorting: Sorting) -> FrameExpr:
    """Return a frame with each partition sorted by itself."""
    return SortedBlocks(node, (), BlockCall(sorting.sorted, (Block(0),), label="sort"))


def ends_of_sorted(node: FrameExpr, n: int, *, is_last: bool) -> FrameExpr | None:
    """Return the first or last rows of a frame that was sorted, out of those of each partition before rows move.

    Parameters
    ----------
    node
        The frame. Columns may have been chosen since it was sorted.

    Returns
    -------
    FrameExpr or None
        A frame of one partition; None if the frame wasn't sorted, by a user's `key` (which may look at all rows), or so
        many rows are asked for that it would save nothing.
    """
    if isinstance(node, Projection):
        below = ends_of_sorted(node.frame, n, is_last=is_last)
        return None if below is None else Projection(below, node.columns)
    if not 0 <= n <= _MOST_ROWS_OF_EACH:
        return None
    if isinstance(node, SortedBlocks) and node.npartitions == 1:
        sorting = node.call.function.__self__  # type: ignore[attr-defined]
        return _ends_of_blocks(node.frame, sorting, n, is_last=is_last) if sorting.key is None else None
    if not isinstance(node, SortedExchange) or node.sorting.key is not None:
        return None
    some = _ends_of_blocks(node.split.frame, node.sorting, n, is_last=is_last)
    return _ends_of_blocks(join_all(some), node.sorting, n, is_last=is_last)


def _ends_of_blocks(node: FrameExpr, sorting: Sorting, n: int, *, is_last: bool) -> FrameExpr:
    return SortedEnds(node, (), BlockCall(sorting.ends, (Block(0), n, is_last), label="tail" if is_last else "head"))


def sort_order(ascending: Any, n_keys: int, na_position: str) -> Order:
    """Return the order that a user's options say.

    Raises
    ------
    ValueError
        If they say none.
    """
    many: Sequence[Any] = ascending if isinstance(ascending, (list, tuple)) else [ascending] * n_keys
    if len(many) != n_keys:
        raise ValueError(f"ascending={ascending!r} has {len(many)} values for {n_keys} keys")
    for one in many:
        if not isinstance(one, (bool, int, np.bool_)):
            raise ValueError(f"ascending={ascending!r} should be True, False, or a list of those")
    if na_position not in ("first", "last"):
        raise OptionError(f"na_position={na_position!r} should be 'first' or 'last'")
    return Order(tuple(bool(one) for one in many), na_position)


def levels_of(index: pd.Index, level: Any) -> tuple[int, ...]:
    """Return the numbers of some levels of an index, which are given by number or name. What pandas objects to is raised."""
    many = list(level) if isinstance(level, (list, tuple)) and level not in index.names else [level]
    return tuple(index._get_level_number(one) for one in many)  # type: ignore[attr-defined]


def levels_among(names: Sequence[Any], meta: Any) -> tuple[Any, ...]:
    """Return which of some names are levels of the index.

    Raises
    ------
    ValueError
        If one is a column, too.
    """
    levels = tuple(
        name for name in names if name is not None and pd.api.types.is_hashable(name) and name in meta.index.names
    )
    for name in levels:
        if name in meta.columns:
            raise ValueError(
                f"{name!r} is both an index level and a column label, which is ambiguous: rename one of them"
            )
    return levels


def by_levels(
    index: pd.Index, levels: tuple[int, ...], ascending: Any, na_position: str, sort_remaining: bool, key: Any
) -> Sorting:
    """Return how rows are sorted by some levels of the index, and, if one direction is given for all, by the others after them."""
    is_list = isinstance(ascending, (list, tuple))
    others = [] if is_list or not sort_remaining else [one for one in range(index.nlevels) if one not in levels]
    order = sort_order(ascending, len(levels) + len(others), na_position)
    return Sorting((), order, key, by_index=True, levels=(*levels, *others), n_keyed=len(levels))


def require_stable(kind: Any) -> None:
    """Check that a kind of sort is known. All are stable here."""
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise OptionError(f"kind={kind!r} should be 'stable', 'quicksort', 'mergesort' or 'heapsort'")


@takes_any_library
def _sample(sorting: Sorting, n_samples: int, block: Any) -> Samples:
    return sample_keys(sorting.keys_of(block), n_samples)


def _choose_boundaries(count: int, order: Order, samples: Sequence[Samples]) -> Any:
    return choose_boundaries(join_samples(samples), count, order)


@splits_on_device(lambda block, boundaries, sorting, count: sorting.runs_on_device)
def _split_by_boundaries(block: Any, boundaries: Any, sorting: Sorting, count: int) -> Pieces:
    if any(isinstance(dtype, pd.CategoricalDtype) for dtype in boundaries.dtypes) and not is_on_device(block):
        block = sorting.with_categories_of(block, boundaries)
    return split(block, places_among(sorting.keys_of(block), boundaries, sorting.order), count)


def _sorted_whole(sorting: Sorting, meta: Any, pieces: Sequence[Any]) -> Any:
    return sorting.sorted(concat_promised(meta, pieces))
