"""`LaneResults`: small results of one thread's tasks that aren't sent yet, as columns."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

_SHORT_S = 100e-6
"""A task that takes less than this doesn't keep others waiting for the message that tells of it."""


class LaneColumns(NamedTuple):
    """What was taken of a `LaneResults`."""

    numbers: list[int]
    starts_s: list[float]
    stops_s: list[float]
    nbytes: list[int]
    cpu_s: Sequence[float]
    results: list[bytes | None]


class LaneResults:
    """Columns with an element for each result.

    One thread appends, and appends to `numbers` last; another may take what is there meanwhile. Each step is one of a
    list's own methods, so neither needs a lock.

    Attributes
    ----------
    numbers, starts_s, stops_s, nbytes, results
        Of each task the number, when its function was called and had returned (monotonic), about how many bytes its
        result takes, and its pickle.
    cpu_share
        Which part of the time of the last tasks the thread used a CPU; not a number: unknown.
    """

    __slots__ = ("cpu_share", "nbytes", "numbers", "results", "starts_s", "stops_s")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.starts_s: list[float] = []
        self.stops_s: list[float] = []
        self.nbytes: list[int] = []
        self.results: list[bytes | None] = []
        self.cpu_share = math.nan

    @property
    def last_was_short(self) -> bool:
        """Whether the last task whose result is here took next to no time, so that others of its slice may too."""
        starts_s, stops_s = self.starts_s[-1:], self.stops_s[-1:]
        return bool(starts_s and stops_s) and stops_s[0] - starts_s[0] < _SHORT_S

    def take(self) -> LaneColumns:
        """Remove what is there, and return it. Called by one thread at a time."""
        n = len(self.numbers)
        starts_s, stops_s, share = self.starts_s[:n], self.stops_s[:n], self.cpu_share
        cpu_s = array("f", [share * (stop - start) for start, stop in zip(starts_s, stops_s, strict=True)])
        taken = LaneColumns(self.numbers[:n], starts_s, stops_s, self.nbytes[:n], cpu_s, self.results[:n])
        del self.numbers[:n], self.starts_s[:n], self.stops_s[:n], self.nbytes[:n], self.results[:n]
        return taken


def merged(taken: Sequence[tuple[int, LaneColumns]]) -> tuple[list[int], LaneColumns]:
    """Return the results of two lanes or more in the order of their numbers: the lane of each, and the columns."""
    lanes = [lane for lane, columns in taken for _ in columns.numbers]
    joined = [list(chain.from_iterable(parts)) for parts in zip(*(columns for _, columns in taken), strict=True)]
    pick = itemgetter(*sorted(range(len(lanes)), key=joined[0].__getitem__))
    return list(pick(lanes)), LaneColumns(*(list(pick(column)) for column in joined))
