"""`TaskHistory`: what has happened to tasks lately, for `Client.story`. It decides nothing.

It keeps batches as they come (the columns of a worker's message, the numbers of what was sent together), not a list for
each task: a batch costs an append, and a task that nobody asks about next to nothing. What is kept is bounded: the
oldest batches go first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from glassloom_metrics.protocol import Action
from msgspec import structs

from glassloom.graph.keys import Key
from glassloom.protocol import messages
from glassloom.protocol.clock import Clock
from glassloom.protocol.failure import first_line
from glassloom.protocol.finished import FinishedTasks, RunTimes
from glassloom.protocol.messages import TaskEvent
from glassloom.scheduler import Scheduler, TaskSlice, TaskState
from glassloom.store.segment import location_bytes
from glassloom.units import format_bytes

MAX_KEPT = 50_000
"""How many tasks all kept batches may name together."""


_Describe = Callable[[Any, int, float], TaskEvent]
"""Makes the event of the task at one place of a batch, from the batch's message or event, with the clock's epoch."""

_Batch = tuple[float, Sequence[int], _Describe, Any, str, Sequence[Key]]
"""When; numbers of the tasks; what describes the event of one; message or event; worker; keys of what was submitted."""

_number = attrgetter("number")


class TaskHistory:
    """The latest events of all tasks of a cluster.

    Parameters
    ----------
    scheduler
        To look tasks up in; nothing of it is changed.
    max_kept
        See `MAX_KEPT`.
    """

    def __init__(self, scheduler: Scheduler, clock: Clock, max_kept: int = MAX_KEPT) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._max_kept = max_kept
        self._batches: deque[_Batch] = deque()
        self._n_kept = 0
        self.forgotten_before_s = 0.0
        """Of what happened before this time not everything is known any more."""

    # What happens

    def submitted(self, client: int, keys: Sequence[Key]) -> None:
        """A client has handed in tasks, and the scheduler has taken them. Those that it knew before are mentioned too."""
        number_of = self._scheduler.number_of
        first, last = (number_of(keys[0]), number_of(keys[-1])) if keys else (None, None)
        if first is None or last is None:
            return  # refused, or nobody wants them
        numbers: Sequence[int] = range(first, last + 1)  # all of them are new
        if len(numbers) != len(keys):
            numbers = [-1 if number is None else number for number in map(number_of, keys)]
        event = TaskEvent(self._clock.now_s(), "submitted", f"submitted by client {client}")
        self._keep(numbers, _as_it_is, event, keys=keys if len(keys) <= self._max_kept // 2 else ())

    def sent(self, worker: str, tasks: Sequence[TaskState | TaskSlice]) -> None:
        """Tasks were sent to a worker. Called for each task: it keeps their numbers, and no more."""
        now_s = self._clock.now_s()
        for item in tasks:
            if isinstance(item, TaskSlice):
                self._keep(item.numbers, _sent, now_s, worker)
        numbers = [item.number for item in tasks if isinstance(item, TaskState)]
        if numbers:
            self._keep(numbers, _sent, now_s, worker)

    def note_worker_message(self, worker: str, message: messages.FromWorker) -> None:
        """A worker has said something. Call it before the scheduler learns of it."""
        note = _NOTES.get(type(message))
        if note is not None:
            note(self, worker, message)

    def finished(self, worker: str, finished: FinishedTasks) -> None:
        """A worker has results. Called for each task: it keeps the columns as they are, without the results."""
        self._keep(finished.numbers, _ran, finished.times, worker)

    def note_client_message(self, client: int, message: messages.FromClient) -> None:
        """A client has said something. Call it before the scheduler learns of it."""
        if isinstance(message, messages.Cancel):
            self._note(self._numbers(message.keys), "cancelled", f"cancelled by client {client}")
        elif isinstance(message, messages.Retry):
            self._note(self._numbers(message.keys), "retried", f"retried by client {client}")
        elif isinstance(message, messages.ReportLost):
            self._note(self._numbers([message.key]), "lost", f"its result can't be read any more: {message.reason}")

    def worker_left(self, worker: str, ran: Sequence[TaskState], held: Sequence[TaskState], reason: str) -> None:
        """A worker is gone with what it ran and held. Call it before the scheduler learns of it."""
        self._note([*map(_number, ran)], "worker lost", f"the worker is gone: {reason}", worker)
        text = f"its result was on this worker alone, which is gone: {reason}"
        self._note([*map(_number, held)], "lost", text, worker)

    # What has happened

    def events_of(self, number: int, key: Key) -> list[TaskEvent]:
        """Return what is still known of a task, oldest first."""
        return sorted(self._events(number, key), key=lambda event: event.at_s)

    def number_of(self, key: Key) -> int | None:
        """Return the number that the latest task of a key had, though the scheduler may have forgotten it."""
        for _, numbers, _, _, _, keys in reversed(self._batches):
            if key in keys:
                return numbers[keys.index(key)]
        return None

    def last_sent_s(self, task: TaskState) -> float | None:
        """Return when a task was last sent to a worker, if that is still known."""
        times = [event.at_s for event in self._events(task.number, task.key) if event.what == "sent"]
        return max(times, default=None)

    def _events(self, number: int, key: Key) -> Iterator[TaskEvent]:
        for _, numbers, describe, subject, worker, keys in self._batches:
            if number in numbers:
                place = numbers.index(number)
                if not keys or keys[place] == key:
                    event = describe(subject, place, self._clock.epoch_s)
                    yield structs.replace(event, worker=worker)

    # Keeping

    def _note(self, numbers: Sequence[int], what: str, text: str, worker: str = "") -> None:
        if numbers:
            self._keep(numbers, _as_it_is, TaskEvent(self._clock.now_s(), what, text), worker)

    def _keep(
        self, numbers: Sequence[int], describe: _Describe, subject: Any, worker: str = "", keys: Sequence[Key] = ()
    ) -> None:
        self._batches.append((self._clock.now_s(), numbers, describe, subject, worker, keys))
        self._n_kept += _weight(self._batches[-1])
        while self._n_kept > self._max_kept and len(self._batches) > 1:
            oldest = self._batches.popleft()
            self.forgotten_before_s = oldest[0]
            self._n_kept -= _weight(oldest)

    def _numbers(self, keys: Sequence[Key]) -> list[int]:
        return [number for number in map(self._scheduler.number_of, keys) if number is not None]

    def _note_failure(self, worker: str, message: messages.Failed) -> None:
        task = self._scheduler.by_number.get(message.number)
        ran = format_duration(message.stop_s - message.start_s)
        text = f"raised {first_line(message.failure)} after {ran}"
        if task is not None and task.retries:
            text += f"; it is tried again (retries left: {task.retries - 1})"
        self._note([message.number], "raised", text, worker)

    def _note_publication(self, worker: str, message: messages.Published) -> None:
        if message.location is None:
            text = f"its result stays where it is: {message.reason}"
        else:
            took = format_duration(message.stop_s - message.start_s)
            size = format_bytes(location_bytes(message.location))
            text = f"its result ({size}) was put where all processes can reach it, in {took}"
        self._note([message.number], "moved", text, worker)

    def _note_return(self, worker: str, message: messages.Recalled) -> None:
        self._note(message.numbers, "returned", "given back: it had not begun", worker)

    def _note_secession(self, worker: str, message: messages.Seceded) -> None:
        text = "waits for other tasks, and leaves its thread to them"
        self._note([message.number], "seceded", text, worker)

    def _note_rejoining(self, worker: str, message: messages.Rejoined) -> None:
        self._note([message.number], "rejoined", "goes on, on a thread of its own", worker)

    def _note_loss(self, worker: str, message: messages.ResultsLost) -> None:
        text = f"its result can't be read any more: {message.reason}"
        self._note(message.numbers, "lost", text, worker)

    def _note_shared_loss(self, worker: str, message: messages.SharedResultLost) -> None:
        self._note([message.number], "lost", f"its result can't be read any more: {message.reason}", worker)

    def _note_spills(self, worker: str, message: messages.StoreEvents) -> None:
        if Action.TRANSFER not in message.actions:
            self._keep(message.numbers, _spilled, message, worker)


_NOTES: dict[type, Callable[[TaskHistory, str, Any], None]] = {
    messages.Failed: TaskHistory._note_failure,
    messages.Published: TaskHistory._note_publication,
    messages.Recalled: TaskHistory._note_return,
    messages.Seceded: TaskHistory._note_secession,
    messages.Rejoined: TaskHistory._note_rejoining,
    messages.ResultsLost: TaskHistory._note_loss,
    messages.SharedResultLost: TaskHistory._note_shared_loss,
    messages.StoreEvents: TaskHistory._note_spills,
}


def _weight(batch: _Batch) -> int:
    """Return how many elements a batch keeps; 1 if it is no more than a range of numbers."""
    _, numbers, _, subject, _, keys = batch
    return 1 if type(numbers) is range and not keys and type(subject) is not RunTimes else len(numbers)


def _as_it_is(event: TaskEvent, _place: int, _epoch_s: float) -> TaskEvent:
    return event


def _sent(at_s: float, _place: int, _epoch_s: float) -> TaskEvent:
    return TaskEvent(at_s, "sent", "sent to a worker")


def _ran(times: RunTimes, place: int, epoch_s: float) -> TaskEvent:
    start_s, stop_s = times.starts_s[place], times.stops_s[place]
    size = format_bytes(times.nbytes[place])
    return TaskEvent(epoch_s + start_s, "ran", f"ran for {format_duration(stop_s - start_s)}; its result takes {size}")


def _spilled(message: messages.StoreEvents, place: int, epoch_s: float) -> TaskEvent:
    way = "written to disk" if message.actions[place] == Action.SPILL_WRITE else "read back from disk"
    text = f"its result ({format_bytes(message.nbytes[place])}) was {way}"
    return TaskEvent(epoch_s + message.starts_s[place], "spilled", text)


def format_duration(seconds: float) -> str:
    """Return a duration for people: ``"0.4 ms"``, ``"12 s"``, ``"3 min"``."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
