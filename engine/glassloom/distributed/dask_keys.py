"""Dask's keys as ours. Dask's may be any hashable value, mostly text, bytes, numbers and nested tuples; ours are narrower (see `Key`).

Keys that are equal in a dict of Python's become one key of ours. Keys that differ become different ones: what isn't a key of ours
as it is becomes text with a checksum of the whole key, which no other key ends with.
"""

from __future__ import annotations

import numbers
from hashlib import blake2b
from typing import Any

from dask.utils import key_split

from glassloom._text import encodable
from glassloom.graph import Key, tokenize

_UUID_DASHES = (-13, -18, -23, -28)
"""Where the dashes of a UUID at the end of a text are."""
_MOST = 2**63


def our_key(key: Any) -> Key:
    """Return our key for one of Dask's: itself if it is one of ours too. It keeps the layer's name, so that dashboards show Dask's.

    A UUID at the end loses its dashes, or each call of `dask.delayed` would be a layer of its own.

    >>> our_key(("sum-3f2a", 0, 1)), our_key("inc-3f2a"), our_key("inc-9d9c0bd6-5a2c-4c8e-8b5f-6f2b0c1d2e3f")
    (('sum-3f2a', 0, 1), 'inc-3f2a', 'inc-9d9c0bd65a2c4c8e8b5f6f2b0c1d2e3f27b35e223c48')
    >>> our_key(("sum-3f2a", (0, 1.5))), our_key(1) == our_key(True) == our_key(1.0)
    (('sum', "('sum-3f2a', (0, 1.5)) #73695cc5c522"), True)
    """
    kind = type(key)
    if kind is str:
        return _text_key(key)
    if kind is tuple and key and type(key[0]) is str and _are_plain(key):
        ours: Key = key
        return ours
    key = _canonical(key)
    if type(key) is str:
        return _text_key(key)
    if type(key) is tuple and key and type(key[0]) is str and _are_plain(key):
        return key
    name = (
        key.kind
        if isinstance(key, _Other)
        else key_split(key)
        if isinstance(key, (tuple, bytes)) and key
        else type(key).__name__
    )
    text = repr(key)
    return (encodable(name), f"{encodable(text)} #{_checksum(text)}")


def _text_key(key: str) -> Key:
    if key[-13:-12] == "-" and len(key) > 36 and all([key[place] == "-" for place in _UUID_DASHES]):
        return encodable(key[:-36] + key[-36:].replace("-", "")) + _checksum(key)
    if key.isascii() or _can_be_encoded(key):
        return key
    return f"{encodable(key)} #{_checksum(key)}"


def _are_plain(parts: tuple[Any, ...]) -> bool:
    for part in parts:
        kind = type(part)
        if kind is int:
            if not -_MOST <= part < _MOST:
                return False
        elif kind is not str or not (part.isascii() or _can_be_encoded(part)):
            return False
    return True


def _can_be_encoded(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _checksum(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


class _Other:
    """A key, or a part of one, that is neither text, nor a number, nor a tuple of these; known by its token."""

    def __init__(self, value: Any) -> None:
        self.kind = type(value).__name__
        self.text = f"<{type(value).__qualname__} {tokenize(value)}>"

    def __repr__(self) -> str:
        return self.text


def _canonical(part: Any) -> Any:
    """Return the same for all that are equal: 1, True and 1.0, or a text and NumPy's string of it."""
    if isinstance(part, tuple):
        return tuple(map(_canonical, part))
    if isinstance(part, str):
        return str.__str__(part)
    if isinstance(part, bytes):
        return bytes(part)
    if part is None:
        return part
    if isinstance(part, numbers.Number):
        return _number(part)
    return _Other(part)


def _number(part: Any) -> Any:
    try:
        whole = int(part)
        return whole if whole == part else float(part) if float(part) == part else _Other(part)
    except (TypeError, ValueError, OverflowError):  # a complex number, infinity or NaN
        return float(part) if isinstance(part, numbers.Real) else _Other(part)
