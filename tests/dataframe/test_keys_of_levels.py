"""Rows of an index of several levels: chosen and set by `loc`, and sorted by some levels, as pandas does."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all, check_in_parts
from glassloom.backends.pandas_version import PANDAS_VERSION

INLINE = {"scheduler": "inline"}
IDX = pd.IndexSlice
LABELS = pd.MultiIndex.from_product([["a", "b", "c"], [1, 2], ["x", "y"]], names=["first", "second", None])
FRAME = pd.DataFrame({"n": range(12), "f": np.arange(12) / 2}, index=LABELS)
MIXED = FRAME.iloc[[7, 2, 11, 4, 0, 9, 1, 5, 3, 10, 8, 6]]
MISSING = pd.DataFrame(
    {"n": [3, 1, 2, 1, 3, 2]},
    index=pd.MultiIndex.from_arrays(
        [["b", None, "A", "b", "a", "A"], [1.5, 2.5, np.nan, 0.5, 1.5, 1.0]], names=["k", None]
    ),
)


def compared(function, frame, npartitions=4):
    """Check that a function makes of a lazy frame what it makes of pandas'."""
    lazy = gd.from_pandas(frame, npartitions=npartitions, sort=False)
    made = function(lazy)
    assert_same(made.compute(**INLINE) if hasattr(made, "compute") else made, function(frame))


OF_ANY = {
    "a label of each level, in a list": lambda f: f.loc[[("b", 1, "x")]],
    "tuples in their order": lambda f: f.loc[[("c", 2, "y"), ("a", 1, "y")]],
    "labels of the first level": lambda f: f.loc[["c", "a"]],
    "labels of the first level, and a column": lambda f: f.loc[["a", "c"], "n"],
    "two labels": lambda f: f.loc[("b", 1)],
    "two labels, not in a tuple": lambda f: f.loc["b", 1],
    "two labels and a column": lambda f: f.loc[("b", 1), "n"],
    "two labels and all columns": lambda f: f.loc[("b", 1), :],
    "a slice of all and a label": lambda f: f.loc[(slice(None), 2), :],
    "a list of the last level": lambda f: f.loc[IDX[:, :, ["x"]], "n"],
    "lists in another order": lambda f: f.n.loc[(["c", "a"], [2, 1], "y")],
    "a label of a series": lambda f: f.n["b"],
    "two labels of a series": lambda f: f.n["b", 1],
    "a series without the level of a label": lambda f: f.n.loc[:, 2],
}
OF_SORTED = {
    "from label to label": lambda f: f.loc["a":"b"],
    "from tuple to tuple": lambda f: f.loc[("a", 2) : ("c", 1)],
    "from tuple to label": lambda f: f.loc[("a", 2) : "b", "f"],
    "from a tuple on": lambda f: f.loc[("b", 2, "y") :],
    "up to a tuple": lambda f: f.n.loc[: ("b", 1, "x")],
    "slices of levels": lambda f: f.loc[(slice("a", "b"), slice(None), ["x"]), ["f"]],
    "a slice of another level": lambda f: f.loc[IDX[:, 2, "x":"x"], :],
    "a slice without rows": lambda f: f.loc["d":"e"],
    "slices and a list in another order": lambda f: f.loc[(slice("b", "c"), slice(None), ["y", "x"]), :],
}


@pytest.mark.filterwarnings("ignore::pandas.errors.PerformanceWarning")
@pytest.mark.parametrize("frame", [FRAME, MIXED], ids=["sorted", "mixed"])
@pytest.mark.parametrize("name", OF_ANY)
def test_keys_of_levels_choose_the_rows_that_pandas_chooses(name, frame):
    compared(OF_ANY[name], frame)
    compared(OF_ANY[name], frame, npartitions=1)


@pytest.mark.parametrize("name", OF_SORTED)
def test_slices_of_levels_choose_the_rows_that_pandas_chooses(name):
    compared(OF_SORTED[name], FRAME)


