"""Columns of whose results nothing is made aren't read: results are pandas', and plans read what they need."""

from __future__ import annotations

import operator

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels, reads

N = 90
RNG = np.random.default_rng(5)
ROWS = pd.DataFrame(
    {
        "t": pd.date_range("2020", periods=N, freq="h"),
        "k": RNG.integers(0, 5, N),
        "n": RNG.integers(-9, 9, N),
        "x": RNG.normal(size=N).round(3),
        "y": np.where(np.arange(N) % 7 == 0, np.nan, RNG.normal(size=N).round(3)),
        "z": RNG.normal(size=N).astype("float32"),
        "g": RNG.choice(list("abc"), N),
    }
)
NUMBERS = ["k", "n", "x", "y"]
OF_REDUCTIONS = {
    **{how: lambda f, t, how=how: getattr(f[NUMBERS], how)()["x"] for how in ["mean", "std", "sum", "max", "median"]},
    "a quantile": lambda f, t: f[NUMBERS].quantile(0.3)["x"],
    "by loc": lambda f, t: f[NUMBERS].mean().loc["x"],
    "counts": lambda f, t: f.count()["x"],
    "distinct values": lambda f, t: f.nunique()["x"],
    "missing values": lambda f, t: f.isna().sum()["x"],
    "any": lambda f, t: (f[NUMBERS] > 1.5).any()["x"],
    "description": lambda f, t: f[NUMBERS].describe()["x"],
    "several reductions": lambda f, t: f[NUMBERS].agg(["sum", "max"])["x"],
    "descriptions": lambda f, t: f[[*NUMBERS, "z"]].describe()[["x"]],
}


def _dummies(frame):
    dtype = pd.CategoricalDtype(list("abc"))
    return (pd if isinstance(frame, pd.DataFrame) else gd).get_dummies(frame.astype({"g": dtype}), columns=["g"])


OF_ROWS = {
    "bins": (lambda f, t: t[NUMBERS].resample("5h").mean()["x"], "x"),
    "sums of bins": (lambda f, t: t[NUMBERS].resample("5h").sum()[["n", "x"]], "nx"),
    "counts of bins": (lambda f, t: t.resample("5h").count()["g"], "g"),
    "regular times": (lambda f, t: t.asfreq("3h")["x"], "x"),
    "regular times between": (lambda f, t: t.asfreq("90min")["n"], "n"),
    "filled": (lambda f, t: t.resample("30min").ffill()["y"], "y"),
    "filled with means": (lambda f, t: f[NUMBERS].fillna(f[NUMBERS].mean())["y"], "y"),
    "standardized": (lambda f, t: ((f[NUMBERS] - f[NUMBERS].mean()) / f[NUMBERS].std())[["y", "x"]], "xy"),
    "scaled": (lambda f, t: (f[["x", "y"]] / f[["x", "y"]].max())["y"], "y"),
    "repeated": (lambda f, t: f.duplicated(subset=["k"]), "k"),
    "numbers of groups": (lambda f, t: f.assign(r=f.groupby("k").ngroup())[["r", "y"]], "ky"),
    "moved labels": (lambda f, t: t.shift(freq="1h")["x"], "x"),
    "dummies": (lambda f, t: _dummies(f[["g", *NUMBERS]])[["x", "g_b"]], "gx"),
    "a filter of what is computed of groups": (
        lambda f, t: f.assign(m=f.groupby("k").x.transform("mean")).query("m > 0")[["y"]],
        "kxy",
    ),
    "computed": (lambda f, t: f.eval("w = x + y")["w"], "xy"),
}


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    ROWS.to_parquet(folder / "rows.parquet", row_group_size=20)
    ROWS.set_index("t").to_parquet(folder / "times.parquet", row_group_size=20)
    lazy = gd.read_parquet(folder / "rows.parquet", split_row_groups=True)
    return lazy, gd.read_parquet(folder / "times.parquet", split_row_groups=True, calculate_divisions=True)


def columns_read(collection):
    return {name for read in reads(collection) for name in read.columns}


@pytest.mark.parametrize("case", OF_REDUCTIONS)
def test_of_a_row_of_reductions_the_chosen_one_is_computed(case, frames):
    operation = OF_REDUCTIONS[case]
    lazy = operation(*frames)
    assert columns_read(lazy) == {"x"}
    found, expected = lazy.compute(), operation(ROWS, ROWS.set_index("t"))
    if isinstance(expected, (pd.Series, pd.DataFrame)):
        assert_same(found, expected)
    else:
        assert type(found) is type(expected) and found == pytest.approx(expected)


@pytest.mark.parametrize("case", OF_ROWS)
def test_rows_of_the_chosen_columns_are_made(case, frames):
    operation, wanted = OF_ROWS[case]
    lazy = operation(*frames)
    assert columns_read(lazy) == set(wanted)
    assert_same(lazy.compute(), operation(ROWS, ROWS.set_index("t")))


@pytest.mark.parametrize("how", ["corr", "cov"])
def test_columns_of_a_matrix(how, frames):
    for operation in (lambda f: getattr(f, how)().loc["x", "y"], lambda f: getattr(f, how)()[["y", "x"]].loc[["x"]]):
        lazy = operation(frames[0][NUMBERS])
        assert columns_read(lazy) == {"x", "y"}
        found, expected = lazy.compute(), operation(ROWS[NUMBERS])
        assert found == pytest.approx(expected) if isinstance(expected, float) else assert_same(found, expected) is None
    whole = frames[0][NUMBERS].cov(ddof=0).loc["x", "n"]  # pandas heeds it only if no value is missing, of any column
    assert columns_read(whole) == set(NUMBERS)
    assert whole.compute() == pytest.approx(ROWS[NUMBERS].cov(ddof=0).loc["x", "n"])


