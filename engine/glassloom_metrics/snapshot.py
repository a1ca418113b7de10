"""`Snapshot`: how things stand, as messages: what a reader needs who hasn't read the log from its beginning."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from glassloom_metrics.gpu_messages import OF_ALL_ROWS
from glassloom_metrics.protocol import (
    DeviceTimes,
    EngineSamples,
    Errors,
    GpuDevices,
    GpuProcesses,
    GpuSamples,
    HostSamples,
    Layers,
    Life,
    Message,
    Progress,
    Running,
    Runs,
    Settings,
    Stacks,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
)

MAX_LAYERS = 10_000
"""How many layers are kept: those that were mentioned last. A row takes about 200 bytes."""
MAX_RUNS = 1_000
"""How many runs are kept."""
MAX_ERRORS = 50
"""How many groups of errors are kept; a row has a traceback."""
MAX_STACKS = 20_000
"""How many stacks of the profile are kept: as many as two tables of its writer have."""

_UNKNOWN = object()


class Snapshot:
    """The newest row of each layer, the workers that are there, and the last of each sample. Thread-safe.

    >>> snapshot = Snapshot()
    >>> snapshot.apply(WorkerJoined(0.0, 0, "w0", 1, 2))
    >>> snapshot.apply(WorkerLeft(1.0, 0, "retired"))
    >>> snapshot.messages()
    []
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: dict[int, WorkerJoined] = {}
        self._runs = _Rows(MAX_RUNS)
        self._layers = _Rows(MAX_LAYERS)
        self._progress = _Rows(MAX_LAYERS)
        self._errors = _Rows(MAX_ERRORS)
        self._stacks = _Rows(MAX_STACKS)
        self._progress_at_s = 0.0
        self._latest: dict[type, Message] = {}
        self._device_s = _Rows(MAX_LAYERS)
        self._device_times: DeviceTimes | None = None
        self._gpus: dict[type, Message] = {}

    def apply(self, message: Message) -> None:
        """Take the next message of the log into account."""
        with self._lock:
            match message:
                case Runs():
                    self._runs.update(_columns(message, 0))
                case Layers():
                    self._layers.update(_columns(message, 0))
                case Progress():
                    self._progress_at_s = message.at_s
                    self._progress.update(_columns(message, 1))
                case WorkerJoined():
                    self._workers[message.worker] = message
                case WorkerLeft():
                    self._workers.pop(message.worker, None)
                case Errors():
                    self._errors.update(_columns(message, 0))
                case Stacks():
                    self._stacks.update(_columns(message, 0))
                case WorkerSamples() | Running() | HostSamples() | EngineSamples() | Settings() | Life():
                    self._latest[type(message)] = message
                case DeviceTimes():
                    self._device_times = message
                    self._device_s.add(message.layers, message.seconds)
                case GpuDevices() | GpuSamples() | GpuProcesses():
                    self._gpus[type(message)] = message

    def messages(self) -> list[Message]:
        """Return messages that bring a reader up to date."""
        with self._lock:
            found: list[Message] = list(self._workers.values())
            if self._runs:
                found.append(Runs(*self._runs.columns()))
            if self._layers:
                found.append(Layers(*self._layers.columns()))
            if self._progress:
                found.append(Progress(self._progress_at_s, *self._progress.columns()))
            if self._errors:
                found.append(Errors(*self._errors.columns()))
            if self._stacks:
                found.append(Stacks(*self._stacks.columns()))
            if self._device_times is not None:
                layers, seconds = self._device_s.columns() or ([], [])
                at_s, total_s = self._device_times.at_s, self._device_times.total_s
                found.append(DeviceTimes(at_s, total_s, [OF_ALL_ROWS] * len(layers), layers, seconds))
            gpus = [self._gpus[kind] for kind in (GpuDevices, GpuProcesses, GpuSamples) if kind in self._gpus]
            return found + list(self._latest.values()) + gpus


class _Rows:
    """Rows by their first element, the one that was set last last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: OrderedDict[int, tuple[Any, ...]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._rows)

    def update(self, columns: Iterable[Sequence[Any]]) -> None:
        """Set rows. The values of a column that is empty aren't known."""
        for row in zip_longest(*columns, fillvalue=_UNKNOWN):
            self._rows[row[0]] = row
            self._rows.move_to_end(row[0])
        while len(self._rows) > self._most:
            self._rows.popitem(last=False)

    def add(self, keys: Iterable[int], values: Iterable[float]) -> None:
        """Add values to those of rows that are a key and one value."""
        sums: dict[int, float] = {}
        for key, value in zip(keys, values, strict=True):
            sums[key] = sums.get(key, 0.0) + value
        known = [self._rows.get(key, (key, 0.0))[1] for key in sums]
        self.update([list(sums), [before + more for before, more in zip(known, sums.values(), strict=True)]])

    def columns(self) -> list[list[Any]]:
        """Return the columns; one that isn't known for all rows is empty."""
        columns = map(list, zip(*self._rows.values(), strict=True))
        return [[] if _UNKNOWN in column else column for column in columns]


def _columns(message: Message, start: int) -> list[Sequence[Any]]:
    """Return the values of a message's fields from one on."""
    return list(msgspec.structs.astuple(message)[start:])
