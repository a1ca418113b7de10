"""Texts that stand for labels which are times: one of them, such as a second, or all in a stretch of time, such as a day.

pandas tells the two apart by the resolution of all labels: among days ``"2000-01-01"`` is one label, among hours a day.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.label_order import Run, joined_runs, run_of
from glassloom.dataframe.label_ranges import partitions_in_range, rows_in_range
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.prefix import CarriedRows
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import TreeReduce
from glassloom.dataframe.rows_of_label import RowsOfText
from glassloom.dataframe.wrap import wrap
from glassloom.graph import tokenize

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
        if _is_stretch(index, resolution, text):
            return None, _bounds(index, resolution, parsed)
        periods: Any = index
        return pd.Period(parsed, freq=periods.freq), None
    if not _is_one(node, resolution.attrname):
        return None, _bounds(index, resolution, parsed)
    label = pd.Timestamp(parsed)
    if index.tz is None and label.tz is not None:
        raise KeyError(text)
    return label if index.tz is None else _in_zone(label, index.tz), None


def _is_stretch(periods: Any, resolution: Any, text: str) -> bool:
    """Whether a text is several periods, and not one.

    Raises
    ------
    KeyError
        If it is finer than a period.
    """
    if periods._can_partial_date_slice(resolution):
        return True
    if resolution != periods._resolution_obj:
        raise KeyError(text)
    return False


def _in_zone(label: pd.Timestamp, tz: Any) -> pd.Timestamp:
    return label.tz_localize(tz) if label.tz is None else label.tz_convert(tz)


def are_texts_of_times(index: Any, rows: slice) -> bool:
    """Whether the ends of a slice are texts that stand for times, of which pandas takes all between them, and not those that fall."""
    start, stop = rows.start, rows.stop
    return isinstance(index, pd.DatetimeIndex) and isinstance(stop if start is None else start, str)


def labels_of_texts(index: Any, labels: Any) -> pd.Index:
    """Return labels as an index: texts as times, where the labels of a frame are times.

    Raises
    ------
    KeyError
        If a text stands for no time.
    """
    made = pd.Index(labels)
    if not isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex)):
        return made
    if pd.api.types.infer_dtype(made) not in ("string", "datetime"):
        return made
    try:
        if not isinstance(index, pd.DatetimeIndex):
            return made.astype(index.dtype)
        times = pd.DatetimeIndex(made)
    except ValueError as error:
        shown = ", ".join(map(str, made[:3]))
        raise KeyError(f"not all of the labels {shown} are {index.dtype}, as those of the index are") from error
    return times if index.tz is None or times.tz is not None else times.tz_localize(index.tz)


def _no_label(text: str, error: Exception) -> Exception:
    """Return what to raise of a text that pandas can't make a label of: KeyError if it is no time, or one that the zone never has."""
    is_no_time = isinstance(error, ValueError) or type(error).__name__ == "NonExistentTimeError"  # pytz', with pandas 2
    return KeyError(text) if is_no_time or isinstance(error, KeyError) else error


def _bounds(index: Any, resolution: Any, parsed: Any) -> tuple[Any, Any]:
    low, high = index._parsed_string_to_bounds(resolution, parsed)
    return low, high


def _is_one(node: FrameExpr, resolution: str) -> bool:
    """Whether a time of some resolution is one of the labels, all of which are no finer."""
    known = _is_one_by_unit(node, resolution)
    return _IsOne(node, _FINEST_FIRST.index(resolution))() if known is None else known


def _is_one_by_unit(node: FrameExpr, resolution: str) -> bool | None:
    """Whether a time of some resolution is one of the labels, if their dtype tells; None if they must be looked at."""
    if resolution not in _FINEST_FIRST:  # months and longer: labels are days at most
        return False
    return True if _FINEST_FIRST.index(resolution) <= _FINEST_FIRST.index(_OF_UNITS[node.meta.index.unit]) else None


class _IsOne:
    """Whether all labels of a node are no finer than a text: reads them all when called."""

    def __init__(self, node: FrameExpr, place: int) -> None:
        self.node = node
        self.place = place

    def __glassloom_tokenize__(self) -> str:
        return tokenize(self.node.name, self.place)

    def __call__(self) -> bool:
        found = tree(_without_columns(self.node), Operation(_resolution_of, min, min), 0, "resolution")
        return bool(self.place <= wrap(found).compute())


def _without_columns(node: FrameExpr) -> FrameExpr:
    return Projection(node, []) if isinstance(node.meta, pd.DataFrame) else node


def _resolution_of(block: Any) -> int:
    return _FINEST_FIRST.index(block.index.resolution) if len(block) else len(_FINEST_FIRST) - 1


