"""What the page of a task says of it: its state, why it waited, where its result is, and what it printed. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from glassloom_metrics.protocol import Action

from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate, ErrorGroup
from glassloom_dashboards.folds.log_table import Line
from glassloom_dashboards.folds.task_keys import indices_of
from glassloom_dashboards.parts.theme import bytes_text
from glassloom_dashboards.parts.times import duration_text
from glassloom_dashboards.views.task_facts import Attempt, Task, TaskRow

_BRIEF_S = 1e-4
"""Waits that are shorter aren't worth a word."""
_PRINTED_S = 0.1
"""Lines come with the time at which they were printed, or a little later."""
MAX_LINES = 100

ICONS = {
    "finished": "good",
    "running": "busy",
    "failed": "bad",
    "waiting": "paused",
    "lost": "warning",
    "cancelled": "stopped",
    "interrupted": "stopped",
    "unknown": "stopped",
}
_NOT_HELD = "Its result is no longer held: nothing needs it any more."
_UNDECIDED = (
    "This attempt has failed. Whether it is tried again isn't told: tasks of its layer have failed for good, and only the "
    "first keys of them are known."
)
OUTCOME_WORDS = {"lost": "lost with its worker"}


@dataclass(frozen=True)
class State:
    """How a task stands: one of `ICONS`, and a sentence."""

    id: str
    words: str

    @property
    def icon(self) -> str:
        """The shape beside it."""
        return ICONS[self.id]

    @property
    def name(self) -> str:
        """What to call it."""
        return OUTCOME_WORDS.get(self.id, self.id)


def state_of(aggregate: ClusterAggregate, task: Task) -> State:
    """Return how a task stands."""
    if not task.attempts:
        return _state_without_rows(aggregate, task)
    last = task.attempts[-1]
    match last.outcome:
        case "finished":
            return State("finished", held_words(aggregate, task))
        case "failed" if errors_of(aggregate, task):
            return State("failed", "It has failed for good.")
        case "failed" if _has_ended(aggregate, task) or _is_nothing_tried_again(aggregate, task):
            return State("failed", "It has failed for good.")
        case "failed" if aggregate.state in ("ended", "recording"):
            return State("failed", "Its last attempt failed before the cluster ended, or the recording did.")
        case "failed" if errors_like(aggregate, task):
            return State("failed", _UNDECIDED)
        case "failed":
            return State("failed", "This attempt has failed; the cluster may try again.")
        case "lost" if errors_of(aggregate, task):
            return State("failed", "It has failed for good: its worker left while it ran.")
        case "lost":
            return State("lost", "Its worker left while it ran. It runs again elsewhere if it is still needed.")
        case "interrupted":
            return State("interrupted", "It ran when the cluster ended, or when the recording did.")
    return State("running", f"It has run for {duration_text(last.stop_s - last.start_s)}.")


def _is_nothing_tried_again(aggregate: ClusterAggregate, task: Task) -> bool:
    """Tell whether as many tasks of a layer have failed for good as attempts have failed: so each of these was the last."""
    groups = [group for group in aggregate.errors.values() if group.layer == task.layer]
    failed_for_good = sum(group.count for group in groups if group.worker >= 0)
    return aggregate.sums.layers[task.layer].failed == failed_for_good == sum(group.count for group in groups)


def _has_ended(aggregate: ClusterAggregate, task: Task) -> bool:
    """Tell whether nothing of a task's run, or of its layer, is under way: what has failed isn't tried again."""
    run = aggregate.runs.of_layer(task.layer)
    if run is not None and run.outcome != "running":
        return True
    if aggregate.is_older(task.layer):
        return True
    counts = dict(zip(STATES, aggregate.progress.get(task.layer, ()), strict=False))
    return bool(counts) and not counts["waiting"] + counts["ready"] + counts["running"]


def _state_without_rows(aggregate: ClusterAggregate, task: Task) -> State:
    counts = dict(zip(STATES, aggregate.progress.get(task.layer, (0,) * len(STATES)), strict=True))
    if aggregate.is_older(task.layer):
        return State("unknown", "Its run has ended long ago; its layer is no longer kept by itself.")
    if task.layer not in aggregate.layers:
        return State("unknown", "This cluster has told of no such layer.")
    if errors_of(aggregate, task):
        return State("failed", "It has failed without having run: what it needs has failed, or its workers died.")
    run = aggregate.runs.of_layer(task.layer)
    if counts["waiting"] + counts["ready"] + counts["running"]:
        said = f"{counts['waiting']:,} wait for inputs, {counts['ready']:,} for a worker, and {counts['running']:,} run"
        return State("waiting", f"It has not run yet, as far as is known. Of its layer's tasks, {said}.")
    if run is not None and run.outcome == "cancelled":
        return State("cancelled", "It has not run; its run was cancelled.")
    gone = aggregate.tasks.first_row + aggregate.lost_events
    if gone:
        return State("unknown", f"No row tells of it. The oldest {gone:,} rows are no longer kept; it may be in them.")
    return State("unknown", "No row tells of it.")


