"""Windows over the rows are pandas', wherever the partitions end."""

import itertools

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all, cut_frames
from glassloom.errors import OptionError
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

NUMBERS = ["i", "f"]

ROLLING = {
    "sum": lambda f: f[NUMBERS].rolling(3).sum(),
    "mean of one": lambda f: f.f.rolling(2, min_periods=1).mean(),
    "centred": lambda f: f[NUMBERS].rolling(4, center=True, min_periods=1).max(),
    "both ends": lambda f: f.i.rolling(3, closed="both").sum(),
    "left": lambda f: f.i.rolling(3, closed="left").min(),
    "std": lambda f: f.i.rolling(3).std(ddof=0),
    "quantile": lambda f: f.i.rolling(3).quantile(0.3),
    "agg": lambda f: f[NUMBERS].rolling(2).agg(["sum", "max"]),
    "agg by column": lambda f: f.rolling(2).agg({"i": "sum", "f": "max"}),
    "apply": lambda f: f.i.rolling(3).apply(lambda values: values[0] * 2, raw=True),
    "selected": lambda f: f.rolling(3)["i"].sum(),
    "selected by name": lambda f: f.rolling(3).i.sum(),
    "columns selected": lambda f: f.rolling(3)[["i", "f"]].median(),
    "a column of the result": lambda f: f[NUMBERS].rolling(2).count()["f"],
    "cov": lambda f: f.i.rolling(4).cov(f.f),
    "corr": lambda f: f.i.rolling(4).corr(f.i**2),
    "expanding sum": lambda f: f[NUMBERS].expanding().sum(),
    "expanding mean": lambda f: f.f.expanding(2).mean(),
    "expanding var": lambda f: f[NUMBERS].expanding().var(),
    "expanding std": lambda f: f.i.expanding(3).std(ddof=0),
    "expanding sem": lambda f: f.i.expanding().sem(),
    "expanding sum of no values": lambda f: f[NUMBERS].expanding(0).sum(),
    "expanding sum of no values, by default": lambda f: f[NUMBERS].expanding(None).sum(),
    "expanding min": lambda f: f[NUMBERS].expanding().min(),
    "expanding max": lambda f: f.f.expanding(0).max(),
    "expanding count": lambda f: f[NUMBERS].expanding(0).count(),
    "expanding selected": lambda f: f.expanding()["i"].sum(),
}


@settings(max_examples=examples(3))
@given(cut_frames(max_rows=16))
def test_windows_of_rows_are_those_of_pandas(pair):
    check_all(ROLLING, *pair)


@pytest.mark.parametrize("npartitions", [1, 2, 3, 7])
def test_infinite_values_are_missing_to_windows_as_to_pandas_but_counted(npartitions):
    frame = pd.DataFrame({"f": [1.0, np.inf, 3.0, -np.inf, np.nan, 6.0, 2.0], "g": np.arange(7.0)})
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    for how in ("count", "sum", "mean", "min", "max", "var", "sem"):
        for least in (0, 1, 3, 5):
            expected = getattr(frame.expanding(least), how)()
            pd.testing.assert_frame_equal(getattr(lazy.expanding(least), how)().compute(), expected)
    for options in ({"com": 1.5}, {"span": 3, "ignore_na": True}, {"alpha": 0.3, "adjust": False}):
        for how in ("mean",) if "adjust" in options else ("sum", "mean", "std"):
            expected = getattr(frame.ewm(**options), how)()
            pd.testing.assert_frame_equal(getattr(lazy.ewm(**options), how)().compute(), expected)


BY_TIME = {
    "sum": lambda f: f.rolling("2h").sum(),
    "left": lambda f: f.x.rolling("3h", closed="left").sum(),
    "both": lambda f: f.x.rolling("1h", closed="both").count(),
    "centred": lambda f: f.x.rolling("4h", center=True).mean(),
    "on a column": lambda f: (
        f.reset_index(drop=True).rolling("2h", on="t").x.sum()
        if isinstance(f, pd.DataFrame)
        else f.map_partitions(lambda block: block.reset_index(drop=True)).rolling("2h", on="t").x.sum()
    ),
}


