"""What asks only which values are missing: columns of which files say that none is aren't read."""

from __future__ import annotations

import datetime
import decimal

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from frame_helpers import assert_same, plan, reads
from glassloom.errors import ReadError

INLINE = {"scheduler": "inline"}
N = 12
WHOLE = pd.DataFrame(
    {
        "number": range(N),
        "word": ["a", "b", "c"] * 4,
        "day": pd.date_range("2026-01-01", periods=N),
        "flag": [True, False] * 6,
        "x": np.linspace(0, 1, N),
    }
)
SOME = WHOLE.assign(
    word=WHOLE.word.mask(WHOLE.number == 7), x=WHOLE.x.mask(WHOLE.number > 9), day=WHOLE.day.mask(WHOLE.number == 0)
)


@pytest.fixture(params=["whole", "some missing", "with labels"])
def both(request, tmp_path):
    """Return a frame and what reads it from a file of three row groups."""
    frame = {"whole": WHOLE, "some missing": SOME}.get(request.param, SOME.set_index(pd.Index(range(5, 17), name="i")))
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=4)
    return frame, gd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True)


def columns_read(lazy):
    """Return the names of the columns that are read."""
    names = [name for read in reads(lazy) for name in (read.meta.columns if read.columns is None else read.columns)]
    return set(names)


MADE = {
    "isna().sum()": lambda f: f.isna().sum(),
    "isnull().mean()": lambda f: f.isnull().mean(),
    "isna().any()": lambda f: f.isna().any(),
    "notna().all()": lambda f: f.notna().all(),
    "isna().sum().sum()": lambda f: f.isna().sum().sum(),
    "rows of isna": lambda f: f.isna(),
    "rows with missing values": lambda f: f[f.isna().any(axis=1)],
    "count": lambda f: f.count(),
    "count of some": lambda f: f[["word", "number"]].count(),
    "count of a column": lambda f: f.word.count(),
    "of a column": lambda f: f.day.isna().sum(),
    "share of a column": lambda f: f.number.notna().mean(),
    "dropna": lambda f: f.dropna(),
    "dropna of some": lambda f: f.dropna(subset=["word", "x"]),
    "dropna of many": lambda f: f.dropna(subset=["number", "flag"]),
    "dropna of a filter": lambda f: f[f.number > 3].dropna(),
    "dropna, summed": lambda f: f.dropna().groupby("flag").number.sum(),
    "dropna of all": lambda f: f.dropna(how="all"),
    "dropna with a threshold": lambda f: f.dropna(thresh=4),
    "dropna and numbers": lambda f: f.dropna(ignore_index=True),
    "condition": lambda f: f[f.word.notna()],
    "conditions": lambda f: f[f.word.notna() & (f.number > 2) & f.day.notnull()],
    "condition of a filter": lambda f: (lambda some: some[some.day.notna()])(f[f.number > 2]),
    "opposite": lambda f: f[f.word.isna()],
    "filled": lambda f: f.assign(word=f.word.fillna("z")).dropna(),
    "assigned": lambda f: f.assign(word=f.word.where(f.x > 0.5)).dropna(),
    "count of what is left": lambda f: f[f.number > 3].count(),
    "numbers of missing values": lambda f: f.isna().sum(axis=1).value_counts(),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_results_are_those_of_pandas(make, both):
    frame, lazy = both
    assert_same(make(lazy).compute(**INLINE), make(frame))


def test_only_columns_that_may_miss_values_are_read(tmp_path):
    WHOLE.to_parquet(tmp_path / "rows.parquet", row_group_size=4)
    lazy = gd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True)
    for name in ("isna().sum()", "isnull().mean()", "count", "isna().any()"):
        assert columns_read(MADE[name](lazy)) == {"x"}, name  # NaN may be among floats
    for name in ("count of a column", "of a column", "share of a column", "count of some"):
        assert columns_read(MADE[name](lazy)) == set(), name
    assert columns_read(lazy.isna().sum()[["x", "word"]]) == {"x"}
    assert columns_read(lazy.isna()[["word", "day"]].sum()) == set()
    assert columns_read(lazy.dropna().groupby("flag").number.sum()) == {"flag", "number"}
    (read,) = reads(lazy.dropna().groupby("flag").number.sum())
    assert [term.column for term in read.condition] == ["x"]
    assert columns_read(lazy[lazy.word.notna()].number.sum()) == {"number"}
    assert {node.label for node in plan(lazy.dropna(subset=["word", "day"]))} == {"read-parquet"}


