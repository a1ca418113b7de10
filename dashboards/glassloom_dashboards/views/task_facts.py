"""What is known of one task: its attempts, where their time went, and why they waited. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from glassloom_metrics.protocol import NO_WORKER, Action

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.running_tasks import LostTask, RunningTask
from glassloom_dashboards.folds.task_finding import rows_of_key
from glassloom_dashboards.folds.task_waits import bytes_of_codes

_SAME_START_S = 1e-3
_BRIEF_S = 1e-4
"""Waits that are shorter aren't worth a word."""


@dataclass(frozen=True)
class TaskRow:
    """A row of the task table; None is what isn't known."""

    row: int
    layer: int
    index: str
    worker: int
    lane: int
    action: Action
    ok: bool
    attempt: int
    start_s: float
    stop_s: float
    ready_s: float
    sent_s: float | None
    fetch_s: float
    deserialise_s: float | None
    cpu_s: float | None
    nbytes: int | None
    bytes_in: float | None
    link: int
    device_s: float | None = None
    """Time on its worker's device."""

    @property
    def duration_s(self) -> float:
        """From start to stop."""
        return self.stop_s - self.start_s

    @property
    def queue_s(self) -> float:
        """How long it was ready and at the worker."""
        return min(self.sent_s or 0.0, self.ready_s)

    @property
    def for_worker_s(self) -> float:
        """How long it was ready and not yet sent to a worker."""
        return self.ready_s - self.queue_s

    @property
    def ahead_s(self) -> float:
        """How long before its inputs were there it was sent to the worker."""
        return max((self.sent_s or 0.0) - self.ready_s, 0.0)

    @property
    def producer(self) -> int | None:
        """Of a transfer: the worker that made the result."""
        return self.link if self.action == Action.TRANSFER and self.link != NO_WORKER else None

    @property
    def last_input(self) -> int | None:
        """The row of the input that came last."""
        return self.row - self.link if self.link and self.action == Action.COMPUTE else None


def read_row(aggregate: ClusterAggregate, row: int) -> TaskRow:
    """Return a row of the task table, which must not have gone."""
    tasks = aggregate.tasks
    place = row - tasks.first_row
    values = {name: tasks[name][place].item() for name in _COLUMNS}
    action = values["action"] if values["action"] in Action._value2member_map_ else Action.COMPUTE
    known = {name: None if np.isnan(values[name]) else values[name] for name in ("sent_s", "deserialise_s", "cpu_s")}
    bytes_in = float(bytes_of_codes(tasks["bytes_in"][place : place + 1])[0])
    worker, lane = tasks.threads[values["thread"]]
    return TaskRow(
        row,
        values["layer"],
        tasks.index[row],
        worker,
        lane,
        Action(action),
        bool(values["ok"]),
        values["attempt"],
        values["start_s"],
        values["stop_s"],
        values["ready_s"],
        fetch_s=values["fetch_s"],
        nbytes=None if values["nbytes"] < 0 else int(values["nbytes"]),
        bytes_in=None if np.isnan(bytes_in) else bytes_in,
        link=values["link"],
        device_s=aggregate.device_times.of_row(row),
        **known,
    )


_COLUMNS = ("layer", "action", "ok", "attempt", "start_s", "stop_s", "ready_s", "sent_s", "fetch_s", "deserialise_s", "cpu_s", "nbytes", "link", "thread")  # fmt: skip


@dataclass(frozen=True)
class Attempt:
    """One time that a task ran, or runs: ``row`` if it has ended, else what was told of it while it ran.

    ``outcome`` is ``"finished"``, ``"failed"``, ``"running"``, ``"interrupted"``: the cluster ended meanwhile, or ``"lost"``:
    the worker left meanwhile.
    """

    outcome: str
    worker: int
    lane: int
    start_s: float
    stop_s: float
    row: TaskRow | None = None


@dataclass(frozen=True)
class Task:
    """One task: its attempts, the oldest first, and the rows of what was done with its result."""

    layer: int
    index: str
    attempts: tuple[Attempt, ...]
    others: tuple[TaskRow, ...]

    @property
    def last(self) -> TaskRow | None:
        """The row of the attempt that ended last."""
        return next((one.row for one in reversed(self.attempts) if one.row), None)


