"""`Layer`: an operation of a graph, as the cluster announces it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """A layer of a graph: its operation's name, how many tasks it has, and the user's line that built it.

    ``prefix`` is what its keys have before the index (``""``: not told); ``is_tuple`` whether they are tuples.
    """

    id: int
    name: str
    total: int
    origin: str
    prefix: str = ""
    is_tuple: bool = False
