"""What the table of workers says of each, in which order, and what is known of one. Pure: it draws nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from glassloom_metrics.protocol import Action, Pressure
from glassloom_metrics.worker_memory import in_memory_bytes

from glassloom_dashboards.folds.aggregate import ClusterAggregate, WorkerSample
from glassloom_dashboards.folds.worker_history import WorkerHistory
from glassloom_dashboards.parts.memory_words import IN_MEMORY, NOT_MEASURED, of_limit_text
from glassloom_dashboards.parts.task_links import task_href, task_words
from glassloom_dashboards.parts.theme import ACTION_WORDS, bytes_text
from glassloom_dashboards.parts.times import clock_text, duration_text

LAST_TASKS = 12
"""How many tasks are told of a worker: those that ended last."""
_SCAN_ROWS = 65_536

NOTHING = WorkerSample(0.0, 0.0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class WorkerRow:
    """A worker: how it is, by its last sample."""

    history: WorkerHistory
    sample: WorkerSample
    tasks_done: int

    @property
    def worker(self) -> int:
        """Its number."""
        return self.history.joined.worker

    @property
    def is_measured(self) -> bool:
        """Whether it has told anything of its memory and CPU."""
        return self.sample is not NOTHING

    @property
    def state(self) -> str:
        """``"left"``, ``"not measured yet"``, ``"paused"``, ``"high memory"``, ``"busy"`` or ``"idle"``."""
        if self.history.left is not None:
            return "left"
        if not self.is_measured:
            return NOT_MEASURED
        if self.sample.pressure >= Pressure.PAUSED:
            return "paused"
        if self.sample.pressure == Pressure.HIGH:
            return "high memory"
        return "busy" if self.sample.executing else "idle"

    @property
    def memory_bytes(self) -> int:
        """Results of its own and those that it shares, and unmanaged memory."""
        return in_memory_bytes(self.sample)


STATE_ICONS = {
    "busy": "busy",
    "idle": "good",
    NOT_MEASURED: "stopped",
    "high memory": "warning",
    "paused": "paused",
    "left": "stopped",
}
_STATES = tuple(STATE_ICONS)

SORTS: dict[str, Callable[[WorkerRow], Any]] = {
    "name": lambda row: row.worker,
    "state": lambda row: _STATES.index(row.state),
    "threads": lambda row: row.sample.executing,
    "cpu": lambda row: row.sample.cpu_percent,
    "memory": lambda row: row.memory_bytes,
    "spilled": lambda row: row.sample.spilled_bytes,
    "device": lambda row: row.sample.device_held_bytes,
    "shared": lambda row: row.sample.shared_bytes,
    "tasks": lambda row: row.tasks_done,
}


def worker_rows(aggregate: ClusterAggregate) -> list[WorkerRow]:
    """Return all workers that are there, and the last ones that have left."""
    sums = aggregate.sums.workers
    return [
        WorkerRow(history, history.last or NOTHING, (done := sums[history.joined.worker]).count - done.failed)
        for history in aggregate.histories.all()
    ]


def select(rows: list[WorkerRow], text: str, sort: str, *, is_descending: bool) -> list[WorkerRow]:
    """Return the workers with `text` in their name, state or reason; those that have left after the others."""
    wanted = text.casefold()
    found = [row for row in rows if not wanted or wanted in _words(row)]
    found.sort(key=SORTS[sort], reverse=is_descending)
    found.sort(key=lambda row: row.state == "left")
    return found


def _words(row: WorkerRow) -> str:
    left = row.history.left
    joined = row.history.joined
    return f"{joined.name} {joined.pid} {row.state} {left.reason if left else ''}".casefold()


def memory_bar(row: WorkerRow) -> dict[str, Any]:
    """Return the parts of a worker's memory bar in per cent, and the words beside it and for who can't see it."""
    limit, sample = row.history.joined.memory_limit_bytes, row.sample
    whole = max(limit or 0, row.memory_bytes, 1)
    parts = [
        (name, 100 * nbytes / whole, bytes_text(nbytes))
        for name in IN_MEMORY
        for nbytes in [getattr(sample, f"{name}_bytes")]
    ]
    return {
        "parts": parts,
        "limit": 100 * limit / whole if limit else None,
        "words": of_limit_text([sample], limit) if row.is_measured else "",
        "label": ", ".join(f"{name} {words}" for name, _, words in parts),
    }


def device_bar(row: WorkerRow) -> dict[str, Any] | None:
    """Return how full a worker's device is: name, parts of the bar in per cent, and words; None if it has none."""
    joined, sample = row.history.joined, row.sample
    if not joined.devices:
        return None
    total, limit = device_bytes(row)
    pool = max(sample.device_pool_bytes, sample.device_held_bytes)
    parts = {
        "held": sample.device_held_bytes,
        "allocated": pool - sample.device_held_bytes,
        "others": sample.device_other_bytes,
    }
    whole = max(total, pool + sample.device_other_bytes, 1)
    words = ", ".join(f"{name} {bytes_text(nbytes)}" for name, nbytes in parts.items() if nbytes)
    moved = f"; {bytes_text(sample.device_moved_bytes)} moved to the host" if sample.device_moved_bytes else ""
    return {
        "name": (joined.device_names or joined.devices)[0],
        "parts": [(name, 100 * nbytes / whole) for name, nbytes in parts.items()],
        "limit": 100 * limit / whole if limit else None,
        "words": f"{bytes_text(sample.device_held_bytes)}{f' of {bytes_text(total)}' if total else ''}",
        "label": f"{words or 'empty'}{f', of {bytes_text(total)}' if total else ''}{moved}",
    }


