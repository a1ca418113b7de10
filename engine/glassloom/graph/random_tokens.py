"""Random tokens: names for calls of which no two are equal, even if all that they are made of is."""

from __future__ import annotations

import os

_BYTES = 16
_AT_ONCE = 256
"""Asking the system for random bytes takes longer than all else about a token, so they are fetched for many."""

_fresh: list[str] = []


def random_token() -> str:
    """Return a token that no other call, in no process, has returned. Any thread may call it."""
    try:
        return _fresh.pop()
    except IndexError:
        text = os.urandom(_BYTES * _AT_ONCE).hex()
        first, *others = [text[start : start + 2 * _BYTES] for start in range(0, len(text), 2 * _BYTES)]
        _fresh.extend(others)
        return first


os.register_at_fork(after_in_child=_fresh.clear)  # they are its parent's
