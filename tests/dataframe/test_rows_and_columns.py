"""Rows and columns chosen, renamed, set and computed one by one are those of pandas."""

import itertools
import re
from datetime import time

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all, check_in_parts, cut_frames, partitionings
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.errors import OptionError
from hypothesis import given, settings
from long_tests import examples

INLINE = {"scheduler": "inline"}


def changed(frame, change):
    """Return a copy of a frame that a function has changed in place."""
    own = frame.copy()
    change(own)
    return own


def set_columns(f):
    f.columns = list("ABCDEFG")


def set_many(f):
    f[["i", "f"]] = f[["f", "i"]]
    f["x"] = f.i * 2
    f.x = f.x + 1
    f[["y", "z"]] = 1
    del f["s"]
    f.insert(1, "first", f.f)


def set_where(f):
    f.loc[f.b, "i"] = 0
    f.loc[:, "f"] = 2.5


def set_rows(f):
    f[f.i > 0] = 9
    f[f < 0] = 0


def set_name(s):
    s.name = "other"


def set_index(f):
    f.index = f.i + 1


variable = 1
ROWS = {
    "where with a function": lambda f: f.i.where(lambda x: x > 0, lambda x: -x),
    "mask with None": lambda f: f.f.mask(f.b, None),
    "where along rows": lambda f: f[["i", "f"]].where(f[["i", "f"]] > 0, f.i, axis=0),
    "clip by a column": lambda f: f[["i", "f"]].clip(lower=f.i, axis=0),
    "replace": lambda f: f[["i", "s"]].replace({"i": {1: 100}, "s": {"ant": "x"}}),
    "replace a value": lambda f: f.i.replace(1, 5),
    "replace by regular expression": lambda f: f.s.replace("^a", "A", regex=True),
    "rename with a function": lambda f: f.rename(str.upper, axis=1),
    "rename rows": lambda f: f.rename(index=lambda label: label + 1),
    "rename labels of a series": lambda f: f.i.rename(lambda label: label * 2),
    "drop by axis": lambda f: f.drop(["i"], axis="columns"),
    "drop ignoring": lambda f: f.drop(columns=["i", "nope"], errors="ignore"),
    "drop rows": lambda f: f.drop(index=[2, 3], errors="ignore"),
    "prefix": lambda f: f.add_prefix("p_"),
    "suffix": lambda f: f.add_suffix("_s"),
    "prefix of labels": lambda f: f.i.add_prefix("p_"),
    "filter": lambda f: f.filter(items=["f", "nope", "i"]),
    "filter by letters": lambda f: f.filter(regex="^[a-f]$"),
    "filter rows": lambda f: f.filter(like="1", axis=0),
    "rename the axis": lambda f: f.rename_axis("labels"),
    "pipe": lambda f: f.pipe(lambda g, n: g.i + n, 3),
    "pipe to a name": lambda f: f.pipe((lambda n, g: g.i + n, "g"), 3),
    "query with a variable": lambda f: f.query("i > @variable"),
    "eval with a local": lambda f: f.eval("j = i + @n", local_dict={"n": 4}),
    "map values": lambda f: f[["i", "f"]].map(lambda x: x * 2),
    "apply with arguments": lambda f: f.i.apply(lambda x, n: x * n, args=(3,)),
    "apply rows with arguments": lambda f: f[["i", "f"]].apply(lambda row, n: row.i + n, axis=1, args=(3,)),
    "case when": lambda f: f.i.case_when([(f.i > 1, 10), (f.b, 20)]),
    "repeat": lambda f: f.i.repeat(2),
    "keys": lambda f: f.i.keys(),
    "get": lambda f: f.get("i"),
    "set columns": lambda f: changed(f, set_columns),
    "set many": lambda f: changed(f, set_many),
    "set where": lambda f: changed(f, set_where),
    "set rows": lambda f: changed(f[["i", "f"]], set_rows),
    "set a name": lambda f: changed(f.i, set_name),
    "set the index": lambda f: changed(f, set_index),
    "chosen by a function": lambda f: f[lambda g: g.i > 0],
    "chosen of a series by a function": lambda f: f.i[lambda column: column > 0],
    "columns by a function": lambda f: f[lambda g: ["i", "f"]],
    "first rows": lambda f: f.iloc[:3],
    "some rows": lambda f: f.iloc[2:9:3],
    "last rows": lambda f: f.iloc[-4:],
    "but the last": lambda f: f.iloc[1:-2, [0, 2]],
    "every other": lambda f: f.i.iloc[1::2],
    "far": lambda f: f[f.i > 0].iloc[5:50],
    "columns by position": lambda f: f.iloc[:, 1:3],
    "a column by position": lambda f: f.iloc[:, -1],
}


