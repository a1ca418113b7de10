"""Random chains of frame operations, each run on pandas' objects and on lazy ones: what `test_differential` compares.

A case is made from its seed alone: a frame of random dtypes and index, cut into partitions at random, and one to six
operations, each chosen by what pandas made of those before it. `text` says what was called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from frame_operations import FRAME_OPERATIONS
from glassloom import compute
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.wrap import wrap
from glassloom.errors import DivisionError
from pandas.api import types
from random_frames import INLINE, LAST, ROWS, UNLABELLED, UNORDERED, Draw, Operation, cut, frame
from series_operations import SERIES_OPERATIONS

RAISED = (Exception,)
CALL_USERS = ("x.map(", "x.apply(")
"""What calls a function with values. Of no rows pandas returns what it was given, the lazy object what its meta says: not drawn."""


ALONG_COLUMNS = "'axis': 1"
"""What goes along the columns. Of no rows pandas' result has other dtypes than of some, and the lazy one those of some: not drawn."""


@dataclass
class Case:
    """What both libraries made of a chain: results, or what they raised."""

    text: str
    expected: Any
    found: Any
    promised: str = ROWS
    meta: Any = None
    """What the lazy object said that it would be."""
    rows: Any = None
    """How many rows there are when they alone are counted; None: it has none."""
    outside: Any = None
    """Which labels are in another partition than the divisions say."""


