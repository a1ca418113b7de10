"""Statistics are those of pandas, wherever the partitions end."""

import warnings
from fractions import Fraction
from itertools import product

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same, check_all, check_in_parts, cut_frames, partitionings
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe import quantiles
from glassloom.expr import lower, optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
NUMBERS = ["i", "f"]

STATISTICS = {
    "quantile": lambda f: f[NUMBERS].quantile(0.3),
    "quantile of one": lambda f: f.f.quantile(0.25),
    "quantiles": lambda f: f[NUMBERS].quantile([0.1, 0.5, 1.0]),
    "quantiles of one": lambda f: f.i.quantile([0, 0.75]),
    "quantile of times": lambda f: f.d.quantile(0.4),
    "nearest quantile": lambda f: f.i.quantile(0.5, interpolation="nearest"),
    "lower quantile": lambda f: f.f.quantile(0.6, interpolation="lower"),
    "quantile of nullable": lambda f: f.n.quantile(0.5),
    "quantile of rows": lambda f: f[NUMBERS].quantile(0.5, axis=1),
    "median": lambda f: f[NUMBERS].median(),
    "median of one": lambda f: f.i.median(),
    "median of times": lambda f: f.d.median(),
    "median with missing": lambda f: f.f.median(skipna=False),
    "median of numbers": lambda f: f.median(numeric_only=True),
    "skew": lambda f: f[NUMBERS].skew(),
    "kurt": lambda f: f.i.kurt(),
    "skew with missing": lambda f: f.f.skew(skipna=False),
    "min count": lambda f: f[NUMBERS].sum(min_count=4),
    "min count of nullable": lambda f: f.n.sum(min_count=3),
    "min count of a product": lambda f: f.f.prod(min_count=2),
    "mode": lambda f: f[["i", "s", "b", "d"]].mode(),
    "mode of one": lambda f: f.s.mode(),
    "mode with missing": lambda f: f.f.mode(dropna=False),
    "corr": lambda f: f[NUMBERS].corr(),
    "cov": lambda f: f[NUMBERS].cov(ddof=0),
    "cov of one less": lambda f: f[NUMBERS].cov(ddof=None),
    "corr with a minimum": lambda f: f[NUMBERS].corr(min_periods=5),
    "corr of two": lambda f: f.i.corr(f.f),
    "cov of two": lambda f: f.i.cov(f.f),
    "nunique of rows": lambda f: f[NUMBERS].nunique(axis=1),
    "nunique": lambda f: f.s.nunique(),
    "any of booleans": lambda f: f.any(bool_only=True),
    "product": lambda f: f.i.product(),
    "agg": lambda f: f.agg({"i": "sum", "f": "mean"}),
    "agg of lists": lambda f: f[NUMBERS].agg(["min", "max"]),
    "agg of one": lambda f: f.i.agg(["sum", "mean"]),
    "agg by name": lambda f: f.i.agg("sum"),
}


@settings(max_examples=examples(3))
@given(cut_frames(max_rows=24))
def test_statistics_are_those_of_pandas(pair):
    check_all(STATISTICS, *pair)


OF_ROWS = {
    "idxmin": lambda f: f.i.idxmin(),
    "idxmax of columns": lambda f: f[["i", "b"]].idxmax(),
    "autocorr": lambda f: f.i.autocorr(2),
    "describe": lambda f: f.describe(),
    "describe one": lambda f: f.f.describe(percentiles=[0.1, 0.9]),
    "describe times": lambda f: f[["i"]].describe(include="all"),
}


@settings(max_examples=examples(3))
@given(cut_frames(min_rows=3, max_rows=24))
def test_statistics_of_frames_with_rows_are_those_of_pandas(pair):
    frame, lazy = pair
    check_all(OF_ROWS, frame.drop(columns="d"), lazy.drop(columns="d"))
    check_all(
        {"times": lambda f: f[["d"]].describe().drop("mean") if isinstance(f, pd.DataFrame) else Undescribed(f)},
        frame.dropna(),
        lazy.dropna(),
    )


