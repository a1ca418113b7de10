"""The order in which the head handles what two clients send."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from glassloom.head import message_order
from glassloom.head.connections import ClientConnection
from glassloom.head.message_order import MessageOrder

NO_WRITER: Any = None


def clients_that_have_sent(*n_handled: int) -> dict[int, ClientConnection]:
    return {number: ClientConnection(number, NO_WRITER, handled) for number, handled in enumerate(n_handled)}


async def is_waiting(waiting: asyncio.Future[None]) -> bool:
    for _ in range(5):
        await asyncio.sleep(0)
    return not waiting.done()


def test_a_message_waits_until_the_other_clients_message_was_handled() -> None:
    async def scenario() -> None:
        asker, maker = (clients := clients_that_have_sent(5, 1)).values()
        settled: list[int] = []
        order = MessageOrder(clients, lambda: settled.append(asker.n_handled))
        waiting = asyncio.ensure_future(order.wait_for(asker, 1, 3))
        assert await is_waiting(waiting)
        maker.n_handled = 2
        maker.has_progressed()
        assert await is_waiting(waiting)
        maker.n_handled = 3
        maker.has_progressed()
        await waiting
        assert settled == [5]

    asyncio.run(scenario())


def test_a_message_waits_for_no_client_that_has_left_or_leaves() -> None:
    async def scenario() -> None:
        asker, maker = (clients := clients_that_have_sent(1, 1)).values()
        order = MessageOrder(clients, lambda: None)
        await order.wait_for(asker, 7, 3)
        waiting = asyncio.ensure_future(order.wait_for(asker, 1, 3))
        assert await is_waiting(waiting)
        del clients[1]
        maker.has_progressed()
        await waiting

    asyncio.run(scenario())


def test_a_client_does_not_wait_for_itself() -> None:
    asker = (clients := clients_that_have_sent(1))[0]
    asyncio.run(MessageOrder(clients, lambda: None).wait_for(asker, 0, 3))


def test_a_message_that_waits_lets_others_go_on_that_wait_for_what_came_before_it() -> None:
    async def scenario() -> None:
        first, second, _ = (clients := clients_that_have_sent(0, 2, 0)).values()
        order = MessageOrder(clients, lambda: None)
        waiting = asyncio.ensure_future(order.wait_for(first, 1, 3))
        assert await is_waiting(waiting)
        second.n_handled = 3  # in one batch with a message that has to wait itself
        blocked = asyncio.ensure_future(order.wait_for(second, 2, 1))
        await waiting
        assert await is_waiting(blocked)
        blocked.cancel()

    asyncio.run(scenario())


def test_a_message_does_not_wait_for_long_for_a_process_that_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_order, "TIMEOUT_S", 0.01)
    asker = (clients := clients_that_have_sent(1, 1))[0]
    asyncio.run(MessageOrder(clients, lambda: None).wait_for(asker, 1, 3))
