"""Rows by their group: the values of an aggregation for each row, group numbers, the rows of one group or of each one's ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_nodes import are_some, of_needed
from glassloom.dataframe.grouping.encode import find_groups
from glassloom.dataframe.grouping.groups import take
from glassloom.dataframe.grouping.recipe import Recipe
from glassloom.dataframe.grouping.spec import column_and_function
from glassloom.dataframe.grouping.wholes import Grouping, OfRows, group_sizes
from glassloom.dataframe.nodes import FrameExpr, SomeRows, empty
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import Chunk, TreeReduce


class BesideAll(OfRows):
    """A function of the rows of a partition and of the only block of the last of `others`, which is no part of it."""

    def is_beside(self, node: FrameExpr) -> bool:
        return node is self.others[-1]


def broadcast_groups(grouping: Grouping, aggregated: FrameExpr, meta: Any, title: str) -> FrameExpr:
    """Return the node of the rows with the values of their group.

    Parameters
    ----------
    grouping
        What is grouped.
    aggregated
        The node of one row for each group, in one partition.
    meta
        An empty object like the result.
    title
        The label.
    """
    function = partial(_rows_of_groups, grouping.recipe, meta)
    return BesideAll(grouping.node, (*grouping.blocks, aggregated), _call(function, grouping, 1, title), meta)


def group_numbers(grouping: Grouping, *, ascending: bool) -> FrameExpr:
    """Return the node of the number of each row's group."""
    meta = grouping.sampled(_ngroup)
    call = _call(partial(_numbers, grouping.recipe, ascending), grouping, 1, "groupby-ngroup")
    is_old = (
        not HAS_COPY_ON_WRITE and len(grouping.recipe.keys) > 1
    )  # such pandas counts only groups that have rows then
    keys = replace(grouping, node=_of_keys(grouping))
    sizes = group_sizes(keys, observed=grouping.recipe.observed or is_old)
    return BesideAll(keys.node, (*grouping.blocks, sizes), call, meta)


def _of_keys(grouping: Grouping) -> FrameExpr:
    """Return the rows that are grouped, with the columns alone that are keys, if any is."""
    keys = grouping.recipe.key_columns
    is_plain = not grouping.is_series and bool(keys) and are_some(keys, grouping.node)
    return (of_needed(grouping.node, keys) or grouping.node) if is_plain else grouping.node


def kept_first(grouping: Grouping, method: str, n: int, *, is_last_alone: bool = False) -> FrameExpr:
    """Return the node of the first (``head``) or last (``tail``) rows of each group, in one partition.

    With `is_last_alone`, only of the `n`-th of these, counted from that end.
    """
    recipe = grouping.recipe
    meta = empty(grouping.sampled(_Ends(method, n)))
    again = recipe.with_key_names([None] * len(recipe.keys))
    steps = Operation(
        partial(_ends_of_block, recipe, method, n),
        partial(_ends_of_many, again, method, n),
        partial(_last_ends, again, method, n, meta, is_last_alone),
    )
    return tree(grouping.node, steps, meta, f"groupby-{method}", others=grouping.blocks)


def first_rows(node: TreeReduce) -> tuple[Grouping, str, int, bool] | None:
    """Return what `kept_first` was called with; None for other nodes."""
    chunk, last = node.source, node.steps.finish
    if not isinstance(last, partial) or last.func is not _last_ends or not isinstance(chunk, Chunk):
        return None
    recipe, method, n = chunk.call.function.args  # type: ignore[attr-defined]
    return Grouping(chunk.frame, recipe, chunk.others), method, n, last.args[-1]


def values_of_groups(node: BesideAll) -> Recipe | None:
    """Return by what rows are grouped that `broadcast_groups` gives the values of their group; None for other nodes."""
    function = node.call.function
    is_broadcast = isinstance(function, partial) and function.func is _rows_of_groups
    return function.args[0] if is_broadcast else None  # type: ignore[attr-defined]


def named_transforms(groups: Any, named: Mapping[str, Any]) -> Any:
    """Return a lazy frame with a column for each of some named transforms of columns."""
    if not named:
        raise TypeError("groupby.transform: give a function, or named ones, such as result=('column', 'sum')")
    made = {}
    for name, one in named.items():
        column, function = column_and_function(name, one)
        options = getattr(one, "kwargs", {})
        made[name] = groups[column].transform(function, *getattr(one, "args", ()), **options)
    (name, first), *others = made.items()
    return first.to_frame(name).assign(**dict(others))


_OF_ROWS = frozenset(
    [
        "bfill",
        "cumcount",
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
        "diff",
        "ffill",
        "ngroup",
        "pct_change",
        "rank",
        "shift",
    ]
)
"""Methods with a row for each row that `agg` takes by name, too."""


