"""The GPUs of a cluster's host: which there are, how they are now, and over time. Bounded; it knows no plot.

Times over time are seconds since the cluster's start. Of older times means are kept, and the most of memory and temperature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from glassloom_metrics.gpu_messages import (
    GPU_METRICS,
    LOST,
    OK,
    GpuDevice,
    GpuDevices,
    GpuProcesses,
    GpuSamples,
    Reading,
    devices_of,
    readings_of,
)
from numpy.typing import NDArray

COLUMNS = ("at", "first", *GPU_METRICS, "workers_bytes")
"""What is kept of a sample: when it was, which time it stands for (its first sample), the metrics (NaN: no value), and the
memory of processes that are workers of the cluster."""
_BITS = "throttle_reasons"
_HIGHEST = {"memory_used_bytes", "pool_used_bytes", "pool_reserved_bytes", "workers_bytes", "temperature_c"}
_MOST_BITS = 2.0**53
KEEP_ROWS = 512
MAX_DEVICES = 256
"""Of more devices no history is kept."""
MAX_OUTAGES = 100
STALE_S = 5.0
"""After so long without a sample nothing is known of the time between."""


@dataclass(frozen=True)
class Outage:
    """A time in which a device didn't answer: since the cluster's start, `stop_s` is infinite while it lasts."""

    start_s: float
    stop_s: float
    state: str
    reason: str


@dataclass(frozen=True)
class ProcessRow:
    """A process that uses a device. `worker` is the cluster's worker that it is, -1 if it is none."""

    pid: int
    name: str
    worker: int
    memory_bytes: Reading


class GpuSeries:
    """The samples of one device. Each level has rows that stand for twice the time of those of the level before."""

    def __init__(self) -> None:
        self._levels: list[NDArray[np.float64]] = []
        self._counts: list[int] = []

    def append(self, row: NDArray[np.float64]) -> None:
        """Add the newest sample, its values in the order of `COLUMNS`."""
        for number in range(len(self._levels) + 1):
            if number == len(self._levels):
                self._levels.append(np.empty((KEEP_ROWS + 2, len(COLUMNS))))
                self._counts.append(0)
            level, count = self._levels[number], self._counts[number]
            level[count] = row
            self._counts[number] = count + 1
            if count + 1 < len(level):
                return
            row = merged(level[:2], np.zeros(1, np.int64))[0]
            level[:-2] = level[2:].copy()
            self._counts[number] -= 2

    def rows(self) -> NDArray[np.float64]:
        """Return all rows that are kept, the oldest first."""
        parts = [level[:count] for level, count in zip(self._levels, self._counts, strict=True)]
        return np.concatenate([np.empty((0, len(COLUMNS))), *reversed(parts)])


