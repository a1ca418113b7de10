"""GPUs as a table with their last readings; one opened with what it is, its links, memory errors and processes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from glassloom_metrics.gpu_messages import GONE, LOST, OK, SILENT, GpuDevice, Reading, throttle_texts
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.gpu_history import ProcessRow
from glassloom_dashboards.parts.base_cards import ListCard
from glassloom_dashboards.parts.html_body import fit_html
from glassloom_dashboards.parts.templates import render
from glassloom_dashboards.parts.theme import Palette, bytes_text, ellipsis, middle_cut
from glassloom_dashboards.parts.times import clock_text
from glassloom_dashboards.views.gpu_drawing import (
    KINDS,
    MEMORY_METRICS,
    PART_WORDS,
    device_name,
    memory_parts,
    now_text,
    number_of,
    percent_text,
    rate_text,
    reading_words,
    state_words,
)
from glassloom_dashboards.views.gpu_words import nothing_words

ROWS = 64
MAX_PROCESSES = 100
_MAX_MODELS = 3
_ICONS = {OK: "good", LOST: "bad", SILENT: "warning", GONE: "off"}
_TEXT_BYTES = 20_000

HEADS = (
    ("Device", ""),
    ("State", ""),
    ("Utilisation", ""),
    ("Memory", ""),
    ("PCIe", "wide"),
    ("NVLink", "wide"),
    ("Power", "number"),
    ("Temperature", "number"),
    ("Clock", "wide number"),
    ("Processes", "wide number"),
)
"""Words and CSS classes of each column."""
_CELLS = {"pcie": "wide", "nvlink": "wide", "power": "number", "temperature": "number", "clock": "wide number"}
"""What is in columns as words alone, by metric, and their CSS classes."""


def device_row(
    aggregate: ClusterAggregate, device: GpuDevice, memory: Bar, *, shows_model: bool = True
) -> dict[str, object]:
    """Return what the table says of a device, with the bar of its memory."""
    gpus = aggregate.gpus
    readings = gpus.readings.get(device.id, {}) if device.state == OK else {}
    busy, processes = readings.get("utilization_percent", ""), readings.get("processes", "")
    return {
        "id": device.id,
        "name": device_name(gpus, device),
        "model": ellipsis(device.name, 60),
        "shows_model": shows_model or device.is_part,
        "is_part": device.is_part,
        "state": state_words(device.state),
        "icon": _ICONS.get(device.state, "warning"),
        "reason": reason_text(aggregate, device),
        "is_ok": device.state == OK,
        "busy_percent": "" if isinstance(busy, str) else f"{min(max(busy, 0.0), 100.0):.1f}",
        "memory": memory,
        "memory_words": ", ".join(words for _, _, words in memory),
        "utilization": now_text(gpus, device, "utilization"),
        "memory_cell": cell(aggregate, device, "memory"),
        "cells": [(css, cell(aggregate, device, kind)) for kind, css in _CELLS.items()]
        + [("wide number", {"words": _count_text(processes), "is_value": not isinstance(processes, str)})],
    }


def cell(aggregate: ClusterAggregate, device: GpuDevice, kind: str) -> dict[str, object]:
    """Return the words of a metric, and whether they are a value or say why there is none."""
    readings = aggregate.gpus.readings.get(device.id)
    has_value = readings is not None and not all(isinstance(readings.get(name, ""), str) for name in KINDS[kind].needed)
    return {"words": now_text(aggregate.gpus, device, kind), "is_value": has_value}


def reason_text(aggregate: ClusterAggregate, device: GpuDevice) -> str:
    """Return since when a device doesn't answer, and why."""
    if device.state == OK:
        return ""
    return f"since {clock_text(device.since_s, aggregate.last_at_s)}: {ellipsis(device.reason, 200)}"


Bar = list[tuple[str, str, str]]
"""The parts of a device's memory: name, per cent of all, and words."""


