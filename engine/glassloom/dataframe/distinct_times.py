"""Slow methods of times, called once for each day, hour, minute or second that occurs: texts and Python's dates take a microsecond each."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Attribute, Method

_LEAST = 1_000
"""Rows from which distinct times are looked for."""
_REPEATED = 4
"""How often each must occur on average."""
_SECONDS = {"S": 1, "M": 60, "H": 3600, "I": 3600, "p": 3600, "T": 1, "R": 60}
"""How long what each directive says stays as it is; others that are known are of the day."""
_OF_DAYS = frozenset("aAbBdjmuUwWyYGVDFCeh%")
_DIRECTIVES = re.compile("%(.)", re.DOTALL)
_DAY = 86_400
_MISSING = np.iinfo(np.int64).min


class TimesMethod(Method):
    """A method of ``.dt`` whose result follows from the day alone, or from what a format says."""

    __slots__ = ()

    def __init__(self, *path: str) -> None:
        super().__init__("dt", *path)

    def __reduce__(self) -> tuple[Any, ...]:
        return (TimesMethod, self.path[1:])

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        seconds = None
        if self.path[-1] == "strftime":
            seconds = seconds_of_format(args[0] if args else kwargs.get("date_format"))
        found = None if seconds is None else of_distinct_times(
            obj, seconds, lambda some: super(TimesMethod, self).__call__(some, *args, **kwargs)
        )  # fmt: skip
        return super().__call__(obj, *args, **kwargs) if found is None else found


class DatesAttribute(Attribute):
    """``.dt.date``."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("dt", "date")

    def __reduce__(self) -> tuple[Any, ...]:
        return (DatesAttribute, ())

    def __call__(self, obj: Any) -> Any:
        found = of_distinct_times(obj, _DAY, super().__call__)
        return super().__call__(obj) if found is None else found


def seconds_of_format(date_format: Any) -> int | None:
    """Return how many seconds long, counted from midnight, all times have the same text; None if that isn't known.

    >>> seconds_of_format("%Y-%m-%d"), seconds_of_format("%H:%M"), seconds_of_format("%f")
    (86400, 60, None)
    """
    if not isinstance(date_format, str):
        return None
    directives = _DIRECTIVES.findall(date_format)
    if not all(one in _SECONDS or one in _OF_DAYS for one in directives):
        return None
    return min([_SECONDS.get(one, _DAY) for one in directives], default=_DAY)


def of_distinct_times(values: Any, seconds: int, function: Callable[[Any], Any]) -> Any:
    """Return a function's result, each row of which follows from its time of the clock in whole steps of some seconds, called with each step once.

    None if these aren't few, or values aren't NumPy's times.
    """
    if (
        not isinstance(values, pd.Series)
        or len(values) < _LEAST
        or not isinstance(values.dtype, np.dtype)
        or values.dtype.kind != "M"
    ):
        return None
    unit = np.datetime_data(values.dtype.str)[0]
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = values.to_numpy().view(np.int64)
    steps = numbers // (seconds * per_second)
    steps[numbers == _MISSING] = _MISSING  # not the step of the first times that there are
    codes, distinct = pd.factorize(steps)
    if len(distinct) * _REPEATED > len(values):
        return None
    firsts = np.empty(len(distinct), np.intp)
    firsts[codes[::-1]] = np.arange(len(values))[::-1]
    made = function(values.iloc[firsts].reset_index(drop=True))
    return made.take(codes).set_axis(values.index, axis=0)
