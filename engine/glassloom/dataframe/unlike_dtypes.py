"""Partitions whose dtypes differ: pandas makes floats of whole numbers only where a value is missing, in the partitions that have one.

What is computed of all rows has pandas' dtype, as joining partitions gives it. Where one partition by itself would show which dtype it
has (numbers as text, values given to a function), `with_one_dtype` gives all partitions the dtype that they have together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.backends.pandas_ import concat, sample
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe.call import Attribute, BlockCall, Method
from glassloom.dataframe.derived_meta import derived_meta
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.nodes import Assign, BlockOp, Filter, FrameExpr, Held, Projection, Rowwise
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.repeated_labels import Extended, Restored
from glassloom.dataframe.widening import can_miss_nothing, dtypes_of
from glassloom.dataframe.wrap import operate, wrap

_EVEN_OPERATORS = frozenset(
    ["add", "sub", "mul", "neg", "pos", "invert", "and_", "or_", "xor", "eq", "ne", "lt", "le", "gt", "ge"]
)
"""Of whole numbers they make whole numbers or booleans, whatever the values. (Divided by zero, some become floats.)"""
_EVEN_METHODS = frozenset(
    [
        "abs",
        "add",
        "astype",
        "between",
        "eq",
        "ge",
        "gt",
        "isin",
        "isna",
        "isnull",
        "le",
        "lt",
        "mul",
        "ne",
        "notna",
        "notnull",
        "radd",
        "rmul",
        "round",
        "rsub",
        "sub",
    ]
)
_ACCESSORS = frozenset(["str", "dt", "cat"])


def with_one_dtype(collection: Any, places: Sequence[int] | None = None) -> Any:
    """Return a frame or series all of whose partitions have the dtypes that they have together.

    Parameters
    ----------
    collection
        A lazy frame or series.
    places
        The places of the columns that matter. Default: all.
    """
    node = collection.expr
    unlike = unlike_places(node) if node.backend == "pandas" else []  # on a device whole numbers may be missing
    if places is not None:
        unlike = [place for place in unlike if place in places]
    return with_dtypes_of_all(collection, unlike)


def with_dtypes_of_all(collection: Any, places: Sequence[int]) -> Any:
    """Return a frame or series whose columns at some places, if there are any, have the dtype in all partitions that they have together."""
    node, kept = collection.expr, tuple(places)
    if not kept:
        return collection
    none = tuple(column.iloc[:0] for column in _columns(node.meta, kept))
    steps = Operation(_Ends(kept), _joined_ends, _joined_ends)
    common = wrap(tree(node, steps, none, "common-dtypes"))
    return operate(_Converted(kept), collection, common, kind=Alike, label="common-dtypes")


def of_all_rows(node: FrameExpr, beside: FrameExpr) -> FrameExpr:
    """Return a node whose columns have the dtypes of all its rows, if those that miss values may be left out beside another node's rows."""
    if node.rows == beside.rows:
        return node
    made: FrameExpr = with_one_dtype(wrap(node)).expr
    return made


def unlike_places(node: FrameExpr, *, as_read: bool = True) -> list[int]:
    """Return the places of the columns which may have another dtype in some partition.

    Parameters
    ----------
    as_read
        Whether partitions that are read are taken to have the dtypes of the meta.
    """
    meta = node.meta
    if node.npartitions == 1 or not isinstance(meta, (pd.DataFrame, pd.Series)):
        return []
    if isinstance(meta, pd.Series):
        return [0] if _may_differ(node, None, as_read) else []
    if not meta.columns.is_unique:
        return [place for place, dtype in enumerate(meta.dtypes) if can_miss_nothing(dtype)]
    return [place for place, name in enumerate(meta.columns) if _may_differ(node, name, as_read)]


def may_miss_values(node: FrameExpr) -> bool:
    """Whether a series, of whole numbers as its meta says, may have missing values, so that pandas has floats: False only if it is known not to."""
    return _may_differ(node, None, as_read=True, in_one=True)


