"""Memory over time: of all workers in parts, by layer, or of one worker; below, what is on devices and on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.core.properties import value as constant
from bokeh.layouts import column as layout_column
from bokeh.layouts import row as layout_row
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    HoverTool,
    InlineStyleSheet,
    RadioButtonGroup,
    Range1d,
    Select,
    UIElement,
)
from bokeh.models.glyphs import Line, Quad, Scatter, Text, VArea
from bokeh.plotting import figure

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.memory_history import Peak
from glassloom_dashboards.parts.base_cards import TimeCard
from glassloom_dashboards.parts.card import (
    CONTROL_STYLE,
    SELECT_STYLE,
    inner_width_px,
    replace_data,
)
from glassloom_dashboards.parts.colours import ColourBook, ShownColours
from glassloom_dashboards.parts.glyphs import draw
from glassloom_dashboards.parts.memory_words import part_words
from glassloom_dashboards.parts.numbers import share_text
from glassloom_dashboards.parts.scripts import hover, ticks
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.theme import (
    FONT,
    HATCH_CLASSES,
    HATCHES,
    LAYER_HATCHES,
    Palette,
    bytes_text,
    ellipsis,
    glyph_of,
    hatch,
    middle_cut,
    plain,
    style_figure,
    tooltip,
)
from glassloom_dashboards.parts.time_view import TimeView, time_figure
from glassloom_dashboards.parts.times import duration_text
from glassloom_dashboards.views.memory_drawing import (
    BY_LAYER,
    IN_TOTAL,
    MAX_BANDS,
    ONE_WORKER,
    OTHERS,
    SAMPLE_COLUMNS,
    Drawn,
    drawn,
)

SOURCE = "memory-source"
PEAKS_SOURCE = "memory-peaks-source"
PAUSES_SOURCE = "memory-pauses-source"
LABELS = ["In total", "By layer", "One worker"]
PEAK_COLUMNS = ("at", "total", "text", "held", "align", "size")
_LEFT_PX = 74
_CHARACTER_PX = 6.4
_DISK_PX = 92
_MAX_NAME_LENGTH = 60
_MAX_LABEL_LENGTH = 24
_LEAST_AXIS_BYTES = 2**20
_LIMIT_IN_VIEW = 2.5
"""The plot reaches to the limit if that is at most so many times what is used."""
_TABLE_ROWS = 60
_WIDE_PX = 700

_WORKER_WIDTH = ":host { width: 170px !important; }"


def plot(source: ColumnDataSource, peaks: ColumnDataSource, pauses: ColumnDataSource, x_range: Range1d) -> figure:
    """Return the figure of what is in memory."""
    areas = _figure("memory", x_range, min_height=120, sizing_mode="stretch_both")
    draw(
        areas,
        Quad,
        left="left",
        right="right",
        bottom=0,
        top="top",
        source=pauses,
        line_color=None,
        name="paused",
        level="underlay",
    )
    for band in range(MAX_BANDS):
        draw(areas, VArea, x="at", y1=f"y{band}", y2=f"y{band + 1}", source=source, name=f"band{band}")
    draw(areas, Line, x="at", y="total", source=source, line_width=1.25, name="total")
    draw(areas, Line, x="at", y="limited", source=source, line_width=2.25, name="limited")
    draw(areas, Line, x="at", y="limit", source=source, line_width=1.5, line_dash="dashed", name="limit")
    draw(areas, Scatter, x="at", y="total", source=peaks, marker="inverted_triangle", size="size", name="peaks")
    draw(areas, Text, 
        x="at", y="total", text="text", text_align={"field": "align"}, source=peaks, y_offset=-14,
        text_font=constant(FONT), text_font_size="11px", text_baseline="bottom", name="peak-text",
    )  # fmt: skip
    return areas


def plot_disk(source: ColumnDataSource, x_range: Range1d) -> figure:
    """Return the figure of what was spilled to disk."""
    disk = _figure("memory-disk", x_range, height=_DISK_PX, sizing_mode="stretch_width", visible=False)
    disk.yaxis.axis_label = "on disk"
    disk.yaxis.ticker.desired_num_ticks = 2
    draw(disk, VArea, x="at", y1=0, y2="spilled", source=source, name="spilled")
    return disk


def plot_devices(source: ColumnDataSource, x_range: Range1d) -> figure:
    """Return the figure of results on devices, and of all that workers' processes have allocated there."""
    devices = _figure("memory-devices", x_range, height=_DISK_PX, sizing_mode="stretch_width", visible=False)
    devices.yaxis.axis_label = "on devices"
    devices.yaxis.ticker.desired_num_ticks = 2
    draw(devices, VArea, x="at", y1=0, y2="device", source=source, name="device")
    draw(devices, Line, x="at", y="pool", source=source, line_width=1.25, name="pool")
    return devices


