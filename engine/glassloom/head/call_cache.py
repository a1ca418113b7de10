"""The code that tasks call, each piece once, for as long as a task needs it. Holds bytes; never unpickles them."""

from __future__ import annotations

from weakref import WeakValueDictionary, finalize


class PickledCall:
    """A pickled call and its number on this cluster."""

    __slots__ = ("__weakref__", "data", "number")

    def __init__(self, number: int, data: bytes) -> None:
        self.number = number
        self.data = data


class CallCache:
    """Numbers for pieces of code; equal pieces share one. Tasks hold their `PickledCall`; when the last is gone, so is it.

    >>> cache = CallCache()
    >>> code = cache.intern(b"pickled")
    >>> cache.intern(b"pickled") is code
    True
    >>> del code
    >>> cache.take_unused()
    [0]
    """

    def __init__(self) -> None:
        self._calls_by_data: WeakValueDictionary[bytes, PickledCall] = WeakValueDictionary()
        self._next_number = 0
        self._unused: list[int] = []

    def intern(self, data: bytes) -> PickledCall:
        """Return the code of these bytes."""
        code = self._calls_by_data.get(data)
        if code is None:
            code = self._calls_by_data[data] = PickledCall(self._next_number, data)
            finalize(code, self._unused.append, code.number).atexit = False
            self._next_number += 1
        return code

    def take_unused(self) -> list[int]:
        """Return the numbers that no task uses any more, and that weren't returned before."""
        unused = self._unused[:]
        del self._unused[: len(unused)]
        return unused
