"""`replace` by values that a column's dtype can't hold: pandas makes another column as soon as one is replaced, of all rows.

Text is planned as objects. Columns of other dtypes, of which no row may have what is replaced (``n.replace(-999, None)``), are planned as
they are, and get the dtype that their partitions have together.
"""

from __future__ import annotations

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

    Not of whole numbers of 64 bits that become floats (``n.replace(-999, np.nan)``): these are computed with alike, but beyond 2**53, and large
    frames would be kept until all is read. `unlike_dtypes` knows of them.
    """
    if node.backend != "pandas":
        return []
    dtypes, given = dtypes_of(node.meta), kwargs["to_replace"]
    if holds_lazy([given, kwargs.get("value"), kwargs["regex"]]):
        return [place for place, dtype in enumerate(dtypes) if _may_become_another(dtype)]
    leaves = list(_leaves(given))
    are_alike = isinstance(node.meta, pd.Series) or not isinstance(given, dict)
    found: dict[Any, bool] = {}
    places = []
    for place, dtype in enumerate(dtypes):
        if not _may_become_another(dtype):
            continue
        key = dtype if are_alike else place
        if key not in found:
            found[key] = _changes_dtype(node.meta, place, _fitting(leaves, dtype), kwargs)
        places += [place] if found[key] else []
    return places


def _may_become_another(dtype: Any) -> bool:
    return not (is_text(dtype) or pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype))


def _leaves(given: Any) -> Iterator[Any]:
    """Yield all values in dicts and lists: those that are replaced among them."""
    if isinstance(given, Mapping):
        for key, one in given.items():
            yield key
            yield from _leaves(one)
    elif isinstance(given, (list, tuple, set, np.ndarray, pd.Series, pd.Index)):
        for one in given:
            yield from _leaves(one)
    else:
        yield given


def _fitting(values: list[Any], dtype: Any) -> pd.Series | None:
    """Return those of some values that a column of a dtype may have."""
    objects = np.empty(len(values), object)
    objects[:] = values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _equal_ones(objects, dtype)
        except (TypeError, ValueError, OverflowError):  # not all are values of this column
            parts = [_one_fitting(objects[place : place + 1], dtype) for place in range(len(objects))]
    kept = [part for part in parts if part is not None and len(part)]
    return pd.concat(kept, ignore_index=True) if kept else None


def _one_fitting(value: np.ndarray, dtype: Any) -> pd.Series | None:
    try:
        return _equal_ones(value, dtype)
    except (TypeError, ValueError, OverflowError):  # no value of this column
        return None


def _equal_ones(objects: np.ndarray, dtype: Any) -> pd.Series:
    """Return values in a dtype, without those that become others. (Of times they may be given as text.)"""
    values = pd.Series(objects, dtype=object)
    made = values.astype(dtype)
    if dtype.kind in "mM":
        return made
    is_same = (made.astype(object) == values).to_numpy(bool) | (made.isna() & values.isna()).to_numpy(bool)
    return made[is_same]


def _changes_dtype(meta: Any, place: int, values: pd.Series | None, kwargs: dict[str, Any]) -> bool:
    """Whether replacing changes the dtype of a column with some values."""
    if values is None or not len(values):
        return False
    some: Any = values if isinstance(meta, pd.Series) else values.to_frame(meta.columns[place])
    try:
        (made,) = dtypes_of(some.replace(**kwargs))
    except (TypeError, ValueError, OverflowError):  # what pandas objects to is raised when the node is made
        return False
    (own,) = dtypes_of(some)
    are_large_floats = isinstance(own, np.dtype) and own.kind in "iu" and own.itemsize == 8 and made == np.float64
    return bool(made != own) and not are_large_floats
