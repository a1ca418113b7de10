"""What needs whole groups is pandas' result too: order, places of rows, missing keys and all."""

from __future__ import annotations

import warnings
from itertools import product

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of, by_keys, cut_frames
from glassloom import config
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe.grouping.encode import encode
from glassloom.dataframe.grouping.extremes import with_extremes_only
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.wrap import wrap
from glassloom.errors import MetaError, UnknownColumn
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of covariances of one row, from NumPy

INLINE = {"scheduler": "inline"}
HAS_STR = isinstance(pd.Series(["a"]).dtype, pd.StringDtype)
NUMBERS = ["i", "f", "n"]


def spread(values):
    return values.max() - values.min()


GROUPS = {
    "median": lambda g: g[NUMBERS].median(),
    "quantiles": lambda g: g[["i", "f"]].quantile([0.2, 0.7]),
    "skew": lambda g: g["f"].skew(),
    "sem": lambda g: g[["i", "f"]].sem(),
    "idxmax": lambda g: g[["i"]].idxmax(),
    "corr": lambda g: g[["i", "f"]].corr(),
    "cov": lambda g: g[["i", "f"]].cov(),
    "mean of times": lambda g: g["d"].mean(),
    "enough values": lambda g: g[NUMBERS].sum(min_count=2),
    "first of enough": lambda g: g["f"].first(min_count=2),
    "distinct and missing": lambda g: g["f"].nunique(dropna=False),
    "a function": lambda g: g["f"].agg(spread),
    "functions and names": lambda g: g["f"].agg(["sum", spread]),
    "dict with a median": lambda g: g.agg({"f": ["sum", "median"], "i": "max"}),
    "NamedAgg": lambda g: g.agg(a=pd.NamedAgg("f", "sum"), b=pd.NamedAgg("i", "median")),
    "builtin sum": lambda g: g["f"].agg(sum),
    "text": lambda g: g["s"].agg(
        [*(["min", "max"] if HAS_STR else []), "first", "last", "count"]
    ),  # of objects with NaN
    "nlargest": lambda g: g["f"].nlargest(2),
    "nsmallest": lambda g: g["i"].nsmallest(3),
    "nsmallest of any": lambda g: g["i"].nsmallest(3, keep="all"),
    "value counts": lambda g: g["i"].value_counts(),
    "rolling": lambda g: g["f"].rolling(3, min_periods=1).mean(),
    "expanding": lambda g: g["f"].expanding().sum(),
    "rolling column": lambda g: g.rolling(2)["f"].sum(),
    "rolling columns": lambda g: g.rolling(2, min_periods=1)[["i", "f"]].aggregate(["sum", "max"]),
    "rolling attribute": lambda g: g.rolling(3).i.rank(),
    "rolling correlations": lambda g: g[["i", "f"]].rolling(3).corr(),
    "ewm": lambda g: g["f"].ewm(span=3).mean(),
    "ewm column": lambda g: g.ewm(alpha=0.3, adjust=False)["i"].std(),
    "several of ewm": lambda g: g["f"].ewm(span=3).agg(["mean", "std"]),
    "apply": lambda g: g[["f", "i"]].apply(lambda rows: rows.f.sum() + len(rows)),
    "apply of frames": lambda g: g[["f", "i"]].apply(lambda rows: rows.head(2)),
}
ROWS = {
    "sum": lambda g: g[NUMBERS].transform("sum"),
    "mean": lambda g: g["f"].transform("mean"),
    "first": lambda g: g[["d", "s"]].transform("first"),
    "size": lambda g: g["d"].transform("size"),
    "median": lambda g: g["f"].transform("median"),
    "function": lambda g: g["f"].transform(lambda values: values - values.mean()),
    "filter": lambda g: g.filter(lambda rows: len(rows) > 2),
    "filter a column": lambda g: g["f"].filter(lambda values: values.sum() > 0),
    "shift": lambda g: g[["f", "s"]].shift(),
    "shift back": lambda g: g["i"].shift(-2, fill_value=0),
    "diff": lambda g: g["f"].diff(),
    "pct_change": lambda g: g["f"].pct_change(fill_method=None),  # pandas' default since version 3
    "pct_change, missing values as pandas takes them": lambda g: g["f"].pct_change(),
    "cumsum": lambda g: g[["i", "f"]].cumsum(),
    "cumprod": lambda g: g["i"].cumprod(),
    "cummin": lambda g: g["f"].cummin(),
    "cummax": lambda g: g["i"].cummax(),
    "cumcount": lambda g: g.cumcount(ascending=False),
    "ngroup": lambda g: g.ngroup(),
    "ngroup back": lambda g: g.ngroup(ascending=False),
    "rank": lambda g: g["f"].rank(),
    "ffill": lambda g: g["f"].ffill(),
    "bfill": lambda g: g[["f"]].bfill(),
    "head": lambda g: g.head(2),
    "tail": lambda g: g["f"].tail(2),
    "all but two": lambda g: g.head(-2),
    "nth": lambda g: g.nth(1),
    "first and last": lambda g: g["f"].nth([0, -1]),
    "nth slice": lambda g: g.nth(slice(1, 3)),
}
KEYS = ["s", "c", "b", "n", ["s", "b"], ["c", "b"]]


