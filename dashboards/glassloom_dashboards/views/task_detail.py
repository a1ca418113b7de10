"""What the page of one task shows, ready for its template. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.task_keys import true_key
from glassloom_dashboards.parts.html_body import fit_html
from glassloom_dashboards.parts.task_links import task_href, task_words
from glassloom_dashboards.parts.theme import ACTION_WORDS, bytes_text, ellipsis, middle_cut
from glassloom_dashboards.parts.times import clock_text, duration_text
from glassloom_dashboards.views.logs_view import line_rows
from glassloom_dashboards.views.task_facts import (
    Attempt,
    Phase,
    Task,
    TaskRow,
    phases_of,
    read_row,
    task_of_key,
    transfers_in,
    waiting_for,
)
from glassloom_dashboards.views.task_words import (
    ICONS,
    OUTCOME_WORDS,
    errors_like,
    errors_of,
    printed_lines,
    state_of,
    why_words,
)

MAX_ATTEMPTS = 20
MAX_OTHERS = 40
MAX_LINKS = 12
_INPUTS_SHARE = 0.3
"""How much of the bar the wait for inputs takes at most: it may be hours, and the rest milliseconds."""
_TEXT_BYTES = 20_000


def detail_of(aggregate: ClusterAggregate, layer: int, index: str) -> dict[str, object]:
    """Return what is told of a task."""
    task = task_of_key(aggregate, layer, index)
    state = state_of(aggregate, task)
    return {
        "key": _key(aggregate, layer, index),
        "state": state.name,
        "icon": state.icon,
        "words": state.words,
        "facts": _facts(aggregate, task),
        "attempts": [_attempt(aggregate, task, one, number) for number, one in _last_attempts(task)],
        "left_out": max(len(task.attempts) - MAX_ATTEMPTS, 0),
        "rows_gone": f"{aggregate.tasks.first_row:,}" if aggregate.tasks.first_row else "",
        "has_ended": task.last is not None,
        **_inputs(aggregate, task),
        "others": [_other(aggregate, row) for row in task.others[-MAX_OTHERS:]],
        "more_others": max(len(task.others) - MAX_OTHERS, 0),
        "waiters": _waiters(aggregate, task),
        "errors": _errors(aggregate, task),
        **_lines(aggregate, task),
    }


def brief_of(aggregate: ClusterAggregate, layer: int, index: str, start_s: float) -> dict[str, object]:
    """Return what is told in short of the attempt of a task that began at `start_s`, or nearest to that."""
    task = task_of_key(aggregate, layer, index)
    state = state_of(aggregate, task)
    numbered = sorted(enumerate(task.attempts, 1), key=lambda one: abs(one[1].start_s - start_s))
    row = numbered[0][1].row if numbered else None
    return {
        "task": {"key": _key(aggregate, layer, index), "href": task_href(layer, index, row.row if row else None)},
        "words": state.words,
        "attempts": [_attempt(aggregate, task, one, number) for number, one in numbered[:1]],
        "several": f"{len(task.attempts):,}" if len(task.attempts) > 1 else "",
        "sizes": _sizes(row),
        **_inputs(aggregate, task),
    }


def _key(aggregate: ClusterAggregate, layer: int, index: str) -> str:
    words = task_words(aggregate, layer, index, name_length=120, index_length=300)
    return fit_html([words], 450, 4000)[0]


def _link(aggregate: ClusterAggregate, row: TaskRow) -> dict[str, str]:
    return {"key": _key(aggregate, row.layer, row.index), "href": task_href(row.layer, row.index, row.row)}


def _last_attempts(task: Task) -> list[tuple[int, Attempt]]:
    return list(enumerate(task.attempts, 1))[-MAX_ATTEMPTS:]


def _facts(aggregate: ClusterAggregate, task: Task) -> list[tuple[str, str]]:
    layer, run, last = aggregate.layers.get(task.layer), aggregate.runs.of_layer(task.layer), task.last
    facts = [
        ("Key", middle_cut(true_key(aggregate, task.layer, task.index), 500)),
        ("Layer", middle_cut(aggregate.layer_name(task.layer), 120)),
        ("Tasks of the layer", f"{layer.total:,}" if layer else ""),
        ("On devices, its layer's tasks", _layer_on_devices(aggregate, task.layer)),
        ("Built at", ellipsis(layer.origin, 300) if layer else ""),
        ("Run", f"{run.id}, {run.kind}: {ellipsis(run.title, 200)}" if run else ""),
        ("Notebook", middle_cut(run.notebook, 200) if run else ""),
        ("Cell", ellipsis(run.cell, 80) if run else ""),
        *_sizes(last),
    ]
    shown = [(words, value) for words, value in facts if value]
    values = fit_html([value for _, value in shown], 500, _TEXT_BYTES)
    return [(words, value) for (words, _), value in zip(shown, values, strict=True)]


def _layer_on_devices(aggregate: ClusterAggregate, layer: int) -> str:
    """Return how long tasks of a layer took on their workers' devices; "" if none of them is known to have been there."""
    count, sum_s = aggregate.device_times.layers.get(layer, (0, 0.0))
    return f"{duration_text(sum_s)} in all, of {count:,} measured" if count else ""


def _sizes(row: TaskRow | None) -> list[tuple[str, str]]:
    """Return how large an attempt's result and inputs are, as far as that is known."""
    if row is None:
        return []
    result = [("Size of its result", bytes_text(row.nbytes))] if row.nbytes is not None else []
    return result + ([("Size of its inputs", bytes_text(row.bytes_in))] if row.bytes_in else [])


def _asked_s(aggregate: ClusterAggregate, layer: int) -> float | None:
    run = aggregate.runs.of_layer(layer)
    # A run of single submissions goes on growing: when it was that this task was handed in isn't told.
    return None if run is None or run.kind == "submit" else run.started_s


