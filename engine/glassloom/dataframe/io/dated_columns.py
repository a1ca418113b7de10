"""Columns of text files that pandas treats in another way than by their `dtype`: labels, and what it makes times of."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.errors import MetaError


class Dated(NamedTuple):
    """The options by which columns are read, and what is made of times by a `dtype`."""

    options: dict[str, Any]
    as_objects: frozenset[Any] = frozenset()
    """Columns of times that are objects."""
    label_dtypes: Mapping[Any, Any] = MappingProxyType({})
    """Which dtypes times and inferred values get that become labels."""


def with_plain_labels(
    function: Callable[..., Any],
    options: dict[str, Any],
    keys: Collection[Any],
    first_rows: Callable[[dict[str, Any]], Any],
) -> Dated:
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
        If labels that are times become something else than objects, text or other times.
    """
    listed = options.get("parse_dates")
    dated = listed if isinstance(listed, list) else []
    dtype = options.get("dtype")
    is_of_all = dtype is not None and not isinstance(dtype, dict)
    if keys and is_of_all and (_is_of_objects(dtype) or is_parsed_in_python(function, options)):
        options = _without_dtype(options, keys, first_rows(options).columns)
    inferred = _inferred_categories(dtype, keys) if is_parsed_in_python(function, options) else {}
    options = _without_dtypes_of(options, inferred)
    if not dated or (dtype is None and not any(one in keys for one in dated)):
        return Dated(options, label_dtypes=inferred)
    rows = first_rows(options)
    places = dict(enumerate(rows.columns))
    found = {one: one if one in rows.columns else places.get(one) for one in dated}
    names = [name for name in found.values() if name in rows.columns]
    if options.get("engine") == "pyarrow":
        _require_no_dtype(dtype, options, names)
        return Dated(options)
    given = options.get("dtype")
    dtypes = given if isinstance(given, dict) else dict.fromkeys(names, given)
    wanted: dict[Any, Any] = {name: dtypes[name] for name in names if dtypes.get(name) is not None}
    objects = [name for name, one in wanted.items() if pd.api.types.is_object_dtype(one) and _are_times(rows[name])]
    labels = {name: one for name, one in wanted.items() if name in keys and (name in objects or _is_time(rows[name]))}
    if labels and isinstance(given, dict):
        _require_known_dtypes(labels, rows, options)
        options = _without_dtypes_of(options, labels)
    else:
        labels = {}
    as_objects = frozenset(name for name in objects if name not in keys)
    unparsed = [name for name in found.values() if name in keys and name not in labels and _is_unparsed(rows[name])]
    if unparsed:
        options = {**options, "parse_dates": [one for one in dated if found[one] not in unparsed]}
        options = _without_dtype(options, unparsed, rows.columns)
        categories = _inferred_categories(given, unparsed)
        options, labels = _without_dtypes_of(options, categories), {**labels, **categories}
    return Dated(options, as_objects, {**inferred, **labels})


def labels_of_booleans(
    function: Callable[..., Any],
    options: dict[str, Any],
    keys: Collection[Any],
    sample: Any,
    first_rows: Callable[[], Any],
) -> dict[Any, Any]:
    """Return the dtypes of labels that are booleans, of which some are missing in the first rows: pandas' parser in C makes numbers of them."""
    dtype = options.get("dtype")
    if is_parsed_in_python(function, options) or options.get("engine") == "pyarrow":
        return {}
    listed = options.get("parse_dates")
    others = {*(dtype if isinstance(dtype, dict) else ()), *(listed if isinstance(listed, list) else ())}
    objects = [name for name in keys if sample[name].dtype == object and name not in others]
    if not objects or (dtype is not None and not isinstance(dtype, dict)) or not _booleans_as_labels():
        return {}
    rows = first_rows()
    return {
        name: _OfBooleans(name) for name in objects if pd.api.types.is_bool_dtype(rows[name].dropna().infer_objects())
    }


@lru_cache(maxsize=1)
def _booleans_as_labels() -> bool:
    """Whether pandas makes numbers of such labels."""
    return bool(pd.read_csv(io.StringIO("k,x\nTrue,1\n,2\n"), index_col="k").index.dtype == "float64")


