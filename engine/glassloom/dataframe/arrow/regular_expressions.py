"""Regular expressions for Arrow: those of Python's that can be said to RE2, which finds the same in plain text.

RE2 (https://github.com/google/re2/wiki/Syntax) takes the first alternative that matches, as Python does, but has other classes of
characters beyond ASCII, other escapes, and neither looks around nor refers back. So an expression is written anew from what Python's
parser makes of it, and what has no equal there isn't written at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MOST_REPEATS = 1000
"""RE2 takes no more."""
_CLASSES = {
    _constants.CATEGORY_DIGIT: r"\d", _constants.CATEGORY_NOT_DIGIT: r"\D", _constants.CATEGORY_WORD: r"\w",
    _constants.CATEGORY_NOT_WORD: r"\W", _constants.CATEGORY_SPACE: r"\s", _constants.CATEGORY_NOT_SPACE: r"\S",
}  # fmt: skip
_PLACES = {
    _constants.AT_BEGINNING: "^", _constants.AT_END: "$", _constants.AT_BOUNDARY: r"\b",
}  # fmt: skip
_UNLIKE = np.zeros(256, np.uint8)
_UNLIKE[[0x0B, *range(0x1C, 0x20), *range(128, 256)]] = 2
_UNLIKE[0x0A] = 1


class Translated(NamedTuple):
    """An expression as RE2 takes it, its groups named ``g1``, ``g2`` and so on.

    `takes_characters` says whether what it matches is never empty, `has_places` whether it depends on what is before or after, and `has_end`
    whether it has a ``$``, which in Python is before a last line end, too.
    """

    pattern: str
    n_groups: int
    takes_characters: bool
    has_places: bool
    has_end: bool

    def finds_the_same_in(self, array: pa.Array) -> bool:
        """Whether it matches in some texts what Python's matches."""
        return _most_unlike(array) <= (0 if self.has_end else 1)


def is_plain(array: pa.Array) -> bool:
    """Whether texts are of ASCII characters of which Python and Arrow take the same ones for white space."""
    return _most_unlike(array) <= 1


def _most_unlike(array: pa.Array) -> int:
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return 0
    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    bounds = np.frombuffer(offsets, kind)[[array.offset, array.offset + len(array)]]
    characters = np.frombuffer(data, np.uint8)[bounds[0] : bounds[1]]
    if not len(characters) or (characters.min() >= 0x20 and characters.max() < 128):
        return 0
    return int(_UNLIKE[characters].max())


class _NotThere(Exception):
    """RE2 has nothing like it, or not for sure."""


@lru_cache(maxsize=256)
def translated(pattern: str, flags: int = 0) -> Translated | None:
    """Return a regular expression of Python's as one for RE2 with the same matches in texts for which `finds_the_same_in` holds.

    None if there may be none. Groups are all there in each match: none is optional, repeated, or in an alternative.

    >>> translated(r"#(\\w+),? *").pattern
    '\\\\x{23}(?P<g1>(?:[\\\\w])+)(?:\\\\x{2c}){0,1}(?:\\\\x{20})*'
    """
    try:
        parsed = _parser.parse(pattern, flags)
        if parsed.state.flags & ~(re.UNICODE | re.IGNORECASE):
            return None
        written = _written(parsed, captures=True)
    except (_NotThere, re.error, RecursionError, OverflowError):
        return None
    written = "(?i)" * bool(parsed.state.flags & re.IGNORECASE) + written
    try:
        pc.match_substring_regex(pa.scalar(""), written)
    except pa.ArrowInvalid:  # too large
        return None
    places = [where for operation, where in _all_below(parsed) if operation is _constants.AT]
    has_end = _constants.AT_END in places
    return Translated(written, parsed.state.groups - 1, parsed.getwidth()[0] > 0, bool(places), has_end)


def _all_below(parsed: Any) -> Iterable[tuple[Any, Any]]:
    for operation, value in parsed:
        yield operation, value
        inner = value if isinstance(value, (tuple, list)) else ()
        for one in inner:
            for below in one if isinstance(one, list) else [one]:
                if isinstance(below, _parser.SubPattern):
                    yield from _all_below(below)


def _written(parsed: Any, *, captures: bool) -> str:
    return "".join(_one(operation, value, captures) for operation, value in parsed)


def _one(operation: Any, value: Any, captures: bool) -> str:
    if operation is _constants.LITERAL:
        return _character(value)
    if operation is _constants.NOT_LITERAL:
        return f"[^{_character(value)}]"
    if operation is _constants.ANY:
        return "."
    if operation is _constants.IN:
        return _class(value)
    if operation is _constants.AT and value in _PLACES:
        return _PLACES[value]
    if operation is _constants.BRANCH:
        return "(?:" + "|".join(_written(one, captures=False) for one in value[1]) + ")"
    if operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
        return _repeated(value, is_lazy=operation is _constants.MIN_REPEAT)
    if operation is _constants.SUBPATTERN:
        return _group(value, captures)
    raise _NotThere


def _character(code: int) -> str:
    if code >= 128:
        raise _NotThere
    return f"\\x{{{code:x}}}"


def _class(items: Any) -> str:
    written = []
    for operation, value in items:
        if operation is _constants.NEGATE:
            written.append("^")
        elif operation is _constants.LITERAL:
            written.append(_character(value))
        elif operation is _constants.RANGE:
            written.append("-".join(map(_character, value)))
        elif operation is _constants.CATEGORY and value in _CLASSES:
            written.append(_CLASSES[value])
        else:
            raise _NotThere
    return f"[{''.join(written)}]"


def _repeated(value: Any, *, is_lazy: bool) -> str:
    least, most, below = value
    is_open = most is _constants.MAXREPEAT
    if max(least, 0 if is_open else most) > _MOST_REPEATS or not below.getwidth()[0]:
        raise _NotThere
    counts = {(0, True): "*", (1, True): "+"}.get((least, is_open)) or f"{{{least},{'' if is_open else most}}}"
    return f"(?:{_written(below, captures=False)}){counts}{'?' * is_lazy}"


def _group(value: Any, captures: bool) -> str:
    number, more_flags, fewer_flags, below = value
    if more_flags or fewer_flags:
        raise _NotThere
    inner = _written(below, captures=captures)
    if number is None:
        return f"(?:{inner})"
    if not captures:
        raise _NotThere
    return f"(?P<g{number}>{inner})"
