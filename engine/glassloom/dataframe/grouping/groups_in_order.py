"""Groups of files in order of their key stay in as many partitions: what a partition holds are whole groups, but for those at its ends.

Of ``frame.groupby("order").agg(...)`` there may be nearly as many groups as rows. To join the partial results of all partitions, encode their keys
anew and make one frame of them takes one thread as long as all threads take to read them. Where the files' statistics say that the partitions' keys
lie in order, and what is made of the groups takes them in any number of partitions, as a filter and the table of a join do, each partition is finished
by itself: it takes its part of the first group of the next ones, and leaves out what the one before has taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.dataframe.arrow.text import is_text
from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.column_nodes import Renamed, is_one_value, is_row_by_row
from glassloom.dataframe.grouping.keys_as_columns import makes_columns
from glassloom.dataframe.grouping.recipe import COLUMN
from glassloom.dataframe.grouping.tables import CodedKey, Table
from glassloom.dataframe.grouping.tree import Aggregation, Partial, chunk, finish, finish_as_columns
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.joined_reads import ignores_labels, takes_all
from glassloom.dataframe.moving.distinct_in_pieces import OfPieces
from glassloom.dataframe.moving.lookup import LookupJoin, LookupTable
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, Projection, Relabelled, Rowwise
from glassloom.dataframe.plan import rebuilt
from glassloom.dataframe.reduction_nodes import Chunk, RowsChunk, TreeReduce
from glassloom.expr import Expr, walk
from glassloom.graph import Key, Task, TaskRef

LEAST_GROUPS = 10_000
"""In each partition, as far as rows and keys tell: to finish one takes as long as to join some thousands of groups."""
_WITH_DTYPE_OF_NUMBERS = frozenset(["count", "size", "nunique", "mean", "var", "std", "sem"])
_WITH_DTYPE_OF_VALUES = frozenset(["sum", "prod", "min", "max", "first", "last"])
_OF_EACH_VALUE = frozenset(
    [
        "abs", "add", "and_", "astype", "between", "dt", "eq", "fillna", "ge", "gt", "inv", "invert", "isin", "isna", "isnull", "le", "lt", "mul",
        "ne", "neg", "notna", "notnull", "or_", "pos", "round", "str", "sub", "truediv", "xor",
    ]
)  # fmt: skip
"""Operators and methods, whose results have the same dtype whatever other values there are."""


class _End(NamedTuple):
    """Whose groups a partition holds: not those of `taken` (None: all), and those of the keys `last` that the next `n_after` partitions have."""

    taken: int | None
    last: int
    n_after: int


class GroupsInOrder(FrameExpr):
    """The groups of each partition of a reduction's first step, as `finish` makes them of partial results.

    Each of `ends` says which groups are a partition's; `key` is the column of their keys.
    """

    parameters = ("source", "finish", "given_meta", "title", "key", "ends")

    source: Chunk
    finish: Callable[[list[Any]], Any]
    given_meta: Any
    title: str
    key: Any
    ends: tuple[_End, ...]

    @property
    def label(self) -> str:
        return self.title

    @property
    def meta(self) -> Any:
        return self.given_meta

    @property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (len(self.ends) + 1)

    def tasks(self) -> dict[Key, Task]:
        keys = self.source.output_keys()
        made: dict[Key, Task] = {}
        for place, end in enumerate(self.ends):
            parts = [TaskRef(key) for key in keys[place : place + 1 + end.n_after]]
            made[self.name, place] = Task((self.name, place), _Whole(self.finish, self.key, end), (parts,))
        return made


@dataclass(frozen=True)
class _Whole:
    """What `finish` makes of the partial results of a partition's groups: of its own part, and of those of the partitions after it."""

    finish: Callable[[list[Any]], Any]
    key: Any
    end: _End

    def __call__(self, parts: list[Any]) -> Any:
        own, *others = parts
        taken, last = self.end.taken, self.end.last
        kept = own if taken is None else _chosen(own, self.key, lambda keys: keys != taken)
        return self.finish([kept, *(_chosen(part, self.key, lambda keys: keys == last) for part in others)])


def _chosen(part: Any, key: Any, choose: Callable[[Any], Any]) -> Any:
    """Return the groups of a partial result whose keys are chosen: of `Partial`, or of a list of frames of distinct rows."""
    if isinstance(part, list):
        return [_rows_of_frame(frame, choose(frame[key].to_numpy())) for frame in part]
    if not isinstance(part, Partial):
        return part
    first = next(iter(part.table))
    distinct = tuple([_rows_of_frame(table, choose(table[first].to_numpy())) for table in part.distinct])
    return replace(part, table=_rows_of_table(part.table, choose(np.asarray(part.table[first]))), distinct=distinct)


