"""What a function of partitions is told of the one that it gets, if it has an argument `partition_info`: its number, and where it begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pandas as pd

from glassloom.dataframe.io.from_map import from_map

NAME = "partition_info"


def takes_information(function: Callable[..., Any], kwargs: dict[str, Any]) -> bool:
    """Whether a user's function has an argument `partition_info` that it isn't given."""
    if NAME in kwargs:
        return False
    try:
        return NAME in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a compiled function
        return False


def information_of(frame: Any) -> Any:
    """Return a lazy series of a dict for each partition of a frame."""
    meta = pd.Series([], dtype=object, name=NAME)
    return from_map(_information, range(frame.npartitions), list(frame.divisions[:-1]), meta=meta)


def informed(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function with the dict that is in the series; with None where it is tried on made-up rows."""
    told = next((one for one in kwargs.pop(NAME) if isinstance(one, dict)), None)
    return function(*args, **kwargs, **{NAME: told})


def _information(number: int, division: Any) -> Any:
    return pd.Series([{"number": number, "division": division}], dtype=object, name=NAME)
