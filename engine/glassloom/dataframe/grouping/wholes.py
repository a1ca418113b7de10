"""What needs whole groups: rows move so that each group is in one partition, pandas computes, and rows return if they must.

Groups are counted first. Those that follow each other in the result go to the same partition, all partitions get about as
many rows, and the rows of a partition stay in their order. So the results of the partitions, one after the other, are the
result of pandas, in its order. Rows move as frames with numbered columns: the values, the keys that are no columns, and, if
rows return, the number of their partition and their place in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.backends.pandas_ import concat, guarded, of_samples
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.derived_meta import derived_meta
from glassloom.dataframe.grouping.encode import find_groups
from glassloom.dataframe.grouping.numbered import by_numbers, is_of_numbers, of_numbered, with_numbers
from glassloom.dataframe.grouping.recipe import LEVEL, Recipe
from glassloom.dataframe.grouping.spec import users_of
from glassloom.dataframe.grouping.tree import Aggregation, chunk, combine, finish
from glassloom.dataframe.grouping.wanted import Wanted
from glassloom.dataframe.grouping.wider import of_no_rows
from glassloom.dataframe.lazy_closures import require_at_hand_values
from glassloom.dataframe.moving.exchange import Exchange, Split, split
from glassloom.dataframe.nodes import BlockOp, FrameExpr, Rowwise, empty
from glassloom.dataframe.reduce import Operation, join_all, tree
from glassloom.dataframe.reduction_nodes import keeps_no_views

ROWS_EACH = 2**14
"""So many rows are grouped in less time than it takes to begin with another partition."""


@dataclass(frozen=True)
class Grouping:
    """A node, how its rows are grouped, and the nodes of keys that are no columns or levels of it."""

    node: FrameExpr
    recipe: Recipe
    blocks: tuple[FrameExpr, ...]

    @property
    def is_series(self) -> bool:
        return isinstance(self.node.meta, pd.Series)

    @property
    def has_categories(self) -> bool:
        """Whether a key is categorical."""
        keys = self.recipe.key_values(self.node.meta, [block.meta for block in self.blocks])
        return any(isinstance(key.dtype, pd.CategoricalDtype) for key in keys)

    def of_rows(self, call: Callable[[Any], Any], *rows: Any) -> Any:
        """Return what a function makes of pandas' groups of some rows of the node, and of its keys' nodes."""
        return call(self.recipe.grouped(*rows))

    def sampled(self, call: Callable[[Any], Any], *, is_users: bool = False, **changes: Any) -> Any:
        """Return what a function makes of pandas' groups of made-up rows, without rows. A user's function is called each time."""
        metas = [self.node.meta, *[block.meta for block in self.blocks]]
        if is_users:
            return self._sampled(call, metas, changes, _as_they_are)
        order = _out_of_order if _has_narrow_floats(self.node.meta) else _as_they_are
        return derived_meta(lambda: self._sampled(call, metas, changes, order), (self.recipe, call, changes), *metas)

    def _sampled(
        self, call: Callable[[Any], Any], metas: list[Any], changes: dict[str, Any], order: Callable[[Any], Any]
    ) -> Any:
        try:
            made = call_users_function(
                of_samples, lambda *some: call(self.recipe.grouped(*map(order, some), **changes)), *metas
            )
        except ValueError:  # two made-up rows don't have all categories, of which idxmin needs values
            if self.recipe.observed or changes:
                raise
            return self._sampled(call, metas, {"observed": True}, order)
        require_at_hand_values(made, "groupby", users_of(call))
        return empty(made)


def _has_narrow_floats(meta: Any) -> bool:
    return any(dtype == np.float32 for dtype in ([meta.dtype] if isinstance(meta, pd.Series) else meta.dtypes))


def _as_they_are(some: Any) -> Any:
    return some


def _out_of_order(some: Any) -> Any:
    """Return made-up rows whose groups don't follow each other: of those that do, pandas 3.1 makes means of 64 bits."""
    return some.take([0, 1, 0])


class OfBlock(BlockOp):
    """A function of partitions, or of groups in them, whose result is described by `given_meta`."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class OfGroups(OfBlock):
    """What is made of whole groups in each partition, in the order of the groups."""

    is_of_groups = True


class OfRows(Rowwise):
    """A function of the rows of a partition, which stay, whose result is described by `given_meta`."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class NumberedSplit(Split):
    """A `Split` whose function gets the number of the partition as last argument."""

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return index


