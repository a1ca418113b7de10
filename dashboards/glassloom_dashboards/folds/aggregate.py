"""One cluster as the dashboards see it: a fold of the protocol's messages. It has no clock, socket or viewer.

However many pages look at a cluster there is one `ClusterAggregate`, and pages learn what is new from `versions`.

>>> from glassloom_metrics.protocol import Hello
>>> aggregate = ClusterAggregate()
>>> aggregate.apply(Hello(1, "c1", "demo", "threads", 0.0))
>>> aggregate.name, aggregate.compute_tasks
('demo', 0)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from glassloom_metrics import protocol
from glassloom_metrics.protocol import (
    Dropped,
    EngineSamples,
    Errors,
    GpuDevices,
    GpuProcesses,
    GpuSamples,
    Hello,
    HostSamples,
    Layers,
    Life,
    Log,
    Message,
    Position,
    Progress,
    Refused,
    Running,
    Runs,
    Settings,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
)
from glassloom_metrics.worker_memory import unmanaged_column

from glassloom_dashboards.folds import task_waits
from glassloom_dashboards.folds.deferred import DeferredFold
from glassloom_dashboards.folds.device_times import DeviceTimes
from glassloom_dashboards.folds.durations import Durations
from glassloom_dashboards.folds.engine_history import EngineHistory
from glassloom_dashboards.folds.event_columns import Values, values_of
from glassloom_dashboards.folds.gpu_history import GpuHistory
from glassloom_dashboards.folds.growing import GrowingTable
from glassloom_dashboards.folds.layer_table import LayerTable
from glassloom_dashboards.folds.layers import Layer as Layer
from glassloom_dashboards.folds.log_table import LogTable
from glassloom_dashboards.folds.memory_history import MemoryHistory
from glassloom_dashboards.folds.older_layers import AT_ONCE, MAX_LAYERS, OLDER, OlderLayers
from glassloom_dashboards.folds.running_tasks import ENDING_COLUMNS, RunningTasks
from glassloom_dashboards.folds.runs import HeldBytes, RunTable
from glassloom_dashboards.folds.task_sums import TaskSums, event_sums
from glassloom_dashboards.folds.task_table import TaskTable, event_columns
from glassloom_dashboards.folds.worker_history import WorkerHistories

STATES = ("waiting", "ready", "running", "memory", "released", "erred")
MAX_ERRORS = 100
UNKNOWN_LAYER = "unknown layer"

_HISTORY_DTYPES = {
    name: "<f8"
    for name in ("at_s", "cpu_percent", "rss_bytes", "managed_bytes", "shared_bytes", "spilled_bytes", "executing")
}

_DEVICE_COLUMNS = (
    "device_held_bytes", "device_used_bytes", "device_pool_bytes", "device_other_bytes", "device_moved_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class ErrorGroup:
    """Failures in one layer, with one exception, in one place: the first one, and how many (see `protocol.Errors`)."""

    id: int
    layer: int
    exception: str
    message: str
    traceback: str
    worker: int
    origin: str
    count: int
    first_s: float
    last_s: float
    keys: list[str]


@dataclass(frozen=True)
class WorkerSample:
    """The latest measurement of one worker."""

    at_s: float
    cpu_percent: float
    rss_bytes: int
    managed_bytes: int
    shared_bytes: int
    spilled_bytes: int
    executing: int
    queued: int
    own_bytes: int = 0
    unmanaged_bytes: int = 0
    """Memory that holds no result of a task: the interpreter, libraries, what tasks use while they run."""
    pressure: int = 0
    device_held_bytes: int = 0
    """Results on the worker's device; what follows is as in `protocol.WorkerSamples`."""
    device_used_bytes: int = 0
    device_pool_bytes: int = 0
    device_other_bytes: int = 0
    device_moved_bytes: int = 0


