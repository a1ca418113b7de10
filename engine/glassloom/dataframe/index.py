"""`Index`: the lazy labels of rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Method
from glassloom.dataframe.nodes import Columnwise, Rowwise
from glassloom.dataframe.reduce import reduce_columns
from glassloom.dataframe.support import not_supported
from glassloom.dataframe.text import frame_html, frame_text
from glassloom.dataframe.wrap import operate, wrap, wraps

_FIELDS = frozenset([
    "year", "month", "day", "hour", "minute", "second", "microsecond", "nanosecond", "date", "time",
    "timetz", "quarter", "weekday", "dayofweek", "day_of_week", "dayofyear", "day_of_year", "daysinmonth",
    "days_in_month", "is_leap_year", "is_month_start", "is_month_end", "is_quarter_start", "is_quarter_end",
    "is_year_start", "is_year_end", "days", "seconds", "microseconds", "nanoseconds", "codes", "left",
    "right", "mid", "length", "qyear", "week", "weekofyear", "start_time", "end_time",
])  # fmt: skip
"""Attributes of times, durations, periods, intervals and categories: one value a label."""
_METHODS = frozenset([
    "as_unit", "ceil", "floor", "normalize", "strftime", "tz_convert", "tz_localize", "to_period",
    "to_timestamp", "month_name", "day_name", "to_julian_date", "total_seconds",
])  # fmt: skip
"""Methods of times, durations and periods that make one value of each label."""
_FACTS = frozenset(["tz", "tzinfo", "unit", "categories", "ordered", "closed"])
"""Attributes that follow from the dtype."""


class Labels(Rowwise):
    """Labels computed from other labels, one by one: where partitions begin isn't known of them."""

    @property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)


@wraps("index")
class Index(Frame):
    """A lazy pandas Index, cut into partitions. Attributes of pandas' index such as ``year`` work too."""

    def __repr__(self) -> str:
        return frame_text(self)

    def _repr_html_(self) -> str:
        return frame_html(self)

    @property
    def dtype(self) -> Any:
        """The labels' dtype."""
        return self._meta.dtype

    @property
    def name(self) -> Any:
        """The name of the index."""
        return self._meta.name

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(self._meta, name):
            if name in _FIELDS:
                return operate(_field, self, name, kind=Labels, label=name)
            if name in _METHODS:
                return partial(_call_method, self, name)
            if name in _FACTS:
                return getattr(self._meta, name)
        raise not_supported("Index", name) or AttributeError(f"Index has no attribute {name!r}")

    def isin(self, values: Any) -> Any:
        """Return where labels are among `values`."""
        return operate(Method("isin"), self, values, kind=Columnwise)

    def to_series(self) -> Any:
        """Return the labels as a series with themselves as index."""
        return operate(Method("to_series"), self)

    def min(self, *, split_every: int | None = None) -> Any:
        """Return the smallest label."""
        return wrap(reduce_columns(self.to_series().expr, "min", {}, split_every))

    def max(self, *, split_every: int | None = None) -> Any:
        """Return the largest label."""
        return wrap(reduce_columns(self.to_series().expr, "max", {}, split_every))

    def nunique(self, *, split_every: int | None = None) -> Any:
        """Return the number of distinct labels."""
        return wrap(reduce_columns(self.to_series().expr, "nunique", {}, split_every))


def _field(index: Any, name: str) -> Any:
    """Return an attribute of an index's labels as an index; pandas has arrays for some."""
    return pd.Index(getattr(index, name), name=index.name)


def _call_method(index: Index, name: str, *args: Any, **kwargs: Any) -> Any:
    return operate(Method(name), index, *args, kind=Labels, kwargs=kwargs)