@settings(max_examples=examples(3))
@given(cut_frames(max_rows=16))
def test_rows_and_columns_are_those_of_pandas(pair):
    check_all(ROWS, *pair)


@pytest.fixture
def frame():
    return pd.DataFrame({"x": [10, 20, 30, 40, 50], "y": list("abcde")}, index=[1, 2, 2, 5, 9])


@pytest.mark.parametrize("sort", [True, False])
def test_rows_are_found_by_label_and_position(frame, sort):
    lazy = gd.from_pandas(frame, npartitions=3, sort=sort)
    for key in (0, 4, -1, -5):
        assert_same(lazy.iloc[key].compute(**INLINE), frame.iloc[key])
        assert lazy.x.iloc[key].compute(**INLINE) == frame.x.iloc[key]
    assert_same(lazy.iloc[[3, 0, 3]].compute(**INLINE), frame.iloc[[3, 0, 3]])
    assert_same(lazy[lazy.x > 10].iloc[[0, 2]].compute(**INLINE), frame[frame.x > 10].iloc[[0, 2]])
    assert_same(lazy.loc[[9, 2]].compute(**INLINE), frame.loc[[9, 2]])
    assert_same(lazy.loc[5].compute(**INLINE), frame.loc[[5]])
    assert_same(lazy.loc[[2, 1], "x"].compute(**INLINE), frame.loc[[2, 1], "x"])
    assert_same(lazy.loc[lambda f: f.x > 20, ["y"]].compute(**INLINE), frame.loc[lambda f: f.x > 20, ["y"]])
    assert_same(lazy.loc[lazy.x > 0, [True, False]].compute(**INLINE), frame.loc[:, [True, False]])
    assert lazy.at[5, "y"].compute(**INLINE) == "d"
    assert lazy.x.at[9].compute(**INLINE) == 50
    with pytest.raises(KeyError):
        lazy.loc[[7]].compute(**INLINE)
    with pytest.raises(IndexError, match=r"iloc\[7\]: there are fewer rows"):
        lazy.iloc[7].compute(**INLINE)


@pytest.mark.parametrize(
    "choose",
    [
        lambda f: f[["x", "x", "y"]].x,
        lambda f: f[["x", "x", "y"]][["y", "x"]],
        lambda f: f[["x", "x", "y"]].x.sum(),
        lambda f: f[["x", "x", "y"]].y,
        lambda f: f.set_axis(["a", "a"], axis=1).loc[:, ~pd.Index(["a", "a"]).duplicated()],
        lambda f: f.set_axis(["a", "a"], axis=1).loc[:, [False, True]],
        lambda f: f.set_axis(["a", "a"], axis=1).loc[:, "a":"a"],
        lambda f: f.set_axis(["a", "a"], axis=1).iloc[:, 1],
        lambda f: f.set_axis(["a", "a"], axis=1).iloc[1:3, [0]],
        lambda f: f.set_axis(["a", "a"], axis=1).loc[:, lambda g: g.columns == "b"],
    ],
)
def test_columns_of_one_name_are_told_apart_by_position(frame, choose):
    expected = choose(frame)
    for lazy in (gd.from_pandas(frame, npartitions=3), gd.from_map(lambda part: part, [frame[:2], frame[2:]])):
        assert_same(choose(lazy).compute(**INLINE), expected)


def test_rows_of_a_day_are_found_by_its_text():
    frame = pd.DataFrame({"x": range(48)}, index=pd.date_range("2020-01-01", periods=48, freq="h"))
    lazy = gd.from_pandas(frame, npartitions=4)
    assert_same(lazy.loc["2020-01-02"].compute(**INLINE), frame.loc["2020-01-02"])
    assert_same(lazy.at_time("10:00").compute(**INLINE), frame.at_time("10:00"))
    assert_same(lazy.between_time("22:00", "2:00").compute(**INLINE), frame.between_time("22:00", "2:00"))
    assert_same(
        lazy.tz_localize("UTC").tz_convert("Asia/Tokyo").compute(**INLINE),
        frame.tz_localize("UTC").tz_convert("Asia/Tokyo"),
    )
    assert_same(lazy.to_period("D").to_timestamp().compute(**INLINE), frame.to_period("D").to_timestamp())
    assert_same(lazy.truncate("2020-01-01 05:00", "2020-01-01 07:00").compute(**INLINE), frame.iloc[5:8])


