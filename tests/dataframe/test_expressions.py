"""Expressions of `query` and `eval` are read as pandas reads them, and ask all rows where a method or function does."""

import random

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all, check_in_parts, partitionings, reads
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from long_tests import cases

INLINE = {"scheduler": "inline"}
PLAIN = pd.DataFrame(
    {
        "x": [1, 2, 3, 4, 5, 2, 7.5],
        "y": [3, 1, 2, 2, 2, 9, 4],
        "name": [*"xyzxyz", None],
        "a b": range(7),
        "ts": pd.date_range("2020-01-01", periods=7),
        "c": pd.Categorical(list("uvwuvwu")),
        "f": np.arange(7, dtype="float32") / 3,
        "n": pd.array(["a", "b", None, "a", "b", "c", "d"], dtype="string"),
        "i": pd.array([1, None, 3, 4, 5, 6, 7], dtype="Int64"),
    }
)


class Holder:
    v = 2


def with_variables(method, text):
    """Return a function that calls `query` or `eval` of a frame where variables of many kinds are."""

    def call(frame):
        number, array, d, holder = 2, np.arange(7.0)[::-1], {"k": 3}, Holder()
        values, texts, day = [1, 2], {"x", "y"}, pd.Timestamp("2020-01-03")
        mask = np.array([True, False, True, False, True, False, True])
        lazy, own, wide = frame.x.mean(), frame.x, np.float64(1.1)
        mean, centred, half = lambda s: s.mean(), lambda s: s.to_numpy() - s.to_numpy().mean() + 4, lambda s: len(s) / 2
        middle, both, double = lambda s: np.percentile(s, 50), lambda one, other: (one + other) / 2, lambda v: v * 2
        used = (
            number,
            array,
            d,
            holder,
            values,
            texts,
            day,
            mask,
            lazy,
            own,
            wide,
            mean,
            centred,
            half,
            middle,
            both,
            double,
        )
        assert len(used) == 17  # the expression names them
        return getattr(frame, method)(text)

    return call


def require_pandas(call):
    """Skip the test if the installed pandas can't do what later ones can: methods of operators' results, NumPy 2's functions."""
    if PANDAS_VERSION >= (3, 1):
        return
    try:
        call(PLAIN)
    except Exception as error:
        pytest.skip(f"this pandas raises {error!r}")


ALL_ROWS = [
    "x > x.iloc[0]", "x >= x.iloc[-1]", "x > x[3]", "x > x.loc[3]", "x > x.at[3]", "x > x.mode()[0]", "x < x.describe()['max']",
    "x > x.values.mean()", "x > x.to_numpy().mean()", "x > x.values - 1", "x > x.to_numpy() - 1", "x > x.size / 2", "x > x.shape[0] / 2",
    "x < inf", "x == -Inf", "x in y", "y not in x", "x in x.unique()", "x in x.nlargest(2)", "x in [1, 2, x.max()]", "x in [y, 2]", "[1, 2] in x", "(x + y).mean() < y",
    "(x > 1 and y < 4).sum() == x.count() - 3 or x > 2", "x > x.groupby(y).transform('mean')", "x.between(x.quantile(.2), x.quantile(.8))",
    "x.shift() > 2 and x.rank() > 1", "x.duplicated()", "ts == ts.max()", "ts > ts.mean()", "index > index.mean()", "x.index > 2",
]  # fmt: skip
AS_PANDAS = [
    "name == 'a@b'", "name != 'x & y'", "name == 'x' # `a` & @b", "`a b` > 3 & x < 5 | y == 2", "'x' in name", "x in (1, 2)", "x == [1, 2]",
    "x != [1, 2]", "name == ['x', 'y']", "name in @texts", "1 < x < 5", "1 < x <= y", "not x > 2", "~(x > 2) and y == 2", "ts > '2020-01-03'",
    "ts == '2020-01-03'", "'2020-01-03' < ts", "ts in ['2020-01-03']", "ts >= @day", "ts.dt.day > 3", "c == 'u'", "c != 'u'", "c in ['u', 'w']",
    "n == 'a'", "n != 'a'", "'a' == n", "n not in ['a']", "i == 3", "i != 3", "i not in [1, 3]", "f > 0.3333", "f == 1 / 3", "f * @wide > 0.5",
    "f > y.mean() / 9", "sin(x) > 0", "arctan2(x, y) > 0.5", "abs(x - 3) > 1", "sqrt(x) > x.mean() / 2", "index.isin([1, 2])", "index in [1, 2]",
    "ilevel_0 > 3", "x ** 2 > 9", "x // 2 == 1", "x % 2 == 0", "-x < -3", "(x > 1) == (y > 2)", "name > 'x'", "name.str[0] == 'x'",
    "ts > @Timestamp('2020-01-03')", "x < @inf", "@mask", "x > 1 and @mask", "@array > 2", "x > @array", "x in @values", "x == @values",
    "@d['k'] < x", "@holder.v < x", "x < @lazy", "@own > @number",
]  # fmt: skip
FUNCTIONS = [
    "x > @mean(x)", "x > @centred(x)", "x > @half(x)", "x > @middle(x)", "x > @np.percentile(x, 50)", "x > @both(x, y)", "x.map(@double) > 4",
    "@np.where(x > 2, True, False)", "x in @np.unique(y)", "x > @np.sort(y)", "x > @np.where(y > 2, x.mean(), y)",
]  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize("text", [*ALL_ROWS, *AS_PANDAS, *FUNCTIONS])
def test_rows_are_those_that_pandas_chooses(text):
    call = with_variables("query", text)
    require_pandas(call)
    check_in_parts(PLAIN, call)


