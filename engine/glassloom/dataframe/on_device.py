"""Steps by the methods of a device's library, where these give what pandas gives; by pandas on the host where they don't.

First steps of reductions, groups and joins: each function takes a partition that isn't pandas' and returns None if its library's methods don't do the same: then the caller
moves the partition to the host. What moves otherwise are the partial results. Missing values are pandas': NaN is missing too, which is a
number to cuDF, the sum of none is 0, and not missing as there, and missing keys match each other.

Calls of methods: what a library lacks or refuses (cuDF 26.10 has no `rename_axis`, and no `rank` along rows), pandas computes of a copy on the host
(`computed_on_host`), and the result moves back to the device.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.frames import DEVICE_BACKENDS, converted, kind_on_device, library_of

Parts = Mapping[tuple[int, str], str]
"""The column of each partial result by place of the value column (-1: the rows) and part, as in `grouping.tree.Aggregation`."""

_NUMBERS = "iuf"
_ACCUMULATED = {"i": np.dtype("int64"), "u": np.dtype("uint64")}
_OF_GROUPS = {
    "sum": "sum",
    "floats": "sum",
    "count": "count",
    "min": "min",
    "max": "max",
    "middle": "mean",
    "squares": "var",
}
"""Parts of groups, and the aggregation of a device's library that gives each, but for what `_part` mends."""
_AS_FLOATS = ("floats", "middle", "squares")
_log = logging.getLogger("glassloom")
CALLS_ON_HOST: Counter[str] = Counter()
"""How often this process computed on the host what a device's library lacks or refuses, by the name of the call."""
DIVISIONS = frozenset(["mod", "rmod", "floordiv", "rfloordiv", "divmod", "rdivmod"])
"""Arithmetic of which pandas makes floats where whole numbers are divided by 0."""


def is_on_device(value: Any) -> bool:
    """Tell whether it is of a device's library."""
    return library_of(value) != "pandas"


