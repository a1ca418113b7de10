"""What clients and tasks agree on by name: leases (locks, semaphores), flags (events), values (variables, datasets), queues.

Pure: `Coordinator` takes what is asked and returns what to answer. It never looks into values; a parcel is opaque bytes
and the keys of the results that the futures in it stand for. Those results are kept as long as the parcel is here, or on
its way to somebody who hasn't claimed it yet. First come, first served.
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
Ticket = tuple[Asker, int]
"""Who asked, and the number of the request."""


@dataclass(eq=False)
class SharedPayload:
    """A parcel, and in how many places it is: its results are kept until it is in none."""

    payload: Payload
    n_places: int = 1


@dataclass
class Decisions:
    """What is to be done: answers to send; parcels whose results are to be kept from now on, then those to let go."""

    answers: list[tuple[Asker, int, Outcome]] = field(default_factory=list)
    keep: list[SharedPayload] = field(default_factory=list)
    let_go: list[SharedPayload] = field(default_factory=list)


@dataclass
class _Leases:
    limit: int
    holders: dict[Ticket, None] = field(default_factory=dict)
    waiting: dict[Ticket, None] = field(default_factory=dict)


@dataclass
class _Flag:
    is_up: bool = False
    waiting: dict[Ticket, None] = field(default_factory=dict)


@dataclass
class _Value:
    kept: SharedPayload | None = None
    waiting: dict[Ticket, None] = field(default_factory=dict)


@dataclass
class _Queue:
    maxsize: int = 0
    items: deque[SharedPayload] = field(default_factory=deque)
    takers: dict[Ticket, int] = field(default_factory=dict)
    putters: dict[Ticket, SharedPayload] = field(default_factory=dict)


@dataclass
class _Delivery:
    """Parcels that somebody was sent and hasn't claimed; `queue` is where they go back to if he never does."""

    kept: list[SharedPayload]
    queue: str | None