class Undescribed:
    """A description whose mean is left out: pandas' is rounded to a few nanoseconds."""

    def __init__(self, lazy):
        self.lazy = lazy

    def compute(self, **options):
        return self.lazy[["d"]].describe().compute(**options).drop("mean")


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["a", "a", "b"], {}),
        (pd.CategoricalIndex(["a", "c", "b"], name="k"), {}),
        (["a", "c", "b"], {"include": np.array(["int64"])}),
        pytest.param(
            ["a", "c", "b"],
            {"include": pd.Series(["int64", "float64"])},
            marks=pytest.mark.skipif(PANDAS_VERSION < (3, 1), reason="earlier ones ask whether the series is true"),
        ),
    ],
    ids=["equal names", "categories", "an array of dtypes", "a series of dtypes"],
)
def test_described_columns_are_found_by_their_places(names, options):
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [2.0, 3, 9], "z": list("abc")}).set_axis(names, axis=1)
    got = gd.from_pandas(frame, npartitions=2).describe(**options)
    assert_same(got.compute(scheduler="inline"), frame.describe(**options))


def test_quantiles_of_each_row_are_columns():
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [2.0, 3, 9, 5]}, index=list("abcd"))
    got = gd.from_pandas(frame, npartitions=3).quantile([0.5, 0.75], axis=1)
    assert_same(got.compute(scheduler="inline"), frame.quantile([0.5, 0.75], axis=1))


def test_text_is_described_by_its_most_frequent_value():
    frame = pd.DataFrame({"s": ["b", "a", "b", None], "x": [1, 2, 3, 4], "b": [True, True, False, True]})
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(lazy.s.describe().compute(**INLINE), frame.s.describe())
    assert_same(lazy.describe(include="all").compute(**INLINE), frame.describe(include="all"))
    assert_same(lazy[["s", "b"]].describe().compute(**INLINE), frame[["s", "b"]].describe())


def test_means_of_times_are_near_those_of_pandas_and_exact():
    times = pd.Series(
        pd.to_datetime(["2020-01-01 00:00", "2021-03-05 12:00", None, "1999-12-31 00:00"]).tz_localize("UTC")
    )
    lazy = gd.from_pandas(times, npartitions=3)
    assert abs(lazy.mean().compute(**INLINE) - times.mean()) < pd.Timedelta("1us")
    assert abs(lazy.std().compute(**INLINE) - times.std()) < pd.Timedelta("1ms")
    assert pd.isna(lazy.mean(skipna=False).compute(**INLINE))
    assert lazy.mean().compute(**INLINE).value == (times.dropna().astype("int64").sum() // 3) * 10 ** (
        3 * (times.dt.unit == "us")
    )


def test_quantiles_of_many_values_are_exact_and_send_few():
    random = np.random.default_rng(1)
    values = pd.Series(np.concatenate([random.normal(size=40_000), np.full(20_000, 0.25)]))
    lazy = gd.from_pandas(values.sample(frac=1, random_state=2), npartitions=6, sort=False)
    got = lazy.quantile([0.01, 0.5, 0.6, 0.999]).compute()
    pd.testing.assert_series_equal(got, values.quantile([0.01, 0.5, 0.6, 0.999]), rtol=0)
    graph, _ = lower(optimize([lazy.quantile(0.5).expr]))
    assert len(graph) < 6 * 4 + 8


