"""Requests to the coordinator of a cluster, and its answer: leases, events, variables and queues. Plain messages.

A payload is opaque bytes, and the keys of the results that its futures stand for.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from glassloom.graph.keys import Key


class _Op(msgspec.Struct, frozen=True, array_like=True):
    pass


class Payload(_Op, frozen=True):
    """A value on its way between processes, and the keys of the results that the futures in it stand for."""

    data: bytes
    keys: list[Key]


class AcquireLease(_Op, frozen=True, tag="acquire"):
    """Asks for one of `limit` leases; granted when one is free. The request's number is the lease's."""

    kind: str
    name: str
    limit: int


class ReleaseLease(_Op, frozen=True, tag="release"):
    """Ends a lease."""

    kind: str
    name: str
    lease: int


class CountLeases(_Op, frozen=True, tag="count-leases"):
    """Asks how many leases are taken."""

    kind: str
    name: str


class SetEvent(_Op, frozen=True, tag="set-event"):
    """Sets or clears an event."""

    name: str
    is_set: bool


class WaitEvent(_Op, frozen=True, tag="wait-event"):
    """Answered when the event is set."""

    name: str


class ReadEvent(_Op, frozen=True, tag="read-event"):
    """Asks whether the event is set."""

    name: str


class VariableSet(_Op, frozen=True, tag="variable-set"):
    """Sets a variable; refused if it is set already and `replaces` is False."""

    space: str
    name: str
    payload: Payload
    replaces: bool


class VariableGet(_Op, frozen=True, tag="variable-get"):
    """Asks for the value of a variable; if it is not set, the request waits or is refused."""

    space: str
    name: str
    waits: bool


class VariableDelete(_Op, frozen=True, tag="variable-delete"):
    """Deletes a variable; refused if it is not set."""

    space: str
    name: str


class ListVariables(_Op, frozen=True, tag="list-variables"):
    """Asks for the names of all variables that are set."""

    space: str


class QueuePut(_Op, frozen=True, tag="queue-put"):
    """Adds to the end of a queue; answered when there is room among `maxsize` (0: always)."""

    name: str
    payload: Payload
    maxsize: int


class QueueGet(_Op, frozen=True, tag="queue-get"):
    """Asks for the first `count` of a queue, which waits until they are there; -1: all that are there now."""

    name: str
    count: int


class QueueSize(_Op, frozen=True, tag="queue-size"):
    """Asks how long a queue is."""

    name: str


class QueueClose(_Op, frozen=True, tag="queue-close"):
    """Deletes a queue; requests that wait for it are refused."""

    name: str


Op = (
    AcquireLease
    | ReleaseLease
    | CountLeases
    | SetEvent
    | WaitEvent
    | ReadEvent
    | VariableSet
    | VariableGet
    | VariableDelete
    | ListVariables
    | QueuePut
    | QueueGet
    | QueueSize
    | QueueClose
)


class Outcome(_Op, frozen=True):
    """The answer: done (with what was asked for), withdrawn before it could be, or refused for a reason."""

    status: Literal["done", "withdrawn", "refused"] = "done"
    number: int = 0
    payloads: list[Payload] = []
    names: list[str] = []
    reason: str = ""