def task_of_key(aggregate: ClusterAggregate, layer: int, index: str) -> Task:
    """Return what is known of a task."""
    rows = [read_row(aggregate, row) for row in rows_of_key(aggregate.tasks, layer, index)]
    attempts = [_ended(row) for row in rows if row.action == Action.COMPUTE]
    attempts += [
        _unfinished(aggregate, task) for task in aggregate.running.now if (task.layer, task.index) == (layer, index)
    ]
    starts = [attempt.start_s for attempt in attempts]
    attempts += [
        _lost(lost)
        for lost in aggregate.running.lost
        if (lost.task.layer, lost.task.index) == (layer, index)
        and all(abs(start_s - lost.task.started_s) > _SAME_START_S for start_s in starts)
    ]
    attempts.sort(key=lambda attempt: attempt.start_s)
    return Task(layer, index, tuple(attempts), tuple(row for row in rows if row.action != Action.COMPUTE))


def _ended(row: TaskRow) -> Attempt:
    return Attempt("finished" if row.ok else "failed", row.worker, row.lane, row.start_s, row.stop_s, row)


def _unfinished(aggregate: ClusterAggregate, task: RunningTask) -> Attempt:
    outcome = "interrupted" if aggregate.state in ("ended", "recording") else "running"
    until_s = max(aggregate.running.at_s or 0.0, task.started_s)
    return Attempt(outcome, task.worker, task.lane, task.started_s, until_s)


def _lost(lost: LostTask) -> Attempt:
    task = lost.task
    return Attempt("lost", task.worker, task.lane, task.started_s, max(lost.at_s, task.started_s))


@dataclass(frozen=True)
class Phase:
    """A part of the time from when a task was asked for until it ended."""

    id: str
    words: str
    seconds: float


def phases_of(one: TaskRow, asked_s: float | None) -> list[Phase]:
    """Return where the time of an attempt went, in order, without what took none.

    Parameters
    ----------
    asked_s
        When its run asked for it; None if that isn't known.
    """
    waited_s = one.start_s - one.ready_s - asked_s if asked_s is not None and one.attempt <= 1 else 0.0
    unpickled_s = min(one.deserialise_s or 0.0, one.duration_s)
    fetched_s = min(one.fetch_s, one.duration_s - unpickled_s)
    called_s = one.duration_s - fetched_s - unpickled_s
    phases = [
        Phase("inputs", "waited for its inputs", waited_s),
        Phase("worker", "ready, waited for a worker", one.for_worker_s),
        Phase("queue", "sent, in the worker's queue", one.queue_s),
        Phase("fetch", "got its inputs", fetched_s),
        Phase("unpickle", "unpickled its inputs", unpickled_s),
    ]
    if one.cpu_s is None:
        phases.append(Phase("cpu", "ran", called_s))
    else:
        on_cpu_s = min(one.cpu_s, called_s)
        phases += [Phase("cpu", "ran, on the CPU", on_cpu_s), Phase("off", "ran, off the CPU", called_s - on_cpu_s)]
    return [phase for phase in phases if phase.seconds > 1e-9]


def main_wait(one: TaskRow) -> tuple[str, float]:
    """Return the id of the phase in which a task that was ready waited longest before it ran, and for how long in all."""
    waits = {"worker": one.for_worker_s, "queue": one.queue_s}
    longest = max(waits, key=lambda name: waits[name])
    return (longest, one.ready_s) if one.ready_s > _BRIEF_S else ("", 0.0)


def waiting_for(aggregate: ClusterAggregate, row: int, limit: int) -> list[int]:
    """Return rows of tasks for which this one was the input that came last, the oldest first."""
    tasks = aggregate.tasks
    first = row + 1 - tasks.first_row
    links = tasks["link"][first:]
    is_meant = links == np.arange(1, len(links) + 1, dtype=np.uint32)
    is_meant &= tasks["action"][first:] == Action.COMPUTE
    return (np.flatnonzero(is_meant)[:limit] + row + 1).tolist()


def transfers_in(aggregate: ClusterAggregate, one: TaskRow, limit: int) -> list[TaskRow]:
    """Return what the worker read from others while this task got its inputs: these are among them."""
    until_s = one.start_s + one.fetch_s + (one.deserialise_s or 0.0)
    if until_s <= one.start_s:
        return []
    tasks = aggregate.tasks
    rows = tasks.rows_between(one.start_s, until_s)
    is_meant = (tasks.take("action", rows) == Action.TRANSFER) & (tasks.take("worker", rows) == one.worker)
    return [read_row(aggregate, row) for row in rows[is_meant][:limit].tolist()]