def test_rows_are_iterated_partition_by_partition(frame):
    lazy = gd.from_pandas(frame, npartitions=3)
    assert [(label, row.x) for label, row in lazy.iterrows()] == [(label, row.x) for label, row in frame.iterrows()]
    assert list(lazy.itertuples(name=None)) == list(frame.itertuples(name=None))
    assert list(lazy.x) == frame.x.tolist() == lazy.x.tolist()
    assert list(lazy.x.items()) == list(frame.x.items())
    assert [name for name, _ in lazy.items()] == list(lazy) == list(lazy.keys()) == ["x", "y"]
    assert "x" in lazy and "z" not in lazy
    assert np.asarray(lazy.x).tolist() == lazy.x.to_numpy().tolist() == frame.x.tolist()
    assert lazy[lazy.x > 40].x.item() == 50
    assert lazy.axes[1].equals(frame.columns)


def test_lists_become_rows():
    frame = pd.DataFrame({"k": ["a", "b", "c"], "v": [[1, 2], [], [3]]})
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(lazy.explode("v").compute(**INLINE), frame.explode("v"))
    assert_same(lazy.v.explode(ignore_index=True).compute(**INLINE), frame.v.explode(ignore_index=True))


def test_what_cant_be_set_says_how_it_can(frame):
    lazy = gd.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match="the frame has 2 columns, and 1 names were given: \\['a'\\]"):
        lazy.columns = ["a"]
    with pytest.raises(TypeError, match="index = a dict: it takes a lazy index or series of the same rows, or labels"):
        lazy.index = {}
    with pytest.raises(ValueError, match=r"index: Length of values \(2\) does not match length of index"):
        lazy.index = [1, 2]
    with pytest.raises(ValueError, match="2 columns are assigned 3 values"):
        lazy[["x", "y"]] = [1, 2, 3]
    with pytest.raises(OptionError, match="drop: errors='no' should be 'raise' or 'ignore'"):
        lazy.drop([5], errors="no")
    with pytest.raises(pd.errors.UndefinedVariableError, match="nowhere"):
        lazy.query("x > @nowhere")


APPLIED = {
    "a function of NumPy": lambda f: f.apply(np.sum),
    "a method": lambda f: f.apply(pd.Series.nunique),
    "a name": lambda f: f.apply("max"),
    "a list": lambda f: f.apply(["min", "max"]),
    "a range": lambda f: f.apply(lambda c: c.max() - c.min()),
    "a share": lambda f: f.apply(lambda c: c.isna().sum() / len(c)),
    "a value at hand": lambda f: f.apply(lambda c: c.dtype.name),
    "filled": lambda f: f.apply(lambda c: c.fillna(c.mean())),
    "scaled": lambda f: f.apply(lambda c, low: (c - low) / c.max(), args=(2,)),
    "roots": lambda f: f.apply(np.sqrt),
    "ranks": lambda f: f.apply(lambda c, pct: c.rank(pct=pct), pct=True),
    "counts": lambda f: f.apply(lambda c: c.value_counts().sort_index()),
    "quantiles": lambda f: f.apply(lambda c: c.quantile([0.25, 0.5])),
    "arrays": lambda f: f.apply(lambda c: c.compute().to_numpy() if hasattr(c, "compute") else c.to_numpy()),
}


def test_functions_of_columns_make_what_they_make_in_pandas():
    frame = pd.DataFrame({"i": [3.0, 1, 4, 1, 5, 9], "f": [0.5, None, 2.5, 1, 2, 3]})
    for name, function in APPLIED.items():
        expected = function(frame)
        assert_same(function(partitionings(frame)[-1]).compute(**INLINE), expected), name
    lazy = gd.from_pandas(frame, npartitions=2)
    with pytest.raises(
        TypeError, match=r"apply\(axis=0\): the function should return a value, .*; it returned \['dict'\]"
    ):
        lazy.apply(lambda column: {})
    with pytest.raises(
        NotImplementedError, match=r"apply\(raw=True\) isn't supported: with axis=0 the function gets lazy"
    ):
        lazy.apply(np.sum, raw=True)
    with pytest.raises(ZeroDivisionError) as caught:
        lazy.apply(lambda column: 1 / 0)
    assert "calls the function with each column as a lazy series" in caught.value.__notes__[0]


