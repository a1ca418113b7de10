"""`pandas.Grouper`: groups by stretches of time, alone and beside other keys, are those of pandas."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same, partitionings
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, LOOKS_UP_SAFELY
from pandas import Grouper

INLINE = {"scheduler": "inline"}
_RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "t": pd.Timestamp("2024-01-03 05:30") + pd.to_timedelta(_RANDOM.integers(0, 60 * 24 * 9, 24), unit="min"),
        "k": list("ab") * 12,
        "x": np.arange(24) * 1.5,
        "y": _RANDOM.integers(0, 5, 24),
    }
)
FRAME.loc[3, "t"] = pd.NaT
BY_TIME = FRAME.dropna().set_index("t").sort_index()
OF_COLUMNS = {
    "alone": lambda f: f.groupby(Grouper(key="t", freq="2D"))[["x", "y"]].sum(),
    "alone in a list": lambda f: f.groupby([Grouper(key="t", freq="7h")]).x.count(),
    "several aggregations": lambda f: f.groupby(Grouper(key="t", freq="D")).agg({"x": "mean", "y": ["min", "max"]}),
    "beside a column": lambda f: f.groupby(["k", Grouper(key="t", freq="D")]).sum(),
    "named": lambda f: f.groupby([Grouper(key="t", freq="7h"), "k"]).agg(n=("x", "count"), most=("y", "max")),
    "months": lambda f: f.groupby(["k", Grouper(key="t", freq="MS")]).first(),
    "keys as columns": lambda f: f.groupby(["k", Grouper(key="t", freq="D")], as_index=False).x.sum(),
    "sizes": lambda f: f.groupby(["k", Grouper(key="t", freq="D")]).size().reset_index(name="n"),
    "rows": lambda f: f.groupby(["k", Grouper(key="t", freq="3D")]).x.transform("sum"),
    "sums along the rows": lambda f: f.groupby(["k", Grouper(key="t", freq="3D")]).x.cumsum(),
    "a function": lambda f: f.groupby(["k", Grouper(key="t", freq="3D")]).apply(lambda g: g.x.max() - g.x.min()),
    "last rows": lambda f: f.groupby(["k", Grouper(key="t", freq="4D")])[["x", "y"]].tail(1),
    "closed": lambda f: f.groupby(["k", Grouper(key="t", freq="6h", closed="right", label="right")]).x.median(),
    "origin": lambda f: f.groupby(["k", Grouper(key="t", freq="7h", origin="start")]).x.sum(),
    "missing times": lambda f: f.groupby(["k", Grouper(key="t", freq="D")], dropna=False).x.sum(),
    "a column alone": lambda f: f.groupby(Grouper(key="k")).x.sum(),
    "a column beside": lambda f: f.groupby([Grouper(key="k"), "y"]).x.sum(),
}
OF_LABELS = {
    "alone": lambda f: f.groupby(Grouper(freq="D")).y.sum(),
    "weeks": lambda f: f.groupby(Grouper(freq="W")).size(),
    "beside a column": lambda f: f.groupby(["k", Grouper(freq="2D")]).x.mean(),
    "a series": lambda f: f.x.groupby(Grouper(level="t", freq="2D")).max(),
    "a level": lambda f: f.groupby(["k", Grouper(level="t", freq="W")]).x.median(),
    "a level alone": lambda f: f.groupby(Grouper(level=0)).x.sum(),
}


@pytest.mark.parametrize(("frame", "operations"), [(FRAME, OF_COLUMNS), (BY_TIME, OF_LABELS), (FRAME[:1], OF_COLUMNS)])
def test_stretches_of_time_are_those_of_pandas(frame, operations):
    for operation in operations.values():
        for lazy in partitionings(frame)[1 : 2 if operations is OF_LABELS else 3 : 2 if len(frame) == 1 else 1]:
            assert_same(operation(lazy).compute(**INLINE), operation(frame))


def test_what_groups_by_stretches_of_time_cant_do_is_said():
    lazy = gd.from_pandas(FRAME, npartitions=2)
    grouped = lazy.groupby(["k", Grouper(key="t", freq="2h")])
    for ask in (grouped.head, lambda: grouped.get_group(("a", FRAME.t[0])), lambda: grouped.nth(0)):
        with pytest.raises(NotImplementedError, match=r"as in frame.assign\(times=frame\[.t.\]\)"):
            ask()
    with pytest.raises(NotImplementedError, match=r"as_index=False\): reset_index\(\) of the result"):
        lazy.groupby(Grouper(key="t", freq="D"), as_index=False)


STAMPS = pd.DataFrame({
    "t": pd.to_datetime(["2024-01-01 05:00", "2024-01-01 19:00", "2024-01-02 03:00", None]), "k": [1, 1, 1, 2], "f": [1.0, 2, 3, 4],
})  # fmt: skip
DAYS = pd.Grouper(key="t", freq="D")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.groupby([DAYS, "t"]).f.sum(),
        lambda x: x.groupby([DAYS, pd.Grouper(key="t", freq="12h")]).f.sum(),
        lambda x: x.groupby(["k", DAYS], as_index=False).agg({"f": ["sum"]}),
        lambda x: x.groupby([DAYS, x.t.dt.hour]).size(),
        lambda x: x.groupby([DAYS, "k"]).sum(),
        lambda x: x.groupby([DAYS, "k"]).f.transform("min"),
        lambda x: x.assign(times=x.t).groupby([DAYS, "k"]).times.max(),
    ],
)
def test_other_keys_of_the_same_column_have_its_times(call):
    found = call(gd.from_pandas(STAMPS, npartitions=2)).compute()
    expected = call(STAMPS)
    kind = pd.testing.assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal
    kind(found, expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g["t"].max(),
        lambda g: g.t.max(),
        lambda g: g.agg(latest=("t", "max")),
        lambda g: g.agg({"t": "max"}),
        lambda g: g.head(1),
    ],
)
def test_the_column_that_is_grouped_in_stretches_is_refused_as_a_value(call):
    grouped = gd.from_pandas(STAMPS, npartitions=2).groupby([DAYS, "k"])
    with pytest.raises(
        NotImplementedError, match=r"don't have column 't' itself: .*frame\.assign\(times=frame\['t'\]\)"
    ):
        call(grouped)


def test_stretches_of_what_is_no_time_are_refused_beside_other_keys():
    with pytest.raises(TypeError, match="'f'.* is of values of dtype float64; beside other keys it takes times"):
        gd.from_pandas(STAMPS, npartitions=2).groupby([pd.Grouper(key="f", freq="2h"), "k"])


OF_ARROWS = {
    "sums": lambda g: g.f.sum(),
    "values of the group": lambda g: g.f.transform("sum"),
    "sizes": lambda g: g.size(),
    "medians": lambda g: g.f.median(),
}


@pytest.mark.each_choice
@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 has such stretches as NumPy's times without a name")
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("name", OF_ARROWS)
def test_stretches_of_arrows_times_are_those_of_pandas(name, zone):
    times = FRAME.t.dt.tz_localize(zone).astype(pd.ArrowDtype(pa.timestamp("us", zone)))
    frame = pd.DataFrame({"t": times, "k": FRAME.k, "f": FRAME.x})
    for freq in ("D", "7h", "MS"):
        for by in (["k", Grouper(key="t", freq=freq)], [Grouper(key="t", freq=freq), "k"]):
            for dropna in (True, False):
                found = OF_ARROWS[name](gd.from_pandas(frame, npartitions=3).groupby(by, dropna=dropna))
                assert_same(found.compute(**INLINE), OF_ARROWS[name](frame.groupby(by, dropna=dropna)))


NAMES = pd.DataFrame({"c": pd.Categorical(["b", None, "a", None]), "s": ["b", None, "a", None], "x": [1, 2, 3, 4]})


@pytest.mark.parametrize("by", [pd.Grouper(key="s"), pd.Grouper(key="s", dropna=False), pd.Grouper(key="s", sort=True)])
def test_a_grouper_alone_has_its_own_order_and_missing_keys(by):
    found = gd.from_pandas(NAMES, npartitions=2).groupby(by).x.sum().compute()
    pd.testing.assert_series_equal(found, NAMES.groupby(by).x.sum())


@pytest.mark.parametrize("by", ["c", ["c"], ["c", "s"]])
def test_the_group_of_missing_categories_has_its_rows_when_groups_are_iterated(by):
    groups = gd.from_pandas(NAMES, npartitions=2).groupby(by, observed=True, dropna=False)
    found = [group.x.compute().tolist() for _, group in groups]
    assert found == [group.x.tolist() for _, group in NAMES.groupby(by, observed=True, dropna=False)]
    assert [2, 4] in found


@pytest.mark.skipif(not LOOKS_UP_SAFELY, reason="bins shorter than periods are an InvalidIndexError before pandas 3.1")
def test_groups_of_periods_that_are_shorter_begin_at_the_end_of_these():
    series = pd.Series(range(6), index=pd.period_range("2020-01-06", periods=6, freq="W-SUN"), dtype=float)
    by_day = lambda s: s.groupby(pd.Grouper(freq="D")).sum()  # noqa: E731
    assert_same(by_day(gd.from_pandas(series, npartitions=3)).compute(), by_day(series))
