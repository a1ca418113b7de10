"""`IdentityCache`, `BoundedIdentityCache`: what is known of objects, for as long as they live. Equal objects are told apart."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Reference(weakref.ref[object]):
    """A weak reference that knows the identity of an object that is gone, so that all of a cache share one callback.

    A callback each, with what it holds, would be four more objects for the garbage collector to walk.
    """

    __slots__ = ("identity",)

    identity: int


def _referring(owner: object, forget: Callable[[Any], None]) -> _Reference:
    reference = _Reference(owner, forget)
    reference.identity = id(owner)
    return reference


def _forgetting(entries: dict[int, Any]) -> Callable[[Any], None]:
    """Return what removes the entry of a reference whose object is gone. The entries begin with the references."""

    def forget(reference: _Reference) -> None:
        entry = entries.get(reference.identity)
        if entry is not None and entry[0] is reference:  # else another object has the id by now
            entries.pop(reference.identity, None)

    return forget


class IdentityCache(Generic[T]):
    """Values by object. Code objects, which may be equal and yet differ, need it rather than a `WeakKeyDictionary`.

    Any thread may use it: each operation is one on a dict.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[_Reference, T]] = {}
        self._forget = _forgetting(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, owner: object) -> T | None:
        """Return what is known of an object; None if nothing is."""
        entry = self._entries.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def set(self, owner: object, value: T) -> T:
        """Note and return what is known of an object, until it goes."""
        self._entries[id(owner)] = (_referring(owner, self._forget), value)
        return value


class BoundedIdentityCache(Generic[T]):
    """An `IdentityCache` whose values take at most some bytes; the oldest go first.

    Parameters
    ----------
    most_bytes
        The bound. A value that takes more by itself isn't kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._entries: dict[int, tuple[_Reference, T, int]] = {}
        self._forget = _forgetting(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def nbytes(self) -> int:
        """Bytes that the values take."""
        return sum(entry[2] for entry in list(self._entries.values()))

    def get(self, owner: object) -> T | None:
        """Return what is known of an object; None if nothing is."""
        entry = self._entries.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def set(self, owner: object, value: T, nbytes: int) -> None:
        """Note what is known of an object, until it goes or newer values need the space."""
        if nbytes > self.most_bytes:
            return
        identity, entries = id(owner), self._entries
        entries.pop(identity, None)
        entries[identity] = (_referring(owner, self._forget), value, nbytes)
        excess = self.nbytes - self.most_bytes
        while excess > 0:
            oldest = next(iter(list(entries)), None)
            gone = None if oldest is None else entries.pop(oldest, None)
            excess = excess - gone[2] if gone is not None else self.nbytes - self.most_bytes
