"""`AttachedMetrics`: from what a scheduler's plugin tells to the recorder's rows. Sends nothing, and has no clock."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec
from glassloom_metrics import protocol
from glassloom_metrics.gpu_messages import (
    NO_PARENT,
    NOT_SUPPORTED,
    UNREPORTED,
    GpuDevice,
    Reading,
    gpu_devices,
    gpu_samples,
)
from glassloom_metrics.protocol import (
    Action,
    EngineSamples,
    Log,
    Running,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
    unmanaged_bytes,
)
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.run_row import RunRow

from glassloom.distributed import metrics_batches as told
from glassloom.graph.keys import key_index, key_layer, key_text, layer_name

_PAUSED = 2
_MOST_LANES = 60_000
_MOST_RUNS = 1_000
_TOKEN_CHARS = 8
_ACTIONS = {"transfer": Action.TRANSFER, "disk-read": Action.SPILL_READ, "disk-write": Action.SPILL_WRITE}
_LANES = {
    Action.TRANSFER: protocol.TRANSFER_LANE,
    Action.SPILL_READ: protocol.SPILL_LANE,
    Action.SPILL_WRITE: protocol.SPILL_LANE,
}
_OPEN = 3
"""The first states of `recorder.STATES` are those of tasks that are under way."""


class AttachedMetrics:
    """Fills the recorder of a cluster of dask.distributed.

    The numbers of layers, runs and workers are those of the plugin's log, counted on where it begins another: workers are
    known by their addresses then.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._offset_s = 0.0
        self._layers: dict[int, tuple[int, str, bool]] = {}
        """By the plugin's number: ours, and what its keys have before the index, and whether they are tuples."""
        self._progress: dict[int, tuple[int, ...]] = {}
        """Of layers that have tasks under way, by our number."""
        self._runs: dict[int, int] = {}
        self._open_runs: dict[int, RunRow] = {}
        self._notes: OrderedDict[int, told.RunNote] = OrderedDict()
        self._workers: dict[int, int] = {}
        self._addresses: dict[str, int] = {}
        self._lanes: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self._rows: dict[int, told.WorkerRow] = {}
        """By our number, as the next one."""
        self._gpus: dict[int, told.WorkerRow] = {}
        self._traces: dict[tuple[int, str], str] = {}
        self._n_layers = self._n_runs = self._n_workers = 0
        self._told_running = False
        self.n_subscribers = 0

    @property
    def n_workers(self) -> int:
        """How many workers there are."""
        return len(self._addresses)

    def begin(self, offset_s: float) -> None:
        """The plugin begins another log. Its times and `offset_s` make ours."""
        self._offset_s = offset_s
        for number, counts in self._progress.items():
            self.recorder.set_progress(number, (0,) * _OPEN + counts[_OPEN:6], counts[6])
        for run in self._open_runs.values():
            self.recorder.set_run(run._replace(ended_s=run.started_s, outcome="cancelled"))
        for kept in (self._layers, self._progress, self._runs, self._open_runs, self._notes, self._workers):
            kept.clear()
        self._traces.clear()

    def snapshot(self, batch: told.Batch) -> None:
        """Take over how things stand."""
        addresses = {worker.address for worker in batch.joined}
        gone = [address for address in self._addresses if address not in addresses]
        for address in gone:
            self._left(batch.at_s, self._addresses[address], "it was gone when the scheduler could be read again")
        self.apply(batch)

    def apply(self, batch: told.Batch) -> None:
        """Take over what has happened."""
        for worker in batch.joined:
            self._joined(worker)
        for run in batch.runs:
            self._note_run(run)
        for layer in batch.layers:
            self._number(layer)
        for layer in batch.layers:
            self._note_layer(layer)
        for layer_number, *counts in batch.progress:
            if layer_number in self._layers:
                self._note_progress(self._layers[layer_number][0], tuple(counts))
        self._add_rows(batch.rows)
        for each in batch.events:
            event = told.event_of(each)
            if isinstance(event, told.Samples):
                self._samples(event)
            elif isinstance(event, told.Failed):
                self._failed(event)
            elif isinstance(event, told.Line):
                number = self._workers.get(event.worker, -1)
                self.recorder.record(Log(event.at_s + self._offset_s, number, event.level, event.text))
            elif isinstance(event, told.Left) and event.worker in self._workers:
                self._left(event.at_s, self._workers[event.worker], event.reason)

    # Runs and layers

    def _note_run(self, run: told.RunRow) -> None:
        if run.number not in self._runs:
            self._runs[run.number] = self._n_runs
            self._n_runs += 1
        if run.info is not None:
            self._notes[run.number] = run.info
            if len(self._notes) > _MOST_RUNS:
                self._notes.popitem(last=False)
        note = self._notes.get(run.number)
        names = ", ".join(layer_name(name) for name in run.names)
        row = RunRow(
            self._runs[run.number],
            run.kind,
            names if note is None else note.code,
            "" if note is None else note.notebook,
            "" if note is None else note.cell,
            f"process-{run.client}" if note is None else note.kernel,
            "" if note is None else note.origin,
            run.started_s + self._offset_s,
            None if run.ended_s is None else run.ended_s + self._offset_s,
            run.outcome,
            run.n_tasks,
            run.n_done,
            run.n_failed,
            0 if note is None else note.ordinal,
        )
        self._open_runs[row.id] = row
        if row.ended_s is not None:
            del self._open_runs[row.id]
        self.recorder.set_run(row)

    def _number(self, layer: told.LayerRow) -> None:
        if layer.number not in self._layers:
            self._layers[layer.number] = (self._n_layers, *form_of(layer.group, layer.key))
            self._n_layers += 1

    def _note_layer(self, layer: told.LayerRow) -> None:
        number, prefix, is_tuple = self._layers[layer.number]
        note = self._notes.get(layer.run)
        self.recorder.add_layer(
            number,
            layer_name(prefix),
            layer.total,
            "" if note is None else note.origins.get(prefix, note.origin),
            self._runs.get(layer.run, -1),
            [self._layers[other][0] for other in layer.inputs if other in self._layers],
            prefix=prefix,
            is_tuple=is_tuple,
        )

    def _note_progress(self, number: int, counts: tuple[int, ...]) -> None:
        self.recorder.set_progress(number, [max(count, 0) for count in counts[:6]], counts[6])
        self._progress[number] = counts
        if not any(counts[:_OPEN]):
            del self._progress[number]

    # Tasks

    def _add_rows(self, rows: Iterable[told.TaskRow]) -> None:
        """Add what has ended, in columns, and before each task what its worker did for it."""
        indices: list[str] = []
        columns: dict[str, list[float]] = defaultdict(list)

        def add(index: str, **values: float) -> None:
            indices.append(index)
            for name, value in values.items():
                columns[name].append(value)

        nan = float("nan")
        for row in rows:
            if row.layer not in self._layers or row.worker not in self._workers:
                continue
            layer, prefix, is_tuple = self._layers[row.layer]
            index, worker = index_of(row.key, prefix, is_tuple), self._workers[row.worker]
            for part in row.parts or ():
                action = _ACTIONS.get(part.action)
                if action is None:
                    continue
                source = self._layers.get(part.layer)
                add(
                    index if source is None else index_of(part.key, source[1], source[2]),
                    layer=layer if source is None else source[0],
                    worker=worker,
                    lane=_LANES[action],
                    action=action,
                    ok=1,
                    attempt=1,
                    start_s=part.start_s + self._offset_s,
                    duration_s=max(part.stop_s - part.start_s, 0.0),
                    ready_wait_s=nan,
                    sent_wait_s=nan,
                    nbytes=part.nbytes,
                    producer=self._workers.get(part.producer, protocol.NO_WORKER),
                )
            ready_s = 0.0 if row.queued_s is None or row.sent_s is None else max(row.sent_s - row.queued_s, 0.0)
            add(
                index,
                layer=layer,
                worker=worker,
                lane=self._lane(worker, row.thread),
                action=Action.COMPUTE,
                ok=int(row.is_ok),
                attempt=min(row.attempt, 255),
                start_s=row.start_s + self._offset_s,
                duration_s=max(row.stop_s - row.start_s, 0.0),
                ready_wait_s=nan if row.sent_s is None else ready_s,
                sent_wait_s=nan if row.sent_s is None else max(row.start_s - row.sent_s, 0.0),
                nbytes=row.nbytes,
                producer=protocol.NO_WORKER,
            )
        if indices:
            self.recorder.add_tasks(indices, **columns)

    def _lane(self, worker: int, thread: int) -> int:
        lanes = self._lanes[worker]
        return lanes.setdefault(thread, min(len(lanes), _MOST_LANES))

    def _failed(self, event: told.Failed) -> None:
        layer, prefix, _ = self._layers.get(event.layer, (-1, "", False))
        exception, _, message = event.exception.partition("(")
        text = event.traceback or self._traces.get((layer, exception), "")
        if event.traceback and len(self._traces) < _MOST_RUNS:
            self._traces.setdefault((layer, exception), event.traceback)
        note = next((note for note in self._notes.values() if prefix in note.origins), None)
        self.recorder.add_error(
            event.at_s + self._offset_s,
            layer=layer,
            exception=exception,
            message=message.removesuffix(")"),
            traceback=text,
            worker=self._workers.get(event.worker, -1),
            origin="" if note is None else note.origins[prefix],
            key=key_text(_key(event.key)),
        )

    # Workers

    def _joined(self, worker: told.WorkerRow) -> None:
        known = self._addresses.get(worker.address)
        number = self._n_workers if known is None else known
        self._workers[worker.number] = number
        if known is not None:
            return
        self._n_workers += 1
        self._addresses[worker.address] = number
        self._rows[number] = worker
        if worker.gpu is not None:
            self._gpus[number] = worker
            self._announce_gpus(worker.at_s)
        self.recorder.record(
            WorkerJoined(
                worker.at_s + self._offset_s,
                number,
                worker.name if worker.name == worker.address else f"{worker.name} {worker.address}",
                0,
                worker.nthreads,
                worker.memory_limit_bytes or None,
                [] if worker.gpu is None else [_uuid(worker)],
            )
        )

    def _left(self, at_s: float, number: int, reason: str) -> None:
        self.recorder.record(WorkerLeft(at_s + self._offset_s, number, reason))
        self._addresses = {address: each for address, each in self._addresses.items() if each != number}
        self._lanes.pop(number, None)
        self._rows.pop(number, None)
        if self._gpus.pop(number, None) is not None:
            self._announce_gpus(at_s)

    def all_left(self, at_s: float, reason: str) -> None:
        """The cluster has gone, at our time."""
        for number in list(self._addresses.values()):
            self._left(at_s - self._offset_s, number, reason)

    def _samples(self, event: told.Samples) -> None:
        at_s = event.at_s + self._offset_s
        rows = [(self._workers[row.worker], row) for row in event.workers if row.worker in self._workers]
        if rows:
            samples = [row for _, row in rows]
            self.recorder.record(
                WorkerSamples(
                    at_s,
                    [number for number, _ in rows],
                    [row.cpu_percent for row in samples],
                    [row.rss_bytes for row in samples],
                    [row.managed_bytes for row in samples],
                    [0] * len(rows),
                    [row.spilled_bytes for row in samples],
                    [row.executing for row in samples],
                    [row.queued for row in samples],
                    [row.rss_bytes for row in samples],
                    [unmanaged_bytes(row.rss_bytes, row.managed_bytes) for row in samples],
                    [_PAUSED if row.is_paused else 0 for row in samples],
                )
            )
            self._gpu_samples(at_s, rows)
        self._running(at_s, event.running)
        recorder = self.recorder
        sizes = len(recorder), recorder.memory_bytes, recorder.disk_bytes, self.n_subscribers
        recorder.record(EngineSamples(at_s, event.late_s, event.cpu_percent, event.rss_bytes, *sizes))

    def _running(self, at_s: float, tasks: list[told.RunningRow]) -> None:
        rows = []
        lanes: defaultdict[int, int] = defaultdict(int)
        for task in tasks:
            worker, layer = self._workers.get(task.worker), self._layers.get(task.layer)
            started_s = task.started_s + self._offset_s
            if worker is not None and layer is not None and at_s - started_s >= protocol.LEAST_RUNNING_S:
                rows.append((worker, lanes[worker], layer[0], index_of(task.key, layer[1], layer[2]), started_s))
                lanes[worker] += 1
        if rows or self._told_running:
            columns: Any = map(list, zip(*rows, strict=True)) if rows else ([] for _ in range(5))
            self.recorder.record(Running(at_s, *columns))
        self._told_running = bool(rows)

    # GPUs: what dask.distributed's workers tell of theirs

    def _announce_gpus(self, at_s: float) -> None:
        devices = [
            GpuDevice(
                number,
                _uuid(worker),
                worker.gpu or "GPU",
                place,
                NO_PARENT,
                worker.gpu_bytes if worker.gpu_bytes >= 0 else NOT_SUPPORTED,
                UNREPORTED,
                UNREPORTED,
                UNREPORTED,
                UNREPORTED,
                UNREPORTED,
                UNREPORTED,
                "ok",
                worker.at_s + self._offset_s,
                "",
            )
            for place, (number, worker) in enumerate(self._gpus.items())
        ]
        self.recorder.record(gpu_devices(at_s + self._offset_s, "", "", devices))

    def _gpu_samples(self, at_s: float, rows: list[tuple[int, told.Sample]]) -> None:
        readings: dict[int, dict[str, Reading]] = {}
        for number, row in rows:
            if row.gpu is None:
                continue
            if number not in self._gpus:  # its worker didn't know when it came
                self._gpus[number] = self._rows[number]._replace(gpu="GPU")
                self._announce_gpus(at_s - self._offset_s)
            names = ("utilization_percent", "memory_used_bytes", "pool_used_bytes", "pool_reserved_bytes")
            values = (*row.gpu[:2], *row.pool[:2])
            readings[number] = {
                name: UNREPORTED if value is None else value for name, value in zip(names, values, strict=False)
            }
        if readings:
            self.recorder.record(gpu_samples(at_s, readings))