def test_nan_among_floats_of_a_file_is_missing(tmp_path):
    table = pa.table({"x": pa.array([1.0, float("nan"), 3.0]), "k": [1, 2, 3]})  # no null
    pq.write_table(table, tmp_path / "rows.parquet")
    lazy, frame = gd.read_parquet(tmp_path / "rows.parquet"), pd.read_parquet(tmp_path / "rows.parquet")
    for make in (MADE["isna().sum()"], MADE["count"], MADE["dropna"], lambda f: f[f.x.notna()], lambda f: f.x.count()):
        assert_same(make(lazy).compute(**INLINE), make(frame))


def test_numbers_that_pandas_takes_for_no_time_are_missing(tmp_path):
    times = pa.array([-(2**63), 0, 5], pa.int64()).cast(pa.timestamp("ns"))
    pq.write_table(pa.table({"t": times}), tmp_path / "rows.parquet")
    lazy, frame = gd.read_parquet(tmp_path / "rows.parquet"), pd.read_parquet(tmp_path / "rows.parquet")
    assert frame.t.isna().sum() == 1
    assert_same(MADE["isna().sum()"](lazy).compute(**INLINE), MADE["isna().sum()"](frame))


@pytest.mark.parametrize("statistics", [True, False])
def test_columns_of_any_kind(statistics, tmp_path):
    table = pa.table(
        {
            "decimal": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal(2)]),
            "date": pa.array([datetime.date(2026, 1, 1)] * 3),
            "zoned": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
            "coded": pa.array(["a", "b", "a"]).dictionary_encode(),
            "bytes": pa.array([b"a", None, b"c"]),
            "lists": pa.array([[1], None, [2, 3]]),
            "parts": pa.array([{"a": 1}, {"a": None}, None]),
            "nothing": pa.nulls(3),
            "unsigned": pa.array([1, 2, None], pa.uint8()),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet", write_statistics=statistics)
    lazy, frame = gd.read_parquet(tmp_path / "rows.parquet"), pd.read_parquet(tmp_path / "rows.parquet")
    for name in ("isna().sum()", "count", "isna().any()", "dropna of all"):
        assert_same(MADE[name](lazy).compute(**INLINE), MADE[name](frame))
    assert ("date" in columns_read(lazy.count())) is not statistics


