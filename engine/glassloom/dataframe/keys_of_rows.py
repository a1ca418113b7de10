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
from glassloom.dataframe.own_columns import NotOwn, has_same_values, is_own, own_column, require_same_labels
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
    by = _each_key(by, lambda one: as_series(frame, one))
    own = [_own_label(frame, one) for one in _flat(by)]
    by = _each_key(by, lambda one: _own_column(frame, one))
    many = [one for one in _flat(by) if _is_series(one)]
    if not all(one.expr.rows == frame.expr.rows for one in many):
        frame, by = _cut_alike(frame, by, many)
    return _with_own_columns(frame, _with_values_at_hand(frame, by), own)


def _cut_alike(frame: Any, by: Any, many: list[Any]) -> tuple[Any, Any]:
    """Return a frame, and the keys, of which the lazy series are aligned by label."""
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

    return cut, _each_key(by, moved)


def _with_values_at_hand(frame: Any, by: Any) -> Any:
    """Return the keys with a lazy series for each of values at hand."""
    if type(by) not in (list, tuple):
        return _of_rows(frame, by) if _are_values(by) else by
    if _is_value_of_each_row(frame, by):
        return _of_rows(frame, by)
    return type(by)(_of_rows(frame, one) if _are_values(one) or type(one) is list else one for one in by)


def _own_label(frame: Any, key: Any) -> Any:
    """Return the label of the column that pandas takes a series for; `NotOwn` if there is none, or it is one of the frame's node."""
    if isinstance(key, pd.Series):
        return key.name if is_own(frame.expr, key) else NotOwn
    is_asked = _is_series(key) and own_column(frame.expr, key.expr) is NotOwn
    return key.name if is_asked and is_own(frame.expr, key.expr) else NotOwn


def _own_column(frame: Any, key: Any) -> Any:
    """Return the frame's column for a series that is it, with all its values; anything else as it is."""
    if _own_label(frame, key) is NotOwn:
        return key
    if isinstance(key, pd.Series):
        # If labels repeat, rows of equal ones are in the order that `from_pandas` has sorted them to.
        sorts = not key.index.is_unique and not frame.index.compute().equals(key.index)
        return key.sort_index(kind="stable") if sorts else key
    if not has_same_values(frame.expr, key.expr):
        return key
    require_same_labels(frame.expr, key.expr)
    return frame[key.name]


def _with_own_columns(frame: Any, by: Any, own: list[Any]) -> tuple[Any, Any]:
    """Return a frame and keys, of which those that pandas takes for columns with a label are these, with the values of the keys."""
    if all(label is NotOwn for label in own):
        return frame, by
    for key, label in zip(_flat(by), own, strict=True):
        if label is not NotOwn and own_column(frame.expr, key.expr) is NotOwn:
            frame = wrap(frame._assigned({label: key}))
    keys = [key if label is NotOwn else frame[label] for key, label in zip(_flat(by), own, strict=True)]
    return frame, type(by)(keys) if type(by) in (list, tuple) else keys[0]


def _flat(by: Any) -> list[Any]:
    """Return the keys as a list."""
    return list(by) if type(by) in (list, tuple) else [by]


def _are_values(by: Any) -> bool:
    return isinstance(by, (np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray))


def _is_value_of_each_row(frame: Any, by: Any) -> bool:
    """Whether a list is one key, as pandas takes it: as long as the frame, and not all of it are labels.

    Where the number of rows isn't known, a list of one, or with a label in it, is of labels: rows are counted for others alone.
    """
    if not by or not all(map(pd.api.types.is_scalar, by)) or any(map(is_node, by)):
        return False
    meta = frame.expr.meta
    labels = {*(meta.columns if isinstance(meta, pd.DataFrame) else ()), *meta.index.names}
    are_labels = [one in labels for one in by]
    if frame.expr.lengths is None and (len(by) == 1 or any(are_labels)):
        return False
    return not all(are_labels) and _has_rows(frame, len(by))


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
    name = getattr(values, "name", None)
    if isinstance(values, pd.Series) and not values.index.is_unique:
        _require_same_labels(frame, values)
        values = values.array
    elif isinstance(values, (tuple, list)):
        values = pd.Index(values, tupleize_cols=False).array
    return series_of_values(frame, values, name)


def series_of_values(frame: Any, values: Any, name: Any, *, infers: bool = True) -> Any:
    """Return values at hand as a lazy series of a frame's rows: a pandas series by label, arrays by place.

    Parameters
    ----------
    infers
        Whether objects in an array become of the dtype that pandas finds for all of them.

    Raises
    ------
    ValueError
        If an array has another length than the frame.
    """
    base = wrap(Projection(frame.expr, [])) if isinstance(frame.expr.meta, pd.DataFrame) else frame.to_frame()[[]]
    made = wrap(with_column_at_hand(base, _KEY, values, infers=infers))[_KEY]
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
