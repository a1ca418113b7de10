"""Metas describe results before they are computed: given by the user, or inferred from a sample; checked at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.backends.byte_order import with_native_bytes
from glassloom.backends.frames import kind_on_device
from glassloom.backends.pandas_ import guarded, is_frame
from glassloom.collection import Collection
from glassloom.dataframe.call import BlockCall
from glassloom.dataframe.first_rows import of_first_rows
from glassloom.dataframe.lazy_closures import (
    LazyResult,
    failed_on_samples,
    of_samples_at_hand,
    require_at_hand_values,
)
from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.errors import MetaError

_HOW = (
    "an empty pandas object like the result, {'column': dtype, ...} or [('column', dtype), ...] for a frame, "
    "or ('name', dtype) for a series"
)


def parse_meta(meta: Any, like: Any = None) -> Any:
    """Return the empty object that a user's `meta` stands for. If it says names and dtypes alone, its index is that of `like`.

    Raises
    ------
    MetaError
        If it can't be understood.

    >>> parse_meta({"x": "int64"}).dtypes.to_dict()
    {'x': dtype('int64')}
    """
    return with_native_bytes(_parsed(meta, like))


def _parsed(meta: Any, like: Any) -> Any:
    if is_frame(meta):
        return guarded(empty(meta))
    if isinstance(meta, Collection) and isinstance(meta.expr, FrameExpr):
        return meta.expr.meta
    index = like.index[:0] if isinstance(like, (pd.DataFrame, pd.Series)) else None
    try:
        if isinstance(meta, dict):
            return pd.DataFrame(
                {name: pd.Series([], dtype=dtype, index=index) for name, dtype in meta.items()}, index=index
            )
        if isinstance(meta, tuple) and len(meta) == 2 and not isinstance(meta[0], tuple):
            return pd.Series([], name=meta[0], dtype=meta[1], index=index)
        if isinstance(meta, (list, tuple)):
            return _parsed(dict(meta), like)
        return pd.Series([], dtype=meta, index=index)
    except (TypeError, ValueError) as error:
        raise MetaError(f"meta={meta!r} can't be understood; give {_HOW}") from error


def infer_meta(call: BlockCall, nodes: Sequence[FrameExpr], method: str, *, is_users: bool = True) -> Any:
    """Return the result of the call for synthetic samples of its operands: an empty object, or a scalar. See `tried_on_samples`."""
    return with_native_bytes(empty(tried_on_samples(call, nodes, method, is_users=is_users)))


def tried_on_samples(call: BlockCall, nodes: Sequence[FrameExpr], method: str, *, is_users: bool = True) -> Any:
    """Return the result of the call for synthetic samples of its operands, or if a user's function fails on these for their first rows.

    Raises
    ------
    MetaError
        If the function fails on both.
    """
    users = [call.function, *call.args, call.kwargs]
    try:
        return of_samples_at_hand(call, *[node.meta for node in nodes], who=method, users=users)
    except LazyResult:
        raise
    except Exception as error:  # the user's function may raise anything
        what, how = f"{method}({call.label})", f": {_HOW}"
        if is_users:
            return of_first_rows(call, nodes, error, users, what=what, how=how)
        raise failed_on_samples(what, error, users, how)  # noqa: B904 - it has its cause


def checked(result: Any, meta: Any, who: str) -> Any:
    """Return the result of a user's function if it is of the kind and has the columns that `meta` says.

    A result without rows gets the dtypes of `meta`, which pandas can't know then. Numbers get the machine's order of bytes.

    Raises
    ------
    MetaError
        If not. Dtypes of rows may differ: a partition may lack the values that make a column of another dtype.
    """
    require_at_hand_values(result, who)
    expected, got = _kind(meta), _kind(result)
    if expected != got:
        raise MetaError(f"{who} returned a {type(result).__name__}, but meta says {_article(meta)}")
    if expected == "frame" and list(result.columns) != list(meta.columns):
        raise MetaError(
            f"{who} returned the columns {_names(result.columns)}, but meta says {_names(meta.columns)}"
            + (" (in this order)" if set(result.columns) == set(meta.columns) else "")
        )
    is_empty = isinstance(result, (pd.DataFrame, pd.Series)) and not len(result)
    return without_rows(meta, result.index) if is_empty else with_native_bytes(result)


def without_rows(meta: Any, index: pd.Index) -> Any:
    """Return an empty object as `meta` says, with an index of no labels."""
    made = meta.copy()
    made.index = index
    return made


def checked_call(function: Callable[..., Any], meta: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a user's function on a partition and check what it returns; a bare value becomes a series of one row."""
    result = call_users_function(function, *args, **kwargs)
    if not is_frame(result) and is_frame(meta):
        result = pd.Series([result], dtype=meta.dtype if isinstance(meta, pd.Series) else None)
    return checked(result, meta, getattr(function, "__name__", type(function).__name__))


def _kind(value: Any) -> str:
    if isinstance(value, pd.DataFrame):
        return "frame"
    if isinstance(value, pd.Series):
        return "series"
    return "index" if isinstance(value, pd.Index) else kind_on_device(value)


def _article(meta: Any) -> str:
    return f"a {type(meta).__name__}"


def _names(columns: Any) -> str:
    names = [str(name) for name in columns]
    return str(names if len(names) <= 12 else [*names[:10], "...", names[-1]])