def _rows_of_frame(frame: pd.DataFrame, mask: Any) -> pd.DataFrame:
    return frame.iloc[_places(mask)]


def _rows_of_table(table: Table, mask: Any) -> Table:
    places = _places(mask)
    known: dict[int, Any] = {}  # some columns are one object, such as sizes and counts
    made = {}
    for name, column in table.items():
        if id(column) not in known:
            known[id(column)] = _rows_of_column(column, places)
        made[name] = known[id(column)]
    return made


def _rows_of_column(column: Any, places: Any) -> Any:
    if isinstance(column, CodedKey):
        return CodedKey(column.codes[places], column.values)
    return column.iloc[places].reset_index(drop=True) if isinstance(column, pd.Series) else column[places]


def _places(mask: Any) -> Any:
    """Return which rows a mask chooses: a slice if they follow each other."""
    places = np.flatnonzero(mask)
    if not len(places):
        return slice(0, 0)
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if last - first + 1 == len(places) else places


def keep_groups_in_order(roots: Sequence[Expr]) -> list[Expr]:
    """Leave groups of files in order of their key in the partitions of these, where what is made of them takes any number of partitions."""
    return _kept(roots, are_shown=False)


def keep_shown_groups_in_order(roots: Sequence[Expr]) -> list[Expr]:
    """The same of results, which become one frame whatever partitions they are in."""
    return _kept(roots, are_shown=True)


def _kept(roots: Sequence[Expr], *, are_shown: bool) -> list[Expr]:
    order = walk(roots)
    known = list(roots)
    for node in order:
        if not isinstance(node, TreeReduce):
            continue
        made = _in_order(node)
        if made is not None and _may_be_several(node, order, {root.name for root in roots}, are_shown=are_shown):
            known = rebuilt(known, walk(known), {node.name: made})
            return _kept(known, are_shown=are_shown)
    return known


def _in_order(node: TreeReduce) -> GroupsInOrder | None:
    """Return a reduction whose groups stay in the partitions of its source; None if they aren't in order, few, or depend on each other."""
    source = node.source
    if not isinstance(source, Chunk) or source.npartitions < 2 or source.others:
        return None
    last = node.steps.finish
    by_rows = getattr(last.chunk, "function", None) if isinstance(last, OfPieces) else source.call.function
    made = last.finish if isinstance(last, OfPieces) else last
    if not (isinstance(by_rows, partial) and by_rows.func is chunk and isinstance(made, partial)):
        return None
    if made.func not in (finish, finish_as_columns):
        return None
    plan: Aggregation = by_rows.args[0]
    if source.frame.backend != "pandas" or not _stands_by_itself(plan, source.frame.meta):
        return None
    label = plan.recipe.keys[0].at
    ends = _ends_of(source.frame, label)
    if ends is None:
        return None
    key = label if isinstance(last, OfPieces) else None
    return GroupsInOrder(source, last, node.steps.meta, node.title, key, ends, origin=node.origin)


def _stands_by_itself(plan: Aggregation, meta: Any) -> bool:
    """Whether the groups of some rows are the same beside others: their order, and the dtypes, which follow from the columns."""
    recipe = plan.recipe
    if not isinstance(meta, pd.DataFrame) or any(key.kind != COLUMN for key in recipe.keys) or plan.of_aggregates:
        return False
    if not meta.columns.is_unique or not recipe.drops_early:
        return False
    keys = [meta[key.at].dtype for key in recipe.keys]
    if not _is_of_whole_numbers(keys[0]) or not all(map(_is_settled, keys)):
        return False
    return all(
        one.how in _WITH_DTYPE_OF_NUMBERS or (one.how in _WITH_DTYPE_OF_VALUES and _is_settled(meta[plan.values[one.place]].dtype))
        for one in plan.wanted
        if one.place >= 0
    ) and all(one.min_count <= 0 and one.skipna for one in plan.wanted)  # fmt: skip


