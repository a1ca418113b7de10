"""Bars by worker: which workers or groups of workers get a bar, and how such a figure is built.

Up to `MAX_BARS` workers have a bar each, in the order of the task stream's lanes. More are put in order of the value
shown and cut into equal groups, of which a bar shows the mean; the legend says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bokeh.core.properties import value as constant
from bokeh.models import ColumnDataSource, FixedTicker, Range1d
from bokeh.models.glyphs import Text
from bokeh.plotting import figure

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.card import inner_width_px
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.theme import FONT, Palette, glyph_of, middle_cut, plain

MAX_BARS = 60
MAX_LABELS = 16
MAX_LABEL_LENGTH = 14
BAR_HEIGHT = 0.72
THIN_FROM_BARS = 30
"""With more bars there is no room for gaps between them."""

MAX_NUMBERED_BARS = 16
"""With more bars there is no room for numbers beside them."""


@dataclass(frozen=True)
class Bar:
    """One bar: the ids of its workers, and what to call them."""

    workers: tuple[int, ...]
    label: str


def bars_of(aggregate: ClusterAggregate, values: dict[int, float]) -> list[Bar]:
    """Return the bars from top to bottom; `values` (by worker id) decide the order of groups."""
    ids = sorted(aggregate.workers)
    if len(ids) <= MAX_BARS:
        return [Bar((worker,), aggregate.worker_name(worker)) for worker in ids]
    ordered = sorted(ids, key=lambda worker: (-values.get(worker, 0.0), worker))
    size = -(-len(ordered) // MAX_BARS)
    groups = [tuple(ordered[first : first + size]) for first in range(0, len(ordered), size)]
    return [Bar(group, f"{len(group):,} workers: {_some_names(group, aggregate)}") for group in groups]


def _some_names(group: Sequence[int], aggregate: ClusterAggregate) -> str:
    names = [middle_cut(aggregate.worker_name(worker), MAX_LABEL_LENGTH) for worker in group[:3]]
    return ", ".join(names) + (", …" if len(group) > 3 else "")


def grouping_note(aggregate: ClusterAggregate, bars: Sequence[Bar], by: str) -> str:
    """Return the sentence that says what a bar stands for, or nothing if each is a worker."""
    if len(aggregate.workers) <= MAX_BARS:
        return ""
    return f"{len(aggregate.workers):,} workers ordered by {by}; a bar is the mean of {len(bars[0].workers):,}"


def bar_figure(name: str, label: str) -> figure:
    """Return an empty figure for horizontal bars, one to a unit of y, from the top."""
    plot = figure(
        name=name,
        x_range=Range1d(0, 1),
        y_range=Range1d(0.5, -0.5),
        sizing_mode="stretch_both",
        min_height=90,
        min_width=120,
        toolbar_location=None,
        tools=[],
        min_border=2,
        min_border_right=22,
    )
    plot.toolbar.logo = None
    plot.xaxis.axis_label = label
    plot.yaxis.ticker = FixedTicker(ticks=[])
    plot.yaxis.major_label_text_font = FONT
    return plot


def label_bars(plot: figure, bars: Sequence[Bar], glyphs: Mapping[str, float]) -> None:
    """Set the range and the labels of the y axis for `bars`, and the thickness of glyphs, given as that of few bars.

    The figure is as high as its bars need, or as there is room.
    """
    rows = max(len(bars), 1)
    if plot.y_range.start != rows - 0.5:
        plot.y_range.update(start=rows - 0.5, end=-0.5)
    if plot.max_height != rows * _MAX_ROW_PX + _AXIS_PX:
        plot.max_height = rows * _MAX_ROW_PX + _AXIS_PX
    if plot.visible != bool(bars):
        plot.visible = bool(bars)
    single = all(len(bar.workers) == 1 for bar in bars)
    every = -(-len(bars) // MAX_LABELS) if bars else 1
    labels = {
        place: plain(middle_cut(bar.label, MAX_LABEL_LENGTH)) for place, bar in enumerate(bars) if place % every == 0
    }
    if not single:
        labels = {}
    axis = plot.yaxis[0]
    if axis.major_label_overrides != labels:
        axis.ticker.ticks = list(labels)
        axis.major_label_overrides = labels
    thickness = 1.0 if len(bars) <= THIN_FROM_BARS else 1 / BAR_HEIGHT
    for name, height in glyphs.items():
        glyph = glyph_of(plot, name)
        if glyph.height != height * thickness:
            glyph.height = height * thickness


_CHARACTER_PX = 6.2
_MAX_ROW_PX = 48
"""The bars of a few workers are no thicker on a high page."""
_AXIS_PX = 44


def size_px(plot: figure) -> dict[str, int]:
    """Return what the labels and numbers of a figure depend on besides its bars."""
    return {"width": inner_width_px(plot, 0)}


def add_numbers(plot: figure, source: ColumnDataSource, at: str) -> None:
    """Write the column ``text`` right of the column `at`."""
    draw(
        plot,
        Text,
        x=at,
        y="y",
        text="text",
        source=source,
        x_offset=6,
        text_baseline="middle",
        text_font=constant(FONT),
        text_font_size="11px",
        name="numbers",
    )


def paint_numbers(plot: figure, palette: Palette) -> None:
    """Colour the numbers."""
    glyph_of(plot, "numbers").update(text_color=palette.muted_text, background_fill_color=palette.background)


def has_numbers(bars: Sequence[Bar]) -> bool:
    """Tell whether there is room for numbers beside these bars."""
    return len(bars) <= MAX_NUMBERED_BARS


def end_beside_numbers(plot: figure, longest: float, texts: Sequence[str]) -> float:
    """Return where the axis must end so that the longest of `texts` fits right of a bar that ends at `longest`."""
    width_px = inner_width_px(plot, 300)
    text_px = 6 + _CHARACTER_PX * max(map(len, texts), default=0)
    return 1.02 * longest / max(1 - text_px / max(width_px, 1), 0.35)
