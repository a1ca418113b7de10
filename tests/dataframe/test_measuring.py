"""Bins of time, lazy arrays, sizes, and reductions of one's own."""

import io
from itertools import pairwise

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of, check_all
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}

BINS = {
    "hours": lambda f: f.resample("1h").sum(),
    "seven hours": lambda f: f.x.resample("7h").mean(),
    "days to the right": lambda f: f.resample("1D", closed="right", label="right").count(),
    "months": lambda f: f.x.resample("MS").max(),
    "month ends": lambda f: f.x.resample("ME").first(),
    "weeks": lambda f: f.resample("W")["x"].min(),
    "from the start": lambda f: f.x.resample("90min", origin="start").sum(),
    "with an offset": lambda f: f.x.resample("6h", offset="1h").size(),
    "median": lambda f: f.x.resample("1D").median(),
    "ohlc": lambda f: f.x.resample("1D").ohlc(),
    "from a time as text": lambda f: f.x.resample(
        "7h", origin="2020-01-05 03:20" + ("Z" if f.index.tz is not None else "")
    ).sum(),
    "agg": lambda f: f.resample("12h").agg({"x": "sum", "y": "last"}),
    "apply": lambda f: f.x.resample("1D").apply(lambda values: values.max() - values.min() if len(values) else 0.0),
    "quantile": lambda f: f.x.resample("1D").quantile(0.3),
    "nunique": lambda f: f.y.resample("3D").nunique(),
}


@settings(max_examples=examples(6))
@given(
    st.integers(1, 60),
    st.integers(0, 99),
    st.integers(1, 9),
    st.sampled_from([None, "UTC", "Europe/Berlin"]),
    st.integers(0, 3),
)
def test_bins_of_time_are_those_of_pandas(count, seed, npartitions, zone, dropped):
    random = np.random.default_rng(seed)
    hours = np.sort(random.integers(0, 24 * 20, count)) + 24 * 80 * (np.arange(count) > count // 2)
    times = pd.Timestamp("2020-02-20", tz=zone) + pd.to_timedelta(hours, unit="h")
    frame = pd.DataFrame(
        {"x": random.normal(size=count), "y": random.integers(0, 9, count)}, index=pd.DatetimeIndex(times, name="t")
    )
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    chosen = frame[frame.y >= dropped]
    bins = {name: work for name, work in BINS.items() if zone is None or name != "nunique"}
    if len(chosen) > 1:
        check_all(bins, chosen, lazy[lazy.y >= dropped], check_dtype=True)
        for name in set(bins) - {"apply"}:
            assert_within_divisions(bins[name](lazy[lazy.y >= dropped]))


def assert_within_divisions(made):
    last = made.npartitions - 1
    if not made.known_divisions:  # of days in a zone that are closed on the right
        return
    for number, (block, (low, high)) in enumerate(zip(blocks_of(made), pairwise(made.divisions), strict=True)):
        found = block.index
        assert (found >= low).all()
        assert (found <= high if number == last else found < high).all()


@pytest.mark.parametrize("npartitions", [1, 4])
def test_results_of_bins_are_aligned_with_each_other(npartitions):
    times = pd.date_range("2024-03-29 20:00", periods=60, freq="5h", tz="Europe/Paris", name="t")
    frame = pd.DataFrame({"x": np.arange(60.0), "y": range(60)}, index=times)

    def run(f):
        days = f.resample("D")
        made = days[["x"]].mean().assign(spread=days.x.max() - days.x.min(), y=f.resample("D").y.sum())
        return made.loc["2024-03-31":"2024-04-02"].join(f.x.resample("D").size().to_frame("rows"))

    assert_same(run(gd.from_pandas(frame, npartitions=npartitions)).compute(**INLINE), run(frame), check_freq=False)
    months = gd.from_pandas(frame, npartitions=npartitions).x.resample("D").sum().resample("ME").sum()
    assert_same(months.compute(**INLINE), frame.x.resample("D").sum().resample("ME").sum())


@pytest.mark.parametrize("npartitions", [1, 4])
def test_bins_may_be_of_a_column(npartitions):
    times = pd.Series(pd.date_range("2024-01-01", periods=30, freq="7h")).where(np.arange(30) % 7 > 0)
    frame = pd.DataFrame({"t": times, "x": np.arange(30.0), "s": list("abc") * 10}).sample(frac=1, random_state=1)
    frame = frame.reset_index(drop=True)
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    for run in (
        lambda f: f.resample("D", on="t").x.sum(),
        lambda f: f.resample("6h", on="t").agg({"x": ["sum", "max"], "s": "last"}),
        lambda f: f.resample("W", on="t").size(),
    ):
        assert_same(run(lazy).compute(**INLINE), run(frame), check_freq=False)


def test_values_are_lazy_arrays():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [4, 5, 6]})
    lazy = gd.from_pandas(frame, npartitions=2)
    assert lazy.values.shape == (3, 2)
    assert lazy.values.compute(**INLINE).tolist() == frame.values.tolist()
    some = lazy[lazy.x > 1].x
    assert np.isnan(some.values.shape[0])
    assert some.values.sum().compute(**INLINE) == 5.0
    assert some.to_array(lengths=True).chunks == ((0, 2),) or some.to_array(lengths=True).shape == (2,)
    with pytest.raises(ValueError, match="has 1 numbers for 2 partitions"):
        lazy.to_array(lengths=[3])


