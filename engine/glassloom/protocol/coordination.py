"""What is asked of the coordinator of a cluster, and its answer: leases, flags, values, queues. Plain messages.

A parcel is opaque bytes, and the keys of the results that the futures in it stand for.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from glassloom.graph.keys import Key


class _Op(msgspec.Struct, frozen=True, array_like=True):
    pass


class Parcel(_Op, frozen=True):
    """A value on its way between processes, and the keys of the results that the futures in it stand for."""

    data: bytes
    keys: list[Key]


class Acquire(_Op, frozen=True, tag="acquire"):
    """Asks for one of `limit` leases; granted when one is free. The request's number is the lease's."""

    kind: str
    name: str
    limit: int


class GiveBack(_Op, frozen=True, tag="give-back"):
    """Ends a lease."""

    kind: str
    name: str
    lease: int


class CountLeases(_Op, frozen=True, tag="count-leases"):
    """Asks how many leases are taken."""

    kind: str
    name: str


class SetFlag(_Op, frozen=True, tag="set-flag"):
    """Raises a flag, or lowers it."""

    name: str
    is_up: bool


class AwaitFlag(_Op, frozen=True, tag="await-flag"):
    """Answered when the flag is up."""

    name: str


class ReadFlag(_Op, frozen=True, tag="read-flag"):
    """Asks whether the flag is up."""

    name: str


class Store(_Op, frozen=True, tag="store"):
    """Gives a name a value; refused if it has one and `replaces` is False."""

    space: str
    name: str
    parcel: Parcel
    replaces: bool


class Fetch(_Op, frozen=True, tag="fetch"):
    """Asks for the value of a name; without one it waits, or is refused."""

    space: str
    name: str
    waits: bool


class Remove(_Op, frozen=True, tag="remove"):
    """Takes a name's value away; refused if it has none."""

    space: str
    name: str


class ListNames(_Op, frozen=True, tag="list-names"):
    """Asks which names have values."""

    space: str


class Put(_Op, frozen=True, tag="put"):
    """Adds to the end of a queue; answered when there is room among `maxsize` (0: always)."""

    name: str
    parcel: Parcel
    maxsize: int


class Take(_Op, frozen=True, tag="take"):
    """Asks for the first `count` of a queue, which waits until they are there; -1: all that are there now."""

    name: str
    count: int


class CountQueued(_Op, frozen=True, tag="count-queued"):
    """Asks how long a queue is."""

    name: str


class CloseQueue(_Op, frozen=True, tag="close-queue"):
    """Empties a queue; who waits for it is refused."""

    name: str


Op = (
    Acquire
    | GiveBack
    | CountLeases
    | SetFlag
    | AwaitFlag
    | ReadFlag
    | Store
    | Fetch
    | Remove
    | ListNames
    | Put
    | Take
    | CountQueued
    | CloseQueue
)


class Outcome(_Op, frozen=True):
    """The answer: done (with what was asked for), withdrawn before it could be, or refused for a reason."""

    status: Literal["done", "withdrawn", "refused"] = "done"
    number: int = 0
    parcels: list[Parcel] = []
    names: list[str] = []
    reason: str = ""
