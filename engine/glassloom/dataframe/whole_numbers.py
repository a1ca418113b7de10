"""Arguments that are whole numbers, such as a number of rows, may be NumPy's: methods get Python's, which don't overflow."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

_NAMES = frozenset(
    [
        "axis",
        "bins",
        "blocksize",
        "bytes_per_chunk",
        "chunks",
        "chunksize",
        "ddof",
        "header",
        "index_col",
        "infer_nrows",
        "k",
        "level",
        "limit",
        "loc",
        "max_cols",
        "min_count",
        "min_periods",
        "n",
        "nrows",
        "npartitions",
        "parse_dates",
        "partition_size",
        "periods",
        "q",
        "row_group_size",
        "skipfooter",
        "skiprows",
        "split_every",
        "split_out",
        "split_row_groups",
        "step",
        "thresh",
        "usecols",
        "widths",
        "window",
    ]
)
"""Arguments that are numbers of rows, columns, partitions or bytes, places, or lists of such: never values of a frame."""


class WholeNumbers:
    """What gives a method Python's whole numbers in place of NumPy's.

    >>> def head(n=5, **options): ...
    >>> WholeNumbers(head).taken((np.uint8(3),), {"value": np.uint8(3)})
    ((3,), {'value': np.uint8(3)})
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call as the method gets them."""
        if _may_hold(args):
            names = self._places
            args = tuple(
                _python(value) if number < len(names) and names[number] in _NAMES else value
                for number, value in enumerate(args)
            )
        if kwargs and _may_hold(kwargs.values()):
            kwargs = {name: _python(value) if self._is_own(name) else value for name, value in kwargs.items()}
        return args, kwargs

    def _is_own(self, name: str) -> bool:
        """Whether an argument isn't one of a user's function that is called, nor a column's name."""
        return name in _NAMES and (name in self._parameters or not self._takes_users_names)

    @cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(self._method).parameters)

    @cached_property
    def _places(self) -> list[str]:
        """The names of arguments by position."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [name for name, one in self._parameters.items() if one.kind in kinds]

    @cached_property
    def _takes_users_names(self) -> bool:
        alone = inspect.Parameter.POSITIONAL_ONLY
        calls_users = any(one.kind is alone and name != "self" for name, one in self._parameters.items())
        return calls_users or self._method.__name__ == "assign"


def _may_hold(values: Iterable[Any]) -> bool:
    return any(isinstance(value, (np.integer, list, tuple, set)) for value in values)


def _python(value: Any) -> Any:
    """Return a number, or the numbers in a list, tuple or set, as Python's if they are whole ones of NumPy."""
    if isinstance(value, np.integer):
        return int(value)
    if type(value) in (list, tuple, set) and any(isinstance(one, np.integer) for one in value):
        return type(value)(map(_python, value))
    return value
