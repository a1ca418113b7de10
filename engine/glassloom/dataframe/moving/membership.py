"""`isin`. The distinct ones of lazy values are brought together in one block, which all partitions are tested by.

Many values at hand are made once what pandas would make of them for each partition. Numbers are compared with a few values one by one, as pandas
does only with more than a million of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from glassloom.backends.pandas_ import sample
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.moving.distinct import distinct_rows
from glassloom.dataframe.nodes import FrameExpr, Rowwise


class RowsAmong(Rowwise):
    """A test of each row by the only block of the last of `others`, which is no part of the rows."""

    def is_beside(self, node: FrameExpr) -> bool:
        return node is self.others[-1]


def rows_among(node: FrameExpr, values: Any) -> FrameExpr:
    """Return the node of where the values of a node are among those of a lazy series or index.

    Raises
    ------
    NotImplementedError
        If one of both is a frame: pandas aligns these by label.
    """
    if isinstance(node.meta, pd.DataFrame):
        raise NotImplementedError("isin of a frame takes a list or a dict: test columns by frame[column].isin(values)")
    if isinstance(values.expr.meta, pd.Index):
        values = values.to_series()
    if not isinstance(values.expr.meta, pd.Series):
        raise NotImplementedError(
            "isin takes a list, a lazy series or a lazy index; rows that are equal in several columns are found by "
            "merge(how='leftsemi')"
        )
    distinct = distinct_rows(values.expr, None, "first", False, 1, None)
    return RowsAmong(node, (distinct,), BlockCall(_is_among, (Block(0), Block(1)), label="isin"))


def _is_among(block: Any, values: Any) -> Any:
    if _is_arrow_text(block.dtype) and _is_arrow_text(values.dtype):
        return _texts_among(block, pa.array(values.array))
    return block.isin(values)


# Values at hand.


def require_same_comparison(node: FrameExpr, values: Any) -> None:
    """Check that pandas compares a series or frame at hand with the columns of a frame alike in each partition.

    Objects that Arrow can't hold, or can't compare with a column of its own, pandas compares one by one, and then missing ones are unequal.
    A partition whose rows have none of these objects has missing results.

    Raises
    ------
    NotImplementedError
        If it doesn't.
    """
    if node.npartitions == 1 or not isinstance(values, (pd.Series, pd.DataFrame)):
        return
    for name, dtype in zip(node.meta.columns, node.meta.dtypes, strict=True):
        beside = values if isinstance(values, pd.Series) else values.get(name)
        if not _has_missing_results(dtype) or not isinstance(beside, pd.Series) or beside.dtype != object:
            continue
        try:
            pc.equal(pa.array(sample(pd.Series(dtype=dtype)).array)[:1], pa.array(beside, from_pandas=True)[:1])
        except pa.ArrowException as error:
            raise NotImplementedError(
                f"isin of a {type(values).__name__} of objects beside column {name!r} of dtype {str(dtype)!r}: {error}. pandas compares "
                f"these in another way than those of other rows; astype({str(dtype)!r}) of what is given makes them alike"
            ) from error


def _has_missing_results(dtype: Any) -> bool:
    return isinstance(dtype, pd.ArrowDtype) or (_is_arrow_text(dtype) and dtype.na_value is pd.NA)


_MANY = 1000
"""Fewer values stay a list, by which what reads may leave out rows: see `predicates`."""


_FEW = 26
"""Values that pandas compares one by one."""
_EXACT = 2**53
"""Whole numbers below are floats without loss."""


def prepared(values: Any, dtype: Any) -> tuple[Method, Any]:
    """Return the call of `isin` for a series or index of a dtype, and the values that it takes.

    Whole numbers become an array. Texts become one of Arrow's: pandas calls Arrow for each of them, 4 us a text and partition.
    """
    if isinstance(values, Iterator):
        values = list(values)
    if isinstance(values, (list, tuple, set, frozenset)) and 0 < len(values) <= _FEW and _are_numbers_of(values, dtype):
        return _NumbersAmong(), values
    if isinstance(values, (list, tuple)) and len(values) > _MANY:
        kinds = set(map(type, values))
        if kinds == {int} and isinstance(dtype, np.dtype) and dtype.kind == "i":  # of others pandas makes objects
            try:
                return Method("isin"), np.array(values, dtype=np.int64)
            except OverflowError:
                pass
        if kinds == {str} and _is_arrow_text(dtype):
            try:
                return _TextsAmong(), pa.array(values, pa.large_string())
            except UnicodeEncodeError:  # no column of Arrow has such a text, but pandas says so
                pass
    return Method("isin"), values


def _are_numbers_of(values: Collection[Any], dtype: Any) -> bool:
    """Whether values are numbers that a column of a dtype can have, none of them missing."""
    if not isinstance(dtype, np.dtype):
        return False
    kinds = set(map(type, values))
    if dtype.kind == "i":
        return kinds == {int} and all(-(2**63) <= value < 2**63 for value in values)
    if dtype != np.float64 or not kinds <= {int, float}:
        return False
    return all(value == value if type(value) is float else -_EXACT < value < _EXACT for value in values)


class _NumbersAmong(Method):
    """``isin`` of a series of numbers with a few of its kind."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("isin")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_NumbersAmong, ())

    def __call__(self, obj: Any, values: Collection[Any]) -> Any:
        if type(obj) is not pd.Series or not _are_numbers_of(values, obj.dtype):
            return obj.isin(values)
        column = obj.to_numpy()
        first, *rest = np.array(list(values), dtype=np.int64 if column.dtype.kind == "i" else np.float64)
        found = column == first
        for value in rest:
            found |= column == value
        return pd.Series(found, index=obj.index, name=obj.name)


class _TextsAmong(Method):
    """``isin`` of a series or index with texts in an array of Arrow's."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("isin")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_TextsAmong, ())

    def __call__(self, obj: Any, values: Any) -> Any:
        return _texts_among(obj, values) if _is_arrow_text(obj.dtype) else obj.isin(values.to_pylist())


def _is_arrow_text(dtype: Any) -> bool:
    return isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"


def _texts_among(obj: Any, values: Any) -> Any:
    texts = pa.array(obj.array)
    found = pc.is_in(texts, value_set=values if texts.type.equals(values.type) else values.cast(texts.type))
    is_there = found.to_numpy(zero_copy_only=False)
    return is_there if isinstance(obj, pd.Index) else pd.Series(is_there, index=obj.index, name=obj.name)
