"""Clients' questions: how the cluster is, who holds what; and those that take time to answer: where results can be reached,
and what workers return when called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from glassloom.errors import DataLost, SerialisationError
from glassloom.graph.keys import Key, key_text
from glassloom.head.connections import ClientConnection, WorkerConnection
from glassloom.head.inline_results import InlineResults
from glassloom.head.result_places import ResultPlaces
from glassloom.head.worker_pool import WorkerPool
from glassloom.protocol import messages
from glassloom.protocol.failure import Failure, own_failure
from glassloom.protocol.places import ClusterPlaces
from glassloom.scheduler import Scheduler, State, TaskState
from glassloom.store.segment import Location

_ANSWER_BYTES = 4 * 2**20
"""How large small results may be together that travel in one answer; more are read from files."""


@dataclass
class _Locating:
    """A question of where results are. The answers are made when all are there: they may be large.

    Attributes
    ----------
    answers
        For each key a failure, or the task that has the result or will have it.
    n_missing
        How many of the results are still on their way.
    """

    client: ClientConnection
    request: int
    answers: list[TaskState | Failure]
    n_missing: int = 0


@dataclass
class _Invocation:
    """A function that is being called on workers."""

    client: ClientConnection
    request: int
    names: dict[int, str]
    results: dict[int, bytes | Failure] = field(default_factory=dict)


class ClientQueries:
    """The open questions of all clients of one cluster."""

    def __init__(self, scheduler: Scheduler, inline_results: InlineResults, result_places: ResultPlaces) -> None:
        self._scheduler = scheduler
        self._result_places = result_places
        self._inline_results = inline_results
        self._locating: dict[TaskState, list[tuple[_Locating, int]]] = {}
        self._invocations: dict[int, _Invocation] = {}
        self._next_invocation = 0

    @property
    def n_invocations(self) -> int:
        """How many calls on workers aren't answered yet."""
        return len(self._invocations)

    def locate(self, client: ClientConnection, message: messages.Locate) -> None:
        """Answer where results are, now or when they are reachable."""
        tasks = [self._scheduler.locate(key) for key in message.keys]
        answers = [task or _not_held(key) for task, key in zip(tasks, message.keys, strict=True)]
        question = _Locating(client, message.request, answers)
        for position, task in enumerate(tasks):
            if task is not None and _location_or_failure(task) is None:
                self._locating.setdefault(task, []).append((question, position))
                question.n_missing += 1
        self._answer_if_complete(question)

    def located(self, task: TaskState, failure: Failure | None = None) -> None:
        """A result became reachable, or it is known by now that it never will be."""
        for question, position in self._locating.pop(task, ()):
            question.n_missing -= 1
            if failure is not None:
                question.answers[position] = failure
            self._answer_if_complete(question)

    def _answer_if_complete(self, question: _Locating) -> None:
        if question.n_missing:
            return
        tasks = [answer for answer in question.answers if isinstance(answer, TaskState)]
        if sum(len(task.shared_location) for task in tasks if isinstance(task.shared_location, bytes)) > _ANSWER_BYTES:
            self._inline_results.write(tasks)
        locations = [
            answer if isinstance(answer, Failure) else _location_or_failure(answer) or _not_held(answer.key)
            for answer in question.answers
        ]
        question.client.send(messages.Located(question.request, locations))

    def invoke(
        self, client: ClientConnection, message: messages.RunOnWorkers, workers: Sequence[WorkerConnection]
    ) -> None:
        """Call a function on workers; the client is answered when all have returned."""
        number, self._next_invocation = self._next_invocation, self._next_invocation + 1
        names = {worker.number: worker.options.name for worker in workers}
        self._invocations[number] = _Invocation(client, message.request, names)
        for worker in workers:
            worker.send(messages.Invoke(number, message.call, bool(message.setup)))
        self._finish_if_complete(number)

    def invoked(self, number: int, worker: int, result: bytes | Failure) -> None:
        """A worker has returned."""
        invocation = self._invocations.get(number)
        if invocation is not None and worker in invocation.names:
            invocation.results[worker] = result
            self._finish_if_complete(number)

    def worker_lost(self, worker: int, failure: Failure) -> None:
        """A worker will return nothing any more."""
        for number in list(self._invocations):
            self.invoked(number, worker, failure)

    def inform(self, client: ClientConnection, message: messages.GetInfo, worker_pool: WorkerPool) -> None:
        """Tell a client how the workers are, and how many tasks are in which state."""
        client.send(self.info(message.request, worker_pool))

    def welcome(self, client: ClientConnection, places: ClusterPlaces, name: str, worker_pool: WorkerPool) -> None:
        """Let a client in: the first message that it gets."""
        info = self.info(messages.UNASKED, worker_pool)
        client.send(messages.Welcome(places.cluster_id, name, places.directory, places.shm_prefix, client.number, info))

    def tell_of_workers(self, clients: Iterable[ClientConnection], worker_pool: WorkerPool) -> None:
        """Workers have come or gone: tell clients, so that they needn't ask."""
        info = self.info(messages.UNASKED, worker_pool)
        for client in clients:
            client.tell(info)

    def info(self, request: int, worker_pool: WorkerPool) -> messages.Info:
        """Return how the workers are, and how many tasks are in which state, as the answer to a request."""
        workers = [worker.info() for _, worker in sorted(worker_pool.connections.items())]
        numbers = self._scheduler.layer_table.counts()
        counts = {state.name.lower(): numbers[state] for state in State}
        return messages.Info(
            request, workers, counts, worker_pool.n_wanted, worker_pool.is_adaptive, worker_pool.cluster_name
        )

    def tell_holdings(self, client: ClientConnection, message: messages.WhoHas) -> None:
        """Tell a client which results are held, how large they are, and where."""
        tasks = self._scheduler.tasks
        asked = tasks.values() if message.keys is None else [tasks[key] for key in message.keys if key in tasks]
        held = [task for task in asked if task.state is State.MEMORY]
        keys, nbytes = [task.key for task in held], [task.nbytes for task in held]
        workers = [task.owner.name if task.owner is not None else None for task in held]
        client.send(messages.Holdings(message.request, keys, nbytes, workers))

    def tell_states(self, client: ClientConnection, message: messages.GetTaskStates) -> None:
        """Tell a client how tasks stand, and where their results are."""
        client.send(messages.TaskStates(message.request, self._result_places.states_of(message.keys)))

    def tell_processing(
        self, client: ClientConnection, message: messages.GetProcessing, worker_pool: WorkerPool
    ) -> None:
        """Tell a client which tasks the workers were sent and haven't finished."""
        told = []
        for number, worker in sorted(worker_pool.connections.items()):
            tasks = [task for task in self._scheduler.tasks_on(number)[0] if task.state is State.RUNNING]
            numbers, keys = [task.number for task in tasks], [task.key for task in tasks]
            told.append(messages.WorkerTasks(worker.options.name, number, worker.pid, numbers, keys))
        client.send(messages.Processing(message.request, told))

    def _finish_if_complete(self, number: int) -> None:
        invocation = self._invocations[number]
        if len(invocation.results) == len(invocation.names):
            del self._invocations[number]
            results = [invocation.results[worker] for worker in invocation.names]
            names = list(invocation.names.values())
            invocation.client.send(messages.RanOnWorkers(invocation.request, names, results))


def _not_held(key: Key) -> Failure:
    return own_failure(DataLost(f"the result of {key_text(key)} isn't held any more"))


def _location_or_failure(task: TaskState) -> Location | Failure | None:
    """Return how a result can be reached, or why never; None if it is still on its way."""
    if task.shared_location is not None:
        location: Location = task.shared_location
        return location
    if task.pinned:
        return own_failure(SerialisationError(f"the result of {key_text(task.key)} can't be sent to another process"))
    if task.state is State.ERRED:
        error: Failure = task.error
        return error
    return _not_held(task.key) if task.state in (State.RELEASED, State.FORGOTTEN) else None
