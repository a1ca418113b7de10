"""Metas that can't be told apart are one object while an expression is optimised; others never are."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from glassloom.backends.pandas_ import HAS_COPY_ON_WRITE
from glassloom.dataframe.derived_meta import chosen_meta, derived_meta
from glassloom.expr.memo import remembering


def _frame(**dtypes: Any) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in dtypes.items()})


def _with(meta: Any, **changes: Any) -> Any:
    for name, value in changes.items():
        setattr(meta, name, value)
    return meta


UNLIKE = {
    "integers": lambda: _frame(x="int64", y="float64"),
    "short integers": lambda: _frame(x="int32", y="float64"),
    "big endian": lambda: _frame(x=">i8", y="float64"),
    "other order": lambda: _frame(y="float64", x="int64"),
    "other name": lambda: _frame(x="int64", z="float64"),
    "series": lambda: pd.Series([], dtype="int64"),
    "named series": lambda: pd.Series([], dtype="int64", name="x"),
    "index name": lambda: _with(_frame(x="int64", y="float64"), index=pd.RangeIndex(0, name="i")),
    "index of numbers": lambda: _with(_frame(x="int64", y="float64"), index=pd.Index([], dtype="int64")),
    "index from 5": lambda: _with(_frame(x="int64", y="float64"), index=pd.RangeIndex(5, 5)),
    "name of columns": lambda: _with(_frame(x="int64", y="float64"), columns=pd.Index(["x", "y"], name="n")),
    "objects as columns": lambda: _with(_frame(x="int64", y="float64"), columns=pd.Index(["x", "y"], dtype=object)),
    "numbers as columns": lambda: _with(_frame(x="int64", y="float64"), columns=pd.Index([0, 1])),
    "categories": lambda: _frame(x=pd.CategoricalDtype(["a", "b"]), y="float64"),
    "categories in another order": lambda: _frame(x=pd.CategoricalDtype(["b", "a"]), y="float64"),
    "objects": lambda: _frame(x=object, y="float64"),
    "texts": lambda: _frame(x="str" if HAS_COPY_ON_WRITE else "string", y="float64"),
    "nullable": lambda: _frame(x="Int64", y="float64"),
    "attributes": lambda: _with(_frame(x="int64", y="float64"), attrs={"unit": "m"}),
}


def test_unlike_metas_stay_apart() -> None:
    kinds = dict(UNLIKE)
    if not HAS_COPY_ON_WRITE:
        del kinds["objects as columns"]  # names of columns are objects
    metas = [make() for make in kinds.values()]
    with remembering():
        shared = [derived_meta(lambda meta=meta: meta, meta) for meta in metas]
    assert all(one is meta for one, meta in zip(shared, metas, strict=True))
    assert all(one is not other for one, other in combinations(shared, 2))


@pytest.mark.parametrize("name", ["integers", "short integers", "series", "named series", "objects", "texts"])
def test_alike_metas_become_one_object_while_an_expression_is_optimised(name: str) -> None:
    make = UNLIKE[name]
    with remembering():
        first = derived_meta(make, object())
        assert derived_meta(make, object()) is first
    assert derived_meta(make, object()) is not first


@pytest.mark.parametrize("columns", [["y"], ["y", "x"], ["x", "x"], [], "x", ["x", 1], [1], [np.str_("x")]], ids=repr)
def test_chosen_columns_are_those_of_pandas(columns: Any) -> None:
    meta = _with(_frame(x="int64", y="str", z="float64"), columns=pd.Index(["x", "y", 1], dtype=object))
    try:
        expected = meta[columns]
    except KeyError:
        with pytest.raises(KeyError):
            chosen_meta(meta, columns)
        return
    chosen = chosen_meta(meta, columns)
    (pd.testing.assert_series_equal if isinstance(expected, pd.Series) else pd.testing.assert_frame_equal)(
        chosen, expected
    )
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_index_equal(chosen.columns, expected.columns, exact=True)


def test_chosen_columns_keep_the_name_of_the_columns() -> None:
    meta = _with(_frame(x="int64", y="str"), columns=pd.Index(["x", "y"], name="n"))
    pd.testing.assert_frame_equal(chosen_meta(meta, ["y"]), meta[["y"]])