@settings(max_examples=examples(9))
@given(st.integers(0, 30), st.integers(0, 99), st.lists(st.integers(0, 30), max_size=6), st.sampled_from([None, "UTC"]))
def test_windows_of_time_are_those_of_pandas(count, seed, cuts, zone):
    random = np.random.default_rng(seed)
    times = pd.Timestamp("2020-01-01", tz=zone) + pd.to_timedelta(np.sort(random.integers(0, 20, count)), unit="h")
    frame = pd.DataFrame({"x": random.integers(0, 9, count).astype("float64")}, index=pd.DatetimeIndex(times))
    frame["t"] = frame.index
    bounds = [0, *sorted(min(cut, count) for cut in cuts), count]
    pieces = [frame.iloc[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    lazy = gd.from_map(pieces.__getitem__, range(len(pieces)), meta=frame)
    check_all({name: work for name, work in BY_TIME.items() if name != "on a column"}, frame[["x"]], lazy[["x"]])
    expected = frame.rolling("2h", on="t").x.sum()
    pd.testing.assert_series_equal(lazy.rolling("2h", on="t").x.sum().compute(scheduler="inline"), expected)


WEIGHTED = {
    "gaussian": lambda f: f[NUMBERS].rolling(5, win_type="gaussian").sum(std=1.5),
    "kaiser": lambda f: f.f.rolling(4, win_type="kaiser", min_periods=2).mean(beta=2),
    "centred": lambda f: f[NUMBERS].rolling(4, win_type="triang", center=True, min_periods=1).mean(),
    "numbers alone": lambda f: f.rolling(3, win_type="gaussian").mean(numeric_only=True, std=2),
    "several": lambda f: f.f.rolling(3, win_type="gaussian").agg(["sum", "mean"], std=1),
    "equal weights": lambda f: f.i.rolling(3, win_type="boxcar").var(ddof=0),
    "no parameter": lambda f: f.f.rolling(3, win_type="gaussian").sum(),
    "another's parameter": lambda f: f.f.rolling(3, win_type="gaussian").sum(beta=1),
}


@given(cut_frames(min_rows=2))
def test_weighted_windows_are_those_of_pandas(pair):
    frame, lazy = pair
    check_all(WEIGHTED, frame[NUMBERS], lazy[NUMBERS])


@pytest.mark.parametrize("ask", [lambda r: r.var(), lambda r: r.std(ddof=0), lambda r: r.agg(["sum", "std"])])
def test_weighted_variances_are_of_one_partition_as_pandas_weights_dont_move_with_the_window(ask):
    numbers = pd.Series([1.0, 5.0, 2.0, 8.0, 4.0, 3.0, 9.0])
    assert_same(
        ask(gd.from_pandas(numbers, npartitions=1).rolling(3, win_type="triang")).compute(),
        ask(numbers.rolling(3, win_type="triang")),
    )
    with pytest.raises(
        NotImplementedError, match=r"rolling\(win_type='triang'\)\..* of several partitions isn't supported"
    ):
        ask(gd.from_pandas(numbers, npartitions=2).rolling(3, win_type="triang"))


def test_what_windows_cant_do_is_said():
    lazy = gd.from_pandas(pd.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"]}), npartitions=2)
    with pytest.raises(NotImplementedError, match="step is not supported with frequency windows"):
        lazy.set_index(lazy.x.astype("datetime64[ns]")).rolling("2h", step=2)
    with pytest.raises(OptionError, match="step=0 should be a number of rows, 1 or more"):
        lazy.x.rolling(2, step=0)
    with pytest.raises(NotImplementedError, match="step not implemented for corr"):
        lazy.x.rolling(2, step=2).corr()
    with pytest.raises(NotImplementedError, match=r"rolling\(method='table'\) isn't supported"):
        lazy.rolling(2, method="table")
    with pytest.raises(ValueError, match=r"apply\(raw=None\): raw parameter must be `True` or `False`"):
        lazy.x.rolling(2).apply(len, raw=None)
    with pytest.raises(ValueError, match="window='soon' should be a number of rows, or a time such as '2h'"):
        lazy.x.rolling("soon")
    with pytest.raises(
        NotImplementedError,
        match=r"expanding\(\)\.median\(\) of several partitions isn't supported: it needs the values of all",
    ):
        lazy.x.expanding().median()
    with pytest.raises(AttributeError, match="Rolling has no attribute 'y'.*no column 'y'"):
        lazy.rolling(2).y  # noqa: B018
    with pytest.raises(
        NotImplementedError, match=r"rolling.corr\(other=1\) isn't supported: it takes a lazy frame or series"
    ):
        lazy[["x"]].rolling(2).corr(1)


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("ignore_na", [False, True])
def test_weighted_means_stay_where_all_weights_have_fallen_to_zero(alpha, ignore_na):
    values = pd.Series([1.0, 3.0, np.nan, np.nan, -1.5, *[np.nan] * 2000, 5.0, np.nan])
    lazy = gd.from_pandas(values, npartitions=7)
    options = {"alpha": alpha, "ignore_na": ignore_na}
    assert_same(lazy.ewm(**options).mean().compute(scheduler="inline"), values.ewm(**options).mean())


@pytest.mark.parametrize("how", ["sum", "mean", "min", "max", "var", "std", "sem", "count"])
@pytest.mark.parametrize("min_periods", [0, 1, 2])
def test_windows_of_all_rows_up_to_each_may_have_no_values(how, min_periods):
    nan = np.nan
    for values in ([nan, nan, nan, 1.0, nan], [nan] * 5, [np.inf, nan, nan, 1.0, 2.0]):
        frame = pd.DataFrame({"a": values, "b": range(5)})
        pieces = [frame.iloc[:2], frame.iloc[2:2], frame.iloc[2:3], frame.iloc[3:]]
        lazy = gd.from_map(pieces.__getitem__, range(4), meta=frame)
        got = getattr(lazy.expanding(min_periods), how)().compute(scheduler="inline")
        assert_same(got, getattr(frame.expanding(min_periods), how)())


WITH_ANOTHER = {
    "two frames": lambda f, g: f.rolling(3).cov(g),
    "two frames, centred": lambda f, g: f.rolling(4, min_periods=2, center=True).corr(g),
    "all pairs of two frames": lambda f, g: f.rolling(3).cov(g, pairwise=True),
    "correlations of all pairs of two frames": lambda f, g: f[["n", "x"]].rolling(3, min_periods=1).corr(g, True),
    "some columns": lambda f, g: f.rolling(3)[["x"]].cov(g[["y", "x"]], pairwise=True, ddof=0),
    "a frame and a series": lambda f, g: f.rolling(3).corr(g.y),
    "a series and a frame": lambda f, g: f.x.rolling(3).cov(g, pairwise=True),
    "two series, pairwise": lambda f, g: f.x.rolling(3).cov(g.y, pairwise=True),
    "two series of one name": lambda f, g: f.x.rolling(3).corr(g.x),
    "the frame itself": lambda f, g: f.rolling(3).cov(f),
    "all pairs of the frame itself": lambda f, g: f.rolling(3).cov(f, pairwise=True),
    "no column in common": lambda f, g: f[["n"]].rolling(2).cov(g[["y"]]),
    "a column of the result": lambda f, g: f.rolling(3).cov(g)["x"] * 2,
}


@pytest.mark.parametrize("name", WITH_ANOTHER)
@pytest.mark.parametrize(
    "index", [range(9), pd.date_range("2024", periods=9, freq="h", name="at")], ids=["numbers", "times"]
)
def test_windows_with_another_frame_are_those_of_pandas(name, index):
    f = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0, 7.0, 3.0, 2.0], "n": range(9)}, index=index)
    g = pd.DataFrame({"y": [3, 1, 2] * 3, "x": pd.array([1, 5, None] * 3, "Int64")}, index=index)
    f.columns.name = "of f"
    expected = WITH_ANOTHER[name](f, g)
    ends = [0, 0, 2, 3, 3, 9, 9]
    both = pd.concat([f.set_axis(["x", "n"], axis=1), g.set_axis(["y", "other"], axis=1)], axis=1)
    pieces = [both.iloc[start:end] for start, end in zip(ends, ends[1:], strict=False)]
    cut = gd.from_map(pieces.__getitem__, range(6), meta=both)
    lazy_f = cut.map_partitions(
        lambda block: block[["x", "n"]].rename_axis("of f", axis=1), meta=f, keep_divisions=True
    )
    lazy_g = cut[["y", "other"]].rename(columns={"other": "x"})
    assert_same(WITH_ANOTHER[name](lazy_f, lazy_g).compute(scheduler="inline"), expected)


