"""What `loc`, `iloc` and `at` set: which value each column and row gets, and what a partition is with them.

`setting_rows.py` says which rows are set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import of_samples, sample
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.column_at_hand import with_column_at_hand
from glassloom.dataframe.columns import are_keys_of_levels
from glassloom.dataframe.moving.values_by_label import with_rows_of
from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.dataframe.prefix import Carried
from glassloom.dataframe.setting_rows import RowsToSet, is_mask
from glassloom.dataframe.unlike_dtypes import may_miss_values, with_one_dtype
from glassloom.dataframe.widening import can_miss_nothing, is_narrowing, with_common_dtypes
from glassloom.dataframe.wrap import bind, is_node, operate, paired_among, wrap


@dataclass(frozen=True)
class Cell:
    """A list, dict, array or series that is one value of an object column."""

    value: Any


class _WiderIfNeeded(Carried):
    """Values set in partitions that get a wider dtype only where one of them doesn't fit, or have it already."""

    makes_unlike_dtypes = True


def as_cell(frame: Any, column: Any, value: Any) -> Any:
    """Return the value that `at` and `iat` set: a dict or series, too, is one value of an object column."""
    meta = frame.expr.meta
    dtype = meta.dtype if isinstance(meta, pd.Series) else _dtype_of(meta, column)
    return Cell(value) if isinstance(value, (dict, pd.Series)) and _is_cell(dtype, value) else value


def set_values(
    frame: Any, rows: RowsToSet | None, columns: Any, value: Any, what: str, *, by_label: bool = True
) -> None:
    """Set values of some rows, or of all, in some columns of a frame or in a series. Only this collection changes.

    Parameters
    ----------
    columns
        A name, a list, slice or mask of names, or a function of the frame; of a series all that there is.
    value
        A constant; a lazy series, or frame, of the same rows; values for each column, for each row, or rows of values for each column.
        Values of a series or frame at hand are set by label: of one row a series has a value for each column. Whether one that is set among whole
        numbers is missing is found out now, also of lazy ones.
    by_label
        Whether each row gets a series' value of its label. Else the values come in the order of the rows.

    Raises
    ------
    NotImplementedError
        If values in the order of some rows are lazy.
    """
    meta = frame.expr.meta
    is_one_row = rows is not None and rows.is_one
    if is_one_row and isinstance(meta, pd.Series) and _is_cell(meta.dtype, value):
        value = Cell(value)
    value = _unwrapped(value, by_label)
    if not by_label and rows is not None and is_node(value) and value.expr.has_rows:
        raise NotImplementedError(
            f"{what} = a lazy {type(value).__name__}: pandas sets its values in their order, and how many there are isn't known; "
            "loc and conditions set them by label, and compute() gives values at hand"
        )
    if isinstance(meta, pd.Series):
        frame._expr = _set(frame, rows, value).expr
        return
    if not meta.columns.is_unique:
        _set_in_places(frame, rows, columns, value, what)
        return
    if rows is not None and isinstance(value, (dict, pd.Series)):
        rows = rows.as_one_row()  # of a label of several rows pandas sets missing values
    names = _named(meta, columns)
    is_name = pd.api.types.is_scalar(columns) or (isinstance(columns, tuple) and not are_keys_of_levels(columns))
    given = _ToSet(value, what, rows, by_label=by_label, are_listed=not is_name)
    for name, own in zip(names, given.of_columns(meta, names), strict=True):
        is_new = name not in frame.columns
        if rows is None and is_new:
            frame[name] = own
        elif rows is None:
            frame._expr = _set_all(frame, name, own)
        elif is_new:  # missing in the other rows
            own = own[0] if _has_each(own) and len(own) == 1 and not pd.api.types.is_list_like(own[0]) else own
            whole = _each_own(rows.numbers(len(own)), own) if _has_each(own) else own
            whole = wrap(frame._assigned({name: whole}))
            frame[name] = whole[name].where(rows.condition)
        else:
            frame[name] = _set(frame[name], rows, own)


