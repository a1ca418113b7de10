"""`Activity`: whether a cluster is in use. It looks, and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping

from glassloom.head.connections import ClientConnection
from glassloom.head.queries import ClientQueries
from glassloom.scheduler import Scheduler


class Activity:
    """What the head knows of being used; called in its event loop.

    Parameters
    ----------
    clients
        Those that are connected now.
    """

    def __init__(self, scheduler: Scheduler, queries: ClientQueries, clients: Mapping[int, ClientConnection]) -> None:
        self._scheduler = scheduler
        self._queries = queries
        self._clients = clients
        self._handled: dict[int, int] = {}

    def is_seen(self) -> bool:
        """Tell whether the cluster is in use: any task is known, or a client has said something since the last call.

        A task is known while it waits or runs, and for as long as anybody holds its result. A client that waits for a lock,
        a worker or an answer says so every few seconds.
        """
        handled = {number: client.n_handled for number, client in self._clients.items()}
        has_spoken = any(count != self._handled.get(number) for number, count in handled.items())
        self._handled = handled
        return has_spoken or len(self._scheduler.tasks) > 0 or self._queries.n_invocations > 0
