"""Rows are filtered before they are joined, not after: fewer are looked up or moved, and reads can apply the conditions.

A condition on columns of one side is applied to that side; one on keys, to both. Only conditions that can't fail move, as they are
then asked of rows without a partner, too. Joined rows are numbered in each partition: so nothing moves where those numbers may be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.column_nodes import (
    Renamed,
    are_some,
    has_unknown_categories,
    is_of_values,
    is_one_value,
    is_row_by_row,
)
from glassloom.dataframe.moving.empty_sides import depends_on_rows
from glassloom.dataframe.moving.exchange import Split
from glassloom.dataframe.moving.joining import result_names
from glassloom.dataframe.moving.lookup import LookupJoin, LookupTable
from glassloom.dataframe.moving.merge import Join
from glassloom.dataframe.moving.narrowing import move_needed_columns
from glassloom.dataframe.moving.shape import Concat, Repartition
from glassloom.dataframe.moving.shuffle import HashShuffle
from glassloom.dataframe.nodes import Assign, Columnwise, Filter, FrameExpr, Projection, Relabelled, Rowwise
from glassloom.dataframe.plan import (
    consumers_of,
    filtered_region,
    rebuilt,
    with_less,
)
from glassloom.dataframe.predicates import both_hold
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.reduction_nodes import ValuesChunk
from glassloom.dataframe.widening import can_miss_nothing
from glassloom.expr import Expr, apply_rules, walk

_MOST_MOVES = 50
"""Times that filters move below a join."""
_MOST_PARTS = 50
"""Conditions of a filter that are moved."""
_DEEPEST = 50
"""Operations in each other of a condition that is moved."""
_LEFT, _RIGHT = 0, 1
_KEEP_LABELS = ("leftsemi", "leftanti")
"""Joins whose rows keep the left side's labels."""
_DECISIVE = {
    "inner": (_LEFT, _RIGHT), "cross": (_LEFT, _RIGHT), "left": (_LEFT,), "right": (_RIGHT,), "leftsemi": (_LEFT,), "leftanti": (_LEFT,),
}  # fmt: skip
"""The sides each of whose rows is left out with the joined rows that it is in: all rows of the other side of a left join stay in it."""
_OF_ANY_VALUES = frozenset(["eq", "isna", "isnull", "ne", "notna", "notnull"])
_OF_BOOLEANS = frozenset(["and_", "invert", "or_", "xor"])
_OF_ORDERED_VALUES = frozenset(["lt", "le", "gt", "ge", "between", "isin"])
_OF_NUMBERS = frozenset(["add", "sub", "mul", "truediv", "neg", "abs"])
_OF_TEXTS = frozenset(["contains", "endswith", "len", "startswith"])
_OF_TIMES = frozenset(["day", "dayofweek", "dayofyear", "hour", "minute", "month", "quarter", "weekday", "year"])


def filter_before_joining(roots: Sequence[Expr]) -> list[Expr]:
    """Filter the sides of joins if all that is made of the joined rows, row by row, ends in a filter."""
    simple = list(roots)
    for n_moved in range(_MOST_MOVES):
        new = _first_move(simple)
        if not new:
            return move_needed_columns(apply_rules(simple)) if n_moved else simple
        simple = rebuilt(simple, walk(simple), new)
    return move_needed_columns(apply_rules(simple))


def _first_move(roots: Sequence[Expr]) -> dict[str, Expr]:
    order = walk(roots)
    if not any(isinstance(node, Filter) for node in order):
        return {}
    joins = [node for node in reversed(order) if isinstance(node, (Join, LookupJoin))]  # the outermost first
    if not joins:
        return {}
    plan = _Plan(order, {root.name for root in roots})
    return next(filter(None, map(plan.filtered_before, joins)), {})


