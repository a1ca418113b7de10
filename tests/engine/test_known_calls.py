"""Pickled calls that a connection's head knows by number: their bytes are sent once, and a bounded number is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from glassloom import Client
from glassloom.client import known_calls
from glassloom.client.known_calls import KnownCalls
from glassloom.protocol.messages import DefineCall, ForgetCalls
from hypothesis import given
from hypothesis import strategies as st


class Head:
    """What a head that handles messages in order knows."""

    def __init__(self) -> None:
        self.calls: dict[int, bytes] = {}
        self.n_defined = 0

    def handle(self, message: Any) -> None:
        if isinstance(message, DefineCall):
            self.calls[message.number] = message.call
            self.n_defined += 1
        else:
            assert isinstance(message, ForgetCalls)
            for number in message.numbers:
                del self.calls[number]


def numbers(known: KnownCalls, head: Head, calls: list[bytes]) -> list[int]:
    """Return the numbers of calls for a message that is sent now."""
    found = [known.number(call) for call in calls]
    for message in known.introduce(dict(zip(found, calls, strict=True))):
        head.handle(message)
    return found


@given(st.lists(st.lists(st.binary(min_size=1, max_size=2), max_size=4), max_size=40), st.integers(0, 8))
def test_the_head_knows_each_number_that_it_is_told_and_not_many_more(messages: list[list[bytes]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_calls, "_MOST_CALLS", most)
        head = Head()
        known = KnownCalls()
        for calls in messages:
            assert [head.calls[number] for number in numbers(known, head, calls)] == calls
            assert len(head.calls) <= most + len(set(calls))
            assert known._numbers.keys() == set(head.calls.values())


def test_a_call_is_defined_once_and_many_bytes_are_forgotten_with_the_next_message() -> None:
    head = Head()
    known = KnownCalls()
    small, large = b"small", bytes(known_calls._MOST_BYTES)
    for _ in range(3):
        numbers(known, head, [small])
    assert head.n_defined == 1
    for _ in range(3):
        numbers(known, head, [large])
    assert (head.n_defined, list(head.calls.values())) == (2, [large])


def test_a_number_that_was_given_out_before_the_head_forgot_it_is_defined_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known_calls, "_MOST_CALLS", 0)
    head = Head()
    known = KnownCalls()
    (number,) = numbers(known, head, [b"one"])
    numbers(known, head, [b"other"])
    assert not known.is_defined(number)
    for message in known.introduce({number: b"one"}):
        head.handle(message)
    assert head.calls[number] == b"one"
    assert known.number(b"one") == number


def test_a_function_that_reads_a_large_array_is_sent_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    outbox = client._connection._outbox
    assert outbox is not None
    cell: dict[str, Any] = {"__name__": "__main__", "table": np.arange(2**18)}
    exec("def read(x):\n    return int(table[-1]) + x", cell)
    for pure in (True, True, False, False):
        future = client.submit(cell["read"], len(written), pure=pure)
        assert future.result(timeout=60) == 2**18 - 1 + len(written)
        written.append(outbox.written_bytes)
    assert written[0] >= 2**21
    assert written[3] - written[0] < 20_000
    cell["table"] = np.zeros(2**18, int)
    assert client.submit(cell["read"], 0).result(timeout=60) == 0
