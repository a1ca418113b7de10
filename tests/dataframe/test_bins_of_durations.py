"""`resample` of durations and periods is that of pandas, whose bins begin with the first row."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, LOOKS_UP_SAFELY

pytestmark = pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 warns of bins of periods")

INLINE = {"scheduler": "inline"}
HOURS = [1, 1, 5, 30, 31, 32, 60, 70, 70, 71]
MONTHS = [0, 2, 3, 4, 9, 14, 15, 16, 20, 22]
INDEXES = {
    "durations": pd.TimedeltaIndex(pd.to_timedelta(HOURS, "h"), name="t"),
    "hours": pd.period_range("2000-01-28 05:00", periods=99, freq="h", name="t")[MONTHS],
    "days": pd.period_range("2000-01-28", periods=99, freq="D")[MONTHS],
    "months": pd.period_range("2000-03", periods=99, freq="M")[MONTHS],
}
RULES = {
    "durations": ["7h", "D", "90min"],
    "hours": ["5h", "D", "30min"],
    "days": ["M", "W-WED", "2M", "D"],
    "months": ["Q", "2Y", "D"],
}
SHORT_RULES = {"durations": ["7h", "D"], "hours": ["5h", "30min"], "days": ["D", "8h"], "months": ["M", "D"]}
SHORTER = [("hours", "30min"), ("months", "D"), ("days", "8h")]
"""Than the periods. Before pandas 3.1 rows are looked up in them, not aggregated, and that is refused."""
AGGREGATED = {
    "sum": lambda bins: bins[["whole", "part"]].sum(),
    "ohlc": lambda bins: bins.whole.ohlc(),
    "first": lambda bins: bins.first(),
    "median": lambda bins: bins.part.median(),
    "agg": lambda bins: bins.agg({"whole": ["min", "sum"], "text": "count"}),
    "apply": lambda bins: bins.whole.apply(lambda values: values.sum() / 2),
    "transform": lambda bins: bins.whole.transform("sum"),
    "size": lambda bins: bins.size(),
}
LOOKED_UP = {
    "ffill": lambda bins: bins.ffill(),
    "bfill of few": lambda bins: bins.bfill(limit=1),
    "nearest": lambda bins: bins.nearest(),
    "asfreq": lambda bins: bins.asfreq(),
    "interpolate": lambda bins: bins.interpolate(),
}


def frame_of(index):
    random = np.random.default_rng(1)
    n = len(index)
    parts = random.choice([np.nan, 0.5, 2.5], n)
    return pd.DataFrame({"whole": random.integers(0, 9, n), "part": parts, "text": list("abcdefghij")[:n]}, index=index)


def cuts(frame):
    pieces = [frame[:0], frame[:3], frame[3:3], frame[3:]]
    return [
        gd.from_pandas(frame, npartitions=4),
        gd.from_map(pieces.__getitem__, range(4), meta=frame[:0]),
        gd.from_pandas(frame.iloc[::-1], npartitions=2, sort=False),
    ]


@pytest.mark.parametrize("of", INDEXES)
def test_bins_of_durations_and_periods_are_aggregated_as_in_pandas(of):
    frame = frame_of(INDEXES[of])
    for number, rule in enumerate(RULES[of]):
        if (of, rule) in SHORTER and not LOOKS_UP_SAFELY:
            with pytest.raises(NotImplementedError, match="shorter bins than periods aren't aggregated"):
                gd.from_pandas(frame, npartitions=4).resample(rule).sum()
            continue
        for how, operation in list(AGGREGATED.items())[number % 2 :: 2]:
            lazy = cuts(frame)[(number + len(how)) % 3]
            rows = frame.iloc[::-1] if (number + len(how)) % 3 == 2 else frame
            expected = operation(rows.resample(rule))
            got = operation(lazy.resample(rule))
            assert_same(got.compute(**INLINE), expected, check_freq=True)
            if how in (
                "sum",
                "size",
                "transform",
            ):  # of others the dtype depends on whether there are bins without rows
                assert_same(got._meta, expected[:0])


@pytest.mark.parametrize("of", INDEXES)
def test_rows_at_the_edges_of_such_bins_are_those_of_pandas(of):
    frame = frame_of(INDEXES[of])[["whole", "part"]]
    frame = frame[~frame.index.duplicated()]
    for rule in SHORT_RULES[of]:
        for how, operation in LOOKED_UP.items():
            lazy = cuts(frame)[len(how + rule) % 3]
            got = operation(lazy.resample(rule)).compute(**INLINE)
            assert_same(got, operation(frame.resample(rule)), check_freq=True)


OPTIONS = [{"closed": "right"}, {"offset": "1h"}, {"label": "right"}, {"convention": "end"}, {"origin": "epoch"}]


@pytest.mark.parametrize("of", INDEXES)
@pytest.mark.filterwarnings("ignore:The '.*' keyword does not take effect")
def test_options_of_such_bins_are_pandas(of):
    frame = frame_of(INDEXES[of])[["whole", "part"]]
    frame = frame[~frame.index.duplicated()]
    for number, options in enumerate(OPTIONS):
        lazy = cuts(frame)[number % 2]
        rule = RULES[of][number % 3]
        if LOOKS_UP_SAFELY or (of, rule) not in SHORTER:
            got = lazy.resample(rule, **options).sum()
            assert_same(got.compute(**INLINE), frame.resample(rule, **options).sum())
        got = lazy.resample(RULES[of][-1], **options).ffill()
        assert_same(got.compute(**INLINE), frame.resample(RULES[of][-1], **options).ffill())


@pytest.mark.parametrize("of", ["durations", "months"])
def test_missing_labels_and_few_rows_are_those_of_pandas(of):
    index = INDEXES[of]
    missing = index[[3, 5, 1]].append(type(index)([pd.NaT], dtype=index.dtype)).append(index[[0]])
    for rows in (frame_of(missing), frame_of(index[:1]), frame_of(index[:0])):
        for lazy in cuts(rows)[:2] if len(rows) < 2 else [gd.from_pandas(rows, npartitions=2, sort=False)]:
            for how in ("sum", "first", "ohlc", "size"):
                expected = getattr(rows.whole.resample(RULES[of][0]), how)()
                assert_same(getattr(lazy.whole.resample(RULES[of][0]), how)().compute(**INLINE), expected)


def test_columns_of_durations_and_groups_by_their_stretches_are_pandas():
    frame = frame_of(INDEXES["durations"]).reset_index()
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(lazy.resample("1D", on="t").whole.sum().compute(**INLINE), frame.resample("1D", on="t").whole.sum())
    for by, rows in ((pd.Grouper(key="t", freq="7h"), frame), (pd.Grouper(freq="7h"), frame.set_index("t"))):
        expected = rows.groupby(by).whole
        got = gd.from_pandas(rows, npartitions=3).groupby(by).whole
        assert_same(got.sum().compute(**INLINE), expected.sum())
        assert_same(got.cumsum().compute(**INLINE), expected.cumsum())


def test_periods_that_are_cut_otherwise_than_bins_are_looked_up_as_in_pandas():
    frame = pd.DataFrame({"x": range(5)}, index=pd.period_range("2000", periods=5, freq="Y-JAN"))
    for rule in ("Q-DEC", "W"):
        got = gd.from_pandas(frame, npartitions=2).resample(rule).bfill()
        assert_same(got.compute(**INLINE), frame.resample(rule).bfill())


def test_what_has_no_such_bins_is_said_at_the_call():
    days = gd.from_pandas(frame_of(INDEXES["days"]), npartitions=2)
    with pytest.raises(
        NotImplementedError, match=r"rule='ME'.*by ffill\(\), bins that are longer than the periods, of D"
    ):
        days.resample("M").ffill()
    with pytest.raises(pd.errors.IncompatibleFrequency, match="cannot be resampled to"):
        gd.from_pandas(frame_of(INDEXES["months"]), npartitions=2).resample("W-WED").sum()
    with pytest.raises(ValueError, match="requires fixed-duration"):
        gd.from_pandas(frame_of(INDEXES["durations"]), npartitions=2).resample("ME")
    with pytest.raises(TypeError, match="resample needs an index of times, durations or periods, not of int64"):
        gd.from_pandas(pd.DataFrame({"x": [1]}), npartitions=1).resample("D")


OF_ARROW = {
    "timestamp[us][pyarrow]": pd.date_range("2020-01-01", periods=6, freq="7h"),
    "timestamp[ns, tz=Europe/Berlin][pyarrow]": pd.date_range("2020-01-01", periods=6, freq="7h", tz="Europe/Berlin"),
    "duration[us][pyarrow]": pd.timedelta_range(0, periods=6, freq="7h"),
}


@pytest.mark.skipif(not LOOKS_UP_SAFELY, reason="before pandas 3.1 labels of Arrow's times lose their name")
@pytest.mark.parametrize("dtype", OF_ARROW)
def test_bins_of_times_of_arrow_are_called_by_such(dtype):
    frame = pd.DataFrame({"x": range(6), "t": pd.Series(OF_ARROW[dtype]).astype(dtype)})
    by_time = frame.set_index("t")
    lazy = gd.from_pandas(by_time.iloc[::-1], npartitions=3, sort=False)
    for ask in (
        lambda bins: bins.sum(),
        lambda bins: bins.x.agg(["min", "max"]),
        lambda bins: bins.ffill(),
        lambda bins: bins.interpolate(),
        lambda bins: bins.transform("sum"),
    ):
        assert_same(ask(lazy.resample("5h")).compute(**INLINE), ask(by_time.resample("5h")))
    got = gd.from_pandas(frame, npartitions=2).resample("5h", on="t").first()
    assert_same(got.compute(**INLINE), frame.resample("5h", on="t").first())
    with pytest.raises(NotImplementedError, match=r"of times or durations of Arrow's.*use resample\(\)"):
        lazy.groupby(pd.Grouper(freq="5h"))
