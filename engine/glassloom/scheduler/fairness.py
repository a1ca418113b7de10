"""`FairShare`: which place in the common order a graph's tasks get, so that clients take turns, task by task.

Start-time fair queueing (P. Goyal, H. M. Vin and H. Cheng, "Start-time fair queueing", SIGCOMM 1996) with tasks of equal
cost: the n-th new task of a graph gets the n-th place after the one that the cluster has reached, or after the last place of
the same client if that is later. So the places of graphs that are under way together interleave, those of one client
follow each other, and within a graph the order stays as it was. Whoever was idle has saved up nothing.

A client is charged for what runs for it: not for tasks that were known already, and it gets back the last of its places
whose tasks were given up before they ended (cancelled, released, or failed with what they depend on): its next graph
begins after the last of its places that isn't given up. Places before that stay where they are, as do the tasks that have
them, so that one client's graphs go in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom.scheduler.state import PLACE_BITS, Places, TaskState

_MANY_CLIENTS = 64


class FairShare:
    """Gives out places. A place is a whole number, smaller goes first; larger priorities come before all others."""

    def __init__(self) -> None:
        self._reached: dict[int, int] = {}
        """By priority: the last place whose task has ended."""
        self._places: dict[tuple[Any, int], Places] = {}
        """By client and priority: its places, if the last one isn't reached yet."""
        self._levels: set[int] = set()
        self._prune_at = _MANY_CLIENTS

    def assign(self, client: Any, priority: int, n_tasks: int) -> tuple[int, Places]:
        """Return the first of `n_tasks` places for a client's graph, and all places of the client, to give them up."""
        level = -priority
        self._levels.add(level)
        next_place = self._next_place(level)
        places = self._places.get((client, level))
        if places is None:
            places = self._places[client, level] = Places(next_place)
        first = places.extend(next_place, n_tasks)
        if len(self._places) > self._prune_at:
            self._prune()
        return first, places

    def charge(self, client: Any, priority: int, tasks: Sequence[TaskState]) -> None:
        """Give a client's new tasks their places, in this order."""
        if tasks:
            first, places = self.assign(client, priority, len(tasks))
            for place, task in enumerate(tasks, first):
                task.priority, task.places = place, places

    def advance(self, place: int) -> None:
        """The task of a place has ended."""
        level = place >> PLACE_BITS
        if place > self._reached.get(level, place - 1):
            self._reached[level] = place

    def forget(self, client: Any) -> None:
        """A client is gone."""
        for level in self._levels:
            self._places.pop((client, level), None)

    def _prune(self) -> None:
        """Forget clients whose last place is reached. Runs once for as many new clients as are left: O(1) for each."""
        self._places = {flow: places for flow, places in self._places.items() if places.end > self._next_place(flow[1])}
        self._prune_at = max(_MANY_CLIENTS, 2 * len(self._places))

    def _next_place(self, level: int) -> int:
        return self._reached.get(level, (level << PLACE_BITS) - 1) + 1