class Coordinator:
    """The agreements of one cluster. Deterministic for equal sequences of calls."""

    def __init__(self) -> None:
        self._leases: dict[tuple[str, str], _Leases] = {}
        self._flags: dict[str, _Flag] = {}
        self._values: dict[tuple[str, str], _Value] = {}
        self._queues: dict[str, _Queue] = {}
        self._waits: dict[Ticket, Callable[[], None]] = {}
        """Who waits, and how his wait is ended."""
        self._granted: dict[Ticket, tuple[str, str]] = {}
        self._deliveries: dict[Ticket, _Delivery] = {}
        self._decisions = Decisions()

    def take_decisions(self) -> Decisions:
        """Return what was decided since the last call."""
        decisions, self._decisions = self._decisions, Decisions()
        return decisions

    def ask(self, asker: Asker, request: int, op: Op) -> None:
        """Somebody asks for something."""
        ticket = (asker, request)
        match op:
            case AcquireLease():
                self._acquire(ticket, op)
            case ReleaseLease():
                self._give_back((asker, op.lease))
            case CountLeases():
                leases = self._leases.get((op.kind, op.name))
                self._answer(ticket, Outcome(number=len(leases.holders) if leases else 0))
            case SetEvent():
                self._set_flag(op)
            case WaitEvent():
                self._await_flag(ticket, op.name)
            case ReadEvent():
                self._answer(ticket, Outcome(number=int(op.name in self._flags and self._flags[op.name].is_up)))
            case VariableSet():
                self._store(ticket, op)
            case VariableGet():
                self._fetch(ticket, op)
            case VariableDelete():
                self._remove(ticket, op)
            case ListVariables():
                names = [name for (space, name), value in self._values.items() if space == op.space and value.kept]
                self._answer(ticket, Outcome(names=names))
            case QueuePut():
                self._put(ticket, op)
            case QueueGet():
                self._take(ticket, op)
            case QueueSize():
                queue = self._queues.get(op.name)
                self._answer(ticket, Outcome(number=len(queue.items) if queue else 0))
            case QueueClose():
                self._close_queue(op.name)

    def withdraw(self, asker: Asker, request: int, *, undo: bool) -> None:
        """Somebody waits no longer. With `undo` he doesn't want it either if it was granted or sent meanwhile."""
        ticket = (asker, request)
        end_wait = self._waits.get(ticket)
        if end_wait is not None:
            end_wait()
            self._answer(ticket, Outcome("withdrawn"))
        elif undo:
            self._give_back(ticket)
            self._return_to_sender(ticket)

    def claim(self, asker: Asker, request: int) -> list[Key]:
        """Somebody has received parcels; return the keys in them, which he keeps himself from now on."""
        delivery = self._deliveries.pop((asker, request), None)
        if delivery is None:
            return []
        for kept in delivery.kept:
            self._leave_place(kept)
        return [key for kept in delivery.kept for key in kept.payload.keys]

    def left(self, asker: Asker) -> None:
        """Somebody is gone: he waits for nothing, his leases end, and what he was sent goes to others."""
        for ticket in [ticket for ticket in self._waits if ticket[0] == asker]:
            if ticket in self._waits:  # another's end may have been what it waited for
                self._waits[ticket]()
        for ticket in [ticket for ticket in self._deliveries if ticket[0] == asker]:
            self._return_to_sender(ticket)
        for ticket in [ticket for ticket in self._granted if ticket[0] == asker]:
            self._give_back(ticket)

    # Leases

    def _acquire(self, ticket: Ticket, op: AcquireLease) -> None:
        place = (op.kind, op.name)
        leases = self._leases.setdefault(place, _Leases(op.limit))
        if leases.limit != op.limit:
            self._refuse(ticket, f"{op.kind} {op.name!r} is in use with {leases.limit} leases, not {op.limit}")
            return
        leases.waiting[ticket] = None
        self._waits[ticket] = lambda: self._stop_acquiring(ticket, place)
        self._grant(place)

    def _stop_acquiring(self, ticket: Ticket, place: tuple[str, str]) -> None:
        del self._waits[ticket], self._leases[place].waiting[ticket]
        self._grant(place)

    def _give_back(self, ticket: Ticket) -> None:
        place = self._granted.pop(ticket, None)
        if place is not None:
            del self._leases[place].holders[ticket]
            self._grant(place)

    def _grant(self, place: tuple[str, str]) -> None:
        leases = self._leases[place]
        while leases.waiting and len(leases.holders) < leases.limit:
            ticket = next(iter(leases.waiting))
            del self._waits[ticket], leases.waiting[ticket]
            leases.holders[ticket] = None
            self._granted[ticket] = place
            self._answer(ticket, Outcome())
        if not leases.holders and not leases.waiting:
            del self._leases[place]

    # Flags

    def _set_flag(self, op: SetEvent) -> None:
        flag = self._flags.setdefault(op.name, _Flag())
        flag.is_up = op.is_up
        while op.is_up and flag.waiting:
            ticket = next(iter(flag.waiting))
            del self._waits[ticket], flag.waiting[ticket]
            self._answer(ticket, Outcome())
        self._tidy_flag(op.name)

    def _await_flag(self, ticket: Ticket, name: str) -> None:
        flag = self._flags.setdefault(name, _Flag())
        if flag.is_up:
            self._answer(ticket, Outcome())
            return
        flag.waiting[ticket] = None
        self._waits[ticket] = lambda: self._stop_awaiting(ticket, name)

    def _stop_awaiting(self, ticket: Ticket, name: str) -> None:
        del self._waits[ticket], self._flags[name].waiting[ticket]
        self._tidy_flag(name)

    def _tidy_flag(self, name: str) -> None:
        flag = self._flags[name]
        if not flag.is_up and not flag.waiting:
            del self._flags[name]

    # Values

    def _store(self, ticket: Ticket, op: VariableSet) -> None:
        place = (op.space, op.name)
        value = self._values.setdefault(place, _Value())
        if value.kept is not None and not op.replaces:
            self._refuse(ticket, "exists")
            return
        kept, old = self._kept(op.payload), value.kept
        value.kept = kept
        if old is not None:
            self._leave_place(old)
        while value.waiting:
            waiting = next(iter(value.waiting))
            del self._waits[waiting], value.waiting[waiting]
            self._deliver_copy(waiting, kept)
        self._answer(ticket, Outcome())

    def _fetch(self, ticket: Ticket, op: VariableGet) -> None:
        place = (op.space, op.name)
        value = self._values.get(place)
        if value is not None and value.kept is not None:
            self._deliver_copy(ticket, value.kept)
        elif not op.waits:
            self._refuse(ticket, "missing")
        else:
            self._values.setdefault(place, _Value()).waiting[ticket] = None
            self._waits[ticket] = lambda: self._stop_fetching(ticket, place)

    def _stop_fetching(self, ticket: Ticket, place: tuple[str, str]) -> None:
        value = self._values[place]
        del self._waits[ticket], value.waiting[ticket]
        if value.kept is None and not value.waiting:
            del self._values[place]

    def _remove(self, ticket: Ticket, op: VariableDelete) -> None:
        value = self._values.get((op.space, op.name))
        if value is None or value.kept is None:
            self._refuse(ticket, "missing")
            return
        self._leave_place(value.kept)
        del self._values[op.space, op.name]  # nobody waits for a value that is there
        self._answer(ticket, Outcome())

    def _deliver_copy(self, ticket: Ticket, kept: SharedPayload) -> None:
        kept.n_places += 1
        self._deliver(ticket, [kept], None)

    # Queues

    def _put(self, ticket: Ticket, op: QueuePut) -> None:
        queue = self._queues.setdefault(op.name, _Queue(op.maxsize))
        queue.maxsize = op.maxsize or queue.maxsize
        queue.putters[ticket] = self._kept(op.payload)
        self._waits[ticket] = lambda: self._stop_putting(ticket, op.name)
        self._serve(op.name)

    def _take(self, ticket: Ticket, op: QueueGet) -> None:
        queue = self._queues.setdefault(op.name, _Queue())
        count = op.count if op.count >= 0 else (0 if queue.takers else len(queue.items))
        queue.takers[ticket] = count
        self._waits[ticket] = lambda: self._stop_taking(ticket, op.name)
        if not count:
            self._hand_out(ticket, op.name)
        self._serve(op.name)

    def _stop_putting(self, ticket: Ticket, name: str) -> None:
        del self._waits[ticket]
        self._leave_place(self._queues[name].putters.pop(ticket))
        self._serve(name)

    def _stop_taking(self, ticket: Ticket, name: str) -> None:
        del self._waits[ticket], self._queues[name].takers[ticket]
        self._serve(name)

    def _serve(self, name: str) -> None:
        """Let in what there is room for, or somebody waits for; give out what is there."""
        queue = self._queues[name]
        while True:
            n_sought = next(iter(queue.takers.values()), 0)
            if queue.takers and len(queue.items) >= n_sought:
                self._hand_out(next(iter(queue.takers)), name)
            elif queue.putters and (not queue.maxsize or len(queue.items) < max(queue.maxsize, n_sought)):
                ticket = next(iter(queue.putters))
                queue.items.append(queue.putters.pop(ticket))
                del self._waits[ticket]
                self._answer(ticket, Outcome())
            else:
                break
        if not queue.items and not queue.takers and not queue.putters and not queue.maxsize:
            del self._queues[name]

    def _hand_out(self, ticket: Ticket, name: str) -> None:
        queue = self._queues[name]
        count = queue.takers.pop(ticket)
        del self._waits[ticket]
        self._deliver(ticket, [queue.items.popleft() for _ in range(count)], name)

    def _close_queue(self, name: str) -> None:
        queue = self._queues.pop(name, None)
        if queue is None:
            return
        for ticket in [*queue.takers, *queue.putters]:
            del self._waits[ticket]
            self._refuse(ticket, f"queue {name!r} was closed")
        for kept in [*queue.items, *queue.putters.values()]:
            self._leave_place(kept)

    # Parcels

    def _kept(self, payload: Payload) -> SharedPayload:
        kept = SharedPayload(payload)
        self._decisions.keep.append(kept)
        return kept

    def _leave_place(self, kept: SharedPayload) -> None:
        kept.n_places -= 1
        if not kept.n_places:
            self._decisions.let_go.append(kept)

    def _deliver(self, ticket: Ticket, kept: list[SharedPayload], queue: str | None) -> None:
        self._deliveries[ticket] = _Delivery(kept, queue)
        self._answer(ticket, Outcome(payloads=[item.payload for item in kept]))

    def _return_to_sender(self, ticket: Ticket) -> None:
        """What was sent and won't be claimed goes back to the front of its queue."""
        delivery = self._deliveries.pop(ticket, None)
        if delivery is None:
            return
        if delivery.queue is None:
            for kept in delivery.kept:
                self._leave_place(kept)
            return
        queue = self._queues.setdefault(delivery.queue, _Queue())
        queue.items.extendleft(reversed(delivery.kept))
        self._serve(delivery.queue)

    # Answers

    def _answer(self, ticket: Ticket, outcome: Outcome) -> None:
        self._decisions.answers.append((*ticket, outcome))

    def _refuse(self, ticket: Ticket, reason: str) -> None:
        self._answer(ticket, Outcome("refused", reason=reason))
