"""Rows that `loc` chooses, or sets, by times of day, of all days."""

from __future__ import annotations

from datetime import time
from typing import Any

import pandas as pd

from glassloom.dataframe.wrap import operate


def is_of_times_of_day(rows: Any) -> bool:
    """Whether rows are chosen by a time of day, or a slice with one."""
    return isinstance(rows, time) or (isinstance(rows, slice) and isinstance(rows.start or rows.stop, time))


def rows_at_times_of_day(frame: Any, rows: Any) -> Any:
    """Return the rows at a time of day, or between two of them, both included.

    Raises
    ------
    KeyError, ValueError
        As pandas: if a slice has something else than two times, or a step.
    """
    _check(rows)
    return frame.at_time(rows) if isinstance(rows, time) else frame.between_time(rows.start, rows.stop)


def where_times_of_day(frame: Any, rows: Any) -> Any:
    """Return a lazy series that says which rows are at a time of day, or between two of them, both included. Raises as `rows_at_times_of_day`."""
    _check(rows)
    return operate(_where, frame, rows, label="times")


def _where(block: Any, rows: Any) -> Any:
    index = block.index
    places = (
        index.indexer_at_time(rows) if isinstance(rows, time) else index.indexer_between_time(rows.start, rows.stop)
    )
    found = pd.Series(False, index=index)
    found.iloc[places] = True
    return found


def _check(rows: Any) -> None:
    if isinstance(rows, time):
        return
    if rows.step not in (None, 1):
        raise ValueError("Must have step size of 1 with time slices")
    if not isinstance(rows.start, time) or not isinstance(rows.stop, time):
        raise KeyError(f"Cannot mix time and non-time slice keys: {rows.start!r} and {rows.stop!r}")