def _figure(name: str, x_range: Range1d, **layout: Any) -> figure:
    areas = time_figure(name, x_range, y_range=Range1d(0, _LEAST_AXIS_BYTES), min_border_left=_LEFT_PX, **layout)
    areas.yaxis.ticker = AdaptiveTicker(base=1024, mantissas=[2**power for power in range(10)], desired_num_ticks=5)
    areas.yaxis.formatter = ticks("bytesTick")
    return areas


class MemoryOverTime(TimeCard):
    """The card of memory over time for one viewer."""

    id = "memory"

    def __init__(
        self, aggregate: ClusterAggregate, palette: Palette, colours: ColourBook, time: TimeView | None = None
    ) -> None:
        super().__init__(aggregate, time)
        self._shown = ShownColours(colours)
        self._drawn: Drawn | None = None
        self.source = ColumnDataSource(name=SOURCE, data={name: [] for name in (*SAMPLE_COLUMNS, "most")})
        self.peaks = ColumnDataSource(name=PEAKS_SOURCE, data={name: [] for name in PEAK_COLUMNS})
        self.pauses = ColumnDataSource(name=PAUSES_SOURCE, data={"left": [], "right": [], "top": []})
        self.plot = plot(self.source, self.peaks, self.pauses, self.time.x_range)
        self.disk = plot_disk(self.source, self.time.x_range)
        self.time.add(self.plot, *self._hovers())
        self.devices = plot_devices(self.source, self.time.x_range)
        self.time.add(self.devices, *self._device_hovers())
        self.time.add(self.disk)
        self.body: UIElement = layout_column(
            self.plot, self.devices, self.disk, name="memory-body", sizing_mode="stretch_both", spacing=0
        )
        style = [InlineStyleSheet(css=CONTROL_STYLE)]
        self.mode = RadioButtonGroup(name="memory-mode", labels=LABELS, active=IN_TOTAL, margin=0, stylesheets=style)
        self.worker = Select(
            name="memory-worker",
            title="Worker",
            options=[],
            visible=False,
            margin=0,
            stylesheets=[InlineStyleSheet(css=SELECT_STYLE), InlineStyleSheet(css=_WORKER_WIDTH)],
        )
        self.controls = layout_row(self.mode, self.worker, name="memory-controls", spacing=8)
        self.set_palette(palette)

    def _hovers(self) -> list[HoverTool]:
        line = next(one for one in self.plot.renderers if one.name == "total")
        marks = next(one for one in self.plot.renderers if one.name == "peaks")
        nbytes, at = hover("bytes"), hover("sampled")
        rows = [("at", "@at{custom}"), ("at least", "@low{custom}"), ("on disk", "@spilled{custom}")]
        rows += [("limit", "@limit{custom}"), ("held most by", "@most"), ("paused workers", "@paused{0}")]
        formats = {f"@{name}": nbytes for name in ("total", "low", "spilled", "limit")} | {"@at": at}
        return [
            HoverTool(renderers=[line], mode="vline", tooltips=tooltip("@total{custom}", rows), formatters=formats),
            HoverTool(
                renderers=[marks],
                tooltips=tooltip("Peak: @total{custom}", [("at", "@at{custom}"), ("held most by", "@held")]),
                formatters={"@total": nbytes, "@at": at},
            ),
        ]

    def _device_hovers(self) -> list[HoverTool]:
        line = next(one for one in self.devices.renderers if one.name == "pool")
        nbytes = hover("bytes")
        rows = [("at", "@at{custom}"), ("allocated", "@pool{custom}")]
        formats = {"@device": nbytes, "@pool": nbytes, "@at": hover("sampled")}
        words = tooltip("@device{custom} of results on devices", rows)
        return [HoverTool(renderers=[line], mode="vline", tooltips=words, formatters=formats)]

    def paint(self, palette: Palette) -> None:
        """Colour the plots."""
        for part in (self.plot, self.devices, self.disk):
            style_figure(part, palette)
            part.ygrid.grid_line_color = palette.grid
        glyph_of(self.plot, "total").line_color = palette.text
        glyph_of(self.plot, "limited").line_color = palette.text
        glyph_of(self.plot, "limit").line_color = palette.limit
        marks = glyph_of(self.plot, "peaks")
        marks.update(fill_color=palette.text, line_color=palette.background)
        glyph_of(self.plot, "peak-text").text_color = palette.text
        glyph_of(self.plot, "paused").update(
            fill_color=palette.limit, fill_alpha=0.12, hatch_pattern="/", hatch_color=palette.limit, hatch_alpha=0.3
        )
        glyph_of(self.devices, "device").fill_color = palette.device
        hatch(glyph_of(self.devices, "device"), "device", palette)
        glyph_of(self.devices, "pool").line_color = palette.text
        glyph_of(self.disk, "spilled").fill_color = palette.spilled
        hatch(glyph_of(self.disk, "spilled"), "spilled", palette)

    def update(self, now_s: float) -> None:
        """Draw what is new."""
        if self.time.is_moving(now_s):
            return
        choice = {"by": int(self.mode.active or 0), "worker": self._chosen_worker() or 0}
        choice |= {"width": inner_width_px(self.plot, 600)}
        if not self.is_due(("samples", "workers", "layers", "tasks"), choice):
            return
        self._offer_workers()
        left, right = self.time.times()
        history, name_of = self._aggregate.memory, self._aggregate.layer_name
        self._drawn = now = drawn(history, left, right, choice["by"], self._chosen_worker(), name_of)
        most = [self._held_text(held, 3) for held in now.held]
        replace_data(self.source, now.columns | {"most": most})
        self._send_marks(now, left, right, choice["width"])
        self._scale(now)
        self._paint_bands(now)
        self._update_legend(now)
        words = ("No memory measured yet", "Each worker tells of its memory twice a second.")
        if len(history) and choice["by"] == BY_LAYER and not now.bands:
            words = ("No results are held", "What the layers of a graph hold in memory or on disk appears here.")
        is_drawn = bool(len(history) and now.bands)
        if self.plot.visible != is_drawn:
            self.plot.visible = is_drawn
        self.show_empty(*(("",) if is_drawn else words))

    def _chosen_worker(self) -> int | None:
        if self.mode.active != ONE_WORKER:
            return None
        workers = self._aggregate.memory.workers()
        chosen = int(self.worker.value) if self.worker.value else -1
        return chosen if chosen in workers else next(iter(workers), None)

    def _offer_workers(self) -> None:
        is_shown = self.mode.active == ONE_WORKER
        if self.worker.visible != is_shown:
            self.worker.visible = is_shown
        if not is_shown:
            return
        aggregate = self._aggregate
        options = [
            (str(worker), ellipsis(aggregate.worker_name(worker), _MAX_NAME_LENGTH))
            for worker in aggregate.memory.workers()
        ]
        if self.worker.options != options:
            self.worker.options = options
        chosen = self._chosen_worker()
        if chosen is not None and self.worker.value != str(chosen):
            self.worker.value = str(chosen)

    def _held_text(self, held: tuple[tuple[int, float], ...], count: int) -> str:
        name_of = self._aggregate.layer_name
        words = [f"{middle_cut(name_of(layer), _MAX_LABEL_LENGTH)} {bytes_text(size)}" for layer, size in held[:count]]
        if self.mode.active == ONE_WORKER:
            return "not known for one worker"
        return ", ".join(words) if words else "no layer"

    def _send_marks(self, now: Drawn, left: float, right: float, width_px: int) -> None:
        rows: dict[str, list[Any]] = {name: [] for name in PEAK_COLUMNS}
        taken: list[tuple[float, float]] = []
        for number, peak in enumerate(now.peaks):
            place = (peak.at_s - left) / max(right - left, 1e-9)
            text = f"{bytes_text(peak.total_bytes)} at {duration_text(peak.at_s)}"
            if not number and width_px > _WIDE_PX and (words := self._main_part(peak)):
                text += f" · {words}"
            align, text_px = _align(place), _CHARACTER_PX * len(text)
            left_px = place * width_px - text_px * {"left": 0.0, "center": 0.5, "right": 1.0}[align]
            if any(left_px < end and begin < left_px + text_px for begin, end in taken):
                text = ""  # a higher peak's words are there; the mark and its hover stay
            else:
                taken.append((left_px, left_px + text_px))
            row = (peak.at_s, peak.total_bytes, plain(text), self._held_text(peak.held, 3), align, 9)
            for name, value in zip(PEAK_COLUMNS, row, strict=True):
                rows[name].append(value)
        replace_data(self.peaks, rows)
        top = [_top_of(now)] * len(now.pauses)
        spans = {"left": [one[0] for one in now.pauses], "right": [one[1] for one in now.pauses], "top": top}
        replace_data(self.pauses, spans)

    def _scale(self, now: Drawn) -> None:
        if self.plot.y_range.end != (end := _top_of(now)):
            self.plot.y_range.end = end
        for strip, names in ((self.disk, ("spilled",)), (self.devices, ("device", "pool"))):
            most = max(float(now.columns[name].max(initial=0.0)) for name in names)
            if strip.visible != (most > 0):
                strip.visible = most > 0
            if strip.y_range.end != (end := 1.1 * max(most, 1.0)):
                strip.y_range.end = end

    def _colour_of(self, band: str) -> str:
        palette = self._palette
        if band == OTHERS:
            return palette.many
        if self.mode.active != BY_LAYER:
            return str(getattr(palette, band))
        place = self._shown.place(band)
        return palette.released if place is None else palette.layers[place]

    def _paint_bands(self, now: Drawn) -> None:
        if self.mode.active == BY_LAYER:
            edges = [now.columns[f"y{place}"] for place in range(len(now.bands) + 1)]
            sizes = [float((over - under).sum()) for under, over in zip(edges, edges[1:], strict=False)]
            self._shown.show({name: size for name, size in zip(now.bands, sizes, strict=True) if name != OTHERS})
        for place, band in enumerate(now.bands):
            glyph, colour = glyph_of(self.plot, f"band{place}"), self._colour_of(band)
            if glyph.fill_color != colour:
                glyph.fill_color = colour
            self._hatch_band(glyph, place, band)

    def _pattern_of(self, place: int, band: str) -> str:
        return LAYER_HATCHES[place % len(LAYER_HATCHES)] if self.mode.active == BY_LAYER else HATCHES.get(band, " ")

    def _hatch_band(self, glyph: Any, place: int, band: str) -> None:
        pattern, palette = self._pattern_of(place, band), self._palette
        if (glyph.hatch_pattern, glyph.hatch_color) != (pattern, palette.background):
            glyph.update(
                hatch_pattern=pattern, hatch_color=palette.background, hatch_alpha=palette.hatch_alpha, hatch_scale=7
            )

    def _update_legend(self, now: Drawn) -> None:
        palette = self._palette
        has_limit = now.limit_bytes is not None
        entries = [
            (
                self._colour_of(band),
                part_words(band, has_limit=has_limit) if self.mode.active != BY_LAYER else band,
                HATCH_CLASSES.get(self._pattern_of(place, band), ""),
            )
            for place, band in enumerate(now.bands)
        ]
        if self.disk.visible:
            entries.append((palette.spilled, "spilled to disk", "hatched"))
        if self.devices.visible:
            entries.append((palette.device, "results on devices", HATCH_CLASSES[HATCHES["device"]]))
            entries.append((palette.text, "allocated there", "line"))
        if now.is_limited:
            entries.append((palette.text, "what the limit counts", "line"))
        if now.limit_bytes is not None:
            above = " (above the plot)" if now.limit_bytes > _top_of(now) else ""
            entries.append((palette.limit, f"limit {bytes_text(now.limit_bytes)}{above}", "line"))
        if now.pauses:
            entries.append((palette.limit, "workers paused for want of memory", "hatched"))
        self.show_legend(entries, " · ".join(self._notes(now)))

    def _notes(self, now: Drawn) -> list[str]:
        notes = [self._peak_text(peak) for peak in now.peaks[:1]]
        if self.mode.active == BY_LAYER and now.bands:
            notes.append("held in memory or on disk")
        return notes

    def _peak_text(self, peak: Peak) -> str:
        words = self._main_part(peak)
        return f"peak {bytes_text(peak.total_bytes)} at {duration_text(peak.at_s)}{f', {words}' if words else ''}"

    def _main_part(self, peak: Peak) -> str:
        """Return what most of a peak was, as far as that is known; which results are on disk isn't, if only some are."""
        by_layer = self.mode.active == BY_LAYER
        if not by_layer and peak.unmanaged_bytes > 0.5 * peak.total_bytes:
            return f"{share_text(peak.unmanaged_bytes / peak.total_bytes)} unmanaged"
        if not peak.held or (peak.spilled_bytes and not by_layer):
            return ""
        (_, nbytes), *_ = peak.held
        share = min(nbytes / max(peak.total_bytes, 1.0), 1.0)
        return f"{share_text(share)} held by {self._held_text(peak.held, 1)}"

    def summary(self) -> str:
        """Return how much memory there is now, and at its peak."""
        now = self._drawn
        if now is None or not len(now.columns["at"]):
            return "No memory measured yet."
        said = [f"{LABELS[int(self.mode.active or 0)].lower()}, {bytes_text(float(now.columns['total'][-1]))} now"]
        said += [self._peak_text(peak) for peak in now.peaks[:1]]
        if now.limit_bytes is not None:
            said.append(f"limit {bytes_text(now.limit_bytes)}")
        if self.devices.visible:
            said.append(f"{bytes_text(float(now.columns['device'][-1]))} on devices now")
        if now.pauses:
            said.append(f"workers were paused {len(now.pauses):,} times")
        return f"{'; '.join(said)}."

    def table(self) -> Table:
        """Return the bands at some moments, the peaks among them."""
        now = self._drawn
        if now is None:
            return Table(("at",), [])
        count = len(now.columns["at"])
        rows = set(np.linspace(0, count - 1, min(count, _TABLE_ROWS)).astype(int).tolist())
        tops = {int(np.abs(now.columns["at"] - peak.at_s).argmin()): peak for peak in now.peaks}
        texts = [self._table_row(now, row, row in tops) for row in sorted(rows | set(tops))]
        words = ("held most by", "remarks")
        beside = ("together", "on devices", "on disk") if self.devices.visible else ("together", "on disk")
        return Table(("at", *now.bands, *beside, *words), texts, words)

    def _table_row(self, now: Drawn, row: int, is_peak: bool) -> list[str]:
        columns = now.columns
        edges = [float(columns[f"y{place}"][row]) for place in range(len(now.bands) + 1)]
        sizes = [bytes_text(over - under) for under, over in zip(edges, edges[1:], strict=False)]
        paused = int(columns["paused"][row])
        remarks = ["peak"] * is_peak + [f"{paused} paused"] * (paused > 0)
        beside = ("total", "device", "spilled") if self.devices.visible else ("total", "spilled")
        together = [bytes_text(float(columns[name][row])) for name in beside]
        held = self._held_text(now.held[row], 2)
        return [duration_text(float(columns["at"][row])), *sizes, *together, held, ", ".join(remarks)]


def _align(place: float) -> str:
    return "left" if place < 0.3 else "right" if place > 0.7 else "center"


def _top_of(now: Drawn) -> float:
    """Return where the plot ends: at the limit if that is near, and high enough for the words at peaks."""
    most = float(now.columns["total"].max(initial=0.0))
    limit = float(np.nanmax(now.columns["limit"], initial=0.0)) if len(now.columns["limit"]) else 0.0
    near = limit if limit <= _LIMIT_IN_VIEW * most else 0.0
    return max(1.18 * most, 1.06 * near, float(_LEAST_AXIS_BYTES))
