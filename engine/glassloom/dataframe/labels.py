"""What is made of labels by place, and ``index.str``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps as wraps_method
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Method
from glassloom.dataframe.label_nodes import Labels
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.wrap import operate, wrap

_NUMBERED = ("extract", "extractall")
"""Methods of texts of which pandas makes a frame of an index, too."""

METHODS_OF_CATEGORIES = frozenset([
    "add_categories", "as_ordered", "as_unordered", "remove_categories", "remove_unused_categories", "rename_categories",
    "reorder_categories", "set_categories",
])  # fmt: skip
"""Methods of labels that are categories."""


def values_by_place(index: Any) -> Any:
    """Return labels as a series that corresponds row by row to what the index is of, whatever the labels."""
    return operate(Method("to_series"), index)


class TextsOfLabels:
    """``index.str``: what the methods of series' text make, as labels where pandas has them of an index."""

    __iter__ = None  # by positions it would never end

    def __init__(self, index: Any) -> None:
        self._index = index
        self._texts = values_by_place(index).str
        self._infers = isinstance(index._meta, pd.CategoricalIndex)

    def __dir__(self) -> list[str]:
        return dir(self._texts)

    def __getitem__(self, key: Any) -> Any:
        return _as_labels(self._texts[key], self._infers)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._texts, name)
        if name in _NUMBERED:  # pandas has a frame of their results, whose rows are numbered
            found = getattr(wrap(renumber(self._index.to_series().expr)).str, name)

        @wraps_method(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            made = found(*args, **kwargs)
            if isinstance(made.expr.meta, pd.DataFrame) and name in _NUMBERED:
                if name == "extract" and not kwargs.get("expand", True):
                    raise ValueError("only one regex group is supported with Index; leave expand=False out for a frame")
                return made
            return _as_labels(made, self._infers)

        return method if callable(found) else found


class CategoriesOfLabels:
    """``index.cat``: what the methods of series' categories make, as labels."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._series = values_by_place(index)

    def __dir__(self) -> list[str]:
        return ["known", "as_known", "as_unknown", "categories", "codes", "ordered", *METHODS_OF_CATEGORIES]

    @property
    def known(self) -> bool:
        """Whether the categories are known without computing."""
        return bool(self._series.cat.known)

    @property
    def codes(self) -> Any:
        """The places of labels among the categories, as a lazy array."""
        return self._index.codes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._series.cat, name)
        if not callable(found):
            return found

        @wraps_method(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            made = found(*args, **kwargs)
            return self._index if made is self._series else _as_labels(made, False)

        return method


def _as_labels(made: Any, infers: bool) -> Any:
    """Return a lazy series as an index; booleans, of which pandas makes an array, as they are.

    Parameters
    ----------
    infers
        Whether objects become of the dtype that pandas finds for them, as those made of categories.
    """
    meta = made.expr.meta
    if isinstance(meta, pd.DataFrame):
        names = list(meta.columns) if any(isinstance(name, str) for name in meta.columns) else None
        return operate(_columns_as_levels, made, names, kind=Labels, label="labels")
    if not isinstance(meta, pd.Series) or pd.api.types.is_bool_dtype(meta.dtype):
        return made
    return operate(values_as_labels, made, infers and meta.dtype == object, kind=Labels, label="labels")


def _columns_as_levels(block: Any, names: Any) -> Any:
    columns = [block.iloc[:, place] for place in range(block.shape[1])]
    if len(columns) == 1:
        return pd.Index(columns[0].rename(None if names is None else names[0]))
    return pd.MultiIndex.from_arrays(columns, names=names or [None] * len(columns))


def values_as_labels(block: Any, infers: bool) -> Any:
    """Return the values of a series as an index; `infers`: of the dtype that pandas finds for them."""
    return pd.Index(block.to_numpy() if infers else block.array, dtype=None if infers else block.dtype, name=block.name)


def labels_where(as_list: bool, index: Any, cond: Any, *other: Any) -> Any:
    """Return labels where a condition holds. `as_list`: the others are as a list, of which pandas before 3.1 keeps each one's type."""
    values = (one.array if isinstance(one, pd.Series) else one for one in other)
    if as_list and not isinstance(index.dtype, pd.StringDtype):  # which refuses lists
        values = (list(one) for one in values)
    return index.where(np.asarray(cond), *values)


def are_of_two_zones(one: Any, other: Any) -> bool:
    """Whether two indexes are of times of different time zones."""
    dtypes = [one.dtype, getattr(other, "dtype", None)]
    return all(isinstance(dtype, pd.DatetimeTZDtype) for dtype in dtypes) and str(dtypes[0].tz) != str(dtypes[1].tz)


def beside_labels(function: Callable[[Any, Any], Any], keeps_name: bool, index: Any, values: Any) -> Any:
    made = function(index, values.to_numpy() if isinstance(values.dtype, np.dtype) else values.array)
    return made if keeps_name or not isinstance(made, pd.Index) else made.rename(None)


def mapped_labels(index: Any, mapper: Any, na_action: Any, *, like: Any = None) -> Any:
    """Return an index mapped; without labels pandas can't know what becomes of them."""
    if like is not None and isinstance(index, pd.Index) and not len(index):
        return like
    return index.map(mapper, na_action=na_action)


mapped_labels.calls_methods = True  # type: ignore[attr-defined]  # see `BlockCall.calls_methods`
