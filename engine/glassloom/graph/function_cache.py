"""Tokens of functions and what was made of functions, such as their pickles: for as long as a function lives and reads the same."""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from glassloom.graph.definitions import import_path
from glassloom.graph.function_reads import FunctionReads
from glassloom.graph.identity_cache import IdentityCache
from glassloom.graph.origin import notebook_execution
from glassloom.graph.tokenize import tokenize

T = TypeVar("T")

_SMALL_BYTES = 64 * 1024
_MOST_USES = 16
_MOST_SHARE = 0.01
"""The part of the time that may go into looking again at large values which seem to be the same."""


@dataclass(slots=True)
class _Entry:
    reads: FunctionReads
    token: str
    looked_s: float
    took_s: float
    execution: int
    made: dict[Hashable, Any] = field(default_factory=dict)


class Known(NamedTuple):
    """What is known of a function: its token, what was made of it, and what tells whether both are still right."""

    token: str
    made: Any
    still_holds: Callable[[], bool]


class FunctionCache:
    """Tokens, and bytes made of functions. Any thread may call it: two that come at once may both make them.

    What is known is used again while the function reads the same: see `FunctionReads`. Large values that a function reads
    are looked at in full when a notebook runs another cell, and else as often as `_MOST_SHARE` of the time allows. What is
    changed in place in between may be missed. Callable objects other than functions are not kept.

    Parameters
    ----------
    now_s, execution
        The time, and the number of the notebook's cell that runs.
    """

    def __init__(
        self, now_s: Callable[[], float] = perf_counter, execution: Callable[[], int] = notebook_execution
    ) -> None:
        self._now_s = now_s
        self._execution = execution
        self._entries: IdentityCache[_Entry] = IdentityCache()

    def token(self, function: Callable[..., object]) -> str:
        """Return a function's token, as `tokenize` does."""
        entry = self._current(function)
        if entry is None:
            return tokenize(function)
        if not entry.token:
            start_s = self._now_s()
            entry.token = tokenize(function)
            entry.took_s += self._now_s() - start_s
        return entry.token

    def get(
        self,
        function: object,
        use: Hashable,
        make: Callable[[], T],
        token: str | None = None,
        size: Callable[[T], int] = len,  # type: ignore[assignment]
    ) -> T:
        """Return what `make` makes of a function, bytes or something with bytes in it.

        Parameters
        ----------
        function
            What they are made of.
        use
            What else they depend on: a function has others for each.
        make
            Called if there are none, or the function has changed since.
        token
            What `token` has returned just now, if it was called.
        size
            Returns how many bytes that has.
        """
        entry = self._entries.get(function) if token else None
        if entry is None or entry.token != token:
            entry = self._current(function)
        if entry is None:
            return make()
        data: T | None = entry.made.get(use)
        if data is None:
            start_s = self._now_s()
            data = make()
            entry.took_s += self._now_s() - start_s
            if size(data) > _SMALL_BYTES or len(entry.made) == _MOST_USES:
                entry.made.clear()
            entry.made[use] = data
        return data

    def known(self, function: object, use: Hashable) -> Known | None:
        """Return what `token` and `get` would, if both are there already."""
        entry = self._entries.get(function)
        data = None if entry is None else entry.made.get(use)
        if entry is None or data is None or not entry.token:
            return None
        still_holds = partial(self._still_holds, entry) if entry.reads.has_large else entry.reads.still_hold
        return Known(entry.token, data, still_holds) if still_holds() else None

    def _still_holds(self, entry: _Entry) -> bool:
        return not (entry.reads.has_large and self._is_due(entry)) and entry.reads.still_hold()

    def _current(self, function: object) -> _Entry | None:
        """Return what is known of a function as it is now; None if nothing is kept of such."""
        if not isinstance(function, types.FunctionType) and (
            not isinstance(function, types.BuiltinFunctionType) or import_path(function) is None
        ):
            return None
        entry = self._entries.get(function)
        if entry is not None and self._still_holds(entry):
            return entry
        return self._look(function, entry)

    def _is_due(self, entry: _Entry) -> bool:
        is_time = (self._now_s() - entry.looked_s) * _MOST_SHARE > entry.took_s
        return is_time or self._execution() != entry.execution

    def _look(self, function: Callable[..., object], former: _Entry | None) -> _Entry:
        start_s = self._now_s()
        reads = FunctionReads(function)
        token = tokenize(function) if former is not None and former.token else ""
        now_s = self._now_s()
        entry = _Entry(reads, token, now_s, now_s - start_s, self._execution())
        if former is not None and token and token == former.token:
            entry.made, entry.took_s = former.made, max(entry.took_s, former.took_s)
        return self._entries.set(function, entry)
