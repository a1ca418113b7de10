"""`FairShare`: which place in the common order a graph's tasks get, so that clients take turns, task by task.

Start-time fair queueing (P. Goyal, H. M. Vin and H. Cheng, "Start-time fair queueing", SIGCOMM 1996) with tasks of equal
cost: the n-th task of a graph gets the n-th place after the one that the cluster has reached, or after the last place of
the same client if that is later. So the places of graphs that are under way together interleave, those of one client
follow each other, and within a graph the order stays as it was. Whoever was idle has saved up nothing.
"""

from __future__ import annotations

from typing import Any

from glassloom.scheduler.state import PLACE_BITS

_MANY_CLIENTS = 64


class FairShare:
    """Gives out places. A place is a whole number, smaller goes first; larger priorities come before all others."""

    def __init__(self) -> None:
        self._reached: dict[int, int] = {}
        """By priority: the last place whose task has ended."""
        self._ends: dict[tuple[Any, int], int] = {}
        """By client and priority: the place after its last one, if that one isn't reached yet."""
        self._levels: set[int] = set()
        self._prune_at = _MANY_CLIENTS

    def assign(self, client: Any, priority: int, n_tasks: int) -> int:
        """Return the first of `n_tasks` places for a client's graph."""
        level = -priority
        self._levels.add(level)
        next_place = self._next_place(level)
        first = max(next_place, self._ends.get((client, level), next_place))
        self._ends[client, level] = first + n_tasks
        if len(self._ends) > self._prune_at:
            self._prune()
        return first

    def advance(self, place: int) -> None:
        """The task of a place has ended."""
        level = place >> PLACE_BITS
        if place > self._reached.get(level, place - 1):
            self._reached[level] = place

    def forget(self, client: Any) -> None:
        """A client is gone."""
        for level in self._levels:
            self._ends.pop((client, level), None)

    def _prune(self) -> None:
        """Forget clients whose last place is reached. Runs once for as many new clients as are left: O(1) for each."""
        self._ends = {flow: end for flow, end in self._ends.items() if end > self._next_place(flow[1])}
        self._prune_at = max(_MANY_CLIENTS, 2 * len(self._ends))

    def _next_place(self, level: int) -> int:
        return self._reached.get(level, (level << PLACE_BITS) - 1) + 1
