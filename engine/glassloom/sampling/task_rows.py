"""From tasks that have run to the recorder's rows. Call it before the scheduler learns of it: it may forget them then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from glassloom_metrics.recorder import Recorder

from glassloom.scheduler import NO_ROW, TaskSlice, TaskState

Numbers = Sequence[float] | float
"""A number for each task, or one for all."""
_MAX_ATTEMPT = 255


def add_finished(
    recorder: Recorder,
    items: Iterable[TaskState | TaskSlice | None],
    starts_s: Sequence[float],
    *,
    epoch_s: float,
    worker: int,
    **columns: Numbers,
) -> None:
    """Add the rows of tasks that a worker has finished.

    Parameters
    ----------
    items
        The tasks, as `Scheduler.items_of` gives them: slices of blocks as one, None for those that nobody wants any more.
    starts_s
        When each began, monotonic.
    epoch_s
        What is to be added to such times.
    columns
        Others of `TaskEvents`, element by element or one value for all.
    """
    tasks: list[TaskState] = []
    start = at = 0
    for item in items:
        if isinstance(item, TaskState):
            at += 1
            tasks.append(item)
            continue
        if tasks:
            _add_tasks(recorder, tasks, starts_s[start:at], epoch_s, worker=worker, **_part(columns, start, at))
            tasks = []
        start, at = at, at + (1 if item is None else len(item))
        if item is not None:
            _add_slice(recorder, item, starts_s[start:at], epoch_s, worker=worker, **_part(columns, start, at))
        start = at
    if tasks:
        _add_tasks(recorder, tasks, starts_s[start:at], epoch_s, worker=worker, **_part(columns, start, at))


def attempt_columns(task: TaskState, start_s: float, row: int) -> dict[str, float]:
    """Return what a row says of a task that began at `start_s`, beside times and places. `row` is the row's number."""
    return {
        "layer": task.layer.number,
        "attempt": min(task.attempt, _MAX_ATTEMPT),
        "ready_wait_s": task.sent_s - task.ready_s,
        "sent_wait_s": start_s - task.sent_s,
        "bytes_in": _bytes_in(task),
        "last_input": _last_input(task, row),
    }


def _part(columns: dict[str, Numbers], start: int, stop: int) -> dict[str, Numbers]:
    """Return the elements of columns from `start` to before `stop`."""
    return {
        name: values if isinstance(values, (int, float)) else values[start:stop] for name, values in columns.items()
    }


def _add_slice(
    recorder: Recorder, tasks: TaskSlice, starts_s: Sequence[float], epoch_s: float, **columns: Numbers
) -> None:
    block = tasks.block
    block.note_rows(tasks.start, recorder.rows, len(tasks))
    at = 0
    sent_waits_s: list[float] = []
    ready_waits_s: list[float] = []
    spans = list(block.sent_spans(tasks.start, tasks.stop))
    for n_tasks, sent_s in spans:
        sent_waits_s += [start_s - sent_s for start_s in starts_s[at : at + n_tasks]]
        ready_waits_s += [sent_s - block.ready_s] * n_tasks
        at += n_tasks
    last = max([dep.row for dep in block.deps], default=NO_ROW)
    recorder.add_tasks(
        tasks.indices,
        **columns,
        layer=block.layer.number,
        start_s=[epoch_s + start_s for start_s in starts_s],
        ready_wait_s=ready_waits_s[0] if len(spans) == 1 else ready_waits_s,
        sent_wait_s=sent_waits_s,
        bytes_in=sum([dep.nbytes for dep in block.deps]),
        last_input=0 if last == NO_ROW else range(recorder.rows - last, recorder.rows - last + len(tasks)),
    )


def _add_tasks(
    recorder: Recorder, tasks: Sequence[TaskState], starts_s: Sequence[float], epoch_s: float, **columns: Numbers
) -> None:
    rows = range(recorder.rows, recorder.rows + len(tasks))
    for task, row in zip(tasks, rows, strict=True):
        task.row = row  # the next may read what this one has made
    recorder.add_tasks(
        [task.index for task in tasks],
        **columns,
        layer=[task.layer.number for task in tasks],
        start_s=[epoch_s + start_s for start_s in starts_s],
        attempt=[min(task.attempt, _MAX_ATTEMPT) for task in tasks],
        ready_wait_s=[task.sent_s - task.ready_s for task in tasks],
        sent_wait_s=[start_s - task.sent_s for task, start_s in zip(tasks, starts_s, strict=True)],
        bytes_in=[_bytes_in(task) if task.deps or task.reads else 0 for task in tasks],
        last_input=[
            _last_input(task, row) if task.deps or task.reads else 0 for task, row in zip(tasks, rows, strict=True)
        ],
    )


def _bytes_in(task: TaskState) -> int:
    """Return the size of all that a task reads."""
    slices = [item for item in task.reads or () if isinstance(item, TaskSlice)]
    return sum([dep.nbytes for dep in task.deps]) + sum([sum(tasks.nbytes) for tasks in slices])


def _last_input(task: TaskState, row: int) -> int:
    """Return how many rows before a task's that of the input is of which the head has learnt last; 0 if none tells of it."""
    last = max([dep.row for dep in task.deps], default=NO_ROW)
    for item in task.reads or ():
        if isinstance(item, TaskSlice):
            last = max(last, item.block.row_of_last(item.start, item.stop))
    return row - last if last != NO_ROW else 0
