"""`MessageOrder`: lets one client's message wait until the head has handled an earlier one of another client.

Messages of one client are handled in their order. Two clients' are not ordered, but for what one tells the other without
the head: a future that it pickles. The head must have handled the message that made the future's key known before it
handles one of a client that has unpickled it, or that follows. As every wait is for a message that was numbered earlier, no
two clients can wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from glassloom_metrics.time_limit import time_limit

from glassloom.head.connections import ClientConnection

TIMEOUT_S = 10.0
"""How long a message may wait. What it waits for is in a socket by then, or its process was stopped while it wrote."""


class MessageOrder:
    """Used in the head's event loop.

    Parameters
    ----------
    clients
        Those that are connected, by number.
    settle_soon
        Lets the scheduler act on what a client has sent before the message that waits.
    """

    def __init__(self, clients: Mapping[int, ClientConnection], settle_soon: Callable[[], None]) -> None:
        self._clients = clients
        self._settle_soon = settle_soon

    async def wait_for(self, client: ClientConnection, maker: int, number: int) -> None:
        """Let a message of `client` wait for message `number` of client `maker`. Not if that has left, and not for long."""
        if not self._is_outstanding(client, maker, number):
            return
        self._settle_soon()
        client.has_progressed()
        with suppress(TimeoutError):
            async with time_limit(TIMEOUT_S):
                while self._is_outstanding(client, maker, number):
                    await self._clients[maker].progress()

    def _is_outstanding(self, client: ClientConnection, maker: int, number: int) -> bool:
        other = self._clients.get(maker)
        return other is not None and other is not client and other.n_handled < number
