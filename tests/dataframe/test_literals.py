"""Constants that a column of a Parquet file can't have: beyond its range, between its values, of another unit or zone."""

from __future__ import annotations

import datetime
import operator
from itertools import product

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from frame_helpers import assert_same, reads
from glassloom.errors import OptionError
from glassloom.graph import tokenize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from long_tests import examples
from property_settings import BY_LUCK

OPERATORS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
TABLE = pa.table(
    {
        "u8": pa.array([0, 5, 255], pa.uint8()),
        "u64": pa.array([0, 5, 2**63 + 5], pa.uint64()),
        "i8": pa.array([-128, 1, 127], pa.int8()),
        "i64": pa.array([-(2**63), 3, 2**63 - 1], pa.int64()),
        "f64": [1.5, float("nan"), float("inf")],
        "ns": pa.array([-(2**62), 1, 2**62], pa.timestamp("ns")),
        "us": pa.array([0, 1, 2**60], pa.timestamp("us")),
        "s": pa.array([0, 1, 2**33], pa.timestamp("s")),
        "zone": pa.array([0, 1, 2**62], pa.timestamp("ns", "Europe/Berlin")),
    }
)
NUMBERS = [-1, 300, -300, 2**64, 2**70, -(2**70), 5, 5.0, 3.5, -0.5, 127.5, 1e300, -1e300, float("inf"), float("nan")]
NUMBERS += [np.int64(300), np.uint64(2**63 + 5), np.float64(0.5)]
NAIVE = [
    pd.Timestamp("9999-01-01"), pd.Timestamp("1000-01-01"), datetime.datetime(9999, 1, 1), np.datetime64("9999"),
    np.datetime64("100000-01-01"), np.datetime64("1970-01-01T00:00:01"), pd.Timestamp(1500, unit="ns"), "9999-01-01",
]  # fmt: skip
ZONED = [
    pd.Timestamp("9999-01-01", tz="UTC"), datetime.datetime(1, 2, 3, tzinfo=datetime.UTC),
    pd.Timestamp(1, tz="Asia/Tokyo"), pd.Timestamp(2**62 - 1, tz="UTC"),
]  # fmt: skip
CONSTANTS = {
    **dict.fromkeys(("u8", "u64", "i8", "i64"), NUMBERS),
    "f64": [2**53 + 1, 2**70, -1, float("-inf")],
    **dict.fromkeys(("ns", "us", "s"), NAIVE),
    "zone": ZONED,
}
ALIKE = ("u64", "i8", "us")
"""Like another column but for the bounds."""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("literals") / "a.parquet"
    pq.write_table(TABLE, path, row_group_size=1)
    return path


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long) if n in ALIKE else n for n in CONSTANTS])
def test_a_constant_that_a_column_cannot_have_decides_the_comparison(file, name):
    frame = pd.read_parquet(file)
    lazy = gd.read_parquet(file)
    for place, (value, (sign, compare)) in enumerate(product(CONSTANTS[name], OPERATORS.items())):
        expected = frame[compare(frame[name], value)]
        assert_same(lazy[compare(lazy[name], value)].compute(scheduler="inline"), expected)
        if (place + place // len(OPERATORS)) % 2:  # half of them, each operator as often
            assert_same(lazy[~compare(lazy[name], value)].compute(scheduler="inline"), frame.drop(expected.index))
        else:
            filtered = gd.read_parquet(file, filters=[(name, sign, value)]).compute(scheduler="inline")
            if name != "f64":  # whose NaN is a number to PyArrow's filters
                assert_same(filtered, expected)


@pytest.mark.parametrize("name", ["u8", "i64"])
def test_filters_leave_constants_out_that_no_value_is(file, name):
    among = [300, -1, 2**70, 5.0, 3.5, 1e300, float("nan"), TABLE[name][2].as_py()]
    for sign, rows in (("in", [1, 2] if name == "u8" else [2]), ("not in", [0] if name == "u8" else [0, 1])):
        got = gd.read_parquet(file, filters=[(name, sign, among)]).compute()
        assert got.index.tolist() == rows
    times = [pd.Timestamp("9999-01-01"), np.datetime64("1970-01-01T00:00:01"), datetime.datetime(1, 1, 1)]
    assert gd.read_parquet(file, filters=[("s", "in", times)]).compute().index.tolist() == [1]
    assert gd.read_parquet(file, filters=[("ns", "<", datetime.date(9999, 1, 1))]).compute().index.tolist() == [0, 1, 2]


def test_row_groups_that_no_row_can_be_chosen_of_are_not_read(file):
    lazy = gd.read_parquet(file)
    assert lazy[lazy.u8 > 300].npartitions == 3
    (read,) = reads(lazy[lazy.u8 > 300])
    assert read.condition == (("u8", "never", None),)
    assert lazy.expr.source.groups_read(range(3), read.condition) == (0, 3)
    assert gd.read_parquet(file, filters=[("u8", ">", 300)]).npartitions == 1


@settings(max_examples=examples(90), suppress_health_check=[*BY_LUCK, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_comparisons_of_nullable_whole_numbers_are_missing_where_pandas_has_them_missing(tmp_path, data):
    bits = data.draw(st.sampled_from([8, 16, 32, 64]))
    dtype = data.draw(st.sampled_from([f"Int{bits}", f"UInt{bits}"]))
    low, high = (0, 2**bits - 1) if dtype[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    values = data.draw(st.lists(st.one_of(st.none(), st.integers(low, high)), min_size=1, max_size=5))
    most = min(2**53 - 1, high + 2)
    value = data.draw(st.one_of(st.integers(low - 2, high + 2), st.floats(max(-most, low - 2), most)))
    frame = pd.DataFrame({"x": pd.array(values, dtype=dtype)})
    frame.to_parquet(tmp_path / "n.parquet", row_group_size=2)
    lazy = gd.read_parquet(tmp_path / "n.parquet")
    present = [number for number, one in enumerate(values) if one is not None]
    for sign, compare in OPERATORS.items():
        rows = [number for number in present if compare(values[number], value)]
        assert_same(lazy[compare(lazy.x, value)].compute(scheduler="inline"), frame.iloc[rows])
        others = [number for number in present if number not in rows]
        assert_same(lazy[~compare(lazy.x, value)].compute(scheduler="inline"), frame.iloc[others])
        got = gd.read_parquet(tmp_path / "n.parquet", filters=[("x", sign, value)]).compute(scheduler="inline")
        assert got.index.tolist() == rows


def test_filters_that_cannot_be_applied_are_named_and_the_file_is_not_blamed(file, tmp_path):
    for filters in ([("ns", ">", pd.Timestamp("2000", tz="UTC"))], [("zone", ">", "2000-01-01")], [("u8", "==", "a")]):
        with pytest.raises(OptionError, match="can't be applied"):
            gd.read_parquet(file, filters=filters).compute()
    pq.write_table(TABLE, tmp_path / "b.parquet", write_statistics=False)
    lazy = gd.read_parquet(tmp_path / "b.parquet", filters=pc.field("u64") > pc.scalar(-1))
    with pytest.raises(OptionError, match=r"filters=.* can't be applied to '.*b\.parquet': Integer value"):
        lazy.compute(scheduler="inline")


def test_times_beyond_those_of_python_are_read_and_compared(tmp_path):
    table = pa.table({"x": [1, 2], "t": pa.array([-(2**62), 2**62], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "far.parquet")
    lazy = gd.read_parquet(tmp_path / "far.parquet")
    assert lazy[lazy.t > pd.Timestamp("9999-01-01")].x.compute().tolist() == [2]
    assert gd.read_parquet(tmp_path / "far.parquet", filters=[("t", "<", "0001-01-01")]).x.compute().tolist() == [1]


def test_times_beyond_nanoseconds_have_tokens():
    tokens = [tokenize(pd.Timestamp(text)) for text in ("9999-01-01", "9999-01-02", "1000-01-01")]
    assert len(set(tokens)) == 3
