"""What calls of pandas' groups return: empty objects like the results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from glassloom.dataframe.first_rows import of_first_rows
from glassloom.dataframe.grouping.recipe import key_labels
from glassloom.dataframe.grouping.spec import Call, users_of
from glassloom.dataframe.grouping.wholes import Grouping
from glassloom.dataframe.lazy_closures import LazyResult, names_of_lazy
from glassloom.dataframe.meta import parse_meta
from glassloom.dataframe.nodes import empty
from glassloom.dataframe.wrap import is_node


def meta_of(grouping: Grouping, call: Callable[[Any], Any], given: Any, title: str, *, is_users: bool) -> Any:
    """Return an empty object like the result of a call.

    Parameters
    ----------
    given
        What the user says that it returns, or None.
    title
        What the call is named in errors.
    is_users
        Whether it calls a user's function.

    Raises
    ------
    MetaError
        If a user's function fails on made-up rows, and on the first rows of the data.
    """
    if given is not None:
        if is_users and names_of_lazy(users_of(call)):
            _require_at_hand(grouping, call)
        has_rows = getattr(call, "method", "") == "transform"
        made = parse_meta(given, grouping.node.meta if has_rows else None)
        says_index = isinstance(given, (pd.DataFrame, pd.Series)) or is_node(given)
        if has_rows or says_index or not isinstance(made, (pd.DataFrame, pd.Series)):
            return made
        return parse_meta(given, grouping.sampled(Call("size"), as_index=True))
    if not is_users:
        return grouping.sampled(call)
    try:
        return grouping.sampled(call, is_users=True)
    except LazyResult:
        raise
    except Exception as error:  # the user's function may raise anything
        nodes = [grouping.node, *grouping.blocks]
        how = ", an empty pandas object like the result"
        made = of_first_rows(partial(grouping.of_rows, call), nodes, error, users_of(call), what=title, how=how)
        return empty(made)


def dtype_of(meta: Any, column: Any) -> Any:
    """Return the dtype of a column; of the first one of those with this label."""
    found = meta[column]
    return found.dtype if isinstance(found, pd.Series) else found.dtypes.iloc[0]


def is_numbered(grouping: Grouping, call: Callable[[Any], Any], meta: Any) -> bool:
    """Whether a result without `as_index` has the keys as columns and rows numbered from 0."""
    if not isinstance(meta, pd.DataFrame) or not isinstance(meta.index, pd.RangeIndex):
        return False
    method = getattr(call, "method", "")
    labels = [*key_labels([key.name for key in grouping.recipe.keys]), *(_OF_LISTS if method == "quantile" else ())]
    if not any(label in meta.columns for label in labels):
        return False
    values = set(grouping.node.meta.columns).difference(grouping.recipe.key_columns)
    return method != "apply" or values.isdisjoint(labels) or not _keeps_rows(grouping, call)


_OF_LISTS = ("level_0",)
"""What pandas names a single key without a name beside a list of quantiles."""


def _keeps_rows(grouping: Grouping, call: Callable[[Any], Any]) -> bool:
    """Whether a user's function returns rows with labels of their own, below the key. False if it can't be tried on made-up rows."""
    try:
        labels = grouping.sampled(call, is_users=True, as_index=True, group_keys=True).index
    except Exception:  # the user's function may raise anything
        return False
    return bool(labels.nlevels > len(grouping.recipe.keys))


def _require_at_hand(grouping: Grouping, call: Callable[[Any], Any]) -> None:
    """Check that a function that names lazy values returns none. What else it raises for made-up rows doesn't matter."""
    try:
        grouping.sampled(call, is_users=True)
    except LazyResult:
        raise
    except Exception:  # the user's function may raise anything
        return
