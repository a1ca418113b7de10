"""`WorkerReports`: what the head does for each message of a worker. One table has a handler for every type of message."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from glassloom.errors import SerialisationError
from glassloom.graph.keys import key_text
from glassloom.head.connections import ClientConnection, WorkerConnection
from glassloom.head.inline_results import MIN_BYTES, InlineResults
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.head.queries import ClientQueries
from glassloom.head.result_places import ResultPlaces
from glassloom.head.shared_results import SharedResults
from glassloom.head.task_history import TaskHistory
from glassloom.head.worker_logs import WorkerLogs
from glassloom.head.worker_pool import WorkerPool
from glassloom.protocol import failure, messages
from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.finished import FinishedTasks
from glassloom.scheduler import Scheduler
from glassloom.store.segment import Location

NO_REQUEST = -1
"""The request number of what no client has asked for."""


class WorkerReports:
    """Takes in workers' messages. Called in the head's event loop.

    Parameters
    ----------
    clients
        Those that print what tasks print.
    settle
        Lets the scheduler act on what it was told so far.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        worker_pool: WorkerPool,
        metrics_writer: MetricsWriter,
        queries: ClientQueries,
        history: TaskHistory,
        shared_results: SharedResults,
        inline_results: InlineResults,
        result_places: ResultPlaces,
        worker_logs: WorkerLogs,
        clients: Mapping[int, ClientConnection],
        settle: Callable[[], None],
    ) -> None:
        self._scheduler = scheduler
        self._metrics_writer = metrics_writer
        self._queries = queries
        self._history = history
        self._shared_results = shared_results
        self._inline_results = inline_results
        self._result_places = result_places
        self._worker_logs = worker_logs
        self._clients = clients
        self._settle = settle
        self._output_numbers = itertools.count()
        self._handlers: dict[type, Callable[[WorkerConnection, Any], None]] = {
            messages.WorkerReady: lambda worker, message: None,  # it has joined by that already
            messages.Finished: self._tasks_finished,
            messages.Failed: self._task_failed,
            messages.Published: self._result_published,
            messages.Recalled: lambda worker, message: scheduler.recalled(worker.number, message.numbers),
            messages.Seceded: lambda worker, message: scheduler.seceded(worker.number, message.number),
            messages.Rejoined: lambda worker, message: scheduler.rejoined(worker.number, message.number),
            messages.Sample: self._sampled,
            messages.MemoryPressure: worker_pool.note_pressure,
            messages.ResultsLost: self._results_lost,
            messages.SharedResultLost: lambda worker, message: self.shared_result_lost(
                message.number, message.location, message.reason
            ),
            messages.WorkerLog: self._log,
            messages.TaskOutput: self._task_output,
            messages.WorkerCrashed: self._crashed,
            messages.ProfileSamples: lambda worker, message: metrics_writer.profile(worker.state, message),
            messages.StoreEvents: self._stored,
            messages.DeviceTimes: lambda worker, message: metrics_writer.device_times(worker.number, message),
            messages.Invoked: self._invoked,
        }

    def take(self, worker: WorkerConnection, message: messages.FromWorker) -> None:
        """Take in a message."""
        self._handlers[type(message)](worker, message)

    # Tasks and results

    def _tasks_finished(self, worker: WorkerConnection, message: messages.Finished) -> None:
        finished = FinishedTasks(message)
        numbers, results = finished.numbers, finished.results
        self._history.finished(worker.options.name, finished)
        self._metrics_writer.finished(worker.state, finished)
        self._scheduler.finished(worker.number, numbers, finished.nbytes, finished.durations_s, results)
        if max(map(len, filter(None, results)), default=0) >= MIN_BYTES:
            for number, result in zip(numbers, results, strict=True):
                if result is not None and len(result) >= MIN_BYTES:
                    self._inline_results.add(self._scheduler.by_number.get(number))

    def _task_failed(self, worker: WorkerConnection, message: messages.Failed) -> None:
        number = worker.number
        task = self._scheduler.by_number.get(message.number)
        if task is None:
            self._scheduler.failed(number, message.number, message.failure)
            return
        self._metrics_writer.failed(task, number, message)
        error = msgspec.structs.replace(message.failure, key=key_text(task.key), origin=task.origin)
        if self._scheduler.failed(number, message.number, error):
            self._metrics_writer.error(task, error, number)

    def _result_published(self, worker: WorkerConnection, message: messages.Published) -> None:
        task = self._scheduler.by_number.get(message.number)
        if task is not None:
            self._metrics_writer.published(task, worker.number, message)
        if message.location is None:
            text = f"a result stays on worker {worker.options.name}: {message.reason}"
            self._metrics_writer.log("warning", text, worker.number)
            if task is not None:
                described = failure.own_failure(SerialisationError(message.reason))
                named = msgspec.structs.replace(described, key=key_text(task.key), origin=task.origin)
                self._queries.located(task, named)
        else:
            self._shared_results.add(message.location, worker)
        self._scheduler.published(worker.number, message.number, message.location)
        self._inline_results.add(task)

    def shared_result_lost(self, task_number: int | None, location: Location, reason: str) -> None:
        """A process couldn't read a result where every process reads it."""
        if task_number is not None and self._scheduler.shared_result_lost(task_number, location):
            self._metrics_writer.log("warning", f"a result can't be read any more: {reason}")
            self._settle()  # if it has failed now, clients hear of that before they hear where it isn't

    def _results_lost(self, worker: WorkerConnection, message: messages.ResultsLost) -> None:
        if self._scheduler.results_lost(worker.number, message.numbers):
            text = f"a result on worker {worker.options.name} is made again: {message.reason}"
            self._metrics_writer.log("warning", text, worker.number)

    def _stored(self, worker: WorkerConnection, message: messages.StoreEvents) -> None:
        self._metrics_writer.stored(worker.number, message)
        self._result_places.note(worker.number, message)

    # Workers

    @staticmethod
    def _sampled(worker: WorkerConnection, message: messages.Sample) -> None:
        worker.note_sample(message)

    @staticmethod
    def _crashed(worker: WorkerConnection, message: messages.WorkerCrashed) -> None:
        worker.ending = message.reason  # the loss of the worker, which follows, is logged with it

    def _log(self, worker: WorkerConnection, message: messages.WorkerLog) -> None:
        self._metrics_writer.log(message.level, f"worker {worker.options.name}: {message.text}", worker.number)

    def _task_output(self, worker: WorkerConnection, message: messages.TaskOutput) -> None:
        """Keep what tasks have printed, and pass it on to the clients that print it too."""
        self._worker_logs.add(worker.options.name, message)
        self._metrics_writer.task_output(worker.state, message)
        number = next(self._output_numbers)
        output = messages.ClientOutput(worker.options.name, message.streams, message.texts, number)
        for client in self._clients.values():
            client.show(output)

    def _invoked(self, worker: WorkerConnection, message: messages.Invoked) -> None:
        if message.request != NO_REQUEST:
            answer = message.failure if message.result is None else message.result
            if answer is not None:
                self._queries.invoked(message.request, worker.number, answer)
        elif message.failure is not None:
            text = f"worker {worker.options.name} couldn't be set up:\n{message.failure.traceback}"
            self._metrics_writer.log("error", text, worker.number)
            self._task_output(worker, messages.TaskOutput([-1], ["error"], [text], [monotonic_s()]))
