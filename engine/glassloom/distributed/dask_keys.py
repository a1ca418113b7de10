"""Dask's keys as ours. Dask's may be any hashable text, bytes, number or nested tuple of these; ours are narrower (see `Key`)."""

from __future__ import annotations

from typing import Any

from dask.utils import key_split

from glassloom._text import encodable
from glassloom.graph import Key

_UUID_DASHES = (-13, -18, -23, -28)
"""Where the dashes of a UUID at the end of a text are."""
_MOST = 2**63


def our_key(key: Any) -> Key:
    """Return our key for one of Dask's: itself if it is one of ours too. It keeps the layer's name, so that dashboards show Dask's.

    A UUID at the end loses its dashes, or each call of `dask.delayed` would be a layer of its own.

    >>> our_key(("sum-3f2a", 0, 1)), our_key("inc-3f2a"), our_key("inc-9d9c0bd6-5a2c-4c8e-8b5f-6f2b0c1d2e3f")
    (('sum-3f2a', 0, 1), 'inc-3f2a', 'inc-9d9c0bd65a2c4c8e8b5f6f2b0c1d2e3f')
    >>> our_key(("sum-3f2a", (0, 1.5))), our_key(1)
    (('sum', "('sum-3f2a', (0, 1.5))"), ('int', '1'))
    """
    kind = type(key)
    if kind is str:
        return _text_key(key)
    if kind is tuple and key and type(key[0]) is str and _are_plain(key[1:]) and key[0].isascii():
        ours: Key = key
        return ours
    name = key_split(key) if isinstance(key, (tuple, bytes)) and key else kind.__name__
    return (encodable(name), encodable(repr(key)))


def _text_key(key: str) -> Key:
    if key[-13:-12] == "-" and len(key) > 36 and all([key[place] == "-" for place in _UUID_DASHES]):
        return encodable(key[:-36] + key[-36:].replace("-", ""))
    return key if key.isascii() else encodable(key)


def _are_plain(parts: tuple[Any, ...]) -> bool:
    for part in parts:
        kind = type(part)
        if kind is int:
            if not -_MOST <= part < _MOST:
                return False
        elif kind is not str or not part.isascii():
            return False
    return True
