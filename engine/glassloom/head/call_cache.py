"""The code that tasks call, each piece once, for as long as a task needs it. Holds bytes; never unpickles them."""

from __future__ import annotations

from weakref import WeakValueDictionary, finalize


class Code:
    """A pickled call and its number on this cluster."""

    __slots__ = ("__weakref__", "data", "number")

    def __init__(self, number: int, data: bytes) -> None:
        self.number = number
        self.data = data


class Codebook:
    """Numbers for pieces of code; equal pieces share one. Tasks hold their `Code`; when the last is gone, so is it.

    >>> book = Codebook()
    >>> code = book.enter(b"pickled")
    >>> book.enter(b"pickled") is code
    True
    >>> del code
    >>> book.take_forgotten()
    [0]
    """

    def __init__(self) -> None:
        self._codes: WeakValueDictionary[bytes, Code] = WeakValueDictionary()
        self._next_number = 0
        self._forgotten: list[int] = []

    def enter(self, data: bytes) -> Code:
        """Return the code of these bytes."""
        code = self._codes.get(data)
        if code is None:
            code = self._codes[data] = Code(self._next_number, data)
            finalize(code, self._forgotten.append, code.number).atexit = False
            self._next_number += 1
        return code

    def take_forgotten(self) -> list[int]:
        """Return the numbers that no task uses any more, and that weren't returned before."""
        forgotten = self._forgotten[:]
        del self._forgotten[: len(forgotten)]
        return forgotten
