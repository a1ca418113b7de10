"""GPUs over time: one metric of all devices, or all metrics of one, in lanes below each other."""

from __future__ import annotations

import numpy as np
from bokeh.core.properties import value as constant
from bokeh.layouts import row as layout_row
from bokeh.models import (
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    InlineStyleSheet,
    LinearAxis,
    Range1d,
    Select,
    UIElement,
)
from bokeh.models.glyphs import HStrip, Quad, Text
from bokeh.plotting import figure

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.base_cards import TimeCard
from glassloom_dashboards.parts.card import (
    SELECT_STYLE,
    replace_data,
)
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.live_rows import LiveRows
from glassloom_dashboards.parts.scripts import hover
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import (
    FONT,
    HATCH_CLASSES,
    Palette,
    ellipsis,
    glyph_of,
    plain,
    style_figure,
    tooltip,
)
from glassloom_dashboards.parts.time_view import TimeView, time_figure
from glassloom_dashboards.views.gpu_drawing import (
    HOVER_COLUMNS,
    KINDS,
    OUTAGE_COLUMNS,
    PART_WORDS,
    PARTS,
    RECTANGLE,
    Drawn,
    device_name,
    drawn,
)
from glassloom_dashboards.views.gpu_words import nothing_words

SOURCE = "gpu-time-source"
ALL_METRICS = "all"
MAX_LANES = 64
"""Of more devices the first are drawn; the table of devices has all."""
_LEFT_PX = 96
_RIGHT_PX = {False: 130, True: 196}
"""Room for the last values; those of traffic, both ways, are longer."""
_LANE_PX = 16
_TRACK_COLUMNS = ("bottom", "top")
_NOTE_COLUMNS = ("x", "y", "text")
_NO_ROWS = {name: np.empty(0, np.float32) for name in RECTANGLE}
_PART_HATCHES = {"held": "/", "sent": "\\", "pool_free": "\\", "others": ".", "used": "x", "driver": "-"}


def colour_of(part: str, palette: Palette) -> str:
    """Return the colour of a part of a lane."""
    return {
        "busy": palette.cpu,
        "held": palette.spilled,
        "received": palette.cpu,
        "sent": palette.shared,
        "pool_used": palette.shared,
        "pool_free": palette.shared,
        "workers": palette.managed,
        "others": palette.unmanaged,
        "used": palette.accent,
        "driver": palette.muted_text,
    }[part]


def plot(sources: dict[str, ColumnDataSource], x_range: Range1d) -> figure:
    """Return the figure that draws `Drawn`."""
    lanes = time_figure(
        "gpu-time",
        x_range,
        y_range=Range1d(1, 0),
        sizing_mode="stretch_both",
        min_height=120,
        min_border_left=_LEFT_PX,
        min_border_right=_RIGHT_PX[True],
    )
    lanes.xaxis.axis_label = "time since the cluster's start"
    lanes.yaxis.ticker = FixedTicker(ticks=[])
    lanes.add_layout(LinearAxis(ticker=FixedTicker(ticks=[]), name="now"), "right")
    draw(
        lanes, HStrip, y0="bottom", y1="top", source=sources["tracks"], line_color=None, level="underlay", name="tracks"
    )
    for part in PARTS:
        draw(lanes, Quad, **{side: side for side in RECTANGLE}, source=sources[part], line_width=1, name=part)
    draw(lanes, Quad, **{side: side for side in RECTANGLE}, source=sources["outages"], name="outages")
    draw(
        lanes,
        Quad,
        **{side: side for side in RECTANGLE},
        source=sources["hovers"],
        fill_alpha=0,
        line_color=None,
        name="hovers",
    )
    draw(lanes, Text, 
        x="x", y="y", text="text", source=sources["notes"], x_offset=8, text_baseline="middle", text_font=constant(FONT),
        text_font_size="12px", name="notes",
    )  # fmt: skip
    return lanes