def assert_equal(got, expected):
    """Check that results are the same. pandas can't compare an index of several levels with missing values in it."""
    if isinstance(expected.index, pd.MultiIndex):
        assert_same(got.index.to_frame(index=False), expected.index.to_frame(index=False))
        got, expected = got.reset_index(drop=True), expected.reset_index(drop=True)
    assert_same(got, expected)


def check(pair, by, how, options):
    """Compare with pandas, unless there are no groups: then what pandas returns depends on the method."""
    frame, lazy = pair
    if frame.groupby(by, **options).ngroups == 0:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = how(lazy.groupby(by, **options)).compute(**INLINE)
        expected = how(frame.groupby(by, **options))
    if how is GROUPS["value counts"]:  # the order of equal counts is that of an unstable sort
        got, expected = by_keys(got), by_keys(expected)
    assert_equal(got, expected)


@pytest.mark.parametrize("name", GROUPS)
def test_what_needs_whole_groups_is_as_in_pandas(name):
    @settings(max_examples=examples(5))
    @given(cut_frames(min_rows=3), st.sampled_from(KEYS), st.booleans())
    def run(pair, by, sort):
        frame, lazy = pair
        if name == "idxmax":
            frame, lazy = frame.reset_index(drop=True), gd.from_pandas(frame.reset_index(drop=True), npartitions=3)
        if name == "value counts" and "c" in by:
            return
        check((frame, lazy), by, GROUPS[name], {"sort": sort, "observed": True})

    run()


_EXTREMES = {
    "of a column": lambda g, how: getattr(g.x, how)(),
    "of columns": lambda g, how: getattr(g[["x", "i", "t"]], how)(),
    "of missing values": lambda g, how: getattr(g.x, how)(skipna=False),
    "of columns without missing values": lambda g, how: getattr(g[["i", "t"]], how)(skipna=False),
}


