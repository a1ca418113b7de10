"""Operations along the rows are pandas', wherever the partitions end."""

import itertools
from graphlib import TopologicalSorter

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all, cut_frames
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe.cumulative import _filled_last
from glassloom.errors import DivisionError
from glassloom.expr import lower, optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
NUMBERS = ["i", "f", "n"]

ALONG = {
    "cumsum": lambda f: f[NUMBERS].cumsum(),
    "cumsum of booleans": lambda f: f.b.cumsum(),
    "cumsum of mixed columns": lambda f: f[["b", "f"]].cumsum(),
    "cumsum with missing": lambda f: f[["f", "n"]].cumsum(skipna=False),
    **({"cumsum of numbers only": lambda f: f[["i", "s", "b"]].cumsum(numeric_only=True)} if HAS_COPY_ON_WRITE else {}),
    "cumprod": lambda f: f.i.cumprod(),
    "cummin": lambda f: f[["i", "f", "d"]].cummin(),
    "cummax of times": lambda f: f.d.cummax(),
    "cummax along columns": lambda f: f[["i", "f"]].cummax(axis=1),
    "a column of cumsum": lambda f: f[NUMBERS].cumsum()["f"],
    "ffill": lambda f: f.ffill(),
    "bfill": lambda f: f.bfill(),
    "ffill of one": lambda f: f.f.ffill(),
    "ffill with a limit": lambda f: f[["f", "s", "n"]].ffill(limit=2),
    "bfill with a limit": lambda f: f.d.bfill(limit=1),
    **{f"{how} {area}": lambda f, how=how, area=area: getattr(f[["f", "s", "d", "n", "c", "i"]], how)(limit_area=area)
       for how in ("ffill", "bfill") for area in ("inside", "outside")},
    "ffill inside with a limit": lambda f: f.f.ffill(limit=1, limit_area="inside"),
    "fill the first": lambda f: f.f.fillna(0.5, limit=1),
    "fill the first of some": lambda f: f.fillna({"f": 0.5, "s": "x", "n": 7}, limit=3),
    **({"fill the first categories": lambda f: f.c.fillna("u", limit=2)} if HAS_COPY_ON_WRITE else {}),  # pandas 2 fills all
    "fill the first with others": lambda f: f.f.fillna(f.i * 1.0, limit=2),
    "fill the first times": lambda f: f[["d"]].fillna(pd.Timestamp("2020-02-02"), limit=2),
    "shift": lambda f: f.shift(),
    "shift up": lambda f: f.shift(-2),
    "shift far": lambda f: f.i.shift(9),
    "shift with a value": lambda f: f.i.shift(1, fill_value=7),
    "shift by several": lambda f: f[["i"]].shift([0, 1, -1]),
    "shift columns": lambda f: f[["i", "f"]].shift(axis=1),
    "diff": lambda f: f[["i", "f", "d", "n"]].diff(),
    "diff up": lambda f: f.i.diff(-3),
    "change": lambda f: f.f.pct_change(fill_method=None),
    "change, missing values as pandas takes them": lambda f: f[["f", "n"]].pct_change(2),
    "first label": lambda f: f.f.first_valid_index(),
    "last label": lambda f: f.f.last_valid_index(),
    **{f"line {direction}": lambda f, d=direction: f[["f", "i"]].interpolate(limit_direction=d)
       for direction in ("forward", "backward", "both")},
    "line with a limit": lambda f: f.f.interpolate(limit=1, limit_direction="both"),
    "line inside": lambda f: f.f.interpolate(limit_area="inside"),
    "line outside": lambda f: f.f.interpolate(limit_area="outside", limit_direction="both", limit=2),
    "line along labels": lambda f: f.f.sort_index().interpolate("index"),
    "weighted mean": lambda f: f[["f", "i"]].ewm(span=3).mean(),
    "weighted mean of the last mean": lambda f: f.f.ewm(alpha=0.3, adjust=False).mean(),
    "weighted mean of the last mean, half of it": lambda f: f.f.ewm(com=1, adjust=False).mean(),
    "weighted mean of the last mean, of values": lambda f: f.f.ewm(alpha=0.3, adjust=False, ignore_na=True).mean(),
    "weighted mean of values": lambda f: f.f.ewm(com=2, ignore_na=True, min_periods=3).mean(),
    "weighted sum": lambda f: f.f.ewm(halflife=2).sum(),
    "weighted variance": lambda f: f[["i", "f"]].ewm(span=4).var(),
    "weighted deviation, biased": lambda f: f.f.ewm(span=4).std(bias=True),
    "a column of weighted means": lambda f: f[["f", "i"]].ewm(span=3).mean()["i"],
    "chain": lambda f: f.f.ffill().cumsum().shift(),
}  # fmt: skip


