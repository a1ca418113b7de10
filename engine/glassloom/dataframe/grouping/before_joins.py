"""Rows of the right side of a join that are aggregated before it, if all that is wanted of them is an aggregation of the result.

``customers.merge(orders, how="left").groupby("customer").order.count()`` needs the number of each customer's orders, not the orders:
so these are counted by the key of the join, and the counts, of which there are fewer, are joined and added up. W. P. Yan and P.-Å.
Larson, "Eager aggregation and lazy aggregation" (VLDB 1995), where it is eager group-by of one side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.dataframe.call import BlockCall
from glassloom.dataframe.grouping.recipe import COLUMN, Key, Recipe
from glassloom.dataframe.grouping.tree import Aggregation, chunk, combine, finish
from glassloom.dataframe.grouping.wanted import Wanted
from glassloom.dataframe.moving.lookup import LookupJoin
from glassloom.dataframe.moving.size import size_of
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.plan import rebuilt
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import Chunk, ValuesChunk
from glassloom.expr import Expr, walk

_TIMES_AS_LONG = 2
"""The right side has likely so many times as many rows as the left one at least: then its keys occur several times, or aren't all there."""


def aggregate_before_joins(roots: Sequence[Expr]) -> list[Expr]:
    """Aggregate the right rows of left joins by the keys of the join, if nothing else is made of the joined rows."""
    simple = list(roots)
    while new := _aggregated_before(simple):  # each time the next ones below
        simple = rebuilt(simple, walk(simple), new)
    return simple


def _aggregated_before(roots: Sequence[Expr]) -> dict[str, Expr]:
    order = walk(roots)
    uses = Counter(one.name for node in order for one in node.dependencies) + Counter(root.name for root in roots)
    new: dict[str, Expr] = {}
    for node in order:
        plan = _plan_of(node) if isinstance(node, Chunk) else None
        if plan is None:
            continue
        assert isinstance(node, Chunk)
        chosen = node.frame if isinstance(node.frame, Projection) else None
        join = node.frame if chosen is None else chosen.frame
        if isinstance(join, LookupJoin) and uses[node.frame.name] == uses[join.name] == 1:
            made = _with_aggregates(node, plan, join)
            if made is not None:
                new[node.name] = made
    return new


def _with_aggregates(node: Chunk, plan: Aggregation, join: LookupJoin) -> Expr | None:
    """Return the first step of an aggregation of joined rows as that of joined aggregates; None if it needs the rows."""
    left, right = join.sides
    if not _needs_only_aggregates(plan, join) or not _has_many_rows(left, right):
        return None
    joined: FrameExpr = join.of_sides(left, _aggregated(right, join.joining.right_on or (), plan, node.origin))
    if isinstance(node.frame, Projection):
        joined = Projection(joined, node.frame.columns, origin=node.frame.origin)
    again = BlockCall(partial(chunk, replace(plan, of_aggregates=True)), node.call.args, label=node.call.label)
    return node.rebuild([joined, node.others, again])


def _plan_of(node: Chunk) -> Aggregation | None:
    """Return what is aggregated of whole rows by columns of theirs; None if that is nothing of the kind."""
    function = node.call.function
    if node.others or not isinstance(function, partial) or function.func is not chunk:
        return None
    (plan,) = function.args
    return None if plan.of_aggregates or any(key.kind != COLUMN for key in plan.recipe.keys) else plan


def _needs_only_aggregates(plan: Aggregation, join: LookupJoin) -> bool:
    """Whether the groups are those of the left side's rows, and what is wanted are counts of the right one's columns."""
    joining = join.joining
    if joining.how != "left" or not join.finds_right or not plan.wanted:
        return False
    left, right = (side.meta.columns for side in join.sides)
    shared = joining.right_on if joining.same_keys else ()
    if set(left) & set(right) - set(shared or ()):
        return False  # they have got suffixes
    values = [plan.values[one.place] for one in plan.wanted if one.place >= 0]
    return (
        len(values) == len(plan.wanted)
        and all(one == Wanted(one.place, "count", is_float=one.is_float) for one in plan.wanted)
        and all(key.at in left for key in plan.recipe.keys)
        and all(name in right and name not in (joining.right_on or ()) for name in values)
    )


def _has_many_rows(left: FrameExpr, right: FrameExpr) -> bool:
    sizes = size_of(left), size_of(right)
    if sizes[0] is None or sizes[1] is None:
        return False
    return sizes[1].likely_rows >= _TIMES_AS_LONG * sizes[0].likely_rows


def _aggregated(frame: FrameExpr, keys: tuple[Any, ...], plan: Aggregation, origin: Any) -> FrameExpr:
    """Return the node of what is wanted of the rows of each key, missing keys too, as a frame with the keys as columns."""
    columns = tuple(dict.fromkeys(plan.values[one.place] for one in plan.wanted))
    recipe = Recipe(
        keys=tuple(Key(COLUMN, name, name) for name in keys),
        is_single=len(keys) == 1,
        dropna=False,
        sort=False,
        observed=True,
        as_index=True,
        group_keys=True,
        selection=list(columns),
        arrow=plan.recipe.arrow,
    )
    own = Aggregation(recipe, columns, tuple(Wanted(place, "count") for place in range(len(columns))))
    meta = pd.concat(
        [columns_of(frame.meta, list(keys)), columns_of(frame.meta, list(columns)).astype("int64")], axis=1
    )
    steps = Operation(partial(chunk, own), partial(combine, own), partial(_finished, own, meta))
    chosen = Projection(frame, [*keys, *columns], origin=origin)
    return tree(chosen, steps, meta, "groupby-agg", origin=origin, chunk_type=ValuesChunk)


def _finished(plan: Aggregation, meta: Any, partials: Any) -> Any:
    values = columns_of(meta, list(plan.values))
    made = finish(plan, values, lambda _: values, partials)
    if not len(made):
        return meta
    return made.reset_index().set_axis(meta.columns, axis=1).astype(meta.dtypes.to_dict())
