"""`shift`, `diff`, filling and counts from the end by groups: only the first and last rows that groups have in each partition move.

Each partition is computed by itself first. What is missing there depends on the rows at the edges of the same group in other
partitions: those are grouped as whole groups are (`wholes.py`), and their results take the places of the partition's own. Where
groups are few, these are few rows; where each group has few rows, they are at most all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.label_tables import holds_frames
from glassloom.backends.pandas_ import concat
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.carried import cumulated, has_carried_form, of_one_dtype
from glassloom.dataframe.grouping.encode import encode
from glassloom.dataframe.grouping.groups import Groups, take
from glassloom.dataframe.grouping.recipe import COLUMN, Key, Recipe
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.grouping.wholes import ROWS_EACH, Grouping, OfBlock, OfRows, of_rows
from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.dataframe.reduction_nodes import Chunk

_BY_PERIODS = frozenset(["diff", "pct_change", "shift"])
_FILLS = frozenset(["bfill", "ffill"])
_MOST = 3
"""If more than one in so many rows may be at an edge, all are taken for such."""


@holds_frames("made", "edges")
class _Apart(NamedTuple):
    """What is made of a partition by itself.

    Attributes
    ----------
    made
        The method's result, a frame with numbered columns and rows; None if all rows are edges.
    edges
        The rows that other partitions may need, with their keys: a frame with numbered columns.
    places
        Of each row of `edges` the row, or with `codes` the group, that gets its result in whole groups; -1: none.
    codes
        The number of each row's group if all rows of a group may need its result, else None.
    """

    made: Any
    edges: Any
    places: Any
    codes: Any


@dataclass(frozen=True)
class _EdgeMethod:
    """A method of groups, how rows are grouped, and what the result looks like."""

    call: Call
    recipe: Recipe
    meta: Any

    def __glassloom_tokenize__(self) -> Any:
        return (self.call, self.recipe, self.meta)

    @property
    def method(self) -> str:
        return self.call.method

    @property
    def reach(self) -> int | None:
        """How many rows of its group before a row its value depends on, negative: after; None: all, or the last with a value."""
        if self.method in _BY_PERIODS:
            return int(self.call.kwargs["periods"])
        limit = self.call.kwargs.get("limit")
        return None if limit is None else int(limit) if self.method == "ffill" else -int(limit)

    @property
    def whole(self) -> Any:
        """What is called with whole groups of edges."""
        return rows_after if self.method == "cumcount" else self.call

    def values(self, block: Any) -> Any:
        """Return what the result is made of, as a frame with numbered columns and rows."""
        if self.method == "cumcount":
            return pd.DataFrame({0: np.ones(len(block), np.int64)})
        if isinstance(self.meta, pd.DataFrame):
            chosen = block[list(self.meta.columns)]
        else:
            chosen = (block if isinstance(block, pd.Series) else block[self.meta.name]).to_frame()
        return chosen.set_axis(range(chosen.shape[1]), axis=1).reset_index(drop=True)

    def apart(self, block: Any, *blocks: Any) -> _Apart:
        """Return what is made of a partition by itself, and its edges."""
        keys = self.recipe.key_values(block, blocks)
        values, groups = self.values(block), encode(keys, dropna=self.recipe.dropna, arrow=self.recipe.arrow)
        if _MOST * groups.count * (abs(self.reach or 1) + (self.method != "cumcount")) > len(values):
            return self._all_rows(values, keys)
        grouped = values.groupby(_categories(groups), observed=False)
        codes = None
        if self.method == "cumcount":
            made, codes = grouped.cumcount(ascending=False).to_frame(0), groups.codes
            edges, rows, places = pd.DataFrame({0: groups.sizes}), groups.first, np.arange(groups.count)
        elif self.reach is None:
            made, codes = self.call(grouped), groups.codes
            edges, rows, places = _filling(values, groups, is_forward=self.method == "ffill")
        else:
            made = self.call(grouped)
            rows, places = _ends(groups, self.reach)
            edges = values.take(rows)
        edges = edges.reset_index(drop=True)
        for number, key in enumerate(keys):
            edges[values.shape[1] + number] = take(key.array, rows)
        return _Apart(made, edges, places, codes)

    def _all_rows(self, values: Any, keys: list[Any]) -> _Apart:
        """Return all rows as edges: of many groups there are hardly fewer."""
        edges, width = values.copy(deep=False), values.shape[1]
        for number, key in enumerate(keys):
            edges[width + number] = key.array
        return _Apart(None, edges, np.arange(len(values)), None)

    def joined(self, block: Any, apart: _Apart, found: Any) -> Any:
        """Return what was made of a partition by itself, with the results of whole groups at the edges."""
        if apart.made is None:
            made = [found.iloc[:, number].array for number in range(found.shape[1])]
        elif len(found):
            gets = apart.places >= 0
            found, places = found[gets], apart.places[gets]
            made = [
                self._with_edges(apart.made.iloc[:, number], found.iloc[:, number], places, apart.codes)
                for number in range(apart.made.shape[1])
            ]
        else:
            made = [apart.made.iloc[:, number].array for number in range(apart.made.shape[1])]
        if isinstance(self.meta, pd.Series):
            return pd.Series(made[0], index=block.index, name=self.meta.name)
        frame = pd.DataFrame(dict(enumerate(made)), index=pd.RangeIndex(len(block)))
        return frame.set_axis(block.index).set_axis(self.meta.columns, axis=1)

    def _with_edges(self, own: Any, found: Any, places: Any, codes: Any) -> Any:
        """Return the values of a column with those of whole groups."""
        if codes is None:
            return _set(own, places, found)
        by_group = found.take(np.argsort(places))
        if self.method == "cumcount":
            return own.array + np.append(by_group.to_numpy(), 0)[codes]
        lacking = np.flatnonzero(own.isna().to_numpy() & (codes >= 0))
        return _set(own, lacking, by_group.take(codes[lacking])) if len(lacking) else own.array


def _filling(values: Any, groups: Groups, *, is_forward: bool) -> tuple[Any, Any, Any]:
    """Return two rows for each group, the rows their keys are of, and the groups whose values they get.

    One gets the value that is carried to it, the other one is the group's last (first) value that isn't missing.
    """
    getting = groups.first if is_forward else last_rows(groups.codes, groups.count)
    columns = [values.iloc[:, number] for number in range(values.shape[1])]
    order = slice(None, None, 1 if is_forward else -1)
    made = {}
    for number, column in enumerate(columns):
        codes = np.where(column.isna(), -1, groups.codes)
        known = last_rows(codes[order], groups.count)
        known = known if is_forward else np.where(known >= 0, len(codes) - 1 - known, -1)
        made[number] = take(column.array, np.concatenate([getting, known][order]))
    places = [np.arange(groups.count), np.full(groups.count, -1, np.intp)]
    return pd.DataFrame(made), np.tile(groups.first, 2), np.concatenate(places[order])


def _categories(groups: Groups) -> Any:
    """Return the groups of rows as categories, which pandas needn't look for."""
    return pd.Categorical.from_codes(groups.codes, pd.RangeIndex(groups.count), validate=False)


