"""What is drawn of GPUs over time: a lane for each device or metric, out of `GpuHistory`. Pure.

A lane is 1 high; lanes are numbered from the top. In it, each time that was measured is a rectangle for each part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from glassloom_metrics.gpu_messages import LOST, OK, SILENT, THROTTLE_WORDS, GpuDevice, Reading, throttle_texts
from numpy.typing import NDArray

from glassloom_dashboards.folds.gpu_history import COLUMNS, STALE_S, GpuHistory, merged
from glassloom_dashboards.folds.lod import nice_width
from glassloom_dashboards.parts.theme import bytes_text, ellipsis
from glassloom_dashboards.parts.times import duration_text

Values = Mapping[str, NDArray[np.float64]]
Top = float | NDArray[np.float64]
Bands = dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
"""For each part, where its rectangles begin and end, as shares of the lane's height; NaN: there is none."""

PARTS = ("busy", "held", "received", "sent", "pool_used", "pool_free", "workers", "others", "used", "driver")
"""What a rectangle may stand for."""
PART_WORDS = {
    "busy": "",
    "held": "clock held down",
    "received": "received",
    "sent": "sent",
    "pool_used": "pool, in use",
    "pool_free": "pool, free",
    "workers": "workers",
    "others": "other processes",
    "used": "in use (by whom isn't known)",
    "driver": "driver",
}
MEMORY_METRICS = (
    "memory_used_bytes",
    "workers_bytes",
    "pool_reserved_bytes",
    "pool_used_bytes",
    "memory_reserved_bytes",
)
MOST_BINS, FEWEST_BINS = 300, 60
_MAX_RECTANGLES = 2400
_SAMPLE_S = 1.0
_TOP, _BOTTOM = 0.1, 0.9
"""Where a lane's drawing begins and ends within it."""
_HOT_C = 100.0
_MAX_NOW_LENGTH = 36
_PLACES = {name: place for place, name in enumerate(COLUMNS)}
_REMARKABLE = sum(bit for bit in THROTTLE_WORDS if throttle_texts(bit, remarkable=True))


def percent_text(value: float) -> str:
    """Return a share."""
    return f"{value:.0f} %"


def rate_text(value: float) -> str:
    """Return bytes a second."""
    return f"{bytes_text(value)}/s"


def pair_text(used: float, whole: float) -> str:
    """Return how many bytes of how many.

    >>> pair_text(88 * 2**30, 141 * 2**30), pair_text(512 * 2**20, 2**30)
    ('88.0 of 141 GiB', '512 MiB of 1.00 GiB')
    """
    of = bytes_text(whole)
    number, unit = bytes_text(used).split()
    return f"{number} of {of}" if of.endswith(f" {unit}") else f"{number} {unit} of {of}"


# Kinds of lanes


@dataclass(frozen=True)
class Kind:
    """What a lane may show.

    Attributes
    ----------
    metrics
        Those that it shows; if none of them has a value, the lane says why.
    top
        Returns the value at the lane's upper edge, by the device and all values that are drawn of this kind.
    bands
        Returns where its parts are, by values and top (of each value).
    text
        Returns the words for one moment, by metrics that have a value.
    """

    words: str
    metrics: tuple[str, ...]
    top: Callable[[GpuDevice, Values], float]
    bands: Callable[[Values, Top], Bands]
    text: Callable[[Mapping[str, float], GpuDevice], str]

    @property
    def needed(self) -> tuple[str, ...]:
        """The metrics without any of which there is nothing to show."""
        return self.metrics if len(self.metrics) == 2 else self.metrics[:1]


def number_of(value: Reading) -> float:
    """Return a reading, NaN if there is none."""
    return math.nan if isinstance(value, str) else float(value)


def _most(values: Values, *names: str) -> float:
    found = [values[name][np.isfinite(values[name])] for name in names]
    return float(max((column.max() for column in found if len(column)), default=0.0))


def _limit(limit: Reading, values: Values, name: str, least: float) -> float:
    known = number_of(limit)
    return max(known if known > 0 else 0.0, _most(values, name), least)


def _one(name: str) -> Callable[[Values, Top], Bands]:
    return lambda values, top: {"busy": (np.zeros_like(values[name]), values[name] / top)}