def device_among(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the library of the first argument that is on a device, also within lists and dictionaries; ``"pandas"`` if none is."""
    for value in (*args, *kwargs.values()):
        if type(value) in (list, tuple):
            library = device_among(value, {})
        else:
            library = device_among((), value) if type(value) is dict else library_of(value)
        if library != "pandas":
            return library
    return "pandas"


def computed_on_host(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], library: str, label: str
) -> Any:
    """Return what pandas gives for copies of the arguments on the host; frames, series and indexes as those of `library`.

    Raises
    ------
    NotImplementedError
        If the library has no such values.
    """
    CALLS_ON_HOST[label] += 1
    if CALLS_ON_HOST[label] == 1:
        _log.info("%s: pandas computes it on the host, as %s doesn't", label, library)
    here = {name: _on_host(value) for name, value in kwargs.items()}
    return _on_device(function(*map(_on_host, args), **here), library, label)


def needs_host(name: str, args: Sequence[Any]) -> bool:
    """Tell whether arithmetic has to be pandas', as a device's library gives other values.

    Of whole numbers divided by 0, of truth values in divisions and powers, and of whole numbers clipped at fractions.
    """
    numbers = [value for value in args if kind_on_device(value) in ("frame", "series") or np.isscalar(value)]
    if len(numbers) < 2 or not any(map(is_on_device, numbers)):
        return False
    if name == "clip":
        has_fractions = any(isinstance(value, (float, np.floating)) and value % 1 for value in numbers)
        return has_fractions and bool(_kinds_of(numbers[0]) & {"i", "u"})
    if any("b" in _kinds_of(value) for value in numbers):
        return True
    return name in DIVISIONS and _has_whole_zeros(numbers[0] if name.startswith("r") else numbers[1])


def _kinds_of(value: Any) -> set[str]:
    """Return the kinds of a value's dtypes, as NumPy's letters."""
    columns = columns_of(value) if is_on_device(value) else [np.asarray(value)]
    return {getattr(column.dtype, "kind", "O") for column in columns or []}


def _has_whole_zeros(value: Any) -> bool:
    if not is_on_device(value):
        return isinstance(value, (int, np.integer)) and value == 0
    whole = [column for column in columns_of(value) or [] if getattr(column.dtype, "kind", "O") in "iu"]
    return any(int((column == 0).sum()) for column in whole)


def _on_host(value: Any) -> Any:
    if type(value) is dict:
        return {name: _on_host(each) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_on_host, value))
    return converted(value, "pandas")


def _on_device(value: Any, library: str, label: str) -> Any:
    if type(value) is tuple:  # as of divmod
        return tuple(_on_device(each, library, label) for each in value)
    if not isinstance(value, (pd.DataFrame, pd.Series, pd.Index)):
        return value
    try:
        return converted(value, library)
    except MemoryError:
        raise
    except Exception as error:
        dtypes = sorted({str(dtype) for dtype in (value.dtypes if isinstance(value, pd.DataFrame) else [value.dtype])})
        raise NotImplementedError(
            f"{label}: {library} has no values like those of its result ({', '.join(dtypes)}): {error}. Put to_backend('pandas') in front of it"
        ) from error


def with_nulls_only(value: Any) -> Any:
    """Return a frame or series in which all that pandas takes for missing is a null of its library."""
    return DEVICE_BACKENDS[library_of(value)].with_nulls_only(value)


def columns_of(block: Any) -> list[Any] | None:
    """Return the columns of a frame or series; None if it is neither."""
    kind = kind_on_device(block)
    if kind == "frame":
        return [block.iloc[:, place] for place in range(len(block.columns))]
    return [block] if kind == "series" else None


def reduced(column: Any, how: str, *, skipna: bool) -> Any:
    """Return ``column.how()`` as a pandas series of one value; None if it has to be computed on the host."""
    if how == "count":
        return pd.Series([int(with_nulls_only(column).count())])
    if how not in ("sum", "prod", "min", "max") or not skipna or not _is_number(column.dtype):
        return None
    value = getattr(with_nulls_only(column), how)()
    dtype = _ACCUMULATED.get(column.dtype.kind, column.dtype) if how in ("sum", "prod") else column.dtype
    if _is_missing(value):
        if how not in ("sum", "prod"):
            return pd.Series([np.nan], dtype=dtype if dtype.kind == "f" else None)
        value = 0 if how == "sum" else 1
    return pd.Series([value], dtype=dtype)


def count_and_sum(column: Any) -> tuple[int, float] | None:
    """Return how many values there are, and their sum, without those that are missing."""
    if not _is_number(column.dtype):
        return None
    values = with_nulls_only(column).astype("float64")
    count = int(values.count())
    return (count, float(values.sum())) if count else (0, 0.0)


def moments(column: Any) -> tuple[int, float, float, float] | None:
    """Return how many values there are, about their mean, what it lacks, and the sum of their squared distances from it; see `reduce`."""
    if not _is_number(column.dtype):
        return None
    values = with_nulls_only(column).astype("float64")
    count = int(values.count())
    if not count:
        return 0, 0.0, 0.0, 0.0
    about = float(values.mean())
    rest = float((values - about).mean())
    distances = values - about - rest
    return count, about, rest, float((distances * distances).sum())


def group_parts(
    block: Any, keys: Sequence[Any], values: Sequence[Any], parts: Parts, distinct: Sequence[int], *, dropna: bool
) -> tuple[Any, list[Any]] | None:
    """Return the partial results of the groups of a frame's rows, on the host.

    Parameters
    ----------
    keys, values
        The labels of the columns.
    parts
        What is wanted.
    distinct
        The places of value columns of which the distinct values of each group are wanted.

    Returns
    -------
    A table of keys ``k0, k1...`` and parts, in the order of the keys, and a table of keys and ``v`` for each of `distinct`.
    """
    labels = [*keys, *values]
    if kind_on_device(block) != "frame" or len(set(labels)) != len(labels) or not block.columns.is_unique:
        return None
    dtypes = {label: block[label].dtype for label in labels}
    if not all(_is_plain(dtypes[label]) for label in labels):
        return None
    if not all(_can_make(part, dtypes[values[place]] if place >= 0 else None) for place, part in parts):
        return None
    names = [f"k{place}" for place in range(len(keys))]
    renamed = dict(zip(labels, [*names, *(f"v{place}" for place in range(len(values)))], strict=True))
    work = with_nulls_only(block[labels].rename(columns=renamed).reset_index(drop=True))
    floats = {f"f{place}": work[f"v{place}"].astype("float64") for place, part in parts if part in _AS_FLOATS}
    grouped = work.assign(rows=1, **floats).groupby(names, dropna=dropna, sort=True)
    found = converted(grouped.agg(**_wanted(parts)).reset_index(), "pandas")  # an index of several levels takes long
    made = {name: found[name].array for name in names}
    for (place, part), name in parts.items():
        made[name] = _part(found, place, part, None if place < 0 else dtypes[values[place]]).array
    tables = [
        converted(work[[*names, f"v{place}"]].drop_duplicates(), "pandas").rename(columns={f"v{place}": "v"})
        for place in distinct
    ]
    return pd.DataFrame(made), tables


def merged(
    left: Any,
    right: Any,
    how: str,
    left_on: Sequence[Any],
    right_on: Sequence[Any],
    *,
    same: bool,
    suffixes: Any,
    columns: Any,
    integers: Sequence[Any],
) -> Any:
    """Return the join of two blocks on the device that one of them is on, its rows in the order of the left block.

    Parameters
    ----------
    how
        ``"inner"`` or ``"left"``.
    same
        Whether the keys are one column of the result.
    columns
        The labels of the result.
    integers
        Those of whole numbers of the right block that pandas makes floats where rows have none; nullable ones it leaves as they are.
    """
    library = library_of(left) if is_on_device(left) else library_of(right)
    own, theirs = _unused("_left", columns), _unused("_right", columns)
    left, right = _numbered(converted(left, library), own), _numbered(converted(right, library), theirs)
    by = {"on": list(left_on)} if same else {"left_on": list(left_on), "right_on": list(right_on)}
    joined = left.merge(right, how=how, suffixes=tuple(suffix or "" for suffix in suffixes), **by)
    # Libraries of devices give rows in any order.
    joined = joined.sort_values([own, theirs]).reset_index(drop=True)[list(columns)]
    if how == "inner":
        return joined
    missing = [
        name
        for name in integers
        if getattr(joined[name].dtype, "kind", "O") in "iu" and int(joined[name].count()) < len(joined)
    ]
    return joined.astype(dict.fromkeys(missing, "float64")) if missing else joined  # as in pandas


def _unused(name: str, columns: Any) -> str:
    while name in columns:
        name += "_"
    return name


def _numbered(frame: Any, name: str) -> Any:
    rows = with_nulls_only(frame).reset_index(drop=True)
    return rows.assign(**{name: rows.index})


def _wanted(parts: Parts) -> dict[str, tuple[str, str]]:
    """Return the aggregations of `group_parts`: the column and what is computed of it, by the name of the result."""
    wanted = {("rows", "sum")}
    for place, part in parts:
        if part != "size":
            wanted.add((_column(place, part), _OF_GROUPS[part]))
            if part == "squares":
                wanted.add((_column(place, part), "count"))
    return {_aggregated(*one): one for one in sorted(wanted)}


def _aggregated(column: str, how: str) -> str:
    return f"{column}_{how}"


def _part(found: Any, place: int, part: str, dtype: Any) -> Any:
    """Return a partial result of each group."""
    if part == "size":
        return found["rows_sum"].astype("int64")
    column = found[_aggregated(_column(place, part), _OF_GROUPS[part])]
    if part == "count":
        return column.astype("int64")
    if part == "squares":
        free = (found[_aggregated(_column(place, part), "count")] - 1).clip(lower=0)
        return column.astype("float64").fillna(0.0) * free
    if part in ("sum", "floats"):
        return column.fillna(0).astype("float64" if part == "floats" else _ACCUMULATED.get(dtype.kind, dtype))
    return column


def _column(place: int, part: str) -> str:
    return f"f{place}" if part in _AS_FLOATS else f"v{place}"


def _can_make(part: str, dtype: Any) -> bool:
    return part in ("size", "count") or (part in _OF_GROUPS and _is_number(dtype))


def _is_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in _NUMBERS and dtype.itemsize > 2


def _is_plain(dtype: Any) -> bool:
    """Whether values of this dtype are grouped and compared as pandas does it: numbers, truth values, instants and text."""
    return isinstance(dtype, pd.StringDtype) or (isinstance(dtype, np.dtype) and dtype.kind in "iufbMO")


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or bool(value != value)  # noqa: PLR0124 - NaN
