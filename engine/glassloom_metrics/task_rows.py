"""`task_columns`: the rows of task events as whoever exports them wants them, whatever form they travel in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom_metrics.protocol import COLUMN_TYPECODES, TaskEvents, column


def task_columns(events: TaskEvents) -> dict[str, Sequence[Any]]:
    """Return the columns of task events by name, equally long: ``row`` numbers from the cluster's start, ``index``, and all others.

    ``start_s`` and ``stop_s`` are among them, in seconds since the epoch.

    >>> from array import array
    >>> from glassloom_metrics.protocol import pack_column
    >>> packed = [pack_column(name, [value]) for name, value in zip(COLUMN_TYPECODES, [7, 0, 1, 0, 1.0, 1.5, 8, 1])]
    >>> events = TaskEvents(12, packed[0], ["3, 4"], *packed[1:])
    >>> task_columns(events)["row"], task_columns(events)["stop_s"]
    (range(12, 13), array('d', [1.5]))
    """
    columns: dict[str, Sequence[Any]] = {
        "row": range(events.first, events.first + len(events)),
        "index": events.index,
    }
    return columns | {name: column(events, name) for name in COLUMN_TYPECODES}