def _set_in_places(frame: Any, rows: RowsToSet | None, columns: Any, value: Any, what: str) -> None:
    """Set values in columns of which several have one name: of each name in all."""
    names = frame.columns
    chosen = columns if isinstance(columns, slice) or is_mask(columns) else _named(frame.expr.meta, columns)
    numbered = pd.DataFrame([range(len(names))], columns=names).loc[0, chosen]
    if isinstance(value, (dict, pd.DataFrame)) or (isinstance(value, pd.Series) and rows is not None and rows.is_one):
        raise NotImplementedError(
            f"{what} = values by column, of which several are called {names[names.duplicated()][0]!r}: iloc sets them by position"
        )
    made = frame.set_axis(range(len(names)), axis=1)
    set_values(made, rows, list(numbered), value, what)
    frame._expr = made.set_axis(names, axis=1).expr


def is_series(value: Any) -> bool:
    """Whether a value is a series, lazy or at hand."""
    return isinstance(value.expr.meta if is_node(value) else value, pd.Series)


def _unwrapped(value: Any, by_label: bool) -> Any:
    """Return an array of no axis as the value in it, and a pandas series without labels if these don't count."""
    if isinstance(value, np.ndarray) and not value.ndim:
        return value[()]
    return value.array if isinstance(value, pd.Series) and not by_label else value


def _set(series: Any, rows: RowsToSet | None, value: Any) -> Any:
    """Return a lazy series with values of some rows set."""
    if rows is None:
        return wrap(_set_all(series, None, value))
    value = _for_rows_of(series, value)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.cat.as_known()  # a partition may lack the category
    if is_node(value) and not HAS_COPY_ON_WRITE:  # since pandas 3 the dtype stays, and values that don't fit are errors
        wide = with_common_dtypes(_tried(series, rows, value), value.expr.meta)
        return _of_rows(_with_rows_set, series, rows, value, wide, _WiderIfNeeded)
    if HAS_COPY_ON_WRITE and series.dtype.kind in "iu" and _has_fractions(value) and may_miss_values(series.expr):
        series = with_one_dtype(series)  # floats if a value is missing in any partition: only these take fractions
        return _of_rows(_with_rows_set, series, rows, value, series.expr.meta, _WiderIfNeeded)
    if _has_each(value) and len(value):
        array = _as_set(series, value)
        wide = series.expr.meta.astype(array.dtype)  # what these values need, and not made-up ones
        value = _each_own(rows.numbers(len(value)), array)
    elif _has_each(value):
        wide = series.expr.meta
        value = operate(_unchanged, series, rows.numbers(0))
    elif isinstance(value, pd.Series):
        wide = _with_values_by_label(series, rows, value)
    else:
        wide = _with_lazy_values(series, rows, value) if is_node(value) else _tried(series, rows, value)
    return _of_rows(partial(_with_rows_set, dtype=wide.dtype), series, rows, value, wide)


def _has_fractions(value: Any) -> bool:
    """Whether a constant is no whole number, or a lazy value may be none."""
    if isinstance(value, (float, np.floating)):
        return not np.isnan(value) and not float(value).is_integer()
    dtype = getattr(value.expr.meta, "dtype", None) if is_node(value) else None
    return isinstance(dtype, np.dtype) and dtype.kind == "f"


def _tried(series: Any, rows: RowsToSet, value: Any) -> Any:
    """Return the meta of a lazy series with values of some rows set, found out with made-up rows."""
    nodes, call = bind(_with_rows_set, (series, rows.condition, value), {}, label="setitem")
    return empty(of_samples(call, *[node.meta for node in nodes]))


def _of_rows(function: Any, series: Any, rows: RowsToSet, value: Any, meta: Any, kind: type[Carried] = Carried) -> Any:
    """Return what a function makes of the partitions of a lazy series, where they are set, and a value."""
    nodes, call = bind(function, (series, rows.condition, value), {}, label="setitem")
    lazy = [node for node in nodes if node.has_rows]
    nodes, pairs = paired_among(nodes, lazy, "setting values")
    return wrap(pairs.result(kind(nodes[0], tuple(nodes[1:]), call, meta, None)))


def _with_lazy_values(series: Any, rows: RowsToSet, value: Any) -> Any:
    """Return the meta of a lazy series that gets lazy values. Whole numbers are wider if one of these is missing: that is found out now."""
    wide, node = _tried(series, rows, value), value.expr
    dtype = node.meta.dtype if hasattr(node.meta, "dtype") else np.asarray(node.meta).dtype
    may_miss = not can_miss_nothing(dtype) or (node.has_rows and node.rows != series.expr.rows)
    if not may_miss or not can_miss_nothing(wide.dtype):
        return wide
    if not bool(_of_rows(_misses, series, rows, value, wide.astype(bool)).any().compute()):
        return wide
    own = sample(wide)
    own.iloc[:1] = np.array([np.nan])
    return wide.astype(own.dtype)


