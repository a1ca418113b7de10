"""The keys of groups that are values of rows: lazy series, indexes and arrays, and values at hand, as lazy series of the frame's rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_at_hand import with_column_at_hand
from glassloom.dataframe.divisions import cut_alike
from glassloom.dataframe.nodes import LabelKeeping, Projection
from glassloom.dataframe.own_columns import NotOwn, own_column, own_column_at_hand
from glassloom.dataframe.repeated_labels import pair
from glassloom.dataframe.unlike_dtypes import with_one_dtype
from glassloom.dataframe.wrap import is_node, operate, wrap


def with_keys_of_its_rows(frame: Any, by: Any) -> tuple[Any, Any]:
    """Return a frame, and the keys of groups, of which lazy ones are series of the frame's rows.

    Lazy indexes and arrays of the frame's rows, such as ``frame.index.hour``, become series of them. Series of other rows are aligned
    by label, as pandas does, for which all are cut alike. So are pandas series at hand, but for columns of the pandas frame that was cut into
    partitions; arrays, and lists of other values than labels, have a value for each row.

    Raises
    ------
    ValueError
        If an array has another length than the frame.
    """
    by = _each_key(by, lambda one: _own(frame, as_series(frame, one)))
    many: list[Any] = []
    _each_key(by, lambda one: many.append(one) if _is_series(one) else None)
    if all(one.expr.rows == frame.expr.rows for one in many):
        return frame, _with_values_at_hand(frame, by)
    first, *others = cut_alike([frame.expr, *(one.expr for one in many)], "groupby", takes_single=True)
    cut = frame if first is frame.expr else wrap(first)
    found = iter(others)

    def moved(one: Any) -> Any:
        if not _is_series(one):
            return one
        node, series = one.expr, next(found)
        if node.rows == frame.expr.rows and cut is frame:
            return one
        if (column := own_column(frame.expr, node)) is not NotOwn:
            return cut[column]
        pairs = pair([cut.expr, series])
        call = BlockCall(_by_label, (Block(0), Block(1)), label="labels")
        return with_one_dtype(wrap(pairs.result(LabelKeeping(pairs.nodes[0], (pairs.nodes[1],), call))))

    return cut, _with_values_at_hand(cut, _each_key(by, moved))


def _with_values_at_hand(frame: Any, by: Any) -> Any:
    """Return the keys with a lazy series for each of values at hand."""
    if type(by) not in (list, tuple):
        return _of_rows(frame, by) if _are_values(by) else by
    if _is_value_of_each_row(frame, by):
        return _of_rows(frame, by)
    return type(by)(_of_rows(frame, one) if _are_values(one) or type(one) is list else one for one in by)


def _own(frame: Any, by: Any) -> Any:
    """Return the lazy column that a pandas series, or a lazy one of other partitions, is of a frame; anything else as it is."""
    column: Any = NotOwn
    if isinstance(by, pd.Series):
        column = own_column_at_hand(frame.expr, by)
    elif _is_series(by) and by.expr.rows != frame.expr.rows:
        column = own_column(frame.expr, by.expr)
    return by if column is NotOwn else frame[column]


def _are_values(by: Any) -> bool:
    return isinstance(by, (np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray))


def _is_value_of_each_row(frame: Any, by: Any) -> bool:
    """Whether a list is one key, as pandas takes it: as long as the frame, and not all of it are labels."""
    if not by or not all(map(pd.api.types.is_scalar, by)) or any(map(is_node, by)):
        return False
    meta = frame.expr.meta
    labels = {*(meta.columns if isinstance(meta, pd.DataFrame) else ()), *meta.index.names}
    return not all(one in labels for one in by) and _has_rows(frame, len(by))


def _has_rows(frame: Any, count: int) -> bool:
    """Whether a frame has so many rows. Counts them now, if that isn't known: those of the first partition, and the others if these aren't too many."""
    lengths = frame.expr.lengths
    if lengths is not None:
        return sum(lengths) == count
    if frame.npartitions > 1 and len(frame.partitions[0]) > count:
        return False
    return len(frame) == count


def _of_rows(frame: Any, values: Any) -> Any:
    """Return values at hand as a lazy series: a pandas series by label, others by place."""
    base = wrap(Projection(frame.expr, [])) if isinstance(frame.expr.meta, pd.DataFrame) else frame.to_frame()[[]]
    name = getattr(values, "name", None)
    if isinstance(values, pd.Series) and not values.index.is_unique:
        _require_same_labels(frame, values)
        values = values.array
    elif isinstance(values, (tuple, list)):
        values = pd.Index(values, tupleize_cols=False).array
    made = wrap(with_column_at_hand(base, _KEY, values))[_KEY]
    return operate(pd.Series.rename, made, name, label="key")


_KEY = "key"


def _require_same_labels(frame: Any, values: pd.Series) -> None:
    """Check that a series of labels that occur again has the frame's labels. Computes those.

    Raises
    ------
    ValueError
        If it has others.
    """
    if not frame.index.compute().equals(values.index):
        raise ValueError(
            "groupby: labels of a pandas series occur several times, and it isn't of the labels of the frame: it can't be aligned by label. Give "
            "an array with a value for each row"
        )


def _each_key(by: Any, change: Callable[[Any], Any]) -> Any:
    """Return a key, or a list or tuple of them, changed."""
    if isinstance(by, (list, tuple)):
        return type(by)(_each_key(one, change) for one in by) if type(by) in (list, tuple) else by
    return change(by)


def as_series(frame: Any, values: Any) -> Any:
    """Return a lazy index or array of a frame's rows as a series of them; anything else as it is."""
    if not is_node(values) or not isinstance(values.expr.meta, (pd.Index, np.ndarray)):
        return values
    return operate(_as_column, frame, values, label="labels")


def _is_series(by: Any) -> bool:
    return is_node(by) and isinstance(by.expr.meta, pd.Series)


def _by_label(block: Any, keys: Any) -> Any:
    return keys if keys.index.equals(block.index) else keys.reindex(block.index)


def _as_column(block: Any, labels: Any) -> Any:
    is_index = isinstance(labels, pd.Index)
    return pd.Series(labels.array if is_index else labels, index=block.index, name=labels.name if is_index else None)
