"""Columns and partitions of unlike dtypes: objects stay what they were, and what several columns give together is pandas'."""

from __future__ import annotations

import sys
from decimal import Decimal
from itertools import combinations

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same, blocks_of, check_all
from glassloom.backends.pandas_ import concat
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION

INLINE = {"scheduler": "inline"}
NUMBERS = {
    "int64": [1, 2, 3, 4],
    "float64": [1.5, 2, np.nan, 4],
    "bool": [True, False, True, True],
    "Int64": [1, 2, None, 4],
    "boolean": [True, None, False, True],
    "double[pyarrow]": [1, 2, None, 4],
}


@pytest.mark.parametrize("dtypes", list(combinations(NUMBERS, 2)), ids=" and ".join)
def test_statistics_of_all_values_take_numbers_and_booleans_of_all_kinds_together(dtypes):
    frame = pd.DataFrame({dtype: pd.Series(NUMBERS[dtype], dtype=dtype) for dtype in dtypes})
    lazy = gd.from_pandas(frame, npartitions=2)
    for how in ("mean", "var", "std", "sem", "skew", "kurt", "median"):
        try:
            expected = getattr(frame, how)(axis=None)
        except TypeError:  # of some pairs pandas 2 has none
            continue
        if isinstance(expected, pd.Series):  # pandas 2 takes axis=None for axis=0 in some
            continue
        assert getattr(lazy, how)(axis=None).compute(**INLINE) == pytest.approx(expected), how


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [0.1] * 5, [1.0, None, 2.0, 5.0], [None, None]], ids=repr)
def test_skewness_of_arrows_columns_is_that_of_pandas(values):
    frame = pd.DataFrame({"a": pd.array(values, dtype="double[pyarrow]")})
    unlike = frame.assign(n=pd.array(range(len(values)), dtype="Int64"))
    for one in (frame, unlike):
        assert_same(gd.from_pandas(one, npartitions=2).skew().compute(**INLINE), one.skew())
    got, expected = gd.from_pandas(frame.a, npartitions=2).skew().compute(**INLINE), frame.a.skew()
    assert got is expected or got == pytest.approx(expected, nan_ok=True)


def test_statistics_of_all_values_name_the_columns_that_are_no_numbers():
    lazy = gd.from_pandas(pd.DataFrame({"x": [1, 2], "t": ["a", "b"]}), npartitions=2)
    for how in ("mean", "median"):
        with pytest.raises(TypeError, match=rf"{how}\(axis=None\) takes .* these aren't of numbers: 't' \(\w+\); use"):
            getattr(lazy, how)(axis=None)


@pytest.mark.parametrize("how", ["sum", "min", "max"])
@pytest.mark.parametrize("skipna", [True, False])
def test_reductions_of_text_of_all_kinds_have_the_common_dtype(how, skipna):
    dtypes = {"s": "str", "u": "string[pyarrow]", "v": pd.ArrowDtype(pa.string())}
    if not HAS_COPY_ON_WRITE:
        del dtypes["s"]
    whole = pd.DataFrame({name: pd.Series(["a", "b", None, "d"], dtype=dtype) for name, dtype in dtypes.items()})
    for count in range(1, len(dtypes) + 1):
        for names in combinations(dtypes, count):
            frame = whole[list(names)]
            lazy = gd.from_pandas(frame, npartitions=2)
            try:
                expected = getattr(frame, how)(skipna=skipna)
            except TypeError:  # pandas 2.2 has no sum of text
                with pytest.raises(TypeError):
                    getattr(lazy, how)(skipna=skipna)
                continue
            assert_same(getattr(lazy, how)(skipna=skipna).compute(**INLINE), expected)


@pytest.mark.parametrize("dropna", [True, False])
@pytest.mark.parametrize(
    "values", [[1, 2, 1, None, None], [None, np.nan, 1, None, pd.NaT, np.nan], ["a", 1, True, None, "a"], [None, None]]
)
def test_counts_of_objects_keep_the_values_as_they_are_and_missing_ones_apart(values, dropna):
    series = pd.Series(values, dtype=object)
    expected = series.value_counts(dropna=dropna)
    found = gd.from_pandas(series, npartitions=2).value_counts(dropna=dropna).compute(**INLINE)
    if not HAS_COPY_ON_WRITE:  # before, the order of equal counts was another
        pairs = [dict(zip(map(repr, one.index), one, strict=True)) for one in (found, expected)]
        assert pairs[0] == pairs[1]
        return
    assert_same(found, expected)
    assert list(map(type, found.index)) == list(map(type, expected.index))