FALLING = pd.DataFrame({"x": range(10)}, index=[90, 80, 70, 60, 50, 40, 30, 20, 10, 5])


def out_of_divisions(frame):
    pieces = [frame[:0], frame[:1], frame[1:1], frame[1:8], frame[8:]]
    ragged = gd.from_map(pieces.__getitem__, range(5), meta=frame[:0])
    return [gd.from_pandas(frame, npartitions=number, sort=False) for number in (1, 3)] + [ragged]


@pytest.mark.parametrize(
    "rows",
    [
        slice(80, 30),
        slice(75, 33),
        slice(100, 1),
        slice(95, 90),
        slice(80, 30, 2),
        slice(10, 40),
        slice(30, 30),
        slice(75, 75),
    ],
)
def test_slices_of_falling_labels_are_those_of_pandas(rows):
    twice = pd.concat([FALLING, FALLING]).sort_index(ascending=False, kind="stable")
    text = FALLING.set_axis([f"{label:02}" for label in FALLING.index])
    of_text = slice(f"{rows.start:02}", f"{rows.stop:02}", rows.step)
    for frame, some in ((FALLING, rows), (FALLING[:1], rows), (FALLING[:0], rows), (twice, rows), (text, of_text)):
        for lazy in out_of_divisions(frame):
            assert_same(lazy.loc[some].compute(**INLINE), frame.loc[some])
            assert_same(lazy.x.loc[some].compute(**INLINE), frame.x.loc[some])
    rising = FALLING.sort_index()
    for lazy in out_of_divisions(rising):
        assert_same(lazy.loc[rows].compute(**INLINE), rising.loc[rows])
    mixed = pd.concat([FALLING, rising])
    for lazy in out_of_divisions(mixed):
        with pytest.raises(KeyError, match="the labels aren't in order"):
            lazy.loc[rows].compute(**INLINE)


def test_rows_between_labels_are_taken_in_steps():
    for frame in (FALLING.sort_index(), FALLING.sort_index()[:1], FALLING[:0]):
        for lazy in (gd.from_pandas(frame, npartitions=3), *out_of_divisions(frame)):
            for rows in (slice(10, 60, 2), slice(None, None, 3), slice(10, None, 2), slice(None, 60, 1)):
                assert_same(lazy.loc[rows].compute(**INLINE), frame.loc[rows])
    assert_same(lazy.loc[::-1].compute(**INLINE), frame.loc[::-1])


def test_falling_labels_are_taken_as_rising_until_one_is_seen_to_fall():
    fresh = FALLING.set_axis(
        FALLING.index.tolist()
    )  # of labels that are known to fall pandas says so of each part, also of one label
    lazy = gd.from_pandas(fresh, npartitions=10, sort=False)
    with pytest.raises(
        KeyError, match=r"loc\[30:95\]: the labels fall, and partitions before the first that says so have none but "
    ):
        lazy.loc[30:95].compute(**INLINE)
    assert_same(lazy.loc[30:80].compute(**INLINE), FALLING.loc[30:80])
    texts = gd.from_pandas(
        FALLING.set_axis(pd.date_range("2020-01-10", periods=10, freq="-1D")), npartitions=3, sort=False
    )
    with pytest.raises(KeyError, match="the labels aren't in order"):
        texts.loc["2020-01-03":"2020-01-08"].compute(**INLINE)


@pytest.mark.parametrize("rows", [slice(80, 30), slice(30, 80), slice(30, 30), slice(None, 30), slice(30, None)])
def test_values_of_slices_of_falling_labels_are_set(rows):
    for frame in (FALLING, FALLING.sort_index()):
        for lazy in out_of_divisions(frame):
            expected = frame.copy()
            expected.loc[rows, "x"] = -1
            lazy.loc[rows, "x"] = -1
            assert_same(lazy.compute(**INLINE), expected)
    lazy = gd.from_pandas(pd.concat([FALLING, FALLING]), npartitions=3, sort=False)
    lazy.loc[rows, "x"] = -1
    with pytest.raises(KeyError, match="the labels aren't in order"):
        lazy.compute(**INLINE)


