"""Options of pandas' methods that have no form for partitions: refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.argument_kinds import options_of
from glassloom.errors import OptionError

FILL_METHOD = None if HAS_COPY_ON_WRITE else "ffill"
"""How `pct_change` fills missing values if it isn't told. Before version 3, pandas takes the value before."""
_LONGEST = 100
"""Characters of an index, series or frame that an error shows: it depends on pandas' version where it begins a new line."""


def refused(method: str, name: str, value: Any, instead: str) -> NotImplementedError:
    """Return the error for an option's value that isn't supported.

    >>> print(refused("shift", "freq", "infer", "name the frequency"))
    shift(freq='infer') isn't supported: name the frequency
    """
    text = repr(value)
    is_long = isinstance(value, (pd.Index, pd.Series, pd.DataFrame)) and len(text) > _LONGEST
    shown = f"<{type(value).__name__}>" if is_long or "\n" in text else text
    return NotImplementedError(f"{method}({name}={shown}) isn't supported: {instead}")


def require_native_bytes(method: str, dtype: Any) -> None:
    """Refuse a dtype, or a dict of such, of numbers in another order of bytes than the machine's: pandas leaves it where it joins partitions."""
    for one in dtype.values() if isinstance(dtype, dict) else [dtype]:
        is_other = isinstance(one, (str, np.dtype)) and str(one)[:1] in ("<", ">") and not np.dtype(one).isnative
        if is_other:
            raise refused(method, "dtype", dtype, "partitions have the machine's order of bytes: convert to_numpy()")


def require_one_output(method: str, split_out: Any, instead: str) -> None:
    """Check Dask's argument for the number of partitions of a result that has one here: more are refused.

    Raises
    ------
    NotImplementedError
        If it says that there should be several.
    """
    if split_out not in (None, True, False, 1):
        raise refused(method, "split_out", split_out, f"its result has one partition; {instead} makes several")


def number_of_outputs(split_out: Any, npartitions: int) -> int:
    """Return the number of partitions of a result that Dask's argument `split_out` says; True: as many as the frame has.

    Raises
    ------
    OptionError
        If it is no number of partitions.
    """
    if split_out is None or split_out is False:
        return 1
    if split_out is True:
        return npartitions
    if not isinstance(split_out, int) or split_out < 1:
        raise OptionError(f"split_out={split_out!r} should be a whole number, 1 or more, or True")
    return split_out


def checked_compute_kwargs(method: str, compute: bool, compute_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of `compute` that a method which writes was given.

    Raises
    ------
    OptionError
        If it doesn't compute.
    TypeError
        If they are no dict.
    """
    if compute_kwargs and not compute:
        raise OptionError(
            f"{method}: compute_kwargs={compute_kwargs!r} with compute=False; give them to compute() of the result"
        )
    return options_of(method, "compute_kwargs", compute_kwargs)


def is_columns(axis: Any, method: str) -> bool:
    """Whether `axis` means the columns.

    Raises
    ------
    OptionError
        If it is no axis.
    """
    if axis in (1, "columns"):
        return True
    if axis in (0, "index", "rows"):
        return False
    raise OptionError(f"{method}: axis={axis!r} should be 0 or 'index', 1 or 'columns'")


def is_of_positions(rows: slice, labels: Any) -> bool:
    """Whether a slice of a frame or series, as in ``frame[2:5]``, means positions: as in pandas, if it is of whole numbers.

    Raises
    ------
    TypeError
        If it is of other values, and the labels are whole numbers, among which pandas takes positions alone.
    """
    ends = [one for one in (rows.start, rows.stop, rows.step) if one is not None]
    others = [one for one in ends if not isinstance(one, (int, np.integer)) or isinstance(one, bool)]
    if others and labels.dtype.kind in "iu":
        raise TypeError(
            f"cannot do slice indexing on {type(labels).__name__} with these indexers [{others[0]!r}] of type "
            f"{type(others[0]).__name__}: a subscript takes positions; loc takes labels"
        )
    return not others


def require_one_mapper(mapper: Any, index: Any, columns: Any, axis: Any) -> None:
    """Check that `rename` is told once what becomes of rows or columns.

    Raises
    ------
    TypeError
        If it isn't told, or rows or columns are given beside an axis or what renames that.
    """
    if mapper is None and index is None and columns is None:
        raise TypeError("rename: must pass an index to rename, as mapper=, index= or columns=")
    if index is None and columns is None:
        return
    if axis is not None:
        raise TypeError("rename: Cannot specify both 'axis' and any of 'index' or 'columns'")
    if mapper is not None:
        raise TypeError("rename: Cannot specify both 'mapper' and any of 'index' or 'columns'")


def is_listed(labels: Any) -> bool:
    """Whether an argument lists labels, rather than being one: a tuple is a label, as in pandas."""
    return bool(pd.api.types.is_list_like(labels)) and not isinstance(labels, tuple)


def piped(target: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of an object, as pandas' `pipe` does."""
    if not isinstance(func, tuple):
        return func(target, *args, **kwargs)
    function, name = func
    if name in kwargs:
        raise ValueError(f"{name!r} is both the pipe's target and a named argument")
    return function(*args, **{name: target}, **kwargs)


def given(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from pandas' defaults: those that older or newer pandas lack aren't passed on."""
    return {name: value for name, value in options.items() if name not in defaults or value is not defaults[name]}