def _is_of_whole_numbers(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iu"


def _is_settled(dtype: Any) -> bool:
    """Whether values of a dtype, and what is reduced of them, keep it: sums of narrow numbers may not fit, objects may become text."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "iufmM" and dtype.itemsize == 8
    return is_text(dtype)


def _ends_of(frame: FrameExpr, label: Any) -> tuple[_End, ...] | None:
    """Return which groups the partitions of a frame hold; None unless files say that their keys are in order, and that there may be many."""
    read = _read_of(frame, label)
    if read is None or read.npartitions != frame.npartitions or read.source.most_rows is None:
        return None
    bounds, rows = read.source.bounds_of(label), read.source.most_rows
    if bounds is None:
        return None
    if read.numbers is not None:
        bounds, rows = [bounds[number] for number in read.numbers], tuple([rows[number] for number in read.numbers])
    ranges = [(int(one.low), int(one.high)) for one in bounds]
    if any(before > low for (_, before), (low, _) in pairwise(ranges)):
        return None
    n_groups = sum(min(count, high - low + 1) for count, (low, high) in zip(rows, ranges, strict=True))
    return _ends(ranges) if n_groups >= LEAST_GROUPS * len(ranges) else None


def _ends(ranges: Sequence[tuple[int, int]]) -> tuple[_End, ...]:
    """Return which groups partitions with keys in these ranges hold: those of a key that is in several are the first one's.

    >>> [tuple(end) for end in _ends([(1, 3), (3, 3), (3, 5), (6, 9)])]
    [(None, 3, 2), (3, 3, 0), (3, 5, 0), (None, 9, 0)]
    """
    found = []
    for place, (low, high) in enumerate(ranges):
        is_taken = place > 0 and ranges[place - 1][1] == low
        n_after = 0
        if not (is_taken and low == high):
            while place + n_after + 1 < len(ranges) and ranges[place + n_after + 1][0] == high:
                n_after += 1
        found.append(_End(low if is_taken else None, high, n_after))
    return tuple(found)


def _read_of(node: FrameExpr, label: Any) -> Read | None:
    """Return what reads a column of a frame, rows of which may have been left out; None if it is computed, or rows have moved."""
    while not isinstance(node, Read):
        is_same = isinstance(node, Filter) or (isinstance(node, Projection) and isinstance(node.columns, list))
        is_beside = isinstance(node, Assign) and label not in node.names
        if not (is_same or is_beside or (isinstance(node, LookupJoin) and _has_key_of_left(node, label))):
            return None
        node = node.frame  # type: ignore[attr-defined]
    return node


def _has_key_of_left(node: LookupJoin, label: Any) -> bool:
    """Whether a column of a join is that of its left side, whose rows stay in their partitions."""
    if not node.finds_right or node.joining.how not in ("inner", "left", "leftsemi", "leftanti"):
        return False
    is_of_both = label in node.table.frame.meta.columns
    return label in node.frame.meta.columns and (not is_of_both or node.joining.how in ("leftsemi", "leftanti"))


def _may_be_several(node: TreeReduce, order: Sequence[Expr], root_names: set[str], *, are_shown: bool) -> bool:
    """Whether all that is made of a reduction is the same if its groups are in several partitions, one after the other."""
    inside = {node.name}
    numbered: set[str] = set()  # what has labels from 0 on in each partition
    if isinstance(node.steps.meta.index, pd.RangeIndex):
        numbered.add(node.name)
    for one in order:
        below = [child for child in one.dependencies if child.name in inside]
        if not below or all(takes_all(one, child) for child in below):
            continue
        is_reset = isinstance(one, Relabelled) and makes_columns(one.call) and not one.others
        if not isinstance(one, FrameExpr) or not (is_reset or _is_of_each_partition(one)):
            return False
        beside = [child for child in one.dependencies if child.name not in inside]
        if not all(isinstance(child, LookupTable) or is_one_value(child) for child in beside):
            return False
        if any(child.name in numbered for child in below) and (is_reset or not ignores_labels(one)):
            return False
        if is_reset or isinstance(one, LookupJoin) or any(child.name in numbered for child in below):
            numbered.add(one.name)
        inside.add(one.name)
    shown = inside & root_names
    return not shown or (are_shown and not shown & numbered)


def _is_of_each_partition(node: FrameExpr) -> bool:
    """Whether what is made of a single partition is the same if its rows are in several: not so `cumsum`, or `where` by its dtype."""
    if isinstance(node, LookupJoin):
        return node.joining.how in ("inner", "leftsemi", "leftanti") and node.joining.validate is None
    if not isinstance(node, Rowwise):
        return isinstance(node, (Projection, Assign, Filter, RowsChunk))
    return isinstance(node, Renamed) or (is_row_by_row(node) and _name_of(node.call.function) in _OF_EACH_VALUE)


def _name_of(function: Any) -> str:
    if isinstance(function, (Method, Attribute)):
        return function.path[0] if function.path[0] in ("str", "dt") else function.path[-1]
    return function.__name__ if getattr(function, "__module__", None) == "_operator" else ""
