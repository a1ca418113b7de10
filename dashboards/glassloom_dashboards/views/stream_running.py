"""What the task stream draws of tasks that haven't ended: those that run, and those that were lost with their workers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from glassloom_metrics.protocol import Action

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.lod import View
from glassloom_dashboards.folds.running_tasks import RunningTask
from glassloom_dashboards.folds.task_table import ACTION_BITS
from glassloom_dashboards.parts.colours import rgba
from glassloom_dashboards.parts.theme import Palette
from glassloom_dashboards.views.lanes import ThreadSlots
from glassloom_dashboards.views.stream_drawing import Drawing, fit_texts

MAX_BARS = 1000
"""Bars of tasks that haven't ended: those that began last."""
COLUMNS = ("left", "right", "lane", "colour", "kind", "index", "ends", "marker")
_TEXT_BYTES = 15_000
RUNS, LOST, INTERRUPTED = 0, 1, 2
"""Values of the column ``ends``: how the bar ends."""
MARKERS = ("triangle", "x", "x")
"""What is drawn at the end of a bar, by these values."""


@dataclass(frozen=True)
class Bar:
    """A task that hasn't ended: until when it has run for sure, and one of `RUNS`, `LOST`, `INTERRUPTED`."""

    task: RunningTask
    until_s: float
    ends: int


def bars_of(aggregate: ClusterAggregate) -> list[Bar]:
    """Return the bars of all tasks that run, or were lost. A bar grows when the cluster tells, and not while it is silent."""
    running = aggregate.running
    ends = INTERRUPTED if aggregate.state in ("ended", "recording") else RUNS
    until_s = running.at_s or 0.0
    bars = [Bar(task, max(until_s, task.started_s), ends) for task in running.now]
    bars += [Bar(lost.task, max(lost.at_s, lost.task.started_s), LOST) for lost in running.lost]
    return bars


def in_view(bars: list[Bar], lanes: ThreadSlots, view: View) -> list[Bar]:
    """Return the bars that are on screen: one that isn't would be drawn as a line at the plot's edge."""
    shown = set(lanes.keys[view.low : view.high])
    return [
        bar
        for bar in bars
        if bar.task.started_s <= view.stop_s
        and bar.until_s >= view.start_s
        and (bar.task.worker, bar.task.lane) in shown
    ]


def busy_by_kind(bars: list[Bar], view: View) -> dict[int, float]:
    """Return the seconds on screen of bars by kind (see `task_table.kinds_of`): layers get colours by how long they take."""
    busy_s: dict[int, float] = {}
    for bar in bars:
        kind = kind_of(bar)
        inside_s = min(bar.until_s, view.stop_s) - max(bar.task.started_s, view.start_s)
        busy_s[kind] = busy_s.get(kind, 0.0) + inside_s
    return busy_s


def kind_of(bar: Bar) -> int:
    """Return the kind of a bar: its layer, and that it computes."""
    return bar.task.layer << ACTION_BITS | Action.COMPUTE


def columns(drawing: Drawing, bars: list[Bar], lanes: ThreadSlots, palette: Palette) -> dict[str, Any]:
    """Return what to draw, the bars that began last if there are too many."""
    place = {key: number for number, key in enumerate(lanes.keys)}
    shown = [bar for bar in bars if (bar.task.worker, bar.task.lane) in place]
    shown = sorted(shown, key=lambda bar: bar.task.started_s)[-MAX_BARS:]
    started_at_s = drawing.aggregate.started_at_s
    return {
        "left": np.array([bar.task.started_s - started_at_s for bar in shown], np.float64),
        "right": np.array([bar.until_s - started_at_s for bar in shown], np.float64),
        "lane": np.array([lanes.middles[place[bar.task.worker, bar.task.lane]] for bar in shown], np.float32),
        "colour": np.array([rgba(drawing.colour(kind_of(bar), palette)) for bar in shown], np.uint32),
        "kind": np.array([drawing.book.number(kind_of(bar)) for bar in shown], np.uint32),
        "index": fit_texts([bar.task.index for bar in shown], 60, _TEXT_BYTES),
        "ends": np.array([bar.ends for bar in shown], np.uint8),
        "marker": [MARKERS[bar.ends] for bar in shown],
    }
