"""`MonitorFold`: what a cluster's metrics stream says of the cluster as a whole, for `Monitor`. Pure: no clock, no thread, no socket."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from glassloom_metrics.folds import WorkerRow
from glassloom_metrics.protocol import Message, Position, WorkerSamples
from glassloom_metrics.run_row import RunRow

from glassloom.notebook.cluster_fold import ClusterFold, ErrorRow, LayerCounts

TOPICS = ("runs", "layers", "progress", "worker-joined", "worker-left", "samples", "errors", "settings")
"""What is read of a cluster's stream: nothing that grows with the number of tasks."""
HISTORY_S = 120
MAX_LAYERS = 8
MAX_ERRORS = 3
_RATE_S = 10.0
_DONE = ("memory", "released", "erred")
_ALL = "all"


@dataclass(frozen=True, slots=True)
class Measurement:
    """A point of the lines over time. ``cpu_percent``: 100 is one core busy."""

    at_s: float
    cpu_percent: float
    memory_bytes: int
    n_done: int


@dataclass(frozen=True)
class MonitorView:
    """What is shown of a cluster."""

    name: str
    workers: tuple[WorkerRow, ...]
    n_threads: int
    cpu_percent: float
    memory_bytes: int
    memory_limit_bytes: int | None
    spilled_bytes: int
    n_running: int
    n_waiting: int
    n_done: int
    n_failed: int
    rate_hz: float
    history: tuple[Measurement, ...]
    is_running: bool
    """Whether a run is under way; else the layers are those of the last one."""
    layers: tuple[tuple[str, int, int, int], ...]
    """Name, tasks in all, done and failed, of the layers of runs that are under way."""
    n_layers: int
    errors: tuple[ErrorRow, ...]


class MonitorFold:
    """A cluster with its workers, its open runs and its last two minutes."""

    def __init__(self, name: str) -> None:
        self._fold = ClusterFold(lambda run: _ALL)
        self._fold.name = name
        self._history: deque[Measurement] = deque(maxlen=HISTORY_S)

    def apply(self, message: Message) -> None:
        """Take the next message of the stream into account."""
        self._fold.apply(message)
        if isinstance(message, WorkerSamples | Position):
            self._measure()

    def view(self) -> MonitorView:
        """Return what is known."""
        summary, tasks = self._fold.summary, self._fold.summary.as_dict()["tasks"]
        workers = tuple(sorted(summary.worker_rows(), key=lambda worker: (len(worker.name), worker.name)))
        runs, is_running = self._shown_runs()
        layers = self._layers_of(runs)
        return MonitorView(
            name=self._fold.name,
            workers=workers,
            n_threads=sum(worker.n_threads for worker in workers),
            cpu_percent=summary.cpu_percent,
            memory_bytes=sum(worker.memory_bytes for worker in workers),
            memory_limit_bytes=_sum_of_limits(workers),
            spilled_bytes=summary.memory()["spilled"],
            n_running=tasks["running"],
            n_waiting=tasks["waiting"] + tasks["ready"],
            n_done=self._n_done(),
            n_failed=tasks["erred"],
            rate_hz=self._rate_hz(),
            history=tuple(self._history),
            is_running=is_running,
            layers=tuple((name, counts.total, counts.done, counts.failed) for name, counts in layers[:MAX_LAYERS]),
            n_layers=len(layers),
            errors=tuple(self._fold.errors_of({run.id for run in runs})[:MAX_ERRORS]),
        )

    def _measure(self) -> None:
        """Add a point, once a second at most."""
        at_s, summary = self._fold.at_s, self._fold.summary
        if not self._history or at_s - self._history[-1].at_s >= 1.0:
            memory_bytes = sum(worker.memory_bytes for worker in summary.worker_rows())
            self._history.append(Measurement(at_s, summary.cpu_percent, memory_bytes, self._n_done()))

    def _n_done(self) -> int:
        tasks = self._fold.summary.as_dict()["tasks"]
        return sum(tasks[state] for state in _DONE)

    def _rate_hz(self) -> float:
        """Return the mean rate of tasks over the last seconds."""
        recent = [point for point in self._history if self._fold.at_s - point.at_s <= _RATE_S]
        if len(recent) < 2:
            return 0.0
        return max(0.0, (recent[-1].n_done - recent[0].n_done) / (recent[-1].at_s - recent[0].at_s))

    def _shown_runs(self) -> tuple[list[RunRow], bool]:
        """Return the runs that are under way, and True; if there are none, the last one, and False."""
        runs = list(self._fold.runs.values())
        running = [run for run in runs if run.ended_s is None]
        return (running, True) if running else (runs[-1:], False)

    def _layers_of(self, runs: Iterable[RunRow]) -> list[tuple[str, LayerCounts]]:
        """Return the layers of runs, those that are under way first, else in their order."""
        layers: dict[str, LayerCounts] = {}
        for run in runs:
            for name, counts in self._fold.layers_of(run.id):
                layers.setdefault(name, LayerCounts()).add(counts)
        return sorted(layers.items(), key=lambda item: (not item[1].running, item[1].done >= item[1].total))


def rates_hz(history: Iterable[Measurement]) -> list[float]:
    """Return how many tasks a second were done between one point and the next.

    >>> rates_hz([Measurement(0.0, 0.0, 0, 0), Measurement(2.0, 0.0, 0, 10)])
    [5.0]
    """
    return [
        max(0.0, (after.n_done - before.n_done) / (after.at_s - before.at_s)) for before, after in pairwise(history)
    ]


def _sum_of_limits(workers: Iterable[WorkerRow]) -> int | None:
    limits = [worker.memory_limit_bytes for worker in workers]
    return sum(limit for limit in limits if limit is not None) if limits and None not in limits else None
