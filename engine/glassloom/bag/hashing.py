"""A number for each key that is the same in every process, and equal for equal keys.

Python's own hash of text differs from process to process; those of numbers don't, and are equal for equal numbers of unlike type.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from hashlib import blake2b
from numbers import Number
from typing import Any

from glassloom.graph import tokenize

_BYTES = 8


def place_of(key: Any, count: int) -> int:
    """Return which of `count` outputs a key goes to.

    Raises
    ------
    TypeError
        If the key can't be hashed, so that no dict could have it.
    """
    if isinstance(key, Number):
        return hash(key) % count if key == key else _of_bytes(b"nan") % count
    return _of_bytes(_content(key)) % count


def _of_bytes(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=_BYTES).digest(), "little")


def _content(key: Any) -> bytes:
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return b"b" + key
    if isinstance(key, Number):
        return b"n%d" % (0 if isinstance(key, float) and math.isnan(key) else hash(key))
    if isinstance(key, tuple):
        return b"t" + b"".join(_sized(part) for part in key)
    if isinstance(key, frozenset):
        return b"f" + b"".join(sorted(_sized(part) for part in key))
    if not isinstance(key, Hashable):
        raise TypeError(f"a key of groups has to be hashable, got {type(key).__name__}: {key!r:.100}")
    return b"o" + tokenize(key).encode()


def _sized(part: Any) -> bytes:
    content = _content(part)
    return b"%d:" % len(content) + content
