"""Other shapes, conversions, categories and labels are those of pandas."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same, check_all, cut_frames
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.errors import OptionError
from hypothesis import given, settings
from long_tests import examples

INLINE = {"scheduler": "inline"}

LABELS = {
    "rename": lambda f: f.index.rename("labels"),
    "astype": lambda f: f.index.astype("float64"),
    "map": lambda f: f.index.map(lambda label: label * 2),
    "unique": lambda f: f.index.unique(),
    "isna": lambda f: f.index.to_series().isna(),
    "to_frame": lambda f: f.index.to_frame(name="label"),
    "any": lambda f: f.index.to_series().any(),
    "dropna with options": lambda f: f.dropna(how="any", subset="s", ignore_index=True),
    "dropna of a series": lambda f: f.f.dropna(ignore_index=True),
    "largest": lambda f: f.i.nlargest(3, keep="last"),
    "largest rows": lambda f: f.nlargest(3, ["i", "f"], keep="last"),
    "largest with ties": lambda f: f.nsmallest(2, "i", keep="all"),
    "multiply": lambda f: f.i.multiply(f.f),
    "divmod": lambda f: f.i.divmod(2)[1],
    "cut": lambda f: cut(f.i, [-4, 0, 2, 9]),
    "cut with labels": lambda f: cut(f.f, [-2, 0, 5, 1e7], labels=["low", "middle", "high"]),
    "isna function": lambda f: (pd if isinstance(f, pd.DataFrame) else gd).isna(f.f),
    "corrwith": lambda f: f[["i", "f"]].corrwith(f.i),
    **({"corrwith of few": lambda f: f[["i", "f"]].corrwith(f.i, min_periods=7)} if HAS_COPY_ON_WRITE else {}),
    "codes": lambda f: f.c.cat.codes,
    "categories": lambda f: f.c.cat.rename_categories(str.upper),
    "used categories": lambda f: f.c.cat.remove_unused_categories(),
    "counts of rows": lambda f: f.value_counts(["i", "b"], sort=False),
}


def cut(series, bins, **options):
    return (pd if isinstance(series, pd.Series) else gd).cut(series, bins, **options)


@settings(max_examples=examples(5))
@given(cut_frames(min_rows=2, max_rows=20))
def test_other_shapes_are_those_of_pandas(pair):
    check_all(LABELS, *pair)


def test_counts_of_rows_are_sorted_by_frequency():
    frame = pd.DataFrame({"a": [1, 2, 1, 1, 2, 3], "b": ["x", "y", "x", "z", "y", None]})
    lazy = gd.from_pandas(frame, npartitions=3)
    got = lazy.value_counts().compute(**INLINE)
    assert got.is_monotonic_decreasing
    assert_same(got.sort_index(), frame.value_counts().sort_index())
    whole = lazy.value_counts(["b", "a"], dropna=False, normalize=True).compute(**INLINE)
    expected = frame.value_counts(["b", "a"], dropna=False, normalize=True)
    assert sorted(whole.reset_index().fillna("?").itertuples(index=False)) == sorted(
        expected.reset_index().fillna("?").itertuples(index=False)
    )
    assert_same(lazy.value_counts("a").compute(**INLINE).sort_index(), frame.value_counts("a").sort_index())


@pytest.mark.parametrize("dropna", [True, False])
@pytest.mark.parametrize("names", [["a", "b"], ["b"], "b"])
@pytest.mark.parametrize("values", [["ant", "x", None, None, "ant", "b"], ["a", "b", 1, 2, None, None]])
def test_counts_of_rows_find_the_dtype_of_objects_as_pandas_does(values, names, dropna):
    frame = pd.DataFrame({"a": [1.0, 1.0, 2.0, 2.0, 1.0, 1.0], "b": pd.Series(values, dtype=object)})
    lazy = gd.from_pandas(frame, npartitions=3)  # one partition may have no value
    assert_same(lazy.value_counts(names, dropna=dropna).compute(**INLINE), frame.value_counts(names, dropna=dropna))


def test_columns_become_rows_partition_by_partition():
    frame = pd.DataFrame({"k": ["a", "b", "c"], "x": [1, 2, 3], "y": [4, 5, 6]})
    lazy = gd.from_pandas(frame, npartitions=2)
    key = ["variable", "k"]
    got = lazy.melt(id_vars="k").compute(**INLINE)
    assert got.index.tolist() == list(range(6))
    assert_same(got.sort_values(key, ignore_index=True), frame.melt(id_vars="k").sort_values(key, ignore_index=True))
    assert_same(gd.melt(lazy.repartition(npartitions=1), id_vars="k").compute(**INLINE), frame.melt(id_vars="k"))


@pytest.mark.parametrize("aggfunc", ["mean", "sum", "count", "max"])
def test_pivot_tables_are_those_of_pandas(aggfunc):
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"row": random.integers(0, 4, 40), "column": random.choice(list("abc"), 40), "x": random.normal(size=40)}
    )
    lazy = gd.from_pandas(frame, npartitions=4).categorize("column")
    plain = frame.assign(column=frame.column.astype("category"))
    expected = plain.pivot_table(values="x", index="row", columns="column", aggfunc=aggfunc, observed=True)
    got = lazy.pivot_table(values="x", index="row", columns="column", aggfunc=aggfunc).compute(**INLINE)
    assert_same(got, expected, check_dtype=False)
    several = lazy.pivot_table(values=["x"], index="row", columns="column", aggfunc=aggfunc).compute(**INLINE)
    assert several.columns.nlevels == 2
    assert np.allclose(several["x"].to_numpy(), expected.to_numpy())
    uncategorised = gd.from_pandas(frame, npartitions=2)
    for columns, values, how in (
        ("column", "x", "sum"),
        (["column"], None, aggfunc),
        ("row", ["x"], ["max", "min"]),
    ):
        options = {
            "index": "row" if "column" in columns else "column",
            "columns": columns,
            "values": values,
            "aggfunc": how,
        }
        assert_same(
            uncategorised.pivot_table(**options).compute(**INLINE), frame.pivot_table(**options), check_dtype=False
        )


TABLES = [
    {"values": "x", "observed": True},
    {"values": "x", "observed": False},
    {"values": "x", "fill_value": 0.0},
    {"values": "x", "aggfunc": "count", "fill_value": -1},
    {"values": ["y", "x"], "index": "row", "aggfunc": "max"},
    {"values": ["y", "x"], "index": ["row"], "columns": ["column"], "aggfunc": {"y": "max", "x": "min"}},
    {"values": "x", "index": ["row", "other"]},
    {"values": "x", "index": ["row", "other"], "dropna": False, "observed": False},
    {"values": "x", "dropna": False, "observed": False, "aggfunc": "sum"},
    {"values": "x", "index": None},
    {"values": ["x", "y"], "index": None, "aggfunc": "sum"},
    {"values": "x", "aggfunc": ["sum", "mean"]},
    {"values": ["x", "y"], "aggfunc": ["max", "count"]},
    {"aggfunc": "max"},
    {"aggfunc": {"x": "sum"}},
    {"values": "x", "columns": None, "aggfunc": {"x": "sum"}},
]


@pytest.mark.each_choice
@pytest.mark.parametrize("options", TABLES)
@pytest.mark.parametrize("has_missing", [False, True])
def test_pivot_tables_take_what_pandas_takes(options, has_missing):
    random = np.random.default_rng(5)
    plain = pd.DataFrame(
        {
            "row": random.integers(0, 4, 40),
            "other": random.integers(0, 3, 40),
            "column": pd.Categorical(random.choice(list("bca"), 40), categories=list("cab")),
            "x": random.normal(size=40),
            "y": random.integers(0, 9, 40),
        }
    )
    if has_missing:
        if not HAS_COPY_ON_WRITE and options.get("dropna") is False:
            pytest.skip("before pandas 3 a missing label comes first")
        plain["row"] = plain.row.where(plain.other > 0)
        plain["x"] = plain.x.where((plain.row != 2) & (plain.y < 7))
    pieces = [plain[:0], plain[:7], plain[7:30], plain[30:]]
    lazy = gd.from_map(pieces.__getitem__, range(4), meta=plain[:0])
    kwargs = {"index": "row", "columns": "column", "observed": True, **options}
    assert_same(lazy.pivot_table(**kwargs).compute(**INLINE), plain.pivot_table(**kwargs))


def test_categories_with_values_are_columns_of_a_pivot_table():
    frame = pd.DataFrame(
        {"row": [1, 1, 2], "column": pd.Categorical(["a", "b", None], categories=list("abz")), "x": [1.5, 2, 3]}
    )
    lazy = gd.from_pandas(frame, npartitions=2)
    for options in ({}, {"observed": False, "aggfunc": "sum"}, {"dropna": False}):
        made = lazy.pivot_table(index="row", columns="column", values="x", **options)
        expected = frame.pivot_table(index="row", columns="column", values="x", **{"observed": True, **options})
        assert_same(made.compute(**INLINE), expected)
        assert_same(made._meta, expected[:0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margins": True, "index": pd.Grouper(key="t", freq="D")}, r"margins=True\) isn't supported: assign\(\)"),
        ({"margins": True, "aggfunc": {"x": ["max"]}}, r"with margins=True a column has one aggregation"),
        ({"aggfunc": {"x": [3]}}, r"pivot_table\(aggfunc=.*name an aggregation, such as 'mean', a list of them"),
        ({"columns": None, "index": None}, r"pivot_table: columns=None and index=None should name a column"),
        (
            {"index": ["row", "t"], "values": None, "columns": ["column", "x"]},
            r"all columns are labels; groupby\(keys\)",
        ),
        ({"aggfunc": "size", "columns": None}, r"groupby\(keys\).size\(\) has the sizes"),
        ({"aggfunc": "size", "margins": True}, r"groupby\(keys\).size\(\) has the sizes"),
    ],
)
def test_what_pivot_tables_cant_do_names_what_can(options, message):
    times = pd.date_range("2020-01-01", periods=2)
    frame = pd.DataFrame({"row": [1, 2], "column": pd.Categorical(["a", "b"]), "x": [1.5, 2], "t": times})
    with pytest.raises((NotImplementedError, OptionError), match=message):
        gd.from_pandas(frame, npartitions=2).pivot_table(
            **{"index": "row", "columns": "column", "values": "x", **options}
        )


def test_categories_that_are_not_known_have_their_order():
    frame = pd.DataFrame({"c": pd.Categorical(list("abcaab"), ordered=True), "x": range(6)})
    lazy = gd.from_pandas(frame, npartitions=2)
    unknown = lazy.assign(c=lazy.c.cat.as_unknown())
    for call in (
        lambda f: f.c < "b",
        lambda f: f.c.gt("a"),
        lambda f: f[f.c >= "b"].x,
        lambda f: f.query("c < 'b'").x,
    ):
        assert_same(call(unknown).compute(**INLINE), call(frame))
    with pytest.raises(TypeError, match="Unordered Categoricals"):
        lazy.x.astype(str).astype("category") < "3"  # noqa: B015


def test_categories_become_known_and_columns():
    frame = pd.DataFrame({"s": ["b", "a", None, "c", "a"], "x": range(5)})
    lazy = gd.from_pandas(frame, npartitions=3)
    unknown = lazy.s.astype("category")
    assert not unknown.cat.known
    assert_same(unknown.cat.codes.compute(**INLINE), frame.s.astype("category").cat.codes)
    known = unknown.cat.as_known()
    assert known.cat.known and list(known.cat.categories) == ["a", "b", "c"]
    assert_same(known.compute(**INLINE), frame.s.astype("category"))
    assert_same(known.cat.codes.compute(**INLINE), frame.s.astype("category").cat.codes)
    assert not known.cat.as_unknown().cat.known
    expected = pd.get_dummies(frame.assign(s=frame.s.astype("category")), dummy_na=True)
    assert_same(gd.get_dummies(lazy.categorize(), dummy_na=True).compute(**INLINE), expected)
    assert_same(gd.get_dummies(lazy).compute(**INLINE), pd.get_dummies(frame))
    assert_same(gd.get_dummies(lazy.s, drop_first=True).compute(**INLINE), pd.get_dummies(frame.s, drop_first=True))


def test_dummies_are_of_the_columns_that_pandas_chooses():
    values = pd.Series([b"a", b"b", b"a"], dtype=pd.ArrowDtype(pa.binary()))
    frame = pd.DataFrame({"name": values, "x": [1, 1, 2], "o": pd.Series(list("uvu"), dtype=object)})
    lazy, expected = gd.from_pandas(frame, npartitions=3), pd.get_dummies(frame)
    assert_same(gd.get_dummies(lazy).compute(**INLINE), expected)
    assert gd.get_dummies(lazy).dtypes.equals(expected.dtypes)
    twice = pd.DataFrame([["a", "b"]], columns=["s", "s"])
    with pytest.raises(NotImplementedError, match="get_dummies of a frame with several columns 's': set_axis"):
        gd.get_dummies(gd.from_pandas(twice))


def test_text_becomes_times_durations_and_numbers():
    frame = pd.DataFrame({"t": ["2020-01-01", "2021-02-03", None], "d": ["1D", "2h", None], "n": ["1.5", "x", "3"]})
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(gd.to_datetime(lazy.t, format="%Y-%m-%d").compute(**INLINE), pd.to_datetime(frame.t, format="%Y-%m-%d"))
    assert_same(gd.to_datetime(lazy.t, utc=True).compute(**INLINE), pd.to_datetime(frame.t, utc=True))
    assert_same(gd.to_timedelta(lazy.d).compute(**INLINE), pd.to_timedelta(frame.d))
    assert_same(gd.to_numeric(lazy.n, errors="coerce").compute(**INLINE), pd.to_numeric(frame.n, errors="coerce"))
    with pytest.raises(NotImplementedError, match=r"to_numeric\(errors='ignore'\) isn't supported"):
        gd.to_numeric(lazy.n, errors="ignore")
    with pytest.raises(TypeError, match="to_datetime takes a lazy frame or series, got list"):
        gd.to_datetime(["2020"])


def test_labels_have_the_size_and_kind_of_pandas():
    frame = pd.DataFrame({"x": range(4)}, index=pd.Index([1.0, 2.0, 2.0, 4.0], name="label"))
    index = gd.from_pandas(frame, npartitions=2).index
    assert (index.name, list(index.names), index.nlevels, index.ndim) == ("label", ["label"], 1, 1)
    assert index.size.compute(**INLINE) == 4 and not index.empty
    assert index.tolist() == index.values.compute(**INLINE).tolist() == frame.index.tolist()
    assert not index.hasnans.compute(**INLINE)
    assert_same(index.value_counts().compute(**INLINE), frame.index.value_counts())
    index.name = "other"
    assert index.compute(**INLINE).name == "other"
    with pytest.raises(
        NotImplementedError, match=r"dropna\(subset=\[1\]\) isn't supported: with axis=1 columns are looked at"
    ):
        gd.from_pandas(frame).dropna(axis=1, subset=[1])


@pytest.mark.parametrize("npartitions", [1, 2, 3])
def test_of_equal_rows_those_are_kept_that_pandas_keeps_of_all(npartitions):
    frame = pd.DataFrame({"i": [1, 1, 0, 0, 0, 0, 0], "f": [0.0, -0.0, np.nan, -0.0, np.nan, np.nan, -0.0]})
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    for keep in ("first", "last", "all"):
        expected = frame.nlargest(3, ["i", "f"], keep=keep)
        pd.testing.assert_frame_equal(lazy.nlargest(3, ["i", "f"], keep=keep).compute(), expected)


@pytest.mark.parametrize("texts", [["1", "2", None], ["1", "2.5", None], [None, None, None], ["x", None, "3"]])
def test_numbers_of_nullable_texts_are_whole_if_those_of_all_partitions_are(texts):
    plain = pd.Series(texts, dtype="string")
    lazy = gd.from_pandas(plain, npartitions=3)
    for options in ({}, {"dtype_backend": "pyarrow"}):
        expected = pd.to_numeric(plain, errors="coerce", **options)
        assert_same(gd.to_numeric(lazy, errors="coerce", **options).compute(**INLINE), expected)


def test_none_is_a_name_of_a_column():
    plain = pd.Series([1, 2, 3], name="x")
    lazy = gd.from_pandas(plain, npartitions=2)
    for names in ((), (None,), ("y",)):
        pd.testing.assert_frame_equal(lazy.to_frame(*names).compute(), plain.to_frame(*names))