VALUES = [
    "x + 1", "x", "index", "index > 3", "x.mean()", "x.mean() + 1", "x.sum() > y.sum()", "x.values", "1 + 2", "z = x + 1", "z = x.max()",
    "z = index", "z = index > 3", "z = @array", "z = x + @array", "x + @array", "@array + x", "@values", "z = @np.where(x > 2, 1, 0)",
    "@np.where(x > 2, x, y)", "x - x.iloc[-1]", "x / x.sum()", "x.describe()", "x.describe()['max'] + 1", "x.mode()", "x.isin(y)", "ts.dt.year",
    "f * 2", "f * 2.5", "f + y.mean()", "f + f.mean()", "f * @wide", "i * 2.5", "sin(x) + cos(y)", "exp(x.mean())", "@centred(x)", "@half(x)",
    "@mean(x) + y", "x = x * 2\ny = x + x.max()", "(x > 1 & y < 3).mean()", "x.where(y > 2, y)", "x.clip(y.min(), y.mean())", "z = None", "x == None",
    "x.sum().round(1)", "x.max() in [7.5, 2]", "x[1:3]", "x.loc[2]", "x.iloc[1:3]", "x.quantile([.2, .5])", "name.str.cat(sep='-')",
]  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_values_are_those_that_pandas_makes(text):
    call = with_variables("eval", text)
    require_pandas(call)
    expected = call(PLAIN)
    for lazy in partitionings(PLAIN):
        got = call(lazy)
        got = got.compute(**INLINE) if hasattr(got, "compute") else got
        if isinstance(expected, np.ndarray):
            assert type(got) is np.ndarray
            assert got.dtype == expected.dtype
            assert got.tolist() == expected.tolist()
        else:
            assert_same(got, expected)


@pytest.mark.more
def test_names_of_index_levels_are_columns():
    named = PLAIN.set_axis(pd.Index(range(7), name="k"))
    check_in_parts(named, lambda frame: frame.query("k > 2 and index < 6"))
    check_in_parts(named, lambda frame: frame.query("k > k.mean()"))
    check_in_parts(named.set_index("y", append=True), lambda frame: frame.query("k > 2 and y < 4"))
    if HAS_COPY_ON_WRITE:
        check_in_parts(PLAIN.rename(columns={"x": 0}), lambda frame: frame.query("`0` > `0`.mean()"))


@pytest.mark.more
def test_options_are_those_of_pandas():
    check_in_parts(PLAIN, lambda frame: frame.query("(x > 2) & (y < 4)", parser="python"))
    check_in_parts(PLAIN, lambda frame: frame.query("x > limit", resolvers=[{"limit": 2}]))
    check_in_parts(PLAIN, lambda frame: frame.query("x > @limit", local_dict={"limit": 2}, engine="python"))
    lazy = gd.from_pandas(PLAIN, npartitions=2)
    with pytest.raises(
        NotImplementedError, match=r"query\(parser='python'\): 'BoolOp' nodes are not implemented; write & and |"
    ):
        lazy.query("x > 2 and y < 4", parser="python")
    with pytest.raises(
        TypeError, match=r"query\(\) got an unexpected keyword argument 'parzer'; it takes engine, .*parser"
    ):
        lazy.query("x > 2", parzer="python")
    with pytest.raises(KeyError, match="parser='perl' should be 'pandas' or 'python'"):
        lazy.query("x > 2", parser="perl")
    with pytest.raises(NotImplementedError, match=r"eval\(target=.*isn't supported"):
        lazy.eval("z = x", target=PLAIN)


@pytest.mark.parametrize("text", ["x > 1 if y else 2", "x is y", "lambda: x", "x >", "x > nothing", "x > @nothing", "min(x)", "x > 1; y", "z = w = x", "x += 1", "q.z = x", "x.dt.day > 1", "x\ny"])  # fmt: skip
def test_what_pandas_refuses_is_refused_alike(text):
    with pytest.raises(Exception, match=".") as expected:  # noqa: PT011 - which one is pandas' choice
        PLAIN.eval(text)
    with pytest.raises(expected.type):
        gd.from_pandas(PLAIN, npartitions=2).eval(text)


