"""The writing side of a client: tasks that are submitted one by one wait for each other, but not where something waits for them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest
from glassloom._supervision import Crash
from glassloom.client import outbox as outbox_module
from glassloom.client.blocking import run_sync
from glassloom.client.key_table import KeyTable
from glassloom.client.known_calls import KnownCalls
from glassloom.client.outbox import LIMIT_BYTES, Outbox, Outgoing
from glassloom.protocol import messages
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.merging import TaskTemplate
from glassloom.protocol.messages import framed
from glassloom_metrics.framing import FrameSplitter

TEMPLATE = TaskTemplate(1, b"code", "f", "", Annotations())
TIMEOUT_S = 60.0


class Writer:
    """An outbox, and the head's end of its socket."""

    def __init__(self) -> None:
        queue: SimpleQueue[Any] = SimpleQueue()
        ours, self.theirs = socket.socketpair()
        self.theirs.settimeout(TIMEOUT_S)
        self.crashes: list[Crash] = []
        self.table = KeyTable(queue.put)
        self.outbox = Outbox(ours, self.table, queue, KnownCalls(), on_crash=self.crashes.append)
        self.splitter = FrameSplitter()
        self.read: list[Any] = []
        self.ours = ours

    def submit(self, *keys: str) -> None:
        for key in keys:
            self.outbox.put(((key, b"", (), TEMPLATE), self.table.hold(key), 100), 100)

    def next_submit(self) -> list[Any]:
        """Return the keys of the next message with tasks."""
        while True:
            while self.read:
                message = self.read.pop(0)
                if isinstance(message, messages.Submit):
                    return message.keys
            self.read += map(messages.from_client_decoder.decode, self.splitter.feed(self.theirs.recv(2**16)))

    def close(self) -> None:
        self.outbox.end()
        self.ours.close()
        self.theirs.close()
        assert not self.crashes


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Writer]:
    monkeypatch.setattr(outbox_module, "GATHERING_S", 3600.0)
    writer = Writer()
    yield writer
    writer.close()


def test_a_task_after_a_pause_is_written_at_once(writer: Writer) -> None:
    writer.submit("a")
    assert writer.next_submit() == ["a"]


@pytest.mark.parametrize(
    "hurry",
    [
        lambda outbox: outbox.hurry(),
        lambda outbox: outbox.put(Outgoing(framed(messages.Ping(0))), 10),
        lambda outbox: run_sync(outbox.wait_for_writer(TIMEOUT_S, lambda: None)),
        lambda outbox: run_sync(outbox.wait_for_room(LIMIT_BYTES, TIMEOUT_S)),
    ],
    ids=["something waits", "another message", "a message's number", "room"],
)
def test_tasks_that_follow_are_written_together_when_something_waits(
    writer: Writer, hurry: Callable[[Outbox], Any]
) -> None:
    writer.submit("a")
    assert writer.next_submit() == ["a"]
    writer.submit("b", "c", "d")
    hurry(writer.outbox)
    assert writer.next_submit() == ["b", "c", "d"]


def test_more_than_one_system_call_may_write_does_not_wait(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "_COALESCED_BYTES", 250)
    writer.submit("a")
    assert writer.next_submit() == ["a"]
    writer.submit("b", "c", "d", "e", "f", "g", "h")
    writer.outbox.hurry()
    assert [key for _ in range(3) for key in writer.next_submit()] == ["b", "c", "d", "e", "f", "g", "h"]


def test_what_was_put_last_is_written_at_the_end(writer: Writer) -> None:
    writer.submit("a")
    assert writer.next_submit() == ["a"]
    writer.submit("b")
    writer.outbox.end()
    assert writer.next_submit() == ["b"]