class _OfBooleans(NamedTuple):
    """In place of the dtype of labels: they are booleans, of which some are missing."""

    name: Any

    def made_of(self, labels: pd.Index) -> pd.Index:
        """Return the numbers that pandas makes of labels.

        Raises
        ------
        MetaError
            If there are others than booleans.
        """
        others = [one for one in labels if isinstance(one, str) and one.lower() not in ("true", "false")]
        if others:
            raise MetaError(
                f"index_col={self.name!r}: the first rows have booleans and missing values as labels, of which pandas makes numbers; there is "
                f"{others[0]!r}, too. Give dtype={{{self.name!r}: str}}"
            )
        return labels.astype("float64")


def with_dtypes(labels: Any, dtypes: Sequence[Any]) -> Any:
    """Return labels, some of whose levels are times or inferred, with a dtype for each level; None: its own."""
    if not isinstance(labels, pd.MultiIndex):
        return _with_dtype(labels, dtypes[0])
    levels = [_with_dtype(labels.get_level_values(place), dtype) for place, dtype in enumerate(dtypes)]
    return pd.MultiIndex.from_arrays(levels, names=labels.names)


def _with_dtype(labels: pd.Index, dtype: Any) -> pd.Index:
    if dtype is None:
        return labels
    if isinstance(dtype, _OfBooleans):
        return dtype.made_of(labels)
    one = pd.api.types.pandas_dtype(dtype)
    is_text = pd.api.types.is_string_dtype(one) and not pd.api.types.is_object_dtype(one)
    if is_text or isinstance(one, pd.CategoricalDtype):
        return pd.Index(labels.to_numpy(), dtype=one, name=labels.name)  # as pandas' parsers make them
    return labels.astype(dtype)


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


def _without_dtypes_of(options: dict[str, Any], names: Collection[Any]) -> dict[str, Any]:
    """Return options whose `dtype` for single columns isn't given for some."""
    if not names:
        return options
    return {**options, "dtype": {name: one for name, one in options["dtype"].items() if name not in names} or None}


def _inferred_categories(dtype: Any, keys: Collection[Any]) -> dict[Any, Any]:
    """Return the categories that `dtype` makes of labels which are inferred first. Since pandas 3.1 columns read for categories are inferred alike."""
    if not isinstance(dtype, dict):
        return {}
    given = {name: pd.api.types.pandas_dtype(dtype[name]) for name in keys if dtype.get(name) is not None}
    return {
        name: one
        for name, one in given.items()
        if isinstance(one, pd.CategoricalDtype) and (one.categories is not None or PANDAS_VERSION < (3, 1))
    }


def _is_of_objects(dtype: Any) -> bool:
    """Whether pandas makes objects by a dtype, as by that of text before version 3."""
    one = pd.api.types.pandas_dtype(dtype)
    return pd.api.types.is_object_dtype(one) or (not HAS_COPY_ON_WRITE and one.kind == "U")


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


def _is_time(column: Any) -> bool:
    return column.dtype.kind == "M"


def _are_times(column: Any) -> bool:
    """Whether objects are times, as far as there are any."""
    known = column.dropna()
    return not len(known) or isinstance(known.iloc[0], datetime)


def _require_known_dtypes(labels: Mapping[Any, Any], rows: Any, options: dict[str, Any]) -> None:
    for name, dtype in labels.items():
        one = pd.api.types.pandas_dtype(dtype)
        is_text = isinstance(one, pd.StringDtype) and HAS_COPY_ON_WRITE  # before pandas 3 they are of another form
        is_plain = isinstance(rows[name].dtype, np.dtype)
        if is_plain and (is_text or getattr(one, "kind", "") == "M" or pd.api.types.is_object_dtype(one)):
            continue
        raise NotImplementedError(
            f"parse_dates={options['parse_dates']!r} makes times of column {name!r}, and dtype={dtype!r} something else of these labels: leave "
            f"one of them out for {name!r}; set_index() and astype() make other labels afterwards"
        )