_RANDOM = np.random.default_rng(4)
_ALIKE = 1e6 + _RANDOM.random(9_000)
VALUES = {
    "normals": _RANDOM.normal(size=9_000),
    "values that are alike, and one that isn't": np.append(_ALIKE, 0),
    "values that are alike, and extremes": np.append(_ALIKE, [-1e300, 1e300, np.inf, -np.inf]),
    "one value": np.full(9_000, 3.5),
    "values beside zero": _RANDOM.choice([0.0, -0.0, 1e-320, -1e-320, 5e-324, -5e-324], 9_000),
    "negative values": -_RANDOM.random(9_000) * 1e-300,
    "values of all sizes": np.exp(100 * _RANDOM.normal(size=9_000)),
    "small whole numbers": _RANDOM.integers(-5, 5, 9_000),
    "whole numbers that are alike as floats": _RANDOM.integers(2**62, 2**62 + 4_000, 9_000),
    "unsigned numbers": _RANDOM.integers(0, 2**64 - 1, 9_000, dtype="uint64"),
    "short floats": _RANDOM.normal(size=9_000).astype("float16"),
    "times": pd.to_datetime("2024-01-01") + pd.to_timedelta(_RANDOM.integers(0, 10**15, 9_000)),
    "missing values": pd.array(np.where(_RANDOM.random(9_000) < 0.2, None, np.arange(9_000)), dtype="Int64"),
    "sorted values": np.arange(9_000) / 7,
    "few values": np.arange(30_000) % 3,
    "periods": pd.period_range("2000", periods=9_000, freq="D"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_quantiles_are_values_of_pandas_however_these_are_spread(kind):
    series = pd.Series(VALUES[kind])
    fractions = [0.9, 0, 0.25, 0.5, 0.1, 0.9999, 1, 0.5, *np.linspace(0.9913, 0.0137, 24)]
    for npartitions in (1, 30):
        lazy = gd.from_pandas(series, npartitions=npartitions, sort=False)
        for interpolation in ("lower", "nearest"):
            got = lazy.quantile(fractions, interpolation=interpolation).compute(**INLINE)
            pd.testing.assert_series_equal(got, series.quantile(fractions, interpolation=interpolation), rtol=0, atol=0)
        assert lazy.median().compute(**INLINE) == series.median()


def test_what_is_no_number_among_nullable_floats_is_missing_to_quantiles():
    zeros = gd.from_pandas(pd.Series([0.0, 1.0, 2.0, -0.0], dtype="Float64"), npartitions=2)
    ratios = zeros / zeros
    assert ratios.quantile([0, 0.5]).compute(**INLINE).tolist() == [1, 1]
    assert ratios.median().compute(**INLINE) == 1


def test_quantiles_of_values_that_are_alike_but_for_one_send_few():
    values = pd.Series(np.append(1e6 + np.random.default_rng(5).random(200_000), 0))
    counted = quantiles._counted(values, quantiles._EVERYWHERE)
    places = quantiles._first_places(quantiles.Wanted("median", (0.5,), "linear", True), [counted])
    assert places.n_within == 200_000
    narrow = quantiles._narrowed([quantiles._counted_again(values, places)])
    assert narrow.n_within < 200
    got = gd.from_pandas(values, npartitions=3).median().compute(**INLINE)
    assert got == values.median()


def test_correlations_of_large_numbers_keep_their_digits():
    random = np.random.default_rng(3)
    frame = pd.DataFrame(random.normal(size=(500, 3)), columns=list("abc")) + 1e8
    frame.loc[::7, "b"] = np.nan
    lazy = gd.from_pandas(frame, npartitions=5)
    pd.testing.assert_frame_equal(lazy.corr().compute(**INLINE), frame.corr(), rtol=1e-6)
    pd.testing.assert_frame_equal(lazy.cov().compute(**INLINE), frame.cov(), rtol=1e-6)


@pytest.mark.parametrize("values", [["u", "v", None, "u"], ["u", None, None, None], [None] * 4])
def test_extremes_of_ordered_categories_are_by_their_order(values):
    frame = pd.DataFrame({"c": pd.Categorical(values, ["v", "u", "w"], ordered=True), "k": [1, 1, 2, 2]})
    lazy = gd.from_pandas(frame, npartitions=4)
    for how in ("min", "max"):
        got, expected = getattr(lazy.c, how)().compute(), getattr(frame.c, how)()
        assert got == expected or (pd.isna(got) and pd.isna(expected))
        assert_same(getattr(lazy, how)().compute(), getattr(frame, how)())


LABELS = [
    pd.Index(list("xyz"), dtype="string[pyarrow]"), pd.Index(list("xyz"), dtype="string"), pd.Index(list("xyz"), dtype="str"),
    pd.CategoricalIndex(list("xyz")), pd.Index([1, 2, 3], dtype="Int64"), pd.Index([1, 2, 3], dtype="int8"),
    pd.date_range("2020-01-01", periods=3, tz="Europe/Berlin"), pd.MultiIndex.from_product([[1], list("xyz")]),
]  # fmt: skip


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: str(labels.dtype))
def test_labels_of_extremes_have_the_dtype_of_the_index(labels):
    frame = pd.DataFrame({"a": [1, 5, 2], "b": [3.0, None, 1.0]}, index=labels)
    for npartitions in (1, 2):
        lazy = gd.from_pandas(frame, npartitions=npartitions, sort=False)
        for how in ("idxmax", "idxmin"):
            expected = getattr(frame, how)()
            assert getattr(lazy, how)().dtype == expected.dtype
            assert_same(getattr(lazy, how)().compute(**INLINE), expected)


def test_quantiles_of_categories_are_refused():
    lazy = gd.from_pandas(pd.DataFrame({"c": pd.Categorical(["u", "v"], ["v", "u"], ordered=True)}), npartitions=2)
    for ask in (lambda: lazy.c.quantile(0), lambda: lazy.c.quantile([0.5], interpolation="lower"), lazy.quantile):
        with pytest.raises(TypeError, match=r"quantile of categories.*cat\.codes"):
            ask()


def test_no_quantiles_are_an_empty_series():
    series = pd.Series([1.0, 2.0, 4.0], name="x")
    assert_same(gd.from_pandas(series, npartitions=2).quantile([]).compute(), series.quantile([]))


def test_what_statistics_cant_do_is_said():
    lazy = gd.from_pandas(pd.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"]}), npartitions=2)
    with pytest.raises(
        NotImplementedError,
        match=r"corr\(method='cosine'\) isn't supported: there are 'pearson', 'spearman', .*'kendall'",
    ):
        lazy[["x"]].corr("cosine")
    with pytest.raises(NotImplementedError, match=r"quantile\(method='table'\) isn't supported"):
        lazy.x.quantile(0.5, method="table")
    with pytest.raises(ValueError, match=r"q=1.5 should be between 0 and 1"):
        lazy.x.quantile(1.5)
    with pytest.raises(NotImplementedError, match=r"agg\(func=.*isn't supported: it takes sum, mean"):
        lazy.x.agg("mad")
    with pytest.raises(TypeError, match="mean takes no min_count"):
        lazy.x.mean(min_count=1)


OVER_ALL = ("sum", "prod", "min", "max", "mean", "median", "std", "var", "sem", "skew", "kurt", "any", "all")
MIXED = pd.DataFrame(
    {
        "n": pd.array([1, None, 3, 2, 2], dtype="Int64"),
        "a": pd.array([1.5, 2.0, None, 4.0, 1.0], dtype="double[pyarrow]"),
        "e": pd.array([True, None, False, True, True], dtype="boolean"),
        "o": pd.Series(["x", "w", None, "y", "x"], dtype=object),
        "b": [True, False, True, True, False],
        "i": [3, 1, 2, 5, 4],
    }
)


def test_reductions_over_all_values_of_a_frame_are_scalars_as_in_pandas():
    frame = MIXED[["i", "b"]].assign(f=[0.5, None, 2.0, 1.0, 4.0])[["i", "f"]]
    lazy = gd.from_pandas(frame, npartitions=3)
    for how in OVER_ALL:
        if HAS_COPY_ON_WRITE or how not in ("sum", "prod", "std", "var", "sem"):  # by column before pandas 3
            assert_same(getattr(lazy, how)(axis=None).compute(**INLINE), getattr(frame, how)(axis=None))
    with pytest.raises(ValueError, match="axis=None needs a column; the frame has none"):
        lazy[[]].sum(axis=None)


@pytest.mark.parametrize("how", ["mean", "std", "var", "sem", "skew", "kurt"])
@pytest.mark.parametrize("column", ["n", "a"])
def test_reductions_of_nullable_columns_with_missing_values_are_na(how, column):
    try:
        expected = getattr(MIXED[column], how)(skipna=False)
    except TypeError as error:  # before version 3.1 pandas has no kurt of Arrow's numbers, 2.2 no skew of them
        assert PANDAS_VERSION < (3, 1)
        pytest.skip(f"this pandas raises {error!r}")
    got = getattr(gd.from_pandas(MIXED, npartitions=2)[column], how)(skipna=False).compute(**INLINE)
    assert got is expected is pd.NA


OF_MIXED = {
    "extremes of objects": lambda f: f.o.dropna().to_frame().min(),
    "counts of objects": lambda f: f.o.value_counts(sort=False),
    "several of nullable ones": lambda f: f[["n", "a", "i"]].agg(["min", "max"]),
    "named": lambda f: f.agg(low=("i", "min"), high=("n", "max"), kinds=("o", "nunique")),
    "booleans alone": lambda f: f[["b", "e", "i"]].any(bool_only=True),
    "correlations of numeric text": lambda f: f[["i"]].assign(t=f.i.astype(str)).corr(),
    "medians of no column": lambda f: f[["o"]].median(numeric_only=True),
    "quantiles of no column": lambda f: f[["o"]].quantile(0.25, numeric_only=True),
    "modes of no column": lambda f: f[["o"]].mode(numeric_only=True),
    "correlations of no column": lambda f: f[["o"]].corr(numeric_only=True),
    "quantile of no boolean": lambda f: f.b[f.i > 99].quantile(0.5),
    "quantile of booleans": lambda f: f.b.quantile(0.5),
}


@pytest.mark.parametrize("npartitions", [1, 3])
def test_statistics_of_unlike_dtypes_are_those_of_pandas(npartitions):
    check_all(OF_MIXED, MIXED, gd.from_pandas(MIXED, npartitions=npartitions), check_dtype=True)


def test_text_among_numbers_is_named():
    lazy = gd.from_pandas(pd.DataFrame({"t": ["1", "two"], "i": [1, 2]}), npartitions=2)
    with pytest.raises(
        ValueError, match=r"column 't' with dtype \w+ isn't of numbers: .*'two'.*; give numeric_only=True"
    ):
        lazy.corr().compute(**INLINE)


def test_missing_objects_of_unlike_kinds_are_duplicates_only_of_their_own():
    times = (
        pd.NaT if HAS_COPY_ON_WRITE else "b"
    )  # before, pandas.concat makes NaN of NaT among objects that are all missing
    values = pd.Series(["a", None, float("nan"), times, 1, 1.0, True, None, "a"], dtype=object)
    lazy = gd.from_pandas(values, npartitions=4)
    assert_same(lazy.duplicated().compute(**INLINE), values.duplicated())
    frame = values.to_frame("k")
    got = gd.from_pandas(frame, npartitions=4).drop_duplicates("k", keep=False).compute(**INLINE).sort_index()
    assert_same(got, frame.drop_duplicates("k", keep=False))


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "int64[pyarrow]"])
@pytest.mark.parametrize("skipna", [True, False])
def test_whether_all_or_any_are_true_may_be_missing(dtype, skipna):
    for values in product([1, 0, None], repeat=2):
        column = pd.Series(values, dtype=dtype)
        lazy = gd.from_pandas(column, npartitions=2)
        for how in ("all", "any"):
            expected = getattr(column, how)(skipna=skipna)
            got = getattr(lazy, how)(skipna=skipna).compute(**INLINE)
            assert (got is pd.NA) == (expected is pd.NA), (values, how)
            assert expected is pd.NA or got == expected, (values, how)


