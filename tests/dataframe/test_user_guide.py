"""What pandas' user guide does with rows, labels and texts, of several partitions."""

from __future__ import annotations

from functools import partial

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame(np.arange(32.0).reshape(8, 4) - 15, index=pd.date_range("2000", periods=8), columns=list("ABCD"))
LETTERS = pd.Series([1, 2, 3, 4], index=list("abcd"), name="q")
CONDITION = pd.array([True, False, None, True] * 2, dtype="boolean")


def lazily(frame, npartitions=3):
    return gd.from_pandas(frame, npartitions=npartitions, sort=bool(frame.index.is_monotonic_increasing))


def compared(function, *frames, npartitions=3):
    """Check that a function makes of lazy frames what it makes of pandas'."""
    made = function(*(lazily(frame, npartitions) for frame in frames))
    assert_same(made.compute(**INLINE) if hasattr(made, "compute") else made, function(*(one.copy() for one in frames)))


def changed(change, frame):
    """Check that a function changes a lazy frame as it changes pandas'."""
    own, lazy = frame.copy(), lazily(frame)
    change(own)
    change(lazy)
    assert_same(lazy.compute(**INLINE), own)


def set_where(f):
    f[f[1:4] > 0] = 3


def mask_in_place(f):
    f.mask(f[1:4] > 0, 3, inplace=True)


def where_in_place(f):
    f.where(f[1:4] > 0, 3, inplace=True)


def where_at_hand(f):
    f.where(FRAME[["A", "B"]][2:5] > -10, 0, inplace=True)


@pytest.mark.parametrize("change", [set_where, mask_in_place, where_in_place, where_at_hand])
def test_rows_of_which_a_condition_says_nothing_stay_in_place(change):
    changed(change, FRAME)


def test_a_series_is_masked_in_place_where_the_condition_says_so():
    own, lazy = FRAME.A.copy(), lazily(FRAME).A
    for one in (own, lazy):
        one.mask(one[1:4] > -10, 3, inplace=True)
    assert_same(lazy.compute(**INLINE), own)


def test_missing_values_in_booleans_at_hand_choose_no_row():
    compared(lambda f: f[CONDITION], FRAME)
    compared(lambda f: f.loc[CONDITION, "A"], FRAME)
    compared(lambda f: f.A[CONDITION], FRAME)
    compared(lambda f: f.iloc[CONDITION], FRAME)

    def set_some(f):
        f.loc[CONDITION, "A"] = 1

    changed(set_some, FRAME)


def test_positions_are_given_by_functions_and_lazy_booleans():
    compared(lambda f: f.iloc[:, lambda own: [0, 1]], FRAME)
    compared(lambda f: f.iloc[lambda own: [0, 5]], FRAME)
    compared(lambda f: f.iloc[(f.A > 3).values, 1], FRAME)
    compared(lambda f: f.iloc[f.index.isin([pd.Timestamp("2000-01-03")])], FRAME)


@pytest.mark.parametrize(
    "rows", [slice(a, b, c) for a in (None, 6, -2, -1, 30) for b in (None, 2, -1, -40) for c in (-1, -3)]
)
def test_rows_are_turned_round(rows):
    for frame in (FRAME, FRAME[:0]):
        compared(lambda f: f.iloc[rows], frame)
        compared(lambda f: f[f.B > -12].iloc[rows], frame)  # how many rows there are isn't known
    compared(lambda f: f.A[rows], FRAME.reset_index(drop=True))


def test_rows_between_labels_are_turned_round():
    compared(lambda f: f.loc["2000-01-06":"2000-01-02":-1], FRAME)
    compared(lambda s: s.loc[::-2], LETTERS)


def test_names_in_a_tuple_are_several_columns():
    compared(lambda f: f.loc[:, ("A", "B")], FRAME)
    compared(lambda f: f.loc["2000-01-02":, ("A", "B")], FRAME)

    def set_some(f):
        f.loc[f.index[1], ("A", "B")] = np.nan
        f.loc[f.index[3:5], ["C", "D"]] = 0

    changed(set_some, FRAME)


def test_get_gives_a_default_for_labels_that_no_row_has():
    series = lazily(LETTERS)
    assert series.get("x", default=-1) == -1
    assert series.get("x") is None
    assert series.get("b").compute(**INLINE) == 2


