"""Why a task waits, or what became of it: sentences for `Client.story`, from the scheduler's state. Changes nothing."""

from __future__ import annotations

import itertools

from glassloom.graph.keys import Key, key_text
from glassloom.head.task_history import TaskHistory, format_duration
from glassloom.protocol import messages
from glassloom.protocol.failure import first_line
from glassloom.scheduler import Pressure, Restrictions, Scheduler, State, TaskState, WorkerState
from glassloom.units import format_bytes

_MAX_NAMED = 3
"""How many inputs or workers a sentence names."""
_MAX_LOOKED_AT = 200_000
"""How many tasks are looked at to count those that go first: 10 ms."""


def tell_story(scheduler: Scheduler, history: TaskHistory, message: messages.GetStory, now_s: float) -> messages.Story:
    """Return what there is to say of a task, known to the scheduler or forgotten."""
    task = scheduler.tasks.get(message.key)
    if task is not None:
        state, origin = task.state.name.lower(), task.origin
        explanation = _Explainer(scheduler, history, now_s).explain(task)
        number: int | None = task.number
    else:
        state, origin = "unknown", ""
        number = history.number_of(message.key)
        explanation = _explain_unknown(message.key, was_known=number is not None)
    events = [] if number is None else history.events_of(number, message.key)
    return messages.Story(message.request, state, explanation, origin, events, history.forgotten_before_s)


def _explain_unknown(key: Key, *, was_known: bool) -> str:
    if was_known:
        return "forgotten: no future, persisted collection or other task needs it any more, or it was cancelled; its result is gone"
    return f"the cluster doesn't know {key_text(key)}: it was never submitted, or was forgotten long ago"


class _Explainer:
    """Makes one sentence of how a task stands."""

    def __init__(self, scheduler: Scheduler, history: TaskHistory, now_s: float) -> None:
        self._scheduler = scheduler
        self._history = history
        self._now_s = now_s

    def explain(self, task: TaskState) -> str:
        """Return the sentence for the task itself."""
        match task.state:
            case State.WAITING:
                return self._explain_waiting(task)
            case State.READY:
                return self._explain_ready(task)
            case State.STAGING:
                return self._explain_staging(task)
            case State.RUNNING:
                return self._where_it_runs(task)
            case State.MEMORY:
                return f"done: its result ({format_bytes(task.nbytes)}) is {_place_of_result(task)}"
            case State.ERRED:
                return _explain_error(task)
            case _:
                return "not computed: nobody needs its result now; it is kept because other tasks may need it again"

    def _explain_waiting(self, task: TaskState) -> str:
        former = next((worker for worker in self._workers() if task.number in worker.stopping), None)
        inputs = self._scheduler.inputs_of(task)
        missing = [dep for dep in inputs if dep.state is not State.MEMORY]
        if former is not None and not missing:
            return (
                f"was given up while it ran on {former.name}, and is wanted again: it waits until {former.name} has "
                "answered for its former run"
            )
        first = sorted(missing, key=lambda dep: -dep.state)[:_MAX_NAMED]  # what runs before what waits
        named = [f"{key_text(dep.key)} {self._briefly(dep)}" for dep in first]
        more = [f"and {len(missing) - len(named)} more"] * (len(missing) > len(named))
        return f"waits for {len(missing)} of {_counted(len(inputs), 'input')}: {'; '.join([*named, *more])}"

    def _briefly(self, task: TaskState) -> str:
        """Return how an input stands that is waited for; if it waits itself, for what in the end."""
        if task.state is not State.WAITING:
            if task.state is State.READY:
                return f"is {self._explain_ready(task, is_input=True)}"
            return self.explain(task)
        seen = {task}
        cause = task
        while cause.state is State.WAITING:
            inputs = self._scheduler.inputs_of(cause)
            missing = [dep for dep in inputs if dep.state is not State.MEMORY and dep not in seen]
            if not missing:
                return "waits itself"
            cause = max(missing, key=lambda dep: dep.state)
            seen.add(cause)
        return f"waits itself for {key_text(cause.key)}, which {self._briefly(cause)}"

    def _explain_ready(self, task: TaskState, *, is_input: bool = False) -> str:
        workers = [worker for worker in self._workers() if not worker.retiring]
        if not workers:
            return "ready, but the cluster has no workers"
        if task.restrictions is not None:
            lack = _explain_restrictions(task.restrictions, workers)
            if lack:
                return lack
            workers = [worker for worker in workers if _may_run(task.restrictions, worker)] or workers
        reason = _explain_memory(workers)
        if reason:
            return reason
        if task.n_deaths and task.is_on_last_chance:
            return (
                f"ready, but held back until a worker has nothing else to do: {task.n_deaths} workers died while they ran "
                "it, so it runs alone"
            )
        n_threads = sum(worker.nthreads for worker in workers)
        text = f"ready; no free thread ({n_threads} of {n_threads} are taken)"
        if any(worker.n_busy < worker.nthreads for worker in workers):
            text = "ready; it is sent to a worker in a moment"
        return text if is_input else f"{text}; {self._count_before(task)}"

    def _count_before(self, task: TaskState) -> str:
        tasks = self._scheduler.individual_tasks
        looked_at = itertools.islice(tasks.values(), _MAX_LOOKED_AT)
        n_before = self._scheduler.count_before(task) + sum(
            1 for other in looked_at if other.state is State.READY and other.priority < task.priority
        )
        at_least = "at least " if len(tasks) > _MAX_LOOKED_AT else ""
        return f"{at_least}{_counted(n_before, 'task')} before it"

    def _explain_staging(self, task: TaskState) -> str:
        moved = [dep for dep in task.deps if dep.shared_location is None and dep.owner is not task.worker]
        places = _listed(sorted({dep.owner.name for dep in moved if dep.owner is not None}))
        nbytes = format_bytes(sum(dep.nbytes for dep in moved))
        where = "a worker" if task.worker is None else task.worker.name
        return f"will run on {where}; waits until {_counted(len(moved), 'input')} ({nbytes}) can be read there, from {places}"

    def _where_it_runs(self, task: TaskState) -> str:
        worker = task.worker
        if worker is None:
            return "runs"
        sent_s = self._history.last_sent_s(task)
        sent = "" if sent_s is None else f", sent {format_duration(max(0.0, self._now_s - sent_s))} ago"
        if task.number in worker.seceded:
            return f"runs on {worker.name}{sent}; it waits for other tasks and has left its thread to them"
        if task.n_awaited:
            return f"is queued on {worker.name}{sent}: {_counted(task.n_awaited, 'input')} are still being made there"
        others = (other for other in worker.running_in_turn() if other.state is State.RUNNING and not other.n_awaited)
        ahead = list(itertools.takewhile(lambda other: other is not task, others))
        n_ahead = sum(other.number not in worker.seceded for other in ahead) + len(worker.stopping)
        n_ahead += self._scheduler.count_before(task)
        if n_ahead < worker.nthreads:
            return f"runs on {worker.name}{sent}"
        return f"is queued on {worker.name}{sent}, behind {_counted(n_ahead, 'task')} for {_counted(worker.nthreads, 'thread')}"

    def _workers(self) -> list[WorkerState]:
        return [worker for _, worker in sorted(self._scheduler.workers.items())]


