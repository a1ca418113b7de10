"""Folds of the message stream into what a person asks first: how large, how busy, how far. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from glassloom_metrics.gpu_messages import GpuDevice, Reading, devices_of, readings_of
from glassloom_metrics.protocol import (
    DeviceTimes,
    Errors,
    GpuDevices,
    GpuProcesses,
    GpuSamples,
    Layers,
    Message,
    Progress,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
)
from glassloom_metrics.recorder import STATES
from glassloom_metrics.worker_memory import cluster_bytes, in_memory_bytes, unmanaged_column

MEMORY_PARTS = ("managed", "shared", "spilled", "unmanaged")
DEVICE_PARTS = ("held", "used", "pool", "other", "moved")
"""Of the memory of workers' devices: see `WorkerSamples`."""


class _Sample(NamedTuple):
    cpu_percent: float
    rss_bytes: int
    managed_bytes: int
    shared_bytes: int
    spilled_bytes: int
    unmanaged_bytes: int
    executing: int


class WorkerRow(NamedTuple):
    """A worker as it was measured last; zeros if it wasn't yet. ``cpu_percent``: 100 is one core busy."""

    name: str
    n_threads: int
    memory_limit_bytes: int | None
    cpu_percent: float
    memory_bytes: int
    spilled_bytes: int
    executing: int


class ClusterSummary:
    """The state of a whole cluster in a handful of numbers.

    ``problem`` is a sentence for people that says why nothing can be told of it, set by who reads the stream; else ``""``.
    ``gpus`` are its devices by id, ``gpu_readings`` what was measured last of those that answer, ``gpu_processes`` who uses them.

    >>> summary = ClusterSummary()
    >>> summary.apply(WorkerJoined(0.0, 0, "w0", 1, nthreads=2, memory_limit_bytes=10))
    >>> summary.as_dict()["threads"]
    2
    """

    def __init__(self) -> None:
        self.problem = ""
        self._workers: dict[int, WorkerJoined] = {}
        self._samples: dict[int, _Sample] = {}
        self._devices: dict[int, tuple[int, ...]] = {}
        """Of workers that have a device the bytes by `DEVICE_PARTS`."""
        self.task_device_s: float | None = None
        """How long tasks took on devices so far; None: nothing was told of it."""
        self._errors: dict[int, int] = {}
        self.gpus: dict[int, GpuDevice] = {}
        self.gpu_readings: dict[int, dict[str, Reading]] = {}
        self.gpu_links: dict[int, tuple[list[float | None], list[float | None]]] = {}
        self.gpu_processes: GpuProcesses | None = None
        self._counts: dict[int, tuple[int, ...]] = {}
        self._totals: dict[int, int] = {}

    def apply(self, message: Message) -> None:
        """Take the next message of the stream into account."""
        match message:
            case WorkerSamples():
                self._add_samples(message)
            case Progress():
                rows = zip(*(getattr(message, state) for state in STATES), strict=True)
                self._counts.update(zip(message.layers, rows, strict=True))
            case Layers():
                self._totals.update(zip(message.ids, message.totals, strict=True))
            case WorkerJoined():
                self._workers[message.worker] = message
            case WorkerLeft():
                self._workers.pop(message.worker, None)
                self._samples.pop(message.worker, None)
                self._devices.pop(message.worker, None)
            case DeviceTimes():
                self.task_device_s = message.total_s
            case GpuSamples():
                self.gpu_readings = dict(readings_of(message))
                links = zip(message.links_received_bytes_s, message.links_sent_bytes_s, strict=False)
                self.gpu_links = dict(zip(message.devices, links, strict=False))
            case GpuDevices():
                self.gpus = devices_of(message)
            case GpuProcesses():
                self.gpu_processes = message
            case Errors():
                self._errors.update(zip(message.ids, message.counts, strict=True))

    def _add_samples(self, message: WorkerSamples) -> None:
        rows = zip(
            message.cpu_percent,
            message.rss_bytes,
            message.managed_bytes,
            message.shared_bytes,
            message.spilled_bytes,
            unmanaged_column(message),
            message.executing,
            strict=True,
        )
        for worker, row in zip(message.workers, rows, strict=True):
            if worker in self._workers:
                self._samples[worker] = _Sample(*row)
        columns = [getattr(message, f"device_{part}_bytes") for part in DEVICE_PARTS]
        if all(columns):
            rows_of_devices = zip(message.workers, zip(*columns, strict=True), strict=True)
            told = {worker: row for worker, row in rows_of_devices if worker in self._workers}
            self._devices.update({worker: row for worker, row in told.items() if self._workers[worker].devices})

    @property
    def cpu_percent(self) -> float:
        """CPU use of all workers together; 100 is one core busy."""
        return sum(sample.cpu_percent for sample in self._samples.values())

    def worker_name(self, worker: int) -> str:
        """Return the name of a worker that is here; ``""`` if there is none of this number."""
        known = self._workers.get(worker)
        return known.name if known else ""

    def worker_rows(self) -> list[WorkerRow]:
        """Return the workers that are here, in the order in which they came."""
        idle = _Sample(0.0, 0, 0, 0, 0, 0, 0)
        known = [(each, self._samples.get(worker, idle)) for worker, each in self._workers.items()]
        return [
            WorkerRow(
                each.name,
                each.nthreads,
                each.memory_limit_bytes or None,
                sample.cpu_percent,
                in_memory_bytes(sample),
                sample.spilled_bytes,
                sample.executing,
            )
            for each, sample in known
        ]

    @property
    def n_cancelled(self) -> int:
        """Tasks that were given up before they had a result: in no state any more, and still counted in their layer."""
        total = sum(self._totals.get(layer, 0) for layer in self._counts)
        return max(total - sum(map(sum, self._counts.values())), 0)

    @property
    def n_errors(self) -> int:
        """Failures for good, of the groups that are known."""
        return sum(self._errors.values())

    @property
    def resident_bytes(self) -> int:
        """Resident memory of all workers; what they share is counted for each that has mapped it."""
        return sum(sample.rss_bytes for sample in self._samples.values())

    def device_memory(self) -> dict[str, int]:
        """Return the bytes of all workers' devices together, by `DEVICE_PARTS`; empty if no worker has one."""
        sums = [sum(column) for column in zip(*self._devices.values(), strict=True)]
        return dict(zip(DEVICE_PARTS, sums, strict=True)) if sums else {}

    def device_total_bytes(self) -> int:
        """Return the memory of all workers' devices together, each once; 0 if no worker has one, or workers don't tell."""
        totals = {
            uuid: nbytes
            for worker in self._workers.values()
            for uuid, nbytes in zip(worker.devices, worker.device_total_bytes, strict=False)
        }
        return sum(totals.values())

    def memory(self) -> dict[str, int]:
        """Return the bytes of all workers together, by `MEMORY_PARTS`."""
        return {
            part: sum(getattr(sample, f"{part}_bytes") for sample in self._samples.values()) for part in MEMORY_PARTS
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as JSON-ready values; a limit is None when any worker has none."""
        limits = [worker.memory_limit_bytes for worker in self._workers.values()]
        totals = [sum(column) for column in zip(*self._counts.values(), strict=True)] or [0] * len(STATES)
        return {
            "problem": self.problem,
            "workers": len(self._workers),
            "threads": sum(worker.nthreads for worker in self._workers.values()),
            "memory_bytes": cluster_bytes(self._samples.values()),
            "memory_limit_bytes": sum(limit for limit in limits if limit) if limits and all(limits) else None,
            "cpu_percent": round(self.cpu_percent, 1),
            "tasks": dict(zip(STATES, totals, strict=True)),
        }