class WholeGroups(Exchange):
    """Rows as they move, with all rows of a group in one partition, in the order of the groups."""

    parameters = ("split", "count", "given_meta")
    operation = "shuffle-groups"

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class Returned(Exchange):
    """Rows that moved, in the partitions and at the places where those of `like` are: all, or some of them."""

    parameters = ("split", "count", "like", "given_meta", "keeps_rows")
    operation = "return-rows"

    like: FrameExpr
    given_meta: Any
    keeps_rows: bool

    @property
    def meta(self) -> Any:
        return self.given_meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.like.divisions

    @property
    def rows(self) -> str:
        return self.like.rows if self.keeps_rows else self.name

    @property
    def layout(self) -> str:
        return self.like.layout

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return self.like.lengths if self.keeps_rows else None

    @property
    def has_unique_labels(self) -> bool:
        return self.like.has_unique_labels

    @property
    def finish(self) -> Callable[[list[Any]], Any]:
        return partial(_in_old_order, self.given_meta)


def group_sizes(grouping: Grouping, *, observed: bool = True) -> FrameExpr:
    """Return the node of the number of rows of each group, in order; `observed`: of those that have any."""
    recipe = replace(grouping.recipe, observed=observed, as_index=True, selection=None)
    counting = Grouping(grouping.node, recipe, grouping.blocks)
    plan = Aggregation(recipe, (), (Wanted(-1, "size"),))
    meta = counting.sampled(_size)
    run = partial(of_no_rows, recipe, _size, grouping.node.meta, tuple(block.meta for block in grouping.blocks))
    steps = Operation(partial(chunk, plan), partial(combine, plan), partial(finish, plan, meta, run))
    return tree(grouping.node, steps, meta, "groupby-size", others=grouping.blocks)


def of_groups(grouping: Grouping, call: Callable[[Any], Any], meta: Any, title: str, count: int) -> FrameExpr:
    """Return the node of what pandas makes of whole groups, in the order of the groups.

    Parameters
    ----------
    grouping
        What is grouped.
    call
        Gets pandas' groups.
    meta
        An empty object like the result.
    title
        The label.
    count
        Number of partitions.
    """
    if grouping.node.npartitions == 1:
        return OfBlock(grouping.node, grouping.blocks, _direct(grouping, call, title), meta)
    recipe, keys = grouping.recipe, [block.meta for block in grouping.blocks]
    if is_of_numbers(recipe, call, recipe.key_values(grouping.node.meta, keys), is_series=grouping.is_series):
        sizes = group_sizes(grouping)
        split = partial(_split_numbers, recipe, count)
        places = tuple(Block(number) for number in range(len(grouping.blocks) + 2))
        numbering = Split(grouping.node, (*grouping.blocks, sizes), BlockCall(split, places, label="split-by-group"))
        like = with_numbers(recipe, grouping.node.meta, np.zeros(0, np.intp))
        finish = partial(of_numbered, recipe, call, grouping.node.meta, meta)
        return OfGroups(
            WholeGroups(numbering, count, like), (sizes,), BlockCall(finish, (Block(0), Block(1)), label=title), meta
        )
    has_few_rows = getattr(call, "method", "") in ("idxmax", "idxmin")  # see `extremes.py`
    moved = moved_groups(grouping, count, returns=False, rows_each=ROWS_EACH if has_few_rows else 1)
    blockwise = BlockCall(partial(_of_moved, Layout.of(grouping), call, meta), (Block(0),), label=title)
    return OfGroups(moved, (), blockwise, meta)


def of_rows(
    grouping: Grouping, call: Callable[[Any], Any], meta: Any, title: str, *, keeps_rows: bool, rows_each: int = 1
) -> FrameExpr:
    """Return the node of what pandas makes of the rows of whole groups, each at its place.

    Parameters
    ----------
    grouping
        What is grouped.
    call
        Gets pandas' groups and returns a frame or series with a row for each row; or, without `keeps_rows`, for each row a
        boolean: whether it stays.
    meta
        An empty object like the result.
    title
        The label.
    keeps_rows
        Whether the result has all rows.
    rows_each
        Of fewer rows for each partition, fewer partitions get any.
    """
    node = grouping.node
    grouping = replace(grouping, recipe=replace(grouping.recipe, observed=True))
    function = (
        partial(_computed_rows, call, meta) if keeps_rows else partial(_kept_rows, call, grouping.recipe.selection)
    )
    if node.npartitions == 1:
        kind = OfRows if keeps_rows else OfBlock
        return kind(node, grouping.blocks, _direct(grouping, function, title, with_block=True), meta)
    moved = moved_groups(grouping, node.npartitions, returns=True, rows_each=rows_each)
    layout = Layout.of(grouping)
    back = BlockCall(partial(_split_back, layout, function, meta, node.npartitions), (Block(0),), label=title)
    return Returned(Split(moved, (), back), node.npartitions, node, meta, keeps_rows)


