"""Types of scalars, frequencies of labels and Arrow's types of text: as pandas has them."""

from __future__ import annotations

from itertools import product

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

INLINE = {"scheduler": "inline"}
PLAIN = pd.DataFrame(
    {"x": [3.0, 1, 2, 5, 4], "i": [3, 1, 2, 2, 4], "s": list("babcd"), "d": pd.date_range("2020", periods=5)}
)
METHODS = [
    "nunique",
    "idxmax",
    "idxmin",
    "min",
    "max",
    "count",
    "hasnans",
    "is_unique",
    "is_monotonic_increasing",
    "size",
]
OF_NUMBERS = ["argmax", "argmin", "sum", "prod", "mean", "median", "var", "std", "sem", "skew", "kurt", "any", "all"]


def value_of(frame, name, method):
    found = getattr(frame[name], method)
    found = found() if callable(found) else found
    return found.compute(**INLINE) if hasattr(found, "compute") else found


@pytest.mark.each_choice
@pytest.mark.parametrize("labels", [None, "i", "s"])
@pytest.mark.parametrize("name", ["x", "i", "s", "d"])
def test_scalars_are_of_the_types_of_pandas(name, labels):
    plain = PLAIN if labels is None else PLAIN.set_index(PLAIN[labels])
    lazy = gd.from_map([plain[:2], plain[2:2], plain[2:]].__getitem__, range(3), meta=plain[:0])
    if labels is None:
        lazy = gd.from_pandas(plain, npartitions=3)
    for method in [*METHODS, *(OF_NUMBERS if name in "xi" else [])]:
        found, expected = value_of(lazy, name, method), value_of(plain, name, method)
        assert type(found) is type(expected), method
        assert found == (pytest.approx(expected) if isinstance(expected, float) else expected), method


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_scalars_of_nullable_and_arrow_dtypes_are_of_the_types_of_pandas(dtype):
    plain = PLAIN[["i"]].astype(dtype)
    lazy = gd.from_pandas(plain, npartitions=2)
    for method in ["nunique", "idxmax", "min", "max", "count", "sum", "prod", "mean", "std", "any"]:
        found, expected = value_of(lazy, "i", method), value_of(plain, "i", method)
        assert type(found) is type(expected) and found == pytest.approx(expected), method


@pytest.mark.parametrize("labels", [None, "i", "d"])
def test_scalars_of_labels_are_of_the_types_of_pandas(labels):
    plain = PLAIN if labels is None else PLAIN.set_index(labels)
    lazy = gd.from_pandas(plain, npartitions=2)
    for method in ["min", "max", "nunique", "hasnans", "is_unique", "has_duplicates"]:
        found, expected = (value_of({"": one.index}, "", method) for one in (lazy, plain))
        assert type(found) is type(expected) and found == expected, method


ALONG = {
    "cumsum": lambda f: f.cumsum(),
    "ffill": lambda f: f.ffill(),
    "bfill": lambda f: f.x.bfill(),
    "rolling by rows": lambda f: f.rolling(3).sum(),
    "rolling by times": lambda f: f.rolling("3h").sum(),
    "shift": lambda f: f.shift(2),
    "shift back": lambda f: f.x.shift(-1),
    "diff": lambda f: f.diff(),
    "expanding": lambda f: f.expanding().mean(),
    "ewm": lambda f: f.ewm(2).mean(),
    "chain": lambda f: (f.x.rolling("5h").max() + 1).cumsum(),
}


@pytest.mark.parametrize("name", ALONG)
def test_times_keep_their_frequency_along_the_rows(name):
    plain = pd.DataFrame({"x": np.arange(48.0), "k": [1, 2] * 24}, index=pd.date_range("2020", periods=48, freq="h"))
    found, expected = ALONG[name](gd.from_pandas(plain, npartitions=5)).compute(**INLINE), ALONG[name](plain)
    assert expected.index.freq == "h" == found.index.freq
    gaps = plain[plain.x % 7 < 5]
    assert ALONG[name](gd.from_pandas(gaps, npartitions=5)).compute(**INLINE).index.equals(gaps.index)


