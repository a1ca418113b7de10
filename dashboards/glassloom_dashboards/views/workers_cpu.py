"""CPU by worker, and of all workers together over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.layouts import column as layout_column
from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter, Range1d, Toolbar, UIElement
from bokeh.models.glyphs import HBar, Line, VArea
from bokeh.plotting import figure

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.base_cards import TimeCard
from glassloom_dashboards.parts.card import (
    replace_data,
)
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.memory_words import NOT_MEASURED
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import Palette, ellipsis, glyph_of, style_figure, tooltip
from glassloom_dashboards.parts.time_view import TimeView, time_figure
from glassloom_dashboards.views.workers import (
    BAR_HEIGHT,
    Bar,
    add_numbers,
    bar_figure,
    bars_of,
    end_beside_numbers,
    grouping_note,
    has_numbers,
    label_bars,
    paint_numbers,
    size_px,
)

SOURCE = "workers-cpu-source"
HISTORY_SOURCE = "workers-cpu-history-source"
MAX_HISTORY_POINTS = 400
COLUMNS = ("y", "label", "text", "said", "reach", "cpu", "most", "executing", "queued")
HEIGHTS = {"track": BAR_HEIGHT, "cpu": BAR_HEIGHT}


def cpu_of_workers(aggregate: ClusterAggregate) -> dict[int, float]:
    """Return the CPU use in per cent of each worker that has been measured; 100 is one core busy."""
    return {worker: sample.cpu_percent for worker, sample in aggregate.samples.items()}


def columns(aggregate: ClusterAggregate, bars: Sequence[Bar]) -> dict[str, list[Any]]:
    """Return one row a bar: means over its workers."""
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for place, bar in enumerate(bars):
        samples = [aggregate.samples[worker] for worker in bar.workers if worker in aggregate.samples]
        count = max(len(samples), 1)
        row: dict[str, Any] = {
            "y": place,
            "label": ellipsis(bar.label, 80),
            "cpu": sum(sample.cpu_percent for sample in samples) / count,
            "most": 100 * sum(aggregate.workers[worker].nthreads for worker in bar.workers) / len(bar.workers),
            "executing": sum(sample.executing for sample in samples),
            "queued": sum(sample.queued for sample in samples),
        }
        row["reach"] = max(row["cpu"], row["most"])
        row["text"] = (f"{row['cpu']:,.0f} %" if samples else NOT_MEASURED) if has_numbers(bars) else ""
        row["said"] = f"{row['cpu']:,.1f} % of {row['most']:,.0f} %" if samples else NOT_MEASURED
        for name, value in row.items():
            rows[name].append(value)
    return rows


def history_columns(aggregate: ClusterAggregate, left: float, right: float) -> dict[str, np.ndarray]:
    """Return the cores in use between two times since the cluster's start, as at most `MAX_HISTORY_POINTS` points.

    Of more samples a point shows the mean of as many, and the highest. A sample before and one after are there, so that the
    line reaches the edges.
    """
    at_s = aggregate.history["at_s"] - aggregate.started_at_s
    first, last = max(int(np.searchsorted(at_s, left)) - 1, 0), int(np.searchsorted(at_s, right, side="right")) + 1
    at_s, cores = at_s[first:last], aggregate.history["cpu_percent"][first:last] / 100
    size = max(-(-len(at_s) // MAX_HISTORY_POINTS), 1)
    firsts = np.arange(0, len(at_s), size)
    if not len(firsts):
        return {"at": at_s, "mean": cores, "highest": cores}
    counts = np.diff(np.append(firsts, len(at_s)))
    return {
        "at": np.add.reduceat(at_s, firsts) / counts,
        "mean": np.add.reduceat(cores, firsts) / counts,
        "highest": np.maximum.reduceat(cores, firsts),
    }


def plot_bars(source: ColumnDataSource) -> figure:
    """Return the figure that draws `columns`."""
    bars = bar_figure("workers-cpu", "% of one core")
    bars.xaxis.formatter = NumeralTickFormatter(format="0,0")
    style: dict[str, Any] = {"y": "y", "height": BAR_HEIGHT, "source": source, "line_color": None}
    track = draw(bars, HBar, left=0, right="most", **style, name="track")
    draw(bars, HBar, left=0, right="cpu", **style, name="cpu")
    add_numbers(bars, source, "reach")
    bars.toolbar = Toolbar(
        logo=None,
        tools=[
            HoverTool(
                renderers=[track],
                tooltips=tooltip(
                    "@label",
                    [("CPU", "@said"), ("running", "@executing{0,0}"), ("queued", "@queued{0,0}")],
                ),
            )
        ],
    )
    return bars


def plot_history(source: ColumnDataSource, x_range: Range1d) -> tuple[figure, HoverTool]:
    """Return the figure that draws `history_columns`, and the tool that says its numbers."""
    lines = time_figure("workers-cpu-history", x_range, sizing_mode="stretch_both", min_height=110, min_border=2)
    lines.xaxis.ticker.desired_num_ticks = 4
    lines.yaxis.axis_label = "cores busy"
    lines.yaxis.ticker.desired_num_ticks = 3
    lines.yaxis.ticker.num_minor_ticks = 0
    draw(lines, VArea, x="at", y1=0, y2="mean", source=source, fill_alpha=0.25, name="area")
    line = draw(lines, Line, x="at", y="mean", source=source, line_width=1.5, name="line")
    tool = HoverTool(
        renderers=[line],
        mode="vline",
        tooltips=tooltip("@mean{0,0.00} cores busy", [("at most", "@highest{0,0.00}"), ("at", "@at{0.0} s")]),
    )
    return lines, tool


def summary_of(aggregate: ClusterAggregate) -> str:
    """Return how busy all workers are together."""
    workers, threads, samples = len(aggregate.workers), aggregate.threads, aggregate.samples.values()
    said = f"{workers:,} worker{'s' * (workers != 1)} with {threads:,} thread{'s' * (threads != 1)}"
    return f"{said}, {sum(one.cpu_percent for one in samples) / 100:,.1f} cores busy." if samples else f"{said}."


class WorkersCpu(TimeCard):
    """The card of CPU by worker for one viewer."""

    id = "workers-cpu"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette, time: TimeView | None = None) -> None:
        super().__init__(aggregate, time)
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in COLUMNS})
        self.history = ColumnDataSource(name=HISTORY_SOURCE, data={"at": [], "mean": [], "highest": []})
        self.plot = plot_bars(self.source)
        self.line, tool = plot_history(self.history, self.time.x_range)
        self.time.add(self.line, tool)
        self.body: UIElement = layout_column(
            self.plot, self.line, name="workers-cpu-body", sizing_mode="stretch_both", spacing=0
        )
        self.set_palette(palette)

    def paint(self, palette: Palette) -> None:
        """Colour the plots."""
        for part in (self.plot, self.line):
            style_figure(part, palette)
        paint_numbers(self.plot, palette)
        self.line.ygrid.grid_line_color = palette.grid
        glyph_of(self.plot, "track").update(fill_color=palette.track, line_color=palette.outline)
        glyph_of(self.plot, "cpu").fill_color = palette.cpu
        glyph_of(self.line, "area").fill_color = palette.cpu
        glyph_of(self.line, "line").line_color = palette.cpu

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        if self.time.is_moving(now_s):
            return
        if not self.is_due(("workers", "samples", "tasks"), size_px(self.plot)):
            return
        bars = bars_of(self._aggregate, cpu_of_workers(self._aggregate))
        rows = columns(self._aggregate, bars)
        replace_data(self.source, rows)
        end = end_beside_numbers(self.plot, max(rows["reach"], default=100.0), rows["text"])
        if self.plot.x_range.end != end:
            self.plot.x_range.end = end
        label_bars(self.plot, bars, HEIGHTS)
        self._update_history()
        palette = self._palette
        entries = [(palette.cpu, "busy", ""), (palette.track, "threads", "outlined")]
        self.show_legend(entries, grouping_note(self._aggregate, bars, "CPU"))
        self.show_empty("" if bars else "No workers yet", "Their CPU use appears here as soon as they join.")

    def _update_history(self) -> None:
        rows = history_columns(self._aggregate, *self.time.times())
        if replace_data(self.history, rows):
            end = 1.05 * max(self._aggregate.threads, float(rows["highest"].max(initial=0.0)), 1.0)
            if self.line.y_range.end != end:
                self.line.y_range.end = end

    def summary(self) -> str:
        """Return how busy all workers are together."""
        return summary_of(self._aggregate)

    def table(self) -> Table:
        """Return how busy every worker is."""
        rows = []
        for worker, joined in sorted(self._aggregate.workers.items()):
            sample, threads = self._aggregate.samples.get(worker), f"{joined.nthreads:,}"
            numbers = [NOT_MEASURED, threads, "", ""]
            if sample is not None:
                numbers = [f"{sample.cpu_percent:,.0f} %", threads, f"{sample.executing:,}", f"{sample.queued:,}"]
            rows.append([self._aggregate.worker_name(worker), *numbers])
        return Table(("worker", "CPU, % of one core", "threads", "running", "queued"), rows)