def _both_ways(received: str, sent: str) -> Callable[[Values, Top], Bands]:
    """Return a function that draws what is received upwards from the middle, and what is sent downwards."""

    def bands(values: Values, top: Top) -> Bands:
        middle = np.full_like(values[received], 0.5)
        return {
            "received": (middle, middle + 0.5 * values[received] / top),
            "sent": (middle - 0.5 * values[sent] / top, middle),
        }

    return bands


def _traffic_text(received: str, sent: str) -> Callable[[Mapping[str, float], GpuDevice], str]:
    def text(now: Mapping[str, float], _device: GpuDevice) -> str:
        words = (("in", received), ("out", sent))
        return ", ".join(f"{way} {rate_text(now[name])}" for way, name in words if name in now)

    return text


def memory_parts(now: Mapping[str, float | NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return how the memory of a device divides; what isn't known (NaN) is part of the next larger thing that is.

    >>> parts = memory_parts({"memory_used_bytes": 10.0, "workers_bytes": 8.0, "pool_reserved_bytes": 6.0,
    ...     "pool_used_bytes": 5.0, "memory_reserved_bytes": 1.0})
    >>> {name: float(value) for name, value in parts.items()}
    {'pool_used': 5.0, 'pool_free': 1.0, 'workers': 2.0, 'others': 2.0, 'used': 0.0, 'driver': 1.0}
    """
    used, workers, pool, pool_used, driver = (np.asarray(now.get(name, np.nan), np.float64) for name in MEMORY_METRICS)
    in_pool = np.minimum(np.where(np.isfinite(pool), pool, 0.0), used)
    in_use = np.where(np.isfinite(pool_used), np.minimum(pool_used, in_pool), in_pool)
    is_known = np.isfinite(workers)
    mine = np.where(is_known, np.clip(workers, in_pool, used), in_pool)
    return {
        "pool_used": in_use,
        "pool_free": in_pool - in_use,
        "workers": mine - in_pool,
        "others": np.where(is_known, used - mine, np.where(np.isfinite(used), 0.0, np.nan)),
        "used": np.where(is_known, 0.0, used - mine),
        "driver": np.where(np.isfinite(driver), driver, 0.0),
    }


def _memory_bands(values: Values, top: Top) -> Bands:
    edge = np.where(np.isfinite(values["memory_used_bytes"]), 0.0, np.nan)
    bands: Bands = {}
    for name, size in memory_parts(values).items():
        bands[name] = (edge, edge + size / top)
        edge = bands[name][1]
    return bands


def _memory_text(now: Mapping[str, float], device: GpuDevice) -> str:
    if "memory_used_bytes" not in now:
        return ""
    total = number_of(device.memory_total_bytes)
    used = now["memory_used_bytes"]
    return pair_text(used, total) if math.isfinite(total) else bytes_text(used)


def _clock_bands(values: Values, top: Top) -> Bands:
    clock = values["sm_clock_mhz"] / top
    bits = np.nan_to_num(values["throttle_reasons"], nan=0.0).astype(np.int64)
    is_held = (bits & _REMARKABLE) > 0
    none = np.zeros_like(clock)
    return {"busy": (none, np.where(is_held, np.nan, clock)), "held": (none, np.where(is_held, clock, np.nan))}


def _clock_text(now: Mapping[str, float], _device: GpuDevice) -> str:
    reasons = throttle_texts(now.get("throttle_reasons", 0), remarkable=True)
    words = [f"{now['sm_clock_mhz']:,.0f} MHz"] if "sm_clock_mhz" in now else []
    return ", ".join(words + reasons)


def _power_text(now: Mapping[str, float], device: GpuDevice) -> str:
    limit = number_of(device.power_limit_w)
    if "power_w" not in now:
        return ""
    return f"{now['power_w']:.0f} of {limit:.0f} W" if limit > 0 else f"{now['power_w']:.0f} W"


def _traffic(words: str, received: str, sent: str) -> Kind:
    return Kind(
        words,
        (received, sent),
        lambda _, values: max(_most(values, received, sent), 1e6),
        _both_ways(received, sent),
        _traffic_text(received, sent),
    )


KINDS: dict[str, Kind] = {
    "utilization": Kind(
        "Utilisation",
        ("utilization_percent",),
        lambda device, values: 100.0,
        _one("utilization_percent"),
        lambda now, _: percent_text(now["utilization_percent"]) if "utilization_percent" in now else "",
    ),
    "memory": Kind(
        "Memory",
        MEMORY_METRICS,
        lambda device, values: _limit(device.memory_total_bytes, values, "memory_used_bytes", 1.0),
        _memory_bands,
        _memory_text,
    ),
    "pcie": _traffic("PCIe", "pcie_received_bytes_s", "pcie_sent_bytes_s"),
    "nvlink": _traffic("NVLink", "nvlink_received_bytes_s", "nvlink_sent_bytes_s"),
    "power": Kind(
        "Power",
        ("power_w",),
        lambda device, values: _limit(device.power_limit_w, values, "power_w", 1.0),
        _one("power_w"),
        _power_text,
    ),
    "temperature": Kind(
        "Temperature",
        ("temperature_c",),
        lambda device, values: max(_HOT_C, _most(values, "temperature_c")),
        _one("temperature_c"),
        lambda now, _: f"{now['temperature_c']:.0f} °C" if "temperature_c" in now else "",
    ),
    "clock": Kind(
        "Clock",
        ("sm_clock_mhz", "throttle_reasons"),
        lambda device, values: _limit(device.sm_clock_max_mhz, values, "sm_clock_mhz", 1.0),
        _clock_bands,
        _clock_text,
    ),
}
"""What can be drawn, by name."""
MOST_METRICS = max(len(kind.metrics) for kind in KINDS.values())
_TIMES = ("at", "first")


# Lanes


@dataclass(frozen=True)
class Lane:
    """One lane: its device and `KINDS`' name, the words on its left and right, and in it if there is nothing to draw."""

    device: GpuDevice
    kind: str
    name: str
    now: str
    why: str


@dataclass(frozen=True)
class Table:
    """What was measured in the lanes of one kind: a row for each lane and bin of time; those of a lane follow each other."""

    lanes: NDArray[np.int64]
    values: Values

    def of_lane(self, lane: int) -> Values:
        """Return the rows of one lane."""
        first, last = np.searchsorted(self.lanes, (lane, lane + 1))
        return {name: column[first:last] for name, column in self.values.items()}


@dataclass
class Drawn:
    """All lanes, and their rectangles: of each part, of what is said on hovering, and of times without an answer.

    Rectangles are in order of time. `said` are the table, the row in it, and the lane of each that says something.
    """

    lanes: list[Lane] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    parts: dict[str, dict[str, NDArray[np.float32]]] = field(default_factory=dict)
    hovers: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    said: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    outages: dict[str, list[object]] = field(default_factory=dict)

    def hover_values(self) -> NDArray[np.float64]:
        """Return a row of all that the words of a hover are made of, for each of them."""
        rows = np.full((len(self.said), MOST_METRICS), np.nan)
        for number, table in enumerate(self.tables):
            mine = self.said[:, 0] == number
            columns = [column[self.said[mine, 1]] for name, column in table.values.items() if name not in _TIMES]
            rows[mine, : len(columns)] = np.column_stack(columns)
        return rows

    def hover_texts(self, first: int, last: int) -> list[str]:
        """Return the words of the hovers from one up to another."""
        words = [""] * (last - first)
        said = self.said[first:last]
        for number, table in enumerate(self.tables):
            mine = np.flatnonzero(said[:, 0] == number)
            names = [name for name in table.values if name not in _TIMES]
            columns = [table.values[name][said[mine, 1]].tolist() for name in names]
            for place, lane_number, *row in zip(mine.tolist(), said[mine, 2].tolist(), *columns, strict=True):
                lane = self.lanes[lane_number]
                known = {name: value for name, value in zip(names, row, strict=True) if math.isfinite(value)}
                words[place] = f"{lane.name}: {KINDS[lane.kind].text(known, lane.device)}"
        return words

    def over_time(self, fold: Callable[..., float]) -> list[str]:
        """Return for each lane what `fold` makes of its values in view, in words."""
        return [_over_time(self.values_of(number), lane, fold) for number, lane in enumerate(self.lanes)]

    def values_of(self, lane: int) -> Values:
        """Return what was measured in a lane: those of one kind have a table together."""
        return self.tables[lane if len(self.tables) > 1 else 0].of_lane(lane)


RECTANGLE = ("left", "right", "bottom", "top")
HOVER_COLUMNS = (*RECTANGLE, "text")
OUTAGE_COLUMNS = (*RECTANGLE, "name", "text")


def device_name(history: GpuHistory, device: GpuDevice) -> str:
    """Return what people call a device, also a MIG instance."""
    parent = history.devices.get(device.parent)
    return f"GPU {parent.index} MIG {device.index}" if parent is not None else f"GPU {device.index}"


def shown_lanes(history: GpuHistory, kind: str | None, device: int | None) -> list[tuple[GpuDevice, str]]:
    """Return which lanes there are: one kind of all devices, or (None) all kinds of one device."""
    devices = history.in_order()
    if kind is not None:
        return [(one, kind) for one in devices]
    chosen = next((one for one in devices if one.id == device), devices[0] if devices else None)
    return [(chosen, name) for name in KINDS] if chosen is not None else []


def drawn(
    history: GpuHistory, left: float, right: float, kind: str | None, device: int | None, most_lanes: int
) -> Drawn:
    """Return what to draw between two times since the cluster's start."""
    shown = shown_lanes(history, kind, device)[:most_lanes]
    weight = max(len(shown), 1) * (2 if kind == "memory" else 1)
    bins = min(max(_MAX_RECTANGLES // weight, FEWEST_BINS), MOST_BINS)
    width_s = nice_width(max(right - left, 1e-3) / bins)
    now = Drawn(outages={name: [] for name in OUTAGE_COLUMNS})
    parts: dict[str, list[NDArray[np.float64]]] = {}
    hovers = [np.empty((7, 0))]
    for number, (name, devices) in enumerate(_by_kind(shown).items()):
        table = _binned(history, devices, KINDS[name].metrics, left, right, width_s)
        now.tables.append(table)
        top = _tops(name, devices, table)
        for part, rectangles in _rectangles(table, KINDS[name].bands(table.values, top)).items():
            parts.setdefault(part, []).append(rectangles)
        hovers.append(_hovers(number, table, KINDS[name]))
    for place, (one, name) in enumerate(shown):
        label = device_name(history, one) if kind is not None else KINDS[name].words
        _add_outages(now.outages, history, one, place, label, left, right)
        now.lanes.append(_lane(history, one, name, label, now.values_of(place)))
    together = _in_order_of_time(hovers)
    now.hovers, now.said = _columns(together), together[4:].T.astype(np.int64)
    now.parts = {part: _columns(_in_order_of_time(found)) for part, found in parts.items()}
    return now


def _by_kind(shown: list[tuple[GpuDevice, str]]) -> dict[str, dict[int, GpuDevice]]:
    """Return the devices by lane of each kind."""
    kinds: dict[str, dict[int, GpuDevice]] = {}
    for lane, (device, name) in enumerate(shown):
        kinds.setdefault(name, {})[lane] = device
    return kinds


def _binned(
    history: GpuHistory,
    devices: Mapping[int, GpuDevice],
    metrics: tuple[str, ...],
    left: float,
    right: float,
    width_s: float,
) -> Table:
    """Return the samples in view, those in one bin of time together; the grid is fixed, so that bins don't change later."""
    names = (*_TIMES, *metrics)
    places = [_PLACES[name] for name in names]
    found = []
    for device in devices.values():
        rows = history.rows(device.id)
        first = int(np.searchsorted(rows[:, 0], left))
        last = int(np.searchsorted(rows[:, 0], right, side="right")) + 1
        found.append(rows[first:last, places])
    lanes = np.repeat(np.array(list(devices), np.int64), [len(rows) for rows in found])
    rows = np.concatenate(found)
    if len(rows):
        bins = np.floor(rows[:, 0] / width_s)
        firsts = np.flatnonzero((np.diff(bins, prepend=-np.inf) != 0) | (np.diff(lanes, prepend=-1) != 0))
        rows, lanes = merged(rows, firsts, names), lanes[firsts]
    return Table(lanes, {name: rows[:, place] for place, name in enumerate(names)})


def _tops(kind: str, devices: Mapping[int, GpuDevice], table: Table) -> NDArray[np.float64]:
    """Return the value at the upper edge of each row's lane. Traffic has one scale for all devices."""
    tops = {lane: KINDS[kind].top(device, table.of_lane(lane)) for lane, device in devices.items()}
    if kind in ("pcie", "nvlink"):
        tops = dict.fromkeys(tops, max(tops.values()))
    by_lane = np.zeros(max(tops) + 1)
    by_lane[list(tops)] = list(tops.values())
    return by_lane[table.lanes]


def _edges(table: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return from when to when the bins stand: each up to its last sample, from the one before, if that isn't long ago."""
    at, first = table.values["at"], table.values["first"]
    before = np.concatenate([[-np.inf], at[:-1]])[: len(at)]
    before[np.diff(table.lanes, prepend=-1) != 0] = -np.inf
    return np.where(first - before <= STALE_S, before, first - _SAMPLE_S), at


def _y(lane: NDArray[np.int64] | int, share: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return lane + _BOTTOM - (_BOTTOM - _TOP) * np.clip(share, 0.0, 1.0)


def _rectangles(table: Table, bands: Bands) -> dict[str, NDArray[np.float64]]:
    """Return left, right, bottom and top of each part's rectangles that are more than a line."""
    left, right = _edges(table)
    found = {}
    for part, (low, high) in bands.items():
        is_there = np.isfinite(low) & np.isfinite(high) & (high > low)
        if is_there.any():
            rows = np.stack([left, right, _y(table.lanes, low), _y(table.lanes, high)])
            found[part] = rows[:, is_there]
    return found


def _in_order_of_time(rectangles: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return all rectangles, those that end first first; at one time, from the top."""
    together = np.concatenate(rectangles, axis=1)
    return together[:, np.lexsort((together[2], together[1]))]


def _columns(rectangles: NDArray[np.float64]) -> dict[str, NDArray[np.float32]]:
    return {name: rectangles[place].astype(np.float32) for place, name in enumerate(RECTANGLE)}


def _hovers(number: int, table: Table, kind: Kind) -> NDArray[np.float64]:
    """Return left, right, bottom and top of each bin that has a value, and its table, its row there and its lane."""
    left, right = _edges(table)
    rows = np.flatnonzero(np.any([np.isfinite(table.values[metric]) for metric in kind.metrics], axis=0))
    lanes = table.lanes[rows]
    return np.stack([left[rows], right[rows], lanes + 1.0, lanes, np.full(len(rows), number), rows, lanes])


def _add_outages(
    outages: dict[str, list[object]],
    history: GpuHistory,
    device: GpuDevice,
    place: int,
    label: str,
    left: float,
    right: float,
) -> None:
    for outage in history.outages.get(device.id, []):
        start, stop = max(outage.start_s, left), min(outage.stop_s, right)
        if start < stop:
            text = f"{state_words(outage.state)} at {duration_text(max(outage.start_s, 0.0))}: {outage.reason}"
            one = (start, stop, float(_y(place, 0.0)), float(_y(place, 1.0)), label, ellipsis(text, 120))
            for name, value in zip(OUTAGE_COLUMNS, one, strict=True):
                outages[name].append(value)


def state_words(state: str) -> str:
    """Return the state of a device for people."""
    return {OK: "ok", LOST: "lost", SILENT: "not answering"}.get(state, state)


def reading_words(value: Reading) -> str:
    """Return why there is no value, in a few words.

    >>> reading_words("not supported"), reading_words("error: Unknown Error")
    ('not supported', 'error: Unknown Error')
    """
    return ellipsis(str(value), 60)


def now_text(history: GpuHistory, device: GpuDevice, kind: str) -> str:
    """Return the last values of a device in words, or why there are none."""
    if device.state != OK:
        outages = history.outages.get(device.id, [])
        since = f" at {duration_text(max(outages[-1].start_s, 0.0))}" if outages else ""
        return f"{state_words(device.state)}{since}"
    readings = history.readings.get(device.id)
    if readings is None:
        return "not measured yet"
    metrics = KINDS[kind].metrics
    known = {name: float(readings[name]) for name in metrics if not isinstance(readings.get(name, ""), str)}
    return KINDS[kind].text(known, device) or reading_words(readings[metrics[0]])


def _lane(history: GpuHistory, device: GpuDevice, kind: str, label: str, values: Values) -> Lane:
    now = now_text(history, device, kind)
    is_drawn = any(np.isfinite(values[metric]).any() for metric in KINDS[kind].needed)
    why = "" if is_drawn or device.state != OK else now
    return Lane(device, kind, label, ellipsis(now, _MAX_NOW_LENGTH), why)


def _over_time(values: Values, lane: Lane, fold: Callable[..., float]) -> str:
    """Return one number of the time in view for each metric of a lane, in words."""
    metrics = [name for name in KINDS[lane.kind].metrics if name != "throttle_reasons"]
    known = {name: float(fold(values[name])) for name in metrics if np.isfinite(values[name]).any()}
    return KINDS[lane.kind].text(known, lane.device) or "unknown"
