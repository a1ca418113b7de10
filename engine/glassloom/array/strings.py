"""Functions of text, element by element, as `numpy.strings` has them: on arrays of ``str`` and ``bytes`` of a fixed width.

What is missing (`replace`, `multiply`, `partition`, `encode`...) makes text whose width is known only when all of it is made;
``x.map_blocks(numpy.strings.replace, "a", "bb", dtype="U20")`` says a width.

>>> import glassloom.array as ga
>>> names = ga.from_array(["ada", "grace", "alan"], chunks=2)
>>> names[ga.strings.startswith(names, "a")].compute()
array(['ada', 'alan'], dtype='<U5')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray, operand_of
from glassloom.array.api.dispatch import implements
from glassloom.array.api.ufuncs import (
    Ufunc,
    add,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
)
from glassloom.array.ops.elementwise import elementwise

__all__ = [
    "add", "capitalize", "center", "count", "endswith", "equal", "find", "greater", "greater_equal", "index", "isalnum", "isalpha",
    "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "less", "less_equal", "ljust", "lower", "lstrip",
    "not_equal", "rfind", "rindex", "rjust", "rstrip", "startswith", "str_len", "strip", "swapcase", "title", "upper", "zfill",
]  # fmt: skip


def _ufunc(function: Any) -> Ufunc:
    """NumPy's types call these ufuncs functions."""
    return Ufunc(function)


isalnum = _ufunc(np.strings.isalnum)
isalpha = _ufunc(np.strings.isalpha)
isdecimal = _ufunc(np.strings.isdecimal)
isdigit = _ufunc(np.strings.isdigit)
islower = _ufunc(np.strings.islower)
isnumeric = _ufunc(np.strings.isnumeric)
isspace = _ufunc(np.strings.isspace)
istitle = _ufunc(np.strings.istitle)
isupper = _ufunc(np.strings.isupper)
str_len = _ufunc(np.strings.str_len)


@implements(np.strings.capitalize)
def capitalize(a: Any) -> Array:
    """Return text with its first letter a capital and the others small."""
    return _applied(np.strings.capitalize, a)


@implements(np.strings.lower)
def lower(a: Any) -> Array:
    """Return text in small letters."""
    return _applied(np.strings.lower, a)


@implements(np.strings.swapcase)
def swapcase(a: Any) -> Array:
    """Return text with small letters made capitals and capitals small letters."""
    return _applied(np.strings.swapcase, a)


@implements(np.strings.title)
def title(a: Any) -> Array:
    """Return text with the first letter of each word a capital."""
    return _applied(np.strings.title, a)


@implements(np.strings.upper)
def upper(a: Any) -> Array:
    """Return text in capitals.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.strings.upper(ga.from_array(["ada", "alan"], chunks=1)).compute()
    array(['ADA', 'ALAN'], dtype='<U4')
    """
    return _applied(np.strings.upper, a)


def strip(a: Any, chars: Any = None) -> Array:
    """Return text without the characters of `chars` at its two ends; of None without white space."""
    return _applied(np.strings.strip, a) if chars is None else _applied(np.strings.strip, a, chars)


def lstrip(a: Any, chars: Any = None) -> Array:
    """Return text without the characters of `chars` at its beginning; of None without white space."""
    return _applied(np.strings.lstrip, a) if chars is None else _applied(np.strings.lstrip, a, chars)


def rstrip(a: Any, chars: Any = None) -> Array:
    """Return text without the characters of `chars` at its end; of None without white space."""
    return _applied(np.strings.rstrip, a) if chars is None else _applied(np.strings.rstrip, a, chars)


def count(a: Any, sub: Any, start: int = 0, end: int | None = None) -> Array:
    """Return how often `sub` occurs in each element, without overlaps, between two positions."""
    return _applied(np.strings.count, a, sub, start=start, end=end)


def find(a: Any, sub: Any, start: int = 0, end: int | None = None) -> Array:
    """Return where `sub` first begins in each element, -1 where it doesn't occur.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.strings.find(ga.from_array(["ada", "dad"], chunks=1), "d").compute()
    array([1, 0])
    """
    return _applied(np.strings.find, a, sub, start=start, end=end)


def rfind(a: Any, sub: Any, start: int = 0, end: int | None = None) -> Array:
    """Return where `sub` last begins in each element, -1 where it doesn't occur."""
    return _applied(np.strings.rfind, a, sub, start=start, end=end)


def index(a: Any, sub: Any, start: int = 0, end: int | None = None) -> Array:
    """Return where `sub` first begins in each element; computing raises ValueError where it doesn't occur."""
    return _applied(np.strings.index, a, sub, start=start, end=end)


def rindex(a: Any, sub: Any, start: int = 0, end: int | None = None) -> Array:
    """Return where `sub` last begins in each element; computing raises ValueError where it doesn't occur."""
    return _applied(np.strings.rindex, a, sub, start=start, end=end)


def startswith(a: Any, prefix: Any, start: int = 0, end: int | None = None) -> Array:
    """Return whether each element, from one position to another, begins with `prefix`."""
    return _applied(np.strings.startswith, a, prefix, start=start, end=end)


def endswith(a: Any, suffix: Any, start: int = 0, end: int | None = None) -> Array:
    """Return whether each element, from one position to another, ends with `suffix`."""
    return _applied(np.strings.endswith, a, suffix, start=start, end=end)


@implements(np.strings.center)
def center(a: Any, width: int, fillchar: str = " ") -> Array:
    """Return text in the middle of `width` characters.

    The result's width is that of the array, if that is more; NumPy finds out how much of it is used.
    """
    return _padded(np.strings.center, a, width, fillchar)


@implements(np.strings.ljust)
def ljust(a: Any, width: int, fillchar: str = " ") -> Array:
    """Return text at the left of `width` characters; of the result's width see `center`."""
    return _padded(np.strings.ljust, a, width, fillchar)


@implements(np.strings.rjust)
def rjust(a: Any, width: int, fillchar: str = " ") -> Array:
    """Return text at the right of `width` characters; of the result's width see `center`."""
    return _padded(np.strings.rjust, a, width, fillchar)


@implements(np.strings.zfill)
def zfill(a: Any, width: int) -> Array:
    """Return numbers as text, with zeros in front of them up to `width` characters; of the result's width see `center`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.strings.zfill(ga.from_array(["7", "-12"], chunks=1), 4).compute()
    array(['0007', '-012'], dtype='<U4')
    """
    return _padded(np.strings.zfill, a, width)


def _applied(function: Any, a: Any, *args: Any, **options: Any) -> Array:
    return Array(elementwise(function, asarray(a).expr, *map(operand_of, args), **options))


def _padded(function: Any, a: Any, width: int, *fillchar: str) -> Array:
    text = asarray(a)
    n_characters = text.dtype.itemsize // np.dtype(f"{text.dtype.char}1").itemsize
    dtype = np.dtype(f"{text.dtype.char}{max(n_characters, width)}")
    return Array(elementwise(_padded_to, text.expr, function=function, options=(width, *fillchar), dtype=dtype))


def _padded_to(block: Any, function: Any, options: tuple[Any, ...], dtype: Any) -> Any:
    """Return a block padded; of blocks without elements NumPy can't tell the widest."""
    return function(block, *options).astype(dtype) if block.size else np.empty(block.shape, dtype)


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and hasattr(np.strings, name):
        raise AttributeError(
            f"glassloom.array.strings has no {name!r}: how wide its results are is known when they are made; "
            f"map_blocks(numpy.strings.{name}, x, ..., dtype='U20') says it"
        )
    raise AttributeError(f"module 'glassloom.array.strings' has no attribute {name!r}")
