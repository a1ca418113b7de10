"""`drop` of rows: those of some labels go, and labels that no partition has are an error."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.call import Attribute, Block, BlockCall
from glassloom.dataframe.moving.distinct import distinct_rows
from glassloom.dataframe.nodes import FrameExpr, LabelKeeping, SomeRows
from glassloom.dataframe.options import is_listed
from glassloom.dataframe.partitions import Partitions
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import OptionError


def dropped_rows(frame: Any, labels: Any, level: Any, errors: str) -> Any:
    """Return a lazy frame or series without the rows of some labels.

    Parameters
    ----------
    frame
        The lazy frame or series.
    labels
        A label, a list of them, or a lazy index or series of labels.
    level
        The level of a `MultiIndex` that has the labels; None: the whole index.
    errors
        ``"raise"`` if a label that no row has is an error, ``"ignore"`` if not.

    Raises
    ------
    KeyError
        If a label lies outside the known divisions; when computing, if no partition has it.
    """
    if errors not in ("raise", "ignore"):
        raise OptionError(f"drop: errors={errors!r} should be 'raise' or 'ignore'")
    if labels is None:
        raise ValueError("drop: give labels= or index=, the labels of rows (of a frame also columns=); none is given")
    node = frame.expr
    if is_node(labels):
        wanted: tuple[FrameExpr, ...] = (_distinct(labels),)
        places: tuple[Any, ...] = (Block(1),)
        looked_at = node
    else:
        listed = labels if is_listed(labels) else [labels]
        if not len(listed):
            return frame
        found = _as_index(listed)
        wanted, places = (), (_as_times(found, node.meta.index) if level is None else found,)
        looked_at = _partitions_with(node, places[0], level, required=errors == "raise")
    checks: tuple[FrameExpr, ...] = ()
    if errors == "raise":
        index = operate(Attribute("index"), wrap(looked_at), kind=LabelKeeping, label="index").expr
        are_found = partial(_are_found, level, None if wanted else places[0])
        checks = (tree(index, Operation(are_found, _joined, _require_all), True, "drop-check", others=wanted),)
    call = BlockCall(_without, (Block(0), *places), {"level": level}, label="drop")
    return wrap(SomeRows(node, (*wanted, *checks), call))


def _distinct(labels: Any) -> FrameExpr:
    """Return the node of the distinct labels of a lazy index or series, in one partition."""
    values = labels.to_series() if isinstance(labels.expr.meta, pd.Index) else labels
    if not isinstance(values.expr.meta, pd.Series):
        raise TypeError(f"drop takes labels, a lazy index or a lazy series, not a lazy {type(labels).__name__}")
    return distinct_rows(values.expr, None, "first", False, 1, None)


def _as_index(labels: Any) -> pd.Index:
    if isinstance(labels, pd.Index):
        return labels
    if isinstance(labels, pd.Series):
        if _are_plain(labels.dtype):  # one by one they take a microsecond each
            return pd.Index(labels.array)
        labels = labels.array
    if isinstance(labels, np.ndarray):
        return pd.Index(labels, tupleize_cols=False)
    listed = list(labels)  # None beside numbers is a label of its own
    return pd.Index(listed, dtype=object if any(one is None for one in listed) else None, tupleize_cols=False)


def _are_plain(dtype: Any) -> bool:
    """Whether an index of an array has the same labels as one of the list of its values: numbers, times, or pandas' own text."""
    is_text = isinstance(dtype, pd.StringDtype) and HAS_COPY_ON_WRITE
    is_of_numpy = isinstance(dtype, np.dtype) and dtype.kind in "iufmM"
    return is_of_numpy or isinstance(dtype, pd.DatetimeTZDtype) or (is_text and dtype.na_value is np.nan)