@settings(max_examples=examples(5))
@given(cut_frames(max_rows=16))
def test_operations_along_the_rows_are_those_of_pandas(pair):
    check_all(ALONG, *pair)


CARRIED = {
    "cumsum": lambda f: f.cumsum(),
    "ffill": lambda f: f.ffill(),
    "bfill": lambda f: f.bfill(),
    "shift": lambda f: f.shift(2),
    "diff up": lambda f: f.diff(-1),
    "line": lambda f: f.interpolate(),
    "windows": lambda f: f.rolling(3, min_periods=1).mean(),
    "growing windows": lambda f: f.expanding().sum(),
    "weighted mean": lambda f: f.ewm(com=1).mean(),
    "one after the other": lambda f: f.cumsum().diff().shift(1),
}


@pytest.mark.each_choice
@pytest.mark.parametrize("numbers", [[2], [3, 2, 1, 0], [0, 3]], ids=str)
@pytest.mark.parametrize("name", CARRIED)
def test_a_column_of_chosen_partitions_is_made_of_all_partitions(name, numbers):
    """The rows beside a chosen partition, and what is carried into it, are those of the whole frame."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": np.where(random.random(40) < 0.3, np.nan, random.random(40)), "b": random.random(40)})
    expected = CARRIED[name](frame).a
    chosen = CARRIED[name](gd.from_pandas(frame, npartitions=4)).partitions[numbers]
    assert_same(
        chosen["a"].compute(**INLINE), pd.concat([expected[10 * number : 10 * number + 10] for number in numbers])
    )
    backwards = CARRIED[name](gd.from_pandas(frame, npartitions=4)).sort_index(ascending=False)["a"]
    assert_same(backwards.compute(**INLINE), expected[::-1])


@pytest.mark.parametrize(("npartitions", "rows"), [(1, 1), (8, 20), (9, 5), (65, 70), (200, 40)])
def test_scans_have_tasks_in_proportion_to_partitions_and_chains_of_logarithmic_length(npartitions, rows):
    frame = pd.DataFrame({"x": range(rows)})
    pieces = [frame.iloc[number : number + 1] for number in range(npartitions)]
    lazy = gd.from_map(pieces.__getitem__, range(npartitions), meta=frame)
    work = lazy.x.cumsum()
    assert_same(work.compute(**INLINE), frame.x.iloc[:npartitions].cumsum())
    graph, _ = lower(optimize([work.expr]))
    assert len(graph) <= 5 * npartitions + 2
    assert max(depths(graph.tasks).values()) <= 14


def depths(tasks):
    """Return how many tasks follow each other up to each."""
    order = TopologicalSorter({key: [one for one in task.deps if one in tasks] for key, task in tasks.items()})
    found = {}
    for key in order.static_order():
        found[key] = 1 + max((found[one] for one in tasks[key].deps if one in tasks), default=0)
    return found


def test_the_first_rows_need_only_the_first_partitions():
    lazy = gd.from_pandas(pd.DataFrame({"x": range(100)}), npartitions=50)
    graph, _ = lower(optimize([lazy.x.cumsum().head(1, compute=False).expr]))
    assert len(graph) <= 3


def test_rows_of_partitions_beside_are_read_directly_where_lengths_are_known():
    lazy = gd.from_pandas(pd.DataFrame({"x": range(100)}), npartitions=50)
    graph, _ = lower(optimize([lazy.x.shift(3).partitions[40].expr]))
    assert len(graph) <= 8
    assert lazy.x.shift(3).partitions[40].compute(**INLINE).tolist() == [77, 78]


def test_labels_are_shifted_by_a_frequency():
    frame = pd.DataFrame({"x": range(4)}, index=pd.date_range("2020-01-01", periods=4))
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(lazy.shift(2, freq="1h").compute(**INLINE), frame.shift(2, freq="1h"))
    with pytest.raises(NotImplementedError, match=r"shift\(freq='infer'\) isn't supported: name the frequency"):
        lazy.shift(freq="infer")


def test_options_without_a_form_for_partitions_are_refused_by_name():
    lazy = gd.from_pandas(pd.DataFrame({"x": [1.0, 2.0]}), npartitions=2)
    with pytest.raises(ValueError, match=r"ffill: Invalid limit_area: .* got 'middle'"):
        lazy.ffill(limit_area="middle")
    with pytest.raises(ValueError, match=r"fillna\(limit=0\): Limit must be greater than 0"):
        lazy.fillna(0, limit=0)
    with pytest.raises(NotImplementedError, match=r"pct_change\(fill_method='bfill'\) isn't supported: call ffill"):
        lazy.pct_change(fill_method="bfill")
    with pytest.raises(ValueError, match="cumsum: axis=2 should be 0 or 'index'"):
        lazy.cumsum(axis=2)


@pytest.mark.parametrize(
    ("labels", "freqs", "known"),
    [
        (pd.date_range("2020", periods=6, freq="7h"), ["D", "h", pd.Timedelta("90min")], True),
        (pd.date_range("2020-10-24", periods=6, freq="7h", tz="Europe/Berlin"), ["h"], True),
        (pd.date_range("2020-10-24", periods=6, freq="7h", tz="Europe/Berlin"), ["D"], not HAS_COPY_ON_WRITE),
        (pd.date_range("2020", periods=6, freq="7h"), ["W"], False),
        (pd.period_range("2020", periods=6, freq="D"), ["D"], True),
        (pd.timedelta_range("1h", periods=6, freq="h"), ["D", "h"], True),
    ],
)
def test_partitions_begin_where_labels_are_moved_to_if_all_move_alike(labels, freqs, known):
    frame = pd.DataFrame({"x": range(6)}, index=labels)
    lazy = gd.from_pandas(frame, npartitions=3)
    for freq, periods in itertools.product(freqs, (2, -1)):
        moved, expected = lazy.shift(periods, freq=freq), frame.shift(periods, freq=freq)
        assert moved.known_divisions is known
        assert_same(moved.compute(**INLINE), expected)
        if not known:
            continue
        assert_same(moved.loc[expected.index[3] :].compute(**INLINE), expected.iloc[3:])
        assert_same((lazy.x + moved.x).compute(**INLINE), frame.x + expected.x, check_freq=False)
        assert len(lazy.x + moved.x) == len(frame.x + expected.x)


def test_functions_get_rows_of_partitions_beside():
    frame = pd.DataFrame({"x": [1.0, 5.0, 2.0, 8.0, 3.0]})
    pieces = [frame.iloc[:2], frame.iloc[2:2], frame.iloc[2:3], frame.iloc[3:]]
    lazy = gd.from_map(pieces.__getitem__, range(4), meta=frame)

    def smooth(block, add=0):
        return block.rolling(3, center=True, min_periods=1).sum() + add

    assert_same(lazy.map_overlap(smooth, 1, 1, add=2).compute(**INLINE), smooth(frame, add=2))
    assert_same(lazy.x.map_overlap(smooth, 1, 1).compute(**INLINE), smooth(frame.x))
    with pytest.raises(ValueError, match=r"map_overlap: before=-1 should be a number of rows"):
        lazy.map_overlap(smooth, -1, 0)
    with pytest.raises(ValueError, match=r"map_overlap\(dropping\) made 1 rows of 2"):
        lazy.map_overlap(dropping, 0, 0).compute(**INLINE)


def test_functions_get_rows_of_partitions_beside_of_several_frames():
    frame = pd.DataFrame({"x": [1.0, 5.0, np.nan, 8.0, 3.0], "k": pd.Categorical(list("abaab"))})
    other = pd.DataFrame({"y": pd.array([1, None, 4, 8, 16], "Int64"), "t": ["a", None, "b", "c", "d"]})
    cuts = [slice(0, 2), slice(2, 2), slice(2, 3), slice(3, 5)]
    lazy = gd.from_map(lambda cut: frame.iloc[cut], cuts, meta=frame.iloc[:0])
    beside = lazy.assign(y=0, t="").map_partitions(
        lambda block: other.loc[block.index], meta=other.iloc[:0], keep_divisions=True
    )

    def smooth(block, more, add=0, *, also=None):
        assert block.index.equals(more.index)
        made = block.x.rolling(3, center=True, min_periods=1).sum() + more.y.shift(-1).fillna(0) + add
        return made if also is None else made + also[0].y.shift(1).fillna(0)

    expected = smooth(frame, other)
    assert_same(lazy.map_overlap(smooth, 1, 1, beside).compute(**INLINE), expected)
    assert_same(gd.map_overlap(smooth, lazy, 1, 1, beside, add=lazy.x.max()).compute(**INLINE), expected + 8)
    got = lazy.map_overlap(smooth, 1, 1, beside, also=[beside])
    assert_same(got.compute(**INLINE), smooth(frame, other, also=[other]))
    assert_same(got.partitions[3].compute(**INLINE), smooth(frame, other, also=[other]).iloc[3:])
    assert_same(lazy.assign(z=got)[["z"]].compute(**INLINE), smooth(frame, other, also=[other]).to_frame("z"))
    assert len(got) == 5
    assert_same(lazy.map_overlap(smooth, 1, 1, beside, meta=("x", "f8")).compute(**INLINE), expected)
    same = lazy.x.map_overlap(lambda one, two: one + two.shift(), 1, 0, lazy.x).compute(**INLINE)
    assert_same(same, frame.x + frame.x.shift())


def test_functions_of_several_frames_get_rows_within_a_time_and_whole_frames_of_one_partition():
    times = pd.date_range("2021-01-01", periods=20, freq="h")
    x, y = (pd.Series(np.arange(20.0) ** power, times, name="x") for power in (1, 2))
    few = pd.DataFrame({"z": [1.5, 2.5]})

    def summed(one, two, whole):
        assert len(whole) == 2
        return one.rolling("3h").sum() + two.shift(2, freq="h").reindex(one.index).fillna(0) + whole.z.max()

    one, two = (gd.from_pandas(values, npartitions=5) for values in (x, y))
    got = one.map_overlap(summed, "3h", 0, two, gd.from_pandas(few, npartitions=1))
    assert_same(got.compute(**INLINE), summed(x, y, few), check_freq=False)


def test_frames_that_overlap_are_cut_alike():
    frame = pd.DataFrame({"x": np.arange(7.0)})
    lazy, other = gd.from_pandas(frame, npartitions=3), gd.from_pandas(frame * 2, npartitions=2)

    def smooth(block, more):
        return block.rolling(3, center=True, min_periods=1).sum() + more.shift(1).fillna(0)

    aligned = lazy.map_overlap(smooth, 1, 1, other, align_dataframes=True)
    assert_same(aligned.compute(**INLINE), smooth(frame, frame * 2))
    aligned = gd.map_overlap(smooth, other, 1, 1, lazy, align_dataframes=True)
    assert_same(aligned.compute(**INLINE), smooth(frame * 2, frame))
    unknown = lazy.clear_divisions()
    got = unknown.map_overlap(smooth, 1, 1, (lazy * 2).clear_divisions(), align_dataframes=False)
    assert_same(got.compute(**INLINE), smooth(frame, frame * 2))
    with pytest.raises(DivisionError, match=r"map_overlap\(smooth\): the operands are cut differently: 3 partitions"):
        unknown.map_overlap(smooth, 1, 1, other, align_dataframes=True)
    with pytest.raises(
        DivisionError,
        match="Or give align_dataframes=True, which cuts frames of known divisions alike, or align_dataframes=False",
    ):
        lazy.map_overlap(smooth, 1, 1, other)
    with pytest.raises(
        DivisionError,
        match=r"with align_dataframes=False frames have the same number of partitions or one, not 2 and 3",
    ):
        unknown.map_overlap(smooth, 1, 1, other, align_dataframes=False)
    with pytest.raises(DivisionError, match=r"map_overlap\(smooth\): call it on the frame with 2 partitions"):
        lazy.partitions[0].map_overlap(smooth, 1, 1, other)
    with pytest.raises(NotImplementedError, match=r"map_overlap\(add\) takes frames and series: give index.to_series"):
        lazy.map_overlap(pd.DataFrame.add, 1, 1, lazy.index)


def dropping(block):
    return block.iloc[:1]


APPLIED = {
    "two values": lambda rows: pd.Series({"a": rows.sum(), "b": rows.mean()}),
    "some rows": lambda rows: rows.head(2),
    "perhaps no row": lambda rows: rows[rows > 5],
    "one value": lambda rows: rows.sum(),
}


# pandas warns of its own work where a function returns a series for each bin.
@pytest.mark.filterwarnings("ignore:Converting a Series")
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("of", APPLIED)
def test_functions_of_bins_may_return_any_number_of_rows_in_any_number_of_partitions(of, zone):
    times = pd.date_range("2021-01-01", periods=24, freq="7h", tz=zone)
    series = pd.Series(np.arange(24.0), index=times).drop(times[6:14])  # days without rows
    expected = series.resample("D").apply(APPLIED[of])
    for npartitions in (1, 2, 5):
        lazy = gd.from_pandas(series, npartitions=npartitions)
        found = lazy.resample("D").apply(APPLIED[of]).compute(scheduler="inline")
        pd.testing.assert_series_equal(found, expected, check_freq=False)


@pytest.mark.parametrize("how", ["cumsum", "cumprod", "cummin", "cummax"])
@pytest.mark.parametrize("skipna", [True, False])
def test_floats_of_two_bytes_are_rounded_at_every_row_as_in_pandas(how, skipna):
    values = (np.random.default_rng(1).random(40) * (100 if how == "cumsum" else 1.3)).astype("float16")
    values[[11, 12]] = np.nan
    plain = pd.DataFrame({"h": values, "f": np.arange(40.0), "b": np.arange(40) % 3 > 0})
    for npartitions in (1, 2, 9, 20):
        lazy = gd.from_pandas(plain, npartitions=npartitions)
        lazy = lazy[lazy.f != 4] if npartitions > 1 else lazy
        expected = plain[plain.f != 4] if npartitions > 1 else plain
        for columns in ("h", ["h"], ["h", "b"], ["f", "h"]):
            got = getattr(lazy[columns], how)(skipna=skipna)
            assert_same(got.compute(**INLINE), getattr(expected[columns], how)(skipna=skipna))
    part = lazy.loc[lazy.f > 30].h.cumsum()  # partitions without rows
    assert_same(part.compute(**INLINE), expected.loc[expected.f > 30].h.cumsum())


@pytest.mark.skipif(PANDAS_VERSION < (3, 1), reason="earlier ones don't take such labels for numbers")
@pytest.mark.parametrize("dtype", ["timestamp[ns][pyarrow]", "timestamp[us, tz=UTC][pyarrow]", "duration[ns][pyarrow]"])
def test_lines_are_drawn_along_labels_that_are_times_of_arrow(dtype):
    numbers = pd.Series([0, 1, 2, 5], dtype="int64[pyarrow]").astype("duration[ns][pyarrow]")
    times = numbers if dtype.startswith("duration") else (pd.Timestamp(2020, 1, 1) + pd.to_timedelta([0, 1, 2, 5], "D"))
    plain = pd.Series([1.0, None, 4, 7], index=pd.Index(times).astype(dtype))
    assert_same(gd.from_pandas(plain, npartitions=2).interpolate("index").compute(**INLINE), plain.interpolate("index"))


@pytest.mark.parametrize("how, place", [("ffill", slice(-1, None)), ("bfill", slice(1))])
def test_a_row_that_has_all_values_is_carried_without_filling_the_others(monkeypatch, how, place):
    whole = pd.DataFrame({"x": [1.0, np.nan, 3.0], "s": pd.Series(["a", None, "c"], dtype="str")})
    gap = whole.iloc[[1, 0, 1]]
    assert_same(_filled_last(how, gap), getattr(gap, how)().iloc[place])
    for kind in (pd.DataFrame, pd.Series):
        monkeypatch.setattr(kind, how, None)
    assert_same(_filled_last(how, whole.x), whole.x.iloc[place])
    if HAS_COPY_ON_WRITE:  # before pandas 3 text is objects
        assert_same(_filled_last(how, whole), whole.iloc[place])


_NUMBERS_AND_INFINITE = st.sampled_from([1.5, -2.0, 0.0, 3.0, np.nan, np.inf, -np.inf])


@settings(max_examples=examples(60))
@given(
    columns=st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.lists(_NUMBERS_AND_INFINITE, min_size=n, max_size=n),
            st.lists(st.integers(-2, 2), min_size=n, max_size=n),
        )
    ),
    npartitions=st.integers(1, 5),
    how=st.sampled_from(["cumsum", "cumprod", "cummin", "cummax"]),
    skipna=st.booleans(),
)
def test_running_values_go_on_from_partition_to_partition(columns, npartitions, how, skipna):
    frame = pd.DataFrame(dict(zip("xy", columns, strict=True)))
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    with np.errstate(all="ignore"):
        for pick in (lambda f: f, lambda f: f.x, lambda f: f.y):
            got = getattr(pick(lazy), how)(skipna=skipna).compute(**INLINE)
            assert_same(got, getattr(pick(frame), how)(skipna=skipna))


@pytest.mark.parametrize("skipna", [True, False])
@pytest.mark.parametrize(
    ("how", "values"),
    [
        ("cumprod", np.arange(900.0)),
        ("cumprod", [0.0, 1.0, 1e200, 1e200, 1.0, 2.0]),
        ("cumprod", [1e-200, 1e-200, 3.0, 1e200, 1e200, 2.0]),
        ("cumprod", [1e300, 1e300, 1e-300, 1e-300, 1e-200, 0.0]),
        ("cumprod", [1e300, 1.0, 1e-200, 1e-200, 1.0, 1.0]),
        ("cumprod", [1e200, 1e200, 0.0, 1.0, 2.0, 3.0]),
        ("cumprod", [0.0, 1.0, 1e200, 1e200, 0.0, 3.0]),
        ("cumsum", [1e308, 1e308, -1e308, -1e308, 1.0, 2.0]),
        ("cumsum", [1e308, 1e308, -np.inf, 1.0, 1.0, 2.0]),
    ],
)
def test_sums_and_products_beyond_the_range_of_floats_are_those_of_rows_in_order(how, values, skipna):
    series = pd.Series(values)
    with np.errstate(all="ignore"):
        got = getattr(gd.from_pandas(series, npartitions=3), how)(skipna=skipna).compute(**INLINE)
        assert_same(got, getattr(series, how)(skipna=skipna))
        frame = pd.DataFrame({"x": series, "y": np.arange(len(series)) % 3})
        lazy = gd.from_pandas(frame, npartitions=3)
        assert_same(getattr(lazy, how)(skipna=skipna).compute(**INLINE), getattr(frame, how)(skipna=skipna))