def test_sizes_are_those_of_pandas():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [4, 5, 6]}, index=[1, 2, 3])
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(lazy.memory_usage(index=False).compute(**INLINE), frame.memory_usage(index=False))
    assert lazy.x.memory_usage(index=False).compute(**INLINE) == 24
    assert lazy.x.nbytes.compute(**INLINE) == frame.x.nbytes
    assert lazy.memory_usage_per_partition(index=False).compute(**INLINE).tolist() == [16, 32]
    text = io.StringIO()
    lazy.info(buf=text, show_counts=True, memory_usage=True)
    assert "2 partitions" in text.getvalue() and "dtypes: float64(1), int64(1)" in text.getvalue()
    assert not lazy.clear_divisions().known_divisions


def test_rows_are_reduced_by_functions_of_ones_own():
    frame = pd.DataFrame({"x": range(20), "y": range(20, 40)})
    lazy = gd.from_pandas(frame, npartitions=10)
    assert (
        lazy.x.reduction(lambda block: block.sum(), lambda found: found.sum(), split_every=3).compute(**INLINE) == 190
    )
    totals = lazy.reduction(lambda block: block.sum(), lambda found: found.sum(), split_every=2)
    assert_same(totals.compute(**INLINE), frame.sum())
    top = lazy.reduction(lambda block, n: block.nlargest(n, "x"), chunk_kwargs={"n": 2}, aggregate_kwargs={"n": 2})
    assert_same(top.compute(**INLINE), frame.nlargest(2, "x"))


def test_what_bins_cant_do_is_said():
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.date_range("2020", periods=2))
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(lazy.clear_divisions().resample("1D").sum().compute(), frame.resample("1D").sum())
    with pytest.raises(
        TypeError,
        match=r"resample\(on='x'\) needs times or durations, not float64; to_datetime\(\) makes times",
    ):
        lazy.resample("1D", on="x")
    with pytest.raises(ValueError, match=r"resample\(on='x'\) is of frames: a series is resampled by its index"):
        lazy.x.resample("1D", on="x")
    assert_same(lazy.resample("2ME").ffill().compute(), frame.resample("2ME").ffill())
    with pytest.raises(TypeError, match="resample needs an index of times, durations or periods, not of int64"):
        gd.from_pandas(pd.DataFrame({"x": [1]})).resample("1D")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"label": "righttt"}, "Unsupported value righttt for `label`"),
        ({"closed": "lefttt"}, "Unsupported value lefttt for `closed`"),
        ({"origin": "startday"}, "'origin' should be equal to 'epoch'"),
        ({"offset": "12dayys"}, "'offset' should be a Timedelta"),
        ({"origin": pd.Timestamp("2020", tz="UTC")}, "The origin must have the same timezone as the index"),
    ],
)
def test_options_of_bins_that_pandas_does_not_know_are_refused_at_once(options, says):
    lazy = gd.from_pandas(pd.Series([1, 2], index=pd.date_range("2020", periods=2)), npartitions=2)
    with pytest.raises(ValueError, match=says):
        lazy.resample("5min", **options)