def _attempt(aggregate: ClusterAggregate, task: Task, one: Attempt, number: int) -> dict[str, object]:
    asked_s = _asked_s(aggregate, task.layer)
    phases = (
        phases_of(one.row, asked_s)
        if one.row
        else [Phase("runs", "has run" if one.outcome == "running" else "ran", one.stop_s - one.start_s)]
    )
    return {
        "id": f"{one.start_s:.6f}-{one.worker}",
        "number": one.row.attempt if one.row else number,
        "outcome": OUTCOME_WORDS.get(one.outcome, one.outcome),
        "icon": ICONS[one.outcome],
        "worker": middle_cut(aggregate.worker_name(one.worker), 60),
        "thread": one.lane,
        "began": clock_text(one.start_s, aggregate.last_at_s),
        "after": duration_text(max(one.start_s - aggregate.started_at_s, 0.0)),
        "took": duration_text(max(one.stop_s - one.start_s, 0.0)),
        "cpu": duration_text(one.row.cpu_s) if one.row and one.row.cpu_s is not None else "",
        "device": duration_text(one.row.device_s) if one.row and one.row.device_s is not None else "",
        "phases": phase_bars(phases),
        "label": ", ".join(f"{phase.words} {duration_text(phase.seconds)}" for phase in phases),
        "why": " ".join(why_words(aggregate, one.row, asked_s)) if one.row else "",
    }


def phase_bars(phases: Sequence[Phase]) -> list[dict[str, object]]:
    """Return the parts of an attempt's bar, with shares of its width that add up to 1,000."""
    inputs_s = sum(phase.seconds for phase in phases if phase.id == "inputs")
    rest_s = sum(phase.seconds for phase in phases) - inputs_s
    most_s = max(rest_s, 1e-9) * _INPUTS_SHARE / (1 - _INPUTS_SHARE)
    whole_s = max(rest_s + min(inputs_s, most_s), 1e-9)
    return [
        {
            "id": phase.id,
            "words": phase.words,
            "text": duration_text(phase.seconds),
            "share": f"{1000 * min(phase.seconds, most_s if phase.id == 'inputs' else phase.seconds) / whole_s:.1f}",
            "is_cut": phase.id == "inputs" and phase.seconds > most_s,
        }
        for phase in phases
    ]


def _inputs(aggregate: ClusterAggregate, task: Task) -> dict[str, object]:
    """Return which input came last, and what was read from other workers."""
    last = task.last
    if last is None:
        return {"last_input": None, "input_words": "", "reads": []}
    row = last.last_input
    reads = [_other(aggregate, one) for one in transfers_in(aggregate, last, MAX_LINKS)]
    if row is None:
        words = "No row tells of its inputs." if last.bytes_in else "It has no inputs that tasks have made."
        return {"last_input": None, "input_words": words, "reads": reads}
    if row < aggregate.tasks.first_row:
        return {"last_input": None, "input_words": "The row of the input that came last is gone.", "reads": reads}
    one = read_row(aggregate, row)
    before_s = last.start_s - one.stop_s
    when = f"{duration_text(before_s)} before this task began" if before_s >= 0 else "as this task began"
    words = (
        f"ended on {middle_cut(aggregate.worker_name(one.worker), 60)} {when}, after {duration_text(one.duration_s)}"
    )
    size = f", and is {bytes_text(one.nbytes)}" if one.nbytes is not None else ""
    return {"last_input": _link(aggregate, one), "input_words": f"{words}{size}.", "reads": reads}


def _other(aggregate: ClusterAggregate, row: TaskRow) -> dict[str, object]:
    """Return what is said of what was done with a result."""
    producer = row.producer
    return _link(aggregate, row) | {
        "id": row.row,
        "what": ACTION_WORDS[row.action],
        "worker": middle_cut(aggregate.worker_name(row.worker), 60),
        "producer": "" if producer is None else middle_cut(aggregate.worker_name(producer), 60),
        "when": clock_text(row.start_s, aggregate.last_at_s),
        "took": duration_text(row.duration_s),
        "size": "" if row.nbytes is None else bytes_text(row.nbytes),
    }


def _waiters(aggregate: ClusterAggregate, task: Task) -> list[dict[str, str]]:
    last = task.last
    if last is None:
        return []
    return [_link(aggregate, read_row(aggregate, row)) for row in waiting_for(aggregate, last.row, MAX_LINKS)]


def _errors(aggregate: ClusterAggregate, task: Task) -> list[dict[str, object]]:
    known = errors_of(aggregate, task)
    told = [
        (group, "" if first else "It failed as another task did first, whose traceback this is.")
        for group, first in known
    ]
    if not told and task.attempts and task.attempts[-1].outcome == "failed":
        words = "It may have failed so: not all tasks of these failures are told. The traceback is the first one's."
        told = [(group, words) for group in errors_like(aggregate, task)]
    return [
        {
            "id": group.id,
            "words": words,
            "message": fit_html([f"{group.exception}: {group.message}"], 500, 4000)[0],
            "traceback": fit_html([(group.traceback or group.message)[-8000:]], 8000, _TEXT_BYTES)[0],
        }
        for group, words in told[:3]
    ]


def _lines(aggregate: ClusterAggregate, task: Task) -> dict[str, object]:
    if not task.attempts:
        return {"lines": [], "line_words": ""}
    last = task.attempts[-1]
    lines = line_rows(aggregate, printed_lines(aggregate, task, last))
    joined = aggregate.histories.get(last.worker)
    several = not aggregate.logs.knows_tasks and (joined is None or joined.joined.nthreads > 1)
    words = "Other tasks that ran there meanwhile may have printed some of it." if lines and several else ""
    return {"lines": lines, "line_words": words}
