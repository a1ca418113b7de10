"""`ResultPlaces`: where results are that workers keep: what they have written to disk, or brought to the host. It decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom_metrics.protocol import Action

from glassloom.graph.keys import Key
from glassloom.protocol import messages
from glassloom.scheduler import Scheduler, Standing, State
from glassloom.store.packed_file import Packed
from glassloom.store.segment import Segment, is_in_shared_memory

_CODES = {name: code for code, name in enumerate(messages.TASK_STATES)}
_MOVED = {
    Action.SPILL_WRITE: "spilled",
    Action.SPILL_READ: "in memory",
    Action.DEVICE_TO_HOST: "in memory",
    Action.HOST_TO_DEVICE: "held",
}
_UNDER_WAY = {
    State.RELEASED: "pending",
    State.WAITING: "pending",
    State.READY: "pending",
    State.STAGING: "pending",
    State.RUNNING: "running",
    State.ERRED: "failed",
    State.FORGOTTEN: "unknown",
}
_FIRST_CLEANING = 10_000


class ResultPlaces:
    """Where each worker has put its results last, as far as they have moved.

    Parameters
    ----------
    scheduler
        To look tasks up in; nothing of it is changed.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._moved: dict[int, tuple[int, str]] = {}
        """By the number of a task the worker that has moved its result, and where it is since."""
        self._clean_at = _FIRST_CLEANING

    def note(self, worker: int, message: messages.StoreEvents) -> None:
        """A worker has moved results, or read others'."""
        for action, number in zip(message.actions, message.numbers, strict=True):
            place = _MOVED.get(Action(action))
            if place is not None:
                self._moved[number] = worker, place
        if len(self._moved) > self._clean_at:
            known = self._scheduler.by_number
            self._moved = {number: moved for number, moved in self._moved.items() if number in known}
            self._clean_at = max(_FIRST_CLEANING, 2 * len(self._moved))

    def states_of(self, keys: Sequence[Key]) -> bytes:
        """Return how tasks stand, as `messages.TaskStates` says it."""
        return bytes([_CODES[self._state(self._scheduler.standing(key))] for key in keys])

    def _state(self, standing: Standing | None) -> str:
        if standing is None:
            return "unknown"
        if standing.state is not State.MEMORY:
            return _UNDER_WAY[standing.state]
        location = standing.location
        if isinstance(location, Segment):
            return "shared" if is_in_shared_memory(location) else "spilled"
        if isinstance(location, Packed):
            return "spilled"
        worker, place = self._moved.get(standing.number, (None, "held"))
        return place if worker == standing.owner else "held"
