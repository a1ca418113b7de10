"""The rewrite of ``groupby([...]).agg(...).reset_index()``: the keys become columns without having been an index."""

from __future__ import annotations

from functools import partial

from glassloom.dataframe.call import BlockCall, Method
from glassloom.dataframe.grouping.tree import Aggregation, finish, finish_as_columns
from glassloom.dataframe.nodes import Relabelled
from glassloom.dataframe.reduction_nodes import TreeReduce, TreeSteps
from glassloom.expr import Expr, rule


@rule(Relabelled, TreeReduce, unshared=True)
def keep_keys_as_columns(node: Relabelled, reduced: TreeReduce) -> Expr | None:
    """Return the aggregation by several keys with these as columns; None if the index is needed, or something else is reduced."""
    last = reduced.steps.finish
    if not isinstance(last, partial) or last.func is not finish or not makes_columns(node.call):
        return None
    plan, meta, run = last.args
    assert isinstance(plan, Aggregation)
    n_columns = meta.shape[1] if meta.ndim == 2 else 1
    if len(plan.recipe.keys) == 1 or len(node.meta.columns) != len(plan.recipe.keys) + n_columns:
        return None
    finished = partial(finish_as_columns, plan, meta, run, node.call, node.meta.columns)
    steps = TreeSteps(reduced.steps.combine, finished, node.meta)
    return TreeReduce(reduced.source, steps, reduced.split_every, reduced.title, origin=node.origin)


def makes_columns(call: BlockCall) -> bool:
    function, options = call.function, call.kwargs
    is_reset = isinstance(function, Method) and function.path == ("reset_index",) and len(call.args) == 1
    return is_reset and options.get("level") is None and not options.get("drop")
