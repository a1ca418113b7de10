"""`replace` by values that a column's dtype can't hold: pandas makes another column as soon as one is replaced, of all rows.

Text is planned as objects. Columns of other dtypes, of which no row may have what is replaced (``n.replace(-999, None)``), are planned as
they are, and get the dtype that their partitions have together.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arrow.text import is_text
from glassloom.dataframe.call import Method
from glassloom.dataframe.for_each import WithMeta
from glassloom.dataframe.nodes import FrameExpr, Rowwise
from glassloom.dataframe.unlike_dtypes import with_dtypes_of_all
from glassloom.dataframe.widening import dtypes_of
from glassloom.dataframe.wrap import bind, holds_lazy, operate, wrap

_Pair = tuple[Any, tuple[Any, ...]]


class Replaced(Method):
    """`replace` in a partition. Columns that may become objects are these where no value is left to tell."""

    __slots__ = ("objects",)

    def __init__(self, objects: Any) -> None:
        super().__init__("replace")
        self.objects = objects

    def __reduce__(self) -> tuple[Any, ...]:
        return (Replaced, (self.objects,))

    def __glassloom_tokenize__(self) -> Any:
        return (self.path, self.objects)

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(obj, *args, **kwargs)
        if isinstance(made, pd.Series):
            return made.astype(object) if _has_no_values(made) else made
        for name in self.objects:
            if _has_no_values(made[name]):
                made = made.assign(**{name: made[name].astype(object)}) if isinstance(name, str) else made
        return made


def replaced(frame: Any, kwargs: dict[str, Any]) -> Any:
    """Return what `replace` makes of a lazy frame or series, as objects where values of another kind are put into a column that is named.

    Whether one is replaced isn't known: the dtype of text is that of a column in which one is, and in all columns of a frame, that of a column
    in which none is. Others get the dtype of all partitions, where it may be another one.
    """
    made = _replaced(frame, kwargs)
    return with_dtypes_of_all(made, _unlike_places(frame.expr, kwargs)) if frame.npartitions > 1 else made


def _replaced(frame: Any, kwargs: dict[str, Any]) -> Any:
    meta = frame.expr.meta
    asked = _asked(meta, kwargs) if HAS_COPY_ON_WRITE else {}
    objects = [name for name, one in asked.items() if _makes_objects(meta if name is None else meta[name], one)]
    if not objects:
        return operate(Method("replace"), frame, kind=Rowwise, kwargs=kwargs, label="replace")
    nodes, call = bind(Replaced(objects), (frame,), kwargs, label="replace")
    like = meta.replace(**kwargs)
    like = like.astype(object if isinstance(like, pd.Series) else dict.fromkeys(objects, object))
    return wrap(WithMeta(nodes[0], tuple(nodes[1:]), call, like))


def _has_no_values(column: pd.Series) -> bool:
    return column.dtype != object and not column.notna().any()


def _asked(meta: Any, kwargs: dict[str, Any]) -> dict[Any, list[_Pair]]:
    """Return what is replaced by what in each column that is named, of a series under None. Nothing of lazy values."""
    regex, given = kwargs["regex"], kwargs["to_replace"]
    given = regex if given is None and not isinstance(regex, bool) else given
    values = {"value": kwargs["value"]} if "value" in kwargs else {}
    if holds_lazy([given, *values.values()]):
        return {}
    if isinstance(meta, pd.Series):
        return {None: _pairs(given, **values)}
    if not isinstance(given, dict) or not meta.columns.is_unique:
        return {}
    of_columns = values.get("value")
    if values:
        found = {name: _pairs(one, _of_column(of_columns, name)) for name, one in given.items()}
    else:
        found = {name: _pairs(one) for name, one in given.items() if isinstance(one, dict)}
    return {name: one for name, one in found.items() if isinstance(name, str) and name in meta.columns}


def _of_column(values: Any, name: Any) -> Any:
    return values.get(name) if isinstance(values, dict) else values


def _pairs(given: Any, value: Any = None) -> list[_Pair]:
    """Return each value that is replaced, and the arguments by which it alone is: whether None is a missing value depends on their form."""
    if isinstance(given, Mapping):
        return [(key, ({key: one},)) for key, one in given.items()]
    if not isinstance(given, (list, tuple, np.ndarray)):
        return [(given, (given, value))]
    if not isinstance(value, (list, tuple, np.ndarray)):
        return [(key, ([key], value)) for key in given]
    return [(key, ([key], [one])) for key, one in zip(given, value, strict=False)]


def _makes_objects(column: Any, pairs: list[_Pair]) -> bool:
    """Whether pandas makes objects of a column in which one of some values is replaced."""
    if not is_text(
        column.dtype
    ):  # as numbers, a column of which none is replaced would be lost to what takes numbers alone
        return False
    return any(_is_replaced_by_object(column.dtype, *pair) for pair in pairs)


def _is_replaced_by_object(dtype: Any, key: Any, arguments: tuple[Any, ...]) -> bool:
    try:
        some = pd.Series([key], dtype=dtype)
        if not pd.api.types.is_scalar(key) or not (some.iloc[0] == key or pd.isna(key)):
            return False
        return bool(pd.api.types.is_object_dtype(some.replace(*arguments).dtype))
    except (TypeError, ValueError, OverflowError):  # no value of this column
        return False


# Columns that aren't text: those of a partition in which a value is replaced may have another dtype.


def _unlike_places(node: FrameExpr, kwargs: dict[str, Any]) -> list[int]:
    """Return the places of columns, but for text, that may get another dtype where a value is replaced.

    Not of whole numbers of 64 bits that become floats (``n.replace(-999, np.nan)``), nor of floats some of which become None: these are computed
    with alike, but beyond 2**53 or divided by zero, and large frames would be kept until all is read. `unlike_dtypes` knows of the whole ones.
    """
    if node.backend != "pandas":
        return []
    dtypes = dtypes_of(node.meta)
    places = [place for place, dtype in enumerate(dtypes) if _may_become_another(dtype)]
    if holds_lazy([kwargs["to_replace"], kwargs.get("value"), kwargs["regex"]]):
        return places
    found: dict[Any, bool] = {}
    kept = []
    for place in places:
        values, of_column = _said_of(node.meta, place, kwargs)
        key = place if of_column else dtypes[place]
        if key not in found:
            found[key] = _changes_dtype(node.meta, place, dtypes[place], values, kwargs)
        kept += [place] if found[key] else []
    return kept


def _may_become_another(dtype: Any) -> bool:
    return not (is_text(dtype) or pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype))


def _said_of(meta: Any, place: int, kwargs: dict[str, Any]) -> tuple[list[Any], bool]:
    """Return all values that are named for a column, those that are replaced and those that they are replaced by; and whether for it alone."""
    given, values = kwargs["to_replace"], [kwargs["value"]] if "value" in kwargs else []
    is_nested = isinstance(given, Mapping) and (bool(values) or any(isinstance(one, Mapping) for one in given.values()))
    if not isinstance(meta, pd.DataFrame) or not is_nested:
        of_all = isinstance(meta, pd.DataFrame) and any(isinstance(one, Mapping) for one in values)
        values = [_of_column(one, meta.columns[place]) for one in values] if of_all else values
        return list(_leaves([given, *values])), of_all
    name = meta.columns[place]
    named = [given[name]] if name in given else []
    return list(_leaves([*named, *(_of_column(one, name) for one in values)])) if named else [], True


def _leaves(given: Any) -> Iterator[Any]:
    """Yield all values in dicts and lists, keys of dicts too."""
    if isinstance(given, Mapping):
        for key, one in given.items():
            yield key
            yield from _leaves(one)
    elif isinstance(given, (list, tuple, set, np.ndarray, pd.Series, pd.Index)):
        for one in given:
            yield from _leaves(one)
    else:
        yield given


def _changes_dtype(meta: Any, place: int, own: Any, values: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether replacing may change the dtype of a column for which some values are named."""
    fitting = values
    if isinstance(own, np.dtype) and own.kind in "iufb":
        fitting = [one for one in values if _is_number_of(one, own)]
        if len(fitting) == len(values):
            return False
        if own.kind == "f":  # which are missing in it
            fitting += [np.nan for one in values if pd.api.types.is_scalar(one) and pd.isna(one)][:1]
    elif len(values) > _MOST_TRIED:
        return True
    some: Any = _column_of(fitting, own) if fitting else None
    if some is None:
        return False
    some = some if isinstance(meta, pd.Series) else some.to_frame(meta.columns[place])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = some.replace(**kwargs)
    except (TypeError, ValueError, OverflowError):  # what pandas objects to is raised when the node is made
        return False
    return bool(dtypes_of(made)[0] != own) and not _is_computed_with_alike(own, made.to_numpy().ravel())