def merged(rows: NDArray[np.float64], firsts: NDArray[np.int64], names: Sequence[str] = COLUMNS) -> NDArray[np.float64]:
    """Return one row for each group of rows, which begin at `firsts`; their columns are `names`, the first two as `COLUMNS`' are.

    They have means, but the most of memory and temperature, and all reasons of low clocks. What isn't known of some rows of a
    group is that of the others.
    """
    known = ~np.isnan(rows)
    counts = np.add.reduceat(known, firsts, axis=0, dtype=np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.add.reduceat(np.where(known, rows, 0.0), firsts, axis=0) / counts
    tops = [place for place, name in enumerate(names) if name in _HIGHEST]
    highest = np.maximum.reduceat(np.where(known[:, tops], rows[:, tops], -np.inf), firsts, axis=0)
    means[:, tops] = np.where(counts[:, tops] > 0, highest, np.nan)
    if _BITS in names:
        place = names.index(_BITS)
        bits = np.where(known[:, place], np.clip(rows[:, place], 0.0, _MOST_BITS), 0.0).astype(np.int64)
        means[:, place] = np.where(counts[:, place] > 0, np.bitwise_or.reduceat(bits, firsts), np.nan)
    means[:, 0] = rows[np.append(firsts[1:], len(rows)) - 1, 0]
    means[:, 1] = rows[firsts, 1]
    return means


class GpuHistory:
    """A fold of the messages about GPUs.

    Attributes
    ----------
    is_told
        Whether the cluster has said anything of GPUs; one whose tasks run on threads doesn't.
    problem
        Why there is no device, and what to do; ``""`` if there are some.
    devices
        All that were ever seen, by id.
    readings, links, measured_at_s
        The last sample of each device: its metrics, bytes a second that each NVLink receives and sends, and when.
    outages
        By device, the oldest first.
    """

    def __init__(self, started_at_s: float) -> None:
        self._started_at_s = started_at_s
        self.is_told = False
        self.problem = ""
        self.driver = ""
        self.devices: dict[int, GpuDevice] = {}
        self.readings: dict[int, dict[str, Reading]] = {}
        self.links: dict[int, tuple[list[float | None], list[float | None]]] = {}
        self.measured_at_s: dict[int, float] = {}
        self.outages: dict[int, list[Outage]] = {}
        self._series: dict[int, GpuSeries] = {}
        self._processes: dict[int, list[ProcessRow]] = {}
        self._processes_at_s = -math.inf

    def apply(self, message: GpuDevices | GpuSamples | GpuProcesses) -> None:
        """Take the next message into account."""
        self.is_told = True
        match message:
            case GpuDevices():
                self._set_devices(message)
            case GpuProcesses():
                self._set_processes(message)
            case GpuSamples():
                self._add_samples(message)

    def _set_devices(self, message: GpuDevices) -> None:
        self.problem, self.driver = message.problem, message.driver
        before, self.devices = self.devices, devices_of(message)
        for number, device in self.devices.items():
            known = before.get(number)
            if known is None or (known.state, known.since_s) != (device.state, device.since_s):
                self._note_state(device)

    def _note_state(self, device: GpuDevice) -> None:
        since_s = device.since_s - self._started_at_s
        outages = self.outages.setdefault(device.id, [])
        if outages and math.isinf(outages[-1].stop_s):
            last = outages.pop()
            outages.append(Outage(last.start_s, since_s, last.state, last.reason))
        if device.state != OK:
            outages.append(Outage(since_s, math.inf, device.state, device.reason))
            del outages[:-MAX_OUTAGES]

    def _set_processes(self, message: GpuProcesses) -> None:
        self._processes, self._processes_at_s = {}, message.at_s
        rows = zip(message.devices, message.pids, message.names, message.workers, message.memory_bytes, strict=True)
        for device, pid, name, worker, nbytes in rows:
            self._processes.setdefault(device, []).append(ProcessRow(pid, name, worker, nbytes))

    def _add_samples(self, message: GpuSamples) -> None:
        at_s = message.at_s - self._started_at_s
        links = list(zip(message.links_received_bytes_s, message.links_sent_bytes_s, strict=False))
        for place, (device, readings) in enumerate(readings_of(message)):
            self.readings[device] = readings
            self.links[device] = links[place] if place < len(links) else ([], [])
            self.measured_at_s[device] = message.at_s
            if device in self._series or len(self._series) < MAX_DEVICES:
                numbers = [math.nan if isinstance(value, str) else float(value) for value in readings.values()]
                workers = self._bytes_of_workers(device, readings, message.at_s)
                self._series.setdefault(device, GpuSeries()).append(np.array([at_s, at_s, *numbers, workers]))

    def _bytes_of_workers(self, device: int, readings: dict[str, Reading], at_s: float) -> float:
        """Return the memory that workers have on a device; NaN if that isn't known, such as if no process is told."""
        count = readings["processes"]
        if isinstance(count, str) or not count or self._processes_at_s != at_s:
            return math.nan
        mine = [row.memory_bytes for row in self.processes_on(device) if row.worker >= 0]
        return math.nan if any(isinstance(value, str) for value in mine) else float(sum(map(float, mine)))

    def rows(self, device: int) -> NDArray[np.float64]:
        """Return the samples of a device, the oldest first, with columns as in `COLUMNS`."""
        series = self._series.get(device)
        return series.rows() if series else np.empty((0, len(COLUMNS)))

    def processes_on(self, device: int) -> list[ProcessRow]:
        """Return the processes that use a device, as of the last sample."""
        return self._processes.get(device, [])

    def workers_bytes(self, device: int) -> float:
        """Return the memory that workers have on a device, as of the last sample; NaN if that isn't known."""
        readings = self.readings.get(device)
        return self._bytes_of_workers(device, readings, self.measured_at_s[device]) if readings else math.nan

    def in_order(self) -> list[GpuDevice]:
        """Return all devices by index, each followed by its MIG instances; those that are gone come last."""
        whole = sorted((one for one in self.devices.values() if not self._is_part(one)), key=_order)
        parts = sorted((one for one in self.devices.values() if self._is_part(one)), key=_order)
        return [each for one in whole for each in (one, *(part for part in parts if part.parent == one.id))]

    def _is_part(self, device: GpuDevice) -> bool:
        parent = self.devices.get(device.parent)
        return parent is not None and not parent.is_part


def _order(device: GpuDevice) -> tuple[bool, int, str]:
    return device.state not in (OK, LOST) and device.is_part, device.index, device.uuid
