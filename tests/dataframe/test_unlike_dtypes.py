"""Where partitions have unlike dtypes, as only some miss values, what shows a dtype is what pandas makes of all rows together."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of, check_all
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.io import unlike_texts
from glassloom.errors import MetaError
from glassloom.expr import walk

ROWS = pd.DataFrame(
    {
        "s": ["ant", "b", "cow", None, "dog", "ox", "", "hen"],
        "k": ["u", "v", "u", "v", None, "u", "v", "u"],
        "i": [1, 2, 0, 4, 5, 2, 1, 3],
        "f": [0.5, 1.0, np.nan, 2.5, 9.0, 1.0, 0.0, 1.0],
        "t": pd.date_range("2020", periods=8).where(np.arange(8) != 6),
    }
)
CUTS = [(0, 8), (0, 4, 8), (0, 3, 3, 5, 8), (0, 1, 2, 3, 4, 5, 6, 7, 8)]
UNEVEN = {
    "lengths of text": lambda x, m: x.s.str.len(),
    "lengths of objects": lambda x, m: x.s.astype(object).str.len(),
    "lengths, filled": lambda x, m: x.s.str.len().fillna(0),
    "text among objects": lambda x, m: x.s.astype(object).str.contains("o"),
    "years": lambda x, m: x.t.dt.year,
    "replaced by text": lambda x, m: x.i.replace(4, "four"),
    "replaced by a fraction": lambda x, m: x.i.replace(4, 0.5),
    "clipped": lambda x, m: x.i.clip(0.5, 4),
    "divided by zero": lambda x, m: x.i // x.i,
    "what a function made": lambda x, m: x.i.map(lambda value: None if value == 4 else value),
    "looked up": lambda x, m: x.k.map({"u": 1}),
    "a chosen column": lambda x, m: x.assign(n=x.s.str.len(), z=0)[["z", "n"]].n,
    "some rows": lambda x, m: x.assign(n=x.s.str.len())[x.i > 0].n,
    "numbers in groups": lambda x, m: x.groupby("k").cumcount(),
    "numbers of groups": lambda x, m: x.groupby("k").ngroup(),
    "sums of groups": lambda x, m: x.groupby("k").i.transform("sum"),
    "nullable numbers": lambda x, m: x.i.astype("Int64").mask(x.i == 4),
    "numbers of intervals": lambda x, m: m.cut(x.f, [0, 1, 3], labels=False),
}
SHOWN = {
    "text": lambda x: x.astype(str),
    "text by name": lambda x: x.to_frame("n").astype({"n": str}).n,
    "objects": lambda x: x.astype(object),
    "categories": lambda x: x.astype("category").astype(str),
    "values given to a function": lambda x: x.map(repr),
    "values that are applied to": lambda x: x.apply(repr),
    "rows": lambda x: x.to_frame("n").apply(lambda row: repr(row.n), axis=1),
}


def lazy(cuts):
    pieces = [ROWS[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
    return gd.from_map(pieces.__getitem__, range(len(pieces)), meta=ROWS[:0])


@pytest.mark.each_choice
@pytest.mark.parametrize(
    "cuts", [pytest.param(one, marks=pytest.mark.long) if len(one) == 3 else one for one in CUTS], ids=str
)
@pytest.mark.parametrize("uneven", UNEVEN.values(), ids=UNEVEN.keys())
def test_what_shows_a_dtype_shows_that_of_all_rows(cuts, uneven):
    for name, shown in SHOWN.items():
        if name == "categories" and uneven is UNEVEN["nullable numbers"] and not HAS_COPY_ON_WRITE:
            continue  # before pandas 3 what is missing becomes another text if there are no categories
        expected = shown(uneven(ROWS, pd))
        got = shown(uneven(lazy(cuts), gd)).compute(scheduler="inline")
        try:
            assert_same(got, expected, check_dtype="text" not in name)
        except AssertionError as error:
            error.add_note(name)
            raise


def test_values_that_were_held_meanwhile_show_the_dtype_of_all_rows():
    held = lazy((0, 3, 8)).s.str.len().persist(scheduler="inline")
    assert held.astype(str).compute(scheduler="inline").tolist()[:3] == ["3.0", "1.0", "3.0"]


EVEN = {
    "a column": lambda x: x.i,
    "arithmetic": lambda x: -x.i + x.i * 2,
    "a comparison": lambda x: x.i > x.f,
    "what is missing": lambda x: x.s.isna(),
    **(
        {"text that is searched": lambda x: x.s.str.contains("o")} if HAS_COPY_ON_WRITE else {}
    ),  # else objects where one is missing
    "rows": lambda x: x[x.f > 0].assign(n=x.i).n,
    "fractions": lambda x: x.f.fillna(0),
    "text": lambda x: x.s.str.upper(),
}


@pytest.mark.parametrize("even", EVEN.values(), ids=EVEN.keys())
def test_no_partition_waits_for_others_where_all_have_one_dtype(even):
    made = even(lazy((0, 3, 8))).map(str)
    assert not [node for node in walk([made.expr]) if "common-dtypes" in node.name]
    assert made.compute(scheduler="inline").tolist() == even(ROWS).map(str).tolist()


MISSED = {
    "in the first rows": {3: 1, 4: 7, 5: 2},
    "in the last rows": {0: 1, 1: 7, 2: 2},
    "in all but one": {4: 2},
    "in all": {9: 2},
}
OF_ALL = {
    "values on a line": lambda x, n: n.interpolate(),
    "values on a line, both ways": lambda x, n: n.interpolate(limit_direction="both"),
    "running sums of groups": lambda x, n: x.assign(n=n).groupby("k").n.cumsum(),
    "greatest values of groups": lambda x, n: x.assign(n=n).groupby("k").n.cummax(),
    "running sums": lambda x, n: n.cumsum(),
    "the most frequent": lambda x, n: n.mode(),
    "a quantile": lambda x, n: n.quantile(0.5),
    "quantiles": lambda x, n: n.quantile([0.2, 0.6]),
    "the median": lambda x, n: n.median(),
    "positions in order": lambda x, n: n.argsort(kind="stable"),
    "a frame on lines": lambda x, n: x[["i"]].assign(n=n).interpolate(),
}


@pytest.mark.pairwise
@pytest.mark.parametrize("cuts", CUTS, ids=str)
@pytest.mark.parametrize("missed", MISSED)
@pytest.mark.parametrize("name", OF_ALL)
@pytest.mark.filterwarnings("ignore")  # before pandas 3, of positions of missing values
def test_numbers_of_which_some_partitions_miss_values_are_pandas(name, missed, cuts):
    made, expected = (OF_ALL[name](x, x.i.map(MISSED[missed])) for x in (lazy(cuts), ROWS))
    found = made.compute(scheduler="inline")
    if name == "the most frequent" and pd.api.types.is_integer_dtype(found.dtype):
        expected = expected.astype("int64")  # if no partition with a value misses one
    assert_same(found, expected)


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_missing_values_among_booleans_stay_missing_where_frames_are_joined(cuts):
    for missed in ({3: True, 4: False, 5: True}, {0: True, 1: False, 2: True}, {4: False}):
        made, expected = (x.i.map(missed) for x in (lazy(cuts), ROWS))
        assert_same(gd.concat([made, made]).compute(scheduler="inline"), pd.concat([expected, expected]))
        frames = [made.to_frame("n").assign(z=1), made.to_frame("n")]
        plain = [expected.to_frame("n").assign(z=1), expected.to_frame("n")]
        assert_same(gd.concat(frames).compute(scheduler="inline"), pd.concat(plain))


def written(path):
    return "".join(file.read_text() for file in sorted(path.iterdir()))


@pytest.mark.parametrize("cuts", CUTS, ids=str)
@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_numbers_are_written_as_text_as_those_of_all_rows(tmp_path, cuts, scheduler):
    def numbers(x):
        return x.assign(n=x.s.str.len(), m=x.i.replace(4, 0.5), o=x.i.replace(4, "four"), e=-x.i)[["n", "m", "o", "e"]]

    frame = numbers(lazy(cuts))
    frame.to_csv(tmp_path / "one.csv", single_file=True)
    assert (tmp_path / "one.csv").read_text() == numbers(ROWS).to_csv()
    count = frame.to_csv(tmp_path / "csv", header=False, compute=False).compute(scheduler=scheduler)
    assert (count, written(tmp_path / "csv")) == (8, numbers(ROWS).to_csv(header=False))
    frame.n.to_csv(tmp_path / "column", header=False)
    assert written(tmp_path / "column") == numbers(ROWS).n.to_csv(header=False)
    frame.to_json(tmp_path / "json")
    lines = written(tmp_path / "json").split()  # pandas writes a blank line where there are no rows
    assert lines == numbers(ROWS).to_json(orient="records", lines=True).split()
    assert sorted(one.name for one in (tmp_path / "csv").iterdir()) == [
        f"part-{number:04}.csv" for number in range(len(cuts) - 1)
    ]


def test_rows_whose_numbers_have_one_dtype_are_written_once(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(unlike_texts.pickle, "dumps", lambda *values, **options: kept.append(values))
    # Of what a function makes nothing is known; what is at hand has one dtype.
    known = gd.from_pandas(ROWS, npartitions=2)
    known[["i", "f", "s"]].assign(e=lambda x: x.i * 2).to_csv(tmp_path / "csv")
    assert not kept


@pytest.mark.parametrize("cuts", CUTS, ids=str)
@pytest.mark.parametrize("column", ["i", "f"])
def test_numbers_of_intervals_have_the_dtype_of_the_meta_where_the_edges_are_found(cuts, column):
    frame = lazy(cuts)
    pairs = [
        (gd.cut(frame[column], 3, labels=False), pd.cut(ROWS[column], 3, labels=False)),
        (gd.qcut(frame[column], 2, labels=False), pd.qcut(ROWS[column], 2, labels=False)),
    ]
    for made, expected in pairs:
        assert_same(made.compute(), expected)
        assert made.dtype == expected.dtype
        assert {block.dtype for block in blocks_of(made) if len(block)} == {expected.dtype}


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_categories_that_are_numbers_are_written_as_pandas_writes_them(cuts):
    frame = ROWS[["i", "s"]].assign(
        c=pd.Categorical([3, 1, 2, None, 3, 1, 2, 2]), whole=pd.Categorical([3, 1, 2, 3, 3, 1, 2, 2])
    )
    pieces = [frame.iloc[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
    made = gd.from_map(pieces.__getitem__, range(len(pieces)), meta=frame[:0])
    for dtype in (str, "string"):
        assert_same(made.c.astype(dtype).compute(), frame.c.astype(dtype))
        assert_same(made.astype({"c": dtype, "whole": dtype}).compute(), frame.astype({"c": dtype, "whole": dtype}))
    assert_same(made[["c", "whole"]].astype(str).compute(), frame[["c", "whole"]].astype(str))


LOOKED_UP = {
    "all numbers": ("k", {"u": 1, "v": 2}),
    "some numbers": ("k", {"u": 1}),
    "texts": ("k", {"u": "one"}),
    "fractions": ("i", {1: 0.5, 2: 2}),
    "texts of numbers": ("i", {4: "four"}),
    "a series": ("i", pd.Series([True, False], index=[1, 2])),
    "times": ("k", {"u": pd.Timestamp("2020")}),
    "none": ("k", {}),
}


@pytest.mark.parametrize("cuts", CUTS, ids=str)
@pytest.mark.parametrize(("column", "mapper"), LOOKED_UP.values(), ids=LOOKED_UP.keys())
def test_looked_up_values_have_the_dtype_of_those_that_are_found(cuts, column, mapper):
    made, expected = lazy(cuts)[column].map(mapper), ROWS[column].map(mapper)
    assert_same(made.compute(scheduler="inline"), expected)
    if len(mapper):
        assert made.dtype == pd.Series(mapper).dtype


def test_reductions_listed_for_whole_numbers_with_missing_ones_are_floats():
    made = lazy((0, 3, 8)).assign(n=lambda x: x.s.str.len())[["n", "i"]].agg(["sum", "min"])
    assert_same(made.compute(), ROWS.assign(n=lambda x: x.s.str.len())[["n", "i"]].agg(["sum", "min"]))


def test_long_chains_of_operations_are_looked_at_once():
    """Each step takes the one before twice: to look at all ways back would take for ever, and the chain is deeper than Python's stack."""
    frame = lazy((0, 3, 8))[["i"]]
    for _ in range(300):
        frame["i"] = frame.i + 1 - (frame.i > 0) * 1
    made = frame.i.map(repr)
    assert not [node for node in walk([made.expr]) if "common-dtypes" in node.name]


