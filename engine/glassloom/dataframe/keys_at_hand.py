"""Keys of subscripts: lazy values in them are computed now, as the plan depends on which rows and columns are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.collection import Collection, compute
from glassloom.dataframe.wrap import is_node


def key_at_hand(key: Any) -> Any:
    """Return a key with the lazy scalars in it computed, together: one, the ends of slices, and those in lists and tuples.

    Lazy objects that have rows stay as they are. Labels in an array or a series at hand become a list, an array of no
    axis the value in it.
    """
    if type(key) is tuple:
        key = tuple(map(_listed, key))
    key = _listed(key)
    if isinstance(key, (str, int, float)) or not (found := _scalars_in(key)):
        return key
    values = dict(zip(map(id, found), compute(*found, traverse=False), strict=True))
    return _with_values(key, values)


def is_lazy_scalar(value: Any) -> bool:
    """Whether a value is a lazy one that has no rows."""
    if not is_node(value) or value.expr.has_rows:
        return False
    return not isinstance(
        value.expr.meta, (np.ndarray, pd.api.extensions.ExtensionArray)
    )  # such as a comparison of labels makes: a value for each


def _listed(key: Any) -> Any:
    if isinstance(key, np.ndarray) and not key.ndim:
        return key[()]
    is_array = isinstance(key, (pd.Series, np.ndarray, pd.api.extensions.ExtensionArray)) and key.ndim == 1
    return list(pd.Index(key)) if is_array and not are_booleans(key) else key


def are_booleans(values: Any) -> bool:
    """Whether an array, series or index at hand is of booleans, which may be objects, and missing ones among these."""
    if values.dtype == object:
        return values.ndim == 1 and pd.api.types.infer_dtype(values, skipna=True) == "boolean"
    return bool(pd.api.types.is_bool_dtype(values.dtype))


def _scalars_in(key: Any) -> list[Any]:
    if isinstance(key, Collection):
        return [key] if is_lazy_scalar(key) else []
    if isinstance(key, slice):
        return _scalars_in([key.start, key.stop, key.step])
    if type(key) in (list, tuple):
        return [one for part in key for one in _scalars_in(part)]
    return []


def _with_values(key: Any, values: dict[int, Any]) -> Any:
    if id(key) in values:
        return values[id(key)]
    if isinstance(key, slice):
        return slice(*(_with_values(one, values) for one in (key.start, key.stop, key.step)))
    if type(key) in (list, tuple):
        return type(key)(_with_values(one, values) for one in key)
    return key