def run(seed: int) -> Case:
    """Return the case of a seed."""
    d = Draw(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        x: Any = frame(d)
        v: Any = cut(d, x)
        texts = [f"x = {describe(x)} in {v.npartitions}"]
        promised = ROWS
        for _ in range(d.integer(1, 6)):
            operation = _draw_operation(d, x)
            if operation is None or (not len(x) and _is_told_by_rows(operation.text)):
                continue
            texts.append(operation.text)
            text = "; ".join(texts)
            try:
                x = operation.call(x)
            except RAISED as error:
                return Case(text, error, attempt(lambda made=v, op=operation: computed(op.call(made))))
            try:
                v = operation.call(v)
            except RAISED as error:
                return Case(text, x, error)
            promised = operation.promised
            if promised != ROWS or not isinstance(x, (pd.DataFrame, pd.Series)):
                break
            if isinstance(x, pd.DataFrame) and not len(x.columns):
                break
        node = getattr(v, "expr", None)
        rows = attempt(lambda: computed(wrap(Length(node)))) if getattr(node, "has_rows", False) else None
        found, outside = attempt(lambda: computed(v)), attempt(lambda: outside_of_divisions(v))
        return Case("; ".join(texts), x, found, promised, getattr(node, "meta", None), rows, outside)


def _is_told_by_rows(text: str) -> bool:
    """Whether pandas makes something else of no rows than of some."""
    return text.startswith(CALL_USERS) or ALONG_COLUMNS in text


def _draw_operation(d: Draw, x: Any) -> Operation | None:
    operations: Any = FRAME_OPERATIONS if isinstance(x, pd.DataFrame) else SERIES_OPERATIONS
    return d.one(operations)(d, x)


def describe(x: pd.DataFrame) -> str:
    return f"{ {name: str(dtype) for name, dtype in x.dtypes.items()} }, {len(x)} rows by {x.index.dtype}"


def computed(value: Any) -> Any:
    return value.compute(**INLINE) if hasattr(value, "compute") else value


def outside_of_divisions(lazy: Any) -> list[Any]:
    """Return the labels of a lazy object that are in another partition than its known divisions say."""
    if not getattr(lazy, "known_divisions", False):
        return []
    found: list[Any] = []
    for number, part in enumerate(compute(*lazy.partitions, **INLINE)):
        labels = (part if isinstance(part, pd.Index) else part.index).dropna()
        first, end = lazy.divisions[number], lazy.divisions[number + 1]
        is_last = number == lazy.npartitions - 1
        found += [label for label in labels if label < first or label > end or (label == end and not is_last)]
    return found


def attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except RAISED as error:
        return error


_MAY_BE_DONE = ("supported for co", "is ambiguous", "str accessor", "boolean subtract", "non-empty take")
"""What pandas' errors say where ours may give a result: it leaves times out of correlations, has an index of a column's name, and
has no text, or no rows, in a partition."""


def difference(case: Case) -> str | None:
    """Return what is wrong with a case, or None."""
    expected, found = case.expected, case.found
    if _is_refusal(found):
        return None
    if isinstance(expected, Exception):
        if any(words in str(expected) for words in _MAY_BE_DONE):
            return None
        if isinstance(found, (AssertionError, AttributeError)) and not isinstance(expected, type(found)):
            return f"raised {found!r}, pandas {expected!r}"
        return None if isinstance(found, Exception) else f"gave {found!r}\nwhere pandas raised {expected!r}"
    if isinstance(found, pd.errors.DataError) and not len(expected):  # pandas minds a dtype only where there are values
        return None
    if isinstance(found, Exception):
        return f"raised {type(found).__name__}: {str(found)[:300]}\nwhere pandas gave {expected!r:.500}"
    try:
        _assert_same(found, expected, case.promised)
        _assert_meta(case.meta, expected)
        assert not isinstance(case.outside, list) or not case.outside, f"{case.outside!r} are in another partition"
        assert case.rows is None or case.rows == len(expected), f"{case.rows!r} rows are counted"
    except AssertionError as error:
        return f"{error}\nfound:\n{found!r}\nexpected:\n{expected!r}"
    return None


def _is_refusal(found: Any) -> bool:
    """Whether an error says that something can't be had of partitions, and what to do."""
    is_ours = isinstance(found, NotImplementedError) and not isinstance(found, pa.ArrowException)
    return (
        is_ours
        or isinstance(found, DivisionError)
        or (isinstance(found, TypeError) and "isn't supported" in str(found))
    )


def _assert_same(found: Any, expected: Any, promised: str) -> None:
    if isinstance(expected, (pd.DataFrame, pd.Series)):
        assert type(found) is type(expected), f"{type(found).__name__} in place of {type(expected).__name__}"
        if promised == UNORDERED:
            found, expected = _in_some_order(found), _in_some_order(expected)
        elif promised == UNLABELLED:
            found, expected = found.reset_index(drop=True), expected.reset_index(drop=True)
        found, expected = _comparable(found, promised), _comparable(expected, promised)
        check: Any = (
            pd.testing.assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal
        )
        check(
            found,
            expected,
            check_freq=False,
            rtol=1e-6,
            atol=1e-9,
            check_index_type="equiv" if len(expected) else False,
        )
    elif isinstance(expected, pd.Index):
        pd.testing.assert_index_equal(found, expected, exact="equiv" if len(expected) else False)
    elif types.is_scalar(expected) and not isinstance(expected, str) and pd.isna(expected):
        assert pd.isna(found), f"{found!r} in place of {expected!r}"
        assert (found is pd.NaT) == (expected is pd.NaT), f"{found!r} in place of {expected!r}"
    elif isinstance(expected, (float, np.floating)):
        assert np.isclose(found, expected, rtol=1e-6, atol=1e-9), f"{found!r} in place of {expected!r}"
    else:
        assert _kind(found) is _kind(expected) or (types.is_number(found) and types.is_number(expected)), (
            f"{type(found)} in place of {type(expected)}"
        )
        assert found == expected, f"{found!r} in place of {expected!r}"


def _comparable(made: Any, promised: str) -> Any:
    """Return a result with the categories of unordered ones sorted, and times among objects rounded.

    Partitions join their categories in order of appearance, and means of times are exact, where pandas rounds floats. Whether
    pandas has means of 32-bit floats in 64 bits depends on the order of the groups.
    """
    if isinstance(made, pd.DataFrame):
        columns = [_comparable(made.iloc[:, place], promised) for place in range(made.shape[1])]
        return pd.concat(columns, axis=1).set_axis(made.columns, axis=1) if columns else made
    if isinstance(made.dtype, pd.CategoricalDtype) and not made.dtype.ordered:
        categories = made.dtype.categories
        return made.cat.reorder_categories(categories[np.argsort(categories.astype(str).to_numpy(), kind="stable")])
    if made.dtype == object:
        return made.map(_rounded).astype(object)
    if made.dtype == "float32" and promised == LAST:
        return made.astype("float64")
    return made


def _rounded(value: Any) -> Any:
    return value.round("ms") if isinstance(value, (pd.Timestamp, pd.Timedelta)) else value


def _kind(value: Any) -> type:
    return bool if isinstance(value, np.bool_) else type(value)


def _in_some_order(made: Any) -> Any:
    values = made.to_frame() if isinstance(made, pd.Series) else made
    texts = [values.iloc[:, place].astype(object).map(repr).to_numpy() for place in range(values.shape[1])]
    ordered = np.lexsort([pd.factorize(text, sort=True)[0] for text in texts]) if texts else slice(None)
    return made.iloc[ordered].reset_index(drop=True)


def _assert_meta(meta: Any, expected: Any) -> None:
    """Check that the lazy object has said which columns and dtypes it would have."""
    if isinstance(expected, pd.DataFrame) and isinstance(meta, pd.DataFrame):
        pd.testing.assert_index_equal(meta.columns, expected.columns, exact="equiv")
        assert meta.index.names == expected.index.names, (
            f"the meta's index is {meta.index.names}, not {expected.index.names}"
        )
    elif isinstance(expected, pd.Series) and isinstance(meta, pd.Series):
        assert meta.name == expected.name, f"the meta's name is {meta.name!r}, not {expected.name!r}"