@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("how", ["idxmin", "idxmax"])
@pytest.mark.parametrize("name", _EXTREMES)
def test_labels_of_extremes_are_those_of_pandas_though_few_rows_move(name, how, has_missing):
    random = np.random.default_rng(6)
    frame = pd.DataFrame({"k": random.integers(0, 9, 300), "l": random.choice(["u", "v", None], 300)})
    frame = frame.assign(x=random.integers(0, 4, 300) / 2, i=random.integers(-3, 3, 300))
    frame = frame.assign(t=pd.Timestamp("2024-01-01") + pd.to_timedelta(frame.i, unit="D")).set_index(frame.index + 50)
    if has_missing:
        frame["x"] = frame.x.where(random.random(300) < 0.8)
        frame.loc[frame.k == 3, ["x", "t"]] = np.nan, pd.NaT
    for by, options in ((["k"], {}), (["k", "l"], {}), (["k", "l"], {"dropna": False}), (["l"], {"sort": False})):
        try:
            expected = _EXTREMES[name](frame.groupby(by, **options), how)
        except ValueError as error:  # pandas 3 finds none in a group without values
            lazy = _EXTREMES[name](gd.from_pandas(frame, npartitions=5).groupby(by, **options), how)
            with pytest.raises(ValueError, match=str(error)[:20]):
                lazy.compute(**INLINE)
            continue
        lazy = _EXTREMES[name](gd.from_pandas(frame, npartitions=5).groupby(by, **options), how)
        assert_same(lazy.compute(**INLINE), expected)
    assert "extremes" in str(lazy.explain())


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas refuses no missing value")
@pytest.mark.parametrize("how", ["idxmin", "idxmax"])
def test_a_missing_value_beside_a_missing_key_raises_as_in_pandas(how):
    frame = pd.DataFrame({"k": [1, 1, 2, 2, None, 3], "x": [1.0, 2, 3, 4, None, 5], "s": list("abcdef")})
    frame["c"] = frame.k.astype(pd.CategoricalDtype([1.0, 2.0, 3.0]))
    calls = {
        "a column": lambda f: f.groupby("k").x,
        "columns": lambda f: f.groupby("k")[["x"]],
        "a series": lambda f: f.x.groupby(f.k),
        "several keys": lambda f: f.groupby(["k", "s"]).x,
        "categories": lambda f: f.groupby("c", observed=True).x,
    }
    for call in calls.values():
        for groups in (call(frame), call(gd.from_pandas(frame, npartitions=3))):
            with pytest.raises(ValueError, match=f"{how} with skipna=False encountered an NA value"):
                made = getattr(groups, how)(skipna=False)
                made.compute(**INLINE)
        assert_same(
            getattr(call(gd.from_pandas(frame, npartitions=3)), how)().compute(**INLINE), getattr(call(frame), how)()
        )
    lazy = gd.from_pandas(frame, npartitions=3)
    expected = frame.groupby("c", observed=False).x.idxmin(skipna=False)
    assert_same(lazy.groupby("c", observed=False).x.idxmin(skipna=False).compute(**INLINE), expected)
    with_text = frame.assign(x=1.0, s=["a", "b", "c", "d", None, "f"])
    for source in (with_text, gd.from_pandas(with_text, npartitions=3)):
        with pytest.raises(ValueError, match=f"{how} with skipna=False encountered an NA value"):
            getattr(source.groupby("k")[["x", "s"]], how)(skipna=False, numeric_only=True).compute()


def test_only_rows_of_extremes_move():
    frame = pd.DataFrame({"k": [1, 2] * 500, "x": range(1000)})
    grouping = gd.from_pandas(frame, npartitions=4).groupby("k").x._grouping
    left = with_extremes_only(grouping, Call("idxmax"))
    assert [len(block) for block in blocks_of(wrap(left.node))] == [4] * 4


@pytest.mark.parametrize("name", ROWS)
def test_rows_keep_their_places(name):
    @settings(max_examples=examples(5))
    @given(cut_frames(min_rows=3), st.sampled_from(KEYS), st.booleans())
    def run(pair, by, sort):
        check(pair, by, ROWS[name], {"sort": sort, "observed": True})

    run()


@pytest.mark.each_choice
@pytest.mark.parametrize("npartitions", [1, 2, 6])
@pytest.mark.parametrize("name", ["function", "rank", "cumcount", "ngroup", "shift", "filter", "cumsum"])
def test_rows_of_partitions_with_only_missing_keys_keep_their_places(name, npartitions):
    frame = pd.DataFrame({"k": ["a", "a", "b", "b", None, None], "f": range(6), "i": range(6), "s": list("uvwxyz")})
    check((frame, gd.from_pandas(frame, npartitions=npartitions)), "k", ROWS[name], {})
    alone = gd.from_pandas(frame[4:], npartitions=min(npartitions, 2))
    got = alone.groupby("k")["i"].transform(lambda values: values * 2).compute(**INLINE)
    assert got.isna().tolist() == [True, True]
    got = alone.groupby("k")[["i", "f"]].transform(lambda values: values * 2).compute(**INLINE)
    assert got.isna().all(axis=None) and got.shape == (2, 2)