def _explain_restrictions(restrictions: Restrictions, workers: list[WorkerState]) -> str:
    """Return what a ready task lacks of what it needs of its worker, or ``""``."""
    named = [worker for worker in workers if restrictions.names(worker)]
    wanted = _listed([repr(name) for name in sorted(restrictions.workers, key=str)])
    if not named and not restrictions.is_loose:
        return f"may run on workers {wanted} only; none of them is there"
    candidates = named or workers
    amounts = dict(restrictions.resources)
    able = [worker for worker in candidates if restrictions.fits(worker.resources)]
    if not able:
        which = f"none of the workers that it may run on ({wanted})" if restrictions.workers and named else "no worker"
        return f"needs resources {amounts}; {which} has them"
    if not any(restrictions.fits(worker.free) for worker in able):
        names = _listed([worker.name for worker in sorted(able, key=lambda worker: worker.number)])
        return f"needs resources {amounts}; they are taken up by other tasks on {names}"
    return ""


def _may_run(restrictions: Restrictions, worker: WorkerState) -> bool:
    return restrictions.names(worker) and restrictions.fits(worker.free)


def _explain_memory(workers: list[WorkerState]) -> str:
    """Return that workers are short of memory, or ``""`` if one of them isn't."""
    if any(worker.pressure is Pressure.NONE for worker in workers):
        return ""
    every = "every worker that it may run on" if len(workers) > 1 else workers[0].name
    if all(worker.pressure is Pressure.PAUSED for worker in workers):
        return f"held back: {every} is short of memory and gets no tasks"
    return f"held back: {every} is short of memory, and gets only tasks that free more than they take"


def _explain_error(task: TaskState) -> str:
    error = task.error
    text = first_line(error)
    if error.key and error.key != key_text(task.key):
        return f"failed, because {error.key} did: {text}"
    return f"failed: {text}"


def _place_of_result(task: TaskState) -> str:
    if task.shared_location is not None:
        return "in the head's memory" if isinstance(task.shared_location, bytes) else "where all processes can reach it"
    return f"on {task.owner.name}" if task.owner is not None else "held"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more