def _with_values_by_label(series: Any, rows: RowsToSet, values: pd.Series) -> Any:
    """Return the meta of a lazy series that gets values at hand by label.

    Whole numbers and booleans are wider if a row that is set has no value: that is found out now.
    """
    own = sample(series.expr.meta)
    if not HAS_COPY_ON_WRITE:
        own = own.iloc[np.zeros(len(values) + 1, dtype="int64")]
        own.iloc[1:] = values.array
    if can_miss_nothing(series.dtype):
        labels = values.index[values.notna()]
        if bool(operate(_lacks, rows.condition, labels, label="labels").any().compute()):
            own.iloc[0] = np.nan
    return series.expr.meta.astype(own.dtype)


def _lacks(condition: Any, labels: Any) -> Any:
    return condition.fillna(False).astype(bool) & ~condition.index.isin(labels)


def _has_each(value: Any) -> bool:
    """Whether a value at hand has one for each row that is set."""
    return isinstance(value, (list, tuple, range, np.ndarray, pd.Index, pd.api.extensions.ExtensionArray))


def _as_set(series: Any, values: Any) -> Any:
    """Return values at hand as an array of what a series has of them once they are set: of its dtype, or of another that holds both."""
    if series.dtype == object and not hasattr(values, "dtype"):
        return _as_objects(values)
    made = sample(series.expr.meta).iloc[np.zeros(len(values) + 1, dtype="int64")]
    made.iloc[1:] = values
    return made.iloc[1:].to_numpy() if isinstance(made.dtype, np.dtype) else made.iloc[1:].array


def _as_objects(values: Any) -> Any:
    """Return an array of objects of values as they are, which may hold others."""
    made = np.empty(len(values), dtype=object)
    for place, one in enumerate(values):
        made[place] = one
    return made


def _each_own(numbers: Any, values: Any) -> Any:
    """Return the lazy series of the value at hand that each row gets."""
    array = values if hasattr(values, "dtype") else pd.Series(list(values)).array
    return operate(_taken, numbers, array, label="values")


@dataclass(frozen=True)
class _ToSet:
    """A value, and what decides which columns and rows get what of it.

    `are_listed` says that columns were given as a list or slice, and not as the name of one.
    """

    value: Any
    what: str
    rows: RowsToSet | None
    by_label: bool
    are_listed: bool

    @property
    def is_one_row(self) -> bool:
        return self.rows is not None and self.rows.is_one

    def of_columns(self, meta: Any, names: list[Any]) -> list[Any]:
        """Return what each of some columns is set to: one value for all, or its own, as in pandas."""
        value = self.value
        if isinstance(value, pd.DataFrame) or (is_node(value) and isinstance(value.expr.meta, pd.DataFrame)):
            return self._of_frame(names)
        if isinstance(value, (dict, pd.Series)) or is_series(value):
            return self._of_series(names)
        if not _has_each(value):
            return [value] * len(names)
        if not self.are_listed and self.is_one_row and _is_cell(_dtype_of(meta, names[0]), value):
            return [Cell(value)]
        return self._of_list(meta, names)

    def _of_frame(self, names: list[Any]) -> list[Any]:
        frame = self.value
        if not self.by_label:
            if len(frame.columns) != len(names):
                raise ValueError(
                    f"{self.what} = a frame of {len(frame.columns)} columns: {len(names)} columns are set, in their order"
                )
            return [
                frame.iloc[:, place] if is_node(frame) else frame.iloc[:, place].array for place in range(len(names))
            ]
        if self.is_one_row:
            raise ValueError(
                f"{self.what} = a frame: Incompatible indexer with DataFrame: one label takes a value for each column"
            )
        if not frame.columns.is_unique:
            raise ValueError(f"{self.what} = a frame: Setting with non-unique columns is not allowed")
        return [frame[name] if name in frame.columns else np.nan for name in names]

    def _of_series(self, names: list[Any]) -> list[Any]:
        """Return the series for each column, as its rows are set by label; of one row the value that it has for each column."""
        if is_node(self.value):
            if self.is_one_row:
                raise self._no_series()
            return [self.value] * len(names)
        series = pd.Series(self.value)
        if not self.is_one_row:
            return [series] * len(names)
        if not self.are_listed:
            raise self._no_series()
        row = series if series.index.equals(pd.Index(names)) else series.reindex(names)
        return [_as_one(one) for one in row]

    def _no_series(self) -> ValueError:
        return ValueError(f"{self.what} = a series: Incompatible indexer with Series: one label takes one value")

    def _of_list(self, meta: Any, names: list[Any]) -> list[Any]:
        value = self.value
        if getattr(value, "ndim", 1) > 2:
            raise ValueError(f"{self.what} = an array of shape {value.shape}: Cannot set values with ndim > 2")
        may_be_cells = self.is_one_row and self.are_listed and len(value) == len(names) and not hasattr(value, "dtype")
        if may_be_cells and all(_is_cell(_dtype_of(meta, name), one) for name, one in zip(names, value, strict=True)):
            return [Cell(one) for one in value]
        if (rows := _rows_of(value, len(names))) is not None:
            return _columns_of(rows, len(names), self.what)
        if not self.are_listed:
            return [value] * len(names)
        if len(names) == 1:
            return [_as_one(value[0]) if len(value) == 1 else value]
        if len(value) != len(names):
            raise ValueError(f"{self.what} = {len(value)} values: there are {len(names)} columns, and each takes one")
        return [_as_one(one) for one in value]