def places_shown(meta: Any, dtype: Any) -> list[int]:
    """Return the places of the columns of which ``astype(dtype)`` makes what shows the dtype that they had."""
    names = [meta.name] if isinstance(meta, pd.Series) else list(meta.columns)
    wanted = [dtype.get(name) if isinstance(dtype, dict) else dtype for name in names]
    return [place for place, to in enumerate(wanted) if to is not None and _shows_dtype(to)]


def _shows_dtype(dtype: Any) -> bool:
    made = pd.api.types.pandas_dtype(dtype)
    return _is_text(made) or made.kind == "O" or isinstance(made, pd.CategoricalDtype)


def _is_text(dtype: Any) -> bool:
    made = pd.api.types.pandas_dtype(dtype)
    return made.kind in "US" or isinstance(made, pd.StringDtype)


def _writes_floats(dtype: Any) -> bool:
    return _is_text(dtype) and (HAS_COPY_ON_WRITE or isinstance(pd.api.types.pandas_dtype(dtype), pd.StringDtype))


def with_numbers_of_categories(collection: Any, dtype: Any) -> Any:
    """Return a frame or series with numbers in place of categories of such of which ``astype(dtype)`` makes text.

    pandas writes them as floats if a value of the column is missing; before version 3, as ``str`` it doesn't.
    """
    meta = collection.expr.meta
    names = [meta.name] if isinstance(meta, pd.Series) else list(meta.columns)
    wanted = [dtype.get(name) if isinstance(dtype, dict) else dtype for name in names]
    pairs = enumerate(zip(dtypes_of(meta), wanted, strict=True))
    places = [place for place, (own, to) in pairs if to is not None and _is_of_numbers(own) and _writes_floats(to)]
    if not places or collection.expr.npartitions == 1:
        return collection
    return with_one_dtype(operate(_Numbers(tuple(places)), collection, label="numbers"), places)


def with_numbers_for_functions(collection: Any) -> Any:
    """Return a frame or series with plain numbers in place of nullable whole ones, as pandas before version 3.1 gives them to functions."""
    if PANDAS_VERSION >= (3, 1) or not isinstance(collection.expr.meta, (pd.DataFrame, pd.Series)):
        return collection
    places = [place for place, dtype in enumerate(dtypes_of(collection.expr.meta)) if _is_nullable_number(dtype)]
    return operate(_Numbers(tuple(places)), collection, label="numbers") if places else collection


def _is_nullable_number(dtype: Any) -> bool:
    return isinstance(dtype, BaseMaskedDtype) and dtype.kind in "iu"


def _is_of_numbers(dtype: Any) -> bool:
    is_plain = isinstance(dtype, pd.CategoricalDtype) and isinstance(dtype.categories.dtype, np.dtype)
    return is_plain and dtype.categories.dtype.kind in "iu"


def looked_up_meta(meta: Any, mapper: Any) -> Any:
    """Return what looking up the values of a series in a dict or series gives, without rows, if all are found; None: not known."""
    is_known = isinstance(meta, pd.Series) and not isinstance(meta.dtype, pd.CategoricalDtype) and len(mapper)
    if not is_known or hasattr(mapper, "__missing__"):
        return None
    dtype = mapper.dtype if isinstance(mapper, pd.Series) else pd.Series(list(mapper.values())).dtype
    return meta.astype(object).astype(dtype)


def with_floats_missing(made: pd.Series, meta: Any) -> pd.Series:
    """Return values, all of which are missing, as pandas has them among the numbers that the meta promises."""
    is_numbers = isinstance(meta, pd.Series) and isinstance(meta.dtype, np.dtype) and meta.dtype.kind in "iuf"
    if not is_numbers or pd.api.types.is_numeric_dtype(made.dtype) or not made.isna().all():
        return made
    return made.astype("float64")


