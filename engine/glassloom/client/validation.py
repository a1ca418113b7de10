"""What may be wrong with the arguments of a client's calls: checked before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from glassloom._names import check_encodable
from glassloom.errors import OptionError


def check_iterables(iterables: tuple[Any, ...]) -> None:
    """Refuse what `Client.map` can't go through."""
    if not iterables:
        raise TypeError(
            "map() needs an iterable of arguments, such as map(func, [1, 2]); for one call use submit(func)"
        )
    for number, one in enumerate(iterables):
        if not isinstance(one, Iterable) and not hasattr(one, "__getitem__"):
            raise TypeError(
                f"map() takes iterables, and number {number} is of type {type(one).__name__}: what is the same for every "
                f"call goes in as a keyword"
            )


def refuse_actors(actor: bool) -> None:
    """Say what there is instead of actors."""
    if actor:
        raise OptionError(
            "actor=True: there are no actors here; keep what tasks share in a Variable or a Queue, or, what stays in one "
            "process, as an attribute of get_worker()"
        )


def check_key(key: Any) -> None:
    """Refuse what is no key."""
    parts = key if isinstance(key, tuple) and key else (key,)
    if not isinstance(parts[0], str) or not all(type(part) in (str, int) for part in parts):
        raise OptionError(f"key={key!r} should be text, or a tuple of text and whole numbers such as ('load', 3)")
    for part in parts:
        if isinstance(part, str):
            check_encodable("key", key, part)
        elif not -(2**63) <= part < 2**63:
            raise OptionError(f"key={key!r}: {part} should have no more than 64 bits")
