"""Progress and stages: a bar for each layer with its rate and time left, and beside it how long its tasks take."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.core.properties import value as constant
from bokeh.layouts import row as layout_row
from bokeh.models import (
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    InlineStyleSheet,
    RadioButtonGroup,
    Range1d,
    TapTool,
    Toolbar,
    UIElement,
)
from bokeh.models.glyphs import HBar, Scatter, Segment, Text
from bokeh.plotting import figure

from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate
from glassloom_dashboards.parts.base_cards import PlotCard
from glassloom_dashboards.parts.card import (
    CONTROL_STYLE,
    inner_width_px,
    packed,
    replace_data,
)
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.scripts import callback, hover, ticks
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import FONT, Palette, glyph_of, middle_cut, style_figure, tooltip
from glassloom_dashboards.parts.time_view import LABELS, LATEST_RUN
from glassloom_dashboards.parts.times import about_text, duration_text
from glassloom_dashboards.views import progress
from glassloom_dashboards.views.layer_rows import Folding
from glassloom_dashboards.views.progress import (
    MAX_NAME_LENGTH,
    ODD_STATES,
    ROW_PX,
    Pager,
    count_text,
    ids_of,
    ordered_places,
)
from glassloom_dashboards.views.stages import (
    Stage,
    durations_text,
    pace_text,
    places_of_latest_run,
    rate_text,
    stages_of_rows,
    straggler_words,
    stragglers_text,
)

SOURCE = "stages-source"
DURATIONS_SOURCE = "stages-durations-source"
STRAGGLERS_SOURCE = "stages-stragglers-source"
MAX_ROWS = 40
QUANTILES = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
DURATION_COLUMNS = ("y", "row_y", "text_y", "low", "mean", "longest", "text", "name", "count", "stragglers", *QUANTILES)
_AXIS_PX, _SIDE_PX = 26, 22
_CHARACTER_PX = 6.6
"""Of the words beside a box, in the widest font that browsers take."""
_LEAST_S = 1e-6
_TICK_PX = 48
_DECADES_S = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 36000.0, 360000.0]
_TICKS_S = sorted(
    {round(base * step, 9) for base in _DECADES_S[:7] for step in (1, 2, 5)}
    | {10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 18000.0, 36000.0, 86400.0, 360000.0}
)
"""Where a label may be: what people count in."""
_LEAST_DECADE = 0.3
"""How far apart most of these are, in powers of ten."""


def duration_columns(stages: Sequence[Stage], low_s: float, width_px: int) -> dict[str, list[Any]]:
    """Return one row a stage: quantiles in seconds, and words that fit."""
    rows: dict[str, list[Any]] = {name: [] for name in DURATION_COLUMNS}
    for place, stage in enumerate(stages):
        durations = stage.durations
        known = durations.count > 0
        row: dict[str, Any] = {"y": place + 0.68, "row_y": place + 0.5, "text_y": place + 0.3, "low": low_s}
        row |= {
            name: max(durations.quantile(share), _LEAST_S) if known else np.nan for name, share in QUANTILES.items()
        }
        row |= {"mean": max(durations.mean_s, _LEAST_S) if known else np.nan}
        row |= {"longest": durations.longest_s if known else np.nan}
        row |= {"text": durations_text(stage, int(width_px / _CHARACTER_PX))}
        row |= {
            "name": middle_cut(stage.row.title, MAX_NAME_LENGTH),
            "count": durations.count,
            "stragglers": stage.stragglers,
        }
        for name, value in row.items():
            rows[name].append(value)
    return rows


def straggler_columns(aggregate: ClusterAggregate, stages: Sequence[Stage]) -> dict[str, list[Any]]:
    """Return one row a straggler."""
    rows: dict[str, list[Any]] = {name: [] for name in ("x", "y", "name", "worker", "marker", "words", "href")}
    for place, stage in enumerate(stages):
        for one in stage.longest:
            rows["x"].append(one.seconds)
            rows["y"].append(place + 0.68)
            rows["name"].append(straggler_words(aggregate, one))
            rows["worker"].append(middle_cut(aggregate.worker_name(one.worker), 120))
            rows["marker"].append("triangle" if one.runs else "diamond")
            rows["words"].append("runs, so far" if one.runs else "took")
            rows["href"].append(one.href)
    return rows


def log_range(stages: Sequence[Stage]) -> tuple[float, float]:
    """Return the times to show: from a tick to another around all tasks, at least a decade."""
    known = [stage.durations for stage in stages if stage.durations.count]
    late_s = max((one.seconds for stage in stages for one in stage.longest), default=0.0)
    low_s = max(min((one.quantile(0.05) for one in known), default=1e-3), _LEAST_S)
    high_s = max(max((one.longest_s for one in known), default=1.0), low_s, late_s)
    low = max(bisect_left(_TICKS_S, low_s * 0.999) - 1, 0)
    high = min(bisect_left(_TICKS_S, high_s * 1.05), len(_TICKS_S) - 1)
    while _TICKS_S[high] < 9.99 * _TICKS_S[low] and high < len(_TICKS_S) - 1:
        high += 1
    return _TICKS_S[low], _TICKS_S[high]


def log_ticks(low_s: float, high_s: float, width_px: int) -> list[float]:
    """Return where the labels of the axis of durations are, those of which there is room for.

    >>> log_ticks(5.0, 120.0, 600), log_ticks(1e-4, 1.0, 600)
    ([5.0, 10.0, 20.0, 30.0, 60.0, 120.0], [0.0001, 0.001, 0.01, 0.1, 1.0])
    """
    room_px = width_px / max(np.log10(high_s / low_s), 0.1)
    ticks = _TICKS_S if room_px * _LEAST_DECADE >= _TICK_PX else _DECADES_S
    shown = [one for one in ticks if low_s * 0.999 <= one <= high_s * 1.001]
    return shown[:: max(round(_TICK_PX * len(shown) / max(width_px, 1)), 1)]


def plot_durations(source: ColumnDataSource, stragglers: ColumnDataSource, y_range: Range1d) -> figure:
    """Return the figure that draws `duration_columns` on a logarithmic axis."""
    boxes = figure(
        name="stages-durations",
        x_axis_type="log",
        x_axis_location="above",
        x_range=Range1d(1e-3, 1),
        y_range=y_range,
        height=ROW_PX,
        sizing_mode="stretch_width",
        min_width=120,
        toolbar_location=None,
        tools=[],
        min_border=0,
        min_border_top=_AXIS_PX,
        min_border_left=_SIDE_PX,
        min_border_right=_SIDE_PX,
        y_axis_type=None,
    )
    boxes.xaxis.ticker = FixedTicker(ticks=[])
    boxes.xaxis.formatter = ticks("durationTick")
    whole = draw(boxes, Segment, x0="p05", y0="y", x1="p95", y1="y", source=source, line_width=1.5, name="whisker")
    box = draw(boxes, HBar, y="y", left="p25", right="p75", height=0.24, source=source, line_color=None, name="box")
    draw(
        boxes,
        Scatter,
        x="p50",
        y="y",
        source=source,
        marker="dash",
        angle=np.pi / 2,
        size=10,
        line_width=2,
        name="median",
    )
    draw(boxes, Scatter, x="mean", y="y", source=source, marker="circle", size=5, name="mean")
    late = draw(boxes, Scatter, x="x", y="y", source=stragglers, marker="marker", size=9, name="stragglers")
    draw(boxes, Text, 
        x="low", y="text_y", text="text", source=source, text_baseline="middle", text_font=constant(FONT),
        text_font_size="11px", name="words", x_offset=2,
    )  # fmt: skip
    took = hover("duration")
    rows = [(words, f"@{name}{{custom}}") for name, words in (("mean", "mean"), ("p50", "median"), ("p95", "95 % within"), ("longest", "longest"))]  # fmt: skip
    formats = {f"@{name}": took for name in ("mean", "p50", "p95", "longest")}
    boxes.toolbar = Toolbar(
        logo=None,
        tools=[
            HoverTool(
                renderers=[box, whole],
                tooltips=tooltip("@name", [("tasks", "@count{0,0}"), *rows, ("stragglers", "@stragglers{0,0}")]),
                formatters=formats,
                point_policy="follow_mouse",
            ),
            HoverTool(
                renderers=[late],
                tooltips=tooltip("@name", [("@words", "@x{custom}"), ("on", "@worker"), ("click", "opens the task")]),
                formatters={"@x": took},
            ),
            TapTool(renderers=[late], callback=callback("openTask", source=stragglers)),
        ],
    )
    return boxes


class Stages(PlotCard):
    """The card of progress and stages for one viewer."""

    id = "stages"
    notebook = ""

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        super().__init__(aggregate)
        self._stages: list[Stage] = []
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in progress.COLUMNS})
        self.durations = ColumnDataSource(name=DURATIONS_SOURCE, data={name: [] for name in DURATION_COLUMNS})
        self.stragglers = ColumnDataSource(name=STRAGGLERS_SOURCE, data=straggler_columns(aggregate, []))
        self.bars = progress.plot(self.source)
        self.bars.update(name="stages", min_border_top=_AXIS_PX, min_border_right=4)
        self.boxes = plot_durations(self.durations, self.stragglers, self.bars.y_range)
        self.body: UIElement = layout_row(
            self.bars, self.boxes, name="stages-body", sizing_mode="stretch_width", spacing=0
        )
        self.run = RadioButtonGroup(
            name="stages-run", labels=LABELS, active=LATEST_RUN, margin=0, stylesheets=[InlineStyleSheet(css=CONTROL_STYLE)]
        )  # fmt: skip
        self.pager = Pager("stages-pager", MAX_ROWS)
        self.folding = Folding("stages")
        self.controls = layout_row(self.folding.button, self.pager.body, self.run, name="stages-controls", spacing=8)
        self.set_palette(palette)

    def paint(self, palette: Palette) -> None:
        """Colour the plots."""
        progress.paint(self.bars, palette)
        style_figure(self.boxes, palette)
        self.boxes.xaxis.axis_line_color = None
        glyph_of(self.boxes, "whisker").line_color = palette.muted_text
        glyph_of(self.boxes, "box").fill_color = palette.durations
        glyph_of(self.boxes, "median").line_color = palette.text
        glyph_of(self.boxes, "mean").update(fill_color=palette.background, line_color=palette.text)
        glyph_of(self.boxes, "stragglers").update(fill_color=palette.spilled, line_color=palette.background)
        glyph_of(self.boxes, "words").update(text_color=palette.muted_text, background_fill_color=palette.background)

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        aggregate = self._aggregate
        layout = {"bars": inner_width_px(self.bars, 560), "boxes": inner_width_px(self.boxes, 560)}
        layout |= {"first": self.pager.first, "run": int(self.run.active or 0), "all": self.folding.shows_all}
        layout["notebook"] = hash(self.notebook)
        if not self.is_due(("layers", "progress", "tasks", "samples", "running", "life"), layout):
            return
        is_latest = self.run.active == LATEST_RUN
        every = ids_of(aggregate, self.notebook)
        places = places_of_latest_run(aggregate, self.notebook) if is_latest else ordered_places(aggregate, every)
        rows = self.folding.rows(aggregate, places)
        shown = rows[self.pager.show(len(rows))]
        self._stages = stages_of_rows(aggregate, shown)
        paces = [pace_text(stage) for stage in self._stages]
        replace_data(self.source, packed(progress.columns(shown, layout["bars"], paces)))
        low_s, high_s = log_range(self._stages)
        if (self.boxes.x_range.start, self.boxes.x_range.end) != (low_s, high_s):
            self.boxes.x_range.update(start=low_s, end=high_s)
        ticks = log_ticks(low_s, high_s, layout["boxes"])
        if self.boxes.xaxis.ticker.ticks != ticks:
            self.boxes.xaxis.ticker.ticks = ticks
        replace_data(self.durations, packed(duration_columns(self._stages, low_s, layout["boxes"])))
        replace_data(self.stragglers, packed(straggler_columns(aggregate, self._stages)))
        self._resize()
        if self.body.visible != bool(len(places)):
            self.body.visible = bool(len(places))
        self._update_legend(len(rows))
        self.show_empty("" if len(places) else "No tasks yet", "Each layer of a graph gets a bar here.")

    def _resize(self) -> None:
        count = max(len(self._stages), 1)
        height = count * ROW_PX + _AXIS_PX
        if self.bars.height != height:
            self.bars.y_range.update(start=count, end=0)
            for one in (self.bars, self.boxes):
                one.height = height

    def _update_legend(self, rows: int) -> None:
        palette = self._palette
        odd = [state for state in ODD_STATES if any(stage.counts[state] for stage in self._stages)]
        entries = progress.state_entries(palette, odd)
        if any(stage.durations.count for stage in self._stages):
            entries += [
                (palette.durations, "middle half of durations", ""),
                (palette.muted_text, "5 to 95 %", "across"),
            ]
            entries += [
                (palette.text, "median", "line"),
                (palette.background, "mean", "ring"),
            ]
        late = [one for stage in self._stages for one in stage.longest]
        if late:
            runs = "; ▲ run still" if any(one.runs for one in late) else ""
            entries.append((palette.spilled, f"stragglers (> 2 × 95 %{runs})", ""))
        self.show_legend(entries, " · ".join(self._notes(rows)))

    def _notes(self, rows: int) -> list[str]:
        notes = [self.total_text()] if self._stages else []
        words = self.pager.words(rows, self.folding.left_out)
        return [*notes, words] if words else notes

    def total_text(self) -> str:
        """Return how far the layers on screen are together."""
        total = sum(stage.row.total for stage in self._stages)
        counts = {state: sum(stage.counts[state] for stage in self._stages) for state in (*STATES, "cancelled")}
        rate = sum(stage.rate for stage in self._stages)
        left = sum(stage.unfinished for stage in self._stages)
        done, *odd = count_text(counts, total).split(", ")
        said = [", ".join([f"together {done} done", *odd]), rate_text(rate)]
        if rate and left:
            said.append(f"about {about_text(left / rate)} left")
        return " · ".join(part for part in said if part)

    def summary(self) -> str:
        """Return how far the layers are, and the longest stragglers."""
        late = stragglers_text(self._aggregate, self._stages, 3)
        what = "of the latest run" if self.run.active == LATEST_RUN else "of all runs"
        count = sum(len(stage.row.layers) for stage in self._stages)
        return (
            f"{count:,} layer{'s' * (count != 1)} {what}, {self.total_text()}{f'; stragglers: {late}' if late else ''}."
        )

    def table(self) -> Table:
        """Return every layer on screen with all its numbers."""
        rows = []
        for stage in self._stages:
            counts, durations = stage.counts, stage.durations
            numbers = [f"{count:,}" for count in (stage.row.total, stage.done, counts["running"])]
            numbers += [f"{counts[state]:,}" for state in ODD_STATES]
            left = about_text(stage.left.seconds) if stage.left is not None else ""
            numbers += [rate_text(stage.rate), left]
            spans = (durations.mean_s, durations.quantile(0.5), durations.quantile(0.95), durations.longest_s)
            numbers += [duration_text(span) if durations.count else "" for span in spans]
            late = stragglers_text(self._aggregate, [stage], 2)
            rows.append([stage.row.title, *numbers, f"{stage.stragglers:,}{f': {late}' if late else ''}"])
        heads = ("tasks", "done", "running", *ODD_STATES.values(), "rate", "left")
        return Table(("layer", *heads, "mean", "median", "95 % within", "longest", "stragglers"), rows, ("stragglers",))