def test_labels_are_not_set_as_attributes():
    series = lazily(LETTERS)
    with pytest.raises(AttributeError, match=r"The value of a label is set by series.loc\['a'\] = ..."):
        series.a = 5


def test_a_label_that_no_row_has_is_named():
    with pytest.raises(KeyError, match="'zz'"):
        lazily(FRAME.set_axis(list("abcdefgh"))).loc["zz"].compute(**INLINE)


@pytest.mark.parametrize("key", [{"A": 1}, {"A"}])
def test_what_is_no_name_of_a_column_is_said(key):
    with pytest.raises(TypeError, match=f"a {type(key).__name__} is no name of a column"):
        lazily(FRAME)[key]


def test_classes_are_not_called_with_data():
    for made, name in ((gd.DataFrame, "DataFrame"), (gd.Series, "Series"), (gd.Index, "Index")):
        with pytest.raises(TypeError, match=rf"{name}\(\.\.\.\) of a dict: lazy objects are made by from_pandas"):
            made({"a": [1]})
    with pytest.raises(TypeError, match="lazy objects are made by from_pandas"):
        gd.DataFrame({"a": [1]}, index=["x"])


def test_a_pandas_index_beside_a_series_has_a_value_for_each_row():
    for name in ("q", "other"):
        index = pd.Index([1, 5, 3, 4], name=name)
        compared(lambda s, index=index: s == index, LETTERS)
        compared(lambda s, index=index: s + index, LETTERS)
        compared(lambda s, index=index: index - s, LETTERS)
        compared(lambda s, index=index: np.maximum(s, index), LETTERS)


NUMBERS = pd.Series(range(6), index=pd.Index([1, 2, 3, 5, 7, 9], name="n"))
REPEATED = pd.Series(range(6), index=pd.Index([3, 1, 2, 2, 7, 1], name="n"))
OF_LABELS = {
    "in both": lambda s: s.index.intersection([2, 3, 99]),
    "in both, of another name": lambda s: s.index.intersection(pd.Index([2, 3], name="m")),
    "in both, floats": lambda s: s.index.intersection([2.5, 3.0]),
    "in both, lazy": lambda s: s.index.intersection(s.index[2:4]),
    "in one": lambda s: s.index.difference([2]),
    "in one, not sorted": lambda s: s.index.difference([2], sort=False),
    "in none": lambda s: s.index.difference([1, 2, 3, 5, 7, 9]),
    "rows": lambda s: s.loc[s.index.intersection([5, 2, 99])],
}


@pytest.mark.parametrize("series", [NUMBERS, REPEATED], ids=["rising", "repeated"])
@pytest.mark.parametrize("name", OF_LABELS)
def test_labels_in_both_or_one_are_those_of_pandas(name, series):
    compared(OF_LABELS[name], series)


ONE = pd.DataFrame({"x": [1, 2, 3, 4, 5], "y": list("abcde")}, index=list("abcde"))
OTHER = pd.DataFrame({"y": [1, 2, 3, 4], "z": list("abcd")}, index=pd.Index(list("bcxz"), name="q"))
UNDER_OTHERS = {
    "frame": lambda a, b: a.reindex(b.index),
    "series": lambda a, b: a.x.reindex(b.index),
    "filled": lambda a, b: a.x.reindex(b.index, fill_value=0),
    "like a frame": lambda a, b: a.reindex_like(b),
    "like another": lambda a, b: b.reindex_like(a),
    "series like a series": lambda a, b: a.x.reindex_like(b.y),
    "some rows of its own": lambda a, b: a.x[a.x > 2].reindex(a.index) + 1,
    "first rows": lambda a, b: a.reindex(b.index).head(2),
    "labels at hand": lambda a, b: a.reindex(pd.Index(["b", "q"])),
    "labels at hand, of a name": lambda a, b: b.reindex(["b", "q"]),
    "no labels": lambda a, b: b.reindex([]),
}


@pytest.mark.parametrize("name", UNDER_OTHERS)
def test_rows_come_under_other_labels(name):
    compared(UNDER_OTHERS[name], ONE, OTHER)