def hovers(lanes: figure) -> list[HoverTool]:
    """Return the tools that say the numbers of a moment, and why there are none."""
    at = hover("duration")
    formats = {"@left": at, "@right": at}
    found = []
    said: tuple[tuple[str, str, list[tuple[str, str]]], ...] = (
        ("hovers", "@text", [("from", "@left{custom}"), ("to", "@right{custom}")]),
        ("outages", "@name: @text", []),
    )
    for name, words, rows in said:
        renderer = next(one for one in lanes.renderers if one.name == name)
        found.append(
            HoverTool(
                renderers=[renderer],
                tooltips=tooltip(words, rows),
                formatters=formats,
                point_policy="follow_mouse",
            )
        )
    return found


class GpuOverTime(TimeCard):
    """The card of GPUs over time for one viewer."""

    id = "gpu-time"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette, time: TimeView | None = None) -> None:
        super().__init__(aggregate, time)
        self._drawn = Drawn()
        self._is_chosen = False
        names = {"tracks": _TRACK_COLUMNS, "notes": _NOTE_COLUMNS, "hovers": HOVER_COLUMNS, "outages": OUTAGE_COLUMNS}
        self.sources = {
            name: ColumnDataSource(name=f"{SOURCE}-{name}", data={column: [] for column in names.get(name, RECTANGLE)})
            for name in (*names, *PARTS)
        }
        self._rows = {part: LiveRows(self.sources[part]) for part in PARTS}
        self._hovers = LiveRows(self.sources["hovers"], text="text")
        self.plot = plot(self.sources, self.time.x_range)
        self.time.add(self.plot, *hovers(self.plot))
        self.body: UIElement = layout_row(self.plot, name="gpu-time-body", sizing_mode="stretch_both")
        style = [InlineStyleSheet(css=SELECT_STYLE)]
        kinds = [(ALL_METRICS, "All metrics"), *((name, kind.words) for name, kind in KINDS.items())]
        self.kind = Select(
            name="gpu-time-kind", title="Metric", options=kinds, value=ALL_METRICS, margin=0, stylesheets=style
        )
        self.device = Select(
            name="gpu-time-device", title="Device", options=[], visible=False, margin=0, stylesheets=style
        )
        self.kind.on_change("value", self._on_kind)
        self.controls = layout_row(self.kind, self.device, name="gpu-time-controls", spacing=8)
        self.set_palette(palette)

    def _on_kind(self, attr: str, old: object, new: object) -> None:
        self._is_chosen = True

    def paint(self, palette: Palette) -> None:
        """Colour the plots."""
        style_figure(self.plot, palette)
        for part in PARTS:
            glyph = glyph_of(self.plot, part)
            glyph.update(fill_color=colour_of(part, palette), line_color=colour_of(part, palette))
            if part in _PART_HATCHES:
                glyph.update(
                    hatch_pattern=_PART_HATCHES[part],
                    hatch_color=palette.background,
                    hatch_alpha=palette.hatch_alpha,
                    hatch_scale=7,
                )
        glyph_of(self.plot, "tracks").fill_color = palette.track
        glyph_of(self.plot, "notes").text_color = palette.muted_text
        glyph_of(self.plot, "outages").update(
            fill_color=palette.background,
            line_color=palette.error,
            hatch_pattern="/",
            hatch_color=palette.error,
            hatch_alpha=0.5,
            hatch_scale=9,
        )
        for axis in self.plot.yaxis:
            axis.major_label_text_color = palette.text

    def forget(self) -> None:
        """Make the next `update` draw everything."""
        super().forget()
        for rows in (*self._rows.values(), self._hovers):
            rows.forget()

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        if self.time.is_moving(now_s):
            return
        aggregate = self._aggregate
        if not self.is_due(("gpus", "life"), {"kind": hash(self.kind.value), "device": hash(self.device.value)}):
            return
        self._offer()
        left, right = self.time.times()
        kind = None if self.kind.value == ALL_METRICS else str(self.kind.value)
        device = int(self.device.value) if self.device.value else None
        self._drawn = now = drawn(aggregate.gpus, left, right, kind, device, MAX_LANES)
        for part, rows in self._rows.items():
            rows.show(now.parts.get(part, _NO_ROWS))
        self._hovers.show(now.hovers, now.hover_texts, now.hover_values())
        replace_data(self.sources["outages"], now.outages)
        self._set_lanes(now, left)
        if self.kind.visible != bool(now.lanes):
            self.kind.visible = bool(now.lanes)
        self._update_legend(now)
        self.show_empty(*(("",) if now.lanes else nothing_words(aggregate)))

    def _offer(self) -> None:
        """Offer the devices; of several show one metric of all at first."""
        gpus = self._aggregate.gpus
        options = [
            (str(one.id), f"{device_name(gpus, one)} · {ellipsis(one.name, 40)}") for one in gpus.in_order()[:MAX_LANES]
        ]
        if self.device.options != options:
            self.device.options = options
            if len(options) > 1 and not self._is_chosen:
                self.kind.value = next(iter(KINDS))
                self._is_chosen = False
        if self.device.value not in dict(options):
            self.device.value = options[0][0] if options else ""
        is_shown = self.kind.value == ALL_METRICS and len(options) > 1
        if self.device.visible != is_shown:
            self.device.visible = is_shown

    def _set_lanes(self, now: Drawn, left: float) -> None:
        count = max(len(now.lanes), 1)
        if self.plot.y_range.start != count:
            self.plot.y_range.start = count
            self.plot.min_height = max(120, _LANE_PX * count + 50)
        right_px = _RIGHT_PX[any(lane.kind in ("pcie", "nvlink") for lane in now.lanes)]
        if self.plot.min_border_right != right_px:
            self.plot.min_border_right = right_px
        if self.plot.visible != bool(now.lanes):
            self.plot.visible = bool(now.lanes)
        places = [place + 0.5 for place in range(len(now.lanes))]
        for axis, words in zip(
            self.plot.yaxis, ([lane.name for lane in now.lanes], [lane.now for lane in now.lanes]), strict=True
        ):
            labels = {place: plain(text) for place, text in zip(places, words, strict=True)}
            if axis.major_label_overrides != labels:
                axis.ticker.ticks = places
                axis.major_label_overrides = labels
        rows = range(len(now.lanes))
        replace_data(
            self.sources["tracks"], {"bottom": [row + 0.9 for row in rows], "top": [row + 0.1 for row in rows]}
        )
        silent = [(left, place, plain(lane.why)) for place, lane in zip(places, now.lanes, strict=True) if lane.why]
        replace_data(
            self.sources["notes"], {name: [row[at] for row in silent] for at, name in enumerate(_NOTE_COLUMNS)}
        )

    def _update_legend(self, now: Drawn) -> None:
        entries = [
            (colour_of(part, self._palette), words, HATCH_CLASSES.get(_PART_HATCHES.get(part, ""), ""))
            for part, words in PART_WORDS.items()
            if part in now.parts and words
        ]
        if now.outages["left"]:
            entries.append((self._palette.error, "no answer", "hatched"))
        self.show_legend(entries, " · ".join(self._notes(now)))

    def _notes(self, now: Drawn) -> list[str]:
        left_out = len(self._aggregate.gpus.devices) - MAX_LANES
        notes = (
            [f"{left_out:,} more devices are in the table"] if left_out > 0 and self.kind.value != ALL_METRICS else []
        )
        tops = {"utilization": "100 %", "memory": "all memory", "power": "the power limit", "temperature": "100 °C"}
        if now.lanes and self.kind.value in tops:
            notes.append(f"a full lane is {tops[str(self.kind.value)]}")
        if now.lanes and self.kind.value in ("pcie", "nvlink"):
            notes.append("received above the middle, sent below")
        return notes

    @property
    def is_bare(self) -> bool:
        """Whether there is nothing to draw, of which the table of devices says why."""
        return not self._drawn.lanes

    def summary(self) -> str:
        """Return the last values of the first lanes."""
        now = self._drawn
        if not now.lanes:
            return " ".join(nothing_words(self._aggregate))
        shown = [f"{lane.name} {lane.now}" for lane in now.lanes[:8]]
        more = f"; {len(now.lanes) - 8} more" if len(now.lanes) > 8 else ""
        return f"{'; '.join(shown)}{more}."

    def table(self) -> Table:
        """Return the last value of each lane, and the mean and the most of what is on screen."""
        drawn = self._drawn
        folded = zip(drawn.lanes, drawn.over_time(np.nanmean), drawn.over_time(np.nanmax), strict=True)
        rows = [(lane.name, lane.now, mean, most) for lane, mean, most in folded]
        return Table(("metric" if self.kind.value == ALL_METRICS else "device", "now", "mean", "most"), rows)
