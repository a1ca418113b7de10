"""What a task stream draws: from events and a view to columns, their colours and the legend. It has no Bokeh in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from glassloom_metrics.protocol import Action
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.lod import (
    View,
    bins_beside_long,
    rows_in_view,
)
from glassloom_dashboards.folds.task_table import ACTION_BITS, kinds_of
from glassloom_dashboards.parts.card import legend_html
from glassloom_dashboards.parts.colours import ColourBook, ShownColours, blend, rgba
from glassloom_dashboards.parts.task_links import first_words
from glassloom_dashboards.parts.theme import ACTION_WORDS, Palette, middle_cut
from glassloom_dashboards.views.lanes import ThreadSlots
from glassloom_dashboards.views.stream_waits import WAIT_COLUMNS, wait_columns

LANE_HEIGHT = 0.84
OTHERS = "other layers"
APART_FROM_PX = 4
"""A task that is drawn narrower than this, or than up to twice as much, has no outline that parts it from others."""
HAIR_LINES_IN_APART = 4
"""If it is narrower than such a part of that, its outline makes it wider."""
INDEX_TEXT_BYTES = 30_000
MAX_INDEX_LENGTH = 60
MAX_LEGEND_LAYERS = 8

SINGLE_COLUMNS = ("left", "right", "lane", "colour", "line", "kind", "nbytes", "ok", "index", *WAIT_COLUMNS)
BIN_COLUMNS = ("left", "right", "top", "bottom", "colour", "kind", "tasks", "failed", "utilisation")
HEIGHT = "height"
"""The column of bars that aren't all `LANE_HEIGHT` high: where there are lanes of data."""
FAILED_COLUMNS = ("left", "right", "lane", HEIGHT)
NAME_COLUMNS = ("name", "action", "first", "is_text")
"""Of each kind: its layer's name, its action in words, and what its tasks are called (see `task_links.first_words`)."""
NAMES_TEXT_BYTES = 20_000
MAX_NAME_LENGTH = 120


