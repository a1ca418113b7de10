"""The task stream: what each thread did, when. Singly while few events are in view, else in bins (see `lod.py`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.events import Reset
from bokeh.models import (
    BoxZoomTool,
    ColumnDataSource,
    CustomJS,
    CustomJSHover,
    FixedTicker,
    HoverTool,
    InlineStyleSheet,
    PanTool,
    RadioButtonGroup,
    Range1d,
    ResetTool,
    Toolbar,
    UIElement,
    WheelZoomTool,
)
from bokeh.plotting import figure
from glassloom_metrics.protocol import Action

from glassloom_dashboards.aggregate import ClusterAggregate
from glassloom_dashboards.card import (
    CONTROL_STYLE,
    Seen,
    empty_div,
    inner_width_px,
    legend_div,
    legend_html,
    replace_data,
    show_empty,
    versions_of,
)
from glassloom_dashboards.lanes import ThreadSlots, lane_labels, lane_names, lanes_of
from glassloom_dashboards.lod import (
    ACTION_BITS,
    MAX_SINGLE_EVENTS,
    OTHER_KIND,
    View,
    bin_events,
    grid_for,
    kinds_of,
    rows_in_view,
)
from glassloom_dashboards.theme import (
    ACTION_WORDS,
    HOVER_BYTES_JS,
    HOVER_SECONDS_JS,
    ColourBook,
    Palette,
    blend,
    ellipsis,
    rgba,
    set_seconds_axis,
    style_figure,
    tooltip,
)

SOURCE = "task-stream-source"
BINS_SOURCE = "task-stream-bins-source"
FAILED_SOURCE = "task-stream-failed-source"
TOTAL_SOURCE = "task-stream-total"
EXTENT_SOURCE = "task-stream-extent"

ALL, LATEST_RUN = 0, 1
FOLLOW_LABELS = ["All", "Latest run"]
DEBOUNCE_S = 0.15
EMPTY_SPAN_S = 10.0
SHORTEST_SPAN_S = 1e-3
LANE_HEIGHT = 0.84
LEAST_LANES = 4
INDEX_TEXT_BYTES = 40_000
NAMES_TEXT_BYTES = 40_000
MAX_INDEX_LENGTH = 60
MAX_NAME_LENGTH = 120
MAX_LEGEND_LAYERS = 8
SEPARATE_FROM_PX = 5

SINGLE_COLUMNS = ("left", "right", "lane", "colour", "kind", "nbytes", "ok", "index")
BIN_COLUMNS = ("left", "right", "top", "bottom", "colour", "kind", "tasks", "failed", "utilisation")
FAILED_COLUMNS = ("left", "right", "lane")


class KindBook:
    """Numbers the kinds (see `lod.kinds_of`) that one viewer has been sent, in order of appearance.

    The browser keeps their names and is sent only those that are new to it.
    """

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self._numbers: dict[int, int] = {}

    def number(self, kind: int) -> int:
        """Return the number of `kind`, a new one if it has none."""
        number = self._numbers.setdefault(kind, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        return number


@dataclass(frozen=True)
class Frame:
    """Everything that a task stream shows at one moment, as columns ready to send.

    ``rows`` are the numbers of the events drawn singly, or None if there are bins. ``busy_s`` is the time by kind.
    """

    single: dict[str, Any]
    bins: dict[str, Any]
    failed: dict[str, Any]
    rows: np.ndarray | None
    busy_s: dict[int, float]
    events: int
    bin_width_s: float


def kind_name(kind: int, aggregate: ClusterAggregate) -> tuple[str, str]:
    """Return the layer's name and the action in words."""
    if kind == OTHER_KIND:
        return "other layers", "many"
    return aggregate.layer_name(kind >> ACTION_BITS), ACTION_WORDS[_action(kind)]


def kind_colour(kind: int, aggregate: ClusterAggregate, colours: ColourBook, palette: Palette) -> str:
    """Return the colour of a kind: its layer's, or its action's if that isn't computing."""
    if kind == OTHER_KIND:
        return palette.many
    fixed = palette.actions.get(_action(kind))
    return fixed or palette.layers[colours.place(aggregate.layer_name(kind >> ACTION_BITS))]