def named_rows(groups: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what ``agg`` makes of a method with a row for each row, or of a dict of such by column; None if it is of others."""
    if isinstance(func, str):
        return getattr(groups, func)(*args, **kwargs) if func in _OF_ROWS else None
    is_of_rows = isinstance(func, Mapping) and all(isinstance(how, str) and how in _OF_ROWS for how in func.values())
    if not is_of_rows or not func or args or kwargs or not groups._recipe.as_index:
        return None
    return named_transforms(groups, {column: (column, how) for column, how in func.items()})


def get_group(grouping: Grouping, name: Any) -> FrameExpr:
    """Return the node of the rows of one group. It raises KeyError when computed if no partition has any."""
    if grouping.recipe.dropna and _is_missing(name):
        raise KeyError(name)
    rows = rows_of_group(grouping, name)
    count = tree(rows, Operation(len, sum, sum), 0, "groupby-get-group-count")
    check = BlockCall(partial(_rows_if_any, name), (Block(0), Block(1)), label="groupby-get-group")
    return GroupRows(rows, (count,), check, rows.meta)


def rows_of_group(grouping: Grouping, name: Any) -> FrameExpr:
    """Return the node of the rows of one group, none if there is no such group."""
    recipe = grouping.recipe
    meta = grouping.node.meta if recipe.selection is None else grouping.node.meta[recipe.selection]
    call = _call(partial(_rows_of_group, recipe, name, meta), grouping, 0, "groupby-get-group")
    return GroupRows(grouping.node, grouping.blocks, call, meta)


class GroupRows(SomeRows):
    """The rows of a group."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class _Ends:
    """A call of ``head(n)`` or ``tail(n)``."""

    def __init__(self, method: str, n: int) -> None:
        self.method, self.n = method, n

    def __call__(self, grouped: Any) -> Any:
        return getattr(grouped, self.method)(self.n)


def _call(function: Any, grouping: Grouping, further: int, label: str) -> BlockCall:
    count = 1 + len(grouping.blocks) + further
    return BlockCall(function, tuple(Block(number) for number in range(count)), label=label)


def _ngroup(grouped: Any) -> Any:
    return grouped.ngroup()


def _rows_of_groups(recipe: Recipe, meta: Any, block: Any, *others: Any) -> Any:
    """Return for each row the row of its group, under the labels of the rows."""
    *blocks, aggregated = others
    groups = find_groups(aggregated.index, recipe.key_values(block, blocks), arrow=recipe.arrow)
    if recipe.dropna and len(groups) and any(key.isna().any() for key in recipe.key_values(block, blocks)):
        missing = np.any([key.isna() for key in recipe.key_values(block, blocks)], axis=0)
        groups = np.where(missing, -1, groups)
    if isinstance(meta, pd.Series):
        return pd.Series(take(aggregated.array, groups), index=block.index, name=meta.name)
    columns = [pd.Series(take(aggregated.iloc[:, place].array, groups)) for place in range(aggregated.shape[1])]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(block)))
    return frame.set_axis(block.index).set_axis(meta.columns, axis=1)


def _numbers(recipe: Recipe, ascending: bool, block: Any, *others: Any) -> Any:
    *blocks, sizes = others
    groups = find_groups(sizes.index, recipe.key_values(block, blocks), arrow=recipe.arrow)
    have_rows = np.cumsum(sizes.to_numpy() > 0) - 1
    groups = np.append(have_rows, -1)[groups]  # groups without rows aren't numbered
    if not ascending:  # but are counted then, as in pandas
        groups = np.where(groups >= 0, len(sizes) - 1 - groups, -1)
    numbers = pd.Series(groups.astype(np.int64), index=block.index)
    return numbers.where(numbers >= 0) if recipe.dropna else numbers


def _rows_of_group(recipe: Recipe, name: Any, meta: Any, block: Any, *blocks: Any) -> Any:
    if not len(block):
        return meta
    names = name if isinstance(name, tuple) and len(recipe.keys) == len(name) else (name,)
    if any(map(_is_missing, names)):  # pandas doesn't find the group of missing categories
        keys = zip(recipe.key_values(block, blocks), names, strict=True)
        found = np.all([key.isna() if _is_missing(one) else key == one for key, one in keys], axis=0)
        return block[found] if recipe.selection is None else block[found][recipe.selection]
    if recipe.is_single:  # pandas takes a series of one row, too, for a list of one key, whose groups are tuples
        recipe, name = replace(recipe, is_single=False), (name,)
    try:
        return recipe.grouped(block, *blocks).get_group(name)
    except KeyError:
        return meta


def _is_missing(label: Any) -> bool:
    return bool(pd.api.types.is_scalar(label) and pd.isna(label))


def _rows_if_any(name: Any, rows: Any, count: int) -> Any:
    if not count:
        raise KeyError(name)
    return rows


# The ends of groups: (rows, their keys).


def _ends_of_block(recipe: Recipe, method: str, n: int, block: Any, *blocks: Any) -> Any:
    if not len(block):
        return None
    return _ends(recipe, method, n, block, recipe.key_values(block, blocks), selects=True)


def _ends(recipe: Recipe, method: str, n: int, block: Any, keys: list[Any], *, selects: bool) -> Any:
    keys = [key.reset_index(drop=True) for key in keys]
    rows = pd.Series(np.arange(len(block)))
    grouped = rows.groupby(keys, dropna=recipe.dropna, sort=False, observed=True)
    chosen = getattr(grouped, method)(n).to_numpy()
    if selects and recipe.selection is not None:
        block = block[recipe.selection]
    return (block.take(chosen), [key.take(chosen) for key in keys])


def _ends_of_many(recipe: Recipe, method: str, n: int, several: list[Any]) -> Any:
    filled = [one for one in several if one is not None]
    if not filled:
        return None
    block = concat([rows for rows, _ in filled])
    keys = [concat(list(many)) for many in zip(*[keys for _, keys in filled], strict=True)]
    return _ends(recipe, method, n, block, keys, selects=False)


def _last_ends(recipe: Recipe, method: str, n: int, meta: Any, is_last_alone: bool, several: list[Any]) -> Any:
    found = _ends_of_many(recipe, method, n, several)
    if found is None:
        return meta
    rows, keys = found
    if not is_last_alone or n == 1:
        return rows
    grouped = pd.Series(np.arange(len(rows))).groupby(
        [key.reset_index(drop=True) for key in keys], dropna=recipe.dropna, sort=False, observed=True
    )
    place = grouped.cumcount(ascending=method == "head").to_numpy()
    return rows[place == n - 1]
