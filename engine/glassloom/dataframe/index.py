"""`Index`: the lazy labels of rows."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from functools import partial
from functools import wraps as wraps_method
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import sample
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.ambiguous_times import by_rows_beside
from glassloom.dataframe.arguments import with_arguments
from glassloom.dataframe.call import Attribute, BlockCall, Method
from glassloom.dataframe.keys_at_hand import key_at_hand
from glassloom.dataframe.label_nodes import ChosenLabels, Labels, MappedLabels, NewLabels, kind_of_moved, kind_of_rows
from glassloom.dataframe.labels import (
    METHODS_OF_CATEGORIES,
    CategoriesOfLabels,
    TextsOfLabels,
    are_of_two_zones,
    beside_labels,
    labels_where,
    mapped_labels,
    values_as_labels,
    values_by_place,
)
from glassloom.dataframe.meta import infer_meta
from glassloom.dataframe.method_names import names_without_unfit
from glassloom.dataframe.moving.membership import prepared, rows_among
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.nodes import BlockOp, Columnwise, Rowwise
from glassloom.dataframe.operands_at_hand import operand_of_rows
from glassloom.dataframe.options import number_of_outputs, refused, require_native_bytes
from glassloom.dataframe.positions import rows_of_labels
from glassloom.dataframe.positions_of_labels import PositionsOfLabels
from glassloom.dataframe.reduce import Length, reduce_columns
from glassloom.dataframe.setting_rows import by_place, is_mask
from glassloom.dataframe.support import not_supported
from glassloom.dataframe.text import frame_html, frame_text
from glassloom.dataframe.text_labels import label_of_text
from glassloom.dataframe.times_as_text import places_of_times
from glassloom.dataframe.wrap import bind, holds_lazy, is_node, operate, wrap, wraps
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
_UNSET: Any = pd.api.extensions.no_default
_FACTS = frozenset(["tz", "tzinfo", "unit", "categories", "ordered", "closed"])
"""Attributes that follow from the dtype."""


@wraps("index")
@with_arguments("Index")
class Index(PositionsOfLabels):
    """A lazy pandas Index, cut into partitions. Attributes of pandas' index such as ``year`` work too."""

    _labelled: Any = None
    """The frame or series that this was asked of, as ``frame.index``: setting the name changes it there too."""

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
        self._rename_in_place(name)

    def _rename_in_place(self, name: Any) -> None:
        renamed = self.rename(name).expr
        if self._labelled is not None and self._labelled.index.expr.name == self._expr.name:
            self._labelled._expr = self._labelled.rename_axis(index=name).expr
        self._expr = renamed

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(self._meta, name):
            if name in ("codes", "categories") and not self.cat.known:
                return getattr(self.cat.as_known(), name)
            if name in _FIELDS:
                return operate(Attribute(name), self, kind=Labels, label=name)
            if name in _METHODS:
                return _method_of(self, name)
            if name in _FACTS:
                return getattr(self._meta, name)
            if name in METHODS_OF_CATEGORIES:
                return getattr(self.cat, name)
        if name in ("str", "cat", "dt"):  # the property has said what is wrong
            return object.__getattribute__(self, name)
        raise not_supported("Index", name) or AttributeError(f"Index has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        of_values = (*_FIELDS, *_METHODS, *_FACTS, *METHODS_OF_CATEGORIES)
        return [
            *names_without_unfit(self, super().__dir__()),
            *(name for name in of_values if hasattr(self._meta, name)),
        ]

    def _with_values_at_hand(self, function: Callable[[Any, Any], Any], other: Any) -> Any:
        """Return what an operator makes of the labels and an array, list or index with a value for each."""
        name = other.name if isinstance(other, pd.Index) else self.name
        values = _of_each_label(self, list(other) if isinstance(other, (tuple, range)) else other, "operator")
        return operate(partial(beside_labels, function, name == self.name), self, values, kind=Labels, label="operator")

    def __getitem__(self, key: Any) -> Any:
        labels, key = self.to_series(), key_at_hand(key)
        if isinstance(key, (int, np.integer)):
            return labels.iloc[key]
        if is_mask(key):
            return labels[by_place(key)].index
        if isinstance(key, (slice, list)):
            return labels.iloc[key].index
        if is_node(key):
            is_new = kind_of_rows(self) is not Rowwise
            return operate(operator.getitem, self, key, kind=ChosenLabels) if is_new else labels[key].index
        raise NotImplementedError(f"index[{key!r}]: positions, slices of them and lazy booleans choose labels")

    def __contains__(self, label: object) -> bool:
        """Compute whether a row has a label."""
        is_of_times = isinstance(self._meta, (pd.DatetimeIndex, pd.TimedeltaIndex, pd.PeriodIndex))
        if self._meta.nlevels > 1 or (is_of_times and isinstance(label, str)):  # a part of a label may be enough
            return label in self._computed_by_pandas()
        series = self.to_series().expr
        return bool(len(wrap(rows_of_labels(series, [label_of_text(series, label)[0]]))))

    def isin(self, values: Any, level: Any = None) -> Any:
        """Return where labels are among `values`, as a lazy array of booleans, which chooses rows: ``frame[frame.index.isin(labels)]``.

        `values` is a list, or a lazy series or index; `level` the name or number of the level that is among them.
        """
        if level is not None:
            return self.get_level_values(level).isin(values)
        if is_node(values):
            return wrap(rows_among(self._expr, values))
        call, values = prepared(values, self._expr.meta.dtype)
        return operate(call, self, values, kind=Columnwise)

    def duplicated(self, keep: Any = "first") -> Any:
        """Return where an equal label comes before, as a lazy array of booleans: ``frame[~frame.index.duplicated()]``. See `Series.duplicated`."""
        found = values_by_place(self).duplicated(keep)
        return operate(Method("to_numpy"), found, label="duplicated")

    def intersection(self, other: Any) -> Any:
        """Return the distinct labels that are also among others, a list, or a lazy series or index; in order of appearance."""
        return self._chosen_among(other, lambda found: found)

    def difference(self, other: Any, sort: Any = None) -> Any:
        """Return the distinct labels that aren't among others, a list, or a lazy series or index.

        Parameters
        ----------
        other
            The others.
        sort
            Whether the labels are sorted: None, as pandas does; with False they are in order of appearance.
        """
        made = self._chosen_among(other, operator.invert)
        is_sorted = sort is True or (sort is None and (is_node(other) or np.size(other) > 0))  # as pandas does
        return made if not is_sorted else made.to_series().sort_values().index

    def _chosen_among(self, other: Any, choose: Callable[[Any], Any]) -> Any:
        if self.nlevels > 1:
            raise NotImplementedError(
                "intersection() and difference() of an index of several levels: compute() it before, or merge() frames of its levels"
            )
        if not is_node(other) and not pd.api.types.is_list_like(other):
            raise TypeError(f"Input must be Index or array-like, not {other!r}")
        if choose is not operator.invert and are_of_two_zones(self, other):  # pandas has the common labels in UTC then
            times = other.dt if hasattr(other, "dt") else other
            return self.tz_convert("UTC")._chosen_among(times.tz_convert("UTC"), choose)
        name = self.name if getattr(other, "name", self.name) == self.name else None
        values = other if is_node(other) else list(other)
        found = self[choose(self.isin(values))].unique().rename(name)
        if choose is operator.invert:
            return found
        is_typed = isinstance(other, (pd.Index, pd.Series, np.ndarray, pd.api.extensions.ExtensionArray))
        others = sample(other.expr.meta) if is_node(other) else pd.Index(other if is_typed else values)
        is_nothing = not is_node(other) and not is_typed and not len(others)
        dtype = others.dtype if is_nothing else sample(self._meta)._find_common_type_compat(others)
        return found if dtype == self.dtype else found.astype(dtype)

    def _with_rows_at_hand(self, function: Callable[[Any, Any], Any], other: Any) -> Any:
        raise TypeError(
            "an index and a pandas series, whose labels it doesn't have: give the values, series.to_numpy()"
        )

    def sort_values(
        self, *, return_indexer: bool = False, ascending: bool = True, na_position: Any = "last", key: Any = None
    ) -> Any:
        """Return the labels in order.

        Parameters
        ----------
        return_indexer
            Not supported: `to_series().argsort()` has the places.
        ascending, na_position, key
            As in `Series.sort_index`.
        """
        if return_indexer:
            raise refused("Index.sort_values", "return_indexer", return_indexer, "to_series().argsort() has the places")
        rows = operate(_without_columns, self, kind=kind_of_rows(self), label="labels")
        return rows.sort_index(ascending=ascending, na_position=na_position, key=key).index

    def take(self, indices: Any, axis: Any = 0) -> Any:
        """Return the labels at some positions, in the order of the list. See `DataFrame.iloc`."""
        if axis != 0:
            raise ValueError(f"No axis named {axis} for object type Index")
        return operate(_without_columns, self, kind=kind_of_rows(self), label="labels").take(indices).index

    def repeat(self, repeats: Any, axis: None = None) -> Any:
        """Return each label several times: a number, or a list with one for each label."""
        return self.to_series().repeat(repeats).index

    def to_series(self, *, name: Any = _UNSET) -> Any:
        """Return the labels as a series with themselves as index, under the index's name or another one."""
        return operate(
            Method("to_series"), self, kind=kind_of_rows(self), kwargs={} if name is _UNSET else {"name": name}
        )

    def min(self, *, split_every: int | None = None) -> Any:
        """Return the smallest label."""
        return self._extreme("min", split_every)

    def _extreme(self, how: str, split_every: int | None) -> Any:
        found = wrap(reduce_columns(self.to_series().expr, how, {}, split_every))
        return operate(_as_integer, found, label=how) if isinstance(self._meta, pd.RangeIndex) else found

    def max(self, *, split_every: int | None = None) -> Any:
        """Return the largest label."""
        return self._extreme("max", split_every)

    def nunique(self, dropna: bool = True, *, split_every: int | None = None) -> Any:
        """Return the number of distinct labels; with ``dropna=False`` a missing one counts."""
        return wrap(reduce_columns(self.to_series().expr, "nunique", {"dropna": dropna}, split_every))

    @property
    def names(self) -> Any:
        """The name of each level of the index, in a list."""
        return self._meta.names

    @names.setter
    def names(self, names: Any) -> None:
        if self.nlevels == 1:
            (self.name,) = names
        else:
            self._rename_in_place(list(names))

    @property
    def nlevels(self) -> int:
        """The number of levels."""
        return int(self._meta.nlevels)

    def get_level_values(self, level: Any) -> Any:
        """Return the labels of one level, by its name or number."""
        return self._relabelled("get_level_values", level)

    def droplevel(self, level: Any = 0) -> Any:
        """Return the labels without a level, or several, by name or number."""
        return self._relabelled("droplevel", level)

    def to_flat_index(self) -> Any:
        """Return labels of several levels as tuples."""
        return self._relabelled("to_flat_index")

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
        return values_by_place(self).values

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
        return self.to_series().hasnans

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
        return operate(operator.not_, self.is_unique, label="has-duplicates")

    def to_frame(self, index: bool = True, name: Any = _UNSET, allow_duplicates: bool = False) -> Any:
        """Return the labels as a frame with a column for each level, under themselves as labels."""
        if not index:
            raise refused("Index.to_frame", "index", index, "to_frame().reset_index(drop=True)")
        options = {"name": name} if self.nlevels == 1 else {"name": name, "allow_duplicates": allow_duplicates}
        return operate(Method("to_frame"), self, kind=kind_of_rows(self), kwargs=options, label="to-frame")

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = _UNSET) -> Any:
        """Compute, and return the labels as a NumPy array. `values` is the lazy array."""
        return self._computed_by_pandas().to_numpy(dtype=dtype, copy=copy, na_value=na_value)

    def tolist(self) -> list[Any]:
        """Compute, and return the labels as a list."""
        return list(self._computed_by_pandas())

    to_list = tolist

    def item(self) -> Any:
        """Compute, and return the only label."""
        return self._computed_by_pandas().item()

    def copy(self, name: Any = None, deep: bool = False) -> Any:
        """Return an index of its own, under another `name` if one is given."""
        return wrap(self._expr) if name is None else self.rename(name)

    def rename(self, name: Any, level: Any = None) -> Any:
        """Return the labels under another name; labels of several levels as `set_names` does."""
        if level is not None:
            return self.set_names(name, level)
        return operate(Method("rename"), self, name)

    def set_names(self, name: Any, level: Any = None) -> Any:
        """Return the labels under another name, or other ones, one for each level, or for each of those given by name or number."""
        names = list(self._meta.set_names(name, level=level).names)
        return operate(Method("rename"), self, names if self.nlevels > 1 else names[0])

    def _relabelled(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return operate(Method(method), self, *args, kind=Labels, kwargs=kwargs)

    def astype(self, dtype: Any) -> Any:
        """Return the labels converted."""
        require_native_bytes("astype", dtype)
        if self.npartitions > 1 and self.nlevels == 1 and places_of_times(self.to_series().expr.meta, dtype):
            # how times are written depends on all of them
            return operate(values_as_labels, self.to_series().astype(dtype), False, kind=Labels, label="astype")
        return self._relabelled("astype", dtype)

    def fillna(self, value: Any) -> Any:
        """Return the labels with missing ones replaced by a constant."""
        return self._relabelled("fillna", value)

    def round(
        self, decimals: Any = 0, ambiguous: Any = "raise", nonexistent: Any = "raise", *, freq: Any = None
    ) -> Any:
        """Return the labels rounded: numbers to `decimals`, times to `freq`, which may come first too.

        Parameters
        ----------
        decimals, freq
            To how many decimals, or to what frequency.
        ambiguous, nonexistent
            What becomes of times that a zone has twice, or never.
        """
        to = decimals if freq is None else freq
        if pd.api.types.is_numeric_dtype(self._meta.dtype):
            return self._relabelled("round", to)
        by_rows_beside(self, "round", (to, ambiguous), {})
        return self._relabelled("round", to, ambiguous, nonexistent)

    def map(self, mapper: Any, na_action: Any = None, *, meta: Any = None) -> Any:
        """Replace each label by a function's result, or look it up in a dict or series.

        Parameters
        ----------
        mapper
            A function of a label, a dict, or a series; all rows of a lazy series are brought together.
        na_action
            ``"ignore"`` to leave missing labels as they are, without calling the function.
        meta
            The result: an empty index, or its dtype. Default: the function is tried on made-up labels.
        """
        if is_node(mapper) and mapper.expr.npartitions > 1:
            mapper = wrap(Repartition(mapper.expr, 1))
        nodes, call = bind(mapped_labels, (self, mapper, na_action), {}, label="map")
        if meta is None:
            found = infer_meta(call, nodes, "map")
        else:
            found = meta[:0] if isinstance(meta, pd.Index) else pd.Index([], dtype=meta, name=self.name)
        checked = BlockCall(partial(mapped_labels, like=found), call.args, label="map")
        return wrap(MappedLabels(nodes[0], tuple(nodes[1:]), checked, found))

    def shift(self, periods: int = 1, freq: Any = None) -> Any:
        """Return the labels moved by so many times a frequency."""
        if freq is None and not isinstance(self._meta, pd.PeriodIndex):  # whose dtype names it
            raise refused("Index.shift", "freq", freq, "name the frequency, as in freq='1D'")
        kind, kwargs = kind_of_moved(self._meta, freq), {} if freq is None else {"freq": freq}
        return operate(Method("shift"), self, periods, kind=kind, kwargs=kwargs)

    def where(self, cond: Any, other: Any = None) -> Any:
        """Return the labels where a condition holds, elsewhere `other`.

        Parameters
        ----------
        cond, other
            Lazy objects of the same rows, arrays or lists with a value for each label; `other` also a constant. Default: missing.
        """
        keeps_objects = PANDAS_VERSION < (3, 1) and isinstance(other, list) and not holds_lazy(other)
        given = np.array(other, dtype=object) if keeps_objects else other
        cond, other = _of_each_label(self, cond, "where(cond)"), _of_each_label(self, given, "where(other)")
        args = () if other is None else (other,)
        return operate(partial(labels_where, keeps_objects), self, cond, *args, kind=Labels, label="where")

    def dropna(self, how: Any = "any") -> Any:
        """Return the labels that aren't missing; of several levels none of them, or with ``how="all"`` not all of them."""
        return operate(Method("dropna"), self, kind=BlockOp, kwargs={} if how == "any" else {"how": how})

    def isna(self) -> Any:
        """Return where labels are missing, as a lazy array."""
        return operate(Method("isna"), self, kind=Columnwise)

    isnull = isna

    def notna(self) -> Any:
        """Return where labels aren't missing, as a lazy array."""
        return operate(Method("notna"), self, kind=Columnwise)

    notnull = notna

    def any(self, *, split_every: int | None = None) -> Any:
        """Return whether any label is true."""
        self._require_one_level("any")
        return self.to_series().any(split_every=split_every)

    def all(self, *, split_every: int | None = None) -> Any:
        """Return whether all labels are true."""
        self._require_one_level("all")
        return self.to_series().all(split_every=split_every)

    def _require_one_level(self, method: str) -> None:
        if self.nlevels > 1:
            raise TypeError(f"cannot perform {method} with MultiIndex: get_level_values() has the labels of one level")

    def unique(
        self,
        level: Any = None,
        *,
        split_every: int | None = None,
        split_out: int | bool = 1,
        shuffle_method: Any = None,
    ) -> Any:
        """Return the distinct labels, or those of one level, in order of appearance, as lazy labels. See `Series.unique`."""
        labels = self.to_series() if level is None else self.get_level_values(level).to_series()
        if number_of_outputs(split_out, self.npartitions) == 1:
            return labels.drop_duplicates(split_every=split_every, shuffle_method=shuffle_method).index
        values = labels.unique(split_every=split_every, split_out=split_out, shuffle_method=shuffle_method)
        return operate(_labelled_by_itself, values, kind=NewLabels, label="unique").index

    def drop_duplicates(
        self, *, split_every: int | None = None, split_out: int | bool = 1, shuffle_method: Any = None
    ) -> Any:
        """Return the distinct labels, in order of appearance, as lazy labels. See `Series.unique`."""
        return self.unique(split_every=split_every, split_out=split_out, shuffle_method=shuffle_method)

    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        bins: Any = None,
        dropna: bool = True,
        *,
        split_every: int | None = None,
        split_out: Any = 1,
    ) -> Any:
        """Return how often each label occurs. See `Series.value_counts`."""
        return self.to_series().value_counts(
            normalize, sort, ascending, bins, dropna, split_every=split_every, split_out=split_out
        )

    @property
    def dt(self) -> Any:
        """The index itself, if its labels are times, durations or periods: it has their fields and methods. `dt` is Dask's name."""
        if not isinstance(self._meta, (pd.DatetimeIndex, pd.TimedeltaIndex, pd.PeriodIndex)):
            raise AttributeError("Can only use .dt accessor with datetimelike values")
        return self

    @property
    def cat(self) -> Any:
        """Whether the categories of labels are known (`cat.known`), and the methods of such, as of series. `cat` is Dask's name."""
        if not isinstance(self._meta, pd.CategoricalIndex):
            raise AttributeError("Can only use .cat accessor with a 'category' dtype")
        return CategoriesOfLabels(self)

    @property
    def str(self) -> Any:
        """The methods for text, as pandas has them, partition by partition. Where they make an array, it is a series."""
        return TextsOfLabels(self)


def _labelled_by_itself(values: Any) -> Any:
    return values.set_axis(pd.Index(values), axis=0)


def _without_columns(index: Any) -> Any:
    return pd.DataFrame(index=index)


def _of_each_label(index: Any, values: Any, what: str) -> Any:
    """Return an array or list with a value for each label as a lazy series of the same rows; anything else as it is."""
    if is_node(values):
        return values
    return operand_of_rows(index.to_series(), values.array if isinstance(values, pd.Series) else values, what)


def _method_of(index: Index, name: str) -> Callable[..., Any]:
    """Return a method of pandas' index, which makes one value of each label."""
    theirs = getattr(index._meta, name)

    @wraps_method(theirs)
    def method(*args: Any, **kwargs: Any) -> Any:
        if (made := by_rows_beside(index, name, args, kwargs)) is not None:
            return made
        return operate(Method(name), index, *args, kind=Labels, kwargs=kwargs)

    method.__signature__ = inspect.signature(theirs)  # type: ignore[attr-defined]  # of some, pandas 3.0 notes one with `self`
    return method


def _as_integer(label: Any) -> Any:
    """Return a label of a `pandas.RangeIndex`, whose labels are Python's integers."""
    return int(label) if isinstance(label, np.integer) else label
