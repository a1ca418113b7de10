"""The time axis of a page: it follows the cluster until a person zooms or pans, and again when one asks for it.

All plots over time of a page share its `x_range`, so a zoom in one moves the others; times are seconds since the cluster's start
in all of them. The browser alone moves the range (``static/glassloom.js``): a frame under way never undoes
what a person has just zoomed to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    InlineStyleSheet,
    PanTool,
    RadioButtonGroup,
    Range1d,
    Toolbar,
    WheelZoomTool,
)
from bokeh.plotting import figure

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.task_table import RUN_GAP_S
from glassloom_dashboards.parts.card import CONTROL_STYLE
from glassloom_dashboards.parts.scripts import callback
from glassloom_dashboards.parts.theme import set_seconds_axis

ALL, LATEST_RUN = 0, 1
LABELS = ["All", "Latest run"]
DOUBLE_PX = 12
"""Two clicks in quick succession are a double click if they are nearer than that (as in ``static/glassloom.js``); Bokeh takes any two for one."""
REST_S = 0.15
"""A view that moves is drawn for when it has rested so long."""
_SHORTEST_S = 1e-3
_EMPTY_S = 10.0


def span_of(aggregate: ClusterAggregate, mode: int, notebook: str = "") -> tuple[float, float]:
    """Return the times that are followed, since the cluster's start: all up to now, or the latest run.

    The latest run is that of `RunTable.latest_as_one` from its start to its end, and longer only while tasks still run. Without
    runs, as older clusters tell none, it is the work since the last pause.
    """
    started_at_s, tasks = aggregate.started_at_s, aggregate.tasks
    now_s = max(aggregate.last_at_s - started_at_s, _SHORTEST_S)
    unfinished, run = aggregate.running.span_s(), aggregate.runs.latest_as_one(notebook)
    if not tasks.next_row and unfinished is None and run is None:
        return 0.0, now_s if mode == ALL and now_s > _SHORTEST_S else max(now_s, _EMPTY_S)
    began_s, until_s = unfinished or (-np.inf, -np.inf)
    stop_s = max(max(tasks.stop_s, until_s) - started_at_s, _SHORTEST_S)
    if mode == ALL:
        return 0.0, max(now_s, stop_s)
    if run is not None:
        start_s = run.started_s
        stop_s = max(start_s + run.duration_s(aggregate.last_at_s) - started_at_s, _SHORTEST_S)
    else:
        start_s = began_s if began_s > tasks.stop_s + RUN_GAP_S else tasks.latest_run_start_s
    start_s = max(start_s - started_at_s, 0.0)
    is_running = aggregate.state == "live" and aggregate.task_counts["running"] > 0
    stop_s = max(now_s, stop_s) if is_running else stop_s
    return start_s, start_s + max(stop_s - start_s, _SHORTEST_S)


def followed(aggregate: ClusterAggregate, mode: int, notebook: str = "") -> tuple[float, float]:
    """Return the times to show: those of `span_of`, and a little beyond."""
    start_s, stop_s = span_of(aggregate, mode, notebook)
    span_s = stop_s - start_s
    return (0.0, stop_s + 0.01 * span_s) if mode == ALL else (start_s - 0.01 * span_s, stop_s + 0.04 * span_s)


def time_figure(name: str, x_range: Range1d, **properties: Any) -> figure:
    """Return an empty figure over time, in seconds since the cluster's start; `properties` are of Bokeh's figure."""
    usual: dict[str, Any] = {"min_width": 120, "min_border": 4, "min_border_right": 22, "y_range": Range1d(0, 1)}
    plot = figure(name=name, x_range=x_range, toolbar_location=None, tools=[], **usual | properties)
    set_seconds_axis(plot)
    return plot


class TimeView:
    """The time axis of one page, or of a card by itself, for one viewer.

    Attributes
    ----------
    follow
        The buttons; none is active while the view is where a person has put it.
    notebook
        Of which notebook the latest run is followed; ``""``: of any.
    ready
        What the browser runs once it has the page.
    """

    def __init__(self, aggregate: ClusterAggregate, name: str) -> None:
        self._aggregate = aggregate
        self.notebook = ""
        self.name = name
        self._watched: list[Range1d] = []
        self._moved = False
        self._moved_at_s: float | None = None
        left, right = followed(aggregate, LATEST_RUN)
        self.x_range = Range1d(left, right)
        self.extent = ColumnDataSource(name=f"{name}-extent", data={"left": [left], "right": [right]})
        self.follow = RadioButtonGroup(
            name=f"{name}-follow",
            labels=LABELS,
            active=LATEST_RUN,
            margin=0,
            stylesheets=[InlineStyleSheet(css=CONTROL_STYLE)],
        )
        models = {"mode": self.follow, "extent": self.extent, "x_range": self.x_range}
        show = callback("showTime", **models)
        self.ready: CustomJS | None = show
        self.extent.js_on_change("data", callback("followTime", **models))
        self.follow.js_on_change("active", show)
        self.watch(self.x_range)
        self.follow.on_change("active", self._on_moved)

    def add(self, plot: figure, *tools: object) -> None:
        """Give a plot the tools that move the view, and others."""
        wheel = WheelZoomTool(dimensions="width")
        pan = PanTool(dimensions="width")
        plot.toolbar = Toolbar(tools=[pan, wheel, *tools], active_drag=pan, active_scroll=wheel, logo=None)
        self.listen(plot)

    def listen(self, plot: figure) -> None:
        """Stop following when a person moves a plot's view, and follow again after a double click."""
        plot.js_on_event("rangesupdate", callback("letGo", mode=self.follow))
        plot.js_on_event("tap", callback("noteTap"))
        plot.js_on_event("doubletap", callback("doubleTap", mode=self.follow))

    def watch(self, range_: Range1d) -> None:
        """Let a person's moves along another axis, too, be waited for (see `is_moving`)."""
        self._watched.append(range_)
        for part in ("start", "end"):
            range_.on_change(part, self._on_moved)

    def follows(self, model: object) -> bool:
        """Tell whether the browser moves this range by itself now, as the cluster goes on; a person has not moved it then."""
        return self.mode is not None and any(model is range_ for range_ in self._watched)

    def _on_moved(self, attr: str, old: object, new: object) -> None:
        self._moved = True

    @property
    def mode(self) -> int | None:
        """What is followed, None if a person has moved the view."""
        mode = self.follow.active
        return None if mode is None else int(mode)

    def is_moving(self, now_s: float) -> bool:
        """Tell whether a person moves the view; drawing waits until that is over."""
        if self._moved:
            self._moved, self._moved_at_s = False, now_s
        if self._moved_at_s is not None and now_s - self._moved_at_s >= REST_S:
            self._moved_at_s = None
        return self._moved_at_s is not None and self.mode is None

    def version(self) -> dict[str, int]:
        """Return what changes when other times are to be drawn."""
        if self.mode is not None:
            run = self._aggregate.runs.latest_as_one(self.notebook)
            ended = hash(run.ended_s) if run is not None else 0
            return {"mode": self.mode, "ended": ended, "notebook": hash(self.notebook)}
        return {"left": hash(float(self.x_range.start)), "right": hash(float(self.x_range.end))}

    def times(self) -> tuple[float, float]:
        """Return the times on screen, since the cluster's start, and tell the browser if it is to follow."""
        if self.mode is None:
            left, right = sorted((float(self.x_range.start), float(self.x_range.end)))
            return left, right
        left, right = followed(self._aggregate, self.mode, self.notebook)
        data = {"left": [left], "right": [right]}
        if self.extent.data != data:
            self.extent.data = data
        return left, right

    def drawn_span(self) -> tuple[float, float]:
        """Return the times to draw for, and tell the browser if it is to follow."""
        shown = self.times()
        return shown if self.mode is None else self.span()

    def span(self) -> tuple[float, float]:
        """Return the times that are followed, without what is shown beyond them; those on screen if none are."""
        return self.times() if self.mode is None else span_of(self._aggregate, self.mode, self.notebook)
