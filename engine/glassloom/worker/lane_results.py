"""`LaneResults`: small results of one thread's tasks that aren't sent yet, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class LaneColumns(NamedTuple):
    """What was taken of a `LaneResults`."""

    numbers: list[int]
    starts_s: list[float]
    stops_s: list[float]
    nbytes: list[int]
    results: list[bytes | None]

    def rows(self, lane: int) -> Iterator[tuple[int, int, float, float, int, bytes | None]]:
        """Return the results one by one, with the number of the lane."""
        lanes = [lane] * len(self.numbers)
        return zip(self.numbers, lanes, self.starts_s, self.stops_s, self.nbytes, self.results, strict=True)


class LaneResults:
    """Columns with an element for each result.

    One thread appends, and appends to `numbers` last; another may take what is there meanwhile. Each step is one of a
    list's own methods, so neither needs a lock.

    Attributes
    ----------
    numbers, starts_s, stops_s, nbytes, results
        Of each task the number, when its function was called and had returned (monotonic), about how many bytes its
        result takes, and its pickle.
    """

    __slots__ = ("nbytes", "numbers", "results", "starts_s", "stops_s")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.starts_s: list[float] = []
        self.stops_s: list[float] = []
        self.nbytes: list[int] = []
        self.results: list[bytes | None] = []

    def take(self) -> LaneColumns:
        """Remove what is there, and return it. Called by one thread at a time."""
        n = len(self.numbers)
        taken = LaneColumns(self.numbers[:n], self.starts_s[:n], self.stops_s[:n], self.nbytes[:n], self.results[:n])
        del self.numbers[:n], self.starts_s[:n], self.stops_s[:n], self.nbytes[:n], self.results[:n]
        return taken
