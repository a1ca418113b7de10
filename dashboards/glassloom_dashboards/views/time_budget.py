"""The time budget: threads times wall clock of what is on screen, in parts that add up to 100 %; one bar, and over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.core.properties import value as constant
from bokeh.layouts import column as layout_column
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d, Toolbar, UIElement
from bokeh.models.glyphs import HBar, Quad, Text
from bokeh.plotting import figure
from glassloom_metrics.protocol import Action

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.budget import MADE_OF, PARTS, WORDS, Budget, budget_of
from glassloom_dashboards.parts.base_cards import TimeCard
from glassloom_dashboards.parts.card import (
    inner_width_px,
    replace_data,
)
from glassloom_dashboards.parts.colours import rgba
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.numbers import share_text
from glassloom_dashboards.parts.scripts import hover
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import (
    FONT,
    HATCHES,
    Palette,
    bright_text,
    glyph_of,
    hatch,
    hatch_class,
    style_figure,
    tooltip,
)
from glassloom_dashboards.parts.time_view import LATEST_RUN, TimeView, time_figure
from glassloom_dashboards.parts.times import duration_text

SOURCE = "time-budget-source"
BAR_SOURCE = "time-budget-bar-source"
BAR_COLUMNS = ("left", "right", "middle", "text", "colour", "text_colour", "words", "share", "time", "hatch")
EDGES = tuple(f"y{place}" for place in range(len(PARTS) + 1))
COLUMNS = ("left", "right", *EDGES, *PARTS)
_BAR_PX = 58
_LEFT_PX = 52
_CHARACTER_PX = 6.5
_TABLE_BINS = 40
_LEAST_SHARE = 0.0005


def bar_columns(totals: dict[str, float], palette: Palette, width_px: int) -> dict[str, list[Any]]:
    """Return one row a part of the bar, with its name where there is room."""
    rows: dict[str, list[Any]] = {name: [] for name in BAR_COLUMNS}
    whole = max(sum(totals.values()), 1e-12)
    left = 0.0
    for part, seconds in totals.items():
        right = left + seconds / whole
        share = share_text(seconds / whole)
        texts = [f"{WORDS[part]} {share}", share, ""]
        room = (right - left) * width_px / _CHARACTER_PX - 1
        text = next(text for text in texts if len(text) <= max(room, 0))
        colour = colour_of(part, palette)
        hatch = " " if text else HATCHES.get(part, " ")  # words say more, and are read better without
        row = (left, right, (left + right) / 2, text, rgba(colour), bright_text(colour), WORDS[part], share,
               duration_text(seconds), hatch)  # fmt: skip
        for name, value in zip(BAR_COLUMNS, row, strict=True):
            rows[name].append(value)
        left = right
    return rows


def bin_columns(budget: Budget, started_at_s: float) -> dict[str, np.ndarray]:
    """Return one row a bin: its edges in seconds since the cluster's start, where its parts end, and their shares."""
    left = budget.start_s - started_at_s
    shares = budget.shares
    ends = np.cumsum(shares, axis=1)
    columns = {"left": left, "right": left + budget.width_s, EDGES[0]: np.zeros(len(left))}
    columns |= {name: ends[:, place] for place, name in enumerate(EDGES[1:])}
    columns |= {part: 100 * shares[:, place] for place, part in enumerate(PARTS)}
    return {name: columns[name].astype(np.float32) for name in COLUMNS}


def colour_of(part: str, palette: Palette) -> str:
    """Return the colour of a part: that of its action in the task stream, where it has one."""
    return {
        "compute": palette.managed,
        "transfer": palette.actions[Action.TRANSFER],
        "publish": palette.many,
        "spill": palette.spilled,
        "inputs": palette.shared,
        "engine": palette.engine,
        "unready": palette.unmanaged,
        "idle": palette.track,
    }[part]


def plot_bar(source: ColumnDataSource) -> figure:
    """Return the figure of the one bar."""
    bar = figure(
        name="time-budget-bar", x_range=Range1d(0, 1), y_range=Range1d(0, 1), height=_BAR_PX, sizing_mode="stretch_width",
        min_width=120, toolbar_location=None, tools=[], min_border=0, min_border_left=_LEFT_PX, min_border_right=22,
        x_axis_type=None, y_axis_type=None,
    )  # fmt: skip
    parts = draw(bar, HBar, 
        y=0.5, height=0.62, left="left", right="right", source=source, fill_color={"field": "colour"}, line_width=1,
        hatch_pattern={"field": "hatch"}, hatch_scale=7, name="parts",
    )  # fmt: skip
    draw(bar, Text, 
        x="middle", y=0.5, text="text", source=source, text_align="center", text_baseline="middle", name="words",
        text_color={"field": "text_colour"}, text_font=constant(FONT), text_font_size="12px",
    )  # fmt: skip
    bar.toolbar = Toolbar(
        logo=None,
        tools=[
            HoverTool(
                renderers=[parts],
                tooltips=tooltip("@words", [("share", "@share"), ("time of threads", "@time")]),
                point_policy="follow_mouse",
            )
        ],
    )
    bar.xgrid.visible = False
    return bar