def test_columns_that_some_files_lack_may_miss_values(tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": [3, 4]}), tmp_path / "1.parquet")
    lazy = gd.read_parquet(sorted(tmp_path.glob("*.parquet")))
    frame = pd.concat([pd.read_parquet(path) for path in sorted(tmp_path.glob("*.parquet"))])
    assert_same(lazy.count().compute(**INLINE), frame.count())
    assert_same(lazy.dropna().compute(**INLINE).reset_index(drop=True), frame.dropna().astype({"a": "int64"}))


def test_folders_names_and_given_dtypes(tmp_path):
    WHOLE.assign(part=["p", "q"] * 6).to_parquet(tmp_path / "rows", partition_cols=["part"])
    lazy, frame = gd.read_parquet(tmp_path / "rows"), pd.read_parquet(tmp_path / "rows")
    assert_same(lazy.isna().sum().compute(**INLINE), frame.isna().sum())
    nullable = gd.read_parquet(tmp_path / "rows", dtype_backend="numpy_nullable")
    assert_same(
        nullable.count().compute(**INLINE),
        pd.read_parquet(tmp_path / "rows", dtype_backend="numpy_nullable").count(),
    )


SAID = pa.table(
    {"n": pa.array([1, 2, 250, 4], pa.uint8()), "yes": [True, False, True, True], "x": [1.0, 2.0, 3.0, 4.0]}
)
MISSED = pa.table(
    {"n": pa.array([1, None, 250, 5], pa.uint8()), "yes": [True, None, False, True], "x": [1.0, 2.0, 3.0, 4.0]}
)
UNTOLD = {
    "rows": lambda f: f,
    "added to": lambda f: f.n + 100,
    "compared": lambda f: f[f.n > 2],
    "booleans": lambda f: f[f.yes == True],  # noqa: E712
    "text": lambda f: f.n.astype(str),
    "groups": lambda f: f.groupby("n").x.sum(),
    "joined": lambda f: f.merge(f[["n"]].drop_duplicates(), on="n", how="left").groupby("n").x.count(),
    "without missing ones": lambda f: f[f.n.notna()].n,
}


@pytest.mark.parametrize("with_statistics", [(), ("a",), ("c",)])
@pytest.mark.parametrize("case", UNTOLD)
def test_whole_numbers_of_files_that_say_nothing_of_missing_values_are_floats_where_one_is_missing(
    tmp_path, case, with_statistics
):
    for name, table in {"a": SAID, "b": SAID, "c": MISSED}.items():
        pq.write_table(table, tmp_path / f"{name}.parquet", write_statistics=name in with_statistics)
    expected = UNTOLD[case](pd.read_parquet(tmp_path))
    lazy = gd.read_parquet(str(tmp_path))
    assert lazy.dtypes.astype(str).to_dict() == {"n": "float64", "yes": "object", "x": "float64"}
    assert_same(UNTOLD[case](lazy).compute(**INLINE), expected)


def test_whole_numbers_of_files_that_say_nothing_stay_such_where_none_is_missing(tmp_path):
    pq.write_table(SAID, tmp_path / "a.parquet", write_statistics=False)
    assert gd.read_parquet(str(tmp_path)).dtypes.astype(str).to_dict() == {"n": "uint8", "yes": "bool", "x": "float64"}


def test_a_file_that_says_nothing_of_missing_values_and_is_damaged_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(SAID, path, write_statistics=False, compression="snappy")
    raw = bytearray(path.read_bytes())
    raw[4:60] = b"\xff" * 56
    path.write_bytes(raw)
    with pytest.raises(ReadError, match=r"a\.parquet' can't be read"):
        gd.read_parquet(str(path))


EPOCH = pd.Timestamp("1970-01-01")
NO_TIMES = {
    "before": lambda f: f[f.t < pd.Timestamp("2020-01-01")],
    "not before": lambda f: f[~(f.t < pd.Timestamp("2020-01-01"))].x,
    "equal": lambda f: f[f.t == EPOCH].x,
    "missing": lambda f: f[f.t.isna()].x,
    "there": lambda f: f[f.t.notna()].x,
    "the first": lambda f: f[f.t == f.t.min()].x,
    "between": lambda f: f[f.t.between("1960-01-01", "2020-01-01")].t.dt.year,
}


@pytest.mark.parametrize("unit", ["ns", "us"])
@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize("case", NO_TIMES)
def test_the_number_of_a_missing_time_is_one_in_conditions_though_a_file_has_it_as_a_value(tmp_path, unit, says, case):
    for name, numbers in {"a": [-(2**63), 0, 10**9], "b": [5, None, -(2**63)], "c": [7, 8, 9]}.items():
        times = pa.array(numbers, pa.int64()).cast(pa.timestamp(unit))
        pq.write_table(pa.table({"t": times, "x": [1, 2, 3]}), tmp_path / f"{name}.parquet", write_statistics=says)
    expected = NO_TIMES[case](pd.read_parquet(tmp_path).reset_index(drop=True))
    assert_same(NO_TIMES[case](gd.read_parquet(str(tmp_path))).compute(**INLINE), expected)


def test_rows_are_chosen_by_times_while_they_are_read_where_no_file_has_the_number_of_a_missing_one(tmp_path):
    pq.write_table(pa.table({"t": pa.array([0, None, 9], pa.timestamp("us"))}), tmp_path / "a.parquet")
    lazy = gd.read_parquet(str(tmp_path))
    (read,) = reads(lazy[lazy.t < pd.Timestamp("2020-01-01")])
    assert read.condition