def last_rows(codes: Any, count: int) -> Any:
    """Return the last row of each group, -1 where there is none."""
    rows = np.flatnonzero(codes >= 0)
    last = np.full(count, -1, np.intp)
    last[codes[rows]] = rows  # of several rows, the last one stays
    return last


def _ends(groups: Groups, reach: int) -> tuple[Any, Any]:
    """Return the first and the last rows of each group, as many as `reach`; of those at the end that depends on other partitions the row, of others -1."""
    count, codes = abs(reach), groups.codes
    if count == 1:
        first, last = groups.first, last_rows(codes, groups.count)
    else:
        order = np.argsort(codes.astype(np.min_scalar_type(-max(groups.count, 1))), kind="stable")  # by digits
        order = order[len(codes) - int(groups.sizes.sum()) :]
        sizes = np.repeat(groups.sizes, groups.sizes)
        from_end = np.repeat(np.cumsum(groups.sizes), groups.sizes) - np.arange(len(order))
        first, last = order[sizes - from_end < count], order[from_end <= count]
    is_end, is_getting = np.zeros(len(codes), bool), np.zeros(len(codes), bool)
    is_end[first] = is_end[last] = True
    is_getting[first if reach > 0 else last] = True
    rows = np.flatnonzero(is_end)
    return rows, np.where(is_getting[rows], rows, -1)


