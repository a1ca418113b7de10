"""The rewrite of ``groupby(...).cumsum()["x"]``, ``median()["x"]`` and others for which rows move or are scanned: only what is wanted does.

What is made of groups column by column notes how it is made of fewer columns: that is done when a plan is simplified.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.dataframe.call import BlockCall
from glassloom.dataframe.column_nodes import are_some, of_needed
from glassloom.dataframe.derived_meta import names_of
from glassloom.dataframe.grouping.recipe import BLOCK, COLUMN
from glassloom.dataframe.grouping.rows import BesideAll, first_rows, kept_first, values_of_groups
from glassloom.dataframe.grouping.wholes import Grouping, OfBlock, OfRows, Returned
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.reduction_nodes import TreeReduce
from glassloom.dataframe.wrap import wrap
from glassloom.expr import Expr, rule


def column_by_column(groups: Any, way: str, *args: Any, **kwargs: Any) -> Any:
    """Return what a method of a `GroupBy`, by name, makes of each column by itself, noting how it is made of fewer."""
    made = getattr(groups, way)(*args, **kwargs)
    selection = groups._recipe.selection
    if not groups._is_series and (selection is None or isinstance(selection, list)):
        same = groups._with()
        same._frame = wrap(groups._frame.expr)  # the user's may get other columns
        made.expr.narrowed = partial(_of_fewer, same, way, args, kwargs)
    return made


def _of_fewer(groups: Any, way: str, args: tuple[Any, ...], kwargs: dict[str, Any], columns: list[Any]) -> FrameExpr:
    made: FrameExpr = getattr(groups._with(selection=columns), way)(*args, **kwargs).expr
    return made


@rule(Projection, OfBlock, unshared=True)
@rule(Projection, OfRows, unshared=True)
@rule(Projection, Returned, unshared=True)
@rule(Projection, TreeReduce, unshared=True)
def group_needed_columns(node: Projection, inner: FrameExpr) -> Expr | None:
    """Leave out columns of groups before rows move, if each is treated by itself."""
    if inner.narrowed is None or not are_some(node.labels, inner):
        return None
    kept = [name for name in names_of(inner.meta) if name in node.labels]
    if len(kept) == len(names_of(inner.meta)):
        return None
    made = inner.narrowed(kept)
    return _chosen(node, inner, made, kept)


def _chosen(node: Projection, inner: FrameExpr, made: FrameExpr, kept: list[Any]) -> Expr | None:
    """Return the choice of a result of fewer columns if these are the same; None else."""
    if not are_some(kept, made):
        return None
    own, others = columns_of(inner.meta, kept), columns_of(made.meta, kept)
    if list(own.dtypes) != list(others.dtypes) or made.npartitions != inner.npartitions:
        return None
    return Projection(made, node.columns, origin=node.origin)


@rule(Projection, BesideAll)
def spread_needed_columns(node: Projection, inner: BesideAll) -> Expr | None:
    """Spread the aggregates that are wanted over the rows of the groups, of which the keys alone are needed."""
    recipe = values_of_groups(inner)
    if recipe is None or not are_some(node.labels, inner) or not are_some(node.labels, inner.others[-1]):
        return None
    if any(key.kind not in (COLUMN, BLOCK) for key in recipe.keys):
        return None
    kept = [name for name in names_of(inner.meta) if name in node.labels]
    own = recipe.key_columns or list(names_of(inner.frame.meta)[:1])
    frame = of_needed(inner.frame, own) if are_some(own, inner.frame) else None
    if frame is None and len(kept) == len(names_of(inner.meta)):
        return None
    meta, call = columns_of(inner.meta, kept), inner.call
    function = partial(call.function.func, recipe, meta)  # type: ignore[attr-defined]
    call = BlockCall(function, call.args, call.kwargs, call.label)
    others = (*inner.others[:-1], Projection(inner.others[-1], kept))
    return Projection(inner.rebuild([frame or inner.frame, others, call, meta]), node.columns, origin=node.origin)


@rule(Projection, TreeReduce, unshared=True)
def keep_first_of_needed_columns(node: Projection, inner: TreeReduce) -> Expr | None:
    """Leave columns out before the first or last rows of groups are chosen."""
    found = first_rows(inner)
    if found is None or not isinstance(inner.meta, pd.DataFrame):
        return None
    grouping, method, n, is_last_alone = found
    recipe = grouping.recipe
    if recipe.selection is not None or not are_some(node.labels, grouping.node):
        return None
    narrow = of_needed(grouping.node, {*recipe.key_columns, *node.labels})
    if narrow is None:
        return None
    kept = [name for name in names_of(inner.meta) if name in node.labels]
    chosen: Grouping = replace(grouping, node=narrow)
    return _chosen(node, inner, kept_first(chosen, method, n, is_last_alone=is_last_alone), kept)
