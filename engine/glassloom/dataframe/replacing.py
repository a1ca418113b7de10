"""Methods that replace values: which dtypes they leave depends on whether a value is replaced, and so partitions would differ."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import of_samples
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.call import Method
from glassloom.dataframe.moving.joining import AnyJoin
from glassloom.dataframe.nodes import BlockOp, FrameExpr, empty
from glassloom.dataframe.widening import as_wide_as, can_miss_nothing, dtypes_of, with_common_dtypes, with_dtypes_of
from glassloom.dataframe.wrap import bind, holds_lazy, is_node
from glassloom.expr.core import walk


class Widened(Method):
    """A method of pandas whose dtypes depend on whether a value is replaced: all partitions get those of one that is."""

    __slots__ = ("wide",)

    def __init__(self, method: str, wide: Any) -> None:
        super().__init__(method)
        self.wide = wide

    def __reduce__(self) -> tuple[Any, ...]:
        return (Widened, (self.path[0], self.wide))

    def __glassloom_tokenize__(self) -> Any:
        return (self.path, self.wide)

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        return as_wide_as(super().__call__(obj, *args, **kwargs), self.wide)


def replacing(method: str, operands: tuple[Any, ...], kwargs: dict[str, Any]) -> Method:
    """Return the call of `where` or `mask` that gives all partitions the same dtypes.

    pandas keeps whole numbers where nothing is replaced by a missing value, and so partitions would differ. In the made-up rows
    that this asks one condition is true and one false.
    """
    nodes, call = bind(Method(method), operands, kwargs)
    metas = [node.meta for node in nodes]
    try:
        wide = empty(of_samples(call, *metas))
        narrow = call(*metas)
    except (TypeError, ValueError):  # what pandas objects to is raised when the node is made
        return Method(method)
    if not isinstance(narrow, (pd.DataFrame, pd.Series)) or type(narrow) is not type(wide):
        return Method(method)
    if len(operands) > 2 and is_node(operands[2]):
        wide = with_common_dtypes(wide, operands[2].expr.meta)
    wide = with_dtypes_of(wide, narrow, _never_missing(_asked_for_missing(method, operands[1]), operands[0].expr))
    return Method(method) if dtypes_of(narrow) == dtypes_of(wide) else Widened(method, wide)


def objects_beside_list(lazy: Any, value: Any) -> tuple[Any, Any]:
    """Return a series and what replaces its values: before pandas 3.1 a list of texts beside text makes objects, also if all stay text."""
    if PANDAS_VERSION >= (3, 1) or not isinstance(value, (list, tuple)) or len(value) == 1 or holds_lazy(value):
        return lazy, value
    if not isinstance(lazy.expr.meta, pd.Series) or not isinstance(lazy.expr.meta.dtype, pd.StringDtype):
        return lazy, value
    objects = np.empty(len(value), object)
    objects[:] = value
    return lazy.astype(object), objects


def clipping(meta: Any, lower: Any, upper: Any) -> Method:
    """Return the call of `clip` that gives all partitions the same dtypes: pandas keeps whole numbers where none is beyond ``2.5``."""
    limits: list[Any] = [limit for limit in (lower, upper) if isinstance(limit, (float, np.floating))]
    if all(math.isnan(limit) or float(limit).is_integer() for limit in limits):
        return Method("clip")
    whole = [place for place, dtype in enumerate(dtypes_of(meta)) if isinstance(dtype, np.dtype) and dtype.kind in "iu"]
    floats: Any = meta.to_frame() if isinstance(meta, pd.Series) else meta.copy(deep=False)
    for place in whole:
        ends = np.iinfo(floats.dtypes.iloc[place])
        beyond = pd.Series([ends.min, ends.max], dtype=ends.dtype).clip(limits[0]).clip(upper=limits[-1])
        floats.isetitem(place, floats.iloc[:, place].astype(beyond.dtype))
    return Widened("clip", floats if isinstance(meta, pd.DataFrame) else floats.iloc[:, 0]) if whole else Method("clip")


def has_fractions(limits: Any) -> bool:
    """Whether limits in a list or array are floats of which some are no whole numbers, or missing."""
    if is_node(limits) or isinstance(limits, (pd.Series, pd.DataFrame)) or not pd.api.types.is_list_like(limits):
        return False
    values = np.asarray(limits)
    return values.dtype.kind == "f" and not bool(np.all(values == np.floor(values)))


def _asked_for_missing(method: str, condition: Any) -> FrameExpr | None:
    """Return of what a condition says where values are missing, if `where` or `mask` replaces just those by it; else None."""
    node, asks_missing = condition.expr if is_node(condition) else None, method == "mask"
    if isinstance(node, BlockOp) and node.call.function is operator.invert:
        node, asks_missing = node.frame, not asks_missing
    if not isinstance(node, BlockOp) or not isinstance(node.call.function, Method):
        return None
    paths = (("isna",), ("isnull",)) if asks_missing else (("notna",), ("notnull",))
    return node.frame if node.call.function.path in paths else None


def _never_missing(asked: FrameExpr | None, node: FrameExpr) -> list[int]:
    """Return the places of the columns of a node that have a column of whole numbers or booleans among those `asked` for."""
    if asked is None or asked.rows != node.rows:
        return []
    if any(isinstance(one, AnyJoin) for one in walk([asked])):  # rows without a partner miss values, whatever the dtype
        return []
    meta = asked.meta
    if isinstance(meta, pd.Series):
        return list(range(len(dtypes_of(node.meta)))) if can_miss_nothing(meta.dtype) else []
    if not isinstance(node.meta, pd.DataFrame) or not meta.columns.is_unique:
        return []
    whole = {name for name, dtype in meta.dtypes.items() if can_miss_nothing(dtype)}
    return [place for place, name in enumerate(node.meta.columns) if name in whole]