def held_words(aggregate: ClusterAggregate, task: Task) -> str:
    """Return where a task's result is, as far as is known."""
    if aggregate.is_older(task.layer):
        return _NOT_HELD
    known = aggregate.progress.get(task.layer)
    last = task.last
    counts = dict(zip(STATES, known or (0,) * len(STATES), strict=True))
    if last is None or not counts["memory"] + counts["released"]:
        return "Whether its result is still held isn't known."
    if not counts["memory"]:
        return _NOT_HELD
    if counts["released"]:
        done = counts["memory"] + counts["released"]
        return f"Of the {done:,} results of its layer {counts['memory']:,} are still held; which ones isn't told."
    since = [row for row in task.others if row.start_s >= last.start_s]
    places = [_place_of(aggregate, last, since)]
    readers = {aggregate.worker_name(row.worker) for row in since if row.action == Action.TRANSFER}
    if readers:
        places.append(f"{len(readers):,} other worker{'s have' if len(readers) > 1 else ' has'} read it")
    return f"Its result is held {'; '.join(places)}."


def _place_of(aggregate: ClusterAggregate, last: TaskRow, since: list[TaskRow]) -> str:
    worker = aggregate.worker_name(last.worker)
    spills = [row.action for row in since if row.action in (Action.SPILL_WRITE, Action.SPILL_READ)]
    if spills and spills[-1] == Action.SPILL_WRITE:
        return f"on disk, by {worker}"
    moves = [row.action for row in since if row.action in (Action.DEVICE_TO_HOST, Action.HOST_TO_DEVICE)]
    is_shared = any(row.action == Action.SERIALISE for row in since)
    if moves and moves[-1] == Action.DEVICE_TO_HOST and not is_shared:
        return f"on the host, where {worker} has moved it from its device"
    if is_shared:
        return f"in shared memory, where {worker} has put it"
    return f"by {worker}"


def why_words(aggregate: ClusterAggregate, one: TaskRow, asked_s: float | None) -> list[str]:
    """Return why an attempt began when it did, and what took its time, in sentences."""
    worker = aggregate.worker_name(one.worker)
    said = []
    if one.sent_s is None:
        said.append("What it waited for isn't told of tasks of this cluster.")
    else:
        said += _wait_words(one, worker, asked_s)
    fetched_s = one.fetch_s + (one.deserialise_s or 0.0)
    if fetched_s > _BRIEF_S:
        size = f" of {bytes_text(one.bytes_in)}" if one.bytes_in else ""
        said.append(f"Getting and unpickling its inputs{size} took {duration_text(fetched_s)}.")
    if one.cpu_s is not None and one.duration_s > 0.01:
        share = min(one.cpu_s / one.duration_s, 1.0)
        if share < 0.5:
            said.append(
                f"It was on the CPU for {share:.0%} of its time: it waited for a disk, a network, a lock or other threads."
            )
    return said


def _wait_words(one: TaskRow, worker: str, asked_s: float | None) -> list[str]:
    said = []
    if asked_s is not None and one.attempt <= 1:
        ready_s = max(one.start_s - one.ready_s - asked_s, 0.0)
        when = f"{duration_text(ready_s)} after" if ready_s > _BRIEF_S else "as"
        said.append(f"It was ready {when} its run began.")
    if one.ahead_s > _BRIEF_S:
        said.append(f"It was sent to {worker} {duration_text(one.ahead_s)} ahead of its inputs, to begin at once.")
    if one.for_worker_s > _BRIEF_S:
        said.append(f"It {'then ' * bool(said)}waited {duration_text(one.for_worker_s)} for a worker that was free.")
    if one.queue_s > _BRIEF_S:
        said.append(f"It was {duration_text(one.queue_s)} on the way to {worker} and in its queue.")
    if one.ready_s <= _BRIEF_S:
        said.append("It began as soon as it was ready.")
    elif max(one.for_worker_s, one.queue_s) <= _BRIEF_S:
        said.append(f"It began {duration_text(one.ready_s)} after it was ready.")
    return said


def errors_of(aggregate: ClusterAggregate, task: Task) -> list[tuple[ErrorGroup, bool]]:
    """Return the groups of failures that a task is in, and whether it is the first one of the group."""
    found = []
    for group in aggregate.errors.values():
        if group.layer == task.layer:
            indices = indices_of(aggregate, group.layer, group.keys)
            if task.index in indices:
                found.append((group, indices[0] == task.index))
    return found


def errors_like(aggregate: ClusterAggregate, task: Task) -> list[ErrorGroup]:
    """Return the groups of failures that a task may be in, as not all of their keys are told."""
    return [group for group in aggregate.errors.values() if group.layer == task.layer and group.count > len(group.keys)]


def printed_lines(aggregate: ClusterAggregate, task: Task, attempt: Attempt) -> list[Line]:
    """Return what a task has printed in an attempt; of clusters that don't tell whose lines are whose, all of its worker meanwhile."""
    lines = aggregate.logs.select(is_wanted=attempt.worker.__eq__)
    if aggregate.logs.knows_tasks:
        lines = [line for line in lines if (line.layer, line.index) == (task.layer, task.index)]
    first_s, last_s = attempt.start_s, attempt.stop_s + _PRINTED_S
    return [line for line in lines if first_s <= line.at_s <= last_s][-MAX_LINES:]