class KindBook:
    """Numbers the kinds (see `lod.kinds_of`) that one viewer has been sent, in order of appearance.

    The browser keeps their names and is sent only those that are new to it.
    """

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self._numbers: dict[int, int] = {}

    @property
    def dtype(self) -> np.dtype[Any]:
        """What holds a number: a small type while there are few, as they are sent with each task."""
        return np.dtype(np.uint16 if len(self.kinds) <= 2**16 else np.uint32)

    def number(self, kind: int) -> int:
        """Return the number of `kind`, a new one if it has none."""
        number = self._numbers.setdefault(kind, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        return number


@dataclass(frozen=True)
class Frame:
    """Everything that a task stream shows at one moment, as columns ready to send.

    ``rows`` are the numbers of the events drawn singly, or None if there are bins; then ``long`` events are drawn singly, as they are
    long beside the bins, and ``events`` are in bins. ``busy_s`` is the time by kind. If
    ``is_coarse``, the view is so old that nothing finer than these bins is kept.
    """

    single: dict[str, Any]
    bins: dict[str, Any]
    failed: dict[str, Any]
    rows: np.ndarray | None
    busy_s: dict[int, float]
    events: int
    bin_width_s: float
    is_recoloured: bool
    is_coarse: bool = False
    long: int = 0


def kind_name(kind: int, aggregate: ClusterAggregate) -> tuple[str, str]:
    """Return the layer's name and the action in words."""
    action = _action(kind)
    if is_other(kind):
        return OTHERS, "many" if action is Action.COMPUTE else ACTION_WORDS[action]
    return aggregate.layer_name(kind >> ACTION_BITS), ACTION_WORDS[action]


def is_other(kind: int) -> bool:
    """Tell whether a kind stands for many layers (see `lod.OTHER_KIND`)."""
    return kind < 0


def name_columns(kinds: Sequence[int], aggregate: ClusterAggregate) -> dict[str, list[Any]]:
    """Return the names of kinds, each once; the browser keeps them."""
    pairs = [kind_name(kind, aggregate) for kind in kinds]
    firsts = [first_words(aggregate, kind >> ACTION_BITS, MAX_NAME_LENGTH) for kind in kinds]
    return {
        "name": fit_texts([name for name, _ in pairs], MAX_NAME_LENGTH, NAMES_TEXT_BYTES),
        "action": [words for _, words in pairs],
        "first": fit_texts([first for first, _ in firsts], MAX_NAME_LENGTH, NAMES_TEXT_BYTES),
        "is_text": [is_text for _, is_text in firsts],
    }


def _action(kind: int) -> Action:
    number = kind & (1 << ACTION_BITS) - 1
    return Action(number) if number in Action._value2member_map_ else Action.COMPUTE


def fit_texts(texts: Sequence[str], length: int, limit_bytes: int) -> list[str]:
    """Return `texts` cut to `length`, or as much shorter as it takes to send them in `limit_bytes`."""
    cut = [middle_cut(text, length) for text in texts]
    while length > 1 and len(json.dumps(cut)) > limit_bytes:
        length = length * 2 // 3
        cut = [middle_cut(text, length) for text in cut]
    return cut


class Drawing:
    """What it takes to turn events into columns: the cluster, the order of its lanes, colours, and known kinds."""

    def __init__(self, aggregate: ClusterAggregate, colours: ColourBook, book: KindBook) -> None:
        self.aggregate = aggregate
        self.colours = ShownColours(colours)
        self.book = book
        self.running_s: dict[int, float] = {}
        """The time by kind of what hasn't ended, which is drawn besides."""
        self.notebook = ""
        """Of which notebook layers have colours; all others are grey. ``""``: of any."""
        self._apart_s = 0.0

    def _is_shown(self, kind: int) -> bool:
        """Tell whether a kind is of the notebook that is shown."""
        if is_other(kind) or not self.notebook:
            return True
        return kind >> ACTION_BITS in self.aggregate.runs.layers_of_notebook(self.notebook)

    def colour(self, kind: int, palette: Palette) -> str:
        """Return the colour of a kind: its action's, or of a computation its layer's."""
        fixed = palette.actions.get(_action(kind))
        if not self._is_shown(kind):
            return palette.many
        if is_other(kind):
            return fixed or palette.many
        place = self.colours.place(self.aggregate.layer_name(kind >> ACTION_BITS))
        return fixed or (palette.many if place is None else palette.layers[place])

    def columns(self, lanes: ThreadSlots, view: View, palette: Palette, width_px: float) -> Frame:
        """Return what to draw for `view`, which is so wide on screen."""
        rows = rows_in_view(self.aggregate.tasks, lanes.lane_of_thread, view, len(lanes))
        if rows is None:
            return self._binned(lanes, view, palette)
        return self._single(rows, lanes, palette, apart_from_s((view.stop_s - view.start_s) / width_px))

    def _single(self, rows: np.ndarray, lanes: ThreadSlots, palette: Palette, apart_s: float) -> Frame:
        numbers, colour, busy_s, recoloured = self._kinds(*self._kinds_of_rows(rows), palette)
        recoloured |= apart_s != self._apart_s
        self._apart_s = apart_s
        single = self._single_columns(rows, lanes, numbers, colour)
        single["line"] = line_colours(single["right"] - single["left"], colour, palette, apart_s)
        is_failed = single["ok"] == 0
        failed = {name: single[name][is_failed] for name in FAILED_COLUMNS[:-1]}
        failed[HEIGHT] = bar_heights(lanes, lanes.lane_of_thread[self.aggregate.tasks.take("thread", rows[is_failed])])
        return Frame(single, no_rows(BIN_COLUMNS), failed, rows, busy_s, len(rows), 0.0, recoloured)

    def _kinds_of_rows(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the kinds of events, and their seconds."""
        tasks = self.aggregate.tasks
        kinds = kinds_of(tasks.take("layer", rows), tasks.take("action", rows))
        return kinds, tasks.take("stop_s", rows) - tasks.take("start_s", rows)

    def _single_columns(
        self, rows: np.ndarray, lanes: ThreadSlots, numbers: np.ndarray, colour: np.ndarray
    ) -> dict[str, Any]:
        tasks, started_at_s = self.aggregate.tasks, self.aggregate.started_at_s
        lane = lanes.lane_of_thread[tasks.take("thread", rows)]
        lane_dtype = np.uint16 if lanes.are_equal and len(lanes) < 2**16 else np.float32  # a frame has 200 kB
        single: dict[str, Any] = {
            "left": tasks.take("start_s", rows) - started_at_s,
            "right": tasks.take("stop_s", rows) - started_at_s,
            "lane": lanes.middles[lane].astype(lane_dtype),
            "colour": colour,
            "line": colour,
            "kind": numbers,
            "nbytes": tasks.take("nbytes", rows).astype(np.float32),
            "ok": tasks.take("ok", rows),
            "index": fit_texts(tasks.index.take(rows), MAX_INDEX_LENGTH, INDEX_TEXT_BYTES),
        }
        if not lanes.are_equal:
            single[HEIGHT] = bar_heights(lanes, lane)
        return single | wait_columns(tasks, rows)

    def _binned(self, lanes: ThreadSlots, view: View, palette: Palette) -> Frame:
        started_at_s = self.aggregate.started_at_s
        bins, grid, is_coarse, rows = bins_beside_long(self.aggregate.tasks, lanes.lane_of_thread, view)
        long_kinds, long_s = self._kinds_of_rows(rows)
        kinds, seconds = np.concatenate([long_kinds, bins.kind]), np.concatenate([long_s, bins.busy_s])
        all_numbers, all_colours, busy_s, recoloured = self._kinds(kinds, seconds, palette)
        single = self._single_columns(rows, lanes, all_numbers[: len(rows)], all_colours[: len(rows)])
        single["line"] = np.full(len(rows), rgba(palette.background), np.uint32)
        numbers, colour = all_numbers[len(rows) :], all_colours[len(rows) :]
        margin = (1 - LANE_HEIGHT) / 2
        low, high = bins.low.astype(np.int64), bins.high.astype(np.int64)
        binned: dict[str, Any] = {
            "left": bins.start_s - started_at_s,
            "right": bins.stop_s - started_at_s,
            "top": (lanes.edges[low] + margin * lanes.heights[low]).astype(np.float32),
            "bottom": (lanes.edges[high] - margin * lanes.heights[high - 1]).astype(np.float32),
            "colour": blend(colour, palette.background, 0.15 + 0.85 * bins.utilisation),
            "kind": numbers,
            "tasks": bins.tasks.astype(np.uint32),
            "failed": bins.failed.astype(np.uint32),
            "utilisation": (100 * bins.utilisation).astype(np.float32),
        }
        bad, is_failed = bins.failed > 0, single["ok"] == 0
        long_lanes = lanes.lane_of_thread[self.aggregate.tasks.take("thread", rows[is_failed])]
        of_bins = {name: binned[name][bad] for name in ("left", "right")}
        of_bins["lane"] = ((binned["top"] + binned["bottom"]) / 2)[bad]
        of_bins[HEIGHT] = LANE_HEIGHT * lanes.heights[low[bad]].astype(np.float32)
        of_long = {name: single[name][is_failed] for name in FAILED_COLUMNS[:-1]}
        of_long[HEIGHT] = bar_heights(lanes, long_lanes)
        failed = {name: np.concatenate([of_long[name], of_bins[name]]) for name in FAILED_COLUMNS}
        return Frame(
            single,
            binned,
            failed,
            None,
            busy_s,
            int(bins.tasks.sum()),
            grid.width_s,
            recoloured,
            is_coarse,
            len(rows),
        )

    def _kinds(
        self, kinds: np.ndarray, busy_s: np.ndarray, palette: Palette
    ) -> tuple[np.ndarray, np.ndarray, dict[int, float], bool]:
        """Return the number and colour of each of `kinds`, the seconds by kind, and whether layers have changed colours."""
        distinct, place = np.unique(kinds, return_inverse=True)
        listed = distinct.tolist()
        sums = dict(zip(listed, np.bincount(place, busy_s, minlength=len(listed)).tolist(), strict=True))
        for kind, seconds in self.running_s.items():
            sums[kind] = sums.get(kind, 0.0) + seconds
        recoloured = self.colours.show(self._busy_by_layer(sums))
        before = self.book.dtype
        numbers = np.array([self.book.number(kind) for kind in listed], np.uint32).astype(self.book.dtype)
        recoloured |= self.book.dtype != before
        colours = [rgba(self.colour(kind, palette)) for kind in listed]
        return numbers[place], np.array(colours, np.uint32)[place], sums, recoloured

    def _busy_by_layer(self, busy_s: dict[int, float]) -> dict[str, float]:
        """Return the seconds that layers computed, by name."""
        sums: dict[str, float] = {}
        for kind, seconds in busy_s.items():
            if not is_other(kind) and self._is_shown(kind) and _action(kind) is Action.COMPUTE:
                name = self.aggregate.layer_name(kind >> ACTION_BITS)
                sums[name] = sums.get(name, 0.0) + seconds
        return sums

    def legend(self, frame: Frame, palette: Palette, others: Sequence[tuple[str, str, str]] = ()) -> Markup:
        """Return the legend of what is in view: the layers that took most time, all other actions, `others`, what bins mean."""
        layers = self._busy_by_layer(frame.busy_s)
        coloured = [name for name in layers if self.colours.place(name) is not None]
        main = sorted(coloured, key=lambda name: -layers[name])[:MAX_LEGEND_LAYERS]
        entries = [(palette.layers[self.colours.place(name) or 0], name, "") for name in coloured if name in main]
        are_others = any(is_other(kind) and _action(kind) is Action.COMPUTE for kind in frame.busy_s)
        if len(coloured) < len(layers) or are_others:
            entries.append((palette.many, OTHERS, ""))
        if not all(map(self._is_shown, frame.busy_s)):
            entries.append((palette.many, "of other notebooks", ""))
        actions = {_action(kind) for kind in frame.busy_s if self._is_shown(kind)}
        entries += [
            (colour, ACTION_WORDS[action], "") for action, colour in palette.actions.items() if action in actions
        ]
        if len(frame.failed["left"]):
            entries.append((palette.failed, "failed", "failed"))
        entries += others
        notes = []
        if len(coloured) > len(main):
            notes.append(f"+{len(coloured) - len(main)} more layers")
        if frame.rows is None:
            more = "older tasks are kept only so" if frame.is_coarse else "zoom in for single tasks"
            long = f", {frame.long:,} longer one{'s' * (frame.long != 1)} singly" if frame.long else ""
            notes.append(f"{frame.events:,} tasks in bins of {span_text(frame.bin_width_s)}{long}; {more}")
        return legend_html(entries, " · ".join(notes))


def bar_heights(lanes: ThreadSlots, places: np.ndarray) -> np.ndarray:
    """Return how high the bars in some lanes are."""
    return (LANE_HEIGHT * lanes.heights[places]).astype(np.float32)


def apart_from_s(pixel_s: float) -> float:
    """Return how long a task is from which on a line of the background parts it from its neighbours: a line around a narrower one
    would hide it.

    It doubles at once, so that a view that grows needs new lines seldom.

    >>> apart_from_s(0.25), apart_from_s(0.26)
    (1.0, 2.0)
    """
    return float(2.0 ** np.ceil(np.log2(APART_FROM_PX * max(pixel_s, 1e-9))))


def line_colours(long_s: np.ndarray, colour: np.ndarray, palette: Palette, apart_s: float) -> np.ndarray:
    """Return the colours of the outlines of tasks: of the background, none for narrower ones, and their own for hair lines, which
    would hardly be seen.
    """
    narrow = np.where(long_s >= apart_s / HAIR_LINES_IN_APART, np.uint32(0), colour)
    return np.where(long_s >= apart_s, np.uint32(rgba(palette.background)), narrow)


def no_rows(names: Sequence[str]) -> dict[str, Any]:
    """Return columns of no length."""
    return {name: [] for name in names}


def span_text(span_s: float) -> str:
    """Return a round time span for people.

    >>> span_text(0.005), span_text(20.0)
    ('5 ms', '20 s')
    """
    for unit, size_s in (("s", 1.0), ("ms", 1e-3)):
        if span_s >= size_s:
            return f"{span_s / size_s:.6g} {unit}"
    return f"{span_s * 1e6:.6g} µs"