def test_windows_of_times_in_a_column_are_paired_as_in_pandas():
    frame = pd.DataFrame({"x": [1.0, 4.0, 2.0, 8.0, 3.0, 5.0], "y": [1.0, 2.0, 4.0, 1.0, 7.0, 2.0]})
    frame["t"] = pd.date_range("2024", periods=6, freq="h")
    frame.index = pd.date_range("2024", periods=6, freq="D")  # which are other times than those of the windows
    lazy = gd.from_pandas(frame, npartitions=3)
    for ask in (
        lambda f: f.rolling("3h", on="t").cov(),
        lambda f: f.rolling("3h", on="t")[["x", "y"]].corr(pairwise=False),
        lambda f: f.rolling("2h", on="t").x.cov(),
    ):
        assert_same(ask(lazy).compute(scheduler="inline"), ask(frame))


@pytest.mark.parametrize("window", ["2D", 2])
def test_a_column_of_times_stays_in_partitions_of_one_row_whose_label_it_has(window):
    times = pd.date_range("2013-01-01", periods=5)
    labels = times.where(np.arange(5) % 2 == 0, pd.Timestamp("2020"))
    frame = pd.DataFrame({"x": range(5), "t": times}, index=pd.DatetimeIndex(labels, freq=None))  # pandas 2 keeps "D"
    rows = gd.concat([gd.from_pandas(frame[n : n + 1], npartitions=1, sort=False) for n in range(5)])
    for ask in (lambda f: f.sum(), lambda f: f.x.min(), lambda f: f[["x"]].max(), lambda f: f.cov()):
        assert_same(ask(rows.rolling(window, on="t")).compute(), ask(frame.rolling(window, on="t")))


