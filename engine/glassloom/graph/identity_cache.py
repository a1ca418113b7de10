"""`IdentityCache`, `BoundedIdentityCache`: what is known of objects, for as long as they live. Equal objects are told apart."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

T = TypeVar("T")


class IdentityCache(Generic[T]):
    """Values by object. Code objects, which may be equal and yet differ, need it rather than a `WeakKeyDictionary`.

    Any thread may use it: each operation is one on a dict.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[object], T]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, owner: object) -> T | None:
        """Return what is known of an object; None if nothing is."""
        entry = self._entries.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def set(self, owner: object, value: T) -> T:
        """Note and return what is known of an object, until it goes."""
        identity, entries = id(owner), self._entries

        def forget(reference: weakref.ref[object]) -> None:
            entry = entries.get(identity)
            if entry is not None and entry[0] is reference:  # else another object has the id by now
                entries.pop(identity, None)

        entries[identity] = (weakref.ref(owner, forget), value)
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
        self._entries: dict[int, tuple[weakref.ref[object], T, int]] = {}

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

        def forget(reference: weakref.ref[object]) -> None:
            entry = entries.get(identity)
            if entry is not None and entry[0] is reference:  # else another object has the id by now
                entries.pop(identity, None)

        entries.pop(identity, None)
        entries[identity] = (weakref.ref(owner, forget), value, nbytes)
        excess = self.nbytes - self.most_bytes
        while excess > 0:
            oldest = next(iter(list(entries)), None)
            gone = None if oldest is None else entries.pop(oldest, None)
            excess = excess - gone[2] if gone is not None else self.nbytes - self.most_bytes