@pytest.mark.parametrize("by", ["s", ["s", "b"], "c"])
def test_keys_may_be_columns_of_the_result(by):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "s": random.choice(["x", "y", None], 40),
            "b": random.random(40) < 0.5,
            "c": pd.Categorical(random.choice(["u", "v"], 40), categories=["v", "u", "w"]),
            "f": random.random(40),
            "i": random.integers(0, 5, 40),
        }
    )
    lazy = gd.from_pandas(frame, npartitions=4)
    for how in (
        lambda g: g[["f", "i"]].sum(),
        lambda g: g.size(),
        lambda g: g.f.median(),
        lambda g: g.agg(low=("f", "min"), spread=("i", spread)),
        lambda g: g.agg({"f": ["sum", "mean"]}),
    ):
        for observed in (True, False):
            options = {"as_index": False, "observed": observed}
            assert_same(how(lazy.groupby(by, **options)).compute(**INLINE), how(frame.groupby(by, **options)))


@pytest.fixture
def events():
    random = np.random.default_rng(1)
    times = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.cumsum(random.integers(1, 9, 40)), unit="h")
    return pd.DataFrame({"k": random.choice(["x", "y", None], 40), "t": times, "f": random.random(40), "i": range(40)})


@pytest.mark.each_choice
@pytest.mark.parametrize(
    "how",
    [
        lambda g: g.rolling("1D", on="t").f.sum(),
        lambda g: g.rolling("1D", on="t")[["f", "i"]].mean(),
        lambda g: g[["f", "t"]].rolling("12h", on="t")["f"].count(),
        lambda g: g.rolling(3, min_periods=1).f.mean(),
        lambda g: g.f.rolling(3).mean(),
        lambda g: g.f.ewm(com=1).mean(),
        lambda g: g.resample("D", on="t").f.sum(),
        lambda g: g.resample("D", on="t")[["f", "i"]].agg(["sum", "mean"]),
        lambda g: g.f.expanding().pipe(lambda windows: windows.max()),
    ],
)
@pytest.mark.parametrize("as_index", [True, False])
def test_windows_of_groups_have_columns_and_keep_labels(events, how, as_index):
    try:
        how(events.groupby("k", as_index=as_index))
    except (AttributeError, ValueError):
        assert PANDAS_VERSION < (
            3,
            1,
        )  # there pandas refuses bins without as_index, and pandas 2 has no pipe() of such windows
        return
    for npartitions in (1, 4):
        lazy = gd.from_pandas(events, npartitions=npartitions)
        found = how(lazy.groupby("k", as_index=as_index)).compute(**INLINE)
        assert_same(found, how(events.groupby("k", as_index=as_index)))


def test_what_windows_of_groups_lack_is_named(events):
    groups = gd.from_pandas(events, npartitions=2).groupby("k")
    with pytest.raises(UnknownColumn, match="no column 'g'. The columns are 'f', 'i'"):
        groups[["f", "i"]].rolling(2)["g"]
    with pytest.raises(
        AttributeError,
        match=r"ewm\(\) of groups has no 'median'; it has agg, aggregate, corr, cov, mean, std, sum, var",
    ):
        groups.f.ewm(span=2).median()
    with pytest.raises(
        NotImplementedError,
        match=r"rolling\(\).corr\(\) of groups takes no lazy arguments and no pandas objects: .* to apply\(\)",
    ):
        groups.f.rolling(2).corr(groups.i.sum())
    with pytest.raises(NotImplementedError, match=r"rolling\(\).cov\(\) of groups takes .* no pandas objects"):
        groups.f.rolling(2).cov(events.f)
    with pytest.raises(IndexError, match="already selected"):
        groups.rolling(2)["f"]["i"]
    with pytest.raises(TypeError, match=r"nth\('first'\) takes a whole number, a slice, or a list of those"):
        groups.nth("first")