def _dtype_of(meta: Any, name: Any) -> Any:
    return meta.dtypes[name] if name in meta.columns and meta.columns.is_unique else None


def _is_cell(dtype: Any, value: Any) -> bool:
    """Whether one row of an object column gets a value whole, which holds others."""
    is_one = isinstance(value, np.ndarray) and value.size == 1
    return (
        pd.api.types.is_object_dtype(dtype) and pd.api.types.is_list_like(value) and not is_node(value) and not is_one
    )


def _as_one(value: Any) -> Any:
    """Return a value as one, even if it holds others."""
    if isinstance(value, np.ndarray) and not value.ndim:
        return value[()]
    return Cell(value) if pd.api.types.is_list_like(value) and not is_node(value) else value


def _rows_of(value: Any, n_columns: int) -> Any:
    """Return an array of two axes, or the rows of a list of them; None if a value has no rows. Tuples in a list are values of one column."""
    if hasattr(value, "dtype"):
        return value if value.ndim == 2 else None
    if not len(value) or not all(_is_row(one) for one in value):
        return None
    are_values = n_columns == 1 and isinstance(value[0], tuple) and len(value[0]) != 1
    return None if are_values else [_by_place(row) for row in value]


def _is_row(value: Any) -> bool:
    is_sequence = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return is_sequence and not isinstance(value, (str, bytes, Mapping)) and getattr(value, "ndim", 1) == 1


def _by_place(row: Any) -> Any:
    """Return a row whose values are found by position."""
    if isinstance(row, pd.Series):
        return row.array
    known = isinstance(row, (list, tuple, np.ndarray, pd.Index, pd.api.extensions.ExtensionArray))
    return row if known else np.asarray(row, dtype=object)


def _columns_of(rows: Any, n_columns: int, what: str) -> list[Any]:
    """Return the values of each column of rows of them; of one row the values, which all rows get."""
    is_array = hasattr(rows, "dtype")
    widths = {rows.shape[1]} if is_array else set(map(len, rows))
    if widths != {n_columns}:
        shown = " and ".join(map(str, sorted(widths)))
        raise ValueError(f"{what} = {shown} columns of values: {n_columns} columns are set")
    if len(rows) == 1:
        return [_as_one(one) for one in rows[0]]
    return [rows[:, place] if is_array else [row[place] for row in rows] for place in range(n_columns)]


def _named(meta: Any, columns: Any) -> list[Any]:
    """Return the names of the columns that are set."""
    if callable(columns):
        columns = columns(meta)
    if are_keys_of_levels(columns):
        return list(meta.columns[meta.columns.get_locs(list(columns))])
    if isinstance(columns, slice) or is_mask(columns):
        return list(meta.loc[:, columns].columns)
    return list(columns) if isinstance(columns, (list, pd.Index)) else [columns]


