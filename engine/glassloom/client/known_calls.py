"""`KnownCalls`: the pickled calls that the head of a connection knows by number, so that their bytes are sent once."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence

from glassloom.protocol import messages

_MOST_CALLS = 256
_MOST_BYTES = 64 * 2**20


class KnownCalls:
    """Numbers of pickled calls, the least recently used first. Not thread-safe.

    The head knows a call from its `DefineCalls` to its `ForgetCalls`, as it handles messages in order. An interrupt in between
    leaves at worst a definition that nothing refers to, until the connection ends.

    Parameters
    ----------
    send
        Sends a message to the head.
    """

    def __init__(self, send: Callable[[messages.FromClient], None]) -> None:
        self._send = send
        self._numbers: OrderedDict[bytes, int] = OrderedDict()
        self._next_numbers = itertools.count()
        self._nbytes = 0

    def numbers(self, calls: Sequence[bytes]) -> list[int]:
        """Return the numbers of calls, for a message that is sent next; tell the head of those that are new.

        The head forgets others if it knows too many.
        """
        self._forget_some()
        return [self._number(call) for call in calls]

    def _number(self, call: bytes) -> int:
        number = self._numbers.get(call)
        if number is not None:
            self._numbers.move_to_end(call)
            return number
        number = next(self._next_numbers)
        self._send(messages.DefineCall(number, call))
        self._nbytes += len(call)
        self._numbers[call] = number
        return number

    def _forget_some(self) -> None:
        forgotten = []
        while self._numbers and (len(self._numbers) > _MOST_CALLS or self._nbytes > _MOST_BYTES):
            call, number = self._numbers.popitem(last=False)
            self._nbytes -= len(call)
            forgotten.append(number)
        if forgotten:
            self._send(messages.ForgetCalls(forgotten))