@pytest.mark.parametrize("npartitions", [1, 6])
def test_rows_without_a_key_stay_where_a_function_gets_no_group(npartitions):
    frame = pd.DataFrame({"s": ["a", None, None, "b", None, None], "x": np.arange(6.0)})
    rows = frame if npartitions > 1 else frame[frame.s.isna()]
    lazy = gd.from_pandas(rows, npartitions=npartitions)
    got = lazy.groupby("s").x.transform(lambda values: values - values.mean()).compute(**INLINE)
    expected = pd.Series([0.0, np.nan, np.nan, 0.0, np.nan, np.nan], name="x")
    assert_same(got, expected[rows.index])
    if npartitions > 1:  # without a group pandas itself refuses frames
        of_frame = lazy.groupby("s")[["x"]].transform(lambda values: values - values.mean()).compute(**INLINE)
        assert_same(of_frame, expected.to_frame())


def test_levels_functions_and_dicts_of_labels_may_be_keys():
    index = pd.MultiIndex.from_product([["a", "b", "c"], [1, 2, 3, 4]], names=["k", "n"])
    frame = pd.DataFrame({"x": np.arange(12.0)}, index=index)
    pieces = [frame.iloc[:5], frame.iloc[5:]]
    lazy = gd.from_map(pieces.__getitem__, range(2), meta=frame)
    for level in ("k", 1, ["n", "k"]):
        assert_same(lazy.groupby(level=level).x.sum().compute(**INLINE), frame.groupby(level=level).x.sum())
    flat = pd.DataFrame({"x": np.arange(12.0)}, index=pd.RangeIndex(12, name="row"))
    cut = gd.from_pandas(flat, npartitions=3)
    for by in (lambda label: label % 3, {0: "a", 1: "a", 2: "b"}):
        assert_same(cut.groupby(by).x.sum().compute(**INLINE), flat.groupby(by).x.sum())
    with pytest.raises(KeyError, match="level 'z' is none of the index, whose levels are"):
        lazy.groupby(level="z")
    with pytest.raises(IndexError, match="level 2 is none of the index, whose levels are"):
        lazy.groupby(level=2)
    with pytest.raises(ValueError, match="level 'z' is none of the index, whose levels are"):
        cut.groupby(level="z")
    with pytest.raises(TypeError, match="groupby needs by= or level="):
        lazy.groupby()


def test_results_may_have_several_partitions():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"k": random.integers(0, 500, 3000), "t": random.choice(["u", "v"], 3000), "x": random.random(3000)}
    )
    lazy = gd.from_pandas(frame, npartitions=5)
    hashed = lazy.groupby(["k", "t"]).x.agg(["sum", "std"], split_out=3)
    assert hashed.npartitions == 3
    assert_same(hashed.compute(**INLINE).sort_index(), frame.groupby(["k", "t"]).x.agg(["sum", "std"]))
    ordered = lazy.groupby("k").x.median(split_out=4)
    assert ordered.npartitions == 4
    assert_same(ordered.compute(**INLINE), frame.groupby("k").x.median())
    sizes = [len(block) for block in blocks_of(lazy.groupby("k").x.median(split_out=4))]
    assert sum(sizes) == frame.k.nunique()
    assert min(sizes) > 90


@pytest.mark.parametrize("keys", ["k", "c", ["k", "t"], "n"])
@pytest.mark.parametrize("as_index", [True, False])
def test_groups_that_are_asked_for_in_order_are_in_order_throughout_several_partitions(keys, as_index):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"k": random.integers(0, 50, 300), "t": random.choice(["u", "v"], 300), "x": random.random(300)}
    )
    frame["c"] = pd.Categorical.from_codes(frame.k, [f"c{number}" for number in range(50)][::-1])
    frame["n"] = frame.k.astype("Int64").mask(frame.k == 7)
    options = {"dropna": False, "as_index": as_index, "observed": True}
    lazy = gd.from_pandas(frame, npartitions=5)
    for aggregation in ("sum", "nunique"):
        got = lazy.groupby(keys, sort=True, **options).agg({"x": aggregation}, split_out=3)
        assert got.npartitions == 3
        expected = frame.groupby(keys, sort=True, **options).agg({"x": aggregation})
        computed = got.compute(**INLINE)
        assert_same(computed if as_index else computed.reset_index(drop=True), expected)