def _set_all(frame: Any, name: Any, value: Any) -> FrameExpr:
    """Return the node of a frame with a column, or a series, whose values are set, as far as possible without another dtype."""
    if isinstance(value, (tuple, range)):
        value = list(value)
    if _has_each(value) or isinstance(value, pd.Series):
        base, own = (frame.to_frame(), frame) if frame.ndim == 1 else (frame, frame[name])
        name_of_column = "values" if frame.ndim == 1 else name
        if own.dtype == object and isinstance(value, list):  # of which pandas makes no other values
            value = _as_objects(value)
        value = wrap(with_column_at_hand(base, name_of_column, value, infers=own.dtype != object))[name_of_column]
    value = _for_rows_of(frame, value)
    setting = _with_values if frame.npartitions == 1 else _with_values_of_rows
    made: FrameExpr = operate(setting, frame, name, value, label="setitem").expr
    return made


def _for_rows_of(frame: Any, value: Any) -> Any:
    """Return a lazy series as one that is set partition by partition: of its values those for the frame's labels, if it is cut otherwise."""
    is_lazy = is_node(value) and isinstance(value.expr.meta, pd.Series)
    return wrap(with_rows_of(frame.expr, value.expr, "setting values")) if is_lazy else value


# What is done with partitions.


def _with_values(block: Any, name: Any, value: Any) -> Any:
    block = block.copy()
    own = block if block.ndim == 1 else block[name]
    if isinstance(value, Cell):
        value = _cells(value, own)
    if len(block) == 1 and isinstance(value, pd.Series) and isinstance(own.dtype, pd.api.extensions.ExtensionDtype):
        value = value.reindex(block.index).iloc[0]  # pandas' loc takes no series for one row of such
    block.loc[slice(None) if block.ndim == 1 else (slice(None), name)] = value
    return block


def _with_values_of_rows(block: Any, name: Any, value: Any) -> Any:
    """Return a partition with values set, without rows if it has none: pandas' loc gives a frame without any those of a series."""
    if not len(block) and isinstance(value, pd.Series):
        value = value.iloc[:0]
    return _with_values(block, name, value)


def _cells(cell: Cell, own: Any) -> Any:
    """Return an object series of one value for each row of another one.

    Raises
    ------
    TypeError
        If that isn't of objects.
    """
    if own.dtype != object:
        raise TypeError(f"Invalid value {cell.value!r} for dtype {str(own.dtype)!r}")
    return pd.Series(_as_objects([cell.value] * len(own)), index=own.index, dtype=object)


def _with_rows_set(block: Any, condition: Any, value: Any, dtype: Any = None) -> Any:
    """Return a series with the values of some rows set. `dtype` is that of all partitions, if it is wider than the block's."""
    made = block.copy() if dtype is None or _is_alike(block.dtype, dtype) else block.astype(dtype)
    chosen = np.asarray(_of_labels(condition, block.index).fillna(False), dtype=bool)
    if not chosen.any():
        return made
    if isinstance(value, Cell):
        value = _cells(value, block)
    if isinstance(value, pd.Series):
        is_aligned = value.index.equals(block.index)
        value = (value[chosen] if is_aligned else value.reindex(block.index[chosen])).array
    made.iloc[chosen] = value
    return made


def _misses(block: Any, condition: Any, value: Any) -> Any:
    return _with_rows_set(block, condition, value).isna()


def _of_labels(condition: Any, labels: Any) -> Any:
    """Return a condition for rows of some labels, each of which it must say something of."""
    if condition.index.equals(labels):
        return condition
    if not labels.isin(condition.index).all():
        raise pd.errors.IndexingError(
            "Unalignable boolean Series provided as indexer: a row has a label that the condition hasn't"
        )
    return condition.reindex(labels)


def _is_alike(own: Any, wide: Any) -> bool:
    """Whether a partition keeps its dtype: also categories, which partitions may have of their own, and what it is where values are missing."""
    has_missing = can_miss_nothing(wide) and is_narrowing(own, wide)
    return bool(own == wide) or isinstance(own, pd.CategoricalDtype) or has_missing


def _taken(numbers: Any, values: Any) -> Any:
    """Return the values with these numbers; rows that aren't set (-1) get any value, which is never used."""
    places = np.maximum(numbers.to_numpy(), 0)
    return pd.Series(values.take(places), index=numbers.index, dtype=object if values.dtype == object else None)


def _unchanged(series: Any, numbers: Any) -> Any:
    return series
