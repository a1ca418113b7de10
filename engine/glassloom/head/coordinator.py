"""Coordination by name: leases (locks and semaphores), events, variables (datasets too) and queues.

Pure: `Coordinator` takes requests and returns decisions. It never looks into values. A payload is opaque bytes with the
keys of the results that its futures stand for. Those results are held while the payload is stored here, and while it is
on its way to an asker that has not claimed it yet. Requests are served in order of arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from glassloom.graph.keys import Key
from glassloom.protocol.coordination import (
    AcquireLease,
    CountLeases,
    ListVariables,
    Op,
    Outcome,
    Payload,
    QueueClose,
    QueueGet,
    QueuePut,
    QueueSize,
    ReadEvent,
    ReleaseLease,
    SetEvent,
    VariableDelete,
    VariableGet,
    VariableSet,
    WaitEvent,
)

Asker = Any
Request = tuple[Asker, int]
"""The asker, and the number of its request."""


@dataclass(eq=False)
class SharedPayload:
    """A payload and the number of its copies here and on the way. Its results are held until there is none."""

    payload: Payload
    n_copies: int = 1


@dataclass
class Decisions:
    """Answers to send, payloads whose results must be held from now on, and then payloads whose results are released."""

    answers: list[tuple[Asker, int, Outcome]] = field(default_factory=list)
    keep: list[SharedPayload] = field(default_factory=list)
    release: list[SharedPayload] = field(default_factory=list)


@dataclass
class _Leases:
    limit: int
    holders: dict[Request, None] = field(default_factory=dict)
    waiting: dict[Request, None] = field(default_factory=dict)


@dataclass
class _Event:
    is_set: bool = False
    waiting: dict[Request, None] = field(default_factory=dict)


@dataclass
class _Variable:
    kept: SharedPayload | None = None
    waiting: dict[Request, None] = field(default_factory=dict)


@dataclass
class _Queue:
    maxsize: int = 0
    items: deque[SharedPayload] = field(default_factory=deque)
    getters: dict[Request, int] = field(default_factory=dict)
    putters: dict[Request, SharedPayload] = field(default_factory=dict)


@dataclass
class _Delivery:
    """Payloads that were sent and are not claimed yet. Unclaimed ones return to `queue`, if they are from one."""

    kept: list[SharedPayload]
    queue: str | None


class Coordinator:
    """Leases, events, variables and queues of one cluster. Deterministic for equal sequences of calls."""

    def __init__(self) -> None:
        self._leases: dict[tuple[str, str], _Leases] = {}
        self._events: dict[str, _Event] = {}
        self._variables: dict[tuple[str, str], _Variable] = {}
        self._queues: dict[str, _Queue] = {}
        self._waits: dict[Request, Callable[[], None]] = {}
        """Requests that wait, and how each wait is ended."""
        self._granted: dict[Request, tuple[str, str]] = {}
        self._deliveries: dict[Request, _Delivery] = {}
        self._decisions = Decisions()

    def take_decisions(self) -> Decisions:
        """Return what was decided since the last call."""
        decisions, self._decisions = self._decisions, Decisions()
        return decisions

    def ask(self, asker: Asker, number: int, op: Op) -> None:
        """Take a request."""
        request = (asker, number)
        match op:
            case AcquireLease():
                self._acquire(request, op)
            case ReleaseLease():
                self._release_lease((asker, op.lease))
            case CountLeases():
                leases = self._leases.get((op.kind, op.name))
                self._answer(request, Outcome(number=len(leases.holders) if leases else 0))
            case SetEvent():
                self._set_event(op)
            case WaitEvent():
                self._wait_event(request, op.name)
            case ReadEvent():
                self._answer(request, Outcome(number=int(op.name in self._events and self._events[op.name].is_set)))
            case VariableSet():
                self._set_variable(request, op)
            case VariableGet():
                self._get_variable(request, op)
            case VariableDelete():
                self._delete_variable(request, op)
            case ListVariables():
                names = [name for (space, name), value in self._variables.items() if space == op.space and value.kept]
                self._answer(request, Outcome(names=names))
            case QueuePut():
                self._put_into_queue(request, op)
            case QueueGet():
                self._get_from_queue(request, op)
            case QueueSize():
                queue = self._queues.get(op.name)
                self._answer(request, Outcome(number=len(queue.items) if queue else 0))
            case QueueClose():
                self._close_queue(op.name)

    def withdraw(self, asker: Asker, number: int, *, undo: bool) -> None:
        """End the wait of a request. With `undo`, also take back what was granted or sent meanwhile."""
        request = (asker, number)
        end_wait = self._waits.get(request)
        if end_wait is not None:
            end_wait()
            self._answer(request, Outcome("withdrawn"))
        elif undo:
            self._release_lease(request)
            self._return_to_queue(request)

    def claim(self, asker: Asker, number: int) -> list[Key]:
        """Note that an asker has received its payloads; return their keys, which it holds itself from now on."""
        delivery = self._deliveries.pop((asker, number), None)
        if delivery is None:
            return []
        for kept in delivery.kept:
            self._release_copy(kept)
        return [key for kept in delivery.kept for key in kept.payload.keys]

    def left(self, asker: Asker) -> None:
        """End the waits and leases of an asker that is gone; payloads that it has not claimed go back."""
        for request in [request for request in self._waits if request[0] == asker]:
            if request in self._waits:  # another's end may have been what it waited for
                self._waits[request]()
        for request in [request for request in self._deliveries if request[0] == asker]:
            self._return_to_queue(request)
        for request in [request for request in self._granted if request[0] == asker]:
            self._release_lease(request)

    # Leases

    def _acquire(self, request: Request, op: AcquireLease) -> None:
        full_name = (op.kind, op.name)
        leases = self._leases.setdefault(full_name, _Leases(op.limit))
        if leases.limit != op.limit:
            self._refuse(request, f"{op.kind} {op.name!r} is in use with {leases.limit} leases, not {op.limit}")
            return
        leases.waiting[request] = None
        self._waits[request] = lambda: self._stop_acquiring(request, full_name)
        self._grant(full_name)

    def _stop_acquiring(self, request: Request, full_name: tuple[str, str]) -> None:
        del self._waits[request], self._leases[full_name].waiting[request]
        self._grant(full_name)

    def _release_lease(self, request: Request) -> None:
        full_name = self._granted.pop(request, None)
        if full_name is not None:
            del self._leases[full_name].holders[request]
            self._grant(full_name)

    def _grant(self, full_name: tuple[str, str]) -> None:
        leases = self._leases[full_name]
        while leases.waiting and len(leases.holders) < leases.limit:
            request = next(iter(leases.waiting))
            del self._waits[request], leases.waiting[request]
            leases.holders[request] = None
            self._granted[request] = full_name
            self._answer(request, Outcome())
        if not leases.holders and not leases.waiting:
            del self._leases[full_name]

    # Events

    def _set_event(self, op: SetEvent) -> None:
        event = self._events.setdefault(op.name, _Event())
        event.is_set = op.is_set
        while op.is_set and event.waiting:
            request = next(iter(event.waiting))
            del self._waits[request], event.waiting[request]
            self._answer(request, Outcome())
        self._drop_unused_event(op.name)

    def _wait_event(self, request: Request, name: str) -> None:
        event = self._events.setdefault(name, _Event())
        if event.is_set:
            self._answer(request, Outcome())
            return
        event.waiting[request] = None
        self._waits[request] = lambda: self._stop_waiting(request, name)

    def _stop_waiting(self, request: Request, name: str) -> None:
        del self._waits[request], self._events[name].waiting[request]
        self._drop_unused_event(name)

    def _drop_unused_event(self, name: str) -> None:
        event = self._events[name]
        if not event.is_set and not event.waiting:
            del self._events[name]

    # Variables

    def _set_variable(self, request: Request, op: VariableSet) -> None:
        full_name = (op.space, op.name)
        value = self._variables.setdefault(full_name, _Variable())
        if value.kept is not None and not op.replaces:
            self._refuse(request, "exists")
            return
        kept, old = self._kept(op.payload), value.kept
        value.kept = kept
        if old is not None:
            self._release_copy(old)
        while value.waiting:
            waiting = next(iter(value.waiting))
            del self._waits[waiting], value.waiting[waiting]
            self._deliver_copy(waiting, kept)
        self._answer(request, Outcome())

    def _get_variable(self, request: Request, op: VariableGet) -> None:
        full_name = (op.space, op.name)
        value = self._variables.get(full_name)
        if value is not None and value.kept is not None:
            self._deliver_copy(request, value.kept)
        elif not op.waits:
            self._refuse(request, "missing")
        else:
            self._variables.setdefault(full_name, _Variable()).waiting[request] = None
            self._waits[request] = lambda: self._stop_getting_variable(request, full_name)

    def _stop_getting_variable(self, request: Request, full_name: tuple[str, str]) -> None:
        value = self._variables[full_name]
        del self._waits[request], value.waiting[request]
        if value.kept is None and not value.waiting:
            del self._variables[full_name]

    def _delete_variable(self, request: Request, op: VariableDelete) -> None:
        value = self._variables.get((op.space, op.name))
        if value is None or value.kept is None:
            self._refuse(request, "missing")
            return
        self._release_copy(value.kept)
        del self._variables[op.space, op.name]  # no request waits for a variable that is set
        self._answer(request, Outcome())

    def _deliver_copy(self, request: Request, kept: SharedPayload) -> None:
        kept.n_copies += 1
        self._deliver(request, [kept], None)

    # Queues

    def _put_into_queue(self, request: Request, op: QueuePut) -> None:
        queue = self._queues.setdefault(op.name, _Queue(op.maxsize))
        queue.maxsize = op.maxsize or queue.maxsize
        queue.putters[request] = self._kept(op.payload)
        self._waits[request] = lambda: self._stop_putting(request, op.name)
        self._advance_queue(op.name)

    def _get_from_queue(self, request: Request, op: QueueGet) -> None:
        queue = self._queues.setdefault(op.name, _Queue())
        count = op.count if op.count >= 0 else (0 if queue.getters else len(queue.items))
        queue.getters[request] = count
        self._waits[request] = lambda: self._stop_getting(request, op.name)
        if not count:
            self._deliver_items(request, op.name)
        self._advance_queue(op.name)

    def _stop_putting(self, request: Request, name: str) -> None:
        del self._waits[request]
        self._release_copy(self._queues[name].putters.pop(request))
        self._advance_queue(name)

    def _stop_getting(self, request: Request, name: str) -> None:
        del self._waits[request], self._queues[name].getters[request]
        self._advance_queue(name)

    def _advance_queue(self, name: str) -> None:
        """Accept items while there is room for them or a getter needs them; deliver what is there."""
        queue = self._queues[name]
        while True:
            n_sought = next(iter(queue.getters.values()), 0)
            if queue.getters and len(queue.items) >= n_sought:
                self._deliver_items(next(iter(queue.getters)), name)
            elif queue.putters and (not queue.maxsize or len(queue.items) < max(queue.maxsize, n_sought)):
                request = next(iter(queue.putters))
                queue.items.append(queue.putters.pop(request))
                del self._waits[request]
                self._answer(request, Outcome())
            else:
                break
        if not queue.items and not queue.getters and not queue.putters and not queue.maxsize:
            del self._queues[name]

    def _deliver_items(self, request: Request, name: str) -> None:
        queue = self._queues[name]
        count = queue.getters.pop(request)
        del self._waits[request]
        self._deliver(request, [queue.items.popleft() for _ in range(count)], name)

    def _close_queue(self, name: str) -> None:
        queue = self._queues.pop(name, None)
        if queue is None:
            return
        for request in [*queue.getters, *queue.putters]:
            del self._waits[request]
            self._refuse(request, f"queue {name!r} was closed")
        for kept in [*queue.items, *queue.putters.values()]:
            self._release_copy(kept)

    # Payloads

    def _kept(self, payload: Payload) -> SharedPayload:
        kept = SharedPayload(payload)
        self._decisions.keep.append(kept)
        return kept

    def _release_copy(self, kept: SharedPayload) -> None:
        kept.n_copies -= 1
        if not kept.n_copies:
            self._decisions.release.append(kept)

    def _deliver(self, request: Request, kept: list[SharedPayload], queue: str | None) -> None:
        self._deliveries[request] = _Delivery(kept, queue)
        self._answer(request, Outcome(payloads=[item.payload for item in kept]))

    def _return_to_queue(self, request: Request) -> None:
        """Put unclaimed payloads back to the front of their queue."""
        delivery = self._deliveries.pop(request, None)
        if delivery is None:
            return
        if delivery.queue is None:
            for kept in delivery.kept:
                self._release_copy(kept)
            return
        queue = self._queues.setdefault(delivery.queue, _Queue())
        queue.items.extendleft(reversed(delivery.kept))
        self._advance_queue(delivery.queue)

    # Answers

    def _answer(self, request: Request, outcome: Outcome) -> None:
        self._decisions.answers.append((*request, outcome))

    def _refuse(self, request: Request, reason: str) -> None:
        self._answer(request, Outcome("refused", reason=reason))
