"""What pandas' user guide shows of groups, windows, times and categories, each as a frame in partitions makes it."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_in_parts, partitionings
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

pytestmark = pytest.mark.more
_RANDOM = np.random.default_rng(2)
COUNT = 40
GROUPED = pd.DataFrame(
    {
        "k": _RANDOM.choice(["a", "b", "c", None], COUNT),
        "x": _RANDOM.integers(0, 9, COUNT),
        "f": np.where(_RANDOM.random(COUNT) < 0.3, np.nan, _RANDOM.random(COUNT)).astype("float32"),
        "s": _RANDOM.choice(["u", "v", None], COUNT),
    }
)
ROWS = {
    "one from the start": lambda g: g.nth(2),
    "one from the end": lambda g: g.nth(-3),
    "one in brackets": lambda g: g.nth[2],
    "a slice in brackets": lambda g: g.f.nth[-2:],
    "several in brackets": lambda g: g.nth[0, 2:],
    "one of a column": lambda g: g.f.nth(1),
    "none": lambda g: g.nth(99),
    "without missing": lambda g: g.nth(1, dropna="any"),
    "without missing in a column": lambda g: g.f.nth(0, dropna="all"),
    "without empty ones": lambda g: g[["f", "s"]].nth(-1, dropna="all"),
    "slices": lambda g: g.nth([slice(1, 3), slice(-2, None), 0]),
}
OTHERS = {
    "those of groups that stay, and missing": lambda g: g[["f", "s"]].filter(
        lambda group: len(group) > 11, dropna=False
    ),
    "named in a list": lambda g: g.x.agg([("low", "min"), ("middle", "mean")]),
    "named in a list of columns": lambda g: g[["x", "f"]].agg([("low", "min"), ("apart", lambda x: x.max() - x.min())]),
    "named by column": lambda g: g.agg({"x": [("low", "min")], "f": ["median"]}),
    "ohlc": lambda g: g.f.ohlc(),
    "ohlc of columns": lambda g: g[["x", "f"]].ohlc(),
}


@pytest.mark.parametrize("operations", [ROWS, OTHERS], ids=["rows", "others"])
def test_groups_of_partitions_are_those_of_pandas(operations):
    for dropna in (True, False):
        for operation in operations.values():
            check_in_parts(GROUPED, lambda frame, one=operation, d=dropna: one(frame.groupby("k", dropna=d)))


def test_rows_of_groups_by_other_keys_are_those_of_pandas():
    for operation in ROWS.values():
        check_in_parts(GROUPED, lambda frame, one=operation: one(frame.groupby([frame.x % 3, "s"])))


def test_one_row_of_each_group_takes_no_whole_groups():
    lazy = gd.from_pandas(GROUPED, npartitions=4)
    assert "shuffle" not in str(lazy.groupby("k").nth(1).explain())
    assert "shuffle" not in str(lazy.groupby("k").f.ohlc().explain())


def test_what_groups_dont_take_is_said():
    groups = gd.from_pandas(GROUPED, npartitions=2).groupby("k")
    with pytest.raises(TypeError, match=r"nth\('x'\) takes a whole number"):
        groups.nth("x")
    with pytest.raises(ValueError, match="dropna is 'any' or 'all', and n one whole number"):
        groups.nth([0, 1], dropna="any")
    with pytest.raises(TypeError, match=r"sample\(frac='x'\): it is a number"):
        groups.sample(frac="x")
    with pytest.raises(ValueError, match="n='x'"):
        groups.sample(n="x")
    with pytest.raises(ValueError, match="No axis named 1 for a series"):
        gd.from_pandas(GROUPED, npartitions=2).x.diff(axis=1)
    with pytest.raises(TypeError, match=r"value_counts\(True\).*by name, as in value_counts\(normalize=True\)"):
        groups.x.value_counts(True)


DAYS = pd.DataFrame(
    {"g": [1, 1, 2, 2, 2], "v": [5, 6, 7, 8, 9]},
    index=pd.DatetimeIndex(["2016-01-03", "2016-01-06", "2016-01-03", "2016-01-04", "2016-01-08"], name="day"),
)


@pytest.mark.parametrize("method", ["ffill", "bfill", "asfreq", "ohlc", "nearest"])
def test_stretches_of_groups_are_filled_as_pandas_fills_them(method):
    for operation in (
        lambda frame: getattr(frame.groupby("g").resample("D"), method)(),
        lambda frame: getattr(frame.groupby("g").v.resample("12h"), method)(),
    ):
        check_in_parts(DAYS, operation)


TIMES = pd.DatetimeIndex(
    sorted(pd.Timestamp("2014-01-05 03:00") + pd.to_timedelta(_RANDOM.integers(0, 900, COUNT), "D"))
)
OF_TIMES = GROUPED.assign(k=GROUPED.k.fillna("z"), f=GROUPED.f.astype("float64")).set_axis(TIMES.rename("t"))
BINS = {
    "sum": lambda frame, rule: frame.resample(rule)[["x", "f"]].sum(),
    "smallest": lambda frame, rule: frame.resample(rule).x.min(),
    "several": lambda frame, rule: frame.resample(rule).agg({"x": ["sum", "max"], "f": "mean"}),
    "sizes": lambda frame, rule: frame.resample(rule).size(),
    "closed": lambda frame, rule: frame.resample(rule, closed="right", label="left").x.median(),
    "ohlc": lambda frame, rule: frame.resample(rule).x.ohlc(),
    "a function": lambda frame, rule: frame.resample(rule).x.apply(lambda x: x.sum() - len(x)),
    "rows": lambda frame, rule: frame.resample(rule).x.transform("sum"),
    "number": lambda frame, rule: pd.Series(len(frame.resample(rule))),
    "grouper": lambda frame, rule: frame.groupby(pd.Grouper(freq=rule)).x.sum(),
    "grouper beside": lambda frame, rule: frame.groupby([pd.Grouper(freq=rule), "k"]).x.sum(),
}


@pytest.mark.parametrize("rule", ["2W", "3MS", "2ME", "10B", "2QS-FEB"])
def test_bins_of_several_months_are_counted_from_the_first_row(rule):
    for operation in BINS.values():
        expected = operation(OF_TIMES, rule)
        for lazy in partitionings(OF_TIMES)[1:]:
            made = operation(lazy, rule)
            assert_same(made.compute() if hasattr(made, "compute") else made, expected)


def test_windows_are_aggregated_by_names_and_lists_of_them():
    numbers = GROUPED[["x", "f"]]
    for operation in (
        lambda frame: frame.expanding().agg(["sum", "mean", "std"]),
        lambda frame: frame.expanding(2).agg({"x": "max", "f": "var"}),
        lambda frame: frame.expanding().agg({"x": ["max", "count"], "f": "var"}),
        lambda frame: frame.x.expanding().agg(["min", "max"]),
        lambda frame: frame.x.expanding().agg("sum"),
        lambda frame: frame.expanding()["x"].agg(["min", "max"]),
        lambda frame: frame.ewm(com=1).agg(["mean", "std"]),
        lambda frame: frame.ewm(com=1).agg({"f": "sum"}),
    ):
        check_in_parts(numbers, operation)
    lazy = gd.from_pandas(numbers, npartitions=3)
    with pytest.raises(
        NotImplementedError, match=r"expanding\(\).agg\(\) of 'median' isn't supported; it takes count, sum"
    ):
        lazy.expanding().agg(["median"])
    with pytest.raises(NotImplementedError, match="can't be gone through one by one"):
        list(lazy.x.rolling(2))


LEVELS = pd.DataFrame(
    {"x": range(COUNT)},
    index=pd.MultiIndex.from_product(
        [pd.date_range("2013-01-01", periods=COUNT // 2, freq="12h"), ["a", "b"]], names=["t", "c"]
    ),
)


def test_texts_stand_for_stretches_of_a_level_of_times():
    for operation in (
        lambda frame: frame.loc["2013-01-05"],
        lambda frame: frame.loc["2013-01"],
        lambda frame: frame.loc["2013-01-05 12:00"],
        lambda frame: frame.x.loc["2013-01-05"],
        lambda frame: frame.xs("2013-01-05", level="t"),
        lambda frame: frame.xs("b", level="c"),
        lambda frame: frame.loc["2014"],
    ):
        check_in_parts(LEVELS, operation)


def test_means_of_times_are_rounded_as_pandas_rounds_them():
    for unit in ("ns", "us", "s"):
        durations = pd.Series(pd.to_timedelta(["-1 days +00:00:05", None, "-1 days +00:00:05", "1 days"])).astype(
            f"timedelta64[{unit}]"
        )
        check_in_parts(durations, lambda series: series.mean())
        check_in_parts(durations.to_frame("d"), lambda frame: frame.mean())


def test_rows_are_set_where_labels_fulfil_a_condition():
    def of_frame(frame):
        frame = frame.copy()
        frame.loc[frame.index.isin([1, 30]), "x"] = 100
        frame.loc[frame.index > 35, "s"] = "w"
        return frame

    def of_series(frame):
        series = frame.x.copy()
        series[series.index % 2 == 1] = -1
        series.loc[series.index < 5] = -2
        return series

    check_in_parts(GROUPED, of_frame)
    check_in_parts(GROUPED, of_series)


CLOCK = ["00:30", "01:00", "01:30", "01:00", "01:30", "02:00"]
"""In New York the hour from one to two occurs twice on a day in November."""
LOCALIZED = {
    "inferred": lambda f: f.t.dt.tz_localize("US/Eastern", ambiguous="infer"),
    "inferred of labels": lambda f: f.set_axis(pd.DatetimeIndex(TWICE.t), axis=0).tz_localize(
        "US/Eastern", ambiguous="infer"
    ),
    "inferred of an index": lambda f: f.set_axis(pd.DatetimeIndex(TWICE.t), axis=0).index.tz_localize(
        "US/Eastern", "infer"
    ),
    "missing": lambda f: f.t.dt.tz_localize("US/Eastern", ambiguous="NaT"),
    "an array": lambda f: f.t.dt.tz_localize("US/Eastern", ambiguous=np.arange(len(TWICE)) % 3 == 0),
    "a column": lambda f: f.t.dt.tz_localize("US/Eastern", f.b),
    "too few": lambda f: f.t.dt.tz_localize("US/Eastern", ambiguous=[True, False]),
}
if HAS_COPY_ON_WRITE:  # pandas 2 raises an error of pytz's
    LOCALIZED["without a repetition"] = lambda f: f[f.b].t.dt.tz_localize("US/Eastern", ambiguous="infer")
TWICE = pd.DataFrame(
    {
        "t": pd.DatetimeIndex(
            [*(f"{day} {time}" for day in ("2011-11-06", "2012-11-04") for time in CLOCK), None, "2013-05-01"]
        ),
        "b": [True, True, True, False, False, False] * 2 + [False, False],
    }
)


@pytest.mark.parametrize("operation", LOCALIZED.values(), ids=LOCALIZED)
def test_which_of_two_times_a_clock_shows_follows_from_the_rows_beside(operation):
    check_in_parts(TWICE, operation)


def test_rounding_does_not_infer_which_of_two_times_a_clock_shows():
    lazy = gd.from_pandas(TWICE, npartitions=2).t.dt.tz_localize("US/Eastern", ambiguous="infer")
    for rounded in (lazy.dt.floor, lazy.dt.round, lazy.to_frame("t").set_index("t").index.round):
        with pytest.raises(NotImplementedError, match="isn't supported: say 'NaT' or a boolean"):
            rounded("h", ambiguous="infer")


def test_categories_come_back_of_dummies():
    plain = pd.DataFrame({"a_x": [0, 1, 0, 1], "a_y": [1, 0, 0, 0], "b_z": [1, 1, 0, 0]})
    for lazy in partitionings(plain):
        made = gd.from_dummies(lazy, sep="_", default_category={"a": "none", "b": "other"})
        assert_same(made.compute(), pd.from_dummies(plain, sep="_", default_category={"a": "none", "b": "other"}))
    with pytest.raises(ValueError, match="unassigned"):
        gd.from_dummies(lazy, sep="_").compute()
    with pytest.raises(TypeError, match="takes a lazy frame"):
        gd.from_dummies([plain])


def test_windows_from_each_row_on_reach_into_the_partitions_behind():
    for size in (1, 3, 50):
        window = pd.api.indexers.FixedForwardWindowIndexer(window_size=size)
        for operation in (
            lambda frame, w=window: frame[["x", "f"]].rolling(w, min_periods=1).sum(),
            lambda frame, w=window: frame.x.rolling(w).max(),
            lambda frame, w=window: frame.rolling(w, min_periods=1).agg({"x": "sum", "f": "mean"}),
            lambda frame, w=window: frame.x.rolling(w, min_periods=1).cov(frame.f),
        ):
            check_in_parts(GROUPED, operation)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("rule", ["2MS", "2W", "10B"])
def test_bins_counted_from_the_first_row_keep_dtypes_and_freq_where_some_have_no_rows(rule, count):
    times = pd.DatetimeIndex(["2020-01-05", "2020-03-01", "2020-09-01"])
    frame = pd.DataFrame({"a": [2**53 + 1, 1, 2], "b": [0.5, 1, 2], "c": [True, False, True]}, index=times)
    lazy = gd.from_pandas(frame, npartitions=count)
    calls = [lambda bins: bins.first(), lambda bins: bins.max(), lambda bins: bins.sum(), lambda bins: bins.b.mean()]
    calls += [lambda bins: bins.a.apply(lambda x: x.sum()), lambda bins: bins.apply(lambda x: x.sum())]
    for call in calls:
        got, expected = call(lazy.resample(rule)).compute(), call(frame.resample(rule))
        assert_same(got, expected)
        assert got.index.freq == expected.index.freq
    got = lazy.resample(rule).apply(lambda rows: float(rows["a"].sum() > rows["b"].sum())).compute()
    assert_same(got, frame.resample(rule).apply(lambda rows: float(rows["a"].sum() > rows["b"].sum())))
