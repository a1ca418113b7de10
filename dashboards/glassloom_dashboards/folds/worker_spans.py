"""What each task event says of its worker's time: what it did, what it read before, and how long a task was held up. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from glassloom_metrics.protocol import Action
from numpy.typing import NDArray

from glassloom_dashboards.folds.bins import KIND_BITS, Integers, Spans, joined_spans, microseconds
from glassloom_dashboards.folds.running_tasks import RunningTasks

COMPUTE, INPUTS, TRANSFER, PUBLISH, SPILL, HELD_UP = range(6)
"""What time is spent with: by the threads themselves, beside them (from `TRANSFER` on), or by free threads whose next task is ready.

The last is settled for each task as it comes: over bins it couldn't be told apart from waits behind busy threads.
"""
PLACES = 6

_PLACES = {
    Action.COMPUTE: COMPUTE,
    Action.TRANSFER: TRANSFER,
    Action.DEVICE_TO_HOST: TRANSFER,
    Action.HOST_TO_DEVICE: TRANSFER,
    Action.SERIALISE: PUBLISH,
    Action.SPILL_WRITE: SPILL,
    Action.SPILL_READ: SPILL,
}
_PLACE_OF_ACTION = np.array(
    [_PLACES.get(Action(n), TRANSFER) if n in set(Action) else TRANSFER for n in range(256)], np.int64
)


def worker_spans(column: Callable[[str], NDArray[Any]], first: int, origin_s: float) -> Spans:
    """Return the spans of rows that begin with number `first`: their key is the worker and the place; ``row`` tells the row."""
    start_s, stop_s = column("start_s"), column("stop_s")
    row = np.arange(first, first + len(start_s))
    worker = column("worker").astype(np.int64) << KIND_BITS
    place = _PLACE_OF_ACTION[column("action")]
    begun_s = np.minimum(start_s + column("fetch_s"), stop_s)
    free_s = start_s - column("held_up_s")
    fetched, waited = begun_s > start_s, (free_s < start_s) & (place == COMPUTE)
    parts = [
        (worker | place, begun_s, stop_s, row),
        (
            (worker | np.where(place == COMPUTE, INPUTS, place))[fetched],
            start_s[fetched],
            begun_s[fetched],
            row[fetched],
        ),
        ((worker | HELD_UP)[waited], free_s[waited], start_s[waited], row[waited]),
    ]
    return joined_spans([_spans(*part, origin_s) for part in parts if len(part[0])])


def unfinished_spans(running: RunningTasks, origin_s: float) -> Spans:
    """Return spans such as those of `worker_spans` of the tasks that run or were lost; no row has them."""
    told = running.until_s
    key = np.array([task.worker << KIND_BITS | COMPUTE for task, _ in told], np.int64)
    start_s, stop_s = np.array([(task.started_s, until_s) for task, until_s in told], np.float64).reshape(-1, 2).T
    return _spans(key, start_s, stop_s, np.full(len(told), -1), origin_s)


def _spans(key: Integers, start_s: NDArray[Any], stop_s: NDArray[Any], row: Integers, origin_s: float) -> Spans:
    none = np.zeros(len(key), bool)
    return Spans(key, microseconds(start_s, origin_s), microseconds(stop_s, origin_s), none, row)
