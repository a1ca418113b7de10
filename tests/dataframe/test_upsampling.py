"""Rows at regular times, and rows between labels whose divisions aren't known, are those of pandas."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import LONG_TESTS, examples

INLINE = {"scheduler": "inline"}

AT_TIMES = {
    "ffill": lambda bins: bins.ffill(),
    "ffill of few": lambda bins: bins.ffill(limit=2),
    "bfill": lambda bins: bins.bfill(),
    "bfill of few": lambda bins: bins.bfill(limit=1),
    "nearest": lambda bins: bins.nearest(),
    "nearest of few": lambda bins: bins.nearest(limit=1),
    "asfreq": lambda bins: bins.asfreq(),
    "asfreq with a value": lambda bins: bins.asfreq(fill_value=-1),
    "interpolate": lambda bins: bins.interpolate(),
    "interpolate by time": lambda bins: bins.interpolate("time", limit=2),
    "transform": lambda bins: bins.transform("sum"),
    "one column in each bin": lambda bins: bins["part"].ffill(),
    "columns in each bin": lambda bins: bins[["part", "whole"]].bfill(limit=1),
}
RULES = [("30min", "2h"), ("7min", "1h"), ("D", "30h"), ("ME", "20D"), ("W", "9D"), ("B", "2D")]


def frame_of_times(every, zone, seed, is_regular):
    random = np.random.default_rng(seed)
    start = pd.Timestamp("2020-03-26", tz=zone) + pd.Timedelta(minutes=int(random.choice([0, 37])))
    places = np.arange(8) if is_regular else np.sort(random.choice(16, 8, replace=False)) / 2
    times = pd.DatetimeIndex(start + pd.Timedelta(every) * places, name="time")
    return pd.DataFrame({"whole": random.integers(0, 9, 8), "part": random.choice([np.nan, 0.5, 2.5], 8)}, index=times)


def every_cut(frame):
    """Return a frame with known divisions, one whose partitions between the first and the last have no rows, and one with unknown ones."""
    lazy = gd.from_pandas(frame, npartitions=4)
    gap = (frame.index <= frame.index[1]) | (frame.index >= frame.index[-2])
    pieces = [frame[:0], frame[:3], frame[3:3], frame[3:]]
    return [
        (frame, lazy),
        (frame[gap], lazy[(lazy.index <= frame.index[1]) | (lazy.index >= frame.index[-2])]),
        (frame, gd.from_map(pieces.__getitem__, range(4), meta=frame[:0])),
    ]


def cut(frame):
    """Return what `every_cut` does: the first of them in `make long` alone."""
    return every_cut(frame)[0 if LONG_TESTS else 1 :]


@settings(max_examples=examples(9))
@given(
    st.sampled_from(RULES), st.sampled_from([None, "UTC", "Europe/Berlin"]), st.integers(0, 99), st.booleans(),
    st.sampled_from([None, "right"]), st.integers(0, 2),
)  # fmt: skip
def test_rows_at_the_edges_of_bins_are_those_of_pandas(rule, zone, seed, is_regular, closed, number):
    options = {} if closed is None else {"closed": closed}
    frame, lazy = every_cut(frame_of_times(rule[1], zone, seed, is_regular))[number]
    for operation in AT_TIMES.values():
        expected = operation(frame.resample(rule[0], **options))
        got = operation(lazy.resample(rule[0], **options))
        assert_same(got.compute(**INLINE), expected)
        assert_same(got._meta, expected[:0])


AS_FREQ = [{}, {"method": "ffill"}, {"method": "bfill"}, {"fill_value": -1}, {"normalize": True}, {"how": "start"}]


@settings(max_examples=examples(6))
@given(st.sampled_from(RULES), st.sampled_from([None, "Europe/Berlin"]), st.integers(0, 99), st.booleans())
def test_rows_at_a_frequency_are_those_of_pandas(rule, zone, seed, is_regular):
    for frame, lazy in cut(frame_of_times(rule[1], zone, seed, is_regular)):
        for options in AS_FREQ:
            assert_same(lazy.asfreq(rule[0], **options).compute(**INLINE), frame.asfreq(rule[0], **options))
            assert_same(lazy.whole.asfreq(rule[0], **options).compute(**INLINE), frame.whole.asfreq(rule[0], **options))


@pytest.mark.more
def test_days_of_a_zone_are_of_unequal_length():
    for frame, lazy in cut(frame_of_times("30h", "Europe/Berlin", 19, is_regular=False)):
        assert_same(lazy.asfreq("D").compute(**INLINE), frame.asfreq("D"))


def test_whole_numbers_stay_where_none_is_missing():
    frame = frame_of_times("2h", None, 1, is_regular=True)
    lazy = gd.from_pandas(frame, npartitions=3)
    made = lazy.resample("1h").ffill()
    assert made.whole.dtype == "int64"
    assert made.known_divisions
    assert_same(made.loc["2020-03-26 04:00":].compute(**INLINE), frame.resample("1h").ffill().loc["2020-03-26 04:00":])
    assert lazy.resample("1h").asfreq().whole.dtype == "float64"


def test_no_rows_stay_none():
    frame = frame_of_times("2h", None, 1, is_regular=True)
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(lazy[lazy.whole > 99].asfreq("1h").compute(**INLINE), frame[:0].asfreq("1h"))
    found = lazy[lazy.whole > 99].resample("1h").ffill().compute(**INLINE)
    # Before version 3 pandas makes labels of two levels of none.
    assert_same(found, frame[:0].resample("1h").ffill() if HAS_COPY_ON_WRITE else frame[:0])


def test_no_rows_at_a_frequency_are_none():
    frame = frame_of_times("2h", None, 1, is_regular=True)[:0]
    for lazy in (gd.from_pandas(frame, npartitions=2), gd.from_map([frame, frame].__getitem__, range(2), meta=frame)):
        for options in AS_FREQ:
            assert_same(lazy.asfreq("1h", **options).compute(**INLINE), frame.asfreq("1h", **options))


@pytest.mark.parametrize("how", [None, "start"])
def test_periods_become_those_of_another_frequency(how):
    frame = pd.DataFrame({"x": range(7)}, index=pd.period_range("2020-01", periods=7, freq="M", name="p"))
    lazy = gd.from_pandas(frame, npartitions=3)
    for freq in ("D", "Q"):
        assert_same(lazy.asfreq(freq, how=how).compute(**INLINE), frame.asfreq(freq, how=how))
        assert_same(lazy.x.asfreq(freq, how=how).compute(**INLINE), frame.x.asfreq(freq, how=how))
    with pytest.raises(NotImplementedError, match=r"asfreq\(method='ffill'\).*resample\(freq\).ffill\(\)"):
        lazy.asfreq("D", method="ffill")


def test_interpolated_columns_keep_their_labels():
    frame = pd.DataFrame({0: [1.0, 2, 4], 1: [2.0, 0, 1]}, index=pd.date_range("2020-01-01", periods=3))
    got = gd.from_pandas(frame, npartitions=2).resample("12h").interpolate()
    assert_same(got.compute(**INLINE), frame.resample("12h").interpolate())


def test_rows_by_a_column_are_not_looked_up_as_in_pandas():
    frame = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=3), "x": [1.0, 2, 4]})
    bins = gd.from_pandas(frame, npartitions=2).resample("12h", on="t")
    for how in ("ffill", "asfreq", "nearest", "interpolate"):
        with pytest.raises(ValueError, match=rf"resample\(on=...\).{how}\(\): .*set_index\(\)"):
            getattr(bins, how)()


def test_what_has_no_times_or_no_form_is_said():
    plain = gd.from_pandas(pd.DataFrame({"x": [1, 2]}), npartitions=2)
    with pytest.raises(TypeError, match="asfreq needs an index of times, not of int64"):
        plain.asfreq("D")
    lazy = gd.from_pandas(frame_of_times("2h", None, 1, is_regular=True), npartitions=2)
    with pytest.raises(NotImplementedError, match=r"asfreq\(method='nearest'\).*resample\(freq\).nearest\(\)"):
        lazy.asfreq("1h", method="nearest")
    with pytest.raises(AttributeError, match=r"Resampler.nearest .*frame\[columns\].resample\('1h'\).nearest\(\)"):
        lazy.resample("1h").whole.nearest()
    with pytest.raises(NotImplementedError, match=r"resample\(\).interpolate\(axis=1\)"):
        lazy.resample("1h").interpolate(axis=1)


BETWEEN = {
    "loc of a day": lambda f: f.loc["2020-03-26"],
    "loc from a time on": lambda f: f.loc["2020-03-26 05:00":],
    "loc up to a day": lambda f: f.loc[:"2020-03-26"],
    "slice": lambda f: f["2020-03-26":"2020-03-27"],
    "columns": lambda f: f.loc["2020-03-26":"2020-03-26", "whole"],
    "truncate": lambda f: f.truncate("2020-03-26", "2020-03-27"),
    "truncate before": lambda f: f.truncate(before=pd.Timestamp("2020-03-26 08:00")),
    "truncate columns": lambda f: f[["part", "whole"]].truncate("part", "q", axis=1),
    "resample": lambda f: f.resample("1D").sum(),
    "resample of text": lambda f: f.resample("12h").agg({"whole": "sum", "part": "mean"}),
    "rolling": lambda f: f.rolling("6h").sum(),
}


@pytest.mark.more
@pytest.mark.parametrize("name", BETWEEN)
def test_rows_between_labels_need_no_known_divisions(name):
    for frame, lazy in cut(frame_of_times("5h", None, 3, is_regular=True)):
        assert_same(BETWEEN[name](lazy).compute(**INLINE), BETWEEN[name](frame))


def test_labels_out_of_order_are_told_from_an_empty_result():
    frame = frame_of_times("5h", None, 3, is_regular=True)
    for rows in (frame.iloc[::-1], frame.iloc[[0, 1, 4, 5, 2, 3]]):
        lazy = gd.from_pandas(rows, npartitions=3, sort=False)
        with pytest.raises(KeyError, match=r"loc\['2020-03-26':'2020-03-27'\].*sort_index\(\) before"):
            lazy.loc["2020-03-26":"2020-03-27"].compute(**INLINE)
        assert_same(lazy.resample("1D").sum().compute(**INLINE), rows.resample("1D").sum())
    parts = [
        gd.from_pandas(rows, npartitions=1, sort=False) for rows in (frame.iloc[3:], frame.iloc[:0], frame.iloc[:3])
    ]
    with pytest.raises(KeyError, match=r"sort_index\(\) before"):  # the partition between has no rows
        gd.concat(parts).loc["2020-03-26":"2020-03-27"].compute(**INLINE)
    with pytest.raises(ValueError, match="Truncate: 2020-03-26 00:00:00 must be after 2020-03-27"):
        gd.from_pandas(frame, npartitions=2).truncate("2020-03-27", "2020-03-26")


HOURS = pd.DataFrame({"x": np.arange(30) * 1.5}, index=pd.date_range("2020-10-20", periods=30, freq="7h"))


def parts_of(frame):
    pieces = [frame[:0], frame[:7], frame[7:7], frame[7:]]
    return [gd.from_pandas(frame, npartitions=3), gd.from_map(pieces.__getitem__, range(4), meta=frame[:0])]


@pytest.mark.parametrize(
    "rule", ["5h", "D", "MS", *(pytest.param(rule, marks=pytest.mark.long) for rule in ("W", "17h"))]
)
@pytest.mark.parametrize("zone", [pytest.param(None, marks=pytest.mark.long), "Europe/Berlin"])
def test_interpolated_rows_know_their_frequency(rule, zone):
    frame = HOURS.tz_localize(zone)
    for rows in (frame, frame.iloc[[0, 1, 5, 6, 20, 29]], frame[:1], frame[:0]):
        expected = rows.resample(rule).interpolate()
        for lazy in parts_of(rows):
            got = lazy.resample(rule).interpolate().compute(**INLINE)
            # Before pandas 3 days are 24 hours, which days of a zone aren't.
            assert_same(got, expected, check_freq=HAS_COPY_ON_WRITE or (rule, zone) != ("D", "Europe/Berlin"))


@pytest.mark.filterwarnings("ignore:The 'origin' keyword does not take effect")
@pytest.mark.parametrize("origin", ["end", pytest.param("end_day", marks=pytest.mark.long)])
@pytest.mark.parametrize("rule", ["5h", "D", "MS", pytest.param("17h", marks=pytest.mark.long)])
def test_bins_are_counted_from_the_last_row(origin, rule):
    for zone in (None, "Europe/Berlin"):
        frame = HOURS.tz_localize(zone)
        for rows in (frame, frame[:1], frame[:0]):
            for lazy in parts_of(rows):
                for options in ({}, {"label": "left"}, {"closed": "right"}):
                    got = lazy.resample(rule, origin=origin, **options).sum().compute(**INLINE)
                    assert_same(got, rows.resample(rule, origin=origin, **options).sum())


@pytest.mark.filterwarnings("ignore:The '.*' keyword does not take effect")
@pytest.mark.parametrize("origin", ["end", "end_day"])
@pytest.mark.parametrize(
    "options", [{"closed": "left"}, {"offset": "1h"}, {"closed": "left", "offset": "90min"}, {"offset": "-1h"}]
)
def test_bins_counted_from_the_last_row_are_closed_and_moved_as_in_pandas_or_refused(origin, options):
    found = 0
    for rule in ("5h", "7h", "D", "100min"):
        for rows in (HOURS, HOURS[1:], HOURS[3:20].tz_localize("Europe/Berlin"), HOURS[4:5], HOURS[:0]):
            lazy = parts_of(rows)[-1]
            try:
                expected = rows.resample(rule, origin=origin, **options).sum()
            except ValueError:  # pandas itself loses the first row
                expected = None
            try:
                got = lazy.resample(rule, origin=origin, **options).sum().compute(**INLINE)
            except NotImplementedError as error:
                assert f"resample(origin={origin!r}) isn't supported: with closed=" in str(error)  # noqa: PT017
                continue
            assert_same(got, expected)
            found += 1
    assert found >= 5


def test_bins_that_begin_otherwise_than_in_pandas_say_so():
    lazy = gd.from_pandas(HOURS, npartitions=2)
    first, last = HOURS.index[0], HOURS.index[-1]
    rule = last - first  # the first row is at an edge
    with pytest.raises(
        NotImplementedError, match=r"with closed='left' pandas doesn't begin with .*; give a time as origin"
    ):
        lazy.resample(rule, origin="end", closed="left")
    assert lazy.resample(rule, origin=last, closed="left").sum().compute(**INLINE).index[0] == first


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Europe/Berlin"])
@pytest.mark.parametrize("how", ["sum", "ohlc", "ffill", "asfreq"])
def test_bins_of_several_days_of_a_zone_are_those_of_pandas(zone, how):
    rows = HOURS.shift(40, freq="D").tz_localize("UTC").tz_convert(zone).iloc[4:]  # after the clocks have changed
    for days in ("2D", "3D"):
        for part in (rows, rows.iloc[[0, -1]], rows[:1], rows[:0]):
            expected = getattr(part.resample(days), how)()
            for lazy in parts_of(part):
                got = getattr(lazy.resample(days), how)().compute(**INLINE)
                assert_same(got, expected, check_freq=HAS_COPY_ON_WRITE or how not in ("ffill", "asfreq"))


@pytest.mark.filterwarnings("ignore:The '.*' keyword does not take effect")
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_several_days_are_counted_as_in_pandas(zone):
    frame = HOURS.tz_localize(zone)
    for options in ({"closed": "right"}, {"origin": "end"}, {"origin": "epoch"}, {"offset": "5h"}, {"label": "right"}):
        expected = frame.resample("2D", **options)
        for lazy in parts_of(frame):
            made = lazy.resample("2D", **options)
            assert_same(made.sum().compute(**INLINE), expected.sum())
            assert_same(made.agg(["min", "count"]).compute(**INLINE), expected.agg(["min", "count"]))


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 days are 24 hours")
def test_several_days_of_unlike_length_are_those_of_pandas():
    frame = pd.DataFrame({"x": range(10)}, index=pd.date_range("2024-03-28", periods=10, freq="D", tz="Europe/Berlin"))
    lazy = gd.from_pandas(frame, npartitions=3)
    for options in ({}, {"closed": "right"}):
        made = lazy.resample("2D", **options)
        assert_same(made.sum().compute(**INLINE), frame.resample("2D", **options).sum())
        assert_same(made.ffill().compute(**INLINE), frame.resample("2D", **options).ffill())
    assert_same(lazy.resample("D").sum().compute(**INLINE), frame.resample("D").sum())
    grouped = gd.from_pandas(frame.iloc[4:].reset_index(names="t").assign(k=1), npartitions=3).groupby(
        ["k", pd.Grouper(key="t", freq="2D")]
    )
    assert_same(
        grouped.x.sum().compute(**INLINE),
        frame.iloc[4:].reset_index(names="t").assign(k=1).groupby(["k", pd.Grouper(key="t", freq="2D")]).x.sum(),
    )


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 days are 24 hours")
@pytest.mark.parametrize(
    ("zone", "start"), [("America/Havana", "2018-11-03 12:00"), ("America/Sao_Paulo", "2017-10-14 10:00")]
)
def test_days_whose_midnight_is_missing_or_there_twice_are_those_of_pandas(zone, start):
    times = pd.date_range(start, periods=50, freq="h", tz="UTC").tz_convert(zone)
    frame = pd.DataFrame({"x": range(50)}, index=times)
    for lazy in parts_of(frame):
        assert_same(lazy.resample("D").sum().compute(**INLINE), frame.resample("D").sum())
        grouped = lazy.groupby(pd.Grouper(freq="D"))
        assert_same(grouped.x.mean().compute(**INLINE), frame.groupby(pd.Grouper(freq="D")).x.mean())


@pytest.mark.parametrize("rule", ["3MS", pytest.param("2QE", marks=pytest.mark.long), "2W"])
@pytest.mark.parametrize("options", [{}, {"closed": "right"}])
def test_rows_at_the_edges_of_several_months_are_those_of_pandas(rule, options):
    frame = HOURS.set_axis(pd.date_range("2019-11-20", periods=30, freq="19D", tz="Europe/Berlin"))
    for number, how in enumerate(("ffill", "nearest", "asfreq", "interpolate")):
        got = getattr(parts_of(frame)[number % 2].resample(rule, **options), how)()
        assert_same(got.compute(**INLINE), getattr(frame.resample(rule, **options), how)())


@pytest.mark.parametrize("how", ["sum", "ffill", "asfreq", "interpolate", "ohlc"])
def test_no_rows_have_bins_as_in_pandas(how):
    rows = HOURS[:0]
    for lazy in parts_of(rows):
        for rule in ("5h", "D", "MS"):
            got = getattr(lazy.resample(rule), how)()
            assert_same(got.compute(**INLINE), getattr(rows.resample(rule), how)(), check_freq=True)
        assert_same(lazy.groupby(pd.Grouper(freq="D")).x.sum().compute(**INLINE), rows.resample("D").x.sum())


NEEDS_ROWS = {
    "apply": lambda bins: bins.apply(lambda column: column.iloc[0]),
    "a column": lambda bins: bins.x.agg(lambda column: column.iloc[-1] - column.iloc[0]),
    "by column": lambda bins: bins.agg({"x": lambda column: column.iloc[-1]}),
}


@pytest.mark.parametrize("of", NEEDS_ROWS)
@pytest.mark.parametrize("rule", ["D", "3MS"])
def test_functions_that_need_rows_of_each_bin_get_those_there_are(of, rule):
    """Of bins without rows they raise what they raise in pandas."""
    every = "19h" if rule == "D" else "55D"
    frame = HOURS.set_axis(pd.date_range("2020-01-01", periods=30, freq=every))
    expected = NEEDS_ROWS[of](frame.resample(rule))
    for lazy in parts_of(frame):
        assert_same(NEEDS_ROWS[of](lazy.resample(rule)).compute(**INLINE), expected)
    for lazy in parts_of(frame.drop(frame.index[4:14])):
        with pytest.raises(IndexError) as raised:
            NEEDS_ROWS[of](lazy.resample(rule)).compute(**INLINE)
        assert not any("made-up" in note for note in getattr(raised.value, "__notes__", []))


def test_bins_may_be_much_shorter_than_made_up_rows_are_apart():
    frame = pd.DataFrame({"x": [1, 2, 4]}, index=pd.DatetimeIndex([0, 3_000, 5_000]).as_unit("ns"))
    got = gd.from_pandas(frame, npartitions=2).resample("1us").mean()
    assert_same(got.compute(**INLINE), frame.resample("1us").mean())


def test_bins_of_a_column_are_not_transformed_as_rows_have_lost_their_labels():
    plain = pd.DataFrame({"t": pd.date_range("2020", periods=6), "x": range(6)})
    lazy = gd.from_pandas(plain, npartitions=3)
    with pytest.raises(
        NotImplementedError,
        match=r"resample\(on=...\).transform\(\): .*groupby\(pandas.Grouper\(key=..., freq='2D'\)\)",
    ):
        lazy.resample("2D", on="t").transform("mean")
    got = lazy.groupby(pd.Grouper(key="t", freq="2D")).transform("mean").compute(scheduler="inline")
    assert_same(got, plain.resample("2D", on="t").transform("mean"))
