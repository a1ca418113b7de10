"""Tables in which pandas looks labels up: before pandas 3.1 a thread finds a part of one that another thread is making, without an error.

A task is handed what others read, too, with labels of its own (`with_own_labels`), whose table it alone makes. What many
tasks look labels up in has one table, which is made while no other thread looks (`ready_to_look_up`). Classes whose objects
hold what is read so say where (`holds_frames`).
"""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import pandas as pd

from glassloom.backends.pandas_version import LOOKS_UP_SAFELY
from glassloom.backends.sharing import read_only_view, register_read_only_view

_Kind = TypeVar("_Kind")

OF_RESULT = "_of_result"
"""The attribute of a task's own labels that are a result's: that result's labels, which all tasks that read it have."""
_MOST_ITEMS = 100
_making_tables = threading.Lock()


def _renew_lock() -> None:
    global _making_tables
    _making_tables = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_renew_lock)


def with_own_labels(value: Any) -> Any:
    """Return a shallow copy of a frame, series or index, with labels that have no table yet."""
    if isinstance(value, pd.Index):
        return _own(value)
    made = value.copy(deep=False)
    for mine, other in zip(made._mgr.arrays, value._mgr.arrays, strict=True):
        if hasattr(other, "_pa_array"):  # pandas 3.0 makes a view of it, and codes of text are found by the very array
            mine._pa_array = other._pa_array
    made.index = _own(value.index)
    if isinstance(value, pd.DataFrame):
        made.columns = _own(value.columns)
    for dtype in value.dtypes if isinstance(value, pd.DataFrame) else [value.dtype]:
        _make_table_of_categories(dtype)
    return made


def holds_frames(*names: str) -> Callable[[type[_Kind]], type[_Kind]]:
    """Declare the attributes of a class that hold frames, series or labels: tasks are handed these, too, with labels of their own."""

    def declared(kind: type[_Kind]) -> type[_Kind]:
        if not LOOKS_UP_SAFELY:
            register_read_only_view(kind)(partial(_with_own_parts, names))
        return kind

    return declared


def _with_own_parts(names: tuple[str, ...], value: Any) -> Any:
    parts = {name: read_only_view(getattr(value, name)) for name in names}
    if isinstance(value, tuple):  # a named one
        return value._replace(**parts)  # type: ignore[attr-defined]
    own = copy.copy(value)
    for name, part in parts.items():
        object.__setattr__(own, name, part)  # it may be frozen
    return own


def _own(labels: Any) -> Any:
    if isinstance(labels, pd.RangeIndex):
        return labels
    if isinstance(labels, pd.MultiIndex):
        kept: Any = labels
        levels = [_own(level) for level in kept.levels]
        own: Any = pd.MultiIndex(levels, kept.codes, kept.sortorder, kept.names, verify_integrity=False)
    else:
        own = labels[:]
        _make_table_of_categories(labels.dtype)
    setattr(own, OF_RESULT, labels)
    return own


def ready_to_look_up(args: Iterable[Any]) -> None:
    """Make the tables in which labels are looked up, of those arguments of a call that others may use at the same time.

    These are all of pandas' objects but the first, which is the call's own partition, and those with its labels.
    """
    found: list[Any] = list(_of_pandas(args))
    first = next((labels for labels in found if isinstance(labels, pd.Index)), None)
    for one in found:
        if not isinstance(one, pd.Index):
            _make_table_of_categories(one)
        elif one is not first:
            _make_table_of_all(one)


def _make_table_of_all(labels: Any) -> None:
    """Make the table of labels, which those of the same result have, too."""
    of_result = getattr(labels, OF_RESULT, None)
    if of_result is None:
        _make_table(labels)
    else:
        _make_table(of_result)
        labels._cache["_engine"] = of_result._engine


def _of_pandas(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the labels of pandas' objects, and dtypes of categories, among values and in short collections of them."""
    for value in values:
        if isinstance(value, pd.Index):
            yield value
        elif isinstance(value, (pd.DataFrame, pd.Series)):
            yield value.index
        elif isinstance(value, pd.CategoricalDtype):
            yield value
        elif type(value) in (dict, list, tuple) and len(value) <= _MOST_ITEMS:
            yield from _of_pandas(value.values() if type(value) is dict else value)


def _make_table_of_categories(dtype: Any) -> None:
    if isinstance(dtype, pd.CategoricalDtype) and dtype.categories is not None:
        _make_table(dtype.categories)


def _make_table(labels: pd.Index) -> None:
    if isinstance(labels, pd.RangeIndex):
        return
    for level in labels.levels if isinstance(labels, pd.MultiIndex) else ():
        _make_table(level)
    _make_table_of_categories(labels.dtype)
    with _making_tables, contextlib.suppress(TypeError):  # of labels that can't be hashed there is no table
        if labels.is_unique and len(labels):  # which may be known without one
            labels.get_indexer(labels[:1])
