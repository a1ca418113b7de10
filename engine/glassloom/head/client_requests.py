"""`ClientRequests`: what the head does for each message of a client. One table has a handler for every type of message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from glassloom.head.call_cache import CallCache
from glassloom.head.cancellation import cancel_everything, cancel_tasks, retry_tasks
from glassloom.head.client_runs import ClientRuns
from glassloom.head.connections import ClientConnection
from glassloom.head.coordinator import Coordinator
from glassloom.head.inline_results import InlineResults
from glassloom.head.inspection import HeadSnapshot, inspect_for
from glassloom.head.queries import ClientQueries
from glassloom.head.shared_results import SharedResults
from glassloom.head.story import tell_story
from glassloom.head.submission import note_calls, submit_graph
from glassloom.head.supervised_tasks import SupervisedTasks
from glassloom.head.task_history import TaskHistory
from glassloom.head.worker_logs import WorkerLogs
from glassloom.head.worker_pool import WorkerPool
from glassloom.protocol import messages
from glassloom.protocol.options import HeadOptions
from glassloom.scheduler import Adaptive, Scheduler
from glassloom.store.segment import Location

HEAD_ITSELF = object()
"""The head as the scheduler's client: it wants what was fired and forgotten, until it is done."""


class ClientRequests:
    """Carries out clients' messages. Called in the head's event loop.

    Parameters
    ----------
    setups
        What every new worker calls first, by name; pickled.
    settle
        Lets the scheduler act on what it was told so far.
    shared_result_lost
        Called with a task's number, where its result couldn't be read, and why.
    end
        Ends the cluster for a reason.
    """

    def __init__(
        self,
        options: HeadOptions,
        scheduler: Scheduler,
        *,
        call_cache: CallCache,
        client_runs: ClientRuns,
        queries: ClientQueries,
        history: TaskHistory,
        coordinator: Coordinator,
        worker_pool: WorkerPool,
        worker_logs: WorkerLogs,
        shared_results: SharedResults,
        inline_results: InlineResults,
        setups: dict[str, bytes],
        clients: Mapping[int, ClientConnection],
        tasks: SupervisedTasks,
        now_s: Callable[[], float],
        settle: Callable[[], None],
        shared_result_lost: Callable[[int | None, Location, str], None],
        end: Callable[[str], None],
    ) -> None:
        self._options = options
        self._scheduler = scheduler
        self._call_cache = call_cache
        self._client_runs = client_runs
        self._queries = queries
        self._history = history
        self._coordinator = coordinator
        self._worker_pool = worker_pool
        self._worker_logs = worker_logs
        self._shared_results = shared_results
        self._inline_results = inline_results
        self._setups = setups
        self._clients = clients
        self._tasks = tasks
        self._now_s = now_s
        self._settle = settle
        self._end = end
        self._handlers: dict[type, Callable[[ClientConnection, Any], None]] = {
            messages.Submit: self._submit,
            messages.DefineCall: self._note_calls,
            messages.ForgetCalls: self._note_calls,
            messages.Release: lambda client, message: scheduler.release(client, message.keys),
            messages.Cancel: lambda client, message: cancel_tasks(scheduler, client, message),
            messages.CancelAll: self._cancel_all,
            messages.Retry: lambda client, message: retry_tasks(scheduler, client, message.keys),
            messages.Scatter: self._scatter,
            messages.Locate: queries.locate,
            messages.Ping: lambda client, message: client.send(messages.Ack(message.request)),
            messages.GetInfo: lambda client, message: queries.inform(client, message, worker_pool),
            messages.GetWorkerLogs: self._get_worker_logs,
            messages.RunOnWorkers: self._run_on_workers,
            messages.RunOnHead: self._run_on_head,
            messages.Retire: self._retire,
            messages.BeginRun: client_runs.note,
            messages.Scale: self._scale,
            messages.Adapt: self._adapt,
            messages.Restart: self._restart,
            messages.FireAndForget: lambda client, message: scheduler.want(HEAD_ITSELF, message.keys),
            messages.Coordinate: self._coordinate,
            messages.Withdraw: self._withdraw,
            messages.Claim: self._claim,
            messages.Attach: lambda client, message: scheduler.want(client, message.keys),
            messages.ReportLost: lambda client, message: shared_result_lost(
                scheduler.number_of(message.key), message.location, message.reason
            ),
            messages.WhoHas: queries.tell_holdings,
            messages.GetTaskStates: queries.tell_states,
            messages.GetProcessing: lambda client, message: queries.tell_processing(client, message, worker_pool),
            messages.GetStory: self._get_story,
            messages.Shutdown: lambda client, message: end("shut down by its client"),
        }

    def handle(self, client: ClientConnection, message: messages.FromClient) -> None:
        """Carry out a message."""
        self._handlers[type(message)](client, message)

    def send_coordination_replies(self) -> None:
        """Carry out what the coordinator has decided."""
        decisions = self._coordinator.take_decisions()
        for kept in decisions.keep:
            self._scheduler.want(kept, kept.payload.keys)
        for kept in decisions.release:
            self._scheduler.release(kept, kept.payload.keys)
        for asker, request, outcome in decisions.answers:
            asker.send(messages.CoordinationReply(request, outcome))

    # Tasks and results

    def _submit(self, client: ClientConnection, message: messages.Submit) -> None:
        submit_graph(self._scheduler, self._call_cache, self._client_runs, self._options.resources, client, message)
        self._history.submitted(client.number, message.keys)

    def _note_calls(self, client: ClientConnection, message: messages.DefineCall | messages.ForgetCalls) -> None:
        note_calls(self._call_cache, client, message)

    def _cancel_all(self, client: ClientConnection, message: messages.CancelAll) -> None:
        n_tasks = cancel_everything(self._scheduler, client, force=message.force, runs=message.runs)
        self._settle()  # the client hears of the keys before it hears that all is done
        client.send(messages.CancelledAll(message.request, n_tasks))

    def _scatter(self, client: ClientConnection, message: messages.Scatter) -> None:
        for key, location, nbytes in zip(message.keys, message.locations, message.nbytes, strict=True):
            self._shared_results.add(location)
            self._scheduler.add_data(client, key, location, nbytes)
            self._inline_results.add(self._scheduler.tasks.get(key))

    def _get_story(self, client: ClientConnection, message: messages.GetStory) -> None:
        client.send(tell_story(self._scheduler, self._history, message, self._now_s()))

    # Workers

    def _get_worker_logs(self, client: ClientConnection, message: messages.GetWorkerLogs) -> None:
        client.send(messages.WorkerLogs(message.request, self._worker_logs.last(message.n, message.workers)))

    def _run_on_workers(self, client: ClientConnection, message: messages.RunOnWorkers) -> None:
        connections = self._worker_pool.connections
        if message.workers is None:
            chosen = [worker for worker in connections.values() if not worker.has_ended()]
        else:
            chosen = [worker for number, worker in connections.items() if number in message.workers]
        self._setups.pop(message.forgets, None)
        if message.setup:
            self._setups.pop(message.setup, None)
            self._setups[message.setup] = message.call
        self._queries.invoke(client, message, chosen)

    def _run_on_head(self, client: ClientConnection, message: messages.RunOnHead) -> None:
        workers = [worker.info() for worker in self._worker_pool.connections.values()]
        snapshot = HeadSnapshot(self._scheduler, workers, len(self._clients))
        self._tasks.start("inspection", inspect_for(client, message, snapshot))

    def _retire(self, client: ClientConnection, message: messages.Retire) -> None:
        self._worker_pool.retire(message.workers)
        self._worker_pool.answer_when_settled(client, message.request)

    def _scale(self, client: ClientConnection, message: messages.Scale) -> None:
        self._worker_pool.scale(message.n_workers)
        self._worker_pool.answer_when_settled(client, message.request)

    def _adapt(self, client: ClientConnection, message: messages.Adapt) -> None:
        self._worker_pool.adapt(Adaptive(message.minimum, message.maximum, message.wait_s))
        client.send(messages.Ack(message.request))

    def restart(self) -> None:
        """Cancel all tasks, and replace all workers."""
        self._scheduler.cancel(list(self._scheduler.tasks))
        self._worker_pool.restart()
        self._settle()

    def _restart(self, client: ClientConnection, message: messages.Restart) -> None:
        self._scheduler.cancel(list(self._scheduler.tasks))
        self._worker_pool.restart()
        self._worker_pool.answer_when_settled(client, message.request)

    # Coordination by name

    def _coordinate(self, client: ClientConnection, message: messages.Coordinate) -> None:
        self._coordinator.ask(client, message.request, message.op)
        self.send_coordination_replies()

    def _withdraw(self, client: ClientConnection, message: messages.Withdraw) -> None:
        self._coordinator.withdraw(client, message.request, undo=message.undo)
        self.send_coordination_replies()

    def _claim(self, client: ClientConnection, message: messages.Claim) -> None:
        self._scheduler.want(client, self._coordinator.claim(client, message.request))
        self.send_coordination_replies()
