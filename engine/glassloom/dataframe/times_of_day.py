"""Rows that `loc` chooses by times of day, of all days."""

from __future__ import annotations

from datetime import time
from typing import Any


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
    if isinstance(rows, time):
        return frame.at_time(rows)
    if rows.step not in (None, 1):
        raise ValueError("Must have step size of 1 with time slices")
    if not isinstance(rows.start, time) or not isinstance(rows.stop, time):
        raise KeyError(f"Cannot mix time and non-time slice keys: {rows.start!r} and {rows.stop!r}")
    return frame.between_time(rows.start, rows.stop)
