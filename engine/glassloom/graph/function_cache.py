"""What was made of functions, such as their pickles, for as long as a function lives and reads the same."""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from typing import NamedTuple

from glassloom.graph.definitions import import_path
from glassloom.graph.identity_cache import IdentityCache
from glassloom.graph.tokenize import tokenize

_SMALL_BYTES = 64 * 1024
"""Up to here hashing what a function reads costs less than making its bytes anew."""
_MOST_USES = 16


class _Entry(NamedTuple):
    token: str
    made: dict[Hashable, bytes]


class FunctionCache:
    """Bytes made of functions that are known by their content, such as those of a notebook.

    What was made is used again while the function has the same token, and so while the globals that it reads are neither
    rebound nor changed in place. It goes when the function does. Other functions and callable objects are not kept.
    Any thread may call it: two that come at once may both make the bytes.
    """

    def __init__(self) -> None:
        self._entries: IdentityCache[_Entry] = IdentityCache()

    def get(self, function: object, use: Hashable, make: Callable[[], bytes], token: str | None = None) -> bytes:
        """Return the bytes that `make` makes of a function.

        Parameters
        ----------
        function
            What they are made of.
        use
            What else they depend on: a function has others for each.
        make
            Called if there are none, or the function has changed since.
        token
            The function's token of this moment, if it is known.
        """
        if not isinstance(function, types.FunctionType) or import_path(function) is not None:
            return make()
        entry = self._entries.get(function)
        if token is None and (entry is None or all(len(data) <= _SMALL_BYTES for data in entry.made.values())):
            token = tokenize(function)
        if token is None:
            return make()
        if entry is None or entry.token != token:
            entry = self._entries.set(function, _Entry(token, {}))
        data = entry.made.get(use)
        if data is None:
            data = make()
            if len(data) > _SMALL_BYTES or len(entry.made) == _MOST_USES:
                entry.made.clear()
            entry.made[use] = data
        return data