UNSORTED = {
    "labels of the first level": lambda f: f.loc["a":"b"],
    "labels of two levels": lambda f: f.loc[("a", 1) : ("b", 2)],
    "one end": lambda f: f.n.loc[("a", 1) :],
    "a slice of a level": lambda f: f.loc[(slice("a", "b"), 1), :],
    "a slice beside a label": lambda f: f.loc[("a", slice(1, 2)), "n"],
    "a slice beside a list": lambda f: f.loc[(["a", "c"], slice(1, 2)), :],
}


@pytest.mark.more
@pytest.mark.parametrize("operation", UNSORTED.values(), ids=UNSORTED)
@pytest.mark.parametrize(
    "rows", [[3, 0, 5, 1, 2, 4], [1, 0, 3, 2, 5, 4], [0, 1, 2, 3, 4, 5], [0, 3, 2, 5, 1, 4]], ids=str
)
def test_slices_need_the_order_of_as_many_levels_as_they_name(operation, rows):
    """In the second order the first level is sorted, and the second one isn't."""
    frame = pd.DataFrame({"n": range(6)}, index=pd.MultiIndex.from_product([["a", "b", "c"], [1, 2]])).iloc[rows]
    check_in_parts(frame, operation)


def test_values_are_set_between_labels_of_levels_that_are_in_order():
    frame = pd.DataFrame({"n": range(6)}, index=pd.MultiIndex.from_product([["a", "b", "c"], [1, 2]]))
    for own, is_sorted in ((frame, True), (frame.iloc[[3, 0, 5, 1, 2, 4]], False)):
        lazy, own = gd.from_pandas(own, npartitions=3, sort=False), own.copy()
        lazy.loc["a":"b", "n"] = -1
        if is_sorted:
            own.loc["a":"b", "n"] = -1
            assert_same(lazy.compute(**INLINE), own)
        else:
            with pytest.raises(
                pd.errors.UnsortedIndexError, match="slices need the labels of the first level in order"
            ):
                lazy.compute(**INLINE)


def test_labels_that_are_columns_too_are_looked_for_among_the_levels_first():
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1), ("b", 3)])
    frame = pd.DataFrame({"x": range(4), 1: range(4, 8), 3: range(8, 12)}, index=levels)
    lazy = gd.from_pandas(frame, npartitions=2, sort=False)
    assert_same(lazy.loc["a", 1].compute(**INLINE), frame.loc[[("a", 1)]])  # pandas has the row
    assert_same(lazy.loc["a", 3].compute(**INLINE), frame.loc["a", 3])
    assert_same(lazy.loc["a", "x"].compute(**INLINE), frame.loc["a", "x"])
    lazy.loc["a", 1] = -1
    lazy.loc["a", 3] = -2
    frame.loc["a", 1] = -1
    frame.loc["a", 3] = -2
    assert_same(lazy.compute(**INLINE), frame)


def test_a_label_of_each_level_gives_a_value_or_a_frame_of_its_row():
    lazy = gd.from_pandas(FRAME, npartitions=4, sort=False)
    assert lazy.loc[("b", 2, "x"), "n"].compute(**INLINE) == FRAME.loc[("b", 2, "x"), "n"]
    assert lazy.n.loc["b", 2, "x"].compute(**INLINE) == 6
    assert lazy.n["b", 2, "x"].compute(**INLINE) == 6
    assert_same(lazy.loc[("b", 2, "x")].compute(**INLINE), FRAME.loc[[("b", 2, "x")]])
    assert_same((lazy - lazy.loc[("b", 2, "x")]).compute(**INLINE), FRAME - FRAME.loc[("b", 2, "x")])


@pytest.mark.parametrize(
    "key", [("d", 1), IDX[:, 9], [("a", 1, "x"), ("a", 9, "x")], ["d"]], ids=["labels", "slice", "tuples", "list"]
)
def test_labels_of_levels_that_no_row_has_are_errors(key):
    lazy = gd.from_pandas(FRAME, npartitions=3, sort=False)
    with pytest.raises(KeyError):
        lazy.loc[key, :].compute(**INLINE)
    with pytest.raises(KeyError):
        FRAME.loc[key, :]


