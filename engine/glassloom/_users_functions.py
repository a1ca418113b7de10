"""Calls of users' functions in which lazy values are no values: their text, or a look-up of one, would pass for what they stand for.

Only this thread's calls count, and what is computed in one isn't part of it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Thread(threading.local):
    gets_values = False
    refused: TypeError | None = None
    """What was raised in the call that runs. pandas takes a value whose hash is an error for one that is nowhere: it is raised after the call."""


_thread = _Thread()


def call_users_function(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a user's function, or what calls one, with computed values.

    Raises
    ------
    TypeError
        After the call, if it asked for the text or hash of a lazy value.
    """
    return _call(True, function, args, kwargs)


def without_values(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function of ours in which no user's function gets computed values, though one that does may call it."""

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return _call(False, function, args, kwargs)

    return called


def _call(gets_values: bool, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function. No context manager: an interrupt as one begins or ends would leave the thread's state changed."""
    before = _thread.gets_values, _thread.refused
    try:
        _thread.gets_values, _thread.refused = gets_values, None
        result = function(*args, **kwargs)
        if _thread.refused is not None:
            raise _thread.refused
        return result
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