def test_numbers_choose_the_intervals_that_contain_them():
    frame = pd.DataFrame({"n": [1, 2, 3, 4]}, index=pd.IntervalIndex.from_breaks([0, 1, 2, 3, 4]))
    compared(lambda f: f.loc[[2, 3.5]], frame)
    compared(lambda f: f.loc[[pd.Interval(1, 2)]], frame)
    compared(lambda f: f.n.loc[2.5], frame)
    assert_same(lazily(frame).loc[2.5].compute(**INLINE), frame.loc[[2.5]])
    with pytest.raises(KeyError, match="9"):
        lazily(frame).loc[9].compute(**INLINE)
    with pytest.raises(NotImplementedError, match=r"loc\[2:4\] of intervals: choose them by a number"):
        lazily(frame).loc[2:4]


TEXTS = pd.Series(["a1", "b2", None, "c3", "dd4", "e"], index=list("uvwxyz"), name="t")
MORE = pd.Series(list("qrstuv"), index=list("uvwxyz"))
JOINED = {
    "a list": lambda t, u: t.str.cat(["A", "B", "C", "D", "E", "F"]),
    "an array": lambda t, u: t.str.cat(np.array(list("ABCDEF"), dtype=object), sep="-", na_rep="?"),
    "a frame": lambda t, u: t.str.cat(u.to_frame().assign(v=u), sep=","),
    "several": lambda t, u: t.str.cat([u, u.str.upper()], sep=",", na_rep="_"),
    "some rows": lambda t, u: t.str.cat(u[u != "r"], join="left", na_rep="z"),
    "by label": lambda t, u: t.str.cat(pd.Series(["x", "y"], index=["z", "u"])),
    "labels": lambda t, u: t.str.cat(t.index),
    "the same rows": lambda t, u: t.str.cat(t, join="outer"),
}


@pytest.mark.parametrize("name", JOINED)
def test_texts_are_joined_with_those_of_others(name):
    compared(JOINED[name], TEXTS, MORE)


def test_texts_are_not_joined_with_numbers_or_other_rows():
    lazy = lazily(TEXTS)
    with pytest.raises(TypeError, match=r"str\.cat\(others=5\)"):
        lazy.str.cat(5)
    with pytest.raises(NotImplementedError, match=r"align\(\) the series before"):
        lazy.str.cat(lazily(MORE), join="outer")


PARTED = pd.Series(range(5), index=pd.Index(["a_b", "c_d", "e_f", "g_h_i", "j"], name="q"))
OF_TEXTS = {
    "groups": lambda s: s.index.str.extract("(.)_(?P<z>.)"),
    "a group": lambda s: s.index.str.extract("(.)"),
    "all groups": lambda s: s.index.str.extractall("([a-e])"),
    "parts": lambda s: s.index.str.split("_", expand=True),
    "around": lambda s: s.index.str.partition("_"),
    "dummies": lambda s: s.index.str.get_dummies("_"),
}


@pytest.mark.parametrize("name", OF_TEXTS)
def test_several_texts_of_a_label_are_what_pandas_makes_of_an_index(name):
    compared(OF_TEXTS[name], PARTED)


def test_labels_have_one_group_of_a_pattern():
    with pytest.raises(ValueError, match="only one regex group is supported with Index"):
        lazily(PARTED).index.str.extract("(.)_(.)", expand=False)


def test_functions_have_the_names_that_they_are_given():
    lower = partial(lambda column: column.quantile(0.25))
    lower.__name__ = "25%"  # type: ignore[attr-defined]
    compared(lambda f: f.agg(["mean", lower]), FRAME)


def test_functions_of_numpy_are_found_by_name():
    frame = FRAME.abs()
    for function in (
        lambda f: f.apply("sqrt"),
        lambda f: f.A.apply("sqrt"),
        lambda f: f.transform("sqrt"),
        lambda f: f.transform({"A": np.abs, "B": [lambda x: x + 1, "sqrt"]}),
    ):
        compared(function, frame)
    compared(lambda f: np.argsort(f.A), FRAME[::-1].reset_index(drop=True))


@pytest.mark.parametrize(
    "function", [lambda s: s.sum(), lambda s: s.max(), lambda s: 5], ids=["sum", "max", "constant"]
)
def test_functions_of_columns_without_rows_make_what_they_make_of_floats(function):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    for limit in (0, 9):
        compared(lambda f, limit=limit: f[f.a > limit].agg(function), frame)
        compared(lambda f, limit=limit: f[f.a > limit].apply(function), frame)
    lazy = lazily(frame)
    assert lazy[lazy.a > 0].agg(function).dtype == "int64"


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 finds no place for results that are missing")
def test_named_reductions_of_missing_times_are_missing_times():
    times = pd.to_datetime(pd.Series([None] * 4))
    frame = pd.DataFrame(
        {"a": range(4), "t": times, "d": pd.to_timedelta([None] * 4), "z": times.dt.tz_localize("UTC")}
    )
    for named in (
        {"x": ("a", "min"), "y": ("t", "min")},
        {"y": ("t", "min"), "z": ("t", "max")},
        {"y": ("d", "max")},
        {"y": ("z", "min")},
    ):
        compared(lambda f, named=named: f.agg(**named), frame)


