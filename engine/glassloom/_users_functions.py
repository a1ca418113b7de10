"""Calls of users' functions in which lazy values are no values: their text, or a look-up of one, would pass for what they stand for.

Only this thread's calls count, and what is computed in one isn't part of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Thread(threading.local):
    gets_values = False
    refused: TypeError | None = None
    """What was raised in the call that runs. pandas takes a value whose hash is an error for one that is nowhere: it is raised after the call."""


_thread = _Thread()


@contextmanager
def users_function(gets_values: bool = True) -> Iterator[None]:
    """A block in which a user's function is called with computed values; with False, in which none is.

    Raises
    ------
    TypeError
        At the end, if the text or hash of a lazy value was asked for in it.
    """
    before = _thread.gets_values, _thread.refused
    _thread.gets_values, _thread.refused = gets_values, None
    try:
        yield
        if _thread.refused is not None:
            raise _thread.refused
    finally:
        _thread.gets_values, _thread.refused = before


def require_no_users_function(value: object, what: str) -> None:
    """Check that no user's function is called that gets computed values.

    Raises
    ------
    TypeError
        If one is: it would take `what` of a lazy value for that of the value.
    """
    if _thread.gets_values:
        _thread.refused = TypeError(
            f"{what} of a lazy {type(value).__name__} in a function that gets computed values isn't that of its value: compute() it before "
            "the call"
        )
        raise _thread.refused
