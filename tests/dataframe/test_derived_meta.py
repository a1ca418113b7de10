"""Metas of the common kinds that can't be told apart are one object; others never are."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from itertools import combinations
from typing import Any

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.derived_meta import (
    chosen_meta,
    derived_meta,
    meta_side_by_side,
    meta_with_columns,
    names_of,
)
from glassloom.dataframe.grouping import wholes
from hypothesis import given
from hypothesis import strategies as st


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


def _unlike() -> list[Any]:
    kinds = dict(UNLIKE)
    if not HAS_COPY_ON_WRITE:
        del kinds["objects as columns"]  # names of columns are objects
    return [make() for make in kinds.values()]


def _require_alike(one: Any, other: Any) -> None:
    """Check that all that can be told of two metas is equal."""
    assert type(one) is type(other)
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_column_type="exact", check_index_type="exact")
        pd.testing.assert_index_equal(one.columns, other.columns, exact=True)
        assert [*map(repr, one.dtypes)] == [*map(repr, other.dtypes)]
    else:
        pd.testing.assert_series_equal(one, other, check_index_type="exact")
        assert repr(one.dtype) == repr(other.dtype)
    assert one.attrs == other.attrs
    assert type(one.index) is type(other.index)


def test_unlike_metas_stay_apart() -> None:
    metas = _unlike()
    shared = [derived_meta(lambda meta=meta: meta, meta) for meta in metas]
    for one, meta in zip(shared, metas, strict=True):
        _require_alike(one, meta)
    assert all(one is not other for one, other in combinations(shared, 2))


@pytest.mark.parametrize("name", ["integers", "short integers", "series", "named series", "objects", "texts"])
def test_alike_metas_are_one_object(name: str) -> None:
    make = UNLIKE[name]
    first, second = [derived_meta(make, object()) for _ in range(2)]
    assert second is first


def test_what_a_user_holds_does_not_stand_for_others() -> None:
    given = _frame(x="int64", y="float64")
    frame = gd.from_pandas(pd.DataFrame({"x": [1, 2], "y": [1.0, 2.0]}), npartitions=2)
    made = frame.map_partitions(lambda part: part, meta=given)
    meta = made._meta
    meta.index.name, meta.columns.name = "changed", "changed"
    meta["z"] = 1
    given["z"] = 1
    for one in (frame, made[["x", "y"]], frame[frame.x > 0]):
        assert list(one._meta.columns) == list(one.columns) == ["x", "y"]
        empty = one[one.x > 5].compute()
        empty["z"] = 1
        empty.columns.name = "changed"
        assert list(one.compute().columns) == ["x", "y"]
        assert one[one.x > 5].compute().columns.name is None
        assert list(one.reset_index().columns) == ["index", "x", "y"]


@pytest.mark.parametrize("name", UNLIKE)
def test_names_of_columns_are_read_once(name: str) -> None:
    meta = UNLIKE[name]()
    if isinstance(meta, pd.DataFrame):
        assert list(names_of(meta)) == list(meta.columns)
        common = derived_meta(lambda: meta, meta)
        assert names_of(common) is names_of(common)


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


def test_what_was_made_of_metas_is_known_as_long_as_they_live() -> None:
    first, second = _frame(x="int64"), _frame(y="str")
    joined = derived_meta(lambda: pd.concat([first, second], axis=1), "beside", first, second)
    assert derived_meta(lambda: pytest.fail("made again"), "beside", first, second) is joined
    _require_alike(derived_meta(lambda: second, "beside", second, first), second)
    _require_alike(derived_meta(lambda: first, "other", first, second), first)
    assert derived_meta(_frame, ("min", {"level": 1}), first) is not derived_meta(
        _frame, ("min", {"level": True}), first
    )


def test_uncommon_metas_are_not_kept_by_what_was_made_of_them() -> None:
    metas = [_numbered_from_5(x="int64"), _numbered_from_5(y="str")]
    derived_meta(lambda: metas[0].assign(y=metas[1].y), "beside", *metas)
    derived_meta(lambda: metas[1].assign(x=metas[0].x), "beside", *metas[::-1])
    derived_meta(lambda: metas[0], "itself", metas[0])
    metas.append(derived_meta(lambda: metas[0].copy(), "copy", metas[0]))
    derived_meta(lambda: metas[2].copy(), "copy", metas[2], metas[0])
    gone = list(map(weakref.ref, metas))
    metas.clear()
    gc.collect()
    assert [one() for one in gone] == [None] * 3


def _numbered_from_5(**dtypes: Any) -> pd.DataFrame:
    return _with(_frame(**dtypes), index=pd.RangeIndex(5, 5))


def test_so_many_common_metas_are_kept() -> None:
    kept = [weakref.ref(derived_meta(lambda name=f"n{n}": _frame(**{name: "int64"}), object())) for n in range(3000)]
    gc.collect()
    assert sum(one() is not None for one in kept) <= 1024


def test_a_meta_with_the_address_of_one_that_is_gone_is_another() -> None:
    first = _frame(x="int64")
    for number in range(50):
        second = _frame(**{f"y{number}": "str"})
        made = derived_meta(lambda second=second: first.join(second), "beside", first, second)
        assert list(made.columns) == ["x", f"y{number}"]
        del second


def test_what_is_known_of_a_meta_is_bounded() -> None:
    meta = _frame(x="int64")
    made = [weakref.ref(derived_meta(partial(_numbered_from_5, x="int64"), ("call", n), meta)) for n in range(1000)]
    gc.collect()
    assert sum(one() is not None for one in made) <= 256


_DTYPES = st.sampled_from(["int64", "int32", ">i8", "float64", "bool", "M8[us]", "m8[ns]", object, "str", "string"])
_TABLES = st.dictionaries(st.sampled_from(["a", "b", "c", "a_x", ""]), _DTYPES, max_size=4)


@given(_TABLES, _TABLES, st.data())
def test_metas_that_follow_from_schemas_are_those_of_pandas(one: Any, other: Any, data: Any) -> None:
    left, right = _frame(**one), _frame(**other)
    for columns in [data.draw(st.lists(st.sampled_from([*one]))) if one else [], *one]:
        if type(columns) is str or len(set(columns)) == len(columns):
            is_list = type(columns) is list and len(columns) > 0
            chosen = pd.concat([left[name] for name in columns], axis=1) if is_list else left[columns]
            _require_alike(
                chosen_meta(left, columns), chosen
            )  # pandas 2 takes no columns of another order of bytes itself
    beside = pd.concat([left, right], axis=1)
    made = meta_side_by_side(left, right, [*beside.columns], beside.columns)
    assert made is not None or not (one and other)
    if made is not None:
        _require_alike(made, beside)
    if other:
        names = tuple(other)
        made = meta_with_columns(left, names, [right[name] for name in names])
        assert made is not None or not one
        if made is not None:
            _require_alike(made, left.assign(**{name: right[name] for name in names}))
    assert meta_with_columns(left, ("a",), [1]) is None
    assert meta_with_columns(left, ("a",), [left]) is None


def test_a_meta_keeps_the_order_of_bytes_of_each_column() -> None:
    left, right = _frame(a="int64", b="float64"), _frame(c=">i8", d=">f8")
    made = meta_side_by_side(left, right, [*"abcd"], pd.Index([*"abcd"]))
    assert made is not None
    assert [dtype.str for dtype in made.dtypes] == ["<i8", "<f8", ">i8", ">f8"]


def test_an_aggregation_is_tried_on_made_up_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = gd.from_pandas(pd.DataFrame({"k": [1, 2], "x": [1.0, 2.0]}), npartitions=2)
    first = frame.groupby("k").x.median()
    monkeypatch.setattr(wholes, "of_samples", lambda *_: pytest.fail("tried again"))
    assert frame.groupby("k").x.median().expr.name == first.expr.name
    with pytest.raises(pytest.fail.Exception):
        frame.groupby("k").x.skew()


def test_a_users_function_is_tried_each_time() -> None:
    calls: list[int] = []

    def spread(values: Any) -> Any:
        calls.append(len(values))
        return values.max() - values.min()

    frame = gd.from_pandas(pd.DataFrame({"k": [1, 2], "x": [1.0, 2.0]}), npartitions=2)
    for _ in range(2):
        calls.clear()
        frame.groupby("k").x.agg(spread)
        assert calls