def test_rows_keep_divisions_and_fit_beside_the_frame():
    frame = pd.DataFrame({"k": list("abcabcab"), "x": np.arange(8.0)})
    lazy = gd.from_pandas(frame, npartitions=3)
    divisions = lazy.divisions
    lazy["mean"] = lazy.groupby("k").x.transform("mean")
    lazy["before"] = lazy.groupby("k").x.shift()
    frame["mean"] = frame.groupby("k").x.transform("mean")
    frame["before"] = frame.groupby("k").x.shift()
    assert lazy.divisions == divisions
    assert divisions[0] == 0
    assert_same(lazy.compute(**INLINE), frame)


def test_groups_are_found_by_key_counted_and_piped():
    frame = pd.DataFrame({"k": list("abcabcab"), "x": np.arange(8.0)})
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(lazy.groupby("k").get_group("b").compute(**INLINE), frame.groupby("k").get_group("b"))
    assert_same(lazy.groupby("k").get_group("b").head(1, compute=False).compute(**INLINE), frame[frame.k == "b"][:1])
    with pytest.raises(KeyError, match="nobody"):
        lazy.groupby("k").get_group("nobody").compute(**INLINE)
    assert lazy.groupby("k").ngroups == len(lazy.groupby("k")) == 3
    assert lazy.groupby("k").pipe(lambda g, n: g.x.sum() * n, 2).compute(**INLINE).to_dict() == {
        "a": 18,
        "b": 24,
        "c": 14,
    }


def test_resampled_groups_are_as_in_pandas():
    frame = pd.DataFrame(
        {"k": list("abab") * 6, "x": np.arange(24.0)}, index=pd.date_range("2020-01-01", periods=24, freq="7h")
    )
    lazy = gd.from_pandas(frame, npartitions=4)
    got = lazy.groupby("k").x.resample("1D").sum().compute(**INLINE)
    assert_same(got, frame.groupby("k").x.resample("1D").sum())


def test_a_function_that_fails_on_made_up_rows_and_the_first_ones_needs_a_meta():
    frame = pd.DataFrame({"k": list("ab"), "x": [10.0, 20.0]})
    lazy = gd.from_pandas(frame, npartitions=2)
    least = [15]

    def picky(values):
        if values.iloc[0] < least[0]:
            raise RuntimeError("too small")
        return values.sum()

    with pytest.raises(MetaError, match="tried on two made-up rows .* RuntimeError: too small"):
        lazy.groupby("k").x.agg(picky)
    least[0] = 5
    meta = pd.Series([], dtype="float64", name="x", index=pd.Index([], dtype="str", name="k"))
    assert lazy.groupby("k").x.agg(picky, meta=meta).compute(**INLINE).to_dict() == {"a": 10.0, "b": 20.0}


TEXT = {
    "text keys": lambda g: g[["i", "f"]].agg(["sum", "mean", "min", "max", "first", "last", "count", "std"]),
    "ends of text": lambda g: g["t"].agg(["min", "max", "first", "last", "count", "nunique"]),
    "sizes": lambda g: g.size(),
    "rows": lambda g: g["f"].transform("mean"),
    "group numbers": lambda g: g.ngroup(),
}