@pytest.mark.parametrize("npartitions", [1, 3])
def test_a_column_of_fewer_rows_has_one_dtype_where_it_becomes_text(npartitions):
    frame = pd.DataFrame({"v": range(12)})
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    for as_text in (lambda s: s.astype(str), lambda s: s.map(repr)):
        got = as_text(lazy.assign(z=lazy.v[lazy.v > 3]).z).compute(scheduler="inline")
        assert_same(got, as_text(frame.assign(z=frame.v[frame.v > 3]).z))


RETURNED = {
    "text": lambda v: "x" if v in (2, 3, "dog", "ox") else None,
    "all there is": lambda v: None if v == 1 or v == "ant" else 1 if v in (2, "b") else "x",
    "times": lambda v: pd.Timestamp("2020") if v in (3, "hen") else None,
    "fractions": lambda v: 1.5 if v in (3, "hen") else None if v in (1, 2, "ant", "b") else 1,
    "nothing": lambda v: None,
    "NaN and text": lambda v: float("nan") if v in (1, 2, "ant", "b") else "x",
    "what it got": lambda v: v,
    "lists": lambda v: [v] if v in (3, "hen") else None,
}
GIVEN = {
    "numbers": ROWS.i,
    "objects": pd.Series(["ant", None, 1, 2, 3, 4, "ox", "hen"], dtype=object),
    "text": ROWS.s,
    "nullable numbers": ROWS.i.astype("Int64"),
}