@pytest.mark.parametrize("name", ["t", "q", None])
@pytest.mark.parametrize("are_labels", [True, False])
def test_a_column_of_times_is_left_out_where_it_is_the_index_or_called_as_it(name, are_labels):
    times = pd.date_range("2013-01-01", periods=5, freq="h")
    labels = times if are_labels else times + pd.Timedelta("1h")
    frame = pd.DataFrame({"x": range(5), "t": times, "y": 2.0}, index=labels.as_unit("s").rename(name))
    lazy = gd.from_pandas(frame, npartitions=2)
    for ask in (lambda f: f.sum(), lambda f: f[["y"]].max(), lambda f: f.agg("min"), lambda f: f.x.count()):
        expected, made = ask(frame.rolling("3h", on="t")), ask(lazy.rolling("3h", on="t"))
        assert_same(made.compute(scheduler="inline"), expected)
        assert_same(made._meta, expected.iloc[:0])


def test_windows_on_labels_that_are_no_column_say_so():
    frame = pd.DataFrame({"x": range(4)}, index=pd.date_range("2013-01-01", periods=4))
    with pytest.raises(NotImplementedError, match=r"rolling\(on=<DatetimeIndex>\).*the name of a column of times"):
        gd.from_pandas(frame, npartitions=2).rolling("2D", on=frame.index)


def test_windows_with_a_frame_that_is_cut_otherwise_are_those_of_pandas():
    frame = pd.DataFrame({"x": np.arange(9.0) ** 2, "y": [3.0, 1.0, 2.0] * 3})
    one, other = gd.from_pandas(frame, npartitions=2), gd.from_pandas(frame[::-1].sort_index(), npartitions=4)
    assert_same(one.rolling(3).cov(other).compute(scheduler="inline"), frame.rolling(3).cov(frame))
    few = gd.from_pandas(frame.y, npartitions=1)
    assert_same(one.rolling(3).cov(few).compute(scheduler="inline"), frame.rolling(3).cov(frame.y))


PAIRS = {
    "all pairs of columns": lambda f: f.rolling(3).cov(),
    "correlations of all pairs": lambda f: f.rolling(4, min_periods=2, center=True)[["f", "g"]].corr(ddof=0),
    "each column with itself": lambda f: f.rolling(3).cov(pairwise=False),
    "a series with itself": lambda f: f.f.rolling(2).cov(),
    "a column of all pairs": lambda f: f.rolling(3).cov()["g"].abs(),
    "some windows": lambda f: f.rolling(3, step=2).sum(),
    "some windows, whose middle is a row": lambda f: f.rolling(4, center=True, step=3).agg(["min", "count"]),
    "functions of some windows": lambda f: f.f.rolling(2, step=5).apply(sum, raw=True),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    "index", [[3, 1, 2, 2, 5, 0, 4, 4, 9], pd.date_range("2024", periods=9, freq="h")], ids=["numbers", "times"]
)
def test_pairs_of_columns_and_some_of_the_windows_are_those_of_pandas(name, index):
    values = {"f": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0, 7.0, 3.0, 2.0], "g": range(9), "h": [3, 1, 2] * 3}
    frame = pd.DataFrame(values, index=pd.Index(index, name="row")).rename_axis(columns="of")
    cuts = [slice(0, 1), slice(1, 1), slice(1, 6), slice(6, 7), slice(7, 9)]
    for lazy in (
        gd.from_pandas(frame, npartitions=3, sort=False),
        gd.concat([gd.from_pandas(frame[cut], npartitions=1, sort=False) for cut in cuts]),
    ):
        for some in (frame, frame[:0]):
            made = lazy if len(some) else lazy[lazy.g < 0]
            assert_same(PAIRS[name](made).compute(scheduler="inline"), PAIRS[name](some))