@pytest.mark.parametrize("name", TEXT)
def test_arrow_gives_what_pandas_gives(name):
    """Both ways are compared with pandas, so also with each other."""

    @settings(max_examples=examples(9))
    @given(
        cut_frames(min_rows=1),
        st.sampled_from(["s", ["s", "t"], ["c", "s"], ["s", "i"]]),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["str", "object", "string", "large_string[pyarrow]"] if HAS_STR else ["object", "string"]),
    )
    def run(pair, by, dropna, sort, dtype):
        frame, lazy = pair
        if HAS_STR:
            frame, lazy = frame.assign(t=frame.s), lazy.assign(t=lazy.s)
        else:  # pandas finds no least value among objects and NaN
            frame, lazy = frame.assign(t=frame.s.fillna("none")), lazy.assign(t=lazy.s.fillna("none"))
        frame, lazy = frame.astype({"s": dtype}), lazy.astype({"s": dtype})
        if name == "ends of text" and "t" in by:
            return
        options = {"dropna": dropna, "sort": sort, "observed": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = TEXT[name](frame.groupby(by, **options))
        for is_on in (True, False):
            with config.set({"dataframe.arrow": is_on}):
                grouped = lazy.groupby(by, **options)
            assert_equal(TEXT[name](grouped).compute(**INLINE), expected)

    run()


def test_the_option_decides_whether_arrow_encodes_text():
    frame = pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 3]}).astype({"k": "string[pyarrow]"})
    lazy = gd.from_pandas(frame, npartitions=2)
    with config.set({"dataframe.arrow": False}):
        plain = lazy.groupby("k").x.sum()
    assert plain.expr.name != lazy.groupby("k").x.sum().expr.name
    keys = [pd.Series(["b", None, "a"], dtype="string[pyarrow]")]
    for is_on in (True, False):
        groups = encode(keys, dropna=True, order="sorted", arrow=is_on)
        assert groups.codes.tolist() == [1, -1, 0]
        assert list(groups.keys(keys)[0]) == ["a", "b"]


def test_a_meta_of_names_and_dtypes_has_the_keys_as_index():
    frame = pd.DataFrame({"k": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
    lazy = gd.from_pandas(frame, npartitions=2)
    for said in ({"x": "f8"}, [("x", "f8")]):
        made = lazy.groupby("k").apply(lambda group: group[["x"]].sum(), meta=said).reset_index()
        assert made.columns.tolist() == made.compute(**INLINE).columns.tolist() == ["k", "x"]


@pytest.mark.each_choice
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("keys", ["c", ["c", "d"], ["i", "c"]], ids=str)
def test_numbers_of_groups_leave_out_categories_without_rows(keys, ascending, sort):
    frame = pd.DataFrame({
        "c": pd.Categorical(["u", None, "v", "u", "v", "u"], categories=["w", "v", "u", "q"]),
        "d": pd.Categorical(["x", "x", "y", "y", None, "x"], categories=["z", "y", "x"]),
        "i": [2, 1, 1, 2, 3, 1],
    })  # fmt: skip
    lazy = gd.from_pandas(frame, npartitions=3)
    for observed, dropna in product([True, False], repeat=2):
        found, expected = (
            one.groupby(keys, observed=observed, dropna=dropna, sort=sort).ngroup(ascending=ascending)
            for one in (lazy, frame)
        )
        assert_same(found.compute(**INLINE), expected)


@pytest.mark.parametrize("split_out", [1, 2, True])
@pytest.mark.parametrize("aggregation", ["sum", "nunique", "std", "size"])
def test_groups_of_keys_that_do_not_compare_are_in_pandas_order(split_out, aggregation):
    frame = pd.DataFrame({"m": pd.Series([1, "a", 2.5, "b"] * 3, dtype=object), "v": range(12)})
    lazy = gd.from_pandas(frame, npartitions=3)
    got = getattr(lazy.groupby("m", sort=True).v, aggregation)(split_out=split_out)
    assert got.npartitions == (3 if split_out is True else split_out)
    assert_same(got.compute(), getattr(frame.groupby("m", sort=True).v, aggregation)())


SOME_ROWS = {
    "filter": lambda f: f.groupby("k").filter(lambda group: len(group) > 1),
    "filter of a series": lambda f: f.groupby("k").x.filter(lambda group: group.sum() > 3),
    "several rows": lambda f: f.groupby("k").nth([0, 2]),
    "all but the last": lambda f: f.groupby("k").head(-1),
    "columns of some rows": lambda f: f.groupby("k").filter(lambda group: len(group) > 1)[["x"]],
    "all rows": lambda f: f.groupby("k").x.transform("median"),
}


@pytest.mark.parametrize("choose", SOME_ROWS.values(), ids=SOME_ROWS)
def test_rows_of_groups_are_counted_after_some_are_left_out(choose):
    frame = pd.DataFrame({"k": [1, 1, 2, 1, 3, 2, None], "x": range(7)})
    lazy = choose(gd.from_pandas(frame, npartitions=3))
    assert len(lazy) == len(choose(frame)) == len(lazy.compute(**INLINE))
