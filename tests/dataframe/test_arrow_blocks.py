"""Fused blocks on Arrow's columns: each result is that of pandas' objects, and pandas', to the last dtype, label and missing value."""

from __future__ import annotations

import pickle

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arrow.blocks import Column, Rows, TableBlock, Values, block_of, is_block, plain
from glassloom.dataframe.arrow.forms import WithForm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from long_tests import examples
from property_settings import BY_LUCK

TEXT = ["", "a", "ab", "Brand#1", "häß", "spécial requests", None]

COLUMNS = {
    "i": (pa.int64(), st.integers(-3, 5)),
    "n": (pa.int64(), st.one_of(st.none(), st.integers(-3, 5))),
    "h": (pa.int16(), st.integers(-3, 5)),
    "f": (pa.float64(), st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, -2.0, float("inf"), float("nan")]))),
    "g": (pa.float32(), st.sampled_from([0.0, 1.5, -2.0])),
    "s": (pa.string(), st.sampled_from(TEXT)),
    "w": (pa.string(), st.sampled_from(TEXT[:-1])),
    "t": (pa.timestamp("us"), st.one_of(st.none(), st.sampled_from([pd.Timestamp("2000-01-01"), pd.Timestamp("2001-05-06")]))),
    "z": (pa.timestamp("us", tz="UTC"), st.sampled_from([pd.Timestamp("2000-01-01", tz="UTC")])),
    "b": (pa.bool_(), st.booleans()),
    "d": (pa.date32(), st.one_of(st.none(), st.sampled_from([pd.Timestamp("2000-01-01").date()]))),
}  # fmt: skip


@st.composite
def tables(draw):
    """Return an Arrow table with all kinds of columns, some with missing values."""
    length = draw(st.integers(0, 14))
    made = {}
    for name, (kind, values) in COLUMNS.items():
        cells = draw(st.lists(values, min_size=length, max_size=length))
        made[name] = pa.array(cells, kind, from_pandas=False)
    return pa.table(made)