SPEEDS = [{"alpha": 1.0}, {"alpha": 1 - 1e-10}, {"alpha": 0.999}, {"span": 2}, {"span": 1.2}, {"com": 1.0}, {"halflife": 30.0}, {"alpha": 0.002}, {"alpha": 1e-17}]  # fmt: skip


@pytest.mark.parametrize("speed", SPEEDS, ids=str)
@pytest.mark.parametrize("share_missing", [0.0, 0.6, 0.97])
def test_weighted_variances_are_those_of_pandas_where_sums_of_weights_are_all_rounding(speed, share_missing):
    for seed, rows in enumerate((12, 300)):
        random = np.random.default_rng(seed)
        values = random.normal(size=(rows, 3)) + [0, 100, 0]
        values[random.random(values.shape) < share_missing] = np.nan
        values[rows // 4 : rows // 2] = np.nan  # some partitions have no value at all
        frame = pd.DataFrame(values)
        cuts = [0, *sorted(random.integers(0, rows + 1, 5)), rows]
        parts = [gd.from_pandas(frame.iloc[one:other], npartitions=1) for one, other in itertools.pairwise(cuts)]
        lazy = gd.concat(parts)
        for ignore_na in (False, True):
            windows = [one.ewm(**speed, ignore_na=ignore_na) for one in (lazy, frame)]
            for call in (lambda w: w.var(), lambda w: w.std(), lambda w: w.var(bias=True), lambda w: w.mean()):
                found, expected = (call(one) for one in windows)
                found = found.compute(scheduler="inline")
                if speed.get("alpha", 1) < 0.01:  # of one value pandas gives a variance of 0, or none, as it rounds
                    several = frame.notna().cumsum() > 1
                    found, expected = found.where(several), expected.where(several)
                pd.testing.assert_frame_equal(found, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("how", ["mean", "sum", "var", "std"])
@pytest.mark.parametrize("alpha", [0.5, 1e-5])
def test_columns_that_miss_the_same_values_and_others_have_their_own_weights(how, alpha):
    random = np.random.default_rng(4)
    frame = pd.DataFrame(random.normal(size=(60, 5)), columns=list("abcde")).assign(
        f=range(60), g=pd.array([1, None, 3] * 20, "Int64")
    )
    missing = random.random(60) < 0.4
    frame.loc[missing, ["b", "d"]] = np.nan
    frame.loc[random.random(60) < 0.4, "c"] = np.nan
    frame.loc[40:, "e"] = np.nan
    lazy = gd.from_pandas(frame, npartitions=7)
    for own, expected in ((lazy, frame), (lazy[["a", "f"]], frame[["a", "f"]])):
        found = getattr(own.ewm(alpha=alpha), how)().compute(scheduler="inline")
        pd.testing.assert_frame_equal(found, getattr(expected.ewm(alpha=alpha), how)(), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("how", ["mean", "sum", "var", "std"])
@pytest.mark.parametrize("alpha", [0.5, 1e-5])
def test_weighted_windows_of_no_columns_have_none(how, alpha):
    frame = pd.DataFrame(index=range(8))
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(
        getattr(lazy.ewm(alpha=alpha), how)().compute(scheduler="inline"), getattr(frame.ewm(alpha=alpha), how)()
    )


ON_TIMES = pd.DataFrame(
    {
        "t": pd.date_range("2020", periods=20, freq="7h"),
        "x": np.random.default_rng(1).random(20),
        "y": np.random.default_rng(2).random(20),
    }
)
ON_TIMES.loc[3, "x"] = None
BESIDE = pd.DataFrame({"x": np.random.default_rng(3).random(20), "z": np.random.default_rng(4).random(20)})
PAIRS_BY_TIMES = {
    "frames": lambda windows, other: (windows, other, {}),
    "column and column": lambda windows, other: (windows.x, other.z, {}),
    "columns": lambda windows, other: (windows[["y", "x"]], other, {}),
    "frame and column": lambda windows, other: (windows, other.z, {"ddof": 0}),
    "each pair": lambda windows, other: (windows, other, {"pairwise": True}),
}


@pytest.mark.parametrize("how", ["cov", "corr"])
@pytest.mark.parametrize("window", ["1D", 3])
@pytest.mark.parametrize("name", PAIRS_BY_TIMES)
def test_windows_on_a_column_of_times_are_held_against_another_frame(name, window, how):
    def made(frame, other):
        windows, second, options = PAIRS_BY_TIMES[name](frame.rolling(window, on="t"), other)
        return getattr(windows, how)(second, **options)

    expected = made(ON_TIMES, BESIDE)
    for count in (2, 4):
        for other in (gd.from_pandas(BESIDE, npartitions=4), gd.from_pandas(BESIDE, npartitions=3)):
            lazy = made(gd.from_pandas(ON_TIMES, npartitions=count), other)
            assert_same(lazy.compute(scheduler="inline"), expected)
            assert_same(lazy._meta, expected.iloc[:0])


_RANDOM = np.random.default_rng(0)
SHUFFLED = pd.DataFrame(_RANDOM.random((8, 3)), columns=list("abc"), index=[5, 3, 8, 1, 9, 0, 2, 7])
OTHER = pd.DataFrame({"b": _RANDOM.random(6), "d": _RANDOM.random(6)}, index=[7, 5, 1, 4, 3, 11])
OF_ONE_PARTITION = {
    "median": lambda f: f.expanding().median(),
    "quantile": lambda f: f.expanding(2).quantile(0.3),
    "rank": lambda f: f.a.expanding().rank(pct=True),
    "apply": lambda f: f.expanding().apply(lambda values: values.sum(), raw=True),
    "pairs of columns": lambda f: f.expanding(2).cov(),
    "corr": lambda f: f.a.expanding().corr(f.b),
    "corr with pandas": lambda f: f.a.expanding().corr(OTHER.b),
    "weighted cov": lambda f: f.a.ewm(com=1).cov(f.b, bias=True),
    "weighted corr of pairs": lambda f: f.ewm(span=3, adjust=False).corr(),
    "weighted cov with pandas": lambda f: f.ewm(span=3).cov(OTHER, pairwise=True),
}
WITH_PANDAS = {
    "series": lambda f: f.a.rolling(3, min_periods=1).corr(OTHER.b),
    "frames": lambda f: f.rolling(3, min_periods=2).cov(OTHER),
    "all pairs": lambda f: f.rolling(2).corr(OTHER, pairwise=True),
}


@pytest.mark.parametrize("in_order", [True, False])
def test_windows_of_all_values_are_those_of_pandas_in_one_partition(in_order):
    plain = SHUFFLED.sort_index() if in_order else SHUFFLED
    check_all(OF_ONE_PARTITION, plain, gd.from_pandas(plain, npartitions=1, sort=in_order))
    lazy = gd.from_pandas(plain, npartitions=3)
    with pytest.raises(
        NotImplementedError, match=r"ewm\(\).corr\(\) of several .* or repartition\(npartitions=1\) before"
    ):
        lazy.ewm(com=1).corr()


@pytest.mark.parametrize("npartitions", [1, 3])
@pytest.mark.parametrize("in_order", [True, False])
def test_pairs_of_windows_take_pandas_objects_by_label(in_order, npartitions):
    plain = SHUFFLED.sort_index() if in_order else SHUFFLED
    check_all(WITH_PANDAS, plain, gd.from_pandas(plain, npartitions=npartitions, sort=in_order))


@pytest.mark.parametrize("npartitions", [1, 3])
def test_windows_of_a_frame_beside_a_series_have_the_rows_of_the_frame(npartitions):
    plain, other = SHUFFLED.sort_index(), OTHER.b.sort_index()
    lazy, series = (gd.from_pandas(one, npartitions=npartitions) for one in (plain, other))
    expected = plain.rolling(2, min_periods=1).cov(other)
    assert_same(lazy.rolling(2, min_periods=1).cov(series).compute(scheduler="inline"), expected)


def test_pairs_of_columns_of_one_name_are_refused():
    lazy = gd.from_pandas(pd.DataFrame([[1.0, 2], [3, 4]], columns=["x", "x"]), npartitions=1)
    for windows in (lazy.expanding(), lazy.ewm(com=1)):
        with pytest.raises(NotImplementedError, match=r"cov of a frame with equal names of columns"):
            windows.cov()
