"""The first rows of the data: on these a user's function is tried that fails on made-up ones. No function is tried on other rows here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.backends.made_up_categories import with_categories_as_made_up
from glassloom.backends.pandas_ import guarded, is_frame, rows_between
from glassloom.collection import Collection, compute
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.lazy_closures import LazyResult, failed_on_samples, lazy_hint, require_at_hand_values
from glassloom.dataframe.made_up_objects import of_made_up_objects
from glassloom.dataframe.nodes import BlockOp, FrameExpr
from glassloom.dataframe.partitions import Partitions
from glassloom.expr import lower, optimize

_ROWS = 20
_PARTITIONS = 3
"""How many partitions are looked into for rows."""

_MOST_TASKS = 8
"""Of how many tasks a partition may be made: one of what was sorted, say, may take as long as the whole computation."""


def of_first_rows(
    function: Callable[..., Any], nodes: Sequence[FrameExpr], error: Exception, users: Any, *, what: str, how: str
) -> Any:
    """Return what a function makes of the first rows of some nodes, which are computed now.

    Parameters
    ----------
    error
        What it raised for made-up rows.
    users
        The user's function, or a list or dict of such.
    what, how
        What the user has called, and how its result is described. See `failed_on_samples`.

    Raises
    ------
    MetaError
        If the function fails on these rows too, if there are none, or if they take many tasks to be made.
    """
    rows = None if lazy_hint(users) else _first_rows(nodes)
    if rows is None:
        rows = of_made_up_objects(nodes)
    if rows is None:
        raise failed_on_samples(what, error, users, how)
    try:
        made = call_users_function(function, *rows)
        require_at_hand_values(made, what, users)
    except LazyResult:
        raise
    except Exception as other:  # the user's function may raise anything
        raise failed_on_samples(what, error, users, how, other)  # noqa: B904 - it has its cause
    if _tells_nothing(made):
        raise failed_on_samples(what, error, users, how)
    return made


def _tells_nothing(made: Any) -> bool:
    """Whether values are None alone, of which others may be numbers."""
    columns = [made] if isinstance(made, pd.Series) else [made.iloc[:, at] for at in range(made.shape[1])] if isinstance(made, pd.DataFrame) else []  # fmt: skip
    return any(column.dtype == object and len(column) > 0 and bool(column.isna().all()) for column in columns)


def _first_rows(nodes: Sequence[FrameExpr]) -> list[Any] | None:
    """Return the first rows of the first partition that has some; None if no such is found in few tasks."""
    count = max(node.npartitions for node in nodes)
    if any(node.backend != "pandas" for node in nodes):
        return None
    for number in range(min(count, _PARTITIONS)):
        some = [_rows_of(node, number, count) for node in nodes]
        if not _are_quick(some):
            return None
        blocks = compute(*map(Collection, some))
        pairs = list(zip(blocks, nodes, strict=True))
        if all(len(block) for block, node in pairs if node.npartitions == count and is_frame(block)):
            return [with_categories_as_made_up(guarded(block), node.meta) for block, node in pairs]
    return None


def _rows_of(node: FrameExpr, number: int, count: int) -> FrameExpr:
    """Return the first rows of a partition; all of what has one partition beside others that have several."""
    if node.npartitions != count:
        return node
    some = Partitions(node, (number,)) if count > 1 else node
    return BlockOp(some, (), BlockCall(_first, (Block(0),), label="head")) if is_frame(node.meta) else some


def _first(block: Any) -> Any:
    return rows_between(block, None, _ROWS)


def _are_quick(nodes: Sequence[FrameExpr]) -> bool:
    graph, _ = lower(optimize(nodes, keeps_blocks=False))
    return len(graph) <= _MOST_TASKS