def test_aggregations_by_two_keys_are_looked_up_by_both():
    frame = pd.DataFrame({"a": list("xyxyxy"), "b": [1, 1, 2, 2, 1, 2], "v": range(6)})
    for choose in (
        lambda s: s.loc["x"],
        lambda s: s.loc[:, 2],
        lambda s: s.loc[["y"]],
        lambda s: s.sort_index(level="b"),
    ):
        lazy = choose(gd.from_pandas(frame, npartitions=3).groupby(["a", "b"]).v.sum())
        assert_same(lazy.compute(**INLINE), choose(frame.groupby(["a", "b"]).v.sum()))


def by_slices(f):
    f.loc[IDX[:, :, ["y"]], :] = -1


def by_labels(f):
    f.loc[("b", 1), "n"] = -1


def by_one_label(f):
    f.loc["b", "n"] = -1


def between(f):
    f.loc["b":"c", "f"] = 0.5


def from_another_frame(f):
    f.loc[IDX[:, 2], :] = f * 10


@pytest.mark.parametrize("change", [by_slices, by_labels, by_one_label, between, from_another_frame])
def test_values_of_keys_of_levels_are_set(change):
    frame = FRAME.astype("float64")
    own, lazy = frame.copy(), gd.from_pandas(frame, npartitions=5, sort=False)
    change(own)
    change(lazy)
    assert_same(lazy.compute(**INLINE), own)


def test_setting_values_of_labels_of_levels_that_no_row_has_is_an_error():
    lazy = gd.from_pandas(FRAME, npartitions=3, sort=False)
    lazy.loc[("d", 1), "n"] = 0
    with pytest.raises(KeyError, match="no row has such labels; rows are added by concat"):
        lazy.compute(**INLINE)


@pytest.mark.parametrize(
    "options",
    [
        {"level": 0},
        {"level": "second"},
        {"level": [1, 0], "ascending": [False, True]},
        {"level": 1, "ascending": False},
        {"level": 2, "sort_remaining": False},
        {"level": "first", "key": lambda labels: labels.str.upper()},
    ],
    ids=["number", "name", "two", "descending", "alone", "key"],
)
def test_rows_are_sorted_by_levels(options):
    compared(lambda f: f.sort_index(**options), MIXED)
    compared(lambda f: f.n.sort_index(**options), MIXED)


@pytest.mark.parametrize("position", ["first", "last"])
def test_missing_labels_of_levels_are_sorted_to_an_end(position):
    for level in (0, 1, [1, 0]):
        compared(lambda f, level=level: f.sort_index(level=level, na_position=position), MISSING, npartitions=3)


def test_rows_are_sorted_by_columns_and_levels_together():
    named = MIXED.rename_axis(index=["first", "second", "third"])
    compared(lambda f: f.sort_values(["second", "n"]), named)
    compared(lambda f: f.sort_values(["third", "second", "f"], ascending=[False, True, False])[["n"]], named)
    compared(lambda f: f.sort_values("k", na_position="first"), MISSING)
    compared(lambda f: f.sort_values(["second", "f"]).head(3), named.reset_index(level=[0, 2])[["f"]])


def test_a_name_of_a_level_and_a_column_is_ambiguous():
    lazy = gd.from_pandas(MIXED.rename_axis(index=["n", "b", "c"]), npartitions=2, sort=False)
    with pytest.raises(ValueError, match="'n' is both an index level and a column label, which is ambiguous"):
        lazy.sort_values("n")


def test_labels_of_several_levels_become_the_index():
    frame = FRAME.reset_index(drop=True)
    for labels in (LABELS, MIXED.index):
        lazy = gd.from_pandas(frame, npartitions=3)
        lazy.index = labels
        assert_same(lazy.compute(**INLINE), frame.set_axis(labels))
        lazy.index.names = ["one", None, "three"]
        assert_same(lazy.n.compute(**INLINE), frame.n.set_axis(labels.set_names(["one", None, "three"])))
        assert lazy.index.names == ["one", None, "three"]


def test_columns_of_several_levels_are_chosen_by_keys_of_levels():
    frame = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=pd.MultiIndex.from_product([["a", "b"], ["x", "y"]]))
    for choose in (
        lambda f: f.loc[:, ("a", "x")],
        lambda f: f.loc[:, "a"],
        lambda f: f.loc[:, (slice(None), "x")],
        lambda f: f.loc[:, (["b", "a"], "x")],
        lambda f: f.loc[f[("a", "x")] > 0, IDX[:, "y"]],
    ):
        compared(choose, frame, npartitions=2)
    own, lazy = frame.copy(), gd.from_pandas(frame, npartitions=2)
    own.loc[:, (slice(None), "y")] = 1
    lazy.loc[:, (slice(None), "y")] = 1
    assert_same(lazy.compute(**INLINE), own)


