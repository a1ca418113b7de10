"""Progress by layer: one bar each; those that run on top, then those that haven't begun, then those that are done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from bokeh.core.properties import value as constant
from bokeh.layouts import row as row_of
from bokeh.models import Button, ColumnDataSource, HoverTool, InlineStyleSheet, Range1d, Toolbar, UIElement
from bokeh.models.glyphs import HBar, Text
from bokeh.plotting import figure

from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate, Layer
from glassloom_dashboards.folds.layer_table import Places
from glassloom_dashboards.parts.base_cards import PlotCard
from glassloom_dashboards.parts.card import (
    CONTROL_STYLE,
    inner_width_px,
    replace_data,
)
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.scripts import hover
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.text_width import fitting, text_px
from glassloom_dashboards.parts.theme import (
    FONT,
    Palette,
    cut_apart,
    glyph_of,
    hatch,
    hatch_class,
    middle_cut,
    style_figure,
    tooltip,
)
from glassloom_dashboards.views.layer_rows import Folding, Row

SOURCE = "progress-source"
MAX_LAYERS = 60
"""Bars at a time: a taller canvas costs the browser too much. The buttons lead to the others."""
ROW_PX = 38
MAX_NAME_LENGTH = 300
"""Longer names are cut in the hover too."""

_NAME_PX, _COUNT_PX, _GAP_PX = 12, 11, 14
_LEAST_NAME = 8

PARTS = ("memory", "released", "erred", "cancelled", "running")
"""The parts of a bar, from the left; the rest of it is waiting."""
ODD_STATES = {"erred": "failed", "cancelled": "cancelled"}
COLUMNS = (
    "y",
    "text_y",
    "row_y",
    *(f"{part}_stop" for part in PARTS),
    "label",
    "count",
    "name",
    "origin",
    "total",
    *STATES,
    "cancelled",
)


def ordered_places(aggregate: ClusterAggregate, ids: Collection[int] | None = None) -> Places:
    """Return the places of all layers or some: those that run, then those that haven't begun, then those that are done; newest first.

    Layers without tasks are left out: those of a recording that were done before it began.
    """
    table, sums = aggregate.layer_table, aggregate.sums.layers
    places = table.all() if ids is None else table.places(ids)
    is_empty = table.totals(places) == 0
    if is_empty.any():
        is_empty[is_empty] = [not sums[layer].count for layer in table.ids(places[is_empty])]
        places = places[~is_empty]
    return table.ordered(places)


def ids_of(aggregate: ClusterAggregate, notebook: str) -> Collection[int] | None:
    """Return the layers of a notebook's runs that are kept one by one; None, all layers, without a notebook."""
    return aggregate.runs.layers_of_notebook(notebook) & aggregate.layers.keys() if notebook else None


def ordered_layers(aggregate: ClusterAggregate, ids: Collection[int] | None = None) -> list[Layer]:
    """Return the layers at `ordered_places`."""
    return [aggregate.layers[layer] for layer in aggregate.layer_table.ids(ordered_places(aggregate, ids))]


def count_text(counts: dict[str, int], total: int) -> str:
    """Return how far a layer is.

    >>> count_text({"memory": 100, "released": 48, "erred": 2, "cancelled": 0}, 150)
    '148 / 150, 2 failed'
    """
    said = [f"{counts['memory'] + counts['released']:,} / {total:,}"]
    said += [f"{counts[state]:,} {words}" for state, words in ODD_STATES.items() if counts[state]]
    return ", ".join(said)