def exact_moments(values):
    """Return what pandas computes of values, in fractions up to the last step."""
    exact = [Fraction(float(value)) for value in values]
    n = len(exact)
    mean = sum(exact) / n
    second, third, fourth = (sum((value - mean) ** power for value in exact) for power in (2, 3, 4))
    variance = float(second / (n - 1))
    scale = (n - 2) * (n - 3)
    return {
        "var": variance,
        "std": variance**0.5,
        "sem": (variance / n) ** 0.5,
        "skew": n * (n - 1) ** 0.5 / (n - 2) * float(third) / float(second) ** 1.5,
        "kurt": float(n * (n + 1) * (n - 1) * fourth / (scale * second**2) - Fraction(3 * (n - 1) ** 2, scale)),
    }


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e12, -1e12])
@settings(max_examples=examples(10))
@given(seed=st.integers(0, 10_000), rows=st.integers(20, 300), npartitions=st.integers(2, 9))
def test_moments_of_large_values_that_differ_little_are_exact(offset, seed, rows, npartitions):
    random = np.random.default_rng(seed)
    plain = pd.DataFrame({"a": random.gamma(2, 3, rows) + offset, "b": random.normal(size=rows) - offset})
    lazy = gd.from_pandas(plain, npartitions=npartitions)
    for name in plain:
        for how, expected in exact_moments(plain[name]).items():
            assert getattr(lazy[name], how)().compute(**INLINE) == pytest.approx(expected, rel=1e-10, abs=1e-12), how
    centred = plain - [offset, -offset]  # exact, as the offset has so many digits fewer
    for how in ("corr", "cov"):
        assert_same(getattr(lazy, how)().compute(**INLINE), getattr(centred, how)())


