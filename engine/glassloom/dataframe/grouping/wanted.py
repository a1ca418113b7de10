"""Aggregations that partial results of partitions are joined for: what partitions compute, and how that becomes the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.decimals import is_decimal

AGAIN = {
    "sum": "sum", "prod": "prod", "min": "min", "max": "max", "first": "first", "last": "last", "any": "any",
    "all": "all", "count": "sum", "size": "sum", "floats": "sum",
}  # fmt: skip
"""Parts that are joined by one aggregation of themselves, and which."""
BY_TREE = frozenset(AGAIN) - {"floats"} | {"mean", "var", "std", "sem", "nunique"}
"""Aggregations that can be joined from partial results."""
_MOMENTS = ("count", "middle", "squares")
_NUMERIC = ("mean", "var", "std", "sem", "prod")
_MASKED = ("sum", "prod", "mean", "var", "std", "sem", "min", "max")
"""Aggregations whose ``skipna=False`` makes missing what has a missing value."""
_OPTIONS = {
    "var": ("ddof",), "std": ("ddof",), "sem": ("ddof",), "nunique": ("dropna",), "sum": ("min_count",),
    "prod": ("min_count",), "min": ("min_count",), "max": ("min_count",), "first": ("min_count",),
    "last": ("min_count",),
}  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """One column of the result: an aggregation of the value column at `place` (-1: of the rows)."""

    place: int
    how: str
    ddof: int = 1
    min_count: int = 0
    skipna: bool = True
    dropna: bool = True
    is_float: bool = False
    """Whether the values are floats of 64 bits."""

    def __glassloom_tokenize__(self) -> Any:
        return tuple(vars(self).values())

    @property
    def parts(self) -> tuple[str, ...]:
        """The partial results that are needed of each group; distinct values apart."""
        return tuple(dict.fromkeys([*self._own_parts, *self._mask_parts]))

    @property
    def _own_parts(self) -> tuple[str, ...]:
        if self.how == "mean":
            return ("sum" if self.is_float else "floats", "count")
        if self.how in ("var", "std", "sem"):
            return _MOMENTS
        return () if self.how == "nunique" else (self.how,)

    @property
    def _mask_parts(self) -> tuple[str, ...]:
        if not self.skipna:
            return ("count", "size")
        return ("count",) if self.min_count > 0 else ()

    def result(self, parts: Mapping[str, Any]) -> Any:
        """Return the column of the result from its parts, series of one value a group."""
        made = self._unmasked(parts)
        if not self.skipna:
            made = made.where(np.asarray(parts["count"] == parts["size"]))
        if self.min_count <= 0:
            return made
        enough = np.asarray(parts["count"] >= self.min_count)
        if made.dtype == bool and not enough.all():
            made = made.astype("float64")  # as pandas: where() would make objects of them
        return made.where(enough, None) if made.dtype == object else made.where(enough)

    def _unmasked(self, parts: Mapping[str, Any]) -> Any:
        if self.how == "mean":
            counts = parts["count"]
            return parts[self.parts[0]] / (counts if counts.min() > 0 else counts.where(counts > 0))
        if self.how not in ("var", "std", "sem"):
            return parts[self.how]
        free = (parts["count"] - self.ddof).astype("float64")
        variance = parts["squares"] / free.where(free > 0)
        if self.how == "var":
            return variance
        return variance**0.5 if self.how == "std" else (variance / parts["count"]) ** 0.5


def wanted(place: int, how: str, dtype: Any, options: Mapping[str, Any]) -> Wanted | None:
    """Return the aggregation of a column, or None if partial results can't make it.

    Parameters
    ----------
    place
        The column's number; -1 for the number of rows.
    how
        The name of an aggregation.
    dtype
        The column's dtype.
    options
        ``ddof min_count skipna dropna``, as far as the user has given them.
    """
    if how not in BY_TREE or not _has_dtype(how, dtype):
        return None
    if how == "prod" and is_decimal(dtype):
        raise NotImplementedError(
            f"groupby.prod of a column of dtype {dtype}: Arrow rounds after each factor, in any order; astype('float64') before"
        )
    if how == "mean" and is_decimal(dtype):  # rounded by Arrow: sums of floats round otherwise
        return None
    chosen = {name: value for name, value in options.items() if name in _OPTIONS.get(how, ())}
    skipna = bool(options.get("skipna", True))
    if not skipna and how not in _MASKED:
        return None
    if not skipna and not _is_number(dtype):
        return None
    return Wanted(place, how, skipna=skipna, is_float=dtype == np.dtype("float64"), **chosen)


def _has_dtype(how: str, dtype: Any) -> bool:
    if how in _NUMERIC:
        return _is_number(dtype)
    if how in ("any", "all"):
        return _is_number(dtype)
    return True


def _is_number(dtype: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(dtype)) and getattr(dtype, "kind", "O") != "c"