def test_labels_that_are_objects_stay_so_where_a_partition_has_none_but_missing_ones():
    whole = pd.Series([1, 2, 3], index=pd.Index([1, 2, None], dtype=object, name="k"))
    joined = concat([whole[:2], whole[2:]])
    assert joined.index.dtype == object and joined.index.name == "k"
    assert list(joined.index) == [1, 2, None] and type(joined.index[0]) is int


OBJECTS = {
    "numbers": [1, 2.5, True, None, 7, 9],
    "decimals": [Decimal(1), Decimal("2.5"), Decimal(4), Decimal(4), Decimal(5), Decimal(9)],
    "missing": [None, float("nan"), pd.NA, None, None, None],
    "text of numbers": ["1", "2", None, "4", "5", "6"],
}


@pytest.mark.skipif(
    PANDAS_VERSION < (3, 1), reason="earlier ones refuse decimals and missing values, and take text for numbers"
)
@pytest.mark.parametrize("values", OBJECTS.values(), ids=list(OBJECTS))
@pytest.mark.parametrize("how", ["mean", "std", "var", "sem", "skew", "kurt", "median"])
def test_moments_of_objects_are_those_of_the_numbers_that_they_are(how, values):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": range(6)})
    operations = {"frame": lambda f: getattr(f, how)(), "series": lambda f: getattr(f.x, how)()}
    check_all(operations, frame, gd.from_pandas(frame, npartitions=3))


BIG = np.arange(6).astype(">i8" if sys.byteorder == "little" else "<i8")
OF_OTHER_BYTES = {
    "from_pandas": lambda: gd.from_pandas(pd.DataFrame({"a": BIG, "b": 1.5}, index=pd.Index(BIG)), npartitions=3),
    "from_array": lambda: gd.from_array(BIG, chunksize=2, columns=["a"]),
    "from_map": lambda: gd.from_map(lambda n: pd.DataFrame({"a": BIG[n : n + 2]}), [0, 2, 4]),
    "from_map, unchecked": lambda: gd.from_map(
        lambda n: pd.DataFrame({"a": BIG[n : n + 2]}), [0, 2, 4], meta={"a": BIG.dtype}, enforce_metadata=False
    ),
    "from_delayed": lambda: gd.from_delayed([gl.delayed(lambda: pd.DataFrame({"a": BIG}))()]),
    "map_partitions": lambda: gd.from_dict({"a": range(6)}, 3).map_partitions(lambda block: block.astype(BIG.dtype)),
    "an array that is assigned": lambda: gd.from_dict({"b": range(6)}, 3).assign(a=BIG),
    "a series that is assigned": lambda: gd.from_dict({"b": range(6)}, 3).assign(a=pd.Series(BIG)),
}


@pytest.mark.parametrize("make", OF_OTHER_BYTES.values(), ids=OF_OTHER_BYTES.keys())
def test_numbers_in_another_order_of_bytes_get_that_of_the_machine(make):
    lazy = make()
    assert lazy.a.dtype == "int64"
    for block in blocks_of(lazy.a):
        assert block.dtype == "int64"
    assert lazy.merge(pd.DataFrame({"a": [1, 5]}), on="a").a.compute(scheduler="inline").tolist() == [1, 5]


def test_partitions_arent_given_another_order_of_bytes():
    lazy = gd.from_dict({"a": range(6)}, 3)
    for dtype in (BIG.dtype, BIG.dtype.str, {"a": BIG.dtype}):
        with pytest.raises(NotImplementedError, match="astype.*isn't supported: partitions have the machine's order"):
            lazy.astype(dtype)
    with pytest.raises(NotImplementedError, match="astype.*isn't supported: partitions have the machine's order"):
        lazy.index.astype(BIG.dtype)


@pytest.mark.parametrize("value", [np.datetime64("2020-01-01"), np.timedelta64(3, "D")])
def test_objects_that_are_times_of_numpy_are_no_numbers(value):
    series = gd.from_pandas(pd.Series([value, value], dtype=object), npartitions=2)
    for how in ("mean", "std", "skew", "median"):
        with pytest.raises(TypeError, match=r"Could not convert np\.(datetime|timedelta)64.* to numeric"):
            getattr(series, how)().compute(scheduler="inline")