class _Plan:
    """A plan whose joins are looked at."""

    def __init__(self, order: Sequence[Expr], root_names: set[str]) -> None:
        self._order, self._root_names = order, root_names
        self._consumers = consumers_of(order)

    def filtered_before(self, join: Join | LookupJoin) -> dict[str, Expr]:
        """Return what replaces the filters of joined rows, by name; nothing if none moves."""
        users = self._consumers[join.name]
        if join.name in self._root_names or not all(isinstance(one, Filter) or is_row_by_row(one) for one in users):
            return {}
        region, parts = filtered_region([join], self._order, self._consumers, self._root_names)
        if not 0 < len(parts) <= _MOST_PARTS or not _is_of_its_sides(join) or self._may_be_seen(join):
            return {}
        sides = list(join.sides)
        done: set[str] = set()
        for place, side in enumerate(join.sides):
            condition = _OfSide(join, place, side)
            own: list[Expr] = [part for part in parts if condition.part(part) is not None]
            if place in _DECISIVE[join.joining.how]:
                done.update(part.name for part in own)
            sides[place] = self._filtered(join, place, side, own)
        return with_less(region, {join.name: join.of_sides(*sides)}, done) if done else {}

    def _filtered(self, join: Join | LookupJoin, place: int, side: FrameExpr, parts: list[Expr]) -> FrameExpr:
        """Return the rows of a side for which all parts hold, filtered before they move."""
        if not parts:
            return side
        if len(self._consumers[side.name]) == 1 and isinstance(side, (HashShuffle, Repartition)):
            frame = self._filtered(join, place, side.frame, parts)
            if isinstance(side, Repartition):
                return side.rebuild([frame, *side.operands[1:]])
            split = side.split
            return side.rebuild([Split(frame, split.others, split.call, origin=split.origin), *side.operands[1:]])
        condition = _OfSide(join, place, side)
        found = [one for one in map(condition.part, parts) if one is not None]
        return Filter(side, reduce(both_hold, found), origin=parts[0].origin)

    def _may_be_seen(self, join: Join | LookupJoin) -> bool:
        """Whether something that is made of joined rows may depend on their numbers."""
        if join.joining.how in _KEEP_LABELS:
            return False
        stack, derived, operands = [join.name], {join.name}, list[Expr]()
        while stack:
            name = stack.pop()
            if name in self._root_names:
                return True
            for user in self._consumers[name]:
                if user.name in derived:
                    continue
                if not isinstance(user, (Join, LookupJoin, Concat)):
                    operands.extend(user.dependencies)
                if _has_other_labels(user):
                    continue
                if not _passes_labels_on(user):
                    return True
                derived.add(user.name)
                stack.append(user.name)
        return any(one.name not in derived and not is_one_value(one) for one in operands)  # aligned by label


def _has_other_labels(node: Expr) -> bool:
    """Whether a node's rows have other labels than those that it is made of, whatever these are, or none."""
    if isinstance(node, (Join, LookupJoin)):
        joining = node.joining
        return not (joining.left_index or joining.right_index or joining.how in _KEEP_LABELS) and not _has_key_levels(
            node
        )
    if isinstance(node, Relabelled):
        call = node.call
        is_reset = isinstance(call.function, Method) and call.function.path == ("reset_index",)
        return is_reset and len(call.args) == 1 and call.kwargs.get("drop") is True and not node.others
    return isinstance(node, (ValuesChunk, Length, LookupTable))


def _has_key_levels(join: Join | LookupJoin) -> bool:
    """Whether keys are levels of an index."""
    keys = zip((join.joining.left_on, join.joining.right_on), join.sides, strict=True)
    return any(key not in side.meta.columns for own, side in keys for key in own or ())


def _passes_labels_on(node: Expr) -> bool:
    """Whether a node's rows have the labels of those that it is made of, and depend on them in no other way."""
    if isinstance(node, Rowwise):
        return node.keeps_rows and (isinstance(node, (Columnwise, Renamed)) or is_of_values(node))
    if isinstance(node, Split):
        keys = node.call.args[1] if node.call.label == "split-by-hash" else ()
        return bool(keys) and are_some(keys, node.frame)
    return isinstance(node, (Assign, Concat, Filter, HashShuffle, Projection, Repartition))


def _is_of_its_sides(join: Join | LookupJoin) -> bool:
    """Whether a join without some rows of its sides gives the same rows and dtypes, but for those that are made of these."""
    joining, (left, right) = join.joining, join.sides
    is_plain = not (
        joining.left_index or joining.right_index or joining.indicator or joining.united_keys or joining.whole
    )
    if joining.how not in _DECISIVE or not is_plain or joining.validate is not None:
        return False
    if isinstance(join, Join) and joining.how == "inner" and PANDAS_VERSION < (3, 1):
        return False  # in which order rows of equal keys come depends on all rows
    if not are_some(joining.left_on or (), left) or not are_some(joining.right_on or (), right):
        return False
    if has_unknown_categories(join.meta):
        return False  # which there are depends on all rows
    is_half = joining.how in _KEEP_LABELS
    names = list(left.meta.columns) if is_half else result_names(left.meta.columns, right.meta.columns, joining)
    if list(join.meta.columns) != names or not are_some(names, join) or depends_on_rows(left.meta, right.meta, joining):
        return False
    if is_half or joining.how not in ("left", "right"):
        return True
    other = right if joining.how == "left" else left  # whose columns are made wider if one of its rows is missing
    shared = joining.left_on or () if joining.same_keys else ()
    return not any(can_miss_nothing(dtype) for name, dtype in other.meta.dtypes.items() if name not in shared)


