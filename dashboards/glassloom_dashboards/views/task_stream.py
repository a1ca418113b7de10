"""The task stream: what each thread did, when. Singly while few events are in view, else in bins (see `lod.py`)."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from bokeh.core.properties import field
from bokeh.events import DoubleTap, Reset, Tap
from bokeh.layouts import column as column_of
from bokeh.models import (
    BoxZoomTool,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    PanTool,
    Range1d,
    ResetTool,
    Toolbar,
    UIElement,
    WheelZoomTool,
)
from bokeh.models.glyphs import HBar, Quad, Scatter
from bokeh.plotting import figure
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.lod import (
    View,
)
from glassloom_dashboards.parts.base_cards import TimeCard
from glassloom_dashboards.parts.card import Seen, inner_width_px, replace_data, show_html, versions_of
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.html_body import HtmlBody
from glassloom_dashboards.parts.scripts import callback
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import (
    Palette,
    set_seconds_axis,
    style_figure,
)
from glassloom_dashboards.parts.time_view import DOUBLE_PX, TimeView
from glassloom_dashboards.views.lanes import lane_labels, lane_names, lanes_of
from glassloom_dashboards.views.progress import ODD_STATES
from glassloom_dashboards.views.stream_details import attempt_at, details_html, task_at
from glassloom_dashboards.views.stream_drawing import (
    BIN_COLUMNS,
    FAILED_COLUMNS,
    HEIGHT,
    LANE_HEIGHT,
    NAME_COLUMNS,
    SINGLE_COLUMNS,
    Drawing,
    Frame,
    KindBook,
    name_columns,
    no_rows,
)
from glassloom_dashboards.views.stream_hovers import bin_hover, task_hover, unfinished_hover
from glassloom_dashboards.views.stream_running import COLUMNS as RUNNING_COLUMNS
from glassloom_dashboards.views.stream_running import INTERRUPTED, LOST, RUNS, Bar, bars_of, busy_by_kind, in_view
from glassloom_dashboards.views.stream_running import columns as running_columns
from glassloom_dashboards.views.stream_table import stream_table

SOURCE = "task-stream-source"
BINS_SOURCE = "task-stream-bins-source"
FAILED_SOURCE = "task-stream-failed-source"
RUNNING_SOURCE = "task-stream-running-source"
CHOSEN_SOURCE = "task-stream-chosen-source"
TOTAL_SOURCE = "task-stream-total"
EXTENT_SOURCE = "task-stream-extent"

NEAR_PX = 4
"""A click so near a task means it."""


def summary_of(aggregate: ClusterAggregate, lanes: int) -> str:
    """Return how many lanes are shown, and how many tasks there are."""
    counts = aggregate.task_counts
    said = [f"{lanes:,} lanes", f"{aggregate.compute_tasks:,} tasks were computed"]
    running = sum(bar.ends == RUNS for bar in bars_of(aggregate))
    said += [f"{running:,} run"] if running else []
    said += [f"{counts[state]:,} {words}" for state, words in ODD_STATES.items() if counts[state]]
    return f"{', '.join(said)}."


class TaskStream(TimeCard):
    """The task stream's card for one viewer.

    A user who zooms or pans is left alone: the view stays until "All" or "Latest run" is chosen, or Reset pressed.
    """

    id = "task-stream"
    notebook = ""

    def __init__(
        self, aggregate: ClusterAggregate, palette: Palette, colours: ColourBook, time: TimeView | None = None
    ) -> None:
        super().__init__(aggregate, time)
        self._lanes = lanes_of(aggregate, -np.inf, np.inf)
        self._lanes_seen = Seen()
        self._book = KindBook()
        self._drawing = Drawing(aggregate, colours, self._book)
        self._sent_rows: np.ndarray | None = None
        self._generation = aggregate.generation
        self._seen_layers = Seen()
        self._bars: list[Bar] = []
        self._shown = View(0.0, 0.0, 0, 1)
        self._tapped = (0.0, 0.0)
        self._chosen: tuple[int, str, float] | None = None
        self.single = ColumnDataSource(name=SOURCE, data=no_rows(SINGLE_COLUMNS))
        self.bins = ColumnDataSource(name=BINS_SOURCE, data=no_rows(BIN_COLUMNS))
        self.failed = ColumnDataSource(name=FAILED_SOURCE, data=no_rows(FAILED_COLUMNS))
        self.running = ColumnDataSource(name=RUNNING_SOURCE, data=no_rows(RUNNING_COLUMNS))
        self.chosen = ColumnDataSource(name=CHOSEN_SOURCE, data=no_rows(FAILED_COLUMNS))
        self.names = ColumnDataSource(name="task-stream-names", data={name: [] for name in NAME_COLUMNS})
        self.lane_names = ColumnDataSource(name="task-stream-lanes", data={"name": [], "top": []})
        self.total = ColumnDataSource(name=TOTAL_SOURCE, data={"tasks": [0], "events": [0]})
        self.extent = ColumnDataSource(name=EXTENT_SOURCE, data={"top": [], "bottom": []})
        self.follow = self.time.follow
        self.plot = self._plot()
        self.details = HtmlBody(self.id, {"close": lambda _: self._choose(None)}, is_below=True)
        self.body: UIElement = column_of(
            self.plot, self.details.model, name="task-stream-whole", sizing_mode="stretch_both", spacing=0
        )
        self._connect()
        self.set_palette(palette)

    def _plot(self) -> figure:
        plot = figure(
            name="task-stream",
            x_range=self.time.x_range,
            y_range=Range1d(self._lanes.bottom, -0.5),
            sizing_mode="stretch_both",
            min_height=120,
            toolbar_location=None,
            tools=[],
            min_border=4,
            min_border_right=18,
            output_backend="canvas",
        )
        wheel = WheelZoomTool(dimensions="width")
        plot.toolbar = Toolbar(
            tools=[PanTool(), wheel, BoxZoomTool(), ResetTool(), *self._draw_glyphs(plot)],
            active_scroll=wheel,
            logo=None,
        )
        set_seconds_axis(plot)
        plot.xaxis.axis_label = "time since the cluster's start"
        plot.yaxis.ticker = FixedTicker(ticks=[])
        return plot

    def _draw_glyphs(self, plot: figure) -> list[HoverTool]:
        """Add what is drawn to the plot; return the hover tools for it."""
        fill: dict[str, Any] = {"fill_color": {"field": "colour"}}
        edges = ("left", "right", "top", "bottom")
        bins = draw(
            plot,
            Quad,
            **{edge: edge for edge in edges},
            source=self.bins,
            line_width=1,
            line_color={"field": "colour"},
            **fill,
        )
        bars: dict[str, Any] = {"y": "lane", "left": "left", "right": "right", "height": LANE_HEIGHT}
        self._single_glyph = draw(
            plot, HBar, **bars, source=self.single, line_width=0.75, line_color={"field": "line"}, **fill
        )
        self._failed_glyph = draw(
            plot,
            HBar,
            **bars | {"height": HEIGHT},
            source=self.failed,
            line_width=1,
            hatch_pattern="/",
            hatch_scale=7,
            hatch_weight=2,
        )
        self._running_glyph = draw(
            plot,
            HBar,
            **bars,
            source=self.running,
            fill_color={"field": "colour"},
            fill_alpha=0.35,
            line_color={"field": "colour"},
            line_dash=[5, 3],
            line_width=1.5,
            hatch_pattern="dot",
            hatch_scale=8,
            hatch_color={"field": "colour"},
        )
        self._ends_glyph = draw(
            plot,
            Scatter,
            x="right",
            y="lane",
            source=self.running,
            marker="marker",
            angle=-np.pi / 2,
            size=9,
            line_width=2,
        )
        self._chosen_glyph = draw(
            plot, HBar, **bars | {"height": HEIGHT}, source=self.chosen, fill_color=None, line_width=2
        )
        return [
            unfinished_hover(self._running_glyph, source=self.running, names=self.names, lanes=self.lane_names),
            task_hover(self._single_glyph, source=self.single, names=self.names, lanes=self.lane_names),
            bin_hover(bins, source=self.bins, names=self.names, lanes=self.lane_names),
        ]

    def _connect(self) -> None:
        plot, follow = self.plot, self.follow
        # The total is among the models only because one that nothing refers to isn't part of the document.
        models = {"mode": follow, "lanes": self.extent, "y_range": plot.y_range, "total": self.total}
        show = callback("showLanes", **models)
        self.ready = show
        self.extent.js_on_change("data", callback("followLanes", **models))
        follow.js_on_change("active", show)
        plot.js_on_event(Reset, callback("reset", mode=follow))
        self.time.listen(plot)
        self.time.watch(plot.y_range)
        plot.on_event(Tap, self._on_tap)
        plot.on_event(DoubleTap, self._on_double_tap)

    def _on_double_tap(self, event: DoubleTap) -> None:
        """Two clicks in quick succession: they may be at two tasks."""
        sx, sy = self._tapped
        if math.hypot(event.sx - sx, event.sy - sy) >= DOUBLE_PX:
            self._on_tap(event)

    def _on_tap(self, event: Tap | DoubleTap) -> None:
        """Show what is where one has clicked below the plot, or nothing if nothing is there."""
        self._tapped = (event.sx, event.sy)
        lane = self._lanes.at(event.y)
        if lane is None:
            return self._choose(None)
        left, right = self.time.times()
        near_s = abs(right - left) / inner_width_px(self.plot, 600) * NEAR_PX
        key = self._lanes.keys[lane]
        return self._choose(task_at(self._aggregate, key, self._aggregate.started_at_s + event.x, near_s))

    def _choose(self, task: tuple[int, str, float] | None) -> None:
        self._chosen = task
        self.details.forget()
        self._seen.forget()

    def paint(self, palette: Palette) -> None:
        """Colour the plot."""
        style_figure(self.plot, palette)
        glyph = self._failed_glyph.glyph
        glyph.update(fill_color=palette.failed, line_color=palette.failed_hatch, hatch_color=palette.failed_hatch)
        self._chosen_glyph.glyph.line_color = palette.text
        self._ends_glyph.glyph.update(fill_color=palette.text, line_color=palette.text)
        self._sent_rows = None

    def forget(self) -> None:
        """Make the next `update` draw everything."""
        super().forget()
        self._sent_rows = None
        self.details.forget()
        for seen in (self._lanes_seen, self._seen_layers):
            seen.forget()

    def update(self, now_s: float) -> None:
        """Draw what is new; a view that the user is still moving waits until it rests."""
        self._update_details(now_s)
        if self.time.is_moving(now_s):
            return
        version = self._lanes_version() | {"notebook": hash(self.notebook)}
        if not self.is_due(("tasks", "layers", "workers", "running", "life"), version):
            return
        if self._drawing.notebook != self.notebook:
            self._drawing.notebook, self._sent_rows = self.notebook, None
        if self._generation != self._aggregate.generation:
            self._generation, self._sent_rows = self._aggregate.generation, None
        self._update_lanes()
        self._update_total()
        bars, self._shown = bars_of(self._aggregate), self._view()
        self._bars = in_view(bars, self._lanes, self._shown)
        self._drawing.running_s = busy_by_kind(self._bars, self._shown)
        frame = self._drawing.columns(self._lanes, self._shown, self._palette, inner_width_px(self.plot, 600))
        self._send(frame)
        waiting = not self._aggregate.tasks.next_row and not bars
        words = "Compute something on this cluster to see its threads work."
        self.show_empty("No tasks yet" if waiting else "", words)

    def _lanes_version(self) -> dict[str, int]:
        """Return what changes when a person moves other lanes into view."""
        if self.follow.active is not None:
            return {}
        return {"top": hash(float(self.plot.y_range.end)), "bottom": hash(float(self.plot.y_range.start))}

    def _update_details(self, now_s: float) -> None:
        parts = ("tasks", "running", "layers", "progress", "runs", "errors", "workers", "life")
        if self._chosen is None:
            self.details.show(Markup())
        elif self.details.is_due(now_s, versions_of(self._aggregate, *parts)):
            self.details.show(details_html(self._aggregate, *self._chosen))

    def _view(self) -> View:
        """Return what is on screen."""
        started_at_s = self._aggregate.started_at_s
        left, right = self.time.times()
        if self.follow.active is not None:
            self._send_extent()
            return View(started_at_s + left, started_at_s + right, 0, max(len(self._lanes), 1))
        top, bottom = sorted((float(self.plot.y_range.start), float(self.plot.y_range.end)))
        return View(started_at_s + left, started_at_s + right, *self._lanes.between(top, bottom))

    def _send_extent(self) -> None:
        data = {"top": [-0.5], "bottom": [self._lanes.bottom]}
        if self.extent.data != data:
            self.extent.data = data

    def _update_lanes(self) -> None:
        """Give lanes to what is on screen. Under a user's own view lanes are only added, below: none may move there."""
        aggregate = self._aggregate
        started_at_s, (left, right) = aggregate.started_at_s, self.time.times()
        kept = self._lanes.keys if self.follow.active is None else ()
        lanes = lanes_of(aggregate, started_at_s + left, started_at_s + right, kept=kept)
        is_new = self._lanes_seen.changed(versions_of(aggregate, "workers"))
        if not is_new and lanes == self._lanes:
            return
        self._lanes = lanes
        labels = lane_labels(lanes, aggregate)
        axis = self.plot.yaxis[0]
        if axis.major_label_overrides != labels:
            axis.ticker.ticks = list(labels)
            axis.major_label_overrides = labels
        names = {"name": lane_names(lanes, aggregate), "top": lanes.edges[:-1].astype(np.float32)}
        replace_data(self.lane_names, names)
        self._sent_rows = None

    def _update_total(self) -> None:
        data = {"tasks": [self._aggregate.compute_tasks], "events": [self._aggregate.tasks.next_row]}
        if self.total.data != data:
            self.total.data = data

    def _send(self, frame: Frame) -> None:
        replace_data(self.running, running_columns(self._drawing, self._bars, self._lanes, self._palette))
        self._send_names()
        if frame.is_recoloured:
            self._sent_rows = None
        if frame.rows is None:
            replace_data(self.bins, frame.bins)
            self._replace_single(frame.single)
        else:
            self._send_single(frame.single, frame.rows)
            replace_data(self.bins, frame.bins)
        self._sent_rows = frame.rows
        replace_data(self.failed, frame.failed)
        # A wider line parts long tasks from the bins around them.
        self._single_glyph.glyph.line_width = 2.0 if frame.long else 0.75
        self._mark_chosen()
        unfinished = [("transparent", words, "unfinished") for words in self._unfinished_words()]
        text = self._drawing.legend(frame, self._palette, unfinished)
        show_html(self.legend, text)

    def _unfinished_words(self) -> list[str]:
        """Return what the legend says of the tasks that haven't ended: they have a pattern and a dashed outline."""
        counts = Counter(bar.ends for bar in self._bars)
        said = ((RUNS, "running ▸"), (LOST, "lost, never ended ✕"), (INTERRUPTED, "ran at the end ✕"))
        return [f"{counts[ends]:,} {words}" for ends, words in said if counts[ends]]

    def _mark_chosen(self) -> None:
        """Outline the task that was clicked."""
        rows: dict[str, list[float]] = {name: [] for name in FAILED_COLUMNS}
        if self._chosen is not None:
            found = attempt_at(self._aggregate, *self._chosen)
            keys = self._lanes.keys
            if found is not None and (found.worker, found.lane) in keys and self._is_shown(found.start_s, found.stop_s):
                started_at_s = self._aggregate.started_at_s
                place = keys.index((found.worker, found.lane))
                times = (found.start_s - started_at_s, found.stop_s - started_at_s)
                values = (*times, float(self._lanes.middles[place]), LANE_HEIGHT * float(self._lanes.heights[place]))
                rows = {name: [value] for name, value in zip(FAILED_COLUMNS, values, strict=True)}
        replace_data(self.chosen, rows)

    def _is_shown(self, start_s: float, stop_s: float) -> bool:
        return start_s <= self._shown.stop_s and stop_s >= self._shown.start_s

    def _send_single(self, single: dict[str, Any], rows: np.ndarray) -> None:
        """Send all events, or only the last ones if the others are there already."""
        sent = self._sent_rows
        if sent is None or len(rows) < len(sent) or not np.array_equal(rows[: len(sent)], sent):
            self._replace_single(single)
        elif len(rows) > len(sent):
            self.single.stream({name: values[len(sent) :] for name, values in single.items()})

    def _replace_single(self, single: dict[str, Any]) -> None:
        """Send all events, with heights or without. The browser draws after each of these steps: none may miss a column."""
        glyph, has_heights = self._single_glyph.glyph, HEIGHT in single
        if not has_heights and glyph.height != LANE_HEIGHT:
            glyph.height = LANE_HEIGHT
        replace_data(self.single, single)
        if has_heights and glyph.height != field(HEIGHT):
            glyph.height = field(HEIGHT)

    def _send_names(self) -> None:
        known = len(self.names.data["name"])
        if self._seen_layers.changed(versions_of(self._aggregate, "layers")):
            known = 0  # a layer may have been announced after its first task
        kinds = self._book.kinds[known:]
        columns = name_columns(kinds, self._aggregate)
        if known == 0:
            replace_data(self.names, columns)
        elif kinds:
            self.names.stream(columns)

    def summary(self) -> str:
        """Return how many lanes and tasks there are."""
        return summary_of(self._aggregate, len(self._lanes))

    def table(self) -> Table:
        """Return what the threads did in the time on screen, by layer."""
        started_at_s, (left, right) = self._aggregate.started_at_s, self.time.times()
        return stream_table(self._aggregate, started_at_s + left, started_at_s + right)