def in_one_partition(node: FrameExpr) -> FrameExpr:
    """Return the node with all rows in one partition."""
    return node if node.npartitions == 1 else join_all(node)


_ODD_ORDERS = ("describe", "value_counts", *(() if HAS_COPY_ON_WRITE else ("rolling", "expanding", "ewm")))
"""Methods whose order for ``sort=False``, and among equally frequent values, depends on all groups at once. Before
version 3, pandas orders windows of several keys by the first one.
"""


def is_odd(method: str, recipe: Recipe, *, has_categories: bool, in_one: bool) -> bool:
    """Whether the labels or the order of a method's result depend on all groups at once.

    Without `as_index` pandas 2 numbers bins' groups, and those of which a function returns rows; before 3.1 it numbers rows returned for a series. Since version 3 the order of all rows decides among equally frequent values, if the
    result is wanted `in_one` partition.
    """
    if method == "value_counts" and in_one and HAS_COPY_ON_WRITE:
        return True
    is_of_series = recipe.selection is not None and not isinstance(recipe.selection, list)
    is_numbered = not recipe.as_index and (
        (not HAS_COPY_ON_WRITE and method in ("resample", "apply"))
        or (PANDAS_VERSION < (3, 1) and method == "apply" and is_of_series)
    )
    return is_numbered or (method in _ODD_ORDERS and (has_categories or not recipe.sort))


def counts_categories(method: str, meta: Any) -> bool:
    """Whether a result counts categories: pandas lists those that no row of a group has, too, and what is missing if it is in any group."""
    if method != "value_counts":
        return False
    levels = meta.index.levels if meta.index.nlevels > 1 else [meta.index]
    dtypes = [*(level.dtype for level in levels), *(meta.dtypes if isinstance(meta, pd.DataFrame) else [])]
    return any(isinstance(dtype, pd.CategoricalDtype) for dtype in dtypes)


def has_categories_met(meta: Any, recipe: Recipe) -> bool:
    """Whether the groups' level of a result has only the categories that rows have: before pandas 3, where rows are below groups."""
    return not HAS_COPY_ON_WRITE and meta.index.nlevels > len(recipe.keys)


def _size(grouped: Any) -> Any:
    return grouped.size()


def _direct(grouping: Grouping, call: Callable[..., Any], title: str, *, with_block: bool = False) -> BlockCall:
    """Return the call for a frame of one partition."""
    blocks = tuple(Block(number) for number in range(1 + len(grouping.blocks)))
    return BlockCall(partial(_of_block, grouping.recipe, call, with_block), blocks, label=title)


def _of_block(recipe: Recipe, call: Callable[..., Any], with_block: bool, block: Any, *keys: Any) -> Any:
    block, blocks = guarded(block), list(keys)
    found = None if with_block else by_numbers(recipe, call, block, blocks)
    if found is not None:
        return found
    if getattr(call, "ignores_labels", False) and all(key.kind != LEVEL for key in recipe.keys):
        block, *blocks = (one.reset_index(drop=True) for one in (block, *blocks))
    grouped = recipe.grouped(block, *blocks)
    return call_users_function(call, grouped, block) if with_block else call_users_function(call, grouped)


# Rows as they move.