def test_nearest_rows_of_few_columns(frames):
    other = ROWS[["t", "n", "y", "z"]].rename(columns={"n": "q"})
    lazy = gd.merge_asof(
        frames[0], frames[0][["t", "n", "y", "z"]].rename(columns={"n": "q"}), on="t", direction="forward"
    )[["x", "q"]]
    assert "g" not in columns_read(lazy) and "k" not in columns_read(lazy)
    expected = pd.merge_asof(ROWS, other, on="t", direction="forward")[["x", "q"]]
    assert_same(lazy.compute().reset_index(drop=True), expected)


@pytest.mark.parametrize(
    ("how", "wanted"), [("sum", "n"), ("max", "n"), ("sum", "z"), ("mean", "z"), ("idxmax", "x")], ids=str
)
def test_values_whose_dtype_depends_on_other_columns_are_computed_with_them(how, wanted, frames):
    columns = ["n", "x", "z"]
    lazy = getattr(frames[0][columns], how)()[wanted]
    found, expected = lazy.compute(), getattr(ROWS[columns], how)()[wanted]
    assert type(found) is type(expected) and found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("operation", [operator.sub, operator.mul], ids=["sub", "mul"])
def test_numbers_beside_a_row_of_others(operation, frames):
    lazy = operation(frames[0][["n", "x"]], frames[0][["n", "x"]].sum())["n"]
    assert_same(lazy.compute(), operation(ROWS[["n", "x"]], ROWS[["n", "x"]].sum())["n"])
    fewer = operation(frames[0][["n", "x"]], frames[0][["x", "n"]].sum())["n"]  # in another order
    assert_same(fewer.compute(), operation(ROWS[["n", "x"]], ROWS[["x", "n"]].sum())["n"])


def test_a_row_of_which_several_values_are_used_is_computed_once(frames):
    means = frames[0][NUMBERS].mean()
    lazy = means["x"] + means["y"]
    assert len(reads(lazy)) == 1
    assert lazy.compute() == pytest.approx(ROWS.x.mean() + ROWS.y.mean())


OF_GROUPS = {
    **{how: lambda g, how=how: getattr(g, how)() for how in
       ["cumsum", "cummax", "cumprod", "shift", "diff", "ffill", "bfill", "rank", "pct_change", "median", "quantile"]},
    "means of rows": lambda g: g.transform("mean"),
    "counts of rows": lambda g: g.transform("count"),
    "changed by a name": lambda g: g.transform("cumsum"),
    "first rows": lambda g: g.head(2),
    "last rows": lambda g: g.tail(2),
    "a row": lambda g: g.nth(1),
}  # fmt: skip
NEEDS_ALL = {"changed by a name"}


@pytest.mark.each_choice
@pytest.mark.parametrize("case", OF_GROUPS)
@pytest.mark.parametrize("by", ["a column", "a series", "several"])
@pytest.mark.parametrize("wanted", ["y", ["y"], ["x", "n"], ["n", "x"]], ids=str)
def test_groups_of_the_chosen_columns(case, by, wanted, frames):
    keys = {"a column": lambda f: "k", "a series": lambda f: f.k % 3, "several": lambda f: ["k", "g"]}[by]
    operation = lambda f: OF_GROUPS[case](f.groupby(keys(f)))[wanted]  # noqa: E731
    numbers = frames[0][["g", *NUMBERS]] if by == "several" else frames[0][NUMBERS]
    lazy = operation(numbers)
    chosen = {wanted} if isinstance(wanted, str) else set(wanted)
    if case not in NEEDS_ALL:
        assert columns_read(lazy) == chosen | ({"k", "g"} if by == "several" else {"k"})
    expected = operation(ROWS[["g", *NUMBERS]] if by == "several" else ROWS[NUMBERS])
    found = lazy.compute()
    if case in ("first rows", "last rows", "a row"):
        found, expected = found.sort_index(), expected.sort_index()
    assert_same(found, expected)


def test_groups_of_a_frame_that_got_other_columns(frames):
    frame, like = frames[0][NUMBERS], ROWS[NUMBERS].copy()
    made, expected = frame.groupby("k").shift(1), like.groupby("k").shift(1)
    frame["x"] = frame["n"] * 2.0
    frame.columns = ["a", "b", "c", "d"]
    assert_same(made[["x", "n"]].compute(), expected[["x", "n"]])
    assert columns_read(made[["x", "n"]]) == {"k", "x", "n"}


def test_groups_whose_keys_are_columns_of_the_result(frames):
    operation = lambda f: f[NUMBERS].groupby("k", as_index=False).median()[["k", "x"]]  # noqa: E731
    assert_same(operation(frames[0]).compute(), operation(ROWS))


def test_groups_of_which_several_columns_are_used_apart_move_once(frames):
    made = frames[0][NUMBERS].groupby("k").shift(1)
    lazy = made.x - made.y
    expected = ROWS[NUMBERS].groupby("k").shift(1)
    assert [name for name in labels(lazy) if name == "return-rows"] == ["return-rows"]
    assert_same(lazy.compute(), expected.x - expected.y)