def columns(shown: Sequence[Row], width_px: int, remarks: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return a row for each that is shown: where its bar's parts end (0 to 1), its label as long as fits, and its counts.

    ``remarks`` are said after the counts, for each row one.
    """
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    texts = [
        _count_text(one, remark, width_px) for one, remark in zip(shown, remarks or [""] * len(shown), strict=True)
    ]
    names = [one.name for one in shown]
    rooms = [
        max(fitting(name, _NAME_PX, width_px - text_px(text, _COUNT_PX) - _GAP_PX), _LEAST_NAME)
        for name, text in zip(names, texts, strict=True)
    ]
    labels = cut_apart(names, rooms)
    for place, one in enumerate(shown):
        counts = one.counts
        total = max(one.total, sum(counts.values()), 1)
        stops = np.cumsum([counts[state] for state in PARTS]) / total
        row = counts | {
            "y": place + 0.68,
            "text_y": place + 0.3,
            "row_y": place + 0.5,
            "label": labels[place],
            "count": texts[place],
            "name": middle_cut(one.title, MAX_NAME_LENGTH),
            "origin": middle_cut(one.origin, MAX_NAME_LENGTH) or "unknown",
            "total": one.total,
        }
        row |= {f"{part}_stop": float(stop) for part, stop in zip(PARTS, stops, strict=True)}
        for name, value in row.items():
            rows[name].append(value)
    return rows


def _count_text(row: Row, remark: str, width_px: int) -> str:
    """Return a row's counts, and the remark if there is room for it beside a name."""
    text = " ".join(part for part in (count_text(row.counts, row.total), row.remark) if part)
    whole = f"{text} · {remark}" if remark else text
    room_px = width_px - _GAP_PX - _LEAST_NAME * _NAME_PX * 0.6
    return whole if text_px(whole, _COUNT_PX) <= room_px else text


def plot(source: ColumnDataSource) -> figure:
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
    row = draw(
        bars, HBar, y="row_y", height=1, left=0, right=1, source=source, fill_alpha=0, line_color=None, name="row"
    )
    style: dict[str, Any] = {"y": "y", "height": 0.2, "source": source, "line_color": None}
    draw(bars, HBar, left=0, right=1, **style, name="track")
    left: Any = 0
    for part in PARTS:
        draw(bars, HBar, left=left, right=f"{part}_stop", **style, name=part)
        left = f"{part}_stop"
    text: dict[str, Any] = {"y": "text_y", "source": source, "text_baseline": "middle", "text_font": constant(FONT)}
    draw(bars, Text, x=0, text="label", text_font_size=f"{_NAME_PX}px", **text, name="label")
    draw(bars, Text, x=1, text="count", text_align="right", text_font_size=f"{_COUNT_PX}px", **text, name="count")
    share = hover("count")
    states = [(ODD_STATES.get(state, state), f"@{state}{{custom}}") for state in (*STATES, "cancelled")]
    bars.toolbar = Toolbar(
        logo=None,
        tools=[
            HoverTool(
                renderers=[row],
                tooltips=tooltip("@name", [("from", "@origin"), ("tasks", "@total{custom}"), *states]),
                formatters={f"@{name}": share for name in ("total", *STATES, "cancelled")},
                point_policy="follow_mouse",
            )
        ],
    )
    bars.xgrid.visible = False
    return bars


def paint(bars: figure, palette: Palette) -> None:
    """Colour the parts of the bars."""
    style_figure(bars, palette)
    for name in ("track", *PARTS):
        glyph_of(bars, name).fill_color = getattr(palette, name)
    for part in PARTS:
        hatch(glyph_of(bars, part), part, palette)
    glyph_of(bars, "track").line_color = palette.outline
    glyph_of(bars, "label").text_color = palette.text
    glyph_of(bars, "count").text_color = palette.muted_text


def state_entries(palette: Palette, odd: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Return the legend of the parts of a bar; `odd` are those of `ODD_STATES` that there are."""
    shown = [("memory", "in memory"), ("released", "released"), ("running", "running")]
    entries = [(getattr(palette, state), words, hatch_class(state)) for state, words in shown]
    entries.append((palette.track, "waiting", "outlined"))
    return entries + [(getattr(palette, state), ODD_STATES[state], hatch_class(state)) for state in odd]


class Pager:
    """Two buttons and the number of the first row of what is shown of a long list; hidden where everything is shown."""

    def __init__(self, name: str, rows: int) -> None:
        self._rows = rows
        self.first = 0
        style = [InlineStyleSheet(css=CONTROL_STYLE)]
        self.back = Button(label="‹ Earlier", name=f"{name}-back", margin=0, stylesheets=style)
        self.forth = Button(label="More ›", name=f"{name}-forth", margin=0, stylesheets=style)
        self.back.on_click(lambda: self._move(-rows))
        self.forth.on_click(lambda: self._move(rows))
        self.body = row_of(self.back, self.forth, name=name, visible=False, spacing=4)

    def _move(self, rows: int) -> None:
        self.first = max(self.first + rows, 0)

    def words(self, total: int, folded: int) -> str:
        """Return which of `total` rows are shown, if not all; `folded` layers share the rows of others."""
        if total <= self._rows:
            return ""
        last = min(self.first + self._rows, total)
        return f"{'rows' if folded else 'layers'} {self.first + 1:,} to {last:,} of {total:,}"

    def show(self, total: int) -> slice:
        """Return which of `total` rows to show."""
        self.first = min(self.first, max(total - 1, 0) // self._rows * self._rows)
        states = ((self.body, "visible", total > self._rows), (self.back, "disabled", self.first == 0))
        for model, state, value in (*states, (self.forth, "disabled", self.first + self._rows >= total)):
            if getattr(model, state) != value:
                setattr(model, state, value)
        return slice(self.first, self.first + self._rows)


def summary_of(aggregate: ClusterAggregate) -> str:
    """Return how far all layers are together."""
    counts, count = aggregate.task_counts, len(ordered_places(aggregate))
    return f"{count:,} layer{'s' * (count != 1)}; tasks done: {count_text(counts, counts['total'])}."


class ProgressBars(PlotCard):
    """The card of progress by layer for one viewer."""

    id = "progress"
    notebook = ""

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        super().__init__(aggregate)
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in COLUMNS})
        self.plot = plot(self.source)
        self.body: UIElement = self.plot
        self._shown: Sequence[Row] = ()
        self._n_rows = 0
        self.folding = Folding("progress")
        self.pager = Pager("progress-pager", MAX_LAYERS)
        self.controls = row_of(self.folding.button, self.pager.body, name="progress-controls", spacing=8)
        self.set_palette(palette)

    def paint(self, palette: Palette) -> None:
        """Colour the plot."""
        paint(self.plot, palette)

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        layout = {"width": inner_width_px(self.plot, 360), "first": self.pager.first, "all": self.folding.shows_all}
        layout["notebook"] = hash(self.notebook)
        if not self.is_due(("layers", "progress"), layout):
            return
        places = ordered_places(self._aggregate, ids_of(self._aggregate, self.notebook))
        every = self.folding.rows(self._aggregate, places)
        self._n_rows = len(every)
        self._shown = every[self.pager.show(len(every))]
        rows = columns(self._shown, layout["width"])
        replace_data(self.source, rows)
        count = max(len(rows["y"]), 1)
        if self.plot.height != count * ROW_PX:
            self.plot.height = count * ROW_PX
            self.plot.y_range.update(start=count, end=0)
        self._update_legend()
        self.show_empty("" if len(places) else "No tasks yet", "Each layer of a graph gets a bar here.")

    def _update_legend(self) -> None:
        aggregate, palette = self._aggregate, self._palette
        entries = state_entries(palette, [state for state in ODD_STATES if aggregate.task_counts[state]])
        self.show_legend(entries, self.pager.words(self._n_rows, self.folding.left_out))

    def summary(self) -> str:
        """Return how far all layers are together."""
        return summary_of(self._aggregate)

    def table(self) -> Table:
        """Return the layers that are on screen, and their tasks by state."""
        rows = []
        for one in self._shown:
            numbers = [f"{one.counts[state]:,}" for state in (*STATES, "cancelled")]
            rows.append([one.title, one.origin or "unknown", f"{one.total:,}", *numbers])
        words = [ODD_STATES.get(state, state) for state in (*STATES, "cancelled")]
        return Table(("layer", "from", "tasks", *words), rows, texts=("from",))