@dataclass(frozen=True)
class Layout:
    """Which columns there are among the numbered ones of rows that move."""

    recipe: Recipe
    labels: Any
    """The labels of a frame's columns, or a tuple of a series' name."""
    key_names: tuple[Any, ...]

    @staticmethod
    def of(grouping: Grouping) -> Layout:
        meta = grouping.node.meta
        labels = (meta.name,) if grouping.is_series else meta.columns
        return Layout(grouping.recipe, labels, tuple(block.meta.name for block in grouping.blocks))

    def packed(self, block: Any, blocks: tuple[Any, ...]) -> Any:
        """Return a block and its keys as one frame."""
        frame = block.to_frame() if isinstance(block, pd.Series) else block
        frame = frame.set_axis(range(frame.shape[1]), axis=1)
        first = len(self.labels)
        for number, key in enumerate(blocks):
            frame[first + number] = key.array
        return frame

    def unpacked(self, frame: Any) -> tuple[Any, list[Any]]:
        """Return the block and its keys."""
        first = len(self.labels)
        keys = [frame[first + number].rename(name) for number, name in enumerate(self.key_names)]
        if isinstance(self.labels, tuple):
            return frame[0].rename(self.labels[0]), keys
        return frame.iloc[:, :first].set_axis(self.labels, axis=1), keys


def _with_origin(frame: Any, partitions: Any, rows: Any) -> Any:
    """Return a frame with numbered columns and two more: the partition and the place in it that rows come from."""
    first = frame.shape[1]
    frame[first], frame[first + 1] = partitions, rows
    return frame


def moved_groups(grouping: Grouping, count: int, *, returns: bool, rows_each: int = 1) -> WholeGroups:
    """Return the node of rows with all of a group in one of `count` partitions; `returns`: with the places where they were. See `of_rows`."""
    layout = Layout.of(grouping)
    others = (*grouping.blocks, group_sizes(grouping))
    places = tuple(Block(number) for number in range(len(others) + 2))
    call = BlockCall(partial(_split_by_group, layout, count, rows_each, returns), places, label="split-by-group")
    meta = layout.packed(grouping.node.meta, tuple(block.meta for block in grouping.blocks))
    if returns:
        meta = _with_origin(meta, np.zeros(0, np.int32), np.zeros(0, np.int64))
    return WholeGroups(NumberedSplit(grouping.node, others, call), count, meta)


@keeps_no_views
def _split_by_group(layout: Layout, count: int, rows_each: int, returns: bool, block: Any, *others: Any) -> Any:
    """Return a partition's rows by the output that their group goes to. Rows of no group go to the last one if they return."""
    *blocks, sizes, number = others
    recipe = layout.recipe
    groups = find_groups(sizes.index, recipe.key_values(block, blocks), arrow=recipe.arrow)
    frame = layout.packed(block, tuple(blocks))
    if returns:
        frame = _with_origin(frame, np.full(len(frame), number, np.int32), np.arange(len(frame)))
        return split(frame, _outputs(sizes, count, rows_each)[groups], count, keeps_no_views=True)
    return _split_grouped(frame, groups, _outputs(sizes, count, rows_each), count)


@keeps_no_views
def _split_numbers(recipe: Recipe, count: int, block: Any, *others: Any) -> Any:
    """Return the values of a partition's rows by the output that their group goes to, with its number."""
    *blocks, sizes = others
    groups = find_groups(sizes.index, recipe.key_values(block, blocks), arrow=recipe.arrow)
    return _split_grouped(with_numbers(recipe, block, groups), groups, _outputs(sizes, count, 1), count)


def _split_grouped(frame: Any, groups: Any, outputs: Any, count: int) -> Any:
    """Return the rows that are of a group by its output."""
    if len(groups) and groups.min() < 0:
        kept = groups >= 0
        frame, groups = frame[kept], groups[kept]
    return split(frame, outputs[groups], count, keeps_no_views=True)


