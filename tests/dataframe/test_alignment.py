"""Operands of unlike rows: those of other divisions are cut alike, and the rows of one label stand for a row."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.expr import simplify, walk

INLINE = {"scheduler": "inline"}
EVEN = pd.DataFrame(
    {"x": range(12), "s": list("abcdefghijkl"), "b": [True, False] * 6, "n": pd.array([1, None] * 6, dtype="Int64")},
    index=range(0, 24, 2),
)
PAIRS = {
    "within": (EVEN, EVEN[2:9] * 1),
    "around": (EVEN[2:9], EVEN),
    "same labels": (EVEN, EVEN[::-1].set_axis(EVEN.index)),
    "labels between": (EVEN, EVEN.set_axis(range(1, 13))),
    "labels elsewhere": (EVEN, EVEN.set_axis(range(100, 112))),
    "one row": (EVEN, EVEN[3:4]),
    "no row": (EVEN, EVEN[:0]),
    "times": (
        EVEN.set_axis(pd.date_range("2020", periods=12, tz="Europe/Paris")),
        EVEN.set_axis(pd.date_range("2020-01-04", periods=12, tz="Europe/Paris")),
    ),
    "texts": (EVEN.set_axis(list("abcdefghijkl")), EVEN.set_axis(list("cdefghijklmn"))),
}


def set_in_place(a, b):
    a = a.copy()
    a["z"] = b.x
    a.loc[a.x > 2, "s"] = b.s
    return a


TOGETHER = {
    "add": lambda a, b: a.x + b.x,
    "add texts": lambda a, b: a.s + b.s,
    "add frames": lambda a, b: a[["x", "n"]] + b[["x", "n"]],
    "three": lambda a, b: (a.x + b.x) * a.x,
    "subtract with a value": lambda a, b: a.x.sub(b.x, fill_value=0),
    "divide rows": lambda a, b: a[["x", "n"]].div(b.x + 1, axis=0),
    "numpy": lambda a, b: np.maximum(a.x, b.x),
    "less": lambda a, b: a.x.lt(b.x),
    "and": lambda a, b: a.b & b.b,
    "assign": lambda a, b: a.assign(z=b.x, y=b.n, s=b.s),
    "assign, then add": lambda a, b: a.assign(z=b.x).z + a.x,
    "set in place": set_in_place,
    "where": lambda a, b: a.s.where(a.x > 5, b.s),
    "where others": lambda a, b: a.s.where(b.x > 5),
    "fill": lambda a, b: a.n.fillna(b.n),
    "fill frame": lambda a, b: a[["n"]].fillna(b[["n"]]),
    "sum": lambda a, b: (a.x + b.x).sum(),
    "length": lambda a, b: len(a.x + b.x),
    "cat": lambda a, b: a.s.str.cat(b.s, sep="-"),
    "scan": lambda a, b: (a.x * b.x).cumsum(),
    "correlation": lambda a, b: a.x.cov(b.x),
}


def made(function, *frames):
    found = function(*frames)
    return found.compute(**INLINE) if hasattr(found, "compute") else found


@pytest.mark.each_choice
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("numbers", [(3, 2), (2, 5), (1, 3), (3, 1)])
def test_operands_are_aligned_by_label_whatever_their_divisions(name, numbers):
    one, other = PAIRS[name]
    lazy = [gd.from_pandas(frame, npartitions=number) for frame, number in zip((one, other), numbers, strict=True)]
    for what, function in TOGETHER.items():
        expected, found = function(one, other), made(function, *lazy)
        if isinstance(expected, (pd.DataFrame, pd.Series)):
            assert_same(found, expected), what
        else:
            assert found == pytest.approx(expected, nan_ok=True), what


@pytest.mark.filterwarnings("ignore:Boolean Series key will be reindexed")
@pytest.mark.parametrize("name", ["around", "same labels"])
def test_conditions_of_another_frame_choose_rows_by_label(name):
    one, other = PAIRS[name]
    for numbers in ((3, 2), (2, 5), (3, 1)):
        a, b = (gd.from_pandas(frame, npartitions=number) for frame, number in zip((one, other), numbers, strict=True))
        assert_same(a[b.x > 5].compute(**INLINE), one[other.x > 5])
        assert_same(a.s[b.x > 5].compute(**INLINE), one.s[other.x > 5])
        assert_same(a.loc[b.x > 5, "s"].compute(**INLINE), one.loc[other.x > 5, "s"])


def test_a_condition_says_something_of_each_row_that_it_sets():
    lazy, few = gd.from_pandas(EVEN, npartitions=3), gd.from_pandas(EVEN[2:9], npartitions=2)
    lazy.loc[few.x > 3, "x"] = 0
    with pytest.raises(pd.errors.IndexingError, match="a row has a label that the condition hasn't"):
        lazy.compute(**INLINE)


def test_columns_are_chosen_before_partitions_are_cut():
    lazy, other = gd.from_pandas(EVEN, npartitions=3), gd.from_pandas(EVEN, npartitions=2)
    (node,) = simplify([lazy.assign(z=other.x).z.expr])
    assert not any(
        "s" in one.meta.columns
        for one in walk([node])
        if isinstance(getattr(one, "meta", None), pd.DataFrame) and one.operation != "from-pandas"
    )


def test_partitions_without_rows_get_none_by_a_column():
    for npartitions in (1, 3):
        lazy = gd.from_pandas(EVEN, npartitions=npartitions)
        few = lazy[lazy.x > 9]
        assert_same(few.assign(z=lazy.x).compute(**INLINE), EVEN[EVEN.x > 9].assign(z=EVEN.x))
        few["z"] = lazy.s
        assert_same(few.compute(**INLINE), EVEN[EVEN.x > 9].assign(z=EVEN.s))
        assert_same(lazy.groupby(few.s).x.sum().compute(**INLINE), EVEN.groupby(EVEN[EVEN.x > 9].s).x.sum())


def test_a_frame_without_rows_gets_those_of_its_first_column():
    expected = EVEN[["x"]][:0]
    expected["z"] = EVEN.s
    lazy = gd.from_pandas(EVEN[["x"]][:0], npartitions=1)
    lazy["z"] = gd.from_pandas(EVEN, npartitions=3).s
    assert_same(lazy.compute(**INLINE), expected)


NUMBERS = EVEN[["x"]].assign(f=EVEN.x / 4, y=EVEN.x % 5)
BY_COLUMN = {
    "loc": lambda f: f - f.loc[4],
    "loc doubled": lambda f: f - f.loc[4] * 2,
    "loc of columns": lambda f: f[["x", "f"]] - f.loc[4, ["x", "f"]],
    "on the left": lambda f: f.loc[4] - f,
    "method": lambda f: f.sub(f.loc[4]),
    "reflected": lambda f: f.rsub(f.loc[4]),
    "compared": lambda f: f >= f.loc[4],
    "eq": lambda f: f.eq(f.loc[4]),
    "clip": lambda f: f.clip(f.loc[4], f.loc[10], axis=1),
    "fill": lambda f: f.where(f > 2).fillna(f.loc[4]),
    "of a description": lambda f: (f - f.describe().loc["mean"]) / f.describe().loc["std"],
    "iloc": lambda f: f.eq(f.iloc[0]),
    "sum": lambda f: f / f.sum(),
    "mean": lambda f: (f - f.mean()) / f.std(),
    "mean of fewer": lambda f: f - f[["x"]].mean(),
    "greater": lambda f: f[f > f.mean()],
    "row by mean": lambda f: f.iloc[0] / f.mean(),
}


@pytest.mark.parametrize("name", BY_COLUMN)
def test_rows_by_column_are_taken_from_each_row(name):
    function = BY_COLUMN[name]
    for npartitions, sort in ((1, True), (1, False), (3, True), (3, False)):
        lazy = gd.from_pandas(NUMBERS, npartitions=npartitions, sort=sort)
        assert_same(function(lazy).compute(**INLINE), function(NUMBERS))


def test_columns_of_a_row_have_the_dtype_of_the_whole_row():
    plain = NUMBERS.assign(s=list("abcdefghijkl"))
    for frame, columns in ((plain, ["x", "f"]), (plain, ["x"]), (NUMBERS, ["x"])):
        for npartitions in (1, 3):
            lazy = gd.from_pandas(frame, npartitions=npartitions)
            for function in (
                lambda f, columns=columns: f[columns] - f.loc[4][columns],
                lambda f, columns=columns: f.loc[4][columns] * f[columns],
                lambda f, columns=columns: f[columns] - f.loc[4, columns],
                lambda f, columns=columns: f[columns] - f[columns].loc[4],
            ):
                got = function(lazy)
                assert got.dtypes.tolist() == function(frame).dtypes.tolist()
                assert_same(got.compute(**INLINE), function(frame))


def test_a_label_of_several_rows_stands_for_no_row():
    lazy = gd.from_pandas(NUMBERS.set_axis([1, 2, 2, *range(3, 12)]), npartitions=2)
    with pytest.raises(
        ValueError, match=r"a label that occurs 2 times stands for no row: loc\[\[label\]\] gives all of its rows"
    ):
        (lazy - lazy.loc[2]).compute(**INLINE)
    assert (lazy.loc[3] - lazy.loc[4]).compute(**INLINE).to_numpy().tolist() == [[-1.0, -0.25, -1.0]]


@pytest.mark.parametrize("numbers", [(3, 2), (1, 3)])
def test_statistics_of_two_series_are_of_the_labels_that_both_have(numbers):
    one, other = EVEN[["x"]], (EVEN[["x"]] * 7 % 11).iloc[[2, 3, 4, 7, 8, 9]]
    a, b = (gd.from_pandas(frame, npartitions=number) for frame, number in zip((one, other), numbers, strict=True))
    for function in (
        lambda a, b: a.x.corr(b.x, method="spearman"),
        lambda a, b: b.x.corr(a.x, method="spearman"),
        lambda a, b: a.x.corr(b.x, method="kendall"),
        lambda a, b: a.x.corr(b.x),
    ):
        assert made(function, a, b) == pytest.approx(function(one, other))
    for function in (lambda a, b: a.x.dot(b.x), lambda a, b: a.x.dot(b), lambda a, b: b.x @ a.x):
        with pytest.raises(ValueError, match="matrices are not aligned"):
            function(one, other)
        with pytest.raises(ValueError, match="matrices are not aligned: the labels of rows differ"):
            made(function, a, b)
    assert made(lambda a, b: a.x.dot(b.x), a, gd.from_pandas(one * 2, npartitions=4)) == one.x.dot(one.x * 2)
    assert_same(made(lambda a, b: a.x.dot(b), a, gd.from_pandas(one * 2, npartitions=4)), one.x.dot(one * 2))


LIMITS = {
    "some": pd.Series([5.0, 3.0, None, 9.0], index=[2, 4, 6, 30]),
    "in another order": (NUMBERS.y[::-1] * 2).sort_index(),
    "whole numbers": pd.Series([3, 9, 1], index=[0, 2, 8]),
    "none": pd.Series([], index=pd.Index([], dtype="int64"), dtype="float64"),
    "missing": pd.Series([None, None], index=[2, 5], dtype="float64"),
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_values_are_clipped_by_series_of_other_rows_by_label(limit):
    plain = NUMBERS.assign(
        f=NUMBERS.f.where(NUMBERS.x != 4), x=NUMBERS.x * 1.0 if limit.isna().all() else NUMBERS.x, y=NUMBERS.y * 1.0
    )
    for numbers in ((1, 1), (3, 2), (3, 1)):
        lazy, limits = (
            gd.from_pandas(one, npartitions=count) for one, count in zip((plain, limit), numbers, strict=True)
        )
        for function in (
            lambda f, one: f.x.clip(one),
            lambda f, one: f.f.clip(upper=one),
            lambda f, one: f.f.clip(lower=one, upper=1.5),
            lambda f, one: f.f.clip(one, f.x),
            lambda f, one: f[["x", "f"]].clip(one, axis=0),
            lambda f, one: f.clip(upper=one, axis="index"),
        ):
            assert_same(function(lazy, limits).compute(**INLINE), function(plain, limit))
    with pytest.raises(NotImplementedError, match="clip.*it has other rows"):
        lazy.clip(lazy[lazy.x > 3])


def test_frames_without_rows_get_none_from_limits():
    limit = pd.Series([3], index=[13])
    empty = pd.DataFrame({"a": pd.Series([], dtype="int64"), "b": pd.Series([], dtype="float64")})
    frame, lazy = (gd.from_pandas(one, npartitions=1) for one in (empty, limit))
    for function in (
        lambda f, one: f.a.clip(one),
        lambda f, one: f.a.clip(-2, upper=one / 2),
        lambda f, one: f.clip(upper=one, axis=0),
    ):
        assert_same(function(frame, lazy).compute(**INLINE), function(empty, limit))


@pytest.mark.parametrize("values", ["object", "float64"])
@pytest.mark.parametrize("limits", ["object", "Int64", "bool", "float64"])
def test_limits_of_other_rows_are_plain_numbers_or_times(values, limits):
    plain, limit = pd.DataFrame({"a": [1, 2, 5]}, dtype=values), pd.Series([1, 1, 1], dtype=limits, index=[0, 1, 7])
    frame, lazy = gd.from_pandas(plain, npartitions=1), gd.from_pandas(limit, npartitions=2)
    for function in (lambda: frame.clip(lazy, axis=0), lambda: frame.a.clip(upper=lazy)):
        if values == limits == "float64":
            function()
            continue
        with pytest.raises(NotImplementedError, match="clip.*it has other rows, which is for .* numbers or times"):
            function()


FILLED_ALONG = {
    "a constant": lambda f: f.fillna(0, axis=1),
    "at most one of each row": lambda f: f[["x", "f", "g"]].fillna(-1.5, axis="columns", limit=1),
    "a frame": lambda f: f[["f", "g"]].fillna(f[["g", "f"]].set_axis(["f", "g"], axis=1), axis=1),
    "texts": lambda f: f.assign(s=f.x.astype("str")).fillna(0, axis=1),
}


@pytest.mark.parametrize("name", FILLED_ALONG)
def test_missing_values_are_filled_along_the_columns(name):
    plain = NUMBERS.assign(f=NUMBERS.f.where(NUMBERS.x > 2), g=NUMBERS.f.where(NUMBERS.x % 2 == 0))
    for npartitions in (1, 3):
        lazy = gd.from_pandas(plain, npartitions=npartitions)
        assert_same(FILLED_ALONG[name](lazy).compute(**INLINE), FILLED_ALONG[name](plain))
    with pytest.raises(NotImplementedError, match="fillna.*axis=1.*with it the value is a constant or a frame"):
        lazy.fillna(lazy.x, axis=1)


def test_periods_shift_by_their_own_frequency():
    plain = pd.DataFrame({"x": range(6)}, index=pd.period_range("2020-11", periods=6, freq="M"))
    lazy = gd.from_pandas(plain, npartitions=3)
    assert_same(lazy.index.shift(2).compute(**INLINE), plain.index.shift(2))
    with pytest.raises(NotImplementedError, match="Index.shift.*name the frequency"):
        gd.from_pandas(plain.to_timestamp(), npartitions=3).index.shift(2)


RELABELLED = {
    "add": lambda f, h: f.x + h.x,
    "length": lambda f, h: len(f.x + h.y),
    "sum": lambda f, h: (f.x + h.x).sum(),
    "assign": lambda f, h: f.assign(z=h.x),
    "where": lambda f, h: f.x.where(h.x > 3, h.y),
    "filter": lambda f, h: f[h.x > -1],
    "cov": lambda f, h: f.x.cov(h.y),
    "groupby": lambda f, h: f.groupby(h.x % 3).y.sum(),
    "of its own rows": lambda f, h: h.x + h[h.y > 1].y,
    "count": lambda f, h: len(h[h.y > 1]) + len(h.assign(z=h.x)),
}


@pytest.mark.filterwarnings("ignore:Boolean Series key will be reindexed")
@pytest.mark.parametrize("name", RELABELLED)
def test_rows_under_new_labels_are_aligned_by_these(name):
    plain = pd.DataFrame({"x": range(8), "y": [3, 1, 4, 1, 5, 9, 2, 6], "k": range(8)}, index=range(1, 9))
    lazy = gd.from_pandas(plain, npartitions=2)
    labelled = lazy.set_index("k", sorted=True)
    if name == "filter":
        with pytest.raises(pd.errors.IndexingError, match="Unalignable boolean Series"):
            made(RELABELLED[name], lazy, labelled)
        return
    expected, found = RELABELLED[name](plain, plain.set_index("k")), made(RELABELLED[name], lazy, labelled)
    if isinstance(expected, (pd.DataFrame, pd.Series)):
        assert_same(found, expected)
    else:
        assert found == pytest.approx(expected)


def _frame(labels, **columns):
    return pd.DataFrame({name: pd.Series(values, index=labels) for name, values in columns.items()})


FLOATS = _frame([0, 1, 2], a=[1.5, np.nan, 3.5], i=[1, 2, 3], b=[True, False, True], s=["x", None, "z"])
PARTLY = {
    "whole numbers for one row": (FLOATS, _frame([0], a=[7])),
    "for the first rows": (FLOATS, _frame([0, 1], a=[7, 8])),
    "another row": (FLOATS, _frame([0, 5], a=[7, 8], s=["q", None])),
    "another column of booleans": (_frame([0, 1, 2], a=[1, 2, 3]), _frame([3, 4], a=[7, 8], z=[True, False])),
    "another column of all rows": (_frame([0, 1, 2], a=[1, 2, 3]), _frame([0, 1, 2], z=[4, 5, 6])),
    "text for numbers": (_frame([0, 1, 2], a=[np.nan, 2.0, 3.0]), _frame([0], a=["x"])),
}


@pytest.mark.parametrize("name", PARTLY)
def test_partitions_of_one_frame_alone_are_combined_first_as_all_rows_are(name):
    one, other = PARTLY[name]
    for npartitions in (1, 2, 3):
        lazy = [gd.from_pandas(frame, npartitions=npartitions) for frame in (one, other)]
        assert_same(lazy[0].combine_first(lazy[1]).compute(**INLINE), one.combine_first(other))
        assert_same(lazy[1].combine_first(one).compute(**INLINE), other.combine_first(one))


MISSING_FIRST = {
    "text": pd.array([None, None, "a", "b"], dtype="str"),
    "whole numbers": pd.array([1, None, 2**53 + 1, 3], dtype="Int64"),
    "whole numbers of Arrow": pd.array([1, None, 2**53 + 1, 3], dtype="int64[pyarrow]"),
    "booleans": pd.array([None, None, True, False], dtype="boolean"),
    "objects": np.array([None, None, ("a",), None], dtype=object),
    "categories": pd.Categorical(["b", None, "b", "a"]),
    "times": pd.DatetimeIndex([None, None, "2020-01-01", "2020-01-02"], tz="UTC"),
    "small floats": np.array([1, np.nan, 3, 4], dtype="float32"),
}


@pytest.mark.parametrize("name", MISSING_FIRST)
def test_columns_of_one_frame_that_are_missing_in_a_partition_are_combined_first_with_their_dtype(name):
    plain = pd.DataFrame({7: [1, 2, 3, 4], 8: MISSING_FIRST[name]})
    for npartitions in (1, 2, 4):
        lazy = gd.from_pandas(plain, npartitions=npartitions)
        for combined in (
            lambda f: f[[7]].combine_first(f[f[7] > 1][[8]]),
            lambda f: f[f[7] > 1][[8]].combine_first(f[[7]]),
        ):
            assert_same(combined(lazy).compute(**INLINE), combined(plain))
    empty = plain[plain[7] == 2]  # pandas' dtype of missing values alone
    alone = gd.from_pandas(empty, npartitions=1)
    assert_same(alone[[7]].combine_first(alone[[8]]).compute(**INLINE), empty[[7]].combine_first(empty[[8]]))


COMBINING = {"the other": lambda one, other: other, "sum": lambda one, other: one.fillna(0) + other}


@pytest.mark.parametrize("options", [{}, {"fill_value": 0}, {"overwrite": False}], ids=str)
@pytest.mark.parametrize("name", COMBINING)
def test_partitions_of_one_frame_alone_are_combined_as_all_rows_are(name, options):
    one, other = FLOATS[["a", "i"]], _frame([0, 5], a=[7.0, 9.0], c=[3, 4])
    for x, y in ((one, other), (other, one), (one, other.assign(i=np.nan)), (one, other[["c"]])):
        got = gd.from_pandas(x, npartitions=3).combine(gd.from_pandas(y, npartitions=2), COMBINING[name], **options)
        assert_same(got.compute(**INLINE), x.combine(y, COMBINING[name], **options))


def test_a_function_is_called_with_rows_of_one_frame_alone_where_divisions_cut_them():
    one, other = pd.DataFrame({"x": [4.0]}, index=[1]), pd.DataFrame({"x": [2.0, 2.5]}, index=[3, 5])
    for x, y in ((one, other), (other, one), (one[one.x > 9], other), (other, one[one.x > 9])):
        lazy = (gd.from_pandas(z, npartitions=1) for z in (x, y))
        assert_same(next(lazy).combine(next(lazy), np.minimum).compute(**INLINE), x.combine(y, np.minimum))


@pytest.mark.parametrize("npartitions", [(1, 2), (2, 1), (3, 2)])
@pytest.mark.parametrize("limits", [(9, 0), (0, 9), (9, 9), (2, 0)])
@pytest.mark.parametrize("name", ["i", None])
def test_no_function_combines_frames_of_which_one_is_found_to_have_no_rows(npartitions, limits, name):
    """Only all partitions together tell that: pandas returns the other frame then, with its dtypes."""
    one = pd.DataFrame({"x": [1, 2, 3, 4], "y": [1.5, 2, 3, 4]}, index=pd.Index([1, 2, 3, 4], name=name))
    two = pd.DataFrame({"x": [1, 2, 3], "y": [4.0, 3, 7]}, index=[3, 4, 9])
    for x, y in ((one, two), (two, one)):
        lazy, plain = (
            [frame[frame.y > limit] for frame, limit in zip(some, limits, strict=True)]
            for some in ([gd.from_pandas(z, npartitions=n) for z, n in zip((x, y), npartitions, strict=True)], (x, y))
        )
        for how in (np.minimum, lambda own, other: own.where(own > other, other)):
            assert_same(lazy[0].combine(lazy[1], how).compute(**INLINE), plain[0].combine(plain[1], how))


DAYS = pd.date_range("2020", periods=6)
TAKEN_FROM = {
    "times of another zone": DAYS.tz_localize("Europe/Berlin").to_series(index=range(6)),
    "times without one": DAYS.to_series(index=range(6)),
    "numbers": pd.Series(range(6)),
    "missing times": pd.Series(pd.NaT, index=range(6), dtype="datetime64[us, Europe/Berlin]"),
}


@pytest.mark.parametrize("missed", [[], [1], [0, 5], list(range(6))], ids=str)
@pytest.mark.parametrize("other", TAKEN_FROM.values(), ids=TAKEN_FROM)
@pytest.mark.parametrize("values", [DAYS.tz_localize("UTC"), pd.Index(list("abcdef"))], ids=["times", "texts"])
def test_columns_of_unlike_dtypes_become_objects_only_where_a_value_is_taken_from_the_other_frame(
    values, other, missed
):
    one = pd.DataFrame({"t": values.to_series(index=range(6)).where(~np.isin(np.arange(6), missed)), "n": 1.0})
    two = pd.DataFrame({"t": other, "n": 2.0})
    expected = one.combine_first(two)
    found = gd.from_pandas(one, npartitions=3).combine_first(gd.from_pandas(two, npartitions=2)).compute(**INLINE)
    assert_same(found, expected)


@pytest.mark.parametrize("npartitions", [1, 3])
def test_rows_are_combined_with_those_under_moved_labels(npartitions):
    hours = pd.date_range("2024-01-01", periods=20, freq="h")
    plain = pd.DataFrame({"x": range(20), "y": range(20, 40)}, index=hours)
    lazy = gd.from_pandas(plain, npartitions=npartitions)
    for combine in (
        lambda frame: frame.x + frame.shift(freq="3h").y,
        lambda frame: frame.shift(2, freq="h").x + frame.y.shift(-2, freq="h"),
        lambda frame: frame.x - frame.shift(1, freq="D").y,
        lambda frame: frame.tz_localize("UTC").tz_convert("Europe/Paris").x + frame.tz_localize("UTC").y,
        lambda frame: frame.join(frame.shift(freq="1h").add_suffix("_before")),
    ):
        combined, expected = combine(lazy), combine(plain)
        assert len(combined) == len(expected)
        assert_same(combined.compute(), expected)
        assert combined.known_divisions


def test_divisions_do_not_follow_labels_that_may_change_their_order_or_number():
    hours = pd.date_range("2024-10-26", periods=60, freq="h")
    lazy = gd.from_pandas(pd.Series(range(60), index=hours), npartitions=3)
    assert not lazy.shift(1, freq="B").known_divisions
    assert not lazy.tz_localize("Europe/Paris", ambiguous=[True] * 60).known_divisions
    in_paris = lazy.tz_localize("UTC").tz_convert("Europe/Paris")
    assert in_paris.known_divisions
    assert not in_paris.shift(1, freq="MS").known_divisions
    assert_same(in_paris.shift(1, freq="h").compute(), in_paris.compute().shift(1, freq="h"))


def test_labels_of_unlike_kinds_have_no_order_together():
    hours = pd.date_range("2020-03-28", periods=60, freq="h", tz="Europe/Berlin")
    plain = pd.DataFrame({"a": range(60)}, index=hours)
    lazy = gd.from_pandas(plain, npartitions=3)
    mixed = gd.concat([lazy, lazy.tz_convert(None)])
    assert not mixed.known_divisions
    assert_same(mixed.compute(), pd.concat([plain, plain.tz_convert(None)]))
    other = plain.tz_convert("UTC").rename(columns={"a": "b"})
    joined = lazy.join(gd.from_pandas(other, npartitions=1))
    assert not joined.known_divisions
    assert_same(joined.compute(), plain.join(other))


def test_partitions_without_rows_have_labels_like_the_others_after_an_inner_join():
    hours = pd.date_range("2020-01-01", periods=12, freq="h")
    plain = pd.DataFrame({"a": range(12), "k": 2}, index=hours)
    other = pd.DataFrame({"z": range(8)})
    lazy = gd.from_pandas(plain, npartitions=3)
    for join in (
        lambda frame, rows: frame[frame.a > 5].merge(rows, left_on="k", right_index=True, how="inner"),
        lambda frame, rows: frame[frame.a > 5].join(rows, on="k", how="inner"),
    ):
        made, expected = join(lazy, gd.from_pandas(other, npartitions=1)), join(plain, other)
        assert_same(made.loc[: hours[9]].compute(), expected.loc[: hours[9]])
        assert_same(made[made.index < hours[9]].compute(), expected[expected.index < hours[9]])
        assert_same(made.shift(1, freq="h").compute(), expected.shift(1, freq="h"))


@pytest.mark.parametrize("method", ["sub", "radd", "div", "gt", "eq"])
def test_methods_align_sorted_rows_with_those_that_were_sorted(method):
    plain = pd.DataFrame({"k": [1, 2, 1, 2, 1, 2], "x": [6.0, 5, 4, 3, 2, 1]})
    lazy = gd.from_pandas(plain, npartitions=3)

    def both(frame):
        after = frame.sort_values(["k", "x"]).groupby("k").x.shift(-1)
        return getattr(after, method)(frame.x), getattr(frame.x, method)(after)

    for found, expected in zip(both(lazy), both(plain), strict=True):
        pd.testing.assert_series_equal(found.compute(scheduler="inline"), expected)
