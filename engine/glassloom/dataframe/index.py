"""`Index`: the lazy labels of rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.frames import converted
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Method
from glassloom.dataframe.nodes import BlockOp, Columnwise, Rowwise
from glassloom.dataframe.options import refused
from glassloom.dataframe.reduce import Length, reduce_columns
from glassloom.dataframe.support import not_supported
from glassloom.dataframe.text import frame_html, frame_text
from glassloom.dataframe.wrap import operate, wrap, wraps
from glassloom.reprs.live_blocks import show_blocks

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

    def _ipython_display_(self) -> None:
        show_blocks(self, frame_html)

    @property
    def dtype(self) -> Any:
        """The labels' dtype."""
        return self._meta.dtype

    @property
    def name(self) -> Any:
        """The name of the index."""
        return self._meta.name

    @name.setter
    def name(self, name: Any) -> None:
        self._expr = self.rename(name).expr

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

    @property
    def names(self) -> Any:
        """The name of the index, in a list."""
        return self._meta.names

    @property
    def nlevels(self) -> int:
        """The number of levels."""
        return int(self._meta.nlevels)

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    @property
    def inferred_type(self) -> Any:
        """What pandas calls the labels' type."""
        return self._meta.inferred_type

    @property
    def size(self) -> Any:
        """The number of labels, lazily."""
        return wrap(Length(self._expr))

    @property
    def shape(self) -> tuple[Any]:
        """The number of labels, lazily, in a tuple."""
        return (self.size,)

    @property
    def empty(self) -> bool:
        """Whether there are no labels. Computes their number if it isn't known."""
        return len(self) == 0

    @property
    def T(self) -> Index:
        """The index itself, as in pandas."""
        return self

    def transpose(self) -> Index:
        """Return the index itself, as in pandas."""
        return self

    @property
    def values(self) -> Any:
        """The labels as a lazy array."""
        return self.to_series().values

    @property
    def nbytes(self) -> Any:
        """The bytes of the labels, lazily."""
        return self.to_series().nbytes

    def memory_usage(self, deep: bool = False) -> Any:
        """Return the bytes of the labels, lazily."""
        return self.to_series().memory_usage(index=False, deep=deep)

    @property
    def hasnans(self) -> Any:
        """Whether a label is missing, lazily."""
        return self.to_series().isna().any()

    @property
    def is_monotonic_increasing(self) -> Any:
        """Whether no label is less than the one before, as a lazy scalar."""
        return self.to_series().is_monotonic_increasing

    @property
    def is_monotonic_decreasing(self) -> Any:
        """Whether no label is greater than the one before, as a lazy scalar."""
        return self.to_series().is_monotonic_decreasing

    @property
    def is_unique(self) -> Any:
        """Whether no label occurs twice, as a lazy scalar."""
        return self.to_series().is_unique

    @property
    def has_duplicates(self) -> Any:
        """Whether a label occurs twice, as a lazy scalar."""
        return ~self.is_unique

    def to_frame(self, index: bool = True, name: Any = None) -> Any:
        """Return the labels as a frame with one column, under themselves as labels."""
        if not index:
            raise refused("Index.to_frame", "index", index, "to_frame().reset_index(drop=True)")
        return operate(Method("to_frame"), self, kwargs={} if name is None else {"name": name}, label="to-frame")

    def to_numpy(self, dtype: Any = None) -> Any:
        """Compute, and return the labels as a NumPy array. `values` is the lazy array."""
        return self.compute().to_numpy(dtype=dtype)

    def tolist(self) -> list[Any]:
        """Compute, and return the labels as a list."""
        return list(converted(self.compute(), "pandas"))

    to_list = tolist

    def item(self) -> Any:
        """Compute, and return the only label."""
        return self.compute().item()

    def copy(self) -> Any:
        """Return an index of its own."""
        return wrap(self._expr)

    def rename(self, name: Any) -> Any:
        """Return the labels under another name."""
        return operate(Method("rename"), self, name)

    set_names = rename

    def _relabelled(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return operate(Method(method), self, *args, kind=Labels, kwargs=kwargs)

    def astype(self, dtype: Any) -> Any:
        """Return the labels converted."""
        return self._relabelled("astype", dtype)

    def fillna(self, value: Any) -> Any:
        """Return the labels with missing ones replaced by a constant."""
        return self._relabelled("fillna", value)

    def round(self, decimals: Any = 0) -> Any:
        """Return the labels rounded."""
        return self._relabelled("round", decimals)

    def map(self, mapper: Any, na_action: Any = None) -> Any:
        """Replace each label by a function's result, or look it up in a dict or pandas series."""
        return self._relabelled("map", mapper, na_action=na_action)

    def shift(self, periods: int = 1, freq: Any = None) -> Any:
        """Return the labels moved by so many times a frequency."""
        if freq is None:
            raise refused("Index.shift", "freq", freq, "name the frequency, as in freq='1D'")
        return self._relabelled("shift", periods, freq=freq)

    def where(self, cond: Any, other: Any = None) -> Any:
        """Return the labels where a condition holds, elsewhere `other`."""
        args = () if other is None else (other,)
        return operate(_where, self, cond, *args, kind=Labels, label="where")

    def dropna(self) -> Any:
        """Return the labels that aren't missing."""
        return operate(Method("dropna"), self, kind=BlockOp)

    def isna(self) -> Any:
        """Return where labels are missing, as lazy labels."""
        return operate(_missing, self, kind=Labels, label="isna")

    isnull = isna

    def notna(self) -> Any:
        """Return where labels aren't missing, as lazy labels."""
        return ~self.isna()

    notnull = notna

    def any(self) -> Any:
        """Return whether any label is true."""
        return self.to_series().any()

    def all(self) -> Any:
        """Return whether all labels are true."""
        return self.to_series().all()

    def unique(self) -> Any:
        """Return the distinct labels, in order of appearance, as lazy labels."""
        return self.to_series().drop_duplicates().index

    def drop_duplicates(self) -> Any:
        """Return the distinct labels, in order of appearance, as lazy labels."""
        return self.unique()

    def value_counts(self, **options: Any) -> Any:
        """Return how often each label occurs. See `Series.value_counts`."""
        return self.to_series().value_counts(**options)

    @property
    def str(self) -> Any:
        """The methods for text, as pandas has them, partition by partition; their results are series."""
        return self.to_series().str


def _where(index: Any, cond: Any, *other: Any) -> Any:
    return index.where(np.asarray(cond), *other)


def _missing(index: Any) -> Any:
    return pd.Index(index.isna(), name=index.name)


def _field(index: Any, name: str) -> Any:
    """Return an attribute of an index's labels as an index; pandas has arrays for some."""
    return pd.Index(getattr(index, name), name=index.name)


def _call_method(index: Index, name: str, *args: Any, **kwargs: Any) -> Any:
    return operate(Method(name), index, *args, kind=Labels, kwargs=kwargs)