def with_others_missing(made: pd.Series, meta: Any) -> pd.Series:
    """Return values, all of which are missing, as pandas has them among the texts, times or nullable values that the meta promises for other partitions."""
    dtype: Any = meta.dtype if isinstance(meta, pd.Series) else None
    is_extension = isinstance(dtype, pd.api.extensions.ExtensionDtype)
    is_of_kind = (is_extension and not isinstance(dtype, pd.CategoricalDtype)) or getattr(dtype, "kind", "O") in "mM"
    if not is_of_kind or made.dtype == dtype or not made.isna().all():
        return made
    return made.astype(dtype)


class Alike(Rowwise):
    """Rows of which only the dtype changes, where it isn't what the meta says."""

    @property
    def meta(self) -> Any:
        return self.frame.meta


def _may_differ(node: FrameExpr, name: Any, as_read: bool, in_one: bool = False) -> bool:
    """Whether a column of a frame (None: a series) may have other dtypes in some partitions: False only if it is known not to.

    Columns of whole numbers and booleans do where they would miss a value; others where a user's function makes the values. With `in_one`
    the only partition of a frame may have another dtype than its meta, too.
    """
    left: list[_Column] = [(node, name)]
    seen: set[tuple[str, Any]] = set()
    while left:
        one, label = left.pop()
        if (one.name, label) in seen:
            continue
        seen.add((one.name, label))
        is_unlike = _is_read_unlike(one) and not as_read
        made_of = None if is_unlike else [] if one.npartitions == 1 and not in_one else _made_of(one, label)
        if made_of is None:
            return True
        left += made_of
    return False


def makes_unlike_dtypes(node: FrameExpr) -> bool:
    """Whether a node makes partitions of unlike dtypes by itself: it reads such, or calls a function of the caller's."""
    is_call = isinstance(node, BlockOp) and getattr(node.call.function, "calls_for_each", False)
    return node.makes_unlike_dtypes or is_call or _is_read_unlike(node)


def _is_read_unlike(node: FrameExpr) -> bool:
    return isinstance(node, Read) and node.source.makes_unlike_dtypes


def _may_lack_rows(value: FrameExpr, frame: FrameExpr) -> bool:
    """Whether a series may have no row for some of a frame's: there values are missing. It has one if the frame was filtered out of its rows."""
    if isinstance(value, Extended) and isinstance(frame, Extended):
        value, frame = value.frame, frame.frame
    while value.has_rows and value.rows != frame.rows:
        if not isinstance(frame, (Filter, Projection, Assign)):
            return True
        frame = frame.frame
    return False


_Column = tuple[FrameExpr, Any]
"""A node and the label of a column of it; None: it is a series."""


def _made_of(node: FrameExpr, name: Any) -> list[_Column] | None:
    """Return the columns of whose dtypes that of a column follows, all of them; None if it may differ between partitions by itself."""
    if isinstance(node, Projection):
        return [(node.frame, name if isinstance(node.columns, list) else node.columns)]
    is_of_rows = isinstance(node, (Filter, Extended, Restored)) or (isinstance(node, Assign) and name not in node.names)
    if is_of_rows:
        return [(node.frame, name)]  # type: ignore[attr-defined]
    if isinstance(node, Assign):
        value = node.values[node.names.index(name)]
        if not isinstance(value, FrameExpr):
            return []
        is_exact = can_miss_nothing(_dtype(node.meta, name))
        return None if is_exact and _may_lack_rows(value, node.frame) else _columns_of(value)
    if node.makes_unlike_dtypes or (isinstance(node, BlockOp) and getattr(node.call.function, "calls_for_each", False)):
        return None
    if isinstance(node, Alike) or not can_miss_nothing(_dtype(node.meta, name)):
        return []
    if not any(isinstance(one, FrameExpr) for one in node.dependencies):
        return None if isinstance(node, Held) else []
    if isinstance(node, Rowwise) and node.keeps_rows and _is_even(node):
        return [column for one in node.operand_nodes for column in _columns_of(one)]
    return None


