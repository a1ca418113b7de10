"""What is drawn of GPUs over time: a lane for each device or metric, out of `GpuHistory`. Pure.

A lane is 1 high; lanes are numbered from the top. In it, each time that was measured is a rectangle for each part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from glassloom_metrics.gpu_messages import LOST, OK, SILENT, THROTTLE_WORDS, GpuDevice, Reading, throttle_texts
from numpy.typing import NDArray

from glassloom_dashboards.folds.gpu_history import COLUMNS, STALE_S, GpuHistory, merged
from glassloom_dashboards.folds.lod import nice_width
from glassloom_dashboards.parts.theme import bytes_text, ellipsis
from glassloom_dashboards.parts.times import duration_text

Values = Mapping[str, NDArray[np.float64]]
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
        Returns where its parts are, by values and top.
    text
        Returns the words for one moment, by metrics that have a value.
    """

    words: str
    metrics: tuple[str, ...]
    top: Callable[[GpuDevice, Values], float]
    bands: Callable[[Values, float], Bands]
    text: Callable[[Mapping[str, float], GpuDevice], str]


def _number(value: Reading) -> float:
    return math.nan if isinstance(value, str) else float(value)


def _most(values: Values, *names: str) -> float:
    found = [values[name][np.isfinite(values[name])] for name in names]
    return float(max((column.max() for column in found if len(column)), default=0.0))


def _limit(limit: Reading, values: Values, name: str, least: float) -> float:
    known = _number(limit)
    return max(known if known > 0 else 0.0, _most(values, name), least)


def _one(name: str) -> Callable[[Values, float], Bands]:
    return lambda values, top: {"busy": (np.zeros_like(values[name]), values[name] / top)}


def _both_ways(received: str, sent: str) -> Callable[[Values, float], Bands]:
    """Return a function that draws what is received upwards from the middle, and what is sent downwards."""

    def bands(values: Values, top: float) -> Bands:
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
    used, workers, pool, pool_used, driver = (
        np.asarray(now.get(name, np.nan), np.float64)
        for name in (
            "memory_used_bytes",
            "workers_bytes",
            "pool_reserved_bytes",
            "pool_used_bytes",
            "memory_reserved_bytes",
        )
    )
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


def _memory_bands(values: Values, top: float) -> Bands:
    edge = np.where(np.isfinite(values["memory_used_bytes"]), 0.0, np.nan)
    bands: Bands = {}
    for name, size in memory_parts(values).items():
        bands[name] = (edge, edge + size / top)
        edge = bands[name][1]
    return bands


def _memory_text(now: Mapping[str, float], device: GpuDevice) -> str:
    if "memory_used_bytes" not in now:
        return ""
    total = _number(device.memory_total_bytes)
    used = now["memory_used_bytes"]
    return pair_text(used, total) if math.isfinite(total) else bytes_text(used)


def _clock_bands(values: Values, top: float) -> Bands:
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
    limit = _number(device.power_limit_w)
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
        ("memory_used_bytes", "memory_reserved_bytes", "pool_used_bytes", "pool_reserved_bytes", "workers_bytes"),
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


# Lanes


@dataclass(frozen=True)
class Lane:
    """One lane: its device and `KINDS`' name, the words on its left and right, and in it if there is nothing to draw."""

    device: int
    kind: str
    name: str
    now: str
    why: str
    mean: str
    most: str


@dataclass
class Drawn:
    """All lanes, and their rectangles: of each part, of what is said on hovering, and of times without an answer."""

    lanes: list[Lane] = field(default_factory=list)
    parts: dict[str, dict[str, NDArray[np.float32]]] = field(default_factory=dict)
    hovers: dict[str, Any] = field(default_factory=dict)
    outages: dict[str, list[object]] = field(default_factory=dict)


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
    tables = {one.id: _binned(history.rows(one.id), left, right, width_s) for one, _ in shown}
    tops = _tops(shown, tables)
    now = Drawn()
    parts: dict[str, list[NDArray[np.float64]]] = {}
    hovers: list[NDArray[np.float64]] = []
    texts: list[str] = []
    now.outages = {name: [] for name in OUTAGE_COLUMNS}
    for place, (one, name) in enumerate(shown):
        values, kind_ = tables[one.id], KINDS[name]
        label = device_name(history, one) if kind is not None else kind_.words
        is_drawn = any(np.isfinite(values[metric]).any() for metric in kind_.metrics[:2])
        for part, rectangles in _rectangles(place, values, kind_.bands(values, tops[one.id, name])).items():
            parts.setdefault(part, []).append(rectangles)
        rectangles, words = _hovers(place, values, kind_, one)
        hovers.append(rectangles)
        texts += [f"{label}: {word}" for word in words]
        _add_outages(now.outages, history, one, place, label, left, right)
        now.lanes.append(_lane(history, one, name, label, values, is_drawn=is_drawn))
    now.hovers = _columns(np.concatenate([np.empty((4, 0)), *hovers], axis=1)) | {"text": texts}
    now.parts = {part: _columns(np.concatenate(found, axis=1)) for part, found in parts.items()}
    return now