def _action(kind: int) -> Action:
    number = kind & (1 << ACTION_BITS) - 1
    return Action(number) if number in Action._value2member_map_ else Action.COMPUTE


def fit_texts(texts: Sequence[str], length: int, limit_bytes: int) -> list[str]:
    """Return `texts` cut to `length`, or as much shorter as it takes to send them in `limit_bytes`."""
    cut = [ellipsis(text, length) for text in texts]
    while length > 1 and len(json.dumps(cut)) > limit_bytes:
        length = length * 2 // 3
        cut = [ellipsis(text, length) for text in cut]
    return cut


class Drawing:
    """What it takes to turn events into columns: the cluster, the order of its lanes, colours, and known kinds."""

    def __init__(self, aggregate: ClusterAggregate, colours: ColourBook, book: KindBook) -> None:
        self.aggregate = aggregate
        self.colours = colours
        self.book = book

    def columns(self, lanes: ThreadSlots, view: View, palette: Palette) -> Frame:
        """Return what to draw for `view`."""
        rows = rows_in_view(self.aggregate.tasks, lanes.lane_of_thread, view, len(lanes))
        if len(rows) <= MAX_SINGLE_EVENTS:
            return self._single(rows, lanes, palette)
        return self._binned(lanes, view, palette)

    def _single(self, rows: np.ndarray, lanes: ThreadSlots, palette: Palette) -> Frame:
        tasks, started_at_s = self.aggregate.tasks, self.aggregate.started_at_s
        start_s, stop_s, ok = (tasks[name][rows] for name in ("start_s", "stop_s", "ok"))
        numbers, colour, busy_s = self._kinds(
            kinds_of(tasks["layer"][rows], tasks["action"][rows]), stop_s - start_s, palette
        )
        single: dict[str, Any] = {
            "left": start_s - started_at_s,
            "right": stop_s - started_at_s,
            "lane": lanes.lane_of_thread[tasks["thread"][rows]].astype(np.float32),
            "colour": colour,
            "kind": numbers,
            "nbytes": tasks["nbytes"][rows].astype(np.float32),
            "ok": ok,
            "index": fit_texts(tasks.index.take(rows), MAX_INDEX_LENGTH, INDEX_TEXT_BYTES),
        }
        failed = {name: single[name][ok == 0] for name in FAILED_COLUMNS}
        return Frame(single, _none(BIN_COLUMNS), failed, rows, busy_s, len(rows), 0.0)

    def _binned(self, lanes: ThreadSlots, view: View, palette: Palette) -> Frame:
        started_at_s = self.aggregate.started_at_s
        grid = grid_for(view, started_at_s)
        bins = bin_events(self.aggregate.tasks, lanes.lane_of_thread, grid, len(lanes))
        numbers, colour, busy_s = self._kinds(bins.kind, bins.busy_s, palette)
        margin = (1 - LANE_HEIGHT) / 2
        binned: dict[str, Any] = {
            "left": bins.start_s - started_at_s,
            "right": bins.stop_s - started_at_s,
            "top": (bins.low - 0.5 + margin).astype(np.float32),
            "bottom": (bins.high - 0.5 - margin).astype(np.float32),
            "colour": blend(colour, palette.background, 0.15 + 0.85 * bins.utilisation),
            "kind": numbers,
            "tasks": bins.tasks.astype(np.uint32),
            "failed": bins.failed.astype(np.uint32),
            "utilisation": (100 * bins.utilisation).astype(np.float32),
        }
        bad = bins.failed > 0
        failed = {"left": binned["left"][bad], "right": binned["right"][bad]}
        failed["lane"] = ((bins.low + bins.high - 1) / 2).astype(np.float32)[bad]
        return Frame(_none(SINGLE_COLUMNS), binned, failed, None, busy_s, int(bins.tasks.sum()), grid.width_s)

    def _kinds(
        self, kinds: np.ndarray, busy_s: np.ndarray, palette: Palette
    ) -> tuple[np.ndarray, np.ndarray, dict[int, float]]:
        """Return the number and the colour of each of `kinds`, and the seconds by kind."""
        distinct, place = np.unique(kinds, return_inverse=True)
        listed = distinct.tolist()
        numbers = np.array([self.book.number(kind) for kind in listed], np.uint32)
        colours = [rgba(kind_colour(kind, self.aggregate, self.colours, palette)) for kind in listed]
        sums = np.bincount(place, busy_s, minlength=len(listed)).tolist()
        return numbers[place], np.array(colours, np.uint32)[place], dict(zip(listed, sums, strict=True))