TIMES = {
    "hours": pd.date_range("2024-01-01", periods=10, freq="12h"),
    "days": pd.date_range("2024-01-01", periods=8, unit="s")
    if HAS_COPY_ON_WRITE
    else pd.date_range("2024-01-01", periods=8),
    "zone": pd.date_range("2024-01-01", periods=10, freq="12h", tz="Europe/Paris"),
    "periods": pd.period_range("2024-01-01", periods=8, freq="D"),
    "durations": pd.timedelta_range("0h", periods=10, freq="12h"),
    "falling": pd.date_range("2024-01-05", periods=10, freq="-12h"),
}
TEXTS = [
    "2024-01-05 12:00",
    "2024-01-05 00:00:00",
    "2024-01-05",
    "2024-01",
    "2024",
    "2024-01-05 12:30",
    "12h",
    "1 days",
    "nonsense",
]


@pytest.mark.each_choice
@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("sort", [True, False])
def test_texts_are_labels_or_stretches_of_time_by_the_resolution_of_all_labels(name, sort):
    series = pd.Series(range(len(TIMES[name])), index=TIMES[name], name="x")
    lazy = gd.from_pandas(series, npartitions=3, sort=sort and name != "falling")
    for text in TEXTS:
        for choose in (lambda s, t: s.loc[t], lambda s, t: s[t], lambda s, t: s.to_frame().loc[t, "x"]):
            try:
                expected = choose(series, text)
            except KeyError:
                with pytest.raises(KeyError, match=re.escape(f"'{text}'")):
                    choose(lazy, text).compute(**INLINE)
                continue
            found = choose(lazy, text).compute(**INLINE)
            assert_same(found, expected) if isinstance(expected, pd.Series) else assert_same_value(found, expected)
        assert (text in lazy.index) == (text in series.index)
    for label in TIMES[name][[2, 5]]:
        assert lazy.loc[label].compute(**INLINE) == series.loc[label]
        texts = [str(label)] if name != "falling" else [label]
        assert_same(lazy.loc[texts].compute(**INLINE), series.loc[texts])


def assert_same_value(found, expected):
    assert type(found) is type(expected) and found == expected


def test_a_text_of_a_frame_gives_the_rows_of_its_time():
    frame = pd.DataFrame({"x": range(10)}, index=TIMES["hours"])
    for sort in (True, False):
        lazy = gd.from_pandas(frame, npartitions=3, sort=sort)
        assert_same(lazy.loc["2024-01-05"].compute(**INLINE), frame.loc["2024-01-05"])
        assert_same(lazy.loc["2024-01-05 12:00"].compute(**INLINE), frame.loc[["2024-01-05 12:00"]])
        mixed = gd.from_pandas(pd.concat([frame[5:], frame[:5]]), npartitions=3, sort=False)
        assert_same(mixed.loc["2024-01"].compute(**INLINE), pd.concat([frame[5:], frame[:5]]).loc["2024-01"])
    with pytest.raises(KeyError, match="2023"):
        gd.from_pandas(frame, npartitions=3).loc["2023"]


def test_falling_labels_are_truncated():
    times = FALLING.set_axis(pd.date_range("2020-01-10", periods=10, freq="-1D"))
    for frame, ends in ((FALLING, (30, 80)), (times, ("2020-01-03", "2020-01-08"))):
        for some in (frame, frame.sort_index(), frame[:1], frame[:0]):
            some = some.set_axis(
                pd.Index(list(some.index), dtype=some.index.dtype)
            )  # pandas 2 remembers that a longer one fell
            for lazy in out_of_divisions(some):
                assert_same(lazy.truncate(*ends).compute(**INLINE), some.truncate(*ends))
                assert_same(lazy.truncate(before=ends[0]).compute(**INLINE), some.truncate(before=ends[0]))
    for lazy in out_of_divisions(pd.concat([FALLING, FALLING])):
        with pytest.raises(ValueError, match="truncate requires a sorted index"):
            lazy.truncate(30, 80).compute(**INLINE)


VALUES = pd.DataFrame(
    {"p": [1, 2, 3, 4, np.nan, 2], "a b": [1, 2, 1, 2, 5, 6], "s": list("xyzxyz"), "q": [3, 1, 2, 2, 2, 9]}
)
QUERIES = [
    "p > @mean", "p > p.mean()", "p.shift() > 1", "p.cumsum() > 3", "p.rank() > 2", "q in [1, q.max()]", "s.str.len() < p.max()",
    "p > p.mean() and q <= q.max() - @n", "`a b` > `a b`.median()", "p.abs() > p.mean() & s == 'x'", "index > index.min()",
    "p.fillna(p.mean()) > 1", "q == q.max() | p.isna()", "q.isin([1, 2]) and p.diff() > 0", "p.fillna(@mean) > 2", "'é' != s and p > p.mean()",
    "p > @own.mean()", "@greatest(p) == p", "p > @known.get('least')", "@pd.to_numeric(q) > 2",
    *(["@np.max(q) == q", "@np.log(q) > 0.5"] if HAS_COPY_ON_WRITE else []),  # pandas 2 can't with NumPy 2
]  # fmt: skip