def test_text_of_arrow_is_of_the_type_that_the_file_notes(tmp_path):
    text = pd.DataFrame({"s": ["a", "b", None, "b"] * 3, "i": range(12)})
    for kind in ("str", "string", "object"):
        text.astype({"s": kind}).to_parquet(tmp_path / "a.parquet", row_group_size=4)
        expected = pd.read_parquet(tmp_path / "a.parquet", dtype_backend="pyarrow")
        lazy = gd.read_parquet(tmp_path / "a.parquet", dtype_backend="pyarrow", split_row_groups=True)
        assert lazy.npartitions == 3 and lazy.dtypes.equals(expected.dtypes)
        pd.testing.assert_frame_equal(lazy.compute(**INLINE), expected)
        pd.testing.assert_frame_equal(lazy[lazy.i > 5].compute(**INLINE), expected[expected.i > 5])
        pd.testing.assert_series_equal(lazy.s.str.upper().compute(**INLINE), expected.s.str.upper())


def test_frames_with_one_level_of_labels_are_sorted_by_them():
    plain = PLAIN.set_axis(pd.MultiIndex.from_arrays([[3, 1, 2, 5, 4]], names=["k"]), axis=0)
    lazy = gd.from_map([plain[:2], plain[2:3], plain[3:]].__getitem__, range(3), meta=plain[:0])
    pd.testing.assert_frame_equal(lazy.sort_index().compute(**INLINE), plain.sort_index())
    pd.testing.assert_series_equal(
        lazy.x.sort_index(ascending=False).compute(**INLINE), plain.x.sort_index(ascending=False)
    )


@pytest.mark.parametrize(
    "options", [{}, {"ascending": False}, {"key": lambda names: names.str.swapcase()}, {"ignore_index": True}]
)
def test_columns_are_sorted_by_their_names(options):
    plain = PLAIN.rename(columns={"d": "D"})
    found = gd.from_pandas(plain, npartitions=2).sort_index(axis=1, **options)
    expected = plain.sort_index(axis="columns", **options)
    assert list(found.columns) == list(expected.columns)
    pd.testing.assert_frame_equal(found.compute(**INLINE), expected)


@pytest.mark.parametrize("how", ["min", "max", "sum", "prod", "any", "all", "count", "nunique"])
def test_reductions_of_objects_keep_the_values_as_they_are(how):
    for values in product([None, np.nan, 1, True, 2.5], repeat=2):
        plain = pd.DataFrame({"o": pd.Series(values, dtype=object), "i": [1, 2]})
        lazy = gd.from_pandas(plain, npartitions=2)
        assert repr(getattr(lazy.o, how)().compute(**INLINE)) == repr(getattr(plain.o, how)()), values
        for names in (["o"], ["o", "i"]):
            found, expected = getattr(lazy[names], how)().compute(**INLINE), getattr(plain[names], how)()
            assert found.dtype == expected.dtype and repr(found.tolist()) == repr(expected.tolist()), values


def test_columns_of_one_name_keep_their_categories():
    plain = pd.DataFrame({"a": ["x", "y", "z", "x"], "b": range(4)})
    lazy = gd.from_pandas(plain, npartitions=3)
    found, expected = (one.assign(a=one.a.astype("category")).rename(columns={"b": "a"}) for one in (lazy, plain))
    pd.testing.assert_frame_equal(found.compute(**INLINE), expected)


UNLIKE = pd.DataFrame(
    {
        "i": [1, 2, 3, 4],
        "f": [0.5, np.nan, 2.0, 4.0],
        "n": pd.array([1, None, 3, 5], dtype="Int64"),
        "b": pd.array([True, None, False, True], dtype="boolean"),
        "a": pd.array([4, 5, 6, 7], dtype="int64[pyarrow]"),
        "m": pd.array([1.5, None, 2.5, 3.0], dtype="double[pyarrow]"),
    }
)


@pytest.mark.pairwise
@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before version 3 pandas had other dtypes of rows of results")
@pytest.mark.parametrize("skipna", [True, False])
@pytest.mark.parametrize("columns", [["i", "f", "n", "a"], ["i", "b", "f"], ["m", "a"]])
@pytest.mark.parametrize("how", ["sum", "mean", "std", "min", "median", "skew"])
def test_results_of_unlike_columns_keep_the_missing_value_of_each(how, columns, skipna):
    frame = UNLIKE[columns]
    for npartitions in (1, 3):
        found = getattr(gd.from_pandas(frame, npartitions=npartitions), how)(skipna=skipna).compute(**INLINE)
        pd.testing.assert_series_equal(found, getattr(frame, how)(skipna=skipna))