class _OfSide:
    """What nodes of joined rows are of the rows of one side; each is looked at once."""

    def __init__(self, join: Join | LookupJoin, place: int, frame: FrameExpr) -> None:
        self._join, self._place, self._frame = join, place, frame
        self._known: dict[str, FrameExpr | None] = {}

    def part(self, node: Expr, depth: int = 0) -> FrameExpr | None:
        """Return a series of the side's rows; None if it isn't of them alone, or might fail for some of them."""
        if node.name not in self._known:
            self._known[node.name] = self._found(node, depth)
        return self._known[node.name]

    def _found(self, node: Expr, depth: int) -> FrameExpr | None:
        if depth > _DEEPEST or not isinstance(node, FrameExpr):
            return None
        if is_one_value(node):
            return node
        if isinstance(node, Projection) and not isinstance(node.columns, list):
            return self._column(node, depth)
        if not isinstance(node, Rowwise):
            return None
        found: dict[str, Expr] = {}
        for below in node.dependencies:
            part = self.part(below, depth + 1)
            if part is None:
                return None
            found[below.name] = part
        return node.substitute(lambda child: found[child.name]) if _cannot_fail(node) else None

    def _column(self, node: Projection, depth: int) -> FrameExpr | None:
        frame: Any = node.frame
        label = node.columns
        while frame.name != self._join.name:
            if isinstance(frame, Renamed) and frame.has_own_labels:
                label = frame.old_label(label)
            elif isinstance(frame, Assign) and label in frame.names:
                value = frame.values[len(frame.names) - 1 - frame.names[::-1].index(label)]
                return self.part(value, depth + 1) if isinstance(value, Expr) else None
            elif not isinstance(frame, (Assign, Projection)) or not are_some([label], frame):
                return None
            frame = frame.frame
        own = self._label(label)
        made = None if own is None else Projection(self._frame, own[0], origin=node.origin)
        return made if made is not None and made.meta.dtype == node.meta.dtype else None

    def _label(self, label: Any) -> tuple[Any] | None:
        """Return the label of the side's column that has the same values as one of the join's, in a tuple."""
        joining, metas = self._join.joining, [side.meta for side in self._join.sides]
        place: Any = self._join.meta.columns.get_loc(label)
        keys = [list(joining.left_on or ()), list(joining.right_on or ())]
        n_left = len(metas[_LEFT].columns)
        decisive = _DECISIVE[joining.how]
        shared = keys[_LEFT] if joining.same_keys else []
        if place < n_left:
            origin, own = _LEFT, metas[_LEFT].columns[place]
            origin = decisive[0] if own in shared else origin
        else:
            origin, own = _RIGHT, [name for name in metas[_RIGHT].columns if name not in shared][place - n_left]
        if origin not in decisive:
            return None
        if origin == self._place:
            return (own,)
        if own not in keys[origin]:
            return None
        other = keys[self._place][keys[origin].index(own)]
        dtypes = [metas[origin][own].dtype, metas[self._place][other].dtype]
        return (other,) if dtypes[0] == dtypes[1] and _says_all(dtypes[0]) else None


def _says_all(dtype: Any) -> bool:
    """Whether values that are equal are the same: -0.0 and 0.0 aren't, nor are objects."""
    return isinstance(dtype, pd.StringDtype) or (isinstance(dtype, np.dtype) and dtype.kind in "iubMm")


def _cannot_fail(node: Rowwise) -> bool:
    """Whether an operation that is computed row by row gives a result for whichever values of its operands' dtypes."""
    if not is_row_by_row(node) or not node.keeps_rows:
        return False
    function, dtypes = node.call.function, [one.meta.dtype for one in node.operand_nodes if one.has_rows]
    if isinstance(function, (Method, Attribute)) and function.path[0] in ("str", "dt"):
        are_texts = all(isinstance(dtype, pd.StringDtype) for dtype in dtypes)
        are_times = all(getattr(dtype, "kind", "") == "M" and not isinstance(dtype, pd.ArrowDtype) for dtype in dtypes)
        allowed = _OF_TEXTS if function.path[0] == "str" and are_texts else _OF_TIMES if are_times else frozenset()
        return function.path[-1] in allowed
    name = function.path[-1] if isinstance(function, (Method, Attribute)) else getattr(function, "__name__", "")
    if name in _OF_ANY_VALUES:
        return True
    if name in _OF_BOOLEANS:
        return all(getattr(dtype, "kind", "O") == "b" for dtype in dtypes)
    if name in _OF_ORDERED_VALUES:
        return not any(getattr(dtype, "kind", "") == "O" for dtype in dtypes if isinstance(dtype, np.dtype))
    return name in _OF_NUMBERS and all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes)
