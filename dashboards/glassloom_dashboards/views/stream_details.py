"""Which task is where one clicks in the task stream, and what is said of it below the plot. Pure."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.templates import render
from glassloom_dashboards.views.lanes import Key
from glassloom_dashboards.views.stream_running import bars_of
from glassloom_dashboards.views.task_detail import brief_of
from glassloom_dashboards.views.task_facts import Attempt, task_of_key


def task_at(aggregate: ClusterAggregate, key: Key, at_s: float, near_s: float) -> tuple[int, str, float] | None:
    """Return the task (layer, rest of the key, start) that a thread had at a time, or the nearest by `near_s`, the longest first."""
    for bar in bars_of(aggregate):
        task = bar.task
        if (task.worker, task.lane) == key and task.started_s - near_s <= at_s <= bar.until_s + near_s:
            return task.layer, task.index, task.started_s
    tasks = aggregate.tasks
    rows = tasks.rows_between(at_s - near_s, at_s + near_s)
    threads = [number for number, thread in enumerate(tasks.threads) if thread == key]
    rows = rows[np.isin(tasks.take("thread", rows), threads)]
    if not len(rows):
        return None
    start_s, stop_s = tasks.take("start_s", rows), tasks.take("stop_s", rows)
    away_s = np.maximum(np.maximum(start_s - at_s, at_s - stop_s), 0.0)
    best = int(np.lexsort((start_s - stop_s, away_s))[0])
    row = int(rows[best])
    return int(tasks.take("layer", rows[best : best + 1])[0]), tasks.index[row], float(start_s[best])


def attempt_at(aggregate: ClusterAggregate, layer: int, index: str, start_s: float) -> Attempt | None:
    """Return the attempt of a task that began at `start_s`, or nearest to that."""
    attempts = task_of_key(aggregate, layer, index).attempts
    return min(attempts, key=lambda one: abs(one.start_s - start_s), default=None)


def details_html(aggregate: ClusterAggregate, layer: int, index: str, start_s: float) -> Markup:
    """Return what is said of the attempt of a task that began at `start_s`, with a link to the task's page."""
    return render("task_brief.html", **brief_of(aggregate, layer, index, start_s))
