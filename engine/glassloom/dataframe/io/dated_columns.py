"""Columns of text files that pandas treats in another way than by their `dtype`: labels, and what it makes times of."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, cast

import pandas as pd


def with_plain_labels(
    function: Callable[..., Any],
    options: dict[str, Any],
    keys: Collection[Any],
    first_rows: Callable[[dict[str, Any]], Any],
) -> dict[str, Any]:
    """Return options by which columns that become labels are read as pandas reads labels.

    Its parsers infer them from text where the one `dtype` of all columns is object, or where `parse_dates` finds no times. PyArrow's leaves those texts.

    Parameters
    ----------
    function
        The function of pandas that takes the options.
    keys
        The columns that become labels.
    first_rows
        Returns the first rows as options make them.

    Raises
    ------
    NotImplementedError
        If times become what a `dtype` says, in which labels, columns and engines differ.
    """
    listed = options.get("parse_dates")
    dated = listed if isinstance(listed, list) else []
    dtype = options.get("dtype")
    is_of_all = dtype is not None and not isinstance(dtype, dict)
    if (
        keys
        and is_of_all
        and (pd.api.types.is_object_dtype(cast("Any", dtype)) or is_parsed_in_python(function, options))
    ):
        options = _without_dtype(options, keys, first_rows(options).columns)
    if not dated or (dtype is None and not any(one in keys for one in dated)):
        return options
    rows = first_rows(options)
    places = dict(enumerate(rows.columns))
    found = {one: one if one in rows.columns else places.get(one) for one in dated}
    names = [name for name in found.values() if name in rows.columns]
    if options.get("engine") == "pyarrow":
        _require_no_dtype(dtype, options, names)
        return options
    _require_times_without_dtype(rows, options, keys, names)
    unparsed = [name for name in found.values() if name in keys and _is_unparsed(rows[name])]
    if not unparsed:
        return options
    options = {**options, "parse_dates": [one for one in dated if found[one] not in unparsed]}
    return _without_dtype(options, unparsed, rows.columns)


def is_parsed_in_python(function: Callable[..., Any], options: dict[str, Any]) -> bool:
    """Whether pandas' parser in Python reads: it infers labels from text whatever the one `dtype` of all columns is."""
    if function is pd.read_fwf or options.get("engine") == "python" or options.get("skipfooter"):
        return True
    signs = [options[name] for name in ("sep", "delimiter") if name in options]
    return any(isinstance(sign, str) and len(sign.encode()) > 1 and sign != r"\s+" for sign in signs) or (
        signs == [None]
    )


def _without_dtype(options: dict[str, Any], keys: Collection[Any], columns: Collection[Any]) -> dict[str, Any]:
    """Return options whose `dtype` of all columns isn't that of some."""
    dtype = options.get("dtype")
    if dtype is None or isinstance(dtype, dict):
        return options
    return {**options, "dtype": {name: dtype for name in columns if name not in keys}}


def _is_unparsed(column: Any) -> bool:
    return column.dtype.kind != "M" and bool(column.notna().any())


def _require_no_dtype(dtype: Any, options: dict[str, Any], names: Collection[Any]) -> None:
    """Raise an error if a dtype is given for columns of times: what the engine of PyArrow makes of them depends on how they are named."""
    found = [name for name in names if dtype is not None and (not isinstance(dtype, dict) or name in dtype)]
    if found:
        raise NotImplementedError(
            f"engine='pyarrow' can't read times of column {found[0]!r}, which parse_dates={options['parse_dates']!r} names, as dtype={dtype!r} "
            "says: leave out the engine, or the dtype of this column; astype() makes other values of times afterwards"
        )


def _require_times_without_dtype(
    rows: Any, options: dict[str, Any], keys: Collection[Any], names: Collection[Any]
) -> None:
    given = options.get("dtype")
    dtypes = given if isinstance(given, dict) else dict.fromkeys(names, given)
    for name in names:
        dtype = dtypes.get(name)
        if dtype is None:
            continue
        is_object = pd.api.types.is_object_dtype(dtype) and isinstance(next(iter(rows[name].dropna()), None), datetime)
        if is_object or (name in keys and isinstance(given, dict) and rows[name].dtype.kind == "M"):
            raise NotImplementedError(
                f"parse_dates={options['parse_dates']!r} makes times of column {name!r}, and dtype={dtype!r} something else of these: leave "
                f"one of them out for {name!r}; astype() makes other values of times afterwards"
            )