def _set(frame, rows, columns, value):
    frame.loc[rows, columns] = value
    return frame


@pytest.mark.parametrize(
    ("rows", "columns"),
    [("a", 1), ("a", "x"), (("a", 2), slice(None)), (["a", "b"], "x"), ([("a", 1), ("b", 2)], "x")],
    ids=repr,
)
def test_two_keys_set_what_they_choose(rows, columns):
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]])
    frame = pd.DataFrame({"x": range(4), "y": range(4)}, index=index)
    lazy = _set(gd.from_pandas(frame, npartitions=2), rows, columns, 9)
    assert_same(lazy.compute(), _set(frame.copy(), rows, columns, 9))


@pytest.mark.parametrize("rows", [["a", "zz"], [("a", 1), ("z", 2)]], ids=repr)
def test_values_are_set_only_if_all_labels_of_a_list_are_there(rows):
    frame = pd.DataFrame({"x": range(4)}, index=pd.MultiIndex.from_product([["a", "b"], [1, 2]]))
    lazy = _set(gd.from_pandas(frame, npartitions=2), rows, "x", 9)
    with pytest.raises(KeyError):
        lazy.compute()


@pytest.mark.parametrize("rows", [slice(None), ["a", "c"]], ids=repr)
@pytest.mark.parametrize(
    "columns", [("A", ["x", "y"]), (["A"], "x"), ("A", slice(None)), (slice(None), "x"), (["A", "B"], ["x"])], ids=repr
)
def test_columns_of_a_key_of_levels_are_set(rows, columns):
    names = pd.MultiIndex.from_tuples([("A", "x"), ("A", "y"), ("B", "x")])
    frame = pd.DataFrame(np.arange(12).reshape(4, 3), index=list("abcd"), columns=names)
    lazy = _set(gd.from_pandas(frame, npartitions=2), rows, columns, 99)
    assert_same(lazy.compute(), _set(frame.copy(), rows, columns, 99))


def test_texts_among_times_of_several_levels_are_refused():
    times = pd.date_range("2000-01-30", periods=48, freq="h")
    frame = pd.DataFrame({"x": range(96)}, index=pd.MultiIndex.from_product([times, ["u", "v"]]))
    lazy = gd.from_pandas(frame, npartitions=4)
    day = slice("2000-01-30", "2000-01-30")
    assert_same(lazy.loc[day].compute(), frame.loc[day])
    assert_same(lazy.loc["2000-01-30"].compute(), frame.loc["2000-01-30"])
    some = (slice(times[2], times[9]), "u")
    assert_same(lazy.loc[some, :].compute(), frame.loc[some, :])
    for rows in ((day, "u"), ("2000-01-30", "u"), ["2000-01-30"], slice(("2000-01-30", "u"), ("2000-01-30", "v"))):
        with pytest.raises(NotImplementedError, match=r"among the times of level None: .* pandas\.Timestamp"):
            lazy.x.loc[rows]
    with pytest.raises(NotImplementedError, match="among the times of level None"):
        lazy.loc["2000-01-30", "x"] = 0


@pytest.mark.parametrize(
    ("labels", "inside"),
    [(pd.interval_range(0, 2), 0.5), (pd.period_range("2000", periods=2, freq="M"), pd.Timestamp("2000"))],
)
def test_labels_inside_intervals_and_periods_of_several_levels_are_refused(labels, inside):
    frame = pd.DataFrame({"x": range(4)}, index=pd.MultiIndex.from_product([["u", "v"], labels]))
    lazy = gd.from_pandas(frame, npartitions=2)
    assert lazy.x.loc["u", labels[1]].compute() == frame.x.loc["u", labels[1]]
    for rows in (("u", inside), (slice(None), slice(inside, None)), (slice(None), [inside])):
        with pytest.raises(NotImplementedError, match="among the (intervals|periods) of level None: .* reset_index"):
            lazy.x.loc[rows]