def _none(names: Sequence[str]) -> dict[str, Any]:
    return {name: [] for name in names}


def legend(frame: Frame, aggregate: ClusterAggregate, colours: ColourBook, palette: Palette) -> str:
    """Return the legend of what is in view: the layers that took most time, other actions, and what bins mean."""
    by_layer: dict[str, tuple[float, str]] = {}
    actions: dict[str, str] = {}
    for kind, busy_s in frame.busy_s.items():
        colour = kind_colour(kind, aggregate, colours, palette)
        name, words = kind_name(kind, aggregate)
        if words == ACTION_WORDS[Action.COMPUTE]:
            by_layer[name] = (by_layer.get(name, (0.0, ""))[0] + busy_s, colour)
        else:
            actions[words if kind != OTHER_KIND else name] = colour
    main = sorted(by_layer, key=lambda name: -by_layer[name][0])[:MAX_LEGEND_LAYERS]
    entries = [(by_layer[name][1], name, "") for name in by_layer if name in main]
    entries += [(colour, words, "") for words, colour in actions.items()]
    if len(frame.failed["left"]):
        entries.append((palette.failed, "failed", "failed"))
    notes = []
    if len(by_layer) > len(main):
        notes.append(f"+{len(by_layer) - len(main)} more layers")
    if frame.rows is None:
        notes.append(f"{frame.events:,} tasks in bins of {span_text(frame.bin_width_s)}; zoom in for single tasks")
    return legend_html(entries, " · ".join(notes))


def span_text(span_s: float) -> str:
    """Return a round time span for people.

    >>> span_text(0.005), span_text(20.0)
    ('5 ms', '20 s')
    """
    for unit, size_s in (("s", 1.0), ("ms", 1e-3)):
        if span_s >= size_s:
            return f"{span_s / size_s:.6g} {unit}"
    return f"{span_s * 1e6:.6g} µs"


def extent(aggregate: ClusterAggregate, mode: int) -> tuple[float, float]:
    """Return the times to show, in seconds since the cluster's start, for a page that follows the cluster."""
    tasks = aggregate.tasks
    if not len(tasks):
        return 0.0, EMPTY_SPAN_S
    start_s = 0.0
    stop_s = tasks.stop_s - aggregate.started_at_s
    if mode == LATEST_RUN:
        start_s = tasks.latest_run_start_s - aggregate.started_at_s
    span_s = max(stop_s - start_s, SHORTEST_SPAN_S)
    return start_s - 0.01 * span_s, stop_s + 0.02 * span_s


_FOLLOW_JS = """
// The browser alone moves the ranges, so that a frame under way never undoes what the user has just zoomed to.
if (follow.active != null && extent.data.left.length > 0) {
  x_range.setv({start: extent.data.left[0], end: extent.data.right[0]})
  y_range.setv({start: extent.data.bottom[0], end: extent.data.top[0]})
}
"""


