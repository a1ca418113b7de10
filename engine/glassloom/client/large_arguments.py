"""A warning for arguments that each call pickles and hashes anew, which takes long and says nothing of itself."""

from __future__ import annotations

import warnings
from typing import Any

from glassloom.graph import user_origin
from glassloom.units import format_bytes

WARN_BYTES = 2**20
_SLOW_KINDS = (list, tuple, dict, set, frozenset)
"""Arrays, tables and bytes are hashed and written as fast as memory can be read."""
_MOST_PLACES = 10_000

_warned: set[tuple[str, int]] = set()
"""Lines of code that a warning was given for."""


def warn_of_large_argument(value: Any, nbytes: int) -> None:
    """Warn, once for each line of the user's code, if an argument of a call is a large container of Python objects.

    Parameters
    ----------
    nbytes
        Size of its pickle.
    """
    if nbytes <= WARN_BYTES or not isinstance(value, _SLOW_KINDS):
        return
    origin = user_origin()
    if origin is None or (origin.filename, origin.line) in _warned:
        return
    if len(_warned) >= _MOST_PLACES:
        _warned.clear()
    _warned.add((origin.filename, origin.line))
    text = (
        f"an argument is a {type(value).__name__} of {format_bytes(nbytes)}: every call that is given it pickles and hashes all of "
        "it again. Send it once and pass the future instead: future, = client.scatter([data])"
    )
    warnings.warn_explicit(text, UserWarning, origin.filename, origin.line)
