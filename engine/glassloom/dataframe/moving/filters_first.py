"""Rows are filtered before they are sorted, shuffled or concatenated, not after: then fewer move, and reads can apply the conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pandas as pd

from glassloom.dataframe.column_nodes import is_one_value, is_row_by_row
from glassloom.dataframe.moving.exchange import Split
from glassloom.dataframe.moving.shape import Concat, Repartition
from glassloom.dataframe.moving.shuffle import HashShuffle
from glassloom.dataframe.moving.sort import SortedBlocks, SortedExchange, sort
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, Projection, Rowwise
from glassloom.dataframe.plan import (
    conditions_of,
    consumers_of,
    rebuilt,
    region_of,
    with_less,
)
from glassloom.dataframe.predicates import both_hold
from glassloom.dataframe.reduction_nodes import TreeReduce
from glassloom.expr import Expr, apply_rules, rule, walk

_Move = SortedExchange | SortedBlocks | HashShuffle | Repartition
_DEEPEST = 50
"""Operations in each other of a condition that is moved."""
_MOST_FILTERS = 50
_MOST_PARTS = 50
"""Conditions of a filter that are moved."""


@rule(Filter, Concat)
def filter_before_concat(node: Filter, inner: Concat) -> Expr | None:
    """Filter each of the frames, if the condition is of their rows alone."""
    conditions = [_OfFrame(inner, place).part(node.predicate) for place in range(len(inner.frames))]
    pairs = zip(inner.frames, conditions, strict=True)
    filtered = [Filter(frame, condition, origin=node.origin) for frame, condition in pairs if condition is not None]
    return inner.rebuild([tuple(filtered), *inner.operands[1:]]) if len(filtered) == len(conditions) else None


class _OfFrame:
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
        if not is_row_by_row(
            node
        ):  # after those below, as it follows from theirs: conditions may be deeper than Python's stack
            return None
        return node.substitute(lambda child: found[child.name])


def _are_alike(meta: Any, other: Any) -> bool:
    """Whether two metas have the same columns of the same dtypes."""
    if not isinstance(meta, pd.DataFrame) or not isinstance(other, pd.DataFrame):
        return type(meta) is type(other) and getattr(meta, "dtype", None) == getattr(other, "dtype", None)
    return meta.columns.equals(other.columns) and list(meta.dtypes) == list(other.dtypes)


def filter_before_moving(roots: Sequence[Expr]) -> list[Expr]:
    """Filter rows before they move if all that is made of them afterwards, row by row, ends in a filter."""
    simple = list(roots)
    for n_moved in range(_MOST_FILTERS):
        order, root_names = walk(simple), {root.name for root in simple}
        by_rows: dict[str, list[_Move]] = defaultdict(list)  # of one frame there may be different columns
        for node in order:
            if isinstance(node, _Move):
                by_rows[node.rows].append(node)
        found = (_filtered_before(moves, order, root_names) for moves in by_rows.values())
        new = next(filter(None, found), None)
        if new is None:
            return apply_rules(simple) if n_moved else simple
        simple = rebuilt(simple, order, new)
    return simple


def _filtered_before(moves: list[_Move], order: Sequence[Expr], root_names: set[str]) -> dict[str, Expr]:
    """Return what replaces the filters of the same rows that move, by name; nothing if other rows are needed too."""
    consumers = consumers_of(order)
    region = region_of(moves, order)
    known = region.inside.keys() | region.filters.keys()
    if not region.filters or root_names & region.inside.keys():
        return {}
    if any(user.name not in known for name in region.inside for user in consumers[name]):
        return {}
    asked = conditions_of(region, consumers, root_names)
    common = set.intersection(*({part.name for part in found} for found in asked.values()))
    parts = [part for part in next(iter(asked.values())) if part.name in common]
    if not 0 < len(parts) <= _MOST_PARTS:
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


def _moved_again(node: _Move, frame: FrameExpr) -> Expr | None:
    """Return another frame moved as one is."""
    if isinstance(node, (Repartition, SortedBlocks)):
        return node.rebuild([frame, *node.operands[1:]])
    split = node.split
    if not split.others:
        return node.rebuild([Split(frame, (), split.call, origin=split.origin), *node.operands[1:]])
    (boundaries,) = split.others if len(split.others) == 1 else (None,)
    if (
        not isinstance(boundaries, TreeReduce)
        or boundaries.title != "boundaries"
        or not isinstance(node, SortedExchange)
    ):
        return None
    return sort(frame, node.sorting, node.count) if node.found_divisions is None else None