def test_what_has_no_meaning_for_partitions_is_refused():
    lazy = gd.from_pandas(PLAIN, npartitions=3)
    for text, what in (("x", "Series"), ("x.max() > 3", "Scalar")):
        with pytest.raises(
            ValueError, match=rf"makes a lazy {what}, and no boolean for each row; loc\[...\] takes labels"
        ):
            lazy.query(text)
    with pytest.raises(NotImplementedError, match=r"query: 3 in x asks pandas whether it is a label of a row"):
        lazy.query("3 in x")
    with pytest.raises(ValueError, match="query: 'z = x' assigns a column; == compares"):
        lazy.query("z = x")
    with pytest.raises(NotImplementedError, match=r"assigns to a name in backticks.*frame\['new col'\] = frame.eval"):
        lazy.eval("`new col` = x")
    with pytest.raises(ValueError, match="Can only compare identically-labeled Series objects"):
        lazy.query("x > x.mode()").compute(**INLINE)
    for text in ("x > @short", "x + @short"):
        with pytest.raises(ValueError, match=r"Length of values \(2\) does not match length of index \(7\)"):
            lazy.eval(text, local_dict={"short": np.array([1, 2])})


def test_functions_are_called_once_with_whole_columns():
    lazy = gd.from_pandas(PLAIN, npartitions=3)
    calls = []

    def limit(values=None):
        calls.append(None if values is None else len(values))
        return 2

    assert len(lazy.query("x > @limit(x)").compute(**INLINE)) == 4
    assert len(lazy.query("x > @limit()").compute(**INLINE)) == 4
    assert calls == [7, None]


def test_series_at_hand_are_aligned_by_label():
    other = pd.Series(np.arange(7.0), index=range(6, -1, -1), name="x")
    lazy = gd.from_pandas(PLAIN, npartitions=3)
    for values in (other, other[:3], pd.Series([1.0, 2.0], index=[1, 20])):
        options = {"local_dict": {"values": values}}
        assert_same(lazy.eval("x + @values", **options).compute(**INLINE), PLAIN.eval("x + @values", **options))
    text, options = "x + @other > 4 and y < 9", {"local_dict": {"other": other}}
    assert_same(lazy.query(text, **options).compute(**INLINE), PLAIN.query(text, **options))


def test_conditions_are_known_to_readers_of_files(tmp_path):
    gd.from_pandas(PLAIN[["x", "y", "name", "f"]], npartitions=2).to_parquet(tmp_path)
    lazy = gd.read_parquet(tmp_path).query("x > 2 and name == 'z' and y in [2, 9]")[["y"]]
    (read,) = reads(lazy)
    assert "f" not in (read.columns or ["f"])
    assert "x" in repr(read.condition)
    assert_same(lazy.compute(**INLINE), PLAIN.query("x > 2 and name == 'z' and y in [2, 9]")[["y"]])


NUMBERS = ["x", "y", "f", "`a b`", "i", "2", "1.5", "-1", "@number"]
OF_NUMBERS = [
    "{}.mean()", "{}.sum()", "{}.max()", "{}.median()", "{}.shift()", "{}.cumsum()", "{}.diff()", "{}.fillna(1)", "{}.abs()", "{}.clip(0, 3)",
    "{}.rank()", "{}.where({} > 0, 0)", "{}.round()", "{}.astype('float64')", "{}.map(@double)", "@mean({})", "{}.iloc[0]",
]  # fmt: skip
CONDITIONS = [
    "n == 'a'", "n != 'a'", "name in ['x', 'q']", "c not in ['u']", "i == 3", "i not in [1]", "ts > '2020-01-03'", "ts in ['2020-01-02']", "x in y",
    "0 < x <= y", "name.isna()", "@mask", "not x > 2", "x.duplicated()", "index in [0, 5]", "name.str.len() == 1", "x in [1, x.max()]",
]  # fmt: skip


def number(rng, depth):
    kind = rng.random()
    if depth == 0 or kind < 0.25:
        return rng.choice(NUMBERS)
    if kind < 0.6:
        return f"({number(rng, depth - 1)} {rng.choice('+-*/%')} {number(rng, depth - 1)})"
    if kind < 0.7:
        return f"{rng.choice(['abs', 'sqrt', 'floor', 'exp'])}({number(rng, depth - 1)})"
    column = rng.choice(NUMBERS[:5])
    return rng.choice(OF_NUMBERS).replace("{}", column)


