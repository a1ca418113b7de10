"""How busy the threads are over time: what they compute, what moving data takes besides, and the rest."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d, UIElement
from bokeh.models.glyphs import Quad
from bokeh.plotting import figure

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.budget import MADE_OF, PARTS, Budget, budget_of
from glassloom_dashboards.parts.base_cards import TimeCard
from glassloom_dashboards.parts.card import (
    replace_data,
)
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.numbers import share_text
from glassloom_dashboards.parts.scripts import hover
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import (
    Palette,
    glyph_of,
    hatch,
    hatch_class,
    style_figure,
    tooltip,
)
from glassloom_dashboards.parts.time_view import TimeView, time_figure
from glassloom_dashboards.parts.times import duration_text

SOURCE = "utilisation-source"
COLUMNS = ("left", "right", "compute", "busy", "compute_percent", "other_percent")
_OTHER = ("inputs", "transfer", "publish", "spill")
_TABLE_ROWS = 40


def columns(budget: Budget, started_at_s: float) -> dict[str, np.ndarray]:
    """Return one row a bin: where what is computed ends, and what data take besides, from 0 to 1."""
    shares = budget.shares
    compute = shares[:, PARTS.index("compute")]
    other = shares[:, [PARTS.index(part) for part in _OTHER]].sum(axis=1)
    left = budget.start_s - started_at_s
    values = (left, left + budget.width_s, compute, compute + other, 100 * compute, 100 * other)
    return {name: value.astype(np.float32) for name, value in zip(COLUMNS, values, strict=True)}


def plot(source: ColumnDataSource, x_range: Range1d) -> tuple[figure, HoverTool]:
    """Return the figure, and the tool that says its numbers."""
    band = time_figure("utilisation", x_range, sizing_mode="stretch_both", min_height=90, min_border_left=52)
    band.xaxis.axis_label = "time since the cluster's start"
    band.yaxis.ticker = FixedTicker(ticks=[0, 0.5, 1])
    band.yaxis.major_label_overrides = {0: "0 %", 0.5: "50 %", 1: "100 %"}
    drawn = [
        draw(
            band,
            Quad,
            left="left",
            right="right",
            bottom=0,
            top="compute",
            source=source,
            line_color=None,
            name="compute",
        ),
        draw(
            band,
            Quad,
            left="left",
            right="right",
            bottom="compute",
            top="busy",
            source=source,
            line_color=None,
            name="other",
        ),
    ]
    started = hover("started", source=source)
    rows = [("computing", "@compute_percent{0.0} %"), ("moving and reading data", "@other_percent{0.0} %")]
    tool = HoverTool(
        renderers=drawn,
        tooltips=tooltip("@left{custom} to @right{custom}", rows),
        formatters={"@left": started, "@right": started},
        point_policy="follow_mouse",
    )
    return band, tool


class Utilisation(TimeCard):
    """The card of utilisation for one viewer."""

    id = "utilisation"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette, time: TimeView | None = None) -> None:
        super().__init__(aggregate, time)
        self._budget: Budget | None = None
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in COLUMNS})
        self.plot, tool = plot(self.source, self.time.x_range)
        self.time.add(self.plot, tool)
        self.body: UIElement = self.plot
        self.set_palette(palette)

    def paint(self, palette: Palette) -> None:
        """Colour the plots."""
        style_figure(self.plot, palette)
        self.plot.ygrid.grid_line_color = palette.grid
        glyph_of(self.plot, "compute").update(fill_color=palette.managed, line_color=palette.managed)
        glyph_of(self.plot, "other").fill_color = palette.shared
        hatch(glyph_of(self.plot, "other"), "inputs", palette)

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        if self.time.is_moving(now_s):
            return
        aggregate = self._aggregate
        if not self.is_due(MADE_OF, {}):
            return
        left, right = self.time.drawn_span()
        started_at_s = aggregate.started_at_s
        span = (started_at_s + left, started_at_s + right)
        self._budget = budget = budget_of(aggregate, *span, is_exact=self.time.mode is not None)
        replace_data(self.source, columns(budget, started_at_s))
        palette = self._palette
        entries = [
            (palette.managed, "computing", ""),
            (palette.shared, "moving and reading data", hatch_class("inputs")),
        ]
        is_known = bool(budget.seconds.any())
        self.show_legend(entries, self._words() if is_known else "")
        self.show_empty("" if is_known else "No workers yet", "How busy their threads are appears here.")

    def _words(self) -> str:
        totals = self._budget.totals if self._budget is not None else {}
        whole = max(sum(totals.values()), 1e-12)
        return f"computing {share_text(totals.get('compute', 0.0) / whole)} of the time of all threads"

    def summary(self) -> str:
        """Return how busy threads were in all."""
        return f"{self._words()}." if self._budget is not None and self._budget.seconds.any() else "No workers yet."

    def table(self) -> Table:
        """Return the shares of spans of time."""
        budget, rows = self._budget, []
        if budget is not None:
            size = -(-len(budget.start_s) // _TABLE_ROWS) or 1
            for first in range(0, len(budget.start_s), size):
                part = budget.seconds[first : first + size]
                whole = max(float(part.sum()), 1e-12)
                other = sum(float(part[:, PARTS.index(name)].sum()) for name in _OTHER)
                compute = float(part[:, PARTS.index("compute")].sum())
                from_s = max(float(budget.start_s[first]) - self._aggregate.started_at_s, 0.0)
                rows.append((duration_text(from_s), share_text(compute / whole), share_text(other / whole)))
        return Table(("from", "computing", "moving and reading data"), rows)
