"""What the head writes down: from the runtime's messages to the recorder's rows. Decides nothing, and never raises."""

from __future__ import annotations

import functools
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec
from glassloom_metrics import protocol
from glassloom_metrics.protocol import (
    Action,
    EngineSamples,
    GpuDevices,
    GpuProcesses,
    GpuSamples,
    HostSamples,
    Life,
    Log,
    Running,
    Settings,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
    unmanaged_bytes,
)
from glassloom_metrics.recorder import Recorder

from glassloom.graph.keys import key_text
from glassloom.graph.run_info import RunInfo
from glassloom.head.cluster_log import write_log
from glassloom.head.connections import WorkerConnection
from glassloom.head.device_rows import DeviceRows
from glassloom.protocol import messages
from glassloom.protocol.clock import Clock
from glassloom.protocol.failure import Failure
from glassloom.protocol.finished import FinishedTasks
from glassloom.protocol.options import WorkerOptions
from glassloom.sampling.process import ProcessSampler
from glassloom.sampling.profile_writer import ProfileWriter
from glassloom.sampling.progress import N_KEPT, forget_old_layers, note_layers, progress_counts
from glassloom.sampling.runs import RunTable
from glassloom.sampling.task_rows import add_finished, attempt_columns
from glassloom.scheduler import DATA_LAYER, NO_WORKER, Scheduler, TaskSlice, TaskState, WorkerState
from glassloom.store.device_account import DeviceAccount
from glassloom.store.segment import location_bytes

