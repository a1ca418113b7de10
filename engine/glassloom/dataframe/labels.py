"""Labels made of other labels, one by one, and ``index.str``."""

from __future__ import annotations

from functools import wraps as wraps_method
from typing import Any

import pandas as pd

from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.nodes import Rowwise
from glassloom.dataframe.wrap import operate, wrap

_NUMBERED = ("extract", "extractall")
"""Methods of texts of which pandas makes a frame of an index, too."""


class Labels(Rowwise):
    """Labels computed from other labels, one by one: where partitions begin isn't known of them."""

    aligns_labels = False

    @property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)

    @property
    def has_unique_labels(self) -> bool:
        return False


class MappedLabels(Labels):
    """Labels that a user's function makes of labels; what it makes was given or tried out."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class TextsOfLabels:
    """``index.str``: what the methods of series' text make, as labels where pandas has them of an index."""

    __iter__ = None  # by positions it would never end

    def __init__(self, index: Any) -> None:
        self._index = index
        self._texts = index.to_series().str
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
