"""Look-up of columns by name, and the error for a column that doesn't exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.errors import UnknownColumn

_SHOWN = 20


def unknown_columns(unknown: Iterable[Any], known: Iterable[Any]) -> UnknownColumn:
    """Return the error for columns that a frame doesn't have.

    >>> str(unknown_columns(["nmae"], ["id", "name"]))
    "no column 'nmae': did you mean 'name'? The columns are 'id', 'name'"
    """
    wrong, right = list(unknown), list(known)
    names = ", ".join(map(repr, wrong))
    text = f"no column{'s' if len(wrong) > 1 else ''} {names}"
    close = [match for name in wrong for match in difflib.get_close_matches(str(name), map(str, right), 1)]
    hint = f": did you mean {', '.join(map(repr, close))}?" if close else "."
    return UnknownColumn(f"{text}{hint} The columns are {_listed(right)}")


def _listed(names: Iterable[Any]) -> str:
    known = list(names)
    shown = ", ".join(map(repr, known[:_SHOWN])) + (f"... ({len(known)} in all)" if len(known) > _SHOWN else "")
    return shown or "none"


def require_columns(names: Iterable[Any], frame: Any) -> None:
    """Check that a frame has the columns.

    Raises
    ------
    UnknownColumn
        If it lacks one.
    """
    names = list(names)
    for name in names:
        if not pd.api.types.is_hashable(name):
            raise TypeError(
                f"a {type(name).__name__} is no name of a column: {name!r}; give a name, or a list of them. "
                f"The columns are {_listed(frame.columns)}"
            )
        if name is pd.NA and frame.columns.dtype == object:
            raise NotImplementedError(
                "a column labelled pd.NA can't be chosen: that isn't equal to itself; rename it before, as frame.columns = [...]"
            )
    unknown = [name for name in names if name not in frame.columns]
    if unknown and not all([_is_found(name, frame.columns) for name in unknown]):
        raise unknown_columns(unknown, frame.columns)


def _is_found(name: Any, columns: pd.Index) -> bool:
    """Whether a list of a name chooses a column, of several levels, though it isn't among them by itself: as one of which a part is missing."""
    if not isinstance(columns, pd.MultiIndex) or not isinstance(name, tuple) or len(name) != columns.nlevels:
        return False
    return bool((columns.get_indexer_for(pd.MultiIndex.from_tuples([name])) >= 0).any())


def are_told_apart(columns: pd.Index) -> bool:
    """Whether labels of columns are found among others: NaN of floats is another object each time, and `pd.NA` isn't compared."""
    if isinstance(columns, pd.MultiIndex) or not columns.hasnans:
        return True
    return columns.dtype.kind != "f" and not any(label is pd.NA for label in columns)


def listed_names(columns: Any, meta: Any) -> Any:
    """Return a tuple of names as a list, which `loc` takes it for, unless it is a name itself, or of columns of several levels."""
    if type(columns) is not tuple or not isinstance(meta, pd.DataFrame) or meta.columns.nlevels > 1:
        return columns
    is_name = all(map(pd.api.types.is_hashable, columns)) and columns in meta.columns
    return columns if is_name else list(columns)


def are_keys_of_levels(columns: Any) -> bool:
    """Whether columns of several levels are chosen by a tuple that has a slice or list for one of them."""
    return isinstance(columns, tuple) and any(isinstance(one, (slice, list)) for one in columns)


def require_distinct(method: str, meta: Any) -> None:
    """Check that columns can be told apart.

    Raises
    ------
    NotImplementedError
        If two have one name.
    """
    if not meta.columns.is_unique:
        twice = list(dict.fromkeys(meta.columns[meta.columns.duplicated()]))
        raise NotImplementedError(
            f"{method} of a frame with equal names of columns ({twice!r}): rename them before, as frame.columns = [...]"
        )


def require_some_columns(method: str, subset: Any) -> None:
    """Check that columns to compare rows by, if they are given, aren't none.

    Raises
    ------
    ValueError
        If they are.
    """
    if isinstance(subset, (list, tuple, np.ndarray, pd.Index)) and not len(subset):
        raise ValueError(
            f"{method}(subset={subset!r}): it names no columns to compare rows by; leave it out to compare all"
        )


def some_columns(method: str, subset: Any, meta: Any) -> tuple[Any, ...]:
    """Return the names of the columns to compare rows by, which may be in any list-like; a tuple that is a name is one.

    Raises
    ------
    ValueError
        If they are none.
    UnknownColumn
        If the frame lacks one.
    """
    require_some_columns(method, subset)
    is_one = not pd.api.types.is_list_like(subset) or (isinstance(subset, tuple) and subset in meta.columns)
    names = (subset,) if is_one else tuple(subset)
    require_columns(names, meta)
    return names


def unused_name(columns: Any) -> str:
    """Return the name of a temporary column that is none of `columns`."""
    name = "_key"
    while name in columns:
        name += "_"
    return name


def has_known_categories(series: Any) -> bool:
    """Whether a series isn't categorical, or its categories are known."""
    return not isinstance(series.dtype, pd.CategoricalDtype) or len(series.dtype.categories) > 0