def _as_times(labels: pd.Index, index: pd.Index) -> pd.Index:
    """Return texts as the times of an index, and missing labels as its own, which pandas doesn't find where labels are repeated."""
    if not isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)) or isinstance(labels, pd.MultiIndex):
        return labels
    if not (labels.isna().all() or all(isinstance(label, str) for label in labels)):
        return labels
    try:
        if isinstance(index, pd.TimedeltaIndex):
            return pd.TimedeltaIndex(pd.to_timedelta(labels)).as_unit(index.unit)
        times = pd.DatetimeIndex(pd.to_datetime(labels)).as_unit(index.unit)
        return times.tz_localize(index.tz) if times.tz is None else times.tz_convert(index.tz)
    except ValueError:  # no label of this index
        return labels


def _partitions_with(node: FrameExpr, labels: pd.Index, level: Any, *, required: bool) -> FrameExpr:
    """Return the partitions that may have rows of the labels, as the known divisions say.

    Raises
    ------
    KeyError
        If all labels are `required`, and one lies outside the divisions.
    """
    divisions = node.divisions
    if divisions[0] is None or level is not None or not _can_compare(labels, node.meta.index):
        return node
    outside = [label for label in labels if not divisions[0] <= label <= divisions[-1]]
    if outside and required:
        raise KeyError(_not_found(outside))
    last = node.npartitions - 1
    numbers = sorted({min(max(bisect_right(divisions, label) - 1, 0), last) for label in labels})
    return Partitions(node, tuple(numbers)) if len(numbers) <= last else node


def _can_compare(labels: pd.Index, index: pd.Index) -> bool:
    """Whether labels are of the index's own kind: numbers, text, or times of its zone."""
    both_numbers = all(isinstance(one.dtype, np.dtype) and one.dtype.kind in "iuf" for one in (labels, index))
    return both_numbers and not labels.hasnans or (labels.dtype == index.dtype and labels.dtype != object)


def _are_found(level: Any, labels: pd.Index | None, index: pd.Index, *others: Any) -> tuple[pd.Index, Any]:
    """Return the labels, and which of them an index has."""
    wanted = _as_index(others[0]) if labels is None else labels
    if level is not None:
        return wanted, wanted.isin(
            index.get_level_values(level)
        ) | wanted.isna()  # as pandas, which misses no missing label
    if isinstance(index, pd.MultiIndex):
        return wanted, np.array([label in index for label in wanted], bool)
    return wanted, np.asarray(index.unique().get_indexer_for(wanted) >= 0)


def _joined(parts: list[tuple[pd.Index, Any]]) -> tuple[pd.Index, Any]:
    return parts[0][0], np.logical_or.reduce([found for _, found in parts])


def _require_all(parts: list[tuple[pd.Index, Any]]) -> bool:
    labels, found = _joined(parts)
    if not found.all():
        raise KeyError(_not_found(labels[~found].tolist()))
    return True


def _not_found(labels: list[Any]) -> str:
    return f"{labels} not found in axis"


def _without(block: Any, labels: Any, level: Any) -> Any:
    if not len(block) and level is None:  # pandas 2 fails on no rows that were cut from repeated labels
        return block
    index = block.index
    if level is None and index.dtype == labels.dtype and _are_plain(index.dtype) and index.is_unique:
        places = index.get_indexer_for(_as_index(labels))
        places = places[places >= 0]
        made = block.take(np.delete(np.arange(len(index)), places))
        made.index = index.delete(places)
        return made
    given = labels.array if isinstance(labels, pd.Series) else labels
    if level is None or block.index.nlevels == 1:
        return block.drop(given, level=level, errors="ignore")
    return block[~_are_of_level(block.index.get_level_values(level), _as_index(given))]


def _are_of_level(values: pd.Index, labels: pd.Index) -> Any:
    """Return which values are among labels. (pandas takes missing ones for absent where there are as many rows as labels in the level.)"""
    are_missing = np.asarray(labels.isna())
    found: Any = np.asarray(values.isin(labels[~are_missing]))
    return found | values.isna() if are_missing.any() else found