def _columns_of(node: FrameExpr) -> list[_Column]:
    if isinstance(node.meta, pd.Series):
        return [(node, None)]
    return [(node, name) for name in node.meta.columns] if isinstance(node.meta, pd.DataFrame) else []


def _dtype(meta: Any, name: Any) -> Any:
    found = meta if isinstance(meta, pd.Series) else meta[name]
    return found.dtype if isinstance(found, pd.Series) else found.dtypes.iloc[0]  # of columns of one name the first


def _is_even(node: BlockOp) -> bool:
    """Whether an operation makes the same dtypes of all partitions if those that it is given have the same."""
    function = node.call.function
    if isinstance(function, (Method, Attribute)):
        path = function.path
        if path[0] not in _ACCESSORS and not (len(path) == 1 and path[0] in _EVEN_METHODS):
            return False
    elif getattr(function, "__module__", None) != "_operator" or function.__name__ not in _EVEN_OPERATORS:
        return False
    metas = [one.meta for one in node.operand_nodes]
    made = derived_meta(lambda: _of_missing(node.call, metas), _of_missing, node.call, *metas)
    return made is not None and dtypes_of(made) == dtypes_of(node.meta)


def _of_missing(call: BlockCall, metas: Sequence[Any]) -> Any:
    """Return what a call makes of two made-up rows of which one has no values, without rows; None if it refuses them."""
    try:
        made = call(*map(_with_missing, metas))
    except Exception:  # pandas refuses in many ways
        return None
    return made.iloc[:0] if isinstance(made, (pd.DataFrame, pd.Series)) else None


def _with_missing(meta: Any) -> Any:
    made = sample(meta)
    if isinstance(made, pd.Series):
        return made if can_miss_nothing(made.dtype) else made.where(np.array([True, False]))
    if not isinstance(made, pd.DataFrame):
        return made
    for place, dtype in enumerate(made.dtypes):
        if not can_miss_nothing(dtype):
            column: Any = made.iloc[:, place].where(np.array([True, False]))
            made.isetitem(place, column)
    return made


def _columns(block: Any, places: Sequence[int]) -> list[Any]:
    return [block] if isinstance(block, pd.Series) else [block.iloc[:, place] for place in places]


class _OfPlaces:
    """A function of the columns at some places."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self.places = places

    def __glassloom_tokenize__(self) -> Any:
        return self.places


class _Numbers(_OfPlaces):
    """Returns a block with the numbers of categories, or of nullable ones, at some places."""

    def __call__(self, block: Any) -> Any:
        if isinstance(block, pd.Series):
            return _numbers(block)
        made = block.copy(deep=False)
        for place in self.places:
            made.isetitem(place, _numbers(block.iloc[:, place]))
        return made


def _numbers(column: Any) -> Any:
    if _is_nullable_number(column.dtype):
        return column.astype("float64" if column.hasnans else column.dtype.numpy_dtype)
    is_of_numbers = _is_of_numbers(column.dtype)  # categories that aren't known may be others in a partition
    return column.astype("float64" if column.hasnans else column.dtype.categories.dtype) if is_of_numbers else column


class _Ends(_OfPlaces):
    """Returns a row of each column, as what of its dtype: none if there are no rows, which don't decide."""

    def __call__(self, block: Any) -> tuple[Any, ...]:
        return tuple(column.iloc[:1] for column in _columns(block, self.places))


class _Converted(_OfPlaces):
    """Returns a block with columns of the dtypes of others."""

    def __call__(self, block: Any, common: tuple[Any, ...]) -> Any:
        if isinstance(block, pd.Series):
            return block if block.dtype == common[0].dtype else block.astype(common[0].dtype)
        made = block
        for place, column in zip(self.places, common, strict=True):
            if made.dtypes.iloc[place] != column.dtype:
                made = made.copy(deep=False) if made is block else made
                converted: Any = made.iloc[:, place].astype(column.dtype)
                made.isetitem(place, converted)
        return made


def _joined_ends(several: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(concat(list(columns)).iloc[:1] for columns in zip(*several, strict=True))