@pytest.mark.parametrize("value", [1e12 / 3, -0.1, 0.0])
def test_equal_values_have_no_variance(value):
    lazy = gd.from_pandas(pd.Series([value] * 100), npartitions=7)
    assert lazy.var().compute(**INLINE) == lazy.std().compute(**INLINE) == 0.0


def test_quantiles_of_a_partition_of_floats_among_whole_numbers_are_not_cut():
    plain = pd.Series([0, 0, 3, 4, 5, 6])
    lazy = gd.from_pandas(plain, npartitions=3).replace(0, 0.5)
    for q in (0, 0.1, 0.5):
        assert lazy.quantile(q, interpolation="nearest").compute(**INLINE) == plain.replace(0, 0.5).quantile(
            q, "nearest"
        )


def test_counts_of_rows_combine_categories_with_values_of_rows_that_miss_one():
    frame = pd.DataFrame({"c": pd.Categorical(["u", None, "u", "v"], categories=["v", "u", "w"]), "e": [2, 3, 1, 2]})
    lazy = gd.from_pandas(frame, npartitions=2)
    for names in (["c", "e"], ["e", "c"]):
        assert_same(lazy.value_counts(names).compute(**INLINE), frame.value_counts(names))
        if HAS_COPY_ON_WRITE:  # before, pandas left combinations that don't occur out then
            assert_same(
                lazy.value_counts(names, dropna=False).compute(**INLINE), frame.value_counts(names, dropna=False)
            )


