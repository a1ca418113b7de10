"""`task_columns`: the rows of task events as whoever exports them wants them, whatever form they travel in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom_metrics.protocol import COLUMN_TYPECODES, TaskEvents, column, stops_s


def task_columns(events: TaskEvents) -> dict[str, Sequence[Any]]:
    """Return the columns of task events by name, equally long: ``row`` numbers from the cluster's start, ``index``, ``stop_s``, and
    all others of the protocol.

    >>> from glassloom_metrics.protocol import task_events
    >>> columns = task_columns(task_events(12, ["3, 4"], start_s=1.0, duration_s=0.5))
    >>> columns["row"], columns["stop_s"]
    (range(12, 13), array('d', [1.5]))
    """
    columns: dict[str, Sequence[Any]] = {
        "row": range(events.first, events.first + len(events)),
        "index": events.index,
        "stop_s": stops_s(events),
    }
    return columns | {name: column(events, name) for name in COLUMN_TYPECODES}