def _is_computed_with_alike(own: Any, values: np.ndarray) -> bool:
    """Whether operations make of a column of numbers of 64 bits the same values as of what some were replaced by."""
    if not isinstance(own, np.dtype) or own.itemsize != 8:
        return False
    if own.kind in "iu":
        return values.dtype == np.float64
    return own.kind == "f" and all([value is None or isinstance(value, float) for value in values])


_MOST_TRIED = 100
"""Values that may be times or such, of which it is tried out whether they are. Of more a column is taken to change."""


def _is_number_of(value: Any, dtype: Any) -> bool:
    """Whether a column of numbers or booleans may have a value."""
    if isinstance(value, (bool, np.bool_)):
        return bool(dtype.kind == "b")
    if dtype.kind == "b" or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    if dtype.kind == "f":
        return True
    ends = np.iinfo(dtype)
    return bool(ends.min <= value <= ends.max) and int(value) == value


def _column_of(values: list[Any], dtype: Any) -> pd.Series | None:
    """Return those of some values that a column of a dtype may have; None if there are none. (Times may be given as text.)"""
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pd.Series(values, dtype=object).astype(dtype)
        except (TypeError, ValueError, OverflowError):  # not all are values of this column
            for value in values:
                with contextlib.suppress(TypeError, ValueError, OverflowError):
                    parts.append(pd.Series([value], dtype=object).astype(dtype))
    return pd.concat(parts, ignore_index=True) if parts else None