class ClusterAggregate:
    """Everything that the pages show of one cluster.

    Attributes
    ----------
    versions
        A count of changes for each part: ``tasks``, ``layers``, ``progress``, ``workers``, ``samples``, ``gpus``,
        ``errors``, ``logs``, ``runs``, ``running``,
        ``engine``, ``life``. A page that remembers them knows whether there is anything to draw.
    generation
        Rises when the log begins anew, after the connection to the cluster was lost and found again.
    state
        ``"connecting"``, ``"live"``, ``"reconnecting"``, ``"ended"``, or ``"refused"``: it runs, but can't be read. Of a file
        ``"loading"`` and ``"recording"``.
    ended_reason
        Why it has ended or can't be read, or how the recording is damaged.
    is_loading
        Whether what was before now is still being read: of a cluster, until it says that its backlog was sent.
    heard_at_s
        When it was last heard, or first asked, by the clock of whoever calls `hear`.
    recorded_since_s
        When a recording began that knows nothing of before but a snapshot (see `SinceBegin`): its counts are those since then.
    unreadable_messages
        How many of its messages could not be read.
    log_id, next_frame
        Where to go on reading (see `glassloom_metrics.protocol.Connect`).
    dropped_frames
        How many frames the cluster had no room to keep until they could be read.
    """

    def __init__(self) -> None:
        self.versions: Counter[str] = Counter()
        self.generation = 0
        self.state = "connecting"
        self.ended_reason = ""
        self.is_loading = False
        self.heard_at_s: float | None = None
        self.recorded_since_s: float | None = None
        self._begin(Hello(0, "", "", "", 0.0))

    def _begin(self, hello: Hello) -> None:
        self.cluster_id = hello.cluster_id
        self.name = hello.cluster_name
        self.kind = hello.kind
        self.log_id = hello.log_id
        is_time = math.isfinite(hello.started_at_s)  # of a damaged recording it may be none
        self.started_at_s = self.last_at_s = hello.started_at_s if is_time else 0.0
        self.next_frame = 0
        self.dropped_frames = 0
        self.tasks = TaskTable(self.started_at_s)
        self.layers: dict[int, Layer] = {}
        """Those that are kept one by one, in order of their announcement, and `OLDER` for all others."""
        self.layer_table = LayerTable(STATES)
        self.older = OlderLayers(len(STATES))
        self._fold_at = MAX_LAYERS + AT_ONCE
        self.progress: dict[int, tuple[int, ...]] = {}
        self._sums = [0] * len(STATES)  # of all layers, kept up to date: a cluster may have had 10^5 of them
        self._total = 0
        self._known_total = 0  # of the layers whose progress is known
        self.workers: dict[int, WorkerJoined] = {}
        self.left_workers: dict[int, WorkerLeft] = {}
        self.worker_names: dict[int, str] = {}
        self.samples: dict[int, WorkerSample] = {}
        self.history = GrowingTable(_HISTORY_DTYPES)
        self.running = RunningTasks()
        self.engine = EngineHistory()
        self.gpus = GpuHistory(self.started_at_s)
        self.errors: dict[int, ErrorGroup] = {}
        """The groups that grew last, the newest last."""
        self.error_count = 0
        self.logs = LogTable()
        self.runs = RunTable()
        self.held = HeldBytes()
        self.sums = TaskSums()
        self.histories = WorkerHistories()
        self.memory = MemoryHistory()
        self._durations = Durations()
        self.tasks.deferred["durations"] = DeferredFold(self._add_durations)
        self.device_times = DeviceTimes()
        self.lost_events = 0
        self._gap_row = 0  # rows refer to others by how many lie between: not across lost ones
        self.unreadable_messages = 0

    @property
    def compute_tasks(self) -> int:
        """The number of recorded events in which a task was computed."""
        return self.tasks.compute_tasks

    @property
    def durations(self) -> Durations:
        """How long the tasks of each layer take."""
        self.tasks.deferred["durations"].reach(self.tasks.next_row)
        return self._durations

    def _add_durations(self, first: int, stop: int) -> None:
        names = ("layer", "worker", "action", "start_s", "stop_s")
        columns = {name: self.tasks.between(name, first, stop) for name in names}
        self._durations.add_rows(columns, first, self.tasks.index.take)

    @property
    def threads(self) -> int:
        """The threads of all workers that are there now."""
        return sum(worker.nthreads for worker in self.workers.values())

    @property
    def task_counts(self) -> dict[str, int]:
        """The number of tasks of all layers in each state, ``cancelled`` ones (in no state any more), and ``total``."""
        cancelled = max(self._known_total - sum(self._sums), 0)
        return dict(zip(STATES, self._sums, strict=True)) | {"cancelled": cancelled, "total": self._total}

    def _add_errors(self, message: Errors) -> None:
        for row in zip(*(getattr(message, name) for name in message.__struct_fields__), strict=True):
            group = ErrorGroup(*row)
            known = self.errors.pop(group.id, None)
            self.errors[group.id] = group
            self.error_count += group.count - (known.count if known else 0)
            self._saw(group.last_s, "errors")
        while len(self.errors) > MAX_ERRORS:
            del self.errors[next(iter(self.errors))]

    def layer_name(self, layer: int) -> str:
        """Return the name of a layer by id, also of one that was never announced, or isn't kept."""
        known = self.layers.get(layer)
        return known.name if known else self.older.name(layer) or UNKNOWN_LAYER

    def is_older(self, layer: int) -> bool:
        """Tell whether a layer is one of those that are no longer kept by themselves (see `OlderLayers`)."""
        return layer not in self.layers and self.older.has(layer)

    def worker_name(self, worker: int) -> str:
        """Return the name of a worker by id, also after it left."""
        return self.worker_names.get(worker) or f"worker {worker}"

    def apply(self, message: Message) -> None:
        """Take the next message of the log into account."""
        match message:
            case TaskEvents():
                self.add_events([message])
            case Progress():
                self._set_progress(message)
            case WorkerSamples():
                self._add_samples(message)
            case Layers():
                self._set_layers(message)
                self.runs.add_layers(message)
            case Runs():
                self.runs.add(message, self.threads)
                self._saw(max((at_s for at_s in message.ended_s if at_s is not None), default=-math.inf), "runs")
            case WorkerJoined():
                self.workers[message.worker] = message
                self.left_workers.pop(message.worker, None)
                self.histories.join(message)
                self.worker_names[message.worker] = message.name
                self._saw(message.at_s, "workers")
            case WorkerLeft():
                self.workers.pop(message.worker, None)
                self.samples.pop(message.worker, None)
                self.left_workers[message.worker] = message
                self.histories.leave(message)
                self.running.leave(message.worker, message.at_s)
                self.versions["running"] += 1
                self._saw(message.at_s, "workers")
            case protocol.DeviceTimes():
                self.device_times.add(message, n_lost=self.lost_events, first_row=self._gap_row)
                self.versions["tasks"] += 1
            case GpuDevices() | GpuProcesses() | GpuSamples():
                self.gpus.apply(message)
                self._saw(message.at_s, "gpus")
            case Errors():
                self._add_errors(message)
            case Log():
                self.logs.add(message)
                self._saw(message.at_s, "logs")
            case Running():
                self.running.set(message)
                self._saw(message.at_s, "running")
            case EngineSamples() | HostSamples():
                self.engine.add(message)
                self._saw(message.at_s, "engine")
            case Life():
                if message.event == "closing":
                    self.end("the cluster was closed")
                self._saw(message.at_s, "life")
            case Hello():
                self._greet(message)
            case Settings():
                self._rename(message.name)
            case Position():
                self.next_frame = message.next
                self.is_loading = False
            case Dropped():
                self.dropped_frames += message.last - message.first + 1
                self.versions["life"] += 1
            case Refused():
                self.refuse(message.reason)

    def _greet(self, hello: Hello) -> None:
        """Begin, or go on if this is the log that we know: subscribers give `next_frame` and `log_id` when they call again."""
        if not (self.next_frame and self.log_id and hello.log_id == self.log_id):
            self._begin(hello)
            self.generation += 1
            self.versions.update(
                (
                    "tasks",
                    "layers",
                    "progress",
                    "workers",
                    "samples",
                    "gpus",
                    "errors",
                    "life",
                    "runs",
                    "logs",
                    "running",
                    "engine",
                )
            )
        self.set_state("live")

    def _rename(self, name: str) -> None:
        if name != self.name:
            self.name = name
            self.versions["life"] += 1

    def set_state(self, state: str) -> None:
        """Say whether the cluster is ``"live"``, being ``"reconnecting"`` to, or ``"ended"``."""
        if state != self.state:
            self.state = state
            self.versions["life"] += 1

    def end(self, reason: str) -> None:
        """Note that the cluster is gone; what it told stays."""
        if self.state != "ended":
            self.ended_reason = reason
        self.set_state("ended")

    def refuse(self, reason: str) -> None:
        """Note that the cluster runs, and that we can't read it."""
        self.ended_reason = reason
        self.set_state("refused")

    def set_recorded(self, damage: str) -> None:
        """Note that this was a recording, which has been read as far as it goes; `damage` says why not further."""
        self.ended_reason = damage
        self.set_state("recording")

    def hear(self, now_s: float) -> None:
        """Note that the cluster was heard at `now_s`, a monotonic clock of the caller's."""
        self.heard_at_s = now_s

    def skip_message(self) -> None:
        """Note that a message could not be read."""
        self.unreadable_messages += 1
        self.versions["life"] += 1

    def _saw(self, at_s: float, part: str) -> None:
        self.last_at_s = max(self.last_at_s, at_s)
        self.versions[part] += 1

    def add_events(self, messages: Sequence[TaskEvents], running: tuple[Running, int] | None = None) -> None:
        """Take task events into account: messages of the log each of which goes on where the one before ends.

        Several at once cost about as much as one: what a message costs besides its rows is paid once.

        Parameters
        ----------
        running
            The last that was told of running tasks since the first of the messages, and the number of the event before which it
            came: what ended before it says nothing of what runs since.
        """
        if running is not None:
            self.apply(running[0])
        first, n_rows = messages[0].first, sum(map(len, messages))
        known = self.tasks.next_row + self.lost_events
        skip = max(known - first, 0)
        if skip >= n_rows:
            return
        values, n_new = self._with_times(values_of(messages, skip)), n_rows - skip
        if first > known:
            self.lost_events += first - known
            self._gap_row = self.tasks.next_row
        since = max(self._gap_row - self.tasks.first_row, 0)
        columns = event_columns(values, n_new) | task_waits.waits_of(values, n_new, self.tasks["stop_s"][since:])
        index = list(chain.from_iterable(message.index for message in messages))[skip:]
        sums = event_sums(columns)  # what may fail comes before the rows are there: see `Watched.settle`
        self.tasks.extend(columns, index)
        self.sums.take(sums)
        since = max(running[1] - first - skip, 0) if running is not None else 0
        if self.running.end({name: columns[name][since:] for name in ENDING_COLUMNS}, index[since:]):
            self.versions["running"] += 1
        self._saw(self.tasks.stop_s, "tasks")

    def _with_times(self, values: Values) -> Values:
        """Return columns in which what no clock gives is the cluster's start, or no time at all: later folds take it for granted."""
        for name, instead in (("start_s", self.started_at_s), ("duration_s", 0.0)):
            is_time = np.isfinite(values[name])
            if not is_time.all():
                values = values | {name: np.where(is_time, values[name], instead)}
        return values

    def _set_layers(self, message: Layers) -> None:
        self._restore(message.ids)
        self.tasks.names.add(message.ids, message.names)
        prefixes, tuples = message.prefixes or [""] * len(message.ids), message.tuples or [0] * len(message.ids)
        rows = zip(
            message.ids, message.names, message.totals, message.origins, prefixes, map(bool, tuples), strict=True
        )
        for row in rows:
            layer = Layer(*row)
            known = self.layers.get(layer.id)
            added = layer.total - (known.total if known else 0)
            self._total += added
            if layer.id in self.progress:
                self._known_total += added
            self._keep_layer(layer)
        self.versions["layers"] += 1
        if len(self.layers) > self._fold_at:
            self._fold_old_layers()

    def _keep_layer(self, layer: Layer) -> None:
        self.layers[layer.id] = layer
        self.layer_table.set_layer(layer)
        if layer.id in self.progress:
            self.layer_table.set_counts(layer.id, self.progress[layer.id])

    def _fold_old_layers(self) -> None:
        """Count the oldest layers that are done together: those of no run that is kept, then those of the oldest runs."""
        excess = len(self.layers) - MAX_LAYERS
        done = [layer for layer in self.layers if layer != OLDER and self._is_done(layer)]
        folded = [layer for layer in done if self.runs.of_layer(layer) is None][:excess]
        folded += self.runs.forget_oldest(set(done), excess - len(folded))
        for layer in folded:
            self.older.add(self.layers.pop(layer), self.progress.pop(layer))
        self._fold_at = len(self.layers) + AT_ONCE
        if folded:
            self.sums.layers.fold(self.layers, max(folded), OLDER)
            self.durations.fold(self.layers, max(folded), OLDER)
            self.tasks.finder.fold(folded)
            self.held.forget(folded)
            self.layer_table.keep(self.layers)
            self._show_older()

    def _is_done(self, layer: int) -> bool:
        """Tell whether no task of a layer is under way, and none of their results is held."""
        counts = self.progress.get(layer)
        return counts is not None and not any(counts[: STATES.index("released")]) and not self.held.now.get(layer)

    def _restore(self, layers: Sequence[int]) -> None:
        """Keep layers by themselves again that were folded, as the cluster tells of them again."""
        restored = self.older.restore(layers) if self.older.count else []
        for layer, counts in restored:
            self.progress[layer.id] = counts
            self._keep_layer(layer)
        if restored:
            self._show_older()

    def _show_older(self) -> None:
        if OLDER not in self.layers:
            self.layers = {OLDER: self.older.layer} | self.layers
        self.progress[OLDER] = self.older.counts
        self._keep_layer(self.older.layer)
        self.versions.update(("layers", "progress", "runs"))

    def _set_progress(self, message: Progress) -> None:
        self._restore(message.layers)
        none = (0,) * len(STATES)
        rows = zip(*(getattr(message, state) for state in STATES), strict=True)
        for layer, counts in zip(message.layers, rows, strict=True):
            known = self.progress.get(layer)
            if known is None and layer in self.layers:
                self._known_total += self.layers[layer].total
            self._sums = [sum_ + new - old for sum_, new, old in zip(self._sums, counts, known or none, strict=True)]
            self.progress[layer] = counts
            self.layer_table.set_counts(layer, counts)
        self.held.add(message)
        self.versions["progress"] += 1
        self.last_at_s = max(self.last_at_s, message.at_s)

    def _add_samples(self, message: WorkerSamples) -> None:
        count = len(message.workers)
        rows = zip(
            message.cpu_percent,
            message.rss_bytes,
            message.managed_bytes,
            message.shared_bytes,
            message.spilled_bytes,
            message.executing,
            message.queued,
            message.own_bytes or [0] * count,
            unmanaged_column(message),
            message.pressure or [0] * count,
            *(getattr(message, name) or [0] * count for name in _DEVICE_COLUMNS),
            strict=True,
        )
        for worker, row in zip(message.workers, rows, strict=True):
            if worker in self.workers:
                self.samples[worker] = WorkerSample(message.at_s, *row)
        totals = {
            name: np.array([sum(getattr(sample, name) for sample in self.samples.values())], float)
            for name in _HISTORY_DTYPES
            if name != "at_s"
        }
        self.histories.add(message.at_s, message.workers, self.samples)
        at_s = message.at_s - self.started_at_s
        self.memory.add(at_s, message.workers, self.samples, self.workers, self.held.now)
        self.history.extend(totals | {"at_s": np.array([message.at_s])})
        self._saw(message.at_s, "samples")