class TaskStream:
    """The task stream's card for one viewer.

    A user who zooms or pans is left alone: the view stays until "All" or "Latest run" is chosen, or Reset pressed.
    """

    id = "task-stream"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette, colours: ColourBook) -> None:
        self._aggregate = aggregate
        self._palette = palette
        self._colours = colours
        self._seen = Seen()
        self._lanes = lanes_of(aggregate)
        self._lanes_seen = Seen()
        self._book = KindBook()
        self._drawing = Drawing(aggregate, colours, self._book)
        self._sent_rows: np.ndarray | None = None
        self._generation = aggregate.generation
        self._seen_layers = Seen()
        self._separator: object = {"field": "colour"}
        self._moved_at_s: float | None = None
        self._moved = False
        self.legend = legend_div("task-stream-legend")
        self.empty = empty_div("task-stream-empty")
        self.single = ColumnDataSource(name=SOURCE, data=_none(SINGLE_COLUMNS))
        self.bins = ColumnDataSource(name=BINS_SOURCE, data=_none(BIN_COLUMNS))
        self.failed = ColumnDataSource(name=FAILED_SOURCE, data=_none(FAILED_COLUMNS))
        self.names = ColumnDataSource(name="task-stream-names", data={"name": [], "action": []})
        self.lane_names = ColumnDataSource(name="task-stream-lanes", data={"name": []})
        self.total = ColumnDataSource(name=TOTAL_SOURCE, data={"tasks": [0], "events": [0]})
        self.extent = ColumnDataSource(name=EXTENT_SOURCE, data={"left": [], "right": [], "top": [], "bottom": []})
        self.follow = RadioButtonGroup(
            name="task-stream-follow",
            labels=FOLLOW_LABELS,
            active=ALL,
            margin=0,
            stylesheets=[InlineStyleSheet(css=CONTROL_STYLE)],
        )
        self.controls: UIElement | None = self.follow
        self.plot = self._plot()
        self.body: UIElement = self.plot
        self._connect()

    def _plot(self) -> figure:
        left, right = extent(self._aggregate, ALL)
        plot = figure(
            name="task-stream",
            x_range=Range1d(left, right),
            y_range=Range1d(self._bottom(), -0.5),
            sizing_mode="stretch_both",
            min_height=120,
            toolbar_location=None,
            tools=[],
            min_border=4,
            min_border_right=18,
            output_backend="canvas",
        )
        wheel = WheelZoomTool(dimensions="width")
        plot.toolbar = Toolbar(
            tools=[PanTool(), wheel, BoxZoomTool(), ResetTool(), *self._hovers(plot)], active_scroll=wheel, logo=None
        )
        set_seconds_axis(plot)
        plot.xaxis.axis_label = "time since the cluster's start"
        plot.yaxis.ticker = FixedTicker(ticks=[])
        style_figure(plot, self._palette)
        return plot

    def _hovers(self, plot: figure) -> list[HoverTool]:
        style: dict[str, Any] = {
            "fill_color": {"field": "colour"},
            "line_color": {"field": "colour"},
            "line_width": 0.75,
        }
        bins = plot.quad("left", "right", "top", "bottom", source=self.bins, **style | {"line_width": 1})
        self._single_glyph = plot.hbar(
            y="lane", left="left", right="right", height=LANE_HEIGHT, source=self.single, **style
        )
        self._failed_glyph = plot.hbar(
            y="lane",
            left="left",
            right="right",
            height=LANE_HEIGHT,
            source=self.failed,
            fill_color=self._palette.failed,
            line_color=self._palette.failed_hatch,
            line_width=1,
            hatch_pattern="/",
            hatch_color=self._palette.failed_hatch,
            hatch_scale=7,
            hatch_weight=2,
        )
        name = CustomJSHover(args={"names": self.names}, code="return names.data.name[value] ?? ''")
        action = CustomJSHover(args={"names": self.names}, code="return names.data.action[value] ?? ''")
        lane = CustomJSHover(args={"lanes": self.lane_names}, code="return lanes.data.name[Math.round(value)] ?? ''")
        lanes = CustomJSHover(
            args={"lanes": self.lane_names, "source": self.bins},
            code="""
            const i = special_vars.index, names = lanes.data.name
            const low = Math.round(source.data.top[i] + 0.4), high = Math.round(source.data.bottom[i] - 0.4)
            return low == high ? names[low] ?? "" : `${names[low]} to ${names[high]}`
            """,
        )
        duration = CustomJSHover(
            args={"source": self.single},
            code="value = source.data.right[special_vars.index] - value\n" + HOVER_SECONDS_JS,
        )
        width = CustomJSHover(
            args={"source": self.bins},
            code="value = source.data.right[special_vars.index] - value\n" + HOVER_SECONDS_JS,
        )
        index = CustomJSHover(code="return value === '' ? '' : `[${value}]`")
        tasks = CustomJSHover(
            code="return value == 0 ? 'part of a longer task' : value == 1 ? '1 task' : value + ' tasks'"
        )
        status = CustomJSHover(code="return value ? 'ok' : 'failed'")
        nbytes = CustomJSHover(code=HOVER_BYTES_JS)
        started = CustomJSHover(code="return value.toFixed(6) + ' s'")
        single_card = tooltip(
            "@kind{name}@index{custom}",
            [
                ("action", "@{kind}{action}"),
                ("duration", "@left{custom}"),
                ("started", "@{left}{started}"),
                ("worker", "@lane{custom}"),
                ("bytes", "@nbytes{custom}"),
                ("status", "@ok{custom}"),
            ],
        )
        bins_card = tooltip(
            "@tasks{custom}",
            [
                ("mostly", "@kind{custom}"),
                ("busy", "@utilisation{0.0} %"),
                ("failed", "@failed"),
                ("bin", "@left{custom} wide"),
                ("lanes", "@top{custom}"),
            ],
        )
        # A formatter belongs to a place as it is spelt, so `@left` and `@{left}` may show two things of one column.
        return [
            HoverTool(
                renderers=[self._single_glyph],
                tooltips=single_card,
                formatters={
                    "@kind": name,
                    "@{kind}": action,
                    "@index": index,
                    "@left": duration,
                    "@{left}": started,
                    "@lane": lane,
                    "@nbytes": nbytes,
                    "@ok": status,
                },
            ),
            HoverTool(
                renderers=[bins],
                tooltips=bins_card,
                formatters={"@kind": name, "@tasks": tasks, "@left": width, "@top": lanes},
            ),
        ]

    def _connect(self) -> None:
        plot, follow = self.plot, self.follow
        args = {"follow": follow, "extent": self.extent, "x_range": plot.x_range, "y_range": plot.y_range}
        # The total is among them only because a model that nothing refers to isn't part of the document.
        move = CustomJS(args=args | {"total": self.total}, code=_FOLLOW_JS)
        self.ready = move
        self.extent.js_on_change("data", move)
        follow.js_on_change("active", move)
        plot.js_on_event("rangesupdate", CustomJS(args={"follow": follow}, code="follow.active = null"))
        plot.js_on_event(
            Reset, CustomJS(args={"follow": follow}, code=f"setTimeout(() => {{ follow.active = {ALL} }}, 0)")
        )
        plot.js_on_event("doubletap", CustomJS(args={"follow": follow}, code=f"follow.active = {ALL}"))
        for range_ in (plot.x_range, plot.y_range):
            range_.on_change("start", self._on_moved)
            range_.on_change("end", self._on_moved)
        follow.on_change("active", self._on_moved)

    def _on_moved(self, attr: str, old: object, new: object) -> None:
        self._moved = True

    def set_palette(self, palette: Palette) -> None:
        """Change colours."""
        self._palette = palette
        style_figure(self.plot, palette)
        glyph = self._failed_glyph.glyph
        glyph.update(fill_color=palette.failed, line_color=palette.failed_hatch, hatch_color=palette.failed_hatch)
        self._sent_rows = None
        self._seen.forget()

    def forget(self) -> None:
        """Make the next `update` draw everything."""
        self._sent_rows = None
        for seen in (self._seen, self._lanes_seen, self._seen_layers):
            seen.forget()

    def update(self, now_s: float) -> None:
        """Draw what is new; a view that the user is still moving waits until it rests for `DEBOUNCE_S`."""
        if self._moved:
            self._moved, self._moved_at_s = False, now_s
        if self._moved_at_s is not None:
            if now_s - self._moved_at_s < DEBOUNCE_S:
                return
            self._moved_at_s = None
            if self.follow.active is None:
                self._seen.forget()
        versions = versions_of(self._aggregate, "tasks", "layers", "workers")
        if not self._seen.changed(versions | {"follow": -1 if self.follow.active is None else self.follow.active}):
            return
        if self._generation != self._aggregate.generation:
            self._generation, self._sent_rows = self._aggregate.generation, None
        self._update_lanes()
        self._update_total()
        self._send(self._drawing.columns(self._lanes, self._view(), self._palette))
        waiting = not len(self._aggregate.tasks)
        show_empty(
            self.empty, "No tasks yet" if waiting else "", "Compute something on this cluster to see its threads work."
        )

    def _view(self) -> View:
        """Return what is on screen; while following, that is the extent, wherever the browser's ranges still are."""
        started_at_s = self._aggregate.started_at_s
        if self.follow.active is not None:
            left, right = extent(self._aggregate, self.follow.active)
            high = max(len(self._lanes), 1)
            self._send_extent(left, right)
            return View(started_at_s + left, started_at_s + right, 0, high)
        x_range, y_range = self.plot.x_range, self.plot.y_range
        top, bottom = sorted((float(y_range.start), float(y_range.end)))
        left, right = sorted((float(x_range.start), float(x_range.end)))
        low = max(int(np.floor(top + 0.5)), 0)
        high = min(int(np.ceil(bottom + 0.5)), max(len(self._lanes), 1))
        return View(started_at_s + left, started_at_s + right, low, max(high, low + 1))

    def _bottom(self) -> float:
        return max(len(self._lanes), LEAST_LANES) - 0.5

    def _send_extent(self, left: float, right: float) -> None:
        data = {"left": [left], "right": [right], "top": [-0.5], "bottom": [self._bottom()]}
        if self.extent.data != data:
            self.extent.data = data

    def _update_lanes(self) -> None:
        threads = {"threads": len(self._aggregate.tasks.threads)}
        if not self._lanes_seen.changed(versions_of(self._aggregate, "workers") | threads):
            return
        self._lanes = lanes_of(self._aggregate)
        labels = lane_labels(self._lanes, self._aggregate)
        axis = self.plot.yaxis[0]
        axis.ticker.ticks = list(labels)
        axis.major_label_overrides = labels
        self.lane_names.data = {"name": lane_names(self._lanes, self._aggregate)}
        self._sent_rows = None

    def _update_total(self) -> None:
        data = {"tasks": [self._aggregate.compute_tasks], "events": [len(self._aggregate.tasks)]}
        if self.total.data != data:
            self.total.data = data

    def _send(self, frame: Frame) -> None:
        self._send_names()
        if frame.rows is None:
            replace_data(self.bins, frame.bins)
            replace_data(self.single, frame.single)
        else:
            self._send_single(frame.single, frame.rows)
            replace_data(self.bins, frame.bins)
        self._sent_rows = frame.rows
        replace_data(self.failed, frame.failed)
        self._separate(frame)
        text = legend(frame, self._aggregate, self._colours, self._palette)
        if self.legend.text != text:
            self.legend.text = text

    def _send_single(self, single: dict[str, Any], rows: np.ndarray) -> None:
        """Send all events, or only the last ones if the others are there already."""
        sent = self._sent_rows
        if sent is None or len(rows) < len(sent) or not np.array_equal(rows[: len(sent)], sent):
            replace_data(self.single, single)
        elif len(rows) > len(sent):
            self.single.stream({name: values[len(sent) :] for name, values in single.items()})

    def _send_names(self) -> None:
        known = len(self.names.data["name"])
        if self._seen_layers.changed(versions_of(self._aggregate, "layers")):
            known = 0  # a layer may have been announced after its first task
        pairs = [kind_name(kind, self._aggregate) for kind in self._book.kinds[known:]]
        columns = {
            "name": fit_texts([name for name, _ in pairs], MAX_NAME_LENGTH, NAMES_TEXT_BYTES),
            "action": [words for _, words in pairs],
        }
        if known == 0:
            replace_data(self.names, columns)
        elif pairs:
            self.names.stream(columns)

    def _separate(self, frame: Frame) -> None:
        """Part neighbouring rectangles by a line of the background, unless they are too narrow for that."""
        glyph = self._single_glyph.glyph
        colour: object = {"field": "colour"}
        if frame.rows is not None and len(frame.rows):
            span_s = max(float(frame.single["right"].max() - frame.single["left"].min()), 1e-9)
            if self.follow.active is None:
                span_s = max(abs(float(self.plot.x_range.end) - float(self.plot.x_range.start)), 1e-9)
            typical_s = float(np.median(frame.single["right"] - frame.single["left"]))
            if typical_s / span_s * inner_width_px(self.plot, 600) > SEPARATE_FROM_PX:
                colour = self._palette.background
        if self._separator != colour:
            self._separator = colour
            glyph.line_color = colour