def plot_bins(source: ColumnDataSource, x_range: Range1d) -> tuple[figure, HoverTool]:
    """Return the figure over time, and the tool that says the numbers of a bin."""
    bins = time_figure("time-budget", x_range, sizing_mode="stretch_both", min_height=120, min_border_left=_LEFT_PX)
    bins.xaxis.axis_label = "time since the cluster's start"
    bins.yaxis.ticker = FixedTicker(ticks=[0, 0.25, 0.5, 0.75, 1])
    bins.yaxis.major_label_overrides = {0: "0 %", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1: "100 %"}
    drawn = [
        draw(
            bins,
            Quad,
            left="left",
            right="right",
            bottom=EDGES[place],
            top=EDGES[place + 1],
            source=source,
            line_color=None,
            name=part,
        )
        for place, part in enumerate(PARTS)
    ]
    started = hover("started", source=source)
    rows = [(WORDS[part], f"@{part}{{0.0}} %") for part in PARTS]
    tool = HoverTool(
        renderers=drawn,
        tooltips=tooltip("@left{custom} to @right{custom}", rows),
        formatters={"@left": started, "@right": started},
        point_policy="follow_mouse",
    )
    return bins, tool


class TimeBudget(TimeCard):
    """The card of the time budget for one viewer."""

    id = "time-budget"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette, time: TimeView | None = None) -> None:
        super().__init__(aggregate, time)
        self._budget: Budget | None = None
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in COLUMNS})
        self.bar = ColumnDataSource(name=BAR_SOURCE, data={name: [] for name in BAR_COLUMNS})
        self.one = plot_bar(self.bar)
        self.plot, tool = plot_bins(self.source, self.time.x_range)
        self.time.add(self.plot, tool)
        self.body: UIElement = layout_column(
            self.one, self.plot, name="time-budget-body", sizing_mode="stretch_both", spacing=0
        )
        self.set_palette(palette)

    def paint(self, palette: Palette) -> None:
        """Colour the plots."""
        for part in (self.one, self.plot):
            style_figure(part, palette)
        for name in PARTS:
            glyph = glyph_of(self.plot, name)
            glyph.update(fill_color=colour_of(name, palette), line_color=colour_of(name, palette))
            hatch(glyph, name, palette)
        glyph_of(self.one, "parts").update(
            line_color=palette.outline, hatch_color=palette.background, hatch_alpha=palette.hatch_alpha
        )

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        if self.time.is_moving(now_s):
            return
        aggregate = self._aggregate
        width = inner_width_px(self.one, 600)
        if not self.is_due(MADE_OF, {"width": width}):
            return
        left, right = self.time.drawn_span()
        started_at_s = aggregate.started_at_s
        span = (started_at_s + left, started_at_s + right)
        is_exact = self.time.mode is not None
        self._budget = budget = budget_of(aggregate, *span, is_exact=is_exact)
        totals = budget.totals if budget.seconds.any() else {}
        replace_data(self.bar, bar_columns(totals, self._palette, width))
        replace_data(self.source, bin_columns(budget, started_at_s))
        self._update_legend(totals)
        self.show_empty("" if totals else "No workers yet", "Where the time of their threads goes appears here.")

    def _update_legend(self, totals: dict[str, float]) -> None:
        whole = max(sum(totals.values()), 1e-12)
        entries = [
            (
                colour_of(part, self._palette),
                f"{WORDS[part]} {share_text(seconds / whole)}",
                "outlined" if part == "idle" else hatch_class(part),
            )
            for part, seconds in totals.items()
            if seconds / whole > _LEAST_SHARE or part in ("compute", "idle")
        ]
        self.show_legend(entries, self._whole_text(whole) if totals else "")

    def _whole_text(self, whole_s: float) -> str:
        latest = (
            "the latest run" if self._aggregate.tasks.next_row or len(self._aggregate.runs) else "all, before any run"
        )
        where = {LATEST_RUN: latest, None: "what is on screen"}.get(self.time.mode, "all")
        return f"100 % is {duration_text(whole_s)} of threads in {where}"

    def summary(self) -> str:
        """Return the parts in per cent."""
        totals = self._budget.totals if self._budget is not None else {}
        whole = sum(totals.values())
        if not whole:
            return "No workers yet."
        parts = [f"{WORDS[part]} {share_text(seconds / whole)}" for part, seconds in totals.items()]
        return f"{', '.join(parts)}; {self._whole_text(whole)}."

    def table(self) -> Table:
        """Return the parts of the whole, then of spans of time."""
        budget = self._budget
        heads = ("span", "time of threads", *(WORDS[part] for part in PARTS))
        if budget is None or not budget.seconds.any():
            return Table(heads, [])
        size = -(-len(budget.start_s) // _TABLE_BINS)
        spans = [("together", budget.seconds.sum(axis=0))]
        for first in range(0, len(budget.start_s), size):
            part = budget.seconds[first : first + size]
            left_s = float(budget.start_s[first]) - self._aggregate.started_at_s
            to_s = left_s + budget.width_s * len(part)
            spans.append((f"{duration_text(max(left_s, 0.0))} to {duration_text(to_s)}", part.sum(axis=0)))
        return Table(heads, [[name, *_numbers(seconds)] for name, seconds in spans])


def _numbers(seconds: np.ndarray) -> list[str]:
    whole = float(seconds.sum())
    return [duration_text(whole), *(share_text(float(one) / max(whole, 1e-12)) for one in seconds)]