def _binned(rows: NDArray[np.float64], left: float, right: float, width_s: float) -> Values:
    """Return the samples in view, those in one bin of time together; the grid is fixed, so that bins don't change later."""
    at = rows[:, _PLACES["at"]]
    first = int(np.searchsorted(at, left))
    last = int(np.searchsorted(at, right, side="right")) + 1
    rows = rows[first:last]
    if len(rows):
        bins = np.floor(rows[:, _PLACES["at"]] / width_s)
        rows = merged(rows, np.flatnonzero(np.diff(bins, prepend=-np.inf)))
    return {name: rows[:, place] for name, place in _PLACES.items()}


def _tops(shown: list[tuple[GpuDevice, str]], tables: Mapping[int, Values]) -> dict[tuple[int, str], float]:
    """Return the value at each lane's upper edge. Traffic has one scale for all devices."""
    tops = {(one.id, name): KINDS[name].top(one, tables[one.id]) for one, name in shown}
    for kind in ("pcie", "nvlink"):
        most = max((top for (_, name), top in tops.items() if name == kind), default=1.0)
        tops |= {key: most for key in tops if key[1] == kind}
    return tops


def _edges(values: Values) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return from when to when the bins stand: each up to its last sample, from the one before, if that isn't long ago."""
    at, first = values["at"], values["first"]
    before = np.concatenate([[-np.inf], at[:-1]])[: len(at)]
    return np.where(first - before <= STALE_S, before, first - _SAMPLE_S), at


def _y(place: int, share: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return place + _BOTTOM - (_BOTTOM - _TOP) * np.clip(share, 0.0, 1.0)


def _rectangles(place: int, values: Values, bands: Bands) -> dict[str, NDArray[np.float64]]:
    """Return left, right, bottom and top of each part's rectangles that are more than a line."""
    left, right = _edges(values)
    found = {}
    for part, (low, high) in bands.items():
        is_there = np.isfinite(low) & np.isfinite(high) & (high > low)
        if is_there.any():
            rows = np.stack([left, right, _y(place, low), _y(place, high)])
            found[part] = rows[:, is_there]
    return found


def _columns(rectangles: NDArray[np.float64]) -> dict[str, NDArray[np.float32]]:
    return {name: rectangles[place].astype(np.float32) for place, name in enumerate(RECTANGLE)}


def _hovers(place: int, values: Values, kind: Kind, device: GpuDevice) -> tuple[NDArray[np.float64], list[str]]:
    """Return left, right, bottom and top of each bin that has a value, and its words."""
    left, right = _edges(values)
    is_there = np.any([np.isfinite(values[metric]) for metric in kind.metrics], axis=0)
    edges = np.full(int(np.count_nonzero(is_there)), float(place))
    rectangles = np.stack([left[is_there], right[is_there], edges + 1, edges])
    columns = [values[name][is_there].tolist() for name in kind.metrics]
    known = (
        {name: value for name, value in zip(kind.metrics, row, strict=True) if math.isfinite(value)}
        for row in zip(*columns, strict=True)
    )
    return rectangles, [kind.text(one, device) for one in known]


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


def _lane(history: GpuHistory, device: GpuDevice, kind: str, label: str, values: Values, *, is_drawn: bool) -> Lane:
    now = now_text(history, device, kind)
    why = "" if is_drawn or device.state != OK else now
    return Lane(
        device.id,
        kind,
        label,
        ellipsis(now, _MAX_NOW_LENGTH),
        why,
        _over_time(values, kind, device, np.nanmean),
        _over_time(values, kind, device, np.nanmax),
    )


def _over_time(values: Values, kind: str, device: GpuDevice, fold: Callable[..., float]) -> str:
    """Return one number of the time in view for each metric of a lane, in words."""
    metrics = [name for name in KINDS[kind].metrics if name != "throttle_reasons"]
    known = {name: float(fold(values[name])) for name in metrics if np.isfinite(values[name]).any()}
    return KINDS[kind].text(known, device) or "unknown"