@pytest.mark.parametrize("function", RETURNED.values(), ids=RETURNED.keys())
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN.keys())
def test_what_a_function_returns_has_the_dtype_that_all_of_it_has(given, function):
    frame = pd.DataFrame({"v": given, "i": ROWS.i})
    parts = gd.from_map(lambda start, end: frame.iloc[start:end], [0, 2, 2, 4], [2, 2, 4, 8], meta=frame.iloc[:0])
    for operation in (
        lambda x: x.v.map(function),
        lambda x: x.v.map(function, na_action="ignore"),
        lambda x: x.v.apply(function),
        lambda x: x[["v"]].map(function),
        lambda x: x.apply(lambda row: function(row["v"]), axis=1),
    ):
        got, expected = operation(parts).compute(scheduler="inline"), operation(frame)
        assert_same(got, expected)
        if HAS_COPY_ON_WRITE:  # before pandas 3 text is objects, and other partitions don't say whether there is any
            are_none = [one is None for one in expected.to_numpy(dtype=object).ravel()]
            assert [one is None for one in got.to_numpy(dtype=object).ravel()] == are_none


@pytest.mark.parametrize("dtype", ["int8", "Int64", "float32", "category", object])
def test_series_are_combined_with_a_value(dtype):
    series = pd.Series([1, 2, 3, 2, 1], dtype=dtype)
    operations = {
        "sums": lambda s: s.combine(2, lambda one, other: one + other),
        "conditions": lambda s: s.combine(2, lambda one, other: one > other),
        "text of some": lambda s: s.combine(2, lambda one, other: "x" if one > other else None),
        "numbers of some": lambda s: s.combine(2, lambda one, other: other if one > 1 else None),
    }
    check_all(operations, series, gd.from_pandas(series, npartitions=3))
    of_lazy = gd.from_pandas(ROWS.i, npartitions=3)
    got = of_lazy.combine(of_lazy.max(), lambda one, other: one * other).compute(scheduler="inline")
    assert_same(got, ROWS.i.combine(ROWS.i.max(), lambda one, other: one * other))


