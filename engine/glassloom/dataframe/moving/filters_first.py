"""Rows are filtered before they are sorted, shuffled or concatenated, not after: then fewer move, and reads can apply the conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import reduce
from typing import Any

import pandas as pd

from glassloom.dataframe.column_nodes import is_one_value, is_row_by_row
from glassloom.dataframe.moving.exchange import Split
from glassloom.dataframe.moving.lookup import LookupTable
from glassloom.dataframe.moving.narrowing import move_needed_columns
from glassloom.dataframe.moving.shape import Concat, Repartition
from glassloom.dataframe.moving.shuffle import HashShuffle
from glassloom.dataframe.moving.sort import SortedBlocks, SortedExchange, sort, sorting_of
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, Projection, Rowwise
from glassloom.dataframe.plan import consumers_of, filter_while_reading, filtered_region, read_once, rebuilt, with_less
from glassloom.dataframe.predicates import both_hold
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.reduction_nodes import RowsChunk, TreeReduce
from glassloom.expr import Expr, apply_rules, rule, walk

_Move = SortedExchange | SortedBlocks | HashShuffle | Repartition
_DEEPEST = 50
"""Operations in each other of a condition that is moved."""
_MOST_FILTERS = 50
"""Times that filters move."""
_MOST_PARTS = 50
"""Conditions of a filter that are moved."""


@rule(Filter, Concat)
def filter_before_concat(node: Filter, inner: Concat) -> Expr | None:
    """Filter each of the frames, if the condition is of their rows alone."""
    conditions = [PartsOfFrames(inner, place).part(node.predicate) for place in range(len(inner.frames))]
    pairs = zip(inner.frames, conditions, strict=True)
    filtered = [Filter(frame, condition, origin=node.origin) for frame, condition in pairs if condition is not None]
    return inner.rebuild([tuple(filtered), *inner.operands[1:]]) if len(filtered) == len(conditions) else None


class PartsOfFrames:
    """What nodes of concatenated rows are of the rows of one of the frames; each is looked at once."""

    def __init__(self, whole: Concat, place: int) -> None:
        self._whole, self._place = whole, place
        self._known: dict[str, FrameExpr | None] = {}

    def part(self, node: FrameExpr, depth: int = 0) -> FrameExpr | None:
        """Return a node of the frame's rows; None if that isn't known."""
        if node.name not in self._known:
            self._known[node.name] = self._found(node, depth)
        return self._known[node.name]

    def _found(self, node: FrameExpr, depth: int) -> FrameExpr | None:
        if is_one_value(node):
            return node
        if isinstance(node, Concat):
            frame = node.frames[self._place]
            return frame if node.rows == self._whole.rows and _are_alike(frame.meta, node.meta) else None
        if not isinstance(node, (Projection, Assign, Rowwise)) or depth > _DEEPEST:
            return None
        found: dict[str, Expr] = {}
        for below in node.dependencies:
            assert isinstance(below, FrameExpr)
            part = self.part(below, depth + 1)
            if part is None:
                return None
            found[below.name] = part
        # Asked after those below, as it follows from theirs: conditions may be deeper than Python's stack.
        if not is_row_by_row(node):
            return None
        return node.substitute(lambda child: found[child.name])


def _are_alike(meta: Any, other: Any) -> bool:
    """Whether two metas have the same columns and labels of the same dtypes and names."""
    if dtypes_of_labels(meta) != dtypes_of_labels(other) or _names(meta) != _names(other):
        return False
    if not isinstance(meta, pd.DataFrame) or not isinstance(other, pd.DataFrame):
        return type(meta) is type(other) and getattr(meta, "dtype", None) == getattr(other, "dtype", None)
    return meta.columns.equals(other.columns) and list(meta.dtypes) == list(other.dtypes)


def _names(meta: Any) -> list[Any]:
    """Return the names of the labels of rows and columns, or that of a series."""
    if isinstance(meta, pd.Index):
        return list(meta.names)
    return [*meta.index.names, *(meta.columns.names if isinstance(meta, pd.DataFrame) else [meta.name])]


def dtypes_of_labels(meta: Any) -> list[Any]:
    """Return the dtype of each level of a meta's index, or of a meta that is one."""
    index = meta if isinstance(meta, pd.Index) else meta.index
    return [level.dtype for level in index.levels] if isinstance(index, pd.MultiIndex) else [index.dtype]


