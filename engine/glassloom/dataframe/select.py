"""Rows by label and by position in the partition: `loc`, `head`, `tail`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.column_at_hand import is_lazy_mask, rows_by_lazy_array
from glassloom.dataframe.column_expressions import evaluated
from glassloom.dataframe.column_places import columns_at, columns_of_levels
from glassloom.dataframe.columns import are_keys_of_levels, listed_names, require_columns
from glassloom.dataframe.key_levels import (
    has_key,
    is_full_label,
    is_key_of_levels,
    levels_left_out,
    may_be_key,
    require_plain_labels,
    rows_of_key,
)
from glassloom.dataframe.keys_at_hand import key_at_hand
from glassloom.dataframe.label_slices import rows_between
from glassloom.dataframe.nodes import BlockOp, Filter, FrameExpr, Projection, RowsByLabel
from glassloom.dataframe.positions import rows_and_columns, rows_by_label, rows_of_one_label, value_at
from glassloom.dataframe.repeated_labels import filtered
from glassloom.dataframe.rows_of_label import RowsOfLabel
from glassloom.dataframe.setting_new_rows import set_or_add
from glassloom.dataframe.setting_rows import is_mask, mask_of_rows, rows_to_set, shown
from glassloom.dataframe.setting_values import set_values
from glassloom.dataframe.times_of_day import is_of_times_of_day, rows_at_times_of_day
from glassloom.dataframe.wrap import is_node, operate, wrap


class Loc:
    """``frame.loc[rows]`` and ``frame.loc[rows, columns]``.

    One label of a series, or of one column, gives its value, as a lazy scalar, and is an error if it occurs several times: ``loc[[label]]``
    gives a series, of all rows that have it.
    One label of a frame gives a frame, of all rows that have it: pandas gives a series if there is one, which isn't known before rows
    are read, and a frame otherwise; ``frame.loc[label].iloc[0]`` is the row as a series. Beside another frame it stands for that row: in
    ``frame - frame.loc[label]`` it is subtracted from each.

    A text among labels that are times is one label or a stretch of time, such as a day, by the resolution of all labels. Of a series that is
    found out now, as it gives a value or a series; of a frame it gives all rows in that time, and is found out beside another frame. There may
    be none of a stretch that has labels on both sides; it is a KeyError if the partitions that may have such rows don't tell.

    Times of day (`datetime.time`), and slices of them, give the rows of all days at these times.

    Lazy labels, such as ``x.idxmax()`` or ``x.nlargest(3).index``, are computed at once.

    Setting values takes labels, lists and slices of them, and booleans, lazy or at hand. A label that no row has adds a row after all
    others, as in pandas: see `setting_new_rows.py`.
    """

    __iter__ = None  # by positions it would never end

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        key = key_at_hand(key)
        node: FrameExpr = self._frame.expr
        rows, columns = _rows_and_columns(key, node.meta, None)
        require_no_truth_values(rows, node.meta.index)
        if columns is None and isinstance(key, tuple) and key[1:] == (None,) and node.meta.index.nlevels == 1:
            return Loc(wrap(_some_columns(node, None)))[rows]
        rows, columns = _labels_at_hand(rows), listed_names(_labels_at_hand(columns, of_columns=True), node.meta)
        if isinstance(node.meta.index, pd.MultiIndex) and not _is_of_rows(rows):
            return self._of_levels(key, rows, columns)
        if columns is not None:
            node = _some_columns(node, columns)
        if is_node(rows):
            return wrap(filtered(node, rows.expr, "loc"))
        if isinstance(node.meta.index, pd.DatetimeIndex) and is_of_times_of_day(rows):
            chosen = rows_at_times_of_day(wrap(node), rows)
            is_one_column = self._frame.ndim == 2 and chosen.ndim == 1 and not isinstance(rows, slice)
            return chosen.to_array() if is_one_column else chosen  # as pandas
        if isinstance(rows, slice):
            return wrap(node if rows == slice(None) else rows_between(node, rows))
        if callable(rows):
            return Loc(wrap(node))[evaluated(rows, self._frame)]
        if is_lazy_mask(rows):
            return wrap(rows_by_lazy_array(wrap(node), rows))
        if is_mask(rows):
            return wrap(Filter(node, mask_of_rows(self._frame, rows, "loc")))
        if isinstance(rows, (list, range, pd.Index, np.ndarray)):
            return wrap(rows_by_label(node, rows))
        if pd.api.types.is_scalar(rows):
            if isinstance(node.meta, pd.Series):
                return wrap(value_at(node, rows))
            if columns is None or HAS_COPY_ON_WRITE:
                return wrap(rows_of_one_label(node, rows))
            # before pandas 3 the row has the common dtype of all columns, whichever are chosen
            return wrap(_some_columns(rows_of_one_label(self._frame.expr, rows), columns))
        raise NotImplementedError(
            f"loc[{rows!r}]: labels, lists and slices of them, and lazy boolean series work, as in "
            "loc['2000-01-01':'2000-01-07']"
        )

    def _of_levels(self, key: Any, rows: Any, columns: Any) -> Any:
        """Return the rows of a key of several levels; of a label of the first one without that level, as pandas does."""
        meta = self._frame.expr.meta
        if (made := self._of_key(key, rows, columns)) is not None:
            return made
        is_of_columns = columns is None or (isinstance(meta, pd.DataFrame) and _are_columns(columns, meta))
        if not pd.api.types.is_scalar(rows) or not is_of_columns:
            raise NotImplementedError(
                f"{shown('loc', key)}: of an index of several levels a label of the first is taken, or a tuple with a label, list or slice for "
                "each of the first ones; xs(label, level=...) takes a label of another, and reset_index() makes levels columns to filter by"
            )
        made = self._frame.xs(rows)
        return made if columns is None else made.loc[:, columns]

    def _of_key(self, key: Any, rows: Any, columns: Any) -> Any:
        """Return the rows of a tuple, a list of tuples or a slice of labels of several levels; None if the key is none of these."""
        node: FrameExpr = self._frame.expr
        meta = node.meta
        is_of_columns = isinstance(meta, pd.DataFrame) and columns is not None and _are_columns(columns, meta)
        if is_of_columns and is_key_of_rows(node, key):
            return Loc(self._frame)[key, :]
        whole = rows if is_of_columns or not isinstance(key, tuple) else key
        if not is_key_of_levels(whole, meta.index):
            return None
        require_plain_labels(whole, meta.index)
        if is_of_columns:
            node = _some_columns(node, columns)
        if is_full_label(whole, meta.index):
            if isinstance(node.meta, pd.Series):
                return wrap(value_at(node, whole))
            return wrap(RowsOfLabel(*rows_of_key(node, whole).operands))
        made = wrap(rows_of_key(node, whole))
        is_of_rows_alone = isinstance(meta, pd.Series) or (isinstance(key, tuple) and whole is key and len(key) > 2)
        named = levels_left_out(whole) if is_of_rows_alone else []
        return made._without_levels(named) if named else made

    def __call__(self, axis: Any = None) -> Any:
        raise NotImplementedError(
            f"loc(axis={axis!r}): write loc[rows, :] for the rows, where rows may be a tuple with a key for each level, or loc[:, columns]"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set(key, value)

    def set(self, key: Any, value: Any, *, by_label: bool = True) -> None:
        """Set values of some rows. `by_label` says whether a series gives each row that of its label, or values in their order."""
        frame, key = self._frame, key_at_hand(key)
        meta = frame.expr.meta
        rows, columns = _rows_and_columns(key, meta, slice(None))
        require_no_truth_values(rows, meta.index)
        rows, columns = evaluated(rows, frame), columns(meta) if callable(columns) else columns
        rows, columns = _labels_at_hand(rows), listed_names(_labels_at_hand(columns, of_columns=True), meta)
        is_of_levels = isinstance(key, tuple) and meta.index.nlevels > 1 and is_key_of_levels(key, meta.index)
        is_frame = isinstance(meta, pd.DataFrame)
        if is_of_levels and is_frame and (not _are_columns(columns, meta) or is_key_of_rows(frame.expr, key)):
            rows, columns = key, slice(None)
        what = shown("loc", key)
        if (
            not isinstance(key, tuple)
            and is_frame
            and isinstance(value, pd.Series)
            and not pd.api.types.is_scalar(rows)
        ):
            require_columns_of_series(meta, what)
        names = columns if isinstance(key, tuple) and is_frame else None
        if names is None and isinstance(key, tuple) and is_frame:  # a label, and not all columns
            names = columns = [None]
        if pd.api.types.is_scalar(rows) and set_or_add(frame, rows, names, value, what):
            return
        set_values(frame, rows_to_set(frame, rows, what), columns, value, what, by_label=by_label)


def require_no_truth_values(rows: Any, index: pd.Index) -> None:
    """Refuse a truth value as a label of others, and as the end of a slice, as pandas does.

    Raises
    ------
    KeyError, TypeError
        If it is one.
    """
    if isinstance(rows, slice) and any(isinstance(one, (bool, np.bool_)) for one in (rows.start, rows.stop)):
        raise TypeError(f"{rows}: boolean values can not be used in a slice")
    if isinstance(rows, (bool, np.bool_)) and index.nlevels == 1 and not pd.api.types.is_bool_dtype(index.dtype):
        raise KeyError(f"{rows}: boolean label can not be used without a boolean index")


def require_columns_of_series(meta: pd.DataFrame, what: str) -> None:
    """Refuse a series for rows of all columns, as pandas does if these have one dtype: by label or by column isn't said.

    Raises
    ------
    ValueError
        If all columns have one dtype.
    """
    if len(set(meta.dtypes)) == 1 and meta.shape[1] > 1:
        raise ValueError(
            f"{what} = a series: setting an array element with a sequence; loc[rows, :] = series sets it in each column by label"
        )


def _rows_and_columns(key: Any, meta: Any, all_columns: Any) -> tuple[Any, Any]:
    """Return what a key says of rows and of columns. A tuple may be a key of rows alone, of an index of several levels."""
    if key is Ellipsis:
        return slice(None), all_columns
    if not isinstance(key, tuple):
        return key, all_columns
    if meta.index.nlevels > 1 and (len(key) != 2 or isinstance(meta, pd.Series)):
        return key, all_columns
    return rows_and_columns("loc", key, meta, all_columns)


def _some_columns(node: FrameExpr, columns: Any) -> FrameExpr:
    """Return the columns of some names: one, a list, a slice of them, or where a mask or a function of the frame is true."""
    if callable(columns):
        columns = columns(node.meta)
    if isinstance(columns, slice) or is_mask(columns) or are_keys_of_levels(columns):
        names = node.meta.columns
        places = pd.DataFrame([range(len(names))], columns=names).loc[:, columns]
        made = columns_at(node, places.iloc[0].tolist() if len(places.columns) else [])
        if places.columns.nlevels == names.nlevels:
            return made
        labelled: FrameExpr = operate(Method("set_axis"), wrap(made), places.columns, kwargs={"axis": 1}).expr
        return labelled
    if node.meta.columns.nlevels > 1:
        return columns_of_levels(node, columns, by_loc=True)
    if isinstance(columns, pd.Index):
        columns = list(columns)
    require_columns(columns if isinstance(columns, list) else [columns], node.meta)
    return Projection(node, columns)


def _labels_at_hand(labels: Any, *, of_columns: bool = False) -> Any:
    """Return a lazy series of labels as they are, computed now; of columns booleans too."""
    if not is_node(labels) or isinstance(labels.expr.meta, pd.DataFrame):
        return labels
    if of_columns:
        found = labels._computed_by_pandas()
        return found.to_numpy() if pd.api.types.is_bool_dtype(found.dtype) else found.tolist()
    return labels if pd.api.types.is_bool_dtype(labels.dtype) else labels._computed_by_pandas().tolist()


def _is_of_rows(rows: Any) -> bool:
    """Whether rows are chosen by something else than labels."""
    return is_node(rows) or callable(rows) or is_mask(rows) or (isinstance(rows, slice) and rows == slice(None))


def is_key_of_rows(node: FrameExpr, key: Any) -> bool:
    """Whether a tuple that could be a row's label and a column's is labels of levels, as pandas looks for these first: which is found out now."""
    return isinstance(key, tuple) and may_be_key(key, node.meta.index) and has_key(node, key)


def _are_columns(columns: Any, meta: Any) -> bool:
    if isinstance(columns, slice) or callable(columns) or is_mask(columns) or are_keys_of_levels(columns):
        return True
    return all(name in meta.columns for name in (columns if isinstance(columns, list) else [columns]))


def first_rows(node: FrameExpr, n: int) -> FrameExpr:
    """Return the first rows of each partition."""
    return _rows_of_partitions(node, "head", n)


def last_rows(node: FrameExpr, n: int) -> FrameExpr:
    """Return the last rows of each partition."""
    return _rows_of_partitions(node, "tail", n)


def _rows_of_partitions(node: FrameExpr, method: str, n: int) -> FrameExpr:
    if isinstance(node.meta, pd.Index):
        bounds = slice(None, n) if method == "head" else slice(-n, None)
        return BlockOp(node, (), BlockCall(_sliced, (Block(0), bounds), label=method))
    return RowsByLabel(node, (), BlockCall(Method(method), (Block(0), n), label=method))


def _sliced(index: Any, bounds: slice) -> Any:
    return index[bounds]