def test_slices_of_categories_among_levels_are_refused():
    labels = pd.CategoricalIndex(["lo", "mid", "hi"], categories=["lo", "mid", "hi"])
    frame = pd.DataFrame({"x": range(6)}, index=pd.MultiIndex.from_product([labels, [1, 2]]))
    lazy = gd.from_pandas(frame, npartitions=3, sort=False)
    for rows in (slice("lo", "mid"), (slice("mid", None), 1)):
        with pytest.raises(NotImplementedError, match="among the categories of level None: give a list of them"):
            lazy.x.loc[rows]


def test_labels_beside_all_of_a_level_leave_their_levels_out():
    index = pd.MultiIndex.from_product([[0, 1], ["s", "t"], [1, 2]], names=list("abc"))
    frame = pd.DataFrame({"x": range(8)}, index=index)
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(lazy.loc[0, :, 1].compute(), frame.loc[0, :, 1])
    assert_same(lazy.x.loc[0, :, 1].compute(), frame.x.loc[0, :, 1])


OF_INDEX = {
    "labels of a level": lambda f: f.index.get_level_values("second"),
    "labels of the last level": lambda f: f.index.get_level_values(-1),
    "rows by a level": lambda f: f[f.index.get_level_values("second") > 1],
    "rows by labels of a level": lambda f: f[f.index.get_level_values(0).isin(["a"])],
    "groups by a level": lambda f: f.groupby(f.index.get_level_values(0)).n.sum(),
    "a column of a level": lambda f: f.assign(z=f.index.get_level_values("first")),
    "without a level": lambda f: f.index.droplevel("second"),
    "without several levels": lambda f: f.set_axis(f.index.droplevel(["second", 2])),
    "tuples": lambda f: f.index.to_flat_index(),
    "no level": lambda f: f.index.get_level_values("third"),
    "rows by a level that is among labels": lambda f: f[f.index.isin(["a"], level=0)],
    "distinct labels of a level": lambda f: f.index.unique("second"),
    "another name of a level": lambda f: f.index.set_names("k", level="second"),
    "other names of levels": lambda f: f.index.rename(["k", "l"], level=[-1, 0]),
    "several names of a level": lambda f: f.index.set_names(["k"], level=0),
    "one name of all levels": lambda f: f.index.set_names("k"),
    "any label": lambda f: f.index.any(),
    "columns of one name": lambda f: f.index.to_frame(name=["a"] * f.index.nlevels, allow_duplicates=True),
}


@pytest.mark.parametrize("name", [None, "x"])
def test_rows_of_a_tuple_of_labels_are_those_of_the_first_levels(name):
    frame = pd.DataFrame({"x": range(8)}, index=pd.MultiIndex.from_product([["u", "v"], [1, 2], ["p", "q"]]))
    check_in_parts(frame if name is None else frame[name], lambda rows: rows.xs(("v", 1)))
    with pytest.raises(NotImplementedError, match=r"xs\(drop_level=False\)"):
        gd.from_pandas(frame, npartitions=2).xs(("v", 1), drop_level=False)
    with pytest.raises(KeyError):
        gd.from_pandas(frame, npartitions=2).xs(("v", 3)).compute()


@pytest.mark.parametrize("how", ["any", "all", "no"])
def test_labels_of_levels_are_missing_if_one_is_or_if_all_are(how):
    labels = pd.MultiIndex.from_tuples([(1, "a"), (np.nan, "b"), (np.nan, None), (3, None)])
    for plain in (
        pd.DataFrame({"n": range(4)}, index=labels),
        pd.DataFrame({"n": range(4)}, index=labels.droplevel(1)),
    ):
        check_in_parts(plain, lambda frame: frame.index.dropna(how=how))


@pytest.mark.parametrize("operation", OF_INDEX.values(), ids=OF_INDEX)
def test_labels_of_levels_are_those_of_pandas(operation):
    check_in_parts(MIXED, operation)