def memory_bars(aggregate: ClusterAggregate, devices: Sequence[GpuDevice]) -> dict[int, Bar]:
    """Return the bars of the devices of which it is known how full their memory is."""
    gpus = aggregate.gpus
    rows, totals = [], {}
    for device in devices:
        total, readings = device.memory_total_bytes, gpus.readings.get(device.id, {})
        if device.state == OK and not isinstance(total, str) and total > 0:
            row = readings | {"workers_bytes": gpus.workers_bytes(device.id)}
            if not isinstance(row.get("memory_used_bytes", ""), str):
                totals[device.id] = total
                rows.append([number_of(row.get(name, "")) for name in MEMORY_METRICS])
    parts = memory_parts(dict(zip(MEMORY_METRICS, np.array(rows).T, strict=True))) if rows else {}
    sizes = zip(*(part.tolist() for part in parts.values()), strict=True)
    return {
        device: [
            (name, f"{100 * min(size / total, 1.0):.1f}", f"{PART_WORDS[name]} {bytes_text(size)}")
            for name, size in zip(parts, row, strict=True)
            if size > 0
        ]
        for (device, total), row in zip(totals.items(), sizes, strict=True)
    }


def _count_text(value: Reading) -> str:
    return reading_words(value) if isinstance(value, str) else f"{value:,.0f}"


def detail_of(aggregate: ClusterAggregate, device: GpuDevice) -> dict[str, object]:
    """Return what is told of a device that is open."""
    memory = memory_bars(aggregate, [device]).get(device.id, [])
    return {
        **device_row(aggregate, device, memory),
        "metrics": [(KINDS[kind].words, cell(aggregate, device, kind)) for kind in KINDS if device.state == OK],
        "facts": facts_of(aggregate, device),
        "parts": [words for _, _, words in memory],
        "links": link_rows(aggregate, device),
        "process_rows": process_rows(aggregate, aggregate.gpus.processes_on(device.id) if device.state == OK else []),
        "why_no_processes": _why_no_processes(aggregate, device),
    }


def facts_of(aggregate: ClusterAggregate, device: GpuDevice) -> list[tuple[str, str]]:
    """Return what a device is and, if it answers, its readings that the table has no column for, as (words, value)."""
    mig = device.mig_enabled
    facts = [
        ("UUID", device.uuid),
        ("Driver", aggregate.gpus.driver or "unknown"),
        ("PCIe", _pcie_text(device)),
        ("NVLinks", _count_text(device.nvlinks)),
        ("MIG", reading_words(mig) if isinstance(mig, str) else "divided" if mig else "not divided"),
        ("Part of", _parent_text(aggregate, device)),
    ]
    readings = aggregate.gpus.readings.get(device.id)
    if readings is not None and device.state == OK:
        facts += _more_readings(readings)
    return [(words, ellipsis(value, 200)) for words, value in facts if value]


def _more_readings(readings: Mapping[str, Reading]) -> list[tuple[str, str]]:
    bits = readings["throttle_reasons"]
    return [
        ("Memory kept by the driver", _value_text(readings, "memory_reserved_bytes", bytes_text)),
        ("Memory busy", _value_text(readings, "memory_utilization_percent", percent_text)),
        ("Memory pools", _pool_text(readings)),
        ("Memory clock", _value_text(readings, "memory_clock_mhz", lambda value: f"{value:,.0f} MHz")),
        (
            "Low clocks because of",
            reading_words(bits) if isinstance(bits, str) else ", ".join(throttle_texts(bits)) or "nothing",
        ),
        ("Memory errors, corrected", _value_text(readings, "ecc_corrected", lambda value: f"{value:,.0f}")),
        ("Memory errors, uncorrected", _value_text(readings, "ecc_uncorrected", lambda value: f"{value:,.0f}")),
        ("Video encoder", _value_text(readings, "encoder_percent", percent_text)),
        ("Video decoder", _value_text(readings, "decoder_percent", percent_text)),
    ]


def _value_text(readings: Mapping[str, Reading], name: str, text: Callable[[float], str]) -> str:
    value = readings[name]
    return reading_words(value) if isinstance(value, str) else text(value)


def _pcie_text(device: GpuDevice) -> str:
    generation, width = device.pcie_generation, device.pcie_width
    if isinstance(generation, str) or isinstance(width, str):
        return reading_words(generation if isinstance(generation, str) else width)
    return f"generation {generation:.0f}, {width:.0f} lanes"