def test_products_of_years_are_floats_if_one_is_missing_in_any_partition():
    times = pd.Series(pd.date_range("2020", periods=40, freq="37D"))
    for plain in (times, times.where(times.index != 33)):
        lazy = gd.from_pandas(plain, npartitions=4)
        found, expected = lazy.dt.year.prod().compute(**INLINE), plain.dt.year.prod()
        assert type(found) is type(expected) and found == pytest.approx(expected)
    frame = pd.DataFrame({"y": times.where(times.index != 33).dt.year, "i": range(1, 41), "b": True})
    lazy = gd.from_map([frame[:20].astype({"y": "int32"}), frame[20:]].__getitem__, range(2), meta=frame[:0])
    assert_same(lazy.prod().compute(**INLINE), frame.prod())


@pytest.mark.more
def test_correlations_of_ranks_are_those_of_pandas():
    frame = pd.DataFrame(
        {
            "i": [3, 1, 2, 2, 5, 1, 7, 0],
            "f": [0.5, None, 2.5, 1e9, -1, None, 3, 3],
            "n": pd.array([1, 2, None, 4, 4, 0, 9, 8], dtype="Int64"),
            "b": [True, False, True, True, False, False, True, True],
            "one": [1.5] * 8,
            "s": list("abcdefgh"),
        }
    )
    for rows in (8, 1, 0):
        some = frame.iloc[:rows]
        lazy = partitionings(some)[-1]
        assert_same(
            lazy[["i", "f", "one"]].corr("spearman").compute(**INLINE), some[["i", "f", "one"]].corr("spearman")
        )
        got = lazy.f.corr(lazy.n, method="spearman", min_periods=3).compute(**INLINE)
        assert_same(got, some[["f", "n"]].corr("spearman", min_periods=3).loc["f", "n"])
    check_in_parts(frame[["f", "s", "b"]], lambda f: f.corr("spearman", min_periods=7, numeric_only=True))
    check_in_parts(frame, lambda f: f[["i", "f"]].corrwith(f.n, method="spearman"))
    named = frame[["i", "f", "n"]].rename_axis(columns="q")
    check_in_parts(named, lambda f: f.corrwith(f.i))
    check_in_parts(named, lambda f: f.corrwith(f[["f", "i"]]))
    check_in_parts(named, lambda f: f.corrwith(f[["f", "i"]].rename_axis(columns="r"), drop=True))
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")], names=["l", "m"])
    check_in_parts(named[["i", "f"]].set_axis(levels, axis=1), lambda f: f.corrwith(f * 2))
    check_in_parts(frame, lambda f: f.corr("spearman"))


def test_infinite_values_do_not_count_in_a_matrix_of_ranks():
    frame = pd.DataFrame({"a": [1, np.inf, 3, -np.inf, 2], "b": [1.0, 2, 3, 4, 5], "n": [3, 2, 1, 5, 4]})
    found = gd.from_pandas(frame, npartitions=2).corr(method="spearman").compute()
    pd.testing.assert_frame_equal(found, frame.corr(method="spearman"))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "float64", pd.ArrowDtype(pa.float64())], ids=str)
