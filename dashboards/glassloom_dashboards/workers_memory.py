"""Memory by worker: managed, shared, unmanaged and spilled bytes, beside the worker's limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bokeh.models import ColumnDataSource, CustomJS, CustomJSHover, HoverTool, Toolbar, UIElement
from bokeh.plotting import figure

from glassloom_dashboards.aggregate import ClusterAggregate
from glassloom_dashboards.card import Seen, empty_div, legend_div, legend_html, replace_data, show_empty, versions_of
from glassloom_dashboards.theme import (
    HOVER_BYTES_JS,
    Palette,
    ellipsis,
    glyph_of,
    set_bytes_axis,
    style_figure,
    tooltip,
)
from glassloom_dashboards.workers import BAR_HEIGHT, Bar, bar_figure, bars_of, grouping_note, label_bars

SOURCE = "workers-memory-source"
PARTS = ("managed", "shared", "unmanaged", "spilled")
COLUMNS = ("y", "label", "rss", "limit", "limit_text", "reach", *PARTS, *(f"{part}_stop" for part in PARTS))
_LEAST_AXIS_BYTES = 2**20


def rss_of_workers(aggregate: ClusterAggregate) -> dict[int, float]:
    """Return the resident memory of each worker that has been measured."""
    return {worker: float(sample.rss_bytes) for worker, sample in aggregate.samples.items()}


def columns(aggregate: ClusterAggregate, bars: Sequence[Bar]) -> dict[str, list[Any]]:
    """Return one row a bar: means over its workers in bytes, and where the stacked parts end."""
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for place, bar in enumerate(bars):
        samples = [aggregate.samples[worker] for worker in bar.workers if worker in aggregate.samples]
        count = max(len(samples), 1)
        limits = [aggregate.workers[worker].memory_limit_bytes for worker in bar.workers]
        known = [limit for limit in limits if limit]
        limit = sum(known) / len(known) if known else float("nan")
        row: dict[str, Any] = {"y": place, "label": ellipsis(bar.label, 80), "limit": limit}
        row["limit_text"] = f"{limit:.0f}" if known else "none"
        row["rss"] = sum(sample.rss_bytes for sample in samples) / count
        stop = 0.0
        for part in PARTS:
            row[part] = sum(getattr(sample, f"{part}_bytes") for sample in samples) / count
            stop += row[part]
            row[f"{part}_stop"] = stop
        row["reach"] = max(stop, limit) if known else stop
        for name, value in row.items():
            rows[name].append(value)
    return rows


def axis_end_bytes(rows: dict[str, list[Any]]) -> float:
    """Return where the axis ends: a little beyond the longest bar and every limit."""
    return 1.04 * max(rows["reach"], default=0.0) or float(_LEAST_AXIS_BYTES)


def plot(source: ColumnDataSource, palette: Palette) -> figure:
    """Return the figure that draws `columns`."""
    bars = bar_figure("workers-memory", "")
    set_bytes_axis(bars)
    style: dict[str, Any] = {"y": "y", "height": BAR_HEIGHT, "source": source, "line_color": None}
    bars.hbar(left=0, right="limit", **style, name="track")
    left: Any = 0
    for part in PARTS:
        bars.hbar(left=left, right=f"{part}_stop", **style, name=part)
        left = f"{part}_stop"
    bars.scatter(x="limit", y="y", marker="dash", angle=math.pi / 2, size=14, line_width=2, source=source, name="limit")
    whole = bars.hbar(left=0, right="reach", fill_alpha=0, **style, name="whole")
    nbytes = CustomJSHover(code=HOVER_BYTES_JS)
    limit = CustomJSHover(code=f"if (value == 'none') return value; value = Number(value)\n{HOVER_BYTES_JS}")
    words = [(part, f"@{part}{{custom}}") for part in PARTS]
    bars.toolbar = Toolbar(
        logo=None,
        tools=[
            HoverTool(
                renderers=[whole],
                tooltips=tooltip(
                    "@label", [("process (RSS)", "@rss{custom}"), *words, ("limit", "@limit_text{custom}")]
                ),
                formatters={f"@{part}": nbytes for part in ("rss", *PARTS)} | {"@limit_text": limit},
            )
        ],
    )
    paint(bars, palette)
    return bars


def paint(bars: figure, palette: Palette) -> None:
    """Colour the parts of the bars."""
    style_figure(bars, palette)
    glyph_of(bars, "track").fill_color = palette.track
    for part in PARTS:
        glyph_of(bars, part).fill_color = getattr(palette, part)
    glyph_of(bars, "limit").line_color = palette.muted_text
    spilled = glyph_of(bars, "spilled")
    spilled.update(hatch_pattern="/", hatch_color=palette.background, hatch_alpha=0.5, hatch_scale=6)


class WorkersMemory:
    """The card of memory by worker for one viewer."""

    id = "workers-memory"
    controls: UIElement | None = None
    ready: CustomJS | None = None

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        self._aggregate = aggregate
        self._palette = palette
        self._seen = Seen()
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in COLUMNS})
        self.legend = legend_div("workers-memory-legend")
        self.empty = empty_div("workers-memory-empty")
        self.plot = plot(self.source, palette)
        self.body: UIElement = self.plot

    def set_palette(self, palette: Palette) -> None:
        """Change colours."""
        self._palette = palette
        paint(self.plot, palette)
        self._seen.forget()

    def forget(self) -> None:
        """Make the next `update` draw everything."""
        self._seen.forget()

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        if not self._seen.changed(versions_of(self._aggregate, "workers", "samples")):
            return
        bars = bars_of(self._aggregate, rss_of_workers(self._aggregate))
        rows = columns(self._aggregate, bars)
        if replace_data(self.source, rows):
            end = axis_end_bytes(rows)
            if self.plot.x_range.end != end:
                self.plot.x_range.end = end
        label_bars(self.plot, bars, ("track", "whole", *PARTS))
        palette = self._palette
        entries = [(getattr(palette, part), part, "hatched" if part == "spilled" else "") for part in PARTS]
        text = legend_html(entries, grouping_note(self._aggregate, bars, "memory"))
        if self.legend.text != text:
            self.legend.text = text
        show_empty(self.empty, "" if bars else "No workers yet", "Their memory appears here as soon as they join.")