def test_a_function_whose_results_decide_on_a_dtype_is_called_once_for_each_value():
    called = []
    made = lazy((0, 3, 8)).i.map(lambda v: called.append(v) or ("x" if v > 2 else None))
    called.clear()
    assert made.isna().sum().compute(scheduler="inline") == 5
    assert sorted(called) == sorted(ROWS.i)


def test_series_that_a_function_returned_for_no_made_up_row_are_named():
    made = lazy((0, 3, 8)).apply(lambda row: row[["i"]] if row["s"] == "ant" else None, axis=1)
    with pytest.raises(MetaError, match="returned a Series, but scalars for two made-up rows.* meta="):
        made.compute(scheduler="inline")


SERIES_FOR_EACH = {
    "of numbers": lambda f: f.apply(lambda row: pd.Series({"p": row["n"], "q": 1}), axis=1),
    "of one's own kinds": lambda f: f.apply(lambda row: pd.Series([None, row["n"]], index=["p", "q"]), axis=1),
    "the row": lambda f: f.apply(lambda row: row.fillna(0), axis=1),
    "for values": lambda f: f.o.apply(lambda value: pd.Series([1, value is None])),
}


@pytest.mark.parametrize("apply", SERIES_FOR_EACH.values(), ids=SERIES_FOR_EACH)
def test_functions_that_return_series_beside_objects(apply):
    frame = pd.DataFrame({"n": range(6), "o": pd.Series([1, "x", None, 2, "y", 3], dtype=object)})
    assert_same(apply(gd.from_pandas(frame, npartitions=3)).compute(scheduler="inline"), apply(frame))