def device_bytes(row: WorkerRow) -> tuple[int, int]:
    """Return the memory of a worker's device, and how much of it results may take; 0 if it isn't known."""
    joined = row.history.joined
    return sum(joined.device_total_bytes[:1]), sum(joined.device_limit_bytes[:1])


def last_tasks(aggregate: ClusterAggregate, worker: int) -> list[dict[str, str]]:
    """Return the tasks (and what else was done) of a worker that ended last, the last one first."""
    return [_ended_task(aggregate, row) for row in _last_rows(aggregate, worker)]


def _last_rows(aggregate: ClusterAggregate, worker: int) -> list[int]:
    tasks = aggregate.tasks
    rows: list[int] = []
    for stop in range(tasks.next_row, tasks.first_row, -_SCAN_ROWS):
        start = max(stop - _SCAN_ROWS, tasks.first_row)
        mine = np.flatnonzero(tasks.between("worker", start, stop) == worker)[::-1] + start
        rows += mine.tolist()
        if len(rows) >= LAST_TASKS:
            break
    return rows[:LAST_TASKS]


def _ended_task(aggregate: ClusterAggregate, row: int) -> dict[str, str]:
    tasks = aggregate.tasks
    place, index = row - tasks.first_row, tasks.index[row]
    action, layer = Action(int(tasks["action"][place])), int(tasks["layer"][place])
    stop_s, nbytes = float(tasks["stop_s"][place]), int(tasks["nbytes"][place])
    return {
        "ended": clock_text(stop_s, aggregate.last_at_s),
        "key": task_words(aggregate, layer, index),
        "href": task_href(layer, index, row),
        "action": "" if action == Action.COMPUTE else ACTION_WORDS[action],
        "duration": duration_text(stop_s - float(tasks["start_s"][place])),
        "nbytes": "" if nbytes < 0 else bytes_text(nbytes),
        "outcome": "ok" if tasks["ok"][place] else "failed",
    }


def tasks_under_way(aggregate: ClusterAggregate, worker: int) -> list[dict[str, str]]:
    """Return what a worker runs, or ran when it left; what began first is first."""
    found = [(task, aggregate.last_at_s) for task in aggregate.running.of_worker(worker)]
    found += [(lost.task, lost.at_s) for lost in aggregate.running.lost_of(worker)]
    return [
        {
            "key": task_words(aggregate, task.layer, task.index),
            "href": task_href(task.layer, task.index),
            "thread": f"{task.lane}",
            "began": clock_text(task.started_s, aggregate.last_at_s),
            "duration": duration_text(max(until_s - task.started_s, 0.0)),
        }
        for task, until_s in found
    ]