def greatest(values):
    return values.max()


FORMULAS = [
    "z = p / p.sum()",
    "z = p - p.mean()\nw = z * 2",
    "p - p.min()",
    "p.sum()",
    "p.sum() + q.max()",
    "p.cumsum() / p.sum()",
    "z = p * 2\nw = z.max()",
    "p = p * 2\nz = p.max()",
    "z = p.cumsum()\nz = z.cumsum()",
    "\nz = q\n\nw = z - z.mean()\n",
    "q.nlargest(2)",
]


@pytest.mark.more
@pytest.mark.parametrize("text", QUERIES)
def test_queries_ask_all_rows_where_a_method_does(text):
    def chosen(frame):
        mean, n, own, known = frame.p.mean(), 2, frame.p, {"least": 2}
        assert n and known and mean is not None and own is not None  # the expression names them
        return frame.query(text)

    check_in_parts(VALUES, chosen)
    check_in_parts(VALUES[:1], chosen)


@pytest.mark.more
@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_ask_all_rows_where_a_method_does(text):
    check_in_parts(VALUES, lambda frame: frame.eval(text))
    check_in_parts(VALUES[:1], lambda frame: frame.eval(text))


@pytest.mark.parametrize("text", ["p > p.mean(", "p > nowhere.mean()", "p > abs.__call__(3)"])
def test_expressions_that_pandas_refuses_are_refused(text):
    with pytest.raises(Exception, match=".") as expected:  # noqa: PT011 - which one is pandas' choice
        VALUES.query(text)
    with pytest.raises(expected.type):
        gd.from_pandas(VALUES, npartitions=2).query(text).compute(**INLINE)


WITH_LAZY = {
    "fillna": lambda f: f.fillna({"p": f.p.median(), "s": f.s.max(), "q": 0}),
    "replace": lambda f: f.q.replace({9: f.p.max(), 1: -1}),
    "replace in a column": lambda f: f.replace({"q": {2: f.q.max()}}),
    "isin": lambda f: f[f.q.isin([f.q.max(), f.q.min()])],
    "map": lambda f: f.s.map({"x": f.p.max(), "y": 1.0}),
    "apply": lambda f: f.p.apply(lambda value, more: value + more, args=(f.p.max(),)),
}


@pytest.mark.more
@pytest.mark.parametrize("case", WITH_LAZY)
def test_lazy_values_in_lists_and_dicts_are_computed(case):
    for frame in (VALUES, VALUES[:1]):
        check_in_parts(frame, WITH_LAZY[case], check_dtype=len(frame) > 1)
    assert WITH_LAZY[case](gd.from_pandas(VALUES, npartitions=2))._meta.shape[0] == 0


def test_edges_of_intervals_may_be_lazy():
    for lazy in partitionings(VALUES):
        got = gd.cut(lazy.q, [0, lazy.q.median(), 9])
        assert_same(got.compute(**INLINE).astype(str), pd.cut(VALUES.q, [0, VALUES.q.median(), 9]).astype(str))


def test_categories_that_no_partition_knows_whole_are_set():
    frame = VALUES.assign(s=VALUES.s.astype("category"))
    frame.loc[frame.q == 2, "s"] = "x"
    added = frame.assign(s=frame.s.cat.add_categories(["new"]))
    added.loc[added.q == 9, "s"] = "new"
    for lazy in partitionings(VALUES):
        lazy["s"] = lazy.s.astype("category")
        lazy.loc[lazy.q == 2, "s"] = "x"
        assert_same(lazy.s.value_counts(sort=False).compute(**INLINE), frame.s.value_counts(sort=False))
        lazy["s"] = lazy.s.cat.add_categories(["new"])
        lazy.loc[lazy.q == 9, "s"] = "new"
        assert_same(lazy.compute(**INLINE), added)