def rows_of_time(node: FrameExpr, text: str) -> FrameExpr | None:
    """Return the rows of a text among times that stands for a stretch, or may do so; None if it is one label.

    Raises
    ------
    KeyError
        If the text is no time, or that time is outside of known divisions.
    """
    index: Any = node.meta.index
    try:
        parsed, resolution = index._parse_with_reso(text)
        is_one = _is_one_by_unit(node, resolution.attrname)
        if is_one:
            return None
        low_and_high = _bounds(index, resolution, parsed)
    except Exception as error:  # pytz' errors are no ValueErrors
        raise _no_label(text, error) from None
    if is_one is False:
        return rows_of_text(node, text, low_and_high)
    place = _FINEST_FIRST.index(resolution.attrname)
    checked = _checked_rows(node, text, low_and_high, place)
    return RowsOfText(*checked.operands, _IsOne(node, place))


def rows_of_text(node: FrameExpr, text: str, bounds: tuple[Any, Any]) -> FrameExpr:
    """Return the rows whose labels are in the stretch of time that a text stands for, such as a month; the labels needn't be in order.

    There may be none if the labels are in order on both sides of that time, or in no order. Otherwise computing them is a KeyError, also
    if the partitions that may have such labels don't tell.

    Raises
    ------
    KeyError
        If that time is outside of known divisions.
    """
    return _checked_rows(node, text, bounds, None)


def _checked_rows(node: FrameExpr, text: str, bounds: tuple[Any, Any], place: int | None) -> CarriedRows:
    low, high = bounds
    if node.divisions[0] is not None and (high < node.divisions[0] or low > node.divisions[-1]):
        raise KeyError(text)
    call = BlockCall(_same_rows, (Block(0), Block(1)), label="loc")
    checked = may_have_none(node, text, bounds, place, f"loc[{text!r}:{text!r}] gives its rows, which may be none")
    return CarriedRows(rows_in_range(node, low, high), (checked,), call, node.meta)


def check_of_text(node: FrameExpr, text: str, hint: str) -> TreeReduce:
    """Return the node that raises KeyError if labels have none in the time that a text stands for, but where pandas takes it for no rows.

    `hint` says what to do about it.

    Raises
    ------
    KeyError
        If the text is no time.
    """
    index: Any = node.meta.index
    try:
        parsed, resolution = index._parse_with_reso(text)
        if parsed is pd.NaT:
            raise KeyError(text)
        both = _bounds(index, resolution, parsed)
        if isinstance(index, pd.PeriodIndex):
            return may_have_none(node, text, both, None if _is_stretch(index, resolution, text) else 0, hint)
    except Exception as error:  # pytz' errors are no ValueErrors
        raise _no_label(text, error) from None
    if pd.Timestamp(text).as_unit(index.unit) != pd.Timestamp(text):
        raise KeyError(f"{text!r} is finer than the labels, which are whole {index.unit}; {hint}")
    is_known = resolution.attrname in _FINEST_FIRST
    return may_have_none(node, text, both, _FINEST_FIRST.index(resolution.attrname) if is_known else None, hint)


class _Seen(NamedTuple):
    """What labels say of a stretch of time: how many are in it, how fine they are, and whether they are in order."""

    n_found: int
    finest: int
    order: Run


def may_have_none(node: FrameExpr, text: str, bounds: tuple[Any, Any], place: int | None, hint: str) -> TreeReduce:
    """Return the node that raises KeyError if no label is in a stretch of time, but where pandas gives no rows then.

    `place` is how fine the text is, if it is one label unless there are finer ones; None: it is a stretch.
    """
    low, high = bounds
    some = partitions_in_range(node, low, high)
    finish: Callable[..., Any] = partial(_require_some, text, hint, low, high, place, some is node)
    return tree(
        _without_columns(some), Operation(partial(_seen, low, high), _seen_together, finish), 0, "may-have-none"
    )


def _seen(low: Any, high: Any, block: Any) -> _Seen:
    labels = block.index
    n_found = int(((labels >= low) & (labels <= high)).sum())
    finest = _resolution_of(block) if isinstance(labels, pd.DatetimeIndex) else len(_FINEST_FIRST) - 1
    return _Seen(n_found, finest, run_of(labels))


def _seen_together(parts: list[_Seen]) -> _Seen:
    return _Seen(
        sum(part.n_found for part in parts),
        min(part.finest for part in parts),
        joined_runs([part.order for part in parts]),
    )


def _require_some(
    text: str, hint: str, low: Any, high: Any, place: int | None, are_all: bool, parts: list[_Seen]
) -> int:
    seen = _seen_together(parts)
    if seen.n_found:
        return 0
    ends = seen.order.ends
    is_one = place is not None and place <= seen.finest
    is_in_order = seen.order.rises or (
        seen.order.falls and PANDAS_VERSION >= (3, 1)
    )  # before, pandas takes no heed of labels that fall
    is_outside = is_in_order and (high < ends.min() or low > ends.max()) if len(ends) else not are_all
    if is_one or is_outside:
        raise KeyError(f"{text!r}: no label is in that time; {hint}")
    return 0


def _same_rows(block: Any, checked: int) -> Any:
    return block
