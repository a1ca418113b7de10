"""Columns are left out of plans of frames whose labels are of several kinds, are None, or stand for several columns: results are pandas'."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same

VALUES = np.random.default_rng(3).normal(size=(9, 3)).round(2)
VALUES[2, 1] = np.nan
LABELS = {
    "several kinds": pd.Index(["a", 1, ("x", "y")], dtype=object, tupleize_cols=False),
    "none": pd.Index(["a", 1, None], dtype=object),
    "texts as objects": pd.Index(["a", "b", "c"], dtype=object),
    "truth values": pd.Index(["a", False, True], dtype=object),
    "categories": pd.CategoricalIndex(["a", "b", "c"]),
    "numbers": pd.RangeIndex(3),
}
CHOSEN = {
    "several kinds": ["a", ["a"], [1], ("x", "y"), [("x", "y")], ["a", ("x", "y")]],
    "none": ["a", ["a"], [1], [None], ["a", 1]],
    "texts as objects": ["b", ["b"], ["c", "a"]],
    "truth values": [False, "a", ["a"]],
    "categories": ["b", ["b"], ["c", "a"]],
    "numbers": [1, [1], [2, 1]],
}


def _dummies(frame):
    return (pd if isinstance(frame, pd.DataFrame) else gd).get_dummies(frame)


OPERATIONS = {
    "rounded by label": lambda f: f.round({f.columns[-1]: 1}),
    "beside a row": lambda f: f - f.mean(),
    "with a column": lambda f: f.assign(z=1),
    "sorted": lambda f: f.sort_values(f.columns[-1]),
    "matrix": lambda f: f.corr(),
    "descriptions": lambda f: f.describe(),
    "several quantiles": lambda f: f.quantile([0.2, 0.5]),
    "several reductions": lambda f: f.agg(["min", "max"]),
    "dummies": _dummies,
    "rows of labels": lambda f: f.loc[2:],
    "values of groups": lambda f: f.groupby(f.columns[0]).transform("max"),
    "first rows of groups": lambda f: f.groupby(f.columns[0]).head(1),
    "sums of groups": lambda f: f.groupby(f.columns[0]).sum(),
    "moved": lambda f: f.shift(1),
}


@pytest.mark.each_choice
@pytest.mark.parametrize("case", OPERATIONS)
@pytest.mark.parametrize("kind", LABELS)
def test_columns_chosen_by_labels_of_any_kind(kind, case):
    rows = pd.DataFrame(VALUES, columns=LABELS[kind])
    operation = OPERATIONS[case]
    lazy = operation(gd.from_pandas(rows, npartitions=2, sort=False))
    whole = operation(rows)
    for chosen in CHOSEN[kind]:
        wanted = [one for one in (chosen if isinstance(chosen, list) else [chosen]) if one not in whole.columns]
        if wanted:  # a key of groups
            continue
        found, expected = lazy[chosen].compute(), whole[chosen]
        if case == "first rows of groups":
            found, expected = found.sort_index(), expected.sort_index()
        assert_same(found, expected)
        if isinstance(expected, pd.DataFrame):
            assert found.columns.dtype == expected.columns.dtype


BESIDE_NONE = {
    "a matrix": lambda f: f.corr(),
    "descriptions": lambda f: f.describe(),
    "by column": lambda f: f.apply(lambda column: column.max()),
    "by label": lambda f: f.agg({"c": ["sum", "min"], "a": ["max"]}),
    "without others": lambda f: f.drop(columns=["a"]),
    "with a column": lambda f: f.assign(z=f[f.columns[1]]),
    "rows": lambda f: f[f["a"] > 0][["c"]],
    "sums of groups": lambda f: f.groupby("a")[[f.columns[1]]].sum(),
    "along groups": lambda f: f.groupby("a").cumsum(),
    "extremes of groups": lambda f: f.groupby("a").idxmax(skipna=True)[["c"]],
    "sorted": lambda f: f.sort_values("c")[["a"]],
    "side by side": lambda f: _library(f).concat([f[["a"]], f[["c"]]], axis=1),
}


def _library(frame):
    return pd if isinstance(frame, pd.DataFrame) else gd


@pytest.mark.parametrize("case", BESIDE_NONE)
@pytest.mark.parametrize("labels", [pd.Index(["a", None, "c"], dtype=object), pd.Index(["a", None, "c"])], ids=repr)
def test_a_label_that_is_missing_beside_texts(labels, case):
    """In a list of such labels pandas makes NaN of None, which no column is called then."""
    rows = pd.DataFrame(np.nan_to_num(VALUES), columns=labels)
    operation = BESIDE_NONE[case]
    assert_same(operation(gd.from_pandas(rows, npartitions=2, sort=False)).compute(), operation(rows))


@pytest.mark.parametrize("labels", [pd.Index(["a", None, "c"], dtype=object), pd.Index(["a", None, "c"])], ids=repr)
def test_several_results_of_a_column_whose_label_is_missing(labels):
    rows = pd.DataFrame(np.nan_to_num(VALUES), columns=labels)
    lazy, whole = (frame.groupby("a").agg(["min", "max"]) for frame in (gd.from_pandas(rows, npartitions=2), rows))
    for place in (0, 3):
        assert_same(lazy[[lazy.columns[place]]].compute(), whole[[whole.columns[place]]])
    with pytest.raises(KeyError):
        lazy[[("none", "min")]]


@pytest.mark.parametrize("key", [(slice(None), None), (3, None), (slice(2, 4), None), ([1, 2], None)], ids=str)
def test_a_column_whose_label_is_none_is_set_alone(key):
    rows = pd.DataFrame(VALUES, columns=pd.Index(["a", None, "c"], dtype=object))
    lazy, plain = gd.from_pandas(rows, npartitions=2, sort=False), rows.copy()
    for frame in (lazy, plain):
        frame.loc[key] = 0.5
        frame.at[5, None] = 7.5
    assert_same(lazy.compute(), plain)


def test_columns_of_groups_are_not_all_chosen_by_none():
    lazy = gd.from_pandas(pd.DataFrame(VALUES, columns=LABELS["none"]), npartitions=2)
    with pytest.raises(NotImplementedError, match=r"groupby\(\.\.\.\)\[\[None\]\]"):
        lazy.groupby("a")[None]


@pytest.mark.parametrize(
    "labels", [[1.5, np.nan, 2.0], ["a", None, "c"], pd.to_datetime(["2024-01-01", None, "2024-01-03"])], ids=repr
)
def test_a_column_whose_label_is_missing_is_dropped(labels):
    rows = pd.DataFrame(VALUES, columns=labels)
    lazy, plain = gd.from_pandas(rows, npartitions=2), rows.copy()
    assert_same(lazy.drop(columns=[rows.columns[1]]).compute(), rows.drop(columns=[rows.columns[1]]))
    assert_same(lazy.drop(columns=rows.columns[[0]]).compute(), rows.drop(columns=rows.columns[[0]]))
    for frame in (lazy, plain):
        del frame[frame.columns[1]]
    assert_same(lazy.compute(), plain)
    with pytest.raises(KeyError):
        lazy.drop(columns=["none"])


def test_columns_of_several_levels_are_chosen_after_rows_move():
    rows = pd.DataFrame(VALUES, columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 1), ("c", 2)]))
    lazy = gd.from_pandas(rows, npartitions=2, sort=False)
    for chosen in (("b", 1), [("b", 1)], "b"):
        assert_same(lazy.sort_values(("a", 1))[chosen].compute(), rows.sort_values(("a", 1))[chosen])
        found, expected = (frame.drop_duplicates(subset=[("a", 1)])[chosen] for frame in (lazy, rows))
        assert_same(found.compute().sort_index(), expected)


def test_a_number_of_numpy_chooses_a_column_of_frames_one_below_the_other():
    rows = pd.DataFrame({5: [1, 2], 7: [3, 4]})
    lazy = gd.from_pandas(rows, npartitions=2)
    assert_same(gd.concat([lazy, lazy])[np.int64(5)].compute(), pd.concat([rows, rows])[5])
    assert_same(gd.concat([lazy[[5]], lazy[[5]]])[np.int64(5)].compute(), pd.concat([rows, rows])[5])


def test_a_value_of_a_matrix_beside_a_label_that_is_none():
    rows = pd.DataFrame(VALUES, columns=LABELS["none"])
    lazy = gd.from_pandas(rows, npartitions=2, sort=False)
    assert lazy.corr().loc["a", None].compute() == pytest.approx(rows.corr().loc["a", None])
    assert_same(lazy.loc[2:4, None].compute(), rows.loc[2:4, None])
    with pytest.raises(KeyError):
        lazy[["a", 1]].loc[2, None]


OF_ONE_NAME = {
    "moved": lambda f: f.shift(1),
    "sums": lambda f: f.cumsum(),
    "filled": lambda f: f.ffill(),
    "differences": lambda f: f.diff(),
    "between": lambda f: f.interpolate(),
    "windows": lambda f: f.rolling(3).mean(),
    "weighted": lambda f: f.ewm(2).mean(),
    "wider": lambda f: f.expanding().sum(),
    "with a column": lambda f: f.assign(z=1),
    "with labels": lambda f: f.assign(z=f.index),
}


@pytest.mark.each_choice
@pytest.mark.filterwarnings("ignore:Setting a new column on a DataFrame with a MultiIndex")
@pytest.mark.parametrize("case", OF_ONE_NAME)
@pytest.mark.parametrize("npartitions", [1, 3])
@pytest.mark.parametrize("columns", [["a", "a", "b"], ["a", "a"], [("a", 1), ("a", 2), ("b", 1)]], ids=str)
def test_a_label_of_several_columns_chooses_all(columns, npartitions, case):
    """A plan is ready once no rule changes it: one that wraps the same operation anew never ends."""
    rows = pd.DataFrame(VALUES[:, : len(columns)])
    rows.columns = pd.Index(columns)
    operation = OF_ONE_NAME[case]
    lazy, expected = operation(gd.from_pandas(rows, npartitions=npartitions, sort=False)), operation(rows)
    has_z = "z" in expected.columns
    for chosen in [
        "a",
        ["a"],
        *([["a", "z"], "z"] if has_z else []),
        *(["b", ["a", "b"]] if len(columns) == 3 else []),
    ]:
        assert_same(lazy[chosen].compute(), expected[chosen])


@pytest.mark.parametrize(
    "dtypes", [["Int64"] * 3, ["uint16", "Int64", "float32"], ["float64", "Float64", "float64"]], ids=str
)
@pytest.mark.parametrize("wanted", [["a"], ["b", "c"], "a"], ids=str)
def test_quantiles_of_nullable_columns_have_the_dtype_of_all(dtypes, wanted):
    rows = pd.DataFrame({"a": [1, 4, 2, 8], "b": [1, 2, 3, 4], "c": [7, 5, 4, 3]}).astype(
        dict(zip("abc", dtypes, strict=True))
    )
    rows["b"] = rows["b"].where(rows["b"] != 2) if dtypes[1] in ("Int64", "Float64") else rows["b"]
    lazy = gd.from_pandas(rows, npartitions=1, sort=False)
    found = lazy.quantile(0.5, numeric_only=True)[wanted].compute()
    expected = rows.quantile(0.5, numeric_only=True)[wanted]
    if isinstance(wanted, list):
        assert_same(found, expected)
    else:
        assert type(found) is type(expected) and found == expected


def test_reductions_by_column_keep_the_name_of_the_columns():
    rows = pd.DataFrame(VALUES, columns=pd.Index(["a", "b", "c"], name="of"))
    lazy = gd.from_pandas(rows, npartitions=2, sort=False)
    for wanted in ({"a": ["sum", "min"], "c": ["sum", "min"]}, {"c": ["max"], "a": "min"}, {"a": "sum", "b": "max"}):
        assert_same(lazy.agg(wanted).compute(), rows.agg(wanted))
    both = {"a": ["sum", "min"], "b": ["sum", "min"]}
    assert_same(lazy.agg(both)[["b"]].compute(), rows.agg(both)[["b"]])


OF_NAN = {
    "set": lambda f: f.assign(),
    "sorted": lambda f: f.sort_values(np.nan, ascending=False),
    "filtered by it": lambda f: f[f[np.nan] > 3],
    "filtered by others": lambda f: f[f[1.5] > 3][np.nan],
    "groups by it": lambda f: f.groupby(np.nan)[1.5].sum().rename_axis("k"),
    "groups of it": lambda f: f.groupby(1.5)[np.nan].max(),
    "all groups": lambda f: f.groupby(np.nan).sum().rename_axis("k"),
    "a column before": lambda f: _with_first(f, f[np.nan]),
}


def _with_first(frame, column):
    made = frame.copy()
    made.insert(0, "first", column)
    return made


@pytest.mark.parametrize("case", OF_NAN)
@pytest.mark.parametrize("labels", [[1.5, 2.0, np.nan], [1.5, np.nan, 2.0]], ids=repr)
def test_a_column_labelled_nan_among_floats_is_found(labels, case):
    rows = pd.DataFrame(np.arange(18.0).reshape(6, 3), columns=labels)
    lazy = gd.from_pandas(rows, npartitions=2)
    for frame in (rows, lazy):
        frame[np.nan] = frame[1.5] * 2
    assert_same(OF_NAN[case](lazy).compute(scheduler="inline"), OF_NAN[case](rows))


def test_a_column_labelled_na_is_refused_where_it_is_chosen():
    rows = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=pd.Index(["a", "b", pd.NA], dtype=object))
    lazy = gd.from_pandas(rows, npartitions=2)
    assert lazy.sum().compute(scheduler="inline").tolist() == rows.sum().tolist()
    for choose in (lambda f: f[pd.NA], lambda f: f.sort_values(pd.NA), lambda f: f[["a", pd.NA]]):
        with pytest.raises(NotImplementedError, match=r"labelled pd\.NA can't be chosen"):
            choose(lazy)
