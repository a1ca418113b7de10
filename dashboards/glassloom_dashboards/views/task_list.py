"""What a list of tasks says of each, by layer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.running_tasks import LostTask, RunningTask
from glassloom_dashboards.folds.task_finding import computed_between
from glassloom_dashboards.parts.html_body import fit_html
from glassloom_dashboards.parts.task_links import task_href, task_words
from glassloom_dashboards.parts.theme import bytes_text, middle_cut
from glassloom_dashboards.parts.times import clock_text, duration_text
from glassloom_dashboards.views.task_facts import TaskRow, read_row
from glassloom_dashboards.views.task_search import ROWS_A_GROUP, Group
from glassloom_dashboards.views.task_words import ICONS, OUTCOME_WORDS

MAX_RUNNING = 20
MAX_NEWEST = 30
_NAME_LENGTH = 80
_KEY_LENGTH = 120
_TEXT_BYTES = 30_000

Item = dict[str, object]


def layer_heading(aggregate: ClusterAggregate, layer: int) -> dict[str, object]:
    """Return what is said of a layer above its tasks."""
    known, run = aggregate.layers.get(layer), aggregate.runs.of_layer(layer)
    total = known.total if known else aggregate.sums.layers[layer].count
    return {
        "layer": layer,
        "name": fit_html([middle_cut(aggregate.layer_name(layer), _NAME_LENGTH)], _NAME_LENGTH, 1000)[0],
        "origin": fit_html([middle_cut(known.origin if known else "", _NAME_LENGTH)], _NAME_LENGTH, 1000)[0],
        "run": "" if run is None else f"run {run.id}",
        "total": f"{total:,} task{'' if total == 1 else 's'}",
    }


def group_rows(aggregate: ClusterAggregate, groups: Sequence[Group]) -> list[dict[str, object]]:
    """Return what is said of groups of tasks that were found."""
    shown, limit = [], _TEXT_BYTES // max(len(groups), 1)
    for group in groups:
        items = running_items(aggregate, group.running, limit) + task_items(aggregate, group.rows, limit)
        items += lost_items(aggregate, group.lost, limit)
        shown.append(layer_heading(aggregate, group.layer) | {"items": items, "more": len(group.rows) == ROWS_A_GROUP})
    return shown


def newest_of_all(aggregate: ClusterAggregate) -> list[dict[str, object]]:
    """Return what runs, and what has ended last."""
    tasks = aggregate.tasks
    running = running_items(aggregate, aggregate.running.now[:MAX_RUNNING])
    newest = []
    for row in computed_between(tasks, max(tasks.first_row, tasks.next_row - 4096), tasks.next_row, ""):
        newest.append(row)
        if len(newest) == MAX_NEWEST:
            break
    groups: list[dict[str, object]] = [{"title": "Running", "items": running}] if running else []
    return [*groups, {"title": "Ended last", "items": task_items(aggregate, newest)}]


def task_items(aggregate: ClusterAggregate, rows: Sequence[int], limit_bytes: int = _TEXT_BYTES) -> list[Item]:
    """Return what is said of rows; their keys take so many bytes at most."""
    known = [read_row(aggregate, row) for row in rows]
    keys = _keys(aggregate, [(row.layer, row.index) for row in known], limit_bytes)
    return [item_of(aggregate, row) | {"key": key} for row, key in zip(known, keys, strict=True)]


def item_of(aggregate: ClusterAggregate, row: TaskRow) -> Item:
    """Return what is said of a row, but for its key."""
    state = "finished" if row.ok else "failed"
    return {
        "id": row.row,
        "href": task_href(row.layer, row.index, row.row),
        "state": state,
        "icon": ICONS[state],
        "worker": middle_cut(aggregate.worker_name(row.worker), 40),
        "duration": duration_text(row.duration_s),
        "waited": duration_text(row.ready_s) if row.sent_s is not None else "",
        "size": "" if row.nbytes is None else bytes_text(row.nbytes),
        "when": clock_text(row.stop_s, aggregate.last_at_s),
        "attempt": f"attempt {row.attempt}" if row.attempt > 1 else "",
    }


def running_items(
    aggregate: ClusterAggregate, tasks: Sequence[RunningTask], limit_bytes: int = _TEXT_BYTES
) -> list[Item]:
    """Return what is said of tasks that run."""
    until_s = aggregate.running.at_s or 0.0
    state = "interrupted" if aggregate.state in ("ended", "recording") else "running"
    return _unfinished(aggregate, [(task, until_s) for task in tasks], state, " so far", limit_bytes)


def lost_items(aggregate: ClusterAggregate, lost: Sequence[LostTask], limit_bytes: int = _TEXT_BYTES) -> list[Item]:
    """Return what is said of tasks that were lost with their workers."""
    ends = [clock_text(one.at_s, aggregate.last_at_s) for one in lost]
    items = _unfinished(aggregate, [(one.task, one.at_s) for one in lost], "lost", "", limit_bytes)
    return [item | {"when": when} for item, when in zip(items, ends, strict=True)]


def _unfinished(
    aggregate: ClusterAggregate, tasks: Sequence[tuple[RunningTask, float]], state: str, so_far: str, limit_bytes: int
) -> list[Item]:
    keys = _keys(aggregate, [(task.layer, task.index) for task, _ in tasks], limit_bytes)
    return [
        {
            "id": f"{task.worker}-{task.lane}-{task.started_s:.6f}",
            "key": key,
            "href": task_href(task.layer, task.index),
            "state": OUTCOME_WORDS.get(state, state),
            "icon": ICONS[state],
            "worker": middle_cut(aggregate.worker_name(task.worker), 40),
            "duration": f"{duration_text(max(until_s - task.started_s, 0.0))}{so_far}",
            "when": "",
            "waited": "",
            "size": "",
            "attempt": "",
        }
        for (task, until_s), key in zip(tasks, keys, strict=True)
    ]


def _keys(aggregate: ClusterAggregate, tasks: Sequence[tuple[int, str]], limit_bytes: int) -> list[str]:
    words = [
        task_words(aggregate, layer, index, name_length=_NAME_LENGTH, index_length=_KEY_LENGTH)
        for layer, index in tasks
    ]
    return fit_html(words, _NAME_LENGTH + _KEY_LENGTH, limit_bytes)
