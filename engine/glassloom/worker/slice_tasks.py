"""`SliceTasks`: the tasks of a `messages.RunSlice` on their way through a worker. No task has an object of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom.protocol.messages import RunSlice

_UNCHANGEABLE = frozenset([int, float, bool, complex, type(None), str, bytes])


class SliceTasks:
    """Tasks with consecutive numbers and the same dependencies.

    Threads take tasks from `todo` one by one, and the reading thread takes back those that are recalled, each in a single
    step of the interpreter: whoever gets a task out of it has it alone, and no lock is needed.

    Attributes
    ----------
    call
        The number of the call that all tasks make; None: each makes its own, see `call_of`.
    deps
        What each of the tasks reads.
    keys
        Of all tasks of the slice; none if they aren't told (see `RunTask`).
    numbers
        Of all tasks of the slice.
    priority
        Of the graph that they belong to.
    values
        The values of `deps`, for all tasks, if no task can change them for the others; None as long as each reads its own.
    todo
        The pickled literals of the tasks that haven't begun, by number; ``popitem`` takes the first of them.
    left
        The tasks that haven't ended, those that run included.
    """

    __slots__ = ("_calls", "call", "deps", "keys", "left", "numbers", "priority", "todo", "values")

    def __init__(self, message: RunSlice) -> None:
        self._calls = message.calls
        self.call = message.calls if isinstance(message.calls, int) else None
        self.deps = message.deps
        self.keys = message.keys
        self.values: Sequence[Any] | None = None if message.deps else ()
        self.priority = message.priority
        self.numbers = range(message.first, message.first + len(message.literals))
        self.todo = dict(zip(reversed(self.numbers), reversed(message.literals), strict=True))
        self.left = set(self.numbers)

    def call_of(self, number: int) -> int:
        """Return the number of a task's call."""
        calls = self._calls
        return calls if isinstance(calls, int) else calls[number - self.numbers.start]

    def key_of(self, number: int) -> str:
        """Return a task's key; "" if it isn't told."""
        return self.keys[number - self.numbers.start] if self.keys else ""

    def share(self, values: Sequence[Any]) -> None:
        """A task has read `deps`: let the others have the same values, if that makes no difference to them."""
        if all(type(value) in _UNCHANGEABLE for value in values):
            self.values = values

    @property
    def is_withdrawn(self) -> bool:
        """Whether no task is left that could begin."""
        return not self.todo

    def withdraw(self, number: int) -> bool:
        """Take a task back if it hasn't begun; return whether it has not."""
        if self.todo.pop(number, None) is None:
            return False
        self.left.discard(number)
        return True

    def withdraw_all(self) -> list[int]:
        """Take all tasks back that haven't begun; return which."""
        numbers = []
        try:
            while True:
                numbers.append(self.todo.popitem()[0])
        except KeyError:
            self.left.difference_update(numbers)
            return numbers
