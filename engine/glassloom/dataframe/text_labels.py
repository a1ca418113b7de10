"""Texts that stand for labels which are times: one of them, such as a second, or all in a stretch of time, such as a day.

pandas tells the two apart by the resolution of all labels: among days ``"2000-01-01"`` is one label, among hours a day.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd

from glassloom.dataframe.label_ranges import rows_in_range
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import wrap

_FINEST_FIRST = ("nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day")
_OF_UNITS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def label_of_text(node: FrameExpr, text: Any) -> tuple[Any, tuple[Any, Any] | None]:
    """Return the label that a text is among the labels of a frame, or the first and last time that it stands for.

    What isn't a text, and texts among labels that are no times, are labels. How fine labels are is found out now, unless that doesn't matter.

    Raises
    ------
    KeyError
        If the text is no time.
    """
    index: Any = node.meta.index
    if isinstance(index, pd.PeriodIndex) and isinstance(text, datetime):
        return pd.Period(text, freq=node.meta.index.freq), None
    if not isinstance(text, str) or not isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex)):
        return text, None
    try:
        return _label_of_time(node, index, text)
    except Exception as error:  # pytz' errors are no ValueErrors
        raise _no_label(text, error) from None


def _label_of_time(node: FrameExpr, index: Any, text: str) -> tuple[Any, tuple[Any, Any] | None]:
    if isinstance(index, pd.TimedeltaIndex):
        return pd.Timedelta(text), None
    parsed, resolution = index._parse_with_reso(text)
    if isinstance(index, pd.PeriodIndex):
        periods: Any = index
        if periods._can_partial_date_slice(resolution):
            return None, _bounds(index, resolution, parsed)
        if resolution != periods._resolution_obj:  # it is finer than a period
            raise KeyError(text)
        return pd.Period(parsed, freq=periods.freq), None
    if not _is_one(node, resolution.attrname):
        return None, _bounds(index, resolution, parsed)
    label = pd.Timestamp(parsed)
    if index.tz is None and label.tz is not None:
        raise KeyError(text)
    return label if index.tz is None else _in_zone(label, index.tz), None


def _in_zone(label: pd.Timestamp, tz: Any) -> pd.Timestamp:
    return label.tz_localize(tz) if label.tz is None else label.tz_convert(tz)


def are_texts_of_times(index: Any, rows: slice) -> bool:
    """Whether the ends of a slice are texts that stand for times, of which pandas takes all between them, and not those that fall."""
    start, stop = rows.start, rows.stop
    return isinstance(index, pd.DatetimeIndex) and isinstance(stop if start is None else start, str)


def labels_of_texts(index: Any, labels: Any) -> pd.Index:
    """Return labels as an index: texts as times, where the labels of a frame are times."""
    made = pd.Index(labels)
    if not isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex)):
        return made
    if pd.api.types.infer_dtype(made) not in ("string", "datetime"):
        return made
    if not isinstance(index, pd.DatetimeIndex):
        return made.astype(index.dtype)
    times = pd.DatetimeIndex(made)
    return times if index.tz is None or times.tz is not None else times.tz_localize(index.tz)


def bounds_of_text(index: Any, text: str) -> tuple[Any, Any]:
    """Return the first and last time that a text stands for among labels like those of an index.

    Raises
    ------
    KeyError
        If the text is no time.
    """
    try:
        parsed, resolution = index._parse_with_reso(text)
        return _bounds(index, resolution, parsed)
    except Exception as error:  # pytz' errors are no ValueErrors
        raise _no_label(text, error) from None


def _no_label(text: str, error: Exception) -> Exception:
    """Return what to raise of a text that pandas can't make a label of: KeyError if it is no time, or one that the zone never has."""
    is_no_time = isinstance(error, ValueError) or type(error).__name__ == "NonExistentTimeError"  # pytz', with pandas 2
    return KeyError(text) if is_no_time or isinstance(error, KeyError) else error


def _bounds(index: Any, resolution: Any, parsed: Any) -> tuple[Any, Any]:
    low, high = index._parsed_string_to_bounds(resolution, parsed)
    return low, high


def _is_one(node: FrameExpr, resolution: str) -> bool:
    """Whether a time of some resolution is one of the labels, all of which are no finer."""
    if resolution not in _FINEST_FIRST:  # months and longer: labels are days at most
        return False
    place = _FINEST_FIRST.index(resolution)
    if place <= _FINEST_FIRST.index(_OF_UNITS[node.meta.index.unit]):
        return True
    found = tree(node, Operation(_resolution_of, min, min), 0, "resolution")
    return place <= wrap(found).compute()


def _resolution_of(block: Any) -> int:
    return _FINEST_FIRST.index(block.index.resolution) if len(block) else len(_FINEST_FIRST) - 1


def rows_of_text(node: FrameExpr, text: str, bounds: tuple[Any, Any]) -> FrameExpr:
    """Return the rows whose labels are in the time that a text stands for, such as a day; the labels needn't be in order.

    Raises
    ------
    KeyError
        If that time is outside of known divisions.
    """
    low, high = bounds
    if node.divisions[0] is not None and (high < node.divisions[0] or low > node.divisions[-1]):
        raise KeyError(text)
    return rows_in_range(node, low, high)
