"""How long each task was ready before it began, and how long it took to get its inputs. Pure; 0 where it isn't known."""

from __future__ import annotations

from typing import Any

import numpy as np
from glassloom_metrics.protocol import TaskEvents, column
from numpy.typing import NDArray

DTYPES = {"fetch_s": "<f4", "ready_s": "<f4"}
"""What the task table keeps: ``fetch_s`` of the task's own time, and ``ready_s`` before it began."""


def waits_of(message: TaskEvents, skip: int, stop_s: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return the columns of `DTYPES` for the rows of a message but its first `skip`.

    A task that was sent ahead of its inputs was ready when the last of them was there, not when it was sent.

    Parameters
    ----------
    stop_s
        When the tasks of the rows before those of the message ended, as far back as they are kept.
    """
    values = {name: _known(message, name)[skip:] for name in ("sent_wait_s", "ready_wait_s", "fetch_s", "duration_s")}
    start_s = np.frombuffer(column(message, "start_s"), "<f8")[skip:]
    ready_s = values["sent_wait_s"] + values["ready_wait_s"]
    back = np.frombuffer(column(message, "last_input"), "<u4")[skip:].astype(np.int64)
    row = len(stop_s) + np.arange(len(back)) - back
    linked = np.flatnonzero((back > 0) & (row >= 0))
    own_stop_s = start_s + values["duration_s"]
    for inputs, stops, first in ((linked[row[linked] < len(stop_s)], stop_s, 0), (linked[row[linked] >= len(stop_s)], own_stop_s, len(stop_s))):  # fmt: skip
        since_s = start_s[inputs] - stops[row[inputs] - first]
        ready_s[inputs] = np.minimum(ready_s[inputs], np.maximum(since_s, 0.0))
    fetch_s = np.minimum(values["fetch_s"], values["duration_s"])
    return {"fetch_s": fetch_s.astype(np.float32), "ready_s": ready_s.astype(np.float32)}


def _known(message: TaskEvents, name: str) -> NDArray[np.float64]:
    values = np.frombuffer(column(message, name), "<f4").astype(np.float64)
    return np.maximum(np.nan_to_num(values, nan=0.0), 0.0)