def test_a_function_whose_results_decide_on_a_dtype_is_called_once_where_partitions_are_chosen():
    called = []
    made = lazy((0, 3, 8)).i.map(lambda value: called.append(value) or ("x" if value > 2 else None))
    called.clear()
    made.partitions[0].compute(scheduler="inline")
    assert sorted(called) == sorted(ROWS.i)


BESIDE_OTHER_ROWS = {
    "assigned": lambda few, sums: few.assign(z=sums),
    "assigned to a filtered frame": lambda few, sums: few[few.x > 1].assign(z=sums),
    "reindexed": lambda few, sums: sums.reindex(few.index),
    "aligned": lambda few, sums: few.x.align(sums, join="left")[1],
    "beside": lambda few, sums: (pd if isinstance(few, pd.DataFrame) else gd).concat([few, sums], axis=1, join="inner"),
}


@pytest.mark.parametrize("operation", BESIDE_OTHER_ROWS.values(), ids=BESIDE_OTHER_ROWS)
def test_numbers_are_floats_where_the_rows_that_miss_them_are_left_out(operation):
    few = pd.DataFrame({"x": [1, 2, 3]}, index=[2, 3, 4])
    one, other = pd.Series(range(6), index=range(6)), pd.Series(range(6), index=range(2, 8))
    expected = operation(few, (one + other).rename("z"))
    lazy_few, lazy_one, lazy_other = (gd.from_pandas(part, npartitions=3) for part in (few, one, other))
    assert_same(operation(lazy_few, (lazy_one + lazy_other).rename("z")).compute(scheduler="inline"), expected)