_NO_LAYER = -1
_KEPT_FLUSHES = 10
"""Through how many flushes finished tasks are kept, of which a worker may tell a sample yet."""
_Batches = dict[int, list[Sequence[TaskState | TaskSlice | None]]]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _never_raises(method: _Method) -> _Method:
    """Let a method of `MetricsWriter` lose its metric rather than raise: no metric is worth a computation."""

    @functools.wraps(method)
    def guarded(self: MetricsWriter, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception:  # whatever it is: a fault in metrics must not end the cluster
            self.note_loss(method.__name__, traceback.format_exc())
            return None

    return guarded  # type: ignore[return-value]


class MetricsWriter:
    """Keeps the recorder of one cluster. Times of messages are monotonic; those of rows are the clock's."""

    def __init__(self, recorder: Recorder, scheduler: Scheduler, clock: Clock) -> None:
        self._recorder = recorder
        self._scheduler = scheduler
        self._clock = clock
        self._sampler = ProcessSampler()
        self._runs = RunTable(recorder)
        self._profile = ProfileWriter(recorder, clock.epoch_s)
        self._just_finished: deque[_Batches] = deque([defaultdict(list)], maxlen=_KEPT_FLUSHES)
        """By worker: what has finished since the last flush, and between those before; the newest first."""
        self._device_rows = DeviceRows()
        self._lost: set[str] = set()
        self._told_running = False
        self._settings: Settings | None = None

    @_never_raises
    def life(self, event: str) -> None:
        """Something happened to the cluster as a whole."""
        self._profile.flush(self._clock.now_s(), at_once=True)
        self._recorder.record(Life(self._clock.now_s(), event))

    @_never_raises
    def settings(self, message: Settings) -> None:
        """Write how the cluster is set up, if that differs from what was written last."""
        if self._settings is None or msgspec.structs.replace(message, at_s=self._settings.at_s) != self._settings:
            self._settings = message
            self._recorder.record(message)

    @_never_raises
    def rename(self, name: str) -> None:
        """Tell those who begin to listen that the cluster has another name."""
        self._recorder.rename(name)

    def begin_run(self, info: RunInfo) -> int:
        """A client begins a run; return its number."""
        return self._runs.begin(info, self._clock.now_s())

    def resume_run(self, number: int) -> bool:
        """More tasks are about to be handed in to a run; return whether it is still known."""
        return self._runs.resume(number)

    def end_run(self, number: int, outcome: str) -> None:
        """A run that has no tasks of its own is over."""
        self._runs.end(number, outcome, self._clock.now_s())

    def log(self, level: str, text: str, worker: int = -1) -> None:
        """Write a line for people, into the cluster's log too."""
        write_log(f"{level}: {text}")
        self._record_log(level, text, worker)

    @_never_raises
    def _record_log(self, level: str, text: str, worker: int) -> None:
        self._recorder.record(Log(self._clock.now_s(), worker, level, text))

    @_never_raises
    def task_output(self, worker: WorkerState, message: messages.TaskOutput) -> None:
        """Tasks have printed or logged; the worker has written it to the cluster's log by itself."""
        tasks = {
            number: next(self._names_on(worker, number), _NO_TASK) for number in set(message.numbers) if number >= 0
        }
        rows = zip(message.numbers, message.streams, message.texts, message.at_s, strict=True)
        for number, stream, text, at_s in rows:
            layer, index = tasks.get(number, _NO_TASK)
            self._recorder.record(Log(self._clock.epoch_s + at_s, worker.number, stream, text, layer, index))

    def note_loss(self, what: str, text: str) -> None:
        """Metrics of a kind can't be written: the log says so, once a kind."""
        if what not in self._lost:
            self._lost.add(what)
            write_log(f"error: metrics ({what}) are lost:\n{text}")

    @_never_raises
    def worker_joined(self, options: WorkerOptions, ready: messages.WorkerReady) -> None:
        """A worker is there."""
        at_s, number, limit_bytes = self._clock.now_s(), options.number, options.memory.limit_bytes
        device = ready.device
        if device is not None:
            self._device_rows.add_worker(number)
        self._recorder.record(
            WorkerJoined(
                at_s,
                number,
                options.name,
                ready.pid,
                options.nthreads,
                limit_bytes,
                [] if device is None else [device.uuid],
                ready.own_bytes,
                [] if device is None else [device.name],
                [] if device is None else [device.total_bytes],
                [] if device is None else [device.limit_bytes],
            )
        )

    @_never_raises
    def worker_left(self, number: int, reason: str) -> None:
        """A worker is gone."""
        self._recorder.record(WorkerLeft(self._clock.now_s(), number, reason))
        self._profile.worker_left(number)
        self._device_rows.remove_worker(number)

    @_never_raises
    def finished(self, worker: WorkerState, finished: FinishedTasks) -> None:
        """Tasks were run. Call this before the scheduler learns of it: it may forget them then."""
        stopping = worker.stopping
        numbers = iter(finished.numbers)
        items = []
        for item in self._scheduler.items_of(finished.numbers):
            number = next(numbers)
            if isinstance(item, TaskSlice):
                deque(islice(numbers, len(item) - 1), maxlen=0)
            items.append(item or stopping.get(number))  # None: reported twice, and recorded with the first report
        self._just_finished[0][worker.number].append(items)
        if worker.number in self._device_rows:
            starts_s = finished.times.starts_s
            self._device_rows.note_rows(worker.number, items, finished.numbers, starts_s, self._recorder.rows)
        add_finished(
            self._recorder,
            items,
            finished.times.starts_s,
            epoch_s=self._clock.epoch_s,
            worker=worker.number,
            lane=finished.lanes,
            duration_s=finished.durations_s,
            nbytes=finished.nbytes,
            cpu_s=finished.cpu_s,
            fetch_s=finished.fetch_s,
            deserialise_s=finished.deserialise_s,
        )

    @_never_raises
    def failed(self, task: TaskState, worker: int, message: messages.Failed) -> None:
        """A task raised, for good or not."""
        row, layer = self._recorder.rows, task.layer.number
        self._device_rows.note_row(worker, message.number, message.start_s, row=row, layer=layer)
        self._recorder.add_task(
            task.index,
            worker=worker,
            lane=message.lane,
            start_s=self._clock.epoch_s + message.start_s,
            stop_s=self._clock.epoch_s + message.stop_s,
            ok=False,
            cpu_s=message.cpu_s,
            fetch_s=message.fetch_s,
            deserialise_s=message.deserialise_s,
            **attempt_columns(task, message.start_s, self._recorder.rows),
        )

    @_never_raises
    def error(self, task: TaskState, error: Failure, worker: int = NO_WORKER) -> None:
        """A task has failed for good; on no worker if the scheduler gave it up."""
        self._recorder.add_error(
            self._clock.now_s(),
            layer=task.layer.number,
            exception=error.exception,
            message=error.message,
            traceback=error.traceback,
            worker=worker,
            origin=task.origin,
            key=key_text(task.key),
        )

    @_never_raises
    def published(self, task: TaskState, worker: int, message: messages.Published) -> None:
        """A result was put where every process can reach it, or could not be."""
        nbytes = location_bytes(message.location or b"")
        self._event(Action.SERIALISE, task, worker, message.start_s, message.stop_s, nbytes)

    @_never_raises
    def stored(self, worker: int, message: messages.StoreEvents) -> None:
        """Results went to disk, or came back, or were read where another worker has put them."""
        rows = zip(message.actions, message.numbers, message.starts_s, message.stops_s, message.nbytes, strict=True)
        for action, number, start_s, stop_s, nbytes in rows:
            task = self._scheduler.by_number.get(number)
            is_own = task is not None and action == Action.TRANSFER and task.producer == worker
            if task is not None and not is_own:
                self._event(Action(action), task, worker, start_s, stop_s, nbytes)

    @_never_raises
    def device_times(self, worker: int, message: messages.DeviceTimes) -> None:
        """A worker tells how long tasks took on its device, after it has told that they have ended."""
        self._device_rows.note_times(worker, message)

    @_never_raises
    def profile(self, worker: WorkerState, message: messages.ProfileSamples) -> None:
        """A worker tells what its tasks were doing, before it tells that they have ended."""
        tasks = message.taken.tasks
        layers = {number: self._layer_of(worker, number) for number in set(tasks)}
        self._profile.add(worker.number, message.taken, [layers[number] for number in tasks])

    def _layer_of(self, worker: WorkerState, number: int) -> int:
        """Return the layer of a task that a worker runs, or that it has just told to have ended; -1: it isn't known."""
        for layer, _ in self._names_on(worker, number):
            return layer
        for batches in self._just_finished:
            for item in chain.from_iterable(reversed(batches.get(worker.number, []))):
                if isinstance(item, TaskSlice):
                    if item.start <= number - item.block.first < item.stop:
                        return item.block.layer.number
                elif item is not None and item.number == number:
                    return item.layer.number
        return _NO_LAYER

    @_never_raises
    def samples(self, workers: Iterable[WorkerConnection]) -> None:
        """Write the latest samples of those workers that have sent one."""
        rows = [(worker, worker.sample) for worker in workers if worker.sample is not None]
        if rows:
            samples = [sample for _, sample in rows]
            self._recorder.record(
                WorkerSamples(
                    self._clock.now_s(),
                    [worker.number for worker, _ in rows],
                    [sample.cpu_percent for sample in samples],
                    [sample.rss_bytes for sample in samples],
                    [sample.managed_bytes for sample in samples],
                    [worker.shared_bytes for worker, _ in rows],
                    [sample.spilled_bytes for sample in samples],
                    [sample.executing for sample in samples],
                    [sample.queued for sample in samples],
                    [sample.own_bytes for sample in samples],
                    [unmanaged_bytes(sample.own_bytes, sample.managed_bytes) for sample in samples],
                    [int(worker.pressure) for worker, _ in rows],
                    *_device_columns(samples),
                )
            )

    @_never_raises
    def running(self, workers: Iterable[WorkerConnection]) -> None:
        """Write which tasks run, by the workers' latest samples: those that haven't been told to have ended since."""
        rows = [
            (worker.number, lane, layer, index, self._clock.epoch_s + started_s)
            for worker in workers
            for number, lane, started_s in (worker.sample.running if worker.sample is not None else ())
            for layer, index in self._names_on(worker.state, number)
        ]
        if rows or self._told_running:
            columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in range(5))
            self._recorder.record(Running(self._clock.now_s(), *columns))
        self._told_running = bool(rows)

    def _names_on(self, worker: WorkerState, number: int) -> Iterator[tuple[int, str]]:
        """Yield layer and index of a task if a worker runs it; also of one that nobody wants any more."""
        for item in self._scheduler.items_of([number]):
            if isinstance(item, TaskSlice):
                if item.is_running_on(worker):
                    yield item.block.layer.number, item.indices[0]
            elif (item is not None and item.worker is worker) or number in worker.stopping:
                task = item or worker.stopping[number]
                yield task.layer.number, task.index

    @_never_raises
    def host(self, sample: HostSamples) -> None:
        """Write what was measured of the machine."""
        self._recorder.record(sample)

    @_never_raises
    def engine(self, loop_lag_s: float, n_subscribers: int) -> None:
        """Write what the head takes: it was late by so much at most since the last time, and so many watch it."""
        self._recorder.record(
            EngineSamples(
                self._clock.now_s(),
                loop_lag_s,
                self._sampler.cpu_percent(),
                self._sampler.rss_bytes(),
                len(self._recorder),
                self._recorder.memory_bytes,
                self._recorder.disk_bytes,
                n_subscribers,
            )
        )

    @_never_raises
    def gpus(self, message: GpuDevices | GpuSamples | GpuProcesses) -> None:
        """Write which GPUs there are, what was measured of them, or which processes use them."""
        self._recorder.record(message)

    @_never_raises
    def flush(self) -> None:
        """Seal what has come in since the last time, and forget old layers."""
        self._runs.note_counts(self._scheduler, self._clock.now_s())
        note_layers(self._scheduler, self._recorder)
        progress_counts(self._scheduler, self._recorder)
        forget_old_layers(self._scheduler, N_KEPT)
        self._profile.flush(self._clock.now_s())
        self._just_finished.appendleft(defaultdict(list))
        self._recorder.flush(self._clock.now_s())
        device_times = self._device_rows.take(self._clock.now_s())
        if device_times is not None:  # after the rows that it tells of
            self._recorder.record(device_times)

    def _event(self, action: Action, task: TaskState, worker: int, start_s: float, stop_s: float, nbytes: int) -> None:
        """Add a row of what is no run of a task. What clients have put on the cluster is in no layer, and has no rows."""
        if task.layer.number == DATA_LAYER:
            return
        moved_from = task.producer if action is Action.TRANSFER and task.producer != NO_WORKER else protocol.NO_WORKER
        self._recorder.add_task(
            task.index,
            layer=task.layer.number,
            worker=worker,
            lane=_AUXILIARY_LANES[action],
            start_s=self._clock.epoch_s + start_s,
            stop_s=self._clock.epoch_s + stop_s,
            nbytes=nbytes,
            action=action,
            producer=moved_from,
        )


def _device_columns(samples: Sequence[messages.Sample]) -> list[list[int]]:
    """Return the columns of `WorkerSamples` that tell of devices: none if no worker has one, 0 for those without."""
    if not any(sample.device is not None for sample in samples):
        return []
    accounts = [sample.device or DeviceAccount() for sample in samples]
    return [
        [account.held_bytes for account in accounts],
        [account.used_bytes for account in accounts],
        [account.pool_bytes for account in accounts],
        [account.other_bytes for account in accounts],
        [account.moved_bytes for account in accounts],
    ]


_NO_TASK = (-1, "")
_AUXILIARY_LANES = {
    Action.SERIALISE: protocol.PUBLISH_LANE,
    Action.SPILL_WRITE: protocol.SPILL_LANE,
    Action.SPILL_READ: protocol.SPILL_LANE,
    Action.TRANSFER: protocol.TRANSFER_LANE,
    Action.DEVICE_TO_HOST: protocol.DEVICE_LANE,
    Action.HOST_TO_DEVICE: protocol.DEVICE_LANE,
}