def filter_before_moving(roots: Sequence[Expr]) -> list[Expr]:
    """Filter rows before they move if all that is made of them afterwards, row by row, ends in a filter.

    Where the places at which partitions are cut follow from all rows, only if nothing shows which rows are in which partition.
    """
    return _filtered_first(roots, shows_blocks=True)[0]


def filter_results_before_moving(roots: Sequence[Expr]) -> list[Expr]:
    """Do the same for concrete values, which don't show how their rows were partitioned."""
    made, is_changed = _filtered_first(roots, shows_blocks=False)
    return read_once(filter_while_reading(move_needed_columns(made))) if is_changed else made


def _filtered_first(roots: Sequence[Expr], *, shows_blocks: bool) -> tuple[list[Expr], bool]:
    simple = list(roots)
    for n_moved in range(_MOST_FILTERS):
        order, root_names = walk(simple), {root.name for root in simple}
        by_rows: dict[str, list[_Move]] = defaultdict(list)  # of one frame there may be different columns
        for node in order:
            if isinstance(node, _Move):
                by_rows[node.rows].append(node)
        consumers = consumers_of(order) if by_rows else {}
        shown = root_names if shows_blocks else set()
        found = (_filtered_before(moves, order, consumers, root_names, shown) for moves in by_rows.values())
        new = next(filter(None, found), None)
        if new is None:
            return (apply_rules(simple) if n_moved else simple), n_moved > 0
        simple = rebuilt(simple, order, new)
    return apply_rules(simple), True


def _filtered_before(
    moves: list[_Move],
    order: Sequence[Expr],
    consumers: dict[str, list[Expr]],
    root_names: set[str],
    shown: Collection[str],
) -> dict[str, Expr]:
    """Return what replaces the filters of the same rows that move, by name; nothing if other rows are needed too."""
    region, parts = filtered_region(moves, order, consumers, root_names)
    if not 0 < len(parts) <= _MOST_PARTS:
        return {}
    if not all(map(_is_cut_anyhow, moves)) and _are_partitions_seen(region.filters, consumers, shown):
        return {}
    below: dict[str, FrameExpr] = {node.name: node.frame for node in moves}
    for one in region.inside.values():
        if one.name not in below:
            below[one.name] = one.substitute(lambda child: below.get(child.name, child))  # type: ignore[assignment]
    condition = reduce(both_hold, [below[part.name] for part in parts])
    filtered: dict[str, Expr] = {}
    for node in moves:
        moved = _moved_again(node, Filter(node.frame, condition, origin=parts[0].origin))
        if moved is None:
            return {}
        filtered[node.name] = moved
    return with_less(region, filtered, {part.name for part in parts})


def _is_cut_anyhow(move: _Move) -> bool:
    """Whether a row goes to the same partition whatever other rows there are."""
    if isinstance(move, Repartition):
        return move.count <= move.frame.npartitions
    return not isinstance(move, SortedExchange) or not move.split.others


def _are_partitions_seen(made: Collection[str], consumers: dict[str, list[Expr]], shown: Collection[str]) -> bool:
    """Whether what is made of some nodes may depend on which rows are in which partition."""
    stack, seen = list(made), set(made)
    while stack:
        name = stack.pop()
        if name in shown:
            return True
        for user in consumers[name]:
            if user.name in seen or isinstance(user, (RowsChunk, Length, LookupTable)):
                continue
            if not (isinstance(user, Filter) or (is_row_by_row(user) and getattr(user, "keeps_rows", True))):
                return True
            seen.add(user.name)
            stack.append(user.name)
    return False


def _moved_again(node: _Move, frame: FrameExpr) -> Expr | None:
    """Return another frame moved as one is; None by a user's function, which may look at all rows."""
    sorting = sorting_of(node)
    if sorting is not None and sorting.key is not None:
        return None
    if isinstance(node, (Repartition, SortedBlocks)):
        return node.rebuild([frame, *node.operands[1:]])
    split = node.split
    if not split.others:
        return node.rebuild([Split(frame, (), split.call, origin=split.origin), *node.operands[1:]])
    (boundaries,) = split.others if len(split.others) == 1 else (None,)
    is_cut = isinstance(boundaries, TreeReduce) and boundaries.title == "boundaries"
    if not isinstance(node, SortedExchange) or node.found_divisions is not None or not is_cut:
        return None
    return sort(frame, node.sorting, node.count)