def _set(own: Any, rows: Any, found: Any) -> Any:
    """Return the values of a column with those of some rows replaced."""
    if own.dtype != found.dtype:  # an integer that a partition has no missing values beside
        both = concat([own, found]).dtype
        own, found = own.astype(both), found.astype(both)
    values = own.array.copy()
    values[rows] = found.array
    return values


def rows_after(grouped: Any) -> Any:
    """Return how many rows groups have in later partitions, where each row of the groups is the number of rows in one."""
    before = grouped.cumsum()
    return grouped.transform("sum") - before if grouped.ngroups else before


def rows_by_method(grouping: Grouping, call: Call, meta: Any) -> FrameExpr:
    """Return the node of a method of pandas' groups that gives a row for each row: by what partitions hand on, by edges, or of whole groups."""
    method, title, is_cut = call.method, f"groupby-{call.method}", grouping.node.npartitions > 1
    if is_cut and call.kwargs.get("ascending", True) and has_carried_form(method, meta):
        return cumulated(grouping, method, call.kwargs, meta)
    if is_cut and has_edge_form(method, call.kwargs, meta, grouping.node):
        return of_edges(grouping, call, meta, title)
    node = of_rows(grouping, call, meta, title, keeps_rows=True)
    return of_one_dtype(grouping, node) if method in ("cummin", "cummax") else node


def has_edge_form(method: str, options: Mapping[str, Any], meta: Any, node: FrameExpr) -> bool:
    """Whether a method of groups can be computed from the partitions themselves and the edges of groups."""
    if method == "cumcount":
        return not options["ascending"]
    if method in _FILLS:
        is_plain = options["limit"] is None or _is_count(options["limit"])
    else:
        is_plain = method in _BY_PERIODS and _is_count(options["periods"]) and options.get("fill_method") is None
    if not is_plain or not _are_plain(meta):
        return False
    own = node.meta
    if not isinstance(own, pd.DataFrame):
        return isinstance(meta, pd.Series) and _are_plain(own)
    names = list(meta.columns) if isinstance(meta, pd.DataFrame) else [meta.name]
    return own.columns.is_unique and all(name in own.columns for name in names) and _are_plain(own[names])


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value != 0


def _are_plain(meta: Any) -> bool:
    """Whether all partitions have values of the same dtypes."""
    dtypes = list(meta.dtypes) if isinstance(meta, pd.DataFrame) else [meta.dtype]
    return bool(dtypes) and all(
        dtype.kind in "iufmM"
        if isinstance(dtype, np.dtype)
        else isinstance(dtype, (pd.DatetimeTZDtype, pd.StringDtype))
        for dtype in dtypes
    )


def of_edges(grouping: Grouping, call: Call, meta: Any, title: str) -> FrameExpr:
    """Return the node of a method of groups for which `has_edge_form`, each row at its place.

    Parameters
    ----------
    grouping
        What is grouped.
    call
        The method and its options.
    meta
        An empty object like the result.
    title
        The label.
    """
    method, further = _EdgeMethod(call, grouping.recipe, meta), f"{title}-edges"
    blocks = tuple(Block(number) for number in range(1 + len(grouping.blocks)))
    apart = Chunk(grouping.node, grouping.blocks, BlockCall(method.apart, blocks, label=title))
    like = method.values(grouping.node.meta)
    columns = list(like.columns)
    keys = grouping.recipe.key_values(grouping.node.meta, [block.meta for block in grouping.blocks])
    names = [len(columns) + number for number in range(len(keys))]
    like = pd.concat([like, *(key.reset_index(drop=True) for key in keys)], axis=1)
    edges = OfBlock(apart, (), BlockCall(_edges, (Block(0),), label=further), like.set_axis([*columns, *names], axis=1))
    by_names = tuple(Key(COLUMN, name, name) for name in names)
    recipe = replace(grouping.recipe, keys=by_names, is_single=False, as_index=True, selection=columns)
    whole = Grouping(edges, recipe, ())
    found = of_rows(
        whole, method.whole, empty(whole.sampled(method.whole)), title, keeps_rows=True, rows_each=ROWS_EACH
    )
    found = Chunk(found, (), BlockCall(_itself, (Block(0),), label=further))  # its rows aren't the frame's
    joined = BlockCall(method.joined, (Block(0), Block(1), Block(2)), label=title)
    return OfRows(grouping.node, (apart, found), joined, meta)


def _edges(apart: _Apart) -> Any:
    return apart.edges


def _itself(block: Any) -> Any:
    return block
