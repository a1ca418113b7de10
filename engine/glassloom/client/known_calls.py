"""`KnownCalls`: the pickled calls that the head of a connection knows by number, so that their bytes are sent once."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Mapping

from glassloom.protocol import messages

_MOST_CALLS = 256
_MOST_BYTES = 64 * 2**20


class KnownCalls:
    """Numbers of pickled calls.

    Any thread gets a call's number; the thread that writes has the head told of it before a message refers to it. The head
    knows a call from its `DefineCall` to its `ForgetCalls`, as it handles messages in order; a call that it has forgotten is
    defined again.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._next_numbers = itertools.count()
        self._defined: OrderedDict[int, bytes] = OrderedDict()
        """What the head knows, the least recently used first."""
        self._nbytes = 0

    # Called by anyone

    def number(self, call: bytes) -> int:
        """Return the number of a call. An interrupt leaves at worst one that nothing refers to."""
        number = self._numbers.get(call)
        return self._numbers.setdefault(call, next(self._next_numbers)) if number is None else number

    def is_defined(self, number: int) -> bool:
        """Tell whether the head knows a number, as far as the writer has come."""
        return number in self._defined

    # Called by the thread that writes

    def introduce(self, calls: Mapping[int, bytes]) -> list[messages.FromClient]:
        """Return what the head must be told before a message that refers to these calls. It forgets others if it knows too many."""
        told: list[messages.FromClient] = self._forget_some()
        for number, call in calls.items():
            if number in self._defined:
                self._defined.move_to_end(number)
            else:
                self._defined[number] = call
                self._numbers.setdefault(call, number)  # it may have been forgotten since it was given out
                self._nbytes += len(call)
                told.append(messages.DefineCall(number, call))
        return told

    def _forget_some(self) -> list[messages.FromClient]:
        forgotten = []
        while self._defined and (len(self._defined) > _MOST_CALLS or self._nbytes > _MOST_BYTES):
            number, call = self._defined.popitem(last=False)
            self._nbytes -= len(call)
            if self._numbers.get(call) == number:
                del self._numbers[call]
            forgotten.append(number)
        return [messages.ForgetCalls(forgotten)] if forgotten else []