def test_variances_of_fewer_values_than_are_subtracted_are_those_of_pandas(dtype):
    for values in ([1, 0], [1], [1, 1], [None, 1]):
        series = pd.Series(values, dtype=dtype)
        lazy = gd.from_pandas(series, npartitions=2)
        for how in ("var", "std", "sem"):
            for ddof in (0, 1, 2, 3):
                expected = getattr(series, how)(ddof=ddof)
                found = getattr(lazy, how)(ddof=ddof).compute(scheduler="inline")
                assert (found is expected) or found == expected or (found != found and expected != expected)


MISSING_OBJECTS = {
    "numbers": [1, float("nan"), 2.5],
    "numbers and none": [1, None, 2.5],
    "text": ["a", None, "b"],
    "text and nan": ["a", float("nan"), "b"],
    "nan": [float("nan")] * 3,
    "none": [None],
    "what doesn't compare": ["a", float("nan"), 2.5, "a", True, 1, "b"],
    "last missing": ["a", True, 1, "b", None],
    "times": [pd.Timestamp("2000"), None, "b"],
    "texts before a missing one": ["a", "b", "c", "d", None],
    "dicts, which neither add nor compare": [{}, {}, {"x": 1}, None],
    "a missing one before tuples": [float("nan"), (1,), ("a",), (2, 3)],
}


