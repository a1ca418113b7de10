"""`convert_dtypes` and `infer_objects`: dtypes that the values of all partitions decide. These are asked for a value of each kind."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.collection import compute
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Method
from glassloom.dataframe.nodes import FrameExpr, Rowwise
from glassloom.dataframe.options import given
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.widening import dtypes_of
from glassloom.dataframe.wrap import operate, wrap

_DEFAULTS: dict[str, Any] = {
    "infer_objects": True, "convert_string": True, "convert_integer": True, "convert_boolean": True, "convert_floating": True,
    "dtype_backend": "numpy_nullable",
}  # fmt: skip


class Inferring(Frame):
    """Methods of frames and series."""

    def infer_objects(self) -> Any:
        """Return columns of Python objects as the dtype that holds all their values, if there is one. Which one it is is found out now."""
        return _converted(self, "infer_objects", {})

    def convert_dtypes(
        self,
        infer_objects: bool = True,
        convert_string: bool = True,
        convert_integer: bool = True,
        convert_boolean: bool = True,
        convert_floating: bool = True,
        dtype_backend: Any = "numpy_nullable",
    ) -> Any:
        """Return columns as the dtypes with missing values that fit them best. Of objects and floats these are found out now.

        Parameters
        ----------
        infer_objects, convert_string, convert_integer, convert_boolean, convert_floating, dtype_backend
            As pandas.
        """
        options = {
            "infer_objects": infer_objects,
            "convert_string": convert_string,
            "convert_integer": convert_integer,
            "convert_boolean": convert_boolean,
            "convert_floating": convert_floating,
            "dtype_backend": dtype_backend,
        }
        return _converted(self, "convert_dtypes", given(options, _DEFAULTS))


def _converted(frame: Any, method: str, options: dict[str, Any]) -> Any:
    node: FrameExpr = frame.expr
    columns = _columns_of(node.meta)
    asked = [place for place, column in enumerate(columns) if _depends_on_values(column.dtype)]
    parts = [wrap(_kinds_of(node, place)) for place in asked]
    found = dict(zip(asked, compute(*parts) if parts else (), strict=True))
    dtypes = tuple(getattr(found.get(place, column), method)(**options).dtype for place, column in enumerate(columns))
    # Dtypes are by position: all columns go there together.
    planned = tuple(place for place, column in enumerate(columns) if not pd.api.types.is_object_dtype(column.dtype))
    kwargs = {"dtypes": dtypes, "unasked": (planned, Method(method), options)}
    return operate(_as_dtypes, frame, kind=Rowwise, kwargs=kwargs, label=method.replace("_", "-"))


def _depends_on_values(dtype: Any) -> bool:
    return bool(pd.api.types.is_object_dtype(dtype) or pd.api.types.is_float_dtype(dtype))


def _columns_of(block: Any) -> list[Any]:
    return [block] if isinstance(block, pd.Series) else [block.iloc[:, place] for place in range(block.shape[1])]


def _kinds_of(node: FrameExpr, place: int) -> FrameExpr:
    """Return the node of a value of each kind in a column, as a series of its dtype."""
    steps = Operation(partial(_kinds_in_block, place), _kinds_of_all, _kinds_of_all)
    return tree(node, steps, _columns_of(node.meta)[place], "kinds")


def _kinds_in_block(place: int, block: Any) -> Any:
    return some_of_each_kind(_columns_of(block)[place])


def _kinds_of_all(parts: list[Any]) -> Any:
    return some_of_each_kind(concat(parts))


def some_of_each_kind(column: Any) -> Any:
    """Return the first value of each kind, of whole numbers the smallest and the largest."""
    if not pd.api.types.is_object_dtype(column.dtype):
        with np.errstate(invalid="ignore"):
            numbers = column.to_numpy(dtype="float64", na_value=np.nan)
            kinds = np.where(np.isnan(numbers), 0, np.where(numbers == numbers.astype("int64"), 1, 2))
        places = [int(np.flatnonzero(kinds == kind)[0]) for kind in np.unique(kinds)]
        return column.iloc[sorted(places)]
    first: dict[Any, int] = {}
    whole: dict[str, tuple[int, int]] = {}
    for place, value in enumerate(column.to_numpy()):
        if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
            for name, is_further in (("least", int.__lt__), ("greatest", int.__gt__)):
                if name not in whole or is_further(int(value), whole[name][0]):
                    whole[name] = (int(value), place)
        first.setdefault(_kind(value), place)
    return column.iloc[sorted({*first.values(), *(place for _, place in whole.values())})]


def _kind(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return (type(value), "missing" if math.isnan(value) else bool(float(value).is_integer()))
    return (type(value), *(str(getattr(value, name, None)) for name in ("tzinfo", "freqstr", "closed")))


def _as_dtypes(block: Any, dtypes: tuple[Any, ...], unasked: tuple[tuple[int, ...], Any, dict[str, Any]]) -> Any:
    """Return a block in dtypes. A column that was planned as others, and has objects since some are replaced, is converted by itself."""
    places, method, options = unasked
    own = dtypes_of(block)
    others = [place for place in places if pd.api.types.is_object_dtype(own[place])]
    if isinstance(block, pd.Series):
        return method(block, **options) if others else block.astype(dtypes[0])
    made = block.copy(deep=False)
    for place, dtype in enumerate(dtypes):
        if place in others:
            made.isetitem(place, method(block.iloc[:, place], **options))
        elif own[place] != dtype:
            made.isetitem(place, block.iloc[:, place].astype(dtype))
    return made


_as_dtypes.chooses_columns = True  # type: ignore[attr-defined]  # see `own_columns`