MASKS = {
    "comparison": lambda f: f.i > 0,
    "method": lambda f: f.i.__ge__(1),
    "columns": lambda f: f.i < f.h,
    "floats": lambda f: f.f != 1.5,
    "maybe": lambda f: f.n >= 0,
    "text": lambda f: f.s == "ab",
    "not text": lambda f: f.s != "ab",
    "text order": lambda f: f.w >= "ab",
    "two texts": lambda f: f.s == f.w,
    "isin": lambda f: f.s.isin(["a", "Brand#1"]),
    "isin numbers": lambda f: f.i.isin([1, 2]),
    "between": lambda f: f.i.between(0, 3),
    "contains": lambda f: ~f.s.str.contains("spé.*req"),
    "plain contains": lambda f: f.w.str.contains("a", regex=False),
    "starts": lambda f: f.s.str.startswith("B") | f.b,
    "ends": lambda f: f.s.str.endswith("b", na=True),
    "time": lambda f: f.t >= pd.Timestamp("2000-06-01"),
    "zone": lambda f: f.z == pd.Timestamp("2000-01-01", tz="UTC"),
    "year": lambda f: f.t.dt.year == 2000,
    "missing": lambda f: f.s.isna() | f.f.notna(),
    "flag": lambda f: f.b,
    "length": lambda f: f.s.str.len() > 1,
    "all": lambda f: f.i > -10,
    "none": lambda f: f.i > 10,
    "index": lambda f: f.i.index > 2,
}
STEPS = {
    "arithmetic": lambda f: f.assign(x=f.f * (1 - f.g), y=f.i * 3 + f.h, q=f.i / f.h, m=f.i // f.h, k=-f.i % 3),
    "constants": lambda f: f.assign(one=1, half=0.5, text="abc", day=pd.Timestamp("2000-01-01")),
    "replaced": lambda f: f.assign(i=f.f, f=f.i.astype("float32")),
    "where": lambda f: f.assign(x=f.f.where(f.s == "a", 0.0), y=f.i.mask(f.b)),
    "text": lambda f: f.assign(x=f.s.str[:1], y=f.w.str.upper(), u=f.s.str.len()),
    "times": lambda f: f.assign(year=f.t.dt.year, day=f.t.dt.normalize()),
    "filled": lambda f: f.assign(f=f.f.fillna(7.0), s=f.s.fillna("?")),
    "clipped": lambda f: f.assign(f=f.f.clip(0, 1), i=f.i.abs(), g=f.g.round()),
    "renamed": lambda f: f.rename(columns={"g": "gg"}).assign(g=f.g),
    "by index": lambda f: f.assign(x=f.i + f.index),
    "shorter": lambda f: f[["w", "i", "s", "f", "h", "b", "g", "t", "n", "z", "d"]],
    "category": lambda f: f.assign(s=f.w.astype("category")),
    "dropped": lambda f: f.dropna(subset=["f"]),
    "whole": lambda f: f.assign(x=f.i.map(lambda value: value + 1, meta=("x", "int64")) if is_lazy(f) else f.i.map(lambda value: value + 1)),
}  # fmt: skip
ENDS = {
    "frame": lambda f: f,
    "columns": lambda f: f[["s", "i", "t"]],
    "series": lambda f: f.f,
    "text": lambda f: f.w,
    "count": lambda f: f.count(),
    "sum": lambda f: f.i.sum(),
    "largest": lambda f: f[["i", "f", "h"]].max(),
    "where the largest": lambda f: f.i.idxmin() if is_lazy(f) or len(f) else None,
    "kinds": lambda f: f.s.nunique(),
    "values": lambda f: f.i.value_counts().sort_index(),
    "group by text": lambda f: f.groupby("s").agg(a=("i", "sum"), b=("f", "count"), c=("h", "max"), d=("i", "mean")),
    "group by texts": lambda f: f.groupby(["w", "s"]).i.sum(),
    "all groups": lambda f: f.groupby(["s", "b"], dropna=False).agg({"i": ["min", "sum"], "w": "nunique"}),
    "in order": lambda f: f.groupby("s", sort=False).i.count(),
    "group by number": lambda f: f.groupby("h").w.min(),
    "group by time": lambda f: f.groupby("t").size(),
    "group by values": lambda f: f.i.groupby(f.s).sum(),
    "distinct": lambda f: f[["s", "h"]].drop_duplicates(),
    "distinct labels": lambda f: f.drop_duplicates(subset=["w"])[["i", "w"]],
    "rows": lambda f: len(f),
}


def is_lazy(value):
    return isinstance(value, (gd.DataFrame, gd.Series))


def computed(value):
    return value.compute() if hasattr(value, "compute") else value


def compare(got, expected):
    kind = (
        "exact" if HAS_COPY_ON_WRITE else "equiv"
    )  # before pandas 3 labels that are chosen of a range are one no more
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(got, expected, check_exact=True, check_index_type=kind)
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(got, expected, check_exact=True, check_index_type=kind)
    else:
        assert type(got) is type(expected)
        assert got == expected or (got != got and expected != expected)


def tried(function):
    """Return what a function returns, or the type of what it raises: an overflow, a mean of no values."""
    try:
        return computed(function())
    except (ArithmeticError, TypeError, ValueError) as error:
        return type(error)


def write(table, folder, rows, *, with_dictionary=True, name="a"):
    pq.write_table(table, folder / f"{name}.parquet", row_group_size=max(rows, 1), use_dictionary=with_dictionary)
    return folder


@settings(max_examples=examples(120), suppress_health_check=[*BY_LUCK, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_chain_on_arrows_columns_is_that_of_pandas(tmp_path_factory, data):
    table = data.draw(tables())
    folder = write(
        table, tmp_path_factory.mktemp("chain"), data.draw(st.integers(2, 15)), with_dictionary=data.draw(st.booleans())
    )
    names = data.draw(st.lists(st.sampled_from([*MASKS, *STEPS]), max_size=4))
    end = data.draw(st.sampled_from(sorted(ENDS)))

    def run(frame):
        for name in names:
            frame = frame[MASKS[name](frame)] if name in MASKS else STEPS[name](frame)
        return ENDS[end](frame)

    def read():
        return gd.read_parquet(folder)

    got = tried(lambda: run(read()))
    with gl.config.set({"dataframe.arrow": False}):
        without = tried(lambda: run(read()))
    compare(got, without)
    # pandas keeps the categories of rows that are filtered out, and other labels of equal rows
    has_unlike = "category" in names or end in ("where the largest", "distinct labels")
    if not isinstance(got, type) and not has_unlike:
        expected = run(pq.read_table(folder / "a.parquet", use_threads=False).to_pandas(use_threads=False))
        are_rows = not hasattr(expected, "__len__") or len(expected) > 0
        pd.testing.assert_frame_equal(as_frame(got), as_frame(expected), check_dtype=are_rows)


def as_frame(value):
    if isinstance(value, pd.DataFrame):
        return value
    return value.to_frame() if isinstance(value, pd.Series) else pd.DataFrame({"value": [value]})


@settings(max_examples=examples(60), suppress_health_check=[*BY_LUCK, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_joins_on_arrows_columns_are_those_of_pandas(tmp_path_factory, data):
    left, right = data.draw(tables()), data.draw(tables())
    folder = tmp_path_factory.mktemp("join")
    write(left, folder, data.draw(st.integers(2, 15)), name="l")
    write(right, folder, 4, name="r")
    keys = data.draw(st.sampled_from([["i"], ["w"], ["s"], ["i", "h"], ["w", "b"], ["t"], ["f"]]))
    how = data.draw(st.sampled_from(["inner", "left", "right", "leftsemi", "leftanti"]))
    mask, after = (
        data.draw(st.sampled_from(sorted(MASKS))),
        data.draw(st.sampled_from(["x > 1", "none", "sum", "twice"])),
    )

    def run():
        one, other = gd.read_parquet(folder / "l.parquet"), gd.read_parquet(folder / "r.parquet")
        one = one[MASKS[mask](one)]
        other = other[[*keys, "g", "d", "z"] if "f" in keys else [*keys, "f", "g", "d"]].assign(x=other.i)
        joined = one.merge(other, on=keys, how=how)
        if after == "twice" and how != "leftsemi":
            joined = joined.merge(other[[*keys, "x"]].rename(columns={"x": "again"}), on=keys, how="inner")
        if after == "x > 1" and "x" in joined.columns:
            joined = joined[joined.x > 1].assign(y=joined.x * 2, v=joined.w.str.upper())
        if after == "sum":
            return joined.groupby("w").agg(a=("i", "sum"), b=("n", "max"))
        return joined

    got = tried(run)
    with gl.config.set({"dataframe.arrow": False}):
        compare(got, tried(run))


@pytest.fixture
def folder(tmp_path):
    table = pa.table({"x": [3, 1, 2, 5] * 3, "y": [0.5, None, 1.5, 2.5] * 3, "s": ["a", None, "b", "a"] * 3})
    return write(table, tmp_path, 6)


def test_the_index_of_a_file_stays(folder):
    pd.DataFrame({"x": range(6), "s": list("abcabc")}, index=pd.Index(list("uvwxyz"), name="label")).to_parquet(
        folder / "b.parquet"
    )
    frame = gd.read_parquet(folder / "b.parquet")
    expected = pd.read_parquet(folder / "b.parquet")
    compare(
        frame[frame.s == "b"].assign(z=frame.x * 2).compute(), expected[expected.s == "b"].assign(z=lambda f: f.x * 2)
    )
    compare(frame[frame.x + 0 > 2].s.compute(), expected[expected.x > 2].s)


def test_what_a_users_function_gets_is_pandas_and_its_own(folder):
    """Arrow's memory can't be written to: a function that sets values in place must work as without Arrow."""

    def doubled(block):
        assert type(block) is pd.DataFrame
        block.loc[:, "x"] *= 2
        return block

    def written(column):
        values = column.to_numpy(copy=True)
        values[:] = 7
        return pd.Series(values, index=column.index)

    frame = gd.read_parquet(folder)
    chosen = frame[frame.x + 0 > 1]
    compare(chosen.map_partitions(doubled).x.compute(), 2 * pd.read_parquet(folder).query("x > 1").x)
    assert set(chosen.x.map_partitions(written).compute()) == {7}
    for lazy in (chosen, chosen.x, frame.x):
        result = lazy.compute()
        result.iloc[0] = result.iloc[1]
        assert list(np.ravel(result.iloc[0])) == list(np.ravel(result.iloc[1]))


def test_a_column_is_taken_once_from_what_was_read_however_often_rows_are_chosen():
    taken = []

    class Counted(np.ndarray):
        def take(self, places, *args, **kwargs):
            taken.append(len(places))
            return np.asarray(self).take(places, *args, **kwargs)

    values = np.arange(10).view(Counted)
    rows = Rows(10, lambda: pd.RangeIndex(10))
    block = TableBlock({"x": Column(Values(lambda: values)), "y": Column.of(np.arange(10))}, pd.Index(["x", "y"]), rows)
    fewer = block.of_rows(rows.where(Column.of(np.arange(10) % 2 == 0)))
    fewest = fewer.of_rows(fewer.rows.where(Column.of(np.array([False, True, True, False, False]))))
    assert not taken
    compare(
        fewest.to_pandas(), pd.DataFrame({"x": [2, 4], "y": [2, 4]}, index=pd.Index([2, 4])).set_axis(fewest.rows.index)
    )
    assert taken == [2]
    assert fewest.rows.index.tolist() == [2, 4]


def test_blocks_of_the_same_choice_of_rows_correspond():
    rows = Rows(4, lambda: pd.RangeIndex(4))
    predicate = Column.of(np.array([True, False, True, True]))
    assert rows.where(predicate) is rows.where(predicate)
    assert rows.where(Column.of(np.ones(4, bool))) is rows


def test_an_operation_without_a_form_gets_pandas_objects():
    block = block_of(pd.DataFrame({"x": [1, 2]}))
    assert is_block(block)
    counted = WithForm(lambda frame: type(frame), None)
    assert counted(block) is pd.DataFrame
    refuses = WithForm(lambda frame: frame.x.sum(), lambda frame: NotImplemented, is_last=True)
    assert refuses(block) == 3
    assert type(WithForm(plain, lambda frame: frame, is_last=True)(block)) is pd.DataFrame
    again = pickle.loads(pickle.dumps(WithForm(plain, None)))
    assert again(block).x.tolist() == [1, 2]


def test_a_plan_says_what_runs_on_arrow(folder):
    frame = gd.read_parquet(folder)
    masked = frame[frame.s.str.contains("a")].assign(z=frame.x * 2)
    plan = str(masked.groupby("s").z.sum().explain()).split("as it will run")[1]
    assert "on Arrow" in plan
    line = next(line for line in plan.splitlines() if "read-parquet" in line)
    assert "  all  " in line, plan
    partly = str(masked.map_partitions(lambda block: block, meta=masked._meta).z.sum().explain()).split(
        "as it will run"
    )[1]
    assert "all but" in partly, partly
    with gl.config.set({"dataframe.arrow": False}):
        assert "on Arrow" not in str(masked.z.sum().explain())


def test_numbers_and_instants_are_arrows_memory(folder):
    table = pa.table(
        {"t": pa.array([1, 2], pa.timestamp("us")), "x": [1.5, 2.5], "n": pa.array([1, None], pa.timestamp("ms"))}
    )
    pq.write_table(table, folder / "t.parquet")
    source = gd.read_parquet(folder / "t.parquet").expr.source
    block = source.block_reader(None, None)(source.piece(0))
    for name in ("t", "x"):
        array = block.columns[name].array
        assert not array.flags.owndata
        assert not array.flags.writeable
        assert not np.shares_memory(array, block.series(name).copy().to_numpy())
    expected = pd.read_parquet(folder / "t.parquet")
    compare(pd.DataFrame({name: block.series(name) for name in "txn"}), expected)


@pytest.fixture
def labelled(tmp_path):
    """A file with labels of its own, and its frame."""
    frame = pd.DataFrame(
        {"x": [0, 1, 2, 3], "y": [np.nan, np.nan, np.nan, 1.0], "w": list("abab")},
        index=pd.Index([10, 11, 12, 13], name="k"),
    )
    frame.to_parquet(tmp_path / "a.parquet")
    return gd.read_parquet(tmp_path / "a.parquet"), pd.read_parquet(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "work",
    [
        lambda f: f.assign(q=f.y.fillna({10: 1.0, 1: 7.0})),
        lambda f: f.assign(q=f.w.str.split("x").str[0]),
        lambda f: f.assign(q=f.x.where(f.x < 5, f.w)),
        lambda f: f.assign(q=f.w.where(f.x > 3, 0))[["q", "x"]],
        lambda f: f[["x", "x"]].assign(q=f.y),
        lambda f: f[f.x + 0 > 0][["x", "x"]],
        lambda f: f.assign(q=f.x + 1)[["q", "x", "q"]].sum(),
    ],
)
def test_labels_objects_and_columns_chosen_twice_are_pandas(labelled, work):
    lazy, frame = labelled
    compare(work(lazy).compute(), work(frame))


@pytest.mark.parametrize("how", ["inner", "left"])
def test_objects_of_a_joined_frame_stay_objects(labelled, how):
    lazy, frame = labelled
    others = pd.DataFrame(
        {"x": [0, 1, 3], "o": pd.Series(list("abc"), dtype=object), "t": pd.Series([pd.Timestamp(0)] * 3, dtype=object)}
    )
    compare(lazy.merge(gd.from_pandas(others, 1), on="x", how=how).compute(), frame.merge(others, on="x", how=how))


@pytest.mark.parametrize(
    "work",
    [
        lambda f: f[f.x + 0 > 0][["x", "y"]].assign(c=f.x, x=f.x),
        lambda f: f[["x"]].assign(a=f.x + 1).assign(x=lambda f: f.a),
        lambda f: f[["x"]].assign(x=f.w.astype("category")).assign(a=lambda f: f.x),
    ],
)
def test_columns_of_a_result_share_no_memory(labelled, work):
    lazy, frame = labelled
    found, expected = work(lazy).compute(), work(frame)
    compare(found, expected)
    for one in (found, expected):
        one.iloc[0, 0] = one.iloc[1, 0]
    compare(found, expected)