def _uuid(worker: told.WorkerRow) -> str:
    """Return what stands for a GPU of which only its worker is known."""
    return f"{worker.address} GPU"


def _key(key: Any) -> Any:
    """Return a key as it was: on the way its tuples became lists."""
    return tuple([_key(part) for part in key]) if isinstance(key, (list, tuple)) else key


def form_of(group: str, key: Any) -> tuple[str, bool]:
    """Return what the keys of a layer have before the index, and whether they are tuples.

    >>> form_of("sum-3f2a", ["sum-3f2a", 0]), form_of("inc", "inc-91bc"), form_of("x", None)
    (('sum-3f2a', True), ('inc', False), ('x', True))
    """
    if key is None or isinstance(key, (list, tuple)):
        return str(key[0]) if key else group, True
    if not isinstance(key, str):
        return str(key), False
    prefix = key_layer(key)  # a group's name may lack words at the end
    is_token = len(key) - len(prefix) > _TOKEN_CHARS
    return (group if key.startswith(f"{group}-") and not is_token or key == group else prefix), False


def index_of(key: Any, prefix: str, is_tuple: bool) -> str:
    """Return what tells a key from others of its layer; all of it, if it isn't like them.

    >>> index_of(["sum-3f2a", 0], "sum-3f2a", True), index_of("inc-91bc", "inc", False), index_of(7, "7", False)
    ('0', '91bc', '')
    """
    if is_tuple and isinstance(key, (list, tuple)) and key and key[0] == prefix:
        return key_index(_key(key))
    if not is_tuple and not isinstance(key, (list, tuple)):
        text = str(key)
        if text == prefix:
            return ""
        if text.startswith(f"{prefix}-"):
            return text[len(prefix) + 1 :]
    return repr(_key(key))


UNREADABLE = (msgspec.DecodeError, ValueError, TypeError, OverflowError, IndexError)
"""What a batch raises that isn't as this version knows them."""
