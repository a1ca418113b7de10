"""The rewrite of ``groupby(...).mean()["x"]``: only what is wanted of the groups is aggregated, and only that is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.dataframe.call import BlockCall
from glassloom.dataframe.column_nodes import are_some
from glassloom.dataframe.derived_meta import names_of
from glassloom.dataframe.grouping.recipe import COLUMN
from glassloom.dataframe.grouping.tree import Aggregation, chunk, combine, finish
from glassloom.dataframe.grouping.wider import NoRows
from glassloom.dataframe.nodes import Projection
from glassloom.dataframe.reduction_nodes import RowsChunk, TreeReduce, TreeSteps
from glassloom.expr import Expr, rule


@rule(Projection, TreeReduce, unshared=True)
def aggregate_needed_columns(node: Projection, reduced: TreeReduce) -> Expr | None:
    """Return the aggregation without the columns of its result that aren't chosen; None of other reductions, or if all are."""
    own, last = reduced.source, reduced.steps.finish
    if not isinstance(last, partial) or last.func is not finish or not are_some(node.labels, reduced):
        return None
    plan, meta, run = last.args
    is_of_frame = isinstance(own, RowsChunk) and are_some([], own.frame)
    if not is_of_frame or len(names_of(meta)) != len(plan.wanted) or plan.blocks is not None or plan.of_aggregates:
        return None
    assert isinstance(own, RowsChunk)
    if not isinstance(own.call.function, partial) or own.call.function.func is not chunk:
        return None
    kept = [place for place, name in enumerate(names_of(meta)) if name in node.labels]
    if len(kept) == len(plan.wanted):
        return None
    narrow, names = _narrowed(plan, kept), [names_of(meta)[place] for place in kept]
    call = BlockCall(partial(chunk, narrow), own.call.args, own.call.kwargs, own.call.label)
    columns = [key.at for key in plan.recipe.keys if key.kind == COLUMN] + list(narrow.values)
    source = own.rebuild([_chosen(own.frame, columns), own.others, call])
    finished = partial(finish, narrow, columns_of(meta, names), partial(_some_of, run, names))
    steps = TreeSteps(partial(combine, narrow), finished, columns_of(meta, names))
    made = TreeReduce(source, steps, reduced.split_every, reduced.title, origin=reduced.origin)
    return Projection(made, node.columns, origin=node.origin)


def _narrowed(plan: Aggregation, kept: list[int]) -> Aggregation:
    """Return an aggregation of which some of the wanted columns are left, of the values that these are made of."""
    wanted = [plan.wanted[place] for place in kept]
    values = list(dict.fromkeys(one.place for one in wanted if one.place >= 0))
    moved = [replace(one, place=values.index(one.place)) if one.place >= 0 else one for one in wanted]
    return replace(plan, values=tuple(plan.values[place] for place in values), wanted=tuple(moved))


def _chosen(frame: Any, columns: list[Any]) -> Any:
    names = names_of(frame.meta)
    needed = [name for name in names if name in columns] or list(names[:1])  # which brings the rows
    return frame if len(needed) == len(names) else Projection(frame, needed)


def _some_of(run: Callable[..., pd.DataFrame], names: list[Any], said: NoRows | None = None) -> pd.DataFrame:
    return run(said)[names]
