"""Checks of what kind of value an argument is: the errors say where it was given, what it is, and what it should be."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, MutableSet
from typing import Any

import pandas as pd

from glassloom.errors import OptionError


def whole_number(where: str, name: str, value: Any, least: int | None = None) -> int:
    """Return a whole number as Python's.

    >>> whole_number("diff", "periods", -1)
    -1

    Raises
    ------
    OptionError
        If it is none, or less than `least`.
    """
    try:
        found = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError:
        found = None
    if found is None or (least is not None and found < least):
        wanted = "a whole number" if least is None else f"a whole number, {least} or more"
        raise OptionError(f"{where}: {name}={value!r} should be {wanted}")
    return found


def collection_of(where: str, name: str, value: Any, what: str) -> list[Any]:
    """Return the items of a list or another collection, which text isn't.

    Raises
    ------
    TypeError
        If it is none.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{where}: {name}={value!r} should be a list of {what}")
    return list(value)


def fraction(where: str, name: str, value: Any) -> float:
    """Return a number.

    Raises
    ------
    OptionError
        If it is none.
    """
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise OptionError(f"{where}: {name}={value!r} should be a number between 0 and 1")


def options_of(where: str, name: str, value: Any) -> dict[str, Any]:
    """Return a dict of options; None stands for none.

    Raises
    ------
    TypeError
        If it is no dict.
    """
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{where}: {name}={value!r} should be a dict of arguments, such as {{'name': value}}")
    return dict(value or {})


def one_of(where: str, name: str, value: Any, known: Iterable[Any]) -> Any:
    """Return a value that is among known ones.

    Raises
    ------
    OptionError
        If it isn't.
    """
    several = list(known)
    if not any(value is one or (type(value) is type(one) and value == one) for one in several):
        shown = [repr(one) for one in several]
        raise OptionError(f"{where}: {name}={value!r} should be {', '.join(shown[:-1])} or {shown[-1]}")
    return value


def require_function(where: str, name: str, value: Callable[..., Any] | None) -> None:
    """Check that a value is a function, or None.

    Raises
    ------
    TypeError
        If it isn't.
    """
    if value is not None and not callable(value):
        raise TypeError(f"{where}: {name}={value!r} should be a function")


def require_suffixes(where: str, value: Any) -> None:
    """Check that a value is a pair: of texts, or None for one of them.

    Raises
    ------
    OptionError
        If it isn't.
    """
    if not pd.api.types.is_list_like(value, allow_sets=False) or isinstance(value, dict) or len(value) != 2:
        raise OptionError(f"{where}: suffixes={value!r} should be a pair of texts, such as ('_x', '_y')")


def time(where: str, name: str, value: Any) -> pd.Timestamp:
    """Return a time that is given as text, or as a time of any kind.

    Raises
    ------
    OptionError
        If it is none.
    """
    try:
        found = None if value is None or isinstance(value, (bool, int, float)) else pd.Timestamp(value)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or found is pd.NaT:
        raise OptionError(f"{where}: {name}={value!r} should be a time, such as '2000-01-31'")
    return found


def span(where: str, name: str, value: Any) -> pd.Timedelta:
    """Return a time that passes; a number of rows may have been meant.

    Raises
    ------
    OptionError
        If it is none.
    """
    try:
        found = None if isinstance(value, (bool, int, float)) else pd.Timedelta(value)
    except (TypeError, ValueError):
        found = None
    if found is None or found is pd.NaT:
        raise OptionError(f"{where}: {name}={value!r} should be a number of rows, or a time such as '2h'")
    return found


def distance(where: str, name: str, value: Any) -> Any:
    """Return a distance between times that follow each other.

    Raises
    ------
    OptionError
        If it is none.
    """
    try:
        found = None if isinstance(value, (bool, int, float)) else pd.tseries.frequencies.to_offset(value)
    except (TypeError, ValueError):
        found = None
    if found is None or found.n <= 0:
        raise OptionError(f"{where}: {name}={value!r} should be a distance between times, such as '1h' or '7D'")
    return found


_CHANGES = frozenset(["add", "append", "appendleft", "extend", "insert", "setdefault", "subtract", "update"])


def require_changes_nothing(where: str, function: Any) -> None:
    """Check that a function of values isn't the method by which a list, dict or set at hand takes them in.

    Raises
    ------
    NotImplementedError
        If it is.
    """
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if name in _CHANGES and isinstance(owner, (MutableMapping, MutableSequence, MutableSet)):
        raise NotImplementedError(
            f"{where} of {type(owner).__name__}.{name}: it would change an object that only this process has, and take in made-up values "
            "too; use the values of compute(), or value_counts() (after explode(), if they are lists)"
        )
