"""`remembered`: what is made of the same objects again and again while an expression is optimised, made once.

Rules rebuild nodes, and what is known of a node (a frame's empty result, say) is made of what is known of its operands. After
a rewrite most of those are the very objects that they were before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

_memo: ContextVar[dict[Any, tuple[Any, tuple[Any, ...]]] | None] = ContextVar("memo", default=None)


def remembering(function: Callable[[], T]) -> T:
    """Return ``function()``, remembering what is made in it until the outermost such call ends, however it does."""
    return function() if _memo.get() is not None else copy_context().run(_remember, function)


def _remember(function: Callable[[], T]) -> T:
    _memo.set({})
    return function()


def remembered(make: Callable[[], T], *parts: object) -> T:
    """Return ``make()``, or what it returned before inside `remembering` for the same objects (not: equal ones).

    Parameters
    ----------
    make
        A function without arguments whose result, which is never changed, follows from `parts`.
    parts
        All that the result is made of, with something that tells what is made.
    """
    memo = _memo.get()
    if memo is None:
        return make()
    key = tuple(map(id, parts))
    known = memo.get(key)
    if known is None:
        known = memo[key] = (make(), parts)  # as long as the parts are held, nothing else has their identities
    return known[0]