def _pool_text(readings: Mapping[str, Reading]) -> str:
    used, held = readings["pool_used_bytes"], readings["pool_reserved_bytes"]
    if isinstance(used, str) or isinstance(held, str):
        return reading_words(used if isinstance(used, str) else held)
    return f"{bytes_text(used)} in use of {bytes_text(held)}"


def _parent_text(aggregate: ClusterAggregate, device: GpuDevice) -> str:
    parent = aggregate.gpus.devices.get(device.parent)
    return device_name(aggregate.gpus, parent) if parent is not None else ""


def link_rows(aggregate: ClusterAggregate, device: GpuDevice) -> list[tuple[str, str, str]]:
    """Return each NVLink's number, and what it receives and sends."""
    received, sent = aggregate.gpus.links.get(device.id, ([], []))
    if device.state != OK:
        return []
    both = zip(received, sent, strict=False)
    return [(f"{link}", _link_text(one), _link_text(other)) for link, (one, other) in enumerate(both)]


def _link_text(value: float | None) -> str:
    return "unknown" if value is None or not math.isfinite(value) else rate_text(value)


def process_rows(aggregate: ClusterAggregate, processes: list[ProcessRow]) -> list[dict[str, object]]:
    """Return the processes on a device, the cluster's workers first, then those with most memory."""

    def rank(one: ProcessRow) -> tuple[bool, float]:
        return one.worker < 0, -(one.memory_bytes if not isinstance(one.memory_bytes, str) else 0.0)

    shown = sorted(processes, key=rank)[:MAX_PROCESSES]
    names = fit_html([middle_cut(one.name or "unknown", 60) for one in shown], 60, _TEXT_BYTES)
    return [
        {
            "pid": one.pid,
            "name": name,
            "worker": ellipsis(aggregate.worker_name(one.worker), 60) if one.worker >= 0 else "",
            "memory": reading_words(one.memory_bytes)
            if isinstance(one.memory_bytes, str)
            else bytes_text(one.memory_bytes),
        }
        for one, name in zip(shown, names, strict=True)
    ]


def _why_no_processes(aggregate: ClusterAggregate, device: GpuDevice) -> str:
    if device.state != OK:
        return "unknown, as the device doesn't answer"
    count = aggregate.gpus.readings.get(device.id, {}).get("processes", "not measured yet")
    return reading_words(count) if isinstance(count, str) else "none"


class GpuDevicesView(ListCard):
    """The card of GPUs for one viewer."""

    id = "gpu-devices"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        super().__init__(aggregate, ROWS)

    def update(self, now_s: float) -> None:
        """Show what is new."""
        aggregate = self._aggregate
        if not self.is_due(now_s, ("gpus", "life", "workers")):
            return
        devices = aggregate.gpus.in_order()
        opened = aggregate.gpus.devices.get(self._open) if self._open is not None else None
        if opened is not None:
            html: Markup | None = render("gpu.html", **detail_of(aggregate, opened))
        else:
            html = render("gpus.html", **self._values(devices)) if devices else None
        self.show(html, *nothing_words(aggregate))

    def _values(self, devices: list[GpuDevice]) -> dict[str, object]:
        shown = devices[self._paging.part(len(devices))]
        counts = {state: sum(one.state == state for one in devices) for state in (LOST, SILENT)}
        models = Counter(one.name for one in devices if not one.is_part)
        note = [f"{count:,} × {ellipsis(name, 60)}" for name, count in models.most_common(_MAX_MODELS)]
        if parts := sum(one.is_part for one in devices):
            note.append(f"{parts:,} MIG instances")
        note += [f"{count:,} {state_words(state)}" for state, count in counts.items() if count]
        if self._aggregate.gpus.driver:
            note.append(f"driver {ellipsis(self._aggregate.gpus.driver, 30)}")
        bars = memory_bars(self._aggregate, shown)
        rows = [device_row(self._aggregate, one, bars.get(one.id, []), shows_model=len(models) > 1) for one in shown]
        used = {name for bar in bars.values() for name, _, _ in bar}
        return {
            "heads": HEADS,
            "note": ", ".join(note),
            "rows": rows,
            "keys": [(name, words) for name, words in PART_WORDS.items() if name in used],
            "paging": self._paging.shown(len(devices)),
        }