def _outputs(sizes: Any, count: int, rows_each: int) -> Any:
    """Return the output that each group goes to, so that they get about as many rows each. The last one is that of rows of no group."""
    if not len(sizes):
        return np.full(1, count - 1)
    ends = np.cumsum(sizes.to_numpy())
    filled = min(count, int(ends[-1]) // rows_each + 1)
    places = np.minimum((ends - 1) * filled // max(int(ends[-1]), 1), filled - 1)
    return np.append(places, count - 1)


def _of_moved(layout: Layout, call: Callable[[Any], Any], meta: Any, frame: Any) -> Any:
    block, keys = layout.unpacked(frame)
    if not len(frame):
        return _with_object_labels(meta, layout.recipe, layout.recipe.key_values(block, keys))
    return _with_missing_texts(_of_block(layout.recipe, call, False, block, *keys), meta)


def _with_missing_texts(made: Any, meta: Any) -> Any:
    """Return the result of a partition's groups with text that is missing for all of them as `meta` says: pandas makes objects of it."""
    if isinstance(made, pd.Series) and isinstance(meta, pd.Series):
        return made.astype(meta.dtype) if lacks_texts(made, meta.dtype) else made
    if (
        not isinstance(made, pd.DataFrame)
        or not isinstance(meta, pd.DataFrame)
        or not made.columns.equals(meta.columns)
    ):
        return made
    dtypes = enumerate(meta.dtypes)
    places = [place for place, dtype in dtypes if lacks_texts(made.iloc[:, place], dtype)]
    if places:
        made = made.copy(deep=False)
        for place in places:
            made.isetitem(place, made.iloc[:, place].astype(meta.dtypes.iloc[place]))
    return made


def lacks_texts(column: Any, dtype: Any) -> bool:
    """Whether values, all missing, are missing text, whose dtype is given. None may as well be among other objects, and stays."""
    if not isinstance(dtype, pd.StringDtype) or column.dtype == dtype or not column.isna().all():
        return False
    return column.dtype != object or all(value is not None for value in column)


def _with_object_labels(meta: Any, recipe: Recipe, keys: Sequence[Any]) -> Any:
    """Return a result without groups: keys that are objects are then labels that are objects, and text only where there is a group.

    Booleans that are objects, as values were missing beside them in a join, are labels that are booleans.
    """
    index = meta.index
    if not recipe.as_index or index.nlevels < len(keys) or all(key.dtype != object for key in keys):
        return meta
    levels = [index.get_level_values(number) for number in range(index.nlevels)]
    levels[: len(keys)] = [
        level.astype(object) if key.dtype == object and level.dtype != bool else level
        for level, key in zip(levels, keys, strict=False)
    ]
    made = levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels, names=index.names)
    return meta.set_axis(made, axis=0)


def _split_back(layout: Layout, function: Callable[..., Any], meta: Any, count: int, frame: Any) -> Any:
    partitions, rows = frame.iloc[:, -2].to_numpy(), frame.iloc[:, -1].to_numpy()
    if not len(frame):
        result, kept = meta, slice(None)
    else:
        block, keys = layout.unpacked(guarded(frame.iloc[:, :-2]))
        result, kept = call_users_function(lambda: function(layout.recipe.grouped(block, *keys), block, with_rows=True))
    partitions, rows = partitions[kept], rows[kept]
    moved = result.to_frame() if isinstance(result, pd.Series) else result
    moved = _with_origin(moved.set_axis(range(moved.shape[1]), axis=1), partitions, rows)
    return split(moved, partitions, count)


def _in_old_order(meta: Any, pieces: list[Any]) -> Any:
    frame = concat(pieces)
    frame = frame.take(np.argsort(frame.iloc[:, -1].to_numpy(), kind="stable"))
    if isinstance(meta, pd.Series):
        return frame[0].rename(meta.name)
    return frame.iloc[:, :-2].set_axis(meta.columns, axis=1)


def _computed_rows(call: Callable[[Any], Any], meta: Any, grouped: Any, block: Any, *, with_rows: bool = False) -> Any:
    """Return one row for each row. With `with_rows`, also which rows of the block they belong to: all."""
    result = call(grouped) if grouped.ngroups else _rows_of_no_group(call, meta, grouped, block)
    if len(result) != len(block):
        raise ValueError(f"groupby: {len(result)} rows came of {len(block)}; each row should keep its place")
    return (result, slice(None)) if with_rows else result


def _rows_of_no_group(call: Callable[[Any], Any], meta: Any, grouped: Any, block: Any) -> Any:
    """Return the rows of a block whose keys are all missing; missing values where pandas makes no row of them."""
    try:
        result = call(grouped)
    except ValueError:  # "No objects to concatenate", as pandas says of a frame's transform()
        result = meta
    return result if len(result) == len(block) else meta.reindex(range(len(block))).set_axis(block.index)


def _kept_rows(call: Callable[[Any], Any], selection: Any, grouped: Any, block: Any, *, with_rows: bool = False) -> Any:
    """Return the rows that stay, of the selected columns. With `with_rows`, also which they are."""
    kept = np.asarray(call(grouped), dtype=bool)
    chosen = block if selection is None else block[selection]
    return (chosen[kept], kept) if with_rows else chosen[kept]