@pytest.mark.parametrize("bound", [85, 80, 83, 60, 100, 10])
@pytest.mark.parametrize("labels", [[90, 85, 80, 80, 70, 60], [60, 70, 80, 80, 85, 90], [80] * 6])
def test_rows_from_a_label_on_are_those_of_pandas_if_labels_descend(labels, bound):
    frame = pd.DataFrame({"x": range(6)}, index=labels)
    for cuts in ([0, 6], [0, 2, 3, 6], [0, 0, 3, 3, 6], range(7)):
        pieces = [frame.iloc[start:end] for start, end in itertools.pairwise(cuts)]
        lazy = gd.from_map(lambda number, pieces=pieces: pieces[number], range(len(pieces)), meta=frame[:0])
        assert_same(lazy.loc[bound:].compute(**INLINE), frame.loc[bound:])
        assert_same(lazy.loc[:bound, "x"].compute(**INLINE), frame.loc[:bound, "x"])


TWICE = pd.DataFrame(
    [[1.0, 2, "x", True, 4], [None, 5, "y", False, 7], [3, 8, None, True, 10], [3, 8, "x", True, 10]],
    columns=list("abbcb"),
)
CHOSEN = {
    "numbers": lambda f: f.select_dtypes("number"),
    "others": lambda f: f.select_dtypes(exclude=["number"]),
    "names that match": lambda f: f.filter(regex="b"),
    "names with a text": lambda f: f.filter(like="a"),
    "columns without missing values": lambda f: f.dropna(axis=1),
    "without a column": lambda f: f.drop(columns="c"),
    "without a new column": lambda f: f.assign(z=1).drop("z", axis=1),
    "sums": lambda f: f.sum(numeric_only=True),
    "means": lambda f: f.mean(numeric_only=True),
    "least values": lambda f: f.min(numeric_only=True),
    "spread": lambda f: f.std(numeric_only=True),
    "sums of rows": lambda f: f.sum(axis=1, numeric_only=True),
    **({"running sums": lambda f: f.cumsum(numeric_only=True)} if HAS_COPY_ON_WRITE else {}),
    "correlations": lambda f: f.corr(numeric_only=True),
    "sums of windows": lambda f: f.rolling(2).sum(numeric_only=True),
    "sums of all before": lambda f: f.expanding(1).sum(numeric_only=True),
    "weighted means": lambda f: f.ewm(span=2).mean(numeric_only=True),
}


@pytest.mark.more
@pytest.mark.parametrize("name", CHOSEN)
def test_columns_are_chosen_one_by_one_where_some_have_one_name(name):
    once = TWICE.set_axis(list("abxcy"), axis=1).assign(d=pd.to_timedelta([1, 2, 3, 4], "h"))
    check_in_parts(TWICE, CHOSEN[name])
    check_in_parts(once, CHOSEN[name])


@pytest.mark.parametrize(
    "call",
    [lambda f: f.groupby("a").count(), lambda f: f.groupby("c").mean(numeric_only=True), lambda f: f.agg(["count"])],
)
def test_columns_of_one_name_that_cannot_be_told_apart_are_refused(call):
    for lazy in partitionings(TWICE):
        with pytest.raises(
            NotImplementedError, match=r"of a frame with equal names of columns \(\['b'\]\): rename them before"
        ):
            call(lazy)
        assert_same(lazy.groupby("a").c.count().compute(**INLINE), TWICE.groupby("a").c.count())


PERIODS = pd.period_range("2024-01", periods=12, freq="M")
GAPS = {
    **{name: times.delete([4]) for name, times in TIMES.items()},
    "months": PERIODS.delete([4]),
    "hours with a gap of a day": pd.date_range("2024-01-01", periods=60, freq="2h").delete(range(12, 24)),
    "twice": TIMES["days"].repeat(2),
    "none": TIMES["days"][:0],
}


def outcome(call):
    try:
        return call()
    except (KeyError, ValueError) as error:
        return type(error)


def unclear(lazy, found, expected):
    """Whether an empty result is an error in place: the partitions with these labels don't tell that there are labels on both sides."""
    return found is KeyError and isinstance(expected, pd.DataFrame) and not len(expected) and lazy.known_divisions


