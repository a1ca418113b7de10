"""Progress by layer: one bar each, newest on top."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.core.properties import value as constant
from bokeh.models import ColumnDataSource, CustomJS, CustomJSHover, HoverTool, Range1d, Toolbar, UIElement
from bokeh.plotting import figure

from glassloom_dashboards.aggregate import STATES, ClusterAggregate, Layer
from glassloom_dashboards.card import (
    Seen,
    empty_div,
    inner_width_px,
    legend_div,
    legend_html,
    replace_data,
    show_empty,
    versions_of,
)
from glassloom_dashboards.theme import FONT, Palette, ellipsis, glyph_of, style_figure, tooltip

SOURCE = "progress-source"
MAX_LAYERS = 30
ROW_PX = 38
MAX_NAME_LENGTH = 300
"""Longer names are cut in the hover too."""

_CHARACTER_PX = 6.6
_COUNT_PX = 96

COLUMNS = (
    "y",
    "text_y",
    "row_y",
    "memory_stop",
    "released_stop",
    "erred_stop",
    "running_stop",
    "label",
    "count",
    "name",
    "origin",
    "total",
    *STATES,
)


def shown_layers(aggregate: ClusterAggregate) -> list[Layer]:
    """Return the layers to show: those in which something happened last, newest first."""
    changed_at = aggregate.progress_changed_at
    by_activity = sorted(aggregate.layers.values(), key=lambda layer: (changed_at.get(layer.id, 0), layer.id))
    return sorted(by_activity[-MAX_LAYERS:], key=lambda layer: layer.id, reverse=True)


def columns(aggregate: ClusterAggregate, label_length: int) -> dict[str, list[Any]]:
    """Return one row a layer: where its bar's parts end (0 to 1), its label cut to `label_length`, and its counts."""
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for place, layer in enumerate(shown_layers(aggregate)):
        counts = dict(zip(STATES, aggregate.progress.get(layer.id, (0,) * len(STATES)), strict=True))
        total = max(layer.total, sum(counts.values()), 1)
        stops = np.cumsum([counts[state] for state in ("memory", "released", "erred", "running")]) / total
        done = counts["memory"] + counts["released"]
        row = counts | {
            "y": place + 0.68,
            "text_y": place + 0.3,
            "row_y": place + 0.5,
            "memory_stop": float(stops[0]),
            "released_stop": float(stops[1]),
            "erred_stop": float(stops[2]),
            "running_stop": float(stops[3]),
            "label": ellipsis(layer.name, label_length),
            "count": f"{done:,} / {layer.total:,}",
            "name": ellipsis(layer.name, MAX_NAME_LENGTH),
            "origin": ellipsis(layer.origin, MAX_NAME_LENGTH) or "unknown",
            "total": layer.total,
        }
        for name, value in row.items():
            rows[name].append(value)
    return rows


def plot(source: ColumnDataSource, palette: Palette) -> figure:
    """Return the figure that draws `columns`."""
    bars = figure(
        name="progress",
        x_range=Range1d(0, 1),
        y_range=Range1d(1, 0),
        height=ROW_PX,
        sizing_mode="stretch_width",
        min_width=120,
        toolbar_location=None,
        tools=[],
        min_border=0,
        x_axis_type=None,
        y_axis_type=None,
    )
    row = bars.hbar(y="row_y", height=1, left=0, right=1, source=source, fill_alpha=0, line_color=None, name="row")
    style: dict[str, Any] = {"y": "y", "height": 0.2, "source": source, "line_color": None}
    bars.hbar(left=0, right=1, **style, name="track")
    bars.hbar(left=0, right="memory_stop", **style, name="memory")
    bars.hbar(left="memory_stop", right="released_stop", **style, name="released")
    bars.hbar(left="released_stop", right="erred_stop", **style, name="erred")
    bars.hbar(left="erred_stop", right="running_stop", **style, name="running")
    text: dict[str, Any] = {"y": "text_y", "source": source, "text_baseline": "middle", "text_font": constant(FONT)}
    bars.text(x=0, text="label", text_font_size="12px", **text, name="label")
    bars.text(x=1, text="count", text_align="right", text_font_size="11px", **text, name="count")
    share = CustomJSHover(code="return `${value.toLocaleString('en')}`")
    states = [(state, f"@{state}{{custom}}") for state in STATES]
    bars.toolbar = Toolbar(
        logo=None,
        tools=[
            HoverTool(
                renderers=[row],
                tooltips=tooltip("@name", [("from", "@origin"), ("tasks", "@total{custom}"), *states]),
                formatters={f"@{name}": share for name in ("total", *STATES)},
                point_policy="follow_mouse",
            )
        ],
    )
    bars.xgrid.visible = False
    paint(bars, palette)
    return bars


def paint(bars: figure, palette: Palette) -> None:
    """Colour the parts of the bars."""
    style_figure(bars, palette)
    fills = {
        "track": palette.track,
        "memory": palette.memory,
        "released": palette.released,
        "erred": palette.erred,
        "running": palette.running,
    }
    for name, colour in fills.items():
        glyph_of(bars, name).fill_color = colour
    glyph_of(bars, "label").text_color = palette.text
    glyph_of(bars, "count").text_color = palette.muted_text


class ProgressBars:
    """The card of progress by layer for one viewer."""

    id = "progress"
    controls: UIElement | None = None
    ready: CustomJS | None = None

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        self._aggregate = aggregate
        self._palette = palette
        self._seen = Seen()
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in COLUMNS})
        self.legend = legend_div("progress-legend")
        self.empty = empty_div("progress-empty")
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
        width = {"width": inner_width_px(self.plot, 360)}
        if not self._seen.changed(versions_of(self._aggregate, "layers", "progress") | width):
            return
        rows = columns(self._aggregate, max(int((width["width"] - _COUNT_PX) / _CHARACTER_PX), 8))
        if self.source.data != rows:
            replace_data(self.source, rows)
        count = max(len(rows["y"]), 1)
        if self.plot.height != count * ROW_PX:
            self.plot.height = count * ROW_PX
            self.plot.y_range.update(start=count, end=0)
        self._update_legend()
        show_empty(
            self.empty, "" if self._aggregate.layers else "No tasks yet", "Each layer of a graph gets a bar here."
        )

    def _update_legend(self) -> None:
        palette, more = self._palette, len(self._aggregate.layers) - MAX_LAYERS
        entries = [
            (palette.memory, "in memory", ""),
            (palette.released, "released", ""),
            (palette.running, "running", ""),
            (palette.track, "waiting", ""),
        ]
        if any(counts[STATES.index("erred")] for counts in self._aggregate.progress.values()):
            entries.append((palette.erred, "erred", ""))
        text = legend_html(entries, f"+{more:,} more layers" if more > 0 else "")
        if self.legend.text != text:
            self.legend.text = text