def condition(rng, depth):
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        comparison = f"{number(rng, depth)} {rng.choice(['>', '<=', '==', '!='])} {number(rng, depth)}"
        return rng.choice([comparison, rng.choice(CONDITIONS)])
    if kind < 0.8:
        return f"({condition(rng, depth - 1)}) {rng.choice(['and', '&', 'or', '|'])} ({condition(rng, depth - 1)})"
    return f"{rng.choice(['not', '~'])} ({condition(rng, depth - 1)})"


@pytest.mark.more
@pytest.mark.parametrize("seed", cases(range(20), range(5)))
@pytest.mark.filterwarnings("ignore")
def test_random_expressions_are_those_of_pandas(seed):
    rng = random.Random(seed)
    for _ in range(8):
        method = rng.choice(["query", "eval"])
        text = condition(rng, 2) if method == "query" else rng.choice(["", "z = "]) + number(rng, 3)
        call = with_variables(method, text)
        try:
            expected = call(PLAIN)
        except Exception:  # pandas takes no constants alone, for example
            continue
        for lazy in partitionings(PLAIN):
            got = call(lazy)
            assert_same(got.compute(**INLINE) if hasattr(got, "compute") else got, expected)


def _of_columns(col):
    """Return operations with expressions of columns, which pandas 3 has."""
    return {
        "rows": lambda f: f[col("x") > 2],
        "rows by label": lambda f: f.loc[(col("x") > 2) & ~col("name").isna(), "y"],
        "cells": lambda f: f[["x", "y"]].where(col("x") > 2),
        **({"filter": lambda f: f.filter(cond=col("y") == 2)} if PANDAS_VERSION >= (3, 1) else {}),
        "columns": lambda f: f.assign(z=col("x") * 2, w=col("z") - col("y").mean()),
        "functions": lambda f: f.assign(z=np.log(col("x")), w=col("name").str.upper(), t=col("ts").dt.year),
        "no column": lambda f: f.assign(z=col("q")),
    }


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 3 has expressions of columns")
def test_expressions_of_columns_are_those_of_pandas():
    check_all(_of_columns(pd.col), PLAIN, gd.from_pandas(PLAIN, npartitions=3))


def _selections(col):
    return {
        "names": lambda f: f.select("y", "x"),
        "a list": lambda f: f.select(["y", "x", "y"]),
        "computed": lambda f: f.select("name", col("x") * 2, z=col("x") + 1, w=lambda rows: rows.z - rows.y),
        "chosen before and after": lambda f: f.select("x", x=col("x") + 1, y=1.5),
        "swapped": lambda f: f.select(col("x").rename("y"), col("y").rename("x")),
        "columns of a frame": lambda f: f.select(col("x") > 2, "ts"),
        "none": lambda f: f.select(),
        "no name": lambda f: f.select(col("x") + col("y")),
        "a value": lambda f: f.select(col("x").sum()),
        "a set": lambda f: f.select({"x"}),
        "a list beside names": lambda f: f.select(["x"], "y"),
        "no column": lambda f: f.select("q"),
    }


@pytest.mark.skipif(PANDAS_VERSION < (3, 1), reason="pandas 3.1 has select")
def test_columns_are_selected_as_by_pandas():
    check_all(_selections(pd.col), PLAIN, gd.from_pandas(PLAIN, npartitions=3))
    levels = PLAIN[["x", "y", "a b"]].set_axis(pd.MultiIndex.from_tuples([("p", "q"), ("p", "r"), ("s", "q")]), axis=1)
    named = {"levels": lambda f: f.select("s", ("p", "r"), "p")}
    check_all(named, levels, gd.from_pandas(levels, npartitions=3))


def test_rows_are_filtered_by_booleans_of_which_missing_ones_are_not_true():
    lazy = gd.from_pandas(PLAIN, npartitions=3)
    expected = PLAIN[[True, False, False, True, False, False, False]]
    condition = [True, None, False, True, None, False, False]
    for kind in (np.array(condition, dtype=object), pd.Series(condition), pd.array(condition, dtype="boolean")):
        assert_same(lazy.filter(cond=kind).compute(**INLINE), expected)
    for wrong in (["x"], [1, 0], "x", lambda f: f[["x"]] > 1, lambda f: f.x, np.ones((7, 2), dtype=bool)):
        with pytest.raises(TypeError, match="must be a one-dimensional boolean mask"):
            lazy.filter(cond=wrong)


def test_times_are_compared_with_numbers_that_stand_for_days():
    for frame in (PLAIN, PLAIN.assign(ts=PLAIN.ts.dt.tz_localize("UTC"))):
        check_in_parts(frame, lambda f: f.query("20200102 < ts <= 20200105"))
        check_in_parts(frame, lambda f: f.query("ts == 20200102.0 or x in [4]"))