@pytest.mark.parametrize("name", GAPS)
@pytest.mark.parametrize("sort", [True, False])
def test_texts_without_rows_raise_where_pandas_does(name, sort):
    frame = pd.DataFrame({"x": range(len(GAPS[name])), "y": 1.5}, index=GAPS[name])
    for npartitions in (1, 3, 20):
        lazy = gd.from_pandas(frame, npartitions=npartitions, sort=sort and name != "falling")
        for text in [*TEXTS, "2024-01-02", "2024-05", "2023", "2025-01-01", "2024-01-02 00:00"]:
            expected = outcome(lambda: frame.loc[text])  # noqa: B023
            found = outcome(lambda: lazy.loc[text].compute(**INLINE))  # noqa: B023
            if isinstance(expected, pd.Series):
                expected = frame.loc[[expected.name]]
            if unclear(lazy, found, expected):
                continue
            assert_same(found, expected) if isinstance(expected, pd.DataFrame) else _assert_is(found, expected, text)


def test_a_row_of_a_text_stands_beside_a_frame_as_one_and_a_stretch_of_time_is_aligned():
    for name in ("days", "hours", "months", "twice"):
        frame = pd.DataFrame({"x": range(len(GAPS[name])), "y": 1.5}, index=GAPS[name])
        for sort in (True, False):
            lazy = gd.from_pandas(frame, npartitions=4, sort=sort)
            for text in ("2024-01-03", "2024-01", "2024-05-03", "2024-01-02 12:00", "2024"):
                for call in (
                    lambda f, t: f - f.loc[t],
                    lambda f, t: f.loc[t] * f,
                    lambda f, t: f + f.loc[t, ["x", "y"]],
                ):
                    if name == "twice" and text != "2024":
                        continue
                    expected = outcome(lambda: call(frame, text))  # noqa: B023
                    found = outcome(lambda: call(lazy, text).compute(**INLINE))  # noqa: B023
                    assert_same(found, expected) if isinstance(expected, pd.DataFrame) else _assert_is(
                        found, expected, text
                    )
        if name != "months":
            with pytest.raises(ValueError, match="persisted rows of a text"):
                _ = lazy - lazy.loc[str(GAPS[name][1].date())].persist(**INLINE)


def test_values_of_a_text_are_set_where_it_has_rows():
    for name in ("days", "hours", "falling", "months"):
        frame = pd.DataFrame({"x": range(len(GAPS[name])), "y": 1.5}, index=GAPS[name])
        lazy = gd.from_pandas(frame.iloc[[*range(5, len(frame)), *range(5)]], npartitions=4, sort=False)
        for text in ("2024-01-03", "2024-01", "2024"):
            expected, found = frame.copy(), lazy.copy()
            if outcome(lambda: expected.loc[text]) is KeyError:  # noqa: B023
                with pytest.raises(KeyError, match="2024-01-03"):
                    found.loc[text, "y"] = 7.0
                continue
            expected.loc[text, "y"] = found.loc[text, "y"] = 7.0
            assert_same(found.compute(**INLINE).sort_index(), expected.sort_index())
        if name == "falling":  # of such labels pandas 2 sets none
            continue
        lazy = gd.from_pandas(frame, npartitions=4)
        lazy.loc["2031", "y"] = 7.0
        with pytest.raises(KeyError, match=r"'2031': no label is in that time; rows are added by concat\(\)"):
            lazy.compute(**INLINE)


def _assert_is(found, expected, text):
    assert found is expected, (text, found, expected)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_loc_takes_times_of_day(zone):
    index = pd.date_range("2020-01-01 08:00", periods=9, freq="6h", tz=zone)[[3, 1, 5, 0, 2, 8, 4, 6, 7]]
    frame = pd.DataFrame({"x": range(9), "y": list("abcdefghi")}, index=index)
    eight, two = time(8), time(14)
    operations = {
        "one": lambda f: f.loc[eight],
        "none": lambda f: f.loc[time(9)],
        "columns": lambda f: f.loc[eight, ["y"]],
        "between": lambda f: f.loc[eight:two],
        "over midnight": lambda f: f.loc[time(20) : time(3), "x"],
        "of a series": lambda f: f.x.loc[eight:two],
        "one of a series": lambda f: f.x[eight],
        "rows between": lambda f: f[eight:two],
        "one end": lambda f: f.loc[eight:],
        "a day": lambda f: f.loc[eight:"2020-01-02"],
        "a step": lambda f: f.loc[eight:two:2],
    }
    lazy = gd.from_pandas(frame, npartitions=3, sort=False)
    check_all(operations, frame, lazy)
    assert lazy.loc[eight, "x"].compute().tolist() == frame.loc[eight, "x"].tolist()  # an array, for pandas too