@pytest.mark.parametrize("values", [[0, 1, 1, None, 1, 0, 1], [1, None], [None, None]])
@pytest.mark.parametrize("dtype", ["Float32", "bool[pyarrow]"])
def test_means_and_moments_have_the_precision_of_pandas(dtype, values):
    plain = pd.Series(values, dtype=dtype)
    for how in ("mean", "std", "var", "sem", "skew", "kurt", "sum", "prod"):
        if dtype == "bool[pyarrow]" and how not in ("mean", "sum", "prod"):
            continue
        for skipna in (True, False):
            expected = getattr(plain, how)(skipna=skipna)
            got = getattr(gd.from_pandas(plain, npartitions=3), how)(skipna=skipna).compute(**INLINE)
            assert type(got) is type(expected)
            assert got is expected or got == pytest.approx(expected, rel=1e-6)
            expected = getattr(plain.to_frame(), how)(skipna=skipna)
            got = getattr(gd.from_pandas(plain.to_frame(), npartitions=3), how)(skipna=skipna).compute(**INLINE)
            pd.testing.assert_series_equal(got, expected)


def test_reductions_refuse_what_pandas_refuses_and_say_what_to_do():
    lazy = gd.from_pandas(pd.Series([1, 2, 3], dtype=object), npartitions=2)
    assert lazy.sum(axis="rows").compute(**INLINE) == 6
    with pytest.raises(TypeError, match="does not allow numeric_only=True with non-numeric dtypes, as object is"):
        lazy.max(numeric_only=True)
    with pytest.raises(TypeError, match=r"of a column of dtype object isn't supported .* astype\(float\)"):
        lazy.quantile()
    with pytest.raises(TypeError, match="skew of complex numbers"):
        gd.from_pandas(pd.Series([1 + 1j, 2, 3]), npartitions=1).skew()
    for refuse in (
        lambda: lazy.dropna(axis=1),
        lambda: lazy.add_prefix("a", axis=1),
        lambda: lazy.add_suffix("a", axis=1),
    ):
        with pytest.raises(NotImplementedError, match="axis=1"):
            refuse()


@pytest.mark.parametrize(
    ("values", "methods"),
    [
        (pd.Series(pd.date_range("2020", periods=4)), ["std", "mean", "min", "max"]),
        (pd.Series(pd.timedelta_range("1h", periods=4)), ["std", "sum"]),
        (pd.Series(pd.period_range("2020", periods=4, freq="D")), ["max"]),
        (pd.Series(list("abca"), dtype="string"), ["sum", "min"]),
    ],
    ids=["times", "durations", "periods", "text"],
)
def test_numbers_alone_are_all_values_of_a_series_that_isnt_of_objects(values, methods):
    lazy = gd.from_pandas(values, npartitions=2)
    for method in methods:
        assert getattr(lazy, method)(numeric_only=True).compute() == getattr(values, method)(numeric_only=True)


def test_days_in_a_time_zone_are_joined_where_a_midnight_occurs_twice():
    plain = pd.DataFrame({"x": range(3)}, index=pd.date_range("2018-11-03", periods=3))
    lazy = gd.from_pandas(plain, npartitions=3)
    expected = plain.tz_localize("America/Havana", ambiguous=True)
    pd.testing.assert_frame_equal(
        lazy.tz_localize("America/Havana", ambiguous=True).compute(**INLINE), expected, check_freq=False
    )
    got = lazy.index.tz_localize("America/Havana", ambiguous=True).compute(**INLINE)
    assert got.equals(expected.index)


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_arrays_of_text_keep_their_dtype_as_columns(storage):
    values = pd.array(["a", None, "b"], dtype=f"string[{storage}]")
    plain = pd.DataFrame({"x": range(3)})
    got = gd.from_pandas(plain, npartitions=2).assign(s=values, n=values[[1, 1, 1]]).compute(**INLINE)
    pd.testing.assert_frame_equal(got, plain.assign(s=values, n=values[[1, 1, 1]]))