def test_options_of_scipys_interpolation_are_refused_with_the_method():
    with pytest.raises(NotImplementedError, match=r"interpolate\(method='spline'\)"):
        lazily(FRAME).interpolate(method="spline", order=2)
    with pytest.raises(TypeError, match=r"interpolate\(method='linear'\) takes no order"):
        lazily(FRAME).interpolate(order=2)


def test_the_first_of_more_values_than_names_is_the_label(tmp_path):
    path = tmp_path / "more.csv"
    path.write_text("a,b,c\n4,apple,bat,\n8,orange,cow,\n")
    for options in (
        {},
        {"index_col": 0},
        {"index_col": [0]},
        {"index_col": 0, "usecols": ["b", "c"]},
        {"index_col": False},
    ):
        for blocksize in (None, 16):
            lazy = gd.read_csv(path, blocksize=blocksize, **options)
            if options or HAS_COPY_ON_WRITE:
                found = lazy.compute(**INLINE)
                expected = pd.read_csv(path, **options)
                assert_same(
                    found.reset_index(drop=options == {"index_col": False}),
                    expected.reset_index(drop=options == {"index_col": False}),
                )
    with pytest.raises(ValueError, match="rows have a value more than the header has names"):
        gd.read_csv(path, index_col=1)


def _with_missing(frame):
    return frame["x"].where(frame["x"] != 2).astype("Float64") > 2


@pytest.mark.parametrize(
    "condition", [lambda f: f[["x"]] > 2, _with_missing, lambda f: f > 2, lambda f: f["x"] > 2], ids=range(4)
)
def test_conditions_in_place_leave_what_they_say_nothing_of(condition):
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [1, 5, 1, 5]}, index=list("abcd"))

    def changed(some, how):
        getattr(some, how)(condition(some), 0, inplace=True)
        return some

    for how in ("where", "mask"):
        lazy = changed(gd.from_pandas(frame, npartitions=2), how)
        assert_same(lazy.compute().astype("int64"), changed(frame.copy(), how).astype("int64"))


def test_series_of_a_subclass_have_attributes_of_their_own():
    class Tagged(gd.Series):
        def __init__(self, expr, tag=None):
            super().__init__(expr)
            self.tag = tag

    lazy = gd.from_pandas(pd.DataFrame({"x": [1, 2]}), npartitions=2)
    assert Tagged(lazy.x.expr, tag=3).tag == 3


def test_slices_of_intervals_are_those_of_pandas():
    frame = pd.DataFrame({"v": range(4)}, index=pd.interval_range(0, 4))
    rows = slice(pd.Interval(0, 1), pd.Interval(2, 3))
    assert_same(gd.from_pandas(frame, npartitions=2).loc[rows].compute(), frame.loc[rows])


def test_common_labels_keep_the_dtype():
    lazy = gd.from_pandas(pd.DataFrame({"v": range(4)}, index=[3, 1, 2, 5]), npartitions=2, sort=False)
    plain = pd.Index([3, 1, 2, 5])
    for other in (pd.Index([], dtype="int64"), [1, 2, 9], pd.Index([5, 1])):
        assert_same(lazy.index.intersection(other).compute(), plain.intersection(other))


def test_common_labels_of_other_dtypes_have_the_one_that_pandas_gives_them():
    eastern = pd.date_range("2000", periods=3, tz="US/Eastern")
    numbers = pd.Index([3, 1, 2], dtype=object)
    for plain, other in (
        (eastern, eastern[1:].tz_convert("UTC")),
        (numbers, numbers[1:].astype(int)),
        (numbers.astype(int), numbers[1:]),
    ):
        lazy = gd.from_pandas(pd.DataFrame(index=plain), npartitions=2, sort=False).index
        for labels in (other, gd.from_pandas(pd.DataFrame(index=other), npartitions=2, sort=False).index):
            assert_same(lazy.intersection(labels).compute(), plain.intersection(other))