THREE_LEVELS = pd.DataFrame(
    np.arange(12).reshape(2, 6),
    columns=pd.MultiIndex.from_product([["x", "y"], ["p"], ["q", "r", "s"]], names=["k", "l", "m"]),
)
UNEVEN = pd.DataFrame(
    np.arange(8).reshape(2, 4), columns=pd.MultiIndex.from_tuples([("a", ""), ("b", "c"), ("b", "d"), ("e", "")])
)


def _with_another(frame):
    made = frame.copy()
    made["x", "p", "new"] = 5
    return made["x"]


COLUMNS_OF_LEVELS = {
    "a label": lambda f: f["x"],
    "labels of two levels": lambda f: f["x", "p"],
    "a column": lambda f: f["x", "p", "q"],
    "a list of labels": lambda f: f[["y", "x"]],
    "by loc": lambda f: f.loc[:, ("x", "p")],
    "some by loc": lambda f: f.loc[[1, 0], [("x", "p", "q")]],
    "xs": lambda f: f.xs("x", axis=1, drop_level=False),
    "one that was assigned": _with_another,
    "none": lambda f: f["w"],
    "none below": lambda f: f["x", "w"],
}
if PANDAS_VERSION >= (3, 1):  # earlier ones take no slices for labels of columns
    COLUMNS_OF_LEVELS |= {
        "all of a level": lambda f: f[:, "p"],
        "a list in a level": lambda f: f[slice(None), "p", ["q", "r"]],
    }


@pytest.mark.filterwarnings("ignore::pandas.errors.PerformanceWarning")
def test_a_label_of_the_first_levels_of_columns_stands_for_all_below_it():
    check_all(COLUMNS_OF_LEVELS, THREE_LEVELS, gd.from_pandas(THREE_LEVELS, npartitions=2))
    uneven = {"alone": lambda f: f["a"], "below": lambda f: f["b"], "by loc": lambda f: f.loc[:, "a"]}
    check_all(uneven, UNEVEN, gd.from_pandas(UNEVEN, npartitions=2))


def test_labels_moved_by_several_periods_are_of_one_partition():
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.to_datetime(["2000-01-02", "2000-01-01"]))
    one = gd.from_pandas(frame, npartitions=1, sort=False).shift([1, 2], freq="D")
    pd.testing.assert_frame_equal(one.compute(), frame.shift([1, 2], freq="D"), check_freq=False)
    with pytest.raises(
        NotImplementedError, match=r"shift\(periods=\[1, 2\]\) isn't supported: with freq= shift by one"
    ):
        gd.from_pandas(frame, npartitions=2, sort=False).shift([1, 2], freq="D")


@pytest.mark.parametrize("drop_level", [True, False])
@pytest.mark.parametrize(
    ("key", "level"),
    [
        (("a", 1), ["k", "n"]),
        ((2, "b"), [1, "k"]),
        (("b",), ["k"]),
        (("a", 1, 7), ["k", "n", 2]),
        (("c", 1), ["k", "n"]),
    ],
)
def test_rows_have_a_label_in_each_of_several_levels(key, level, drop_level):
    index = pd.MultiIndex.from_tuples(
        [("a", 1, 7), ("b", 2, 8), ("a", 2, 7), ("a", 1, 9), ("c", 2, 8)], names=["k", "n", None]
    )
    plain = pd.DataFrame({"x": range(5)}, index=index)
    for rows in (plain, plain.x):
        lazy = gd.from_pandas(rows, npartitions=3, sort=False).xs(key, level=level, drop_level=drop_level)
        expected = rows.xs(key, level=level, drop_level=drop_level)
        assert lazy.compute().equals(expected)
        assert lazy.compute().index.names == expected.index.names


def test_labels_of_several_levels_are_those_of_rows():
    index = pd.MultiIndex.from_tuples([("a", 1, 7), ("b", 2, 8)], names=["k", "n", "t"])
    lazy = gd.from_pandas(pd.DataFrame({"x": range(2)}, index=index), npartitions=2)
    with pytest.raises(KeyError, match="5"):
        lazy.xs(("a", 5), level=["k", "n"]).compute()
    with pytest.raises(AssertionError, match="must have same length as number of levels"):
        lazy.xs(("a",), level=["k", "n"])
    with pytest.raises(NotImplementedError, match=r"one label of each, and times as pandas.Timestamp"):
        lazy.xs((["a"], 1), level=["k", "n"])