@pytest.mark.parametrize("how", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("name", MISSING_OBJECTS)
def test_objects_of_which_some_are_missing_give_what_pandas_gives(name, how):
    plain = pd.DataFrame({"a": pd.Series(MISSING_OBJECTS[name], dtype=object)})
    for frame in (plain, plain.assign(n=1), plain.a):
        try:
            expected = getattr(frame, how)(skipna=False)
        except TypeError:
            continue
        for npartitions in (1, 2, 5):
            if (name, how, npartitions) == ("numbers", "min", 2) and PANDAS_VERSION < (3, 1):
                continue  # pandas' minimum isn't one: it is 2.5 there, as 1 is compared with what is missing first
            got = getattr(gd.from_pandas(frame, npartitions=npartitions), how)(skipna=False).compute(**INLINE)
            if isinstance(frame, pd.DataFrame):
                assert [repr(one) for one in got] == [repr(one) for one in expected]
            else:
                assert repr(got) == repr(expected)


def test_dicts_are_an_error_if_none_is_missing():
    plain = pd.Series([{}, {}, {"x": 1}, {}], dtype=object)
    for npartitions in (1, 2, 4):
        for how in ("sum", "prod", "min"):
            with pytest.raises(TypeError, match="'dict' and 'dict'"):
                getattr(gd.from_pandas(plain, npartitions=npartitions), how)(skipna=False).compute(**INLINE)


def test_objects_that_do_not_compare_are_an_error_if_none_is_missing():
    plain = pd.DataFrame({"a": pd.Series(["a", "b", True, 1], dtype=object)})
    for npartitions in (1, 2, 4):
        for frame in (plain, plain.a):
            with pytest.raises(TypeError, match="not supported between"):
                gd.from_pandas(frame, npartitions=npartitions).min(skipna=False).compute(**INLINE)


@pytest.mark.parametrize("dtype", ["timedelta64[ns]", "timedelta64[s]", "datetime64[ns]", "datetime64[us, UTC]"])
def test_times_that_are_all_missing_keep_their_dtype(dtype):
    frame = pd.DataFrame({"a": pd.Series([None] * 5).astype(dtype)})
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(lazy.median().compute(**INLINE), frame.median())
    if PANDAS_VERSION >= (3, 1):  # before, pandas took missing times of any kind for times without a zone
        assert_same(lazy.agg(["min", "max"]).compute(**INLINE), frame.agg(["min", "max"]))
    two = frame.assign(b=frame.a)
    assert_same(gd.from_pandas(two, npartitions=2).median().compute(**INLINE), two.median())


def test_columns_correlate_with_themselves_exactly():
    values = np.random.default_rng(13).normal(size=(40, 6)) * 10.0 ** np.arange(-3, 3) + 100
    frame = pd.DataFrame(values, columns=list("abcdef")).assign(one=1.0, none=np.nan)
    frame.iloc[::7, 0] = np.nan
    for method, some in (("pearson", frame), ("spearman", frame[["a", "b"]])):
        found = gd.from_pandas(some, npartitions=3).corr(method).compute(**INLINE)
        assert set(np.diag(found)[:6]) == {1.0}
        assert_same(found, some.corr(method))


@pytest.mark.parametrize("drop", [True, False])
@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_columns_without_any_of_the_same_name_have_no_correlations(drop, method):
    plain = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": [2.0, 1.0, 4.0, 4.0], "t": list("wxyz")})
    lazy = gd.from_pandas(plain, npartitions=2)
    renamed = {"a": "p", "b": "q"}
    options = {"drop": drop, "method": method, "numeric_only": True}
    for other in (lambda frame: frame.rename(columns=renamed), lambda frame: frame[[]]):
        assert_same(lazy.corrwith(other(lazy), **options).compute(), plain.corrwith(other(plain), **options))
    assert_same(lazy[["t"]].corrwith(lazy.a, **options).compute(), plain[["t"]].corrwith(plain.a, **options))


@pytest.mark.skipif(PANDAS_VERSION < (3, 1), reason="earlier ones have no objects to concatenate then")
def test_several_reductions_of_no_columns_are_a_frame_without_columns():
    plain = pd.DataFrame(index=range(4))
    lazy = gd.from_pandas(plain, npartitions=2)
    assert_same(lazy.agg(["sum", "mean"]).compute(), plain.agg(["sum", "mean"]))
    assert_same(lazy.agg({}).compute(), plain.agg({}))
    with pytest.raises(ValueError, match="the frame has no columns to describe; it has \\[\\]"):
        lazy.describe()


@pytest.mark.parametrize("how", ["sum", "prod"])
@pytest.mark.parametrize("other", ["Int64", "int64[pyarrow]"])
def test_sums_of_enough_values_of_whole_numbers_beside_nullable_ones_are_whole(how, other):
    frame = pd.DataFrame({"i": [1, 2, 3, 4], "n": pd.Series([1, None, 2, 3]).astype(other)})
    for min_count in (2, 4):
        expected = getattr(frame, how)(min_count=min_count)
        got = getattr(gd.from_pandas(frame, npartitions=2), how)(min_count=min_count)
        pd.testing.assert_series_equal(got.compute(scheduler="inline"), expected)


def test_quantiles_leave_out_values_of_arrow_that_are_not_a_number():
    values = pa.array([5.0, np.nan, 1.0, None, 3.0], pa.float64())
    series = pd.Series(pd.arrays.ArrowExtensionArray(values), name="v")
    for plain in (series, series.iloc[[1, 1]]):
        lazy = gd.from_pandas(plain, npartitions=2)
        assert_same(lazy.quantile([0, 0.5, 1]).compute(**INLINE), plain.quantile([0, 0.5, 1]))
        got, expected = lazy.median().compute(**INLINE), plain.median()
        assert got is expected is pd.NA or got == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.corr(),
        lambda f: f.cov(ddof=0),
        lambda f: f.corrwith(f["a"]),
        lambda f: f["a"].corr(f["b"]),
        lambda f: f["b"].cov(f["c"]),
    ],
)
@pytest.mark.parametrize("odd", [(0, 0), (np.nan, 0), (np.inf, 0), (np.inf, np.nan)])
def test_missing_and_infinite_values_of_one_partition_count_in_correlations_as_in_pandas(call, odd):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(1e6, 1.0, (60, 3)), columns=["a", "b", "c"]).assign(d=lambda f: f["a"], e=4.0)
    frame.loc[50, ["b", "c"]] = odd
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of infinite values, from NumPy
        expected = call(frame)
        got = call(gd.from_pandas(frame, npartitions=4)).compute(**INLINE)
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9)


def test_the_covariance_of_two_series_heeds_ddof_where_values_are_missing():
    frame = pd.DataFrame({"a": [1.0, 2, np.nan, 4, 7], "b": [2.0, 1, 3, np.nan, 9]})
    lazy = gd.from_pandas(frame, npartitions=2)
    for ddof in (0, 1, 2):
        assert lazy.a.cov(lazy.b, ddof=ddof).compute(**INLINE) == pytest.approx(frame.a.cov(frame.b, ddof=ddof))
        assert_same(lazy.cov(ddof=ddof).compute(**INLINE), frame.cov(ddof=ddof))
