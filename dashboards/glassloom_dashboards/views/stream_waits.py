"""The columns of a task's hover card: how long it was ready and why, how much of its time it was on the CPU, its inputs. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.folds.task_table import TaskTable
from glassloom_dashboards.folds.task_waits import codes_of_bytes

WAIT_COLUMNS = ("wait", "why", "cpu", "bytes_in")
WHYS = ("", "for a free worker", "in the worker's queue")
"""What a task that was ready waited for longest, by the number in the column ``why``; `NOT_KNOWN` besides."""
NOT_KNOWN = 255
_LEAST_S = 1e-6


def wait_columns(tasks: TaskTable, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return how long each task was ready before it began and why, its CPU use in per cent, and the size of its inputs.

    That is a code, see `task_waits.bytes_of_codes`, as is the wait in microseconds: a frame has room for a few bytes a task.
    255 is a per cent, or a reason, that isn't known.
    """
    ready_s = tasks.take("ready_s", rows).astype(np.float64)
    sent_s = tasks.take("sent_s", rows).astype(np.float64)
    queue_s = np.minimum(sent_s, ready_s)
    why = np.where(queue_s > ready_s - queue_s, 2, 1)
    duration_s = np.maximum(tasks.take("stop_s", rows) - tasks.take("start_s", rows), _LEAST_S)
    share = tasks.take("cpu_s", rows).astype(np.float64) / duration_s
    return {
        "wait": codes_of_bytes(ready_s * 1e6),
        "why": np.where(np.isnan(sent_s), NOT_KNOWN, np.where(ready_s > _LEAST_S, why, 0)).astype(np.uint8),
        "cpu": np.where(np.isnan(share), NOT_KNOWN, np.clip(np.nan_to_num(share), 0, 1) * 100).astype(np.uint8),
        "bytes_in": tasks.take("bytes_in", rows),
    }
