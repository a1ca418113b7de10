"""`replace` of texts by values of another kind, such as numbers: pandas makes objects of a column of which one is replaced.

Columns of other dtypes, of which no row may have what is replaced (``n.replace(-999, None)``), are planned as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arrow.text import is_text
from glassloom.dataframe.call import Method
from glassloom.dataframe.for_each import WithMeta
from glassloom.dataframe.nodes import Rowwise
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

    Whether one is replaced isn't known: the dtype is that of a column in which one is. For what is replaced in all columns of a frame, it
    is that of a column in which none is.
    """
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
