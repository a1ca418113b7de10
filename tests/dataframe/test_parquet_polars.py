"""Parquet files read by Polars: the same rows, values, types and labels as PyArrow reads, and what is left to PyArrow."""

from __future__ import annotations

import os
import subprocess
import sys

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from frame_helpers import assert_same
from glassloom.dataframe.io import parquet_arguments, parquet_polars, parquet_rows
from glassloom.errors import OptionError, ReadError
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
VALUES = {
    "f": (pa.float64(), [0.0, -0.0, 1.5, 2.5, float("nan"), float("inf"), None]),
    "n": (pa.float32(), [0.0, 1.5, float("nan"), None]),
    "i": (pa.int64(), [-(1 << 63), 0, 1, 2, 5, (1 << 63) - 1]),
    "m": (pa.int16(), [-7, 0, 3, None]),
    "u": (pa.uint64(), [0, 1, 5, (1 << 64) - 1]),
    "s": (pa.string(), ["", "a", "b", "é", "Ω𝄞", None]),
    "w": (pa.large_string(), [f"text {number}" for number in range(40)]),
    "t": (pa.timestamp("us"), [-1, 0, 1, 10**12, 10**15, None]),
    "g": (pa.timestamp("ns"), [0, 1, 10**18, None]),
    "d": (pa.date32(), [-20_000, 0, 20_000, None]),
    "b": (pa.bool_(), [True, False]),
}
CONSTANTS = {
    "f": [0.0, -0.0, 1.5, 2, float("inf")],
    "i": [0, 1.5, 2, -1, 1 << 63],
    "m": [0, 3, 40_000],
    "u": [0, 1, -1],
    "s": ["", "a", "m", "Ω𝄞"],
    "w": ["text 1", "text 25", "x"],
    "t": [pd.Timestamp(0), pd.Timestamp("2001-01-01"), "1970-01-12"],
    "g": [pd.Timestamp(1), pd.Timestamp(0)],
    "b": [True, False],
}
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]


@st.composite
def tables(draw):
    n_rows = draw(st.integers(0, 60))
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4, unique=True))
    columns = {}
    for name in names:
        kind, values = VALUES[name]
        drawn = draw(st.lists(st.sampled_from(values), min_size=n_rows, max_size=n_rows))
        integers = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        columns[name] = pa.array(drawn, integers).cast(kind) if name in "tgd" else pa.array(drawn, kind)
    return pa.table(columns)


WRITTEN = st.fixed_dictionaries(
    {
        "row_group_size": st.sampled_from([7, 25, 1000]),
        "use_dictionary": st.booleans(),
        "data_page_size": st.sampled_from([64, 1 << 20]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "compression": st.sampled_from(["none", "snappy", "zstd"]),
    }
)


@st.composite
def conditions(draw, names, depth=0):
    """Draw a function from a frame to a condition."""
    if depth < 2 and draw(st.booleans()):
        one, other = draw(conditions(names, depth + 1)), draw(conditions(names, depth + 1))
        kind = draw(st.sampled_from(["and", "or", "not"]))
        return {
            "and": lambda frame: one(frame) & other(frame),
            "or": lambda frame: one(frame) | other(frame),
            "not": lambda frame: ~one(frame),
        }[kind]
    name = draw(st.sampled_from(names))
    test = draw(st.sampled_from(["isna", "notna", "isin", *COMPARE] if name in CONSTANTS else ["isna", "notna"]))
    if test in ("isna", "notna"):
        return lambda frame: getattr(frame[name], test)()
    if test == "isin":
        values = draw(
            st.lists(
                st.sampled_from([value for value in CONSTANTS[name] if not isinstance(value, str) or name in "sw"]),
                max_size=3,
            )
        )
        return lambda frame: frame[name].isin(values)
    value = draw(st.sampled_from(CONSTANTS[name]))
    return lambda frame: getattr(frame[name], test)(value)


@given(st.data(), tables(), WRITTEN, st.sampled_from([None, "numpy_nullable", "pyarrow"]))
@settings(max_examples=examples(500))
def test_polars_reads_what_pyarrow_and_pandas_read(tmp_path_factory, data, table, written, dtype_backend):
    path = tmp_path_factory.mktemp("polars") / "a.parquet"
    pq.write_table(table, path, **written)
    condition = data.draw(conditions(table.column_names))
    columns = data.draw(st.lists(st.sampled_from(table.column_names), unique=True, min_size=1))
    options = {"dtype_backend": dtype_backend} if dtype_backend else {}

    def read(engine):
        lazy = gd.read_parquet(path, engine=engine, split_row_groups=data.draw(st.sampled_from([1, 3])), **options)
        return lazy[condition(lazy)][columns].compute(**INLINE)

    whole = pd.read_parquet(path, **options)
    try:
        chosen = condition(whole).fillna(False).astype(bool)
    except (TypeError, OverflowError, pa.ArrowInvalid):  # which pandas can't compare
        reject()
    by_polars = read("polars")
    pd.testing.assert_frame_equal(by_polars, read("pyarrow"), check_exact=True)
    if dtype_backend != "pyarrow":  # with which `isin` of pandas 3.1 cuts nanoseconds off
        assert_same(by_polars, whole[chosen][columns])


def _printed(script, path):
    command = [sys.executable, "-c", script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.strip()


@pytest.fixture
def asked(monkeypatch):
    """A list of what Polars was asked for: whether it read, and whether all rows were those that were wanted."""
    made = []

    def note(*given):
        read = parquet_polars.read_by_polars(*given)
        made.append((read is not None, read is not None and read.is_exact))
        return read

    monkeypatch.setattr(parquet_rows, "read_by_polars", note)
    return made


@pytest.fixture
def path(tmp_path):
    frame = pd.DataFrame(
        {
            "k": [number % 7 for number in range(100)],
            "x": [number / 3 for number in range(100)],
            "s": [f"text {number}" for number in range(100)],
            "zone": pd.date_range("2024-01-01", periods=100, tz="Europe/Paris"),
        }
    )
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=25)
    return tmp_path / "a.parquet"


def test_conditions_that_mean_the_same_are_checked_by_polars_alone(asked, path):
    lazy, frame = gd.read_parquet(path, engine="polars", split_row_groups=False), pd.read_parquet(path)
    assert_same(
        lazy[(lazy.k == 3) & (lazy.x > 5)][["x", "s"]].compute(**INLINE),
        frame[(frame.k == 3) & (frame.x > 5)][["x", "s"]],
    )
    assert asked == [(True, True)]
    either = lazy[~((lazy.k == 3) & (lazy.x > 5)) & (lazy.k < 5)][["x", "s"]]
    assert_same(either.compute(**INLINE), frame[~((frame.k == 3) & (frame.x > 5)) & (frame.k < 5)][["x", "s"]])
    assert asked[1:] == [(True, False)]


def test_what_polars_reads_otherwise_is_left_to_pyarrow(asked, path):
    lazy, frame = gd.read_parquet(path, engine="polars", split_row_groups=False), pd.read_parquet(path)
    assert_same(lazy[lazy.k == 3][["x", "zone"]].compute(**INLINE), frame[frame.k == 3][["x", "zone"]])
    assert asked == [(False, False)]
    as_categories = lazy.astype({"s": "category"})
    assert_same(as_categories[as_categories.k == 1].s.compute(**INLINE).astype(str), frame.s[frame.k == 1].astype(str))


@pytest.mark.parametrize("how", ["engine", "option", "filesystem"])
def test_polars_is_not_asked_where_pyarrow_is_to_read(asked, path, how):
    options = {
        "engine": {"engine": "pyarrow"},
        "option": {},
        "filesystem": {"engine": "polars", "filesystem": pa.fs.SubTreeFileSystem("/", pa.fs.LocalFileSystem())},
    }[how]
    with gl.config.set({"dataframe.parquet-engine": "pyarrow"}):
        lazy = gd.read_parquet(path, **options)
    assert_same(
        lazy[lazy.k == 3].x.compute(**INLINE),
        pd.read_parquet(path, filters=[("k", "==", 3)]).x.set_axis(range(3, 100, 7)),
    )
    assert asked == []
    assert "Polars" not in str(lazy.explain())


def test_a_plan_says_that_polars_reads(path):
    assert "Polars" in str(gd.read_parquet(path, engine="polars").explain())


def test_polars_is_imported_where_there_is_much_to_read(monkeypatch):
    monkeypatch.delitem(sys.modules, "polars")
    assert [parquet_polars.is_worthwhile("auto", n_values) for n_values in (1_000_000, 10_000_000)] == [False, True]
    assert parquet_polars.is_worthwhile("polars", 1)
    assert not parquet_polars.is_worthwhile("pyarrow", 10_000_000)
    monkeypatch.setitem(sys.modules, "polars", polars)
    assert parquet_polars.is_worthwhile("auto", 1)


_IMPORTED = """
import sys, threading
import glassloom.dataframe as gd
from glassloom.dataframe.io import parquet_polars, parquet_rows
parquet_polars._WORTH_LOADING = 1
lazy = gd.read_parquet(sys.argv[1], engine="auto")
wanted = lazy[lazy.k == 3][["x", "s"]]
first = wanted.compute(scheduler="inline")
for thread in threading.enumerate():
    if thread.name == "glassloom-import-polars":
        thread.join()
original, asked = parquet_rows.read_by_polars, []
parquet_rows.read_by_polars = lambda *given: asked.append(given) or original(*given)
print(first.equals(wanted.compute(scheduler="inline")), len(asked))
"""


def test_reads_do_not_wait_until_polars_is_imported(path):
    assert _printed(_IMPORTED, path) == "True 4"


def test_without_polars_files_are_read_by_pyarrow(monkeypatch, asked, path):
    for module in (parquet_polars, parquet_arguments):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    with pytest.raises(OptionError, match=r"pip install 'glassloom\[polars\]'"):
        gd.read_parquet(path, engine="polars")
    lazy = gd.read_parquet(path, engine="auto")
    assert len(lazy[lazy.k == 3].compute(**INLINE)) == 14
    assert asked == []


@pytest.mark.parametrize("engine", ["pyarrow", "polars"])
def test_zeros_of_either_sign_are_among_zeros(tmp_path, engine):
    frame = pd.DataFrame({"x": [0.0, -0.0, 1.0, None], "y": range(4)})
    frame.to_parquet(tmp_path / "a.parquet")
    lazy = gd.read_parquet(tmp_path / "a.parquet", engine=engine)
    for zero in (0.0, -0.0, 0):
        assert_same(lazy[lazy.x.isin([zero, 7])].compute(**INLINE), frame[frame.x.isin([zero, 7])])


def test_damaged_pages_are_the_same_error(path):
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    lazy = gd.read_parquet(path, engine="polars")
    with pytest.raises(ReadError, match="can't be read"):
        lazy[lazy.k == 3].compute(**INLINE)


def rows_by_each(path, choose):
    """Return what is chosen of a file that Polars reads, and of one that PyArrow reads."""
    return [choose(gd.read_parquet(path, engine=engine)).compute(**INLINE) for engine in ("polars", "pyarrow")]


def test_names_that_polars_takes_for_patterns_are_names(tmp_path):
    frame = pd.DataFrame({"^a.*$": range(10), "ab": range(9, -1, -1), "*": range(10)})
    frame.to_parquet(tmp_path / "a.parquet")
    for choose in (lambda d: d[d["^a.*$"] > 6][["ab"]], lambda d: d[["^a.*$", "ab"]], lambda d: d[d["*"] > 6]):
        for rows in rows_by_each(tmp_path / "a.parquet", choose):
            assert_same(rows, choose(frame))


def test_times_whose_unit_polars_takes_for_another_one_are_compared_by_pyarrow(tmp_path):
    table = pa.table({"t": pa.array(range(4), pa.timestamp("ms")), "i": range(4), "z": [1.5] * 4})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    between = pd.Timestamp("1970-01-01 00:00:00.0015")
    for rows in rows_by_each(tmp_path / "a.parquet", lambda d: d[d.t < between][["i", "z"]]):
        assert rows.i.tolist() == [0, 1]


def test_many_values_and_alternatives_take_no_longer_than_few(tmp_path, asked):
    frame = pd.DataFrame({"x": np.arange(3000) / 4, "i": range(3000)})
    frame["t"] = pd.to_datetime(frame.i, unit="us")
    frame.to_parquet(tmp_path / "a.parquet")
    for choose in (
        lambda d: d[d.x.isin(list(np.arange(2500) / 2))][["i", "x"]],
        lambda d: d[d.t.isin([pd.Timestamp(3 * number, unit="us") for number in range(2500)])][["i", "x"]],
    ):
        for rows in rows_by_each(tmp_path / "a.parquet", choose):
            assert_same(rows, choose(frame))
    assert asked == [(True, True)] * 2
    filters = [[("i", "==", number), ("x", ">=", 0.0)] for number in range(400)]
    assert len(gd.read_parquet(tmp_path / "a.parquet", engine="polars", filters=filters)) == 400
    assert asked[2:] == [(True, False)]


_DAMAGED = """
import sys
import glassloom.dataframe as gd
from glassloom.errors import ReadError
try:
    gd.read_parquet(sys.argv[1], engine="polars").compute(scheduler="inline")
except ReadError as error:
    print("Invalid page header" in str(error))
"""


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_damaged_header_of_a_page_ends_no_process(tmp_path, version):
    table = pa.table({"s": [f"t{number}" for number in range(200)], "i": range(200)})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, compression="none", use_dictionary=False, data_page_version=version)
    data = bytearray(path.read_bytes())
    data[14] = 0xFF  # of the number of values
    path.write_bytes(data)
    assert _printed(_DAMAGED, path) == "True"


def test_long_statistics_in_headers_of_pages_are_read(tmp_path, asked):
    frame = pd.DataFrame({"s": [f"{number:05}" * 400 for number in range(50)], "x": range(50)})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=20, use_dictionary=False, write_page_index=True)
    for rows in rows_by_each(tmp_path / "a.parquet", lambda d: d[d.x > 30]):
        assert_same(rows, frame[frame.x > 30])
    assert asked == [(True, True)] * 2


_FORKED = """
import os, sys, warnings
import glassloom.dataframe as gd
warnings.simplefilter("ignore")  # of threads and forks
lazy = gd.read_parquet(sys.argv[1], engine="polars")
wanted = lazy[lazy.k == 3][["x", "s"]]
before = len(wanted.compute(scheduler="inline"))
assert "polars" in sys.modules
child = os.fork()
if not child:
    os._exit(len(wanted.compute(scheduler="inline")))
print(before, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_waits_for_no_thread_of_polars(path):
    assert _printed(_FORKED, path) == "14 14"


def test_worker_processes_read_by_polars_on_as_many_threads_as_they_have(path):
    expected = pd.read_parquet(path)
    with gl.Client(n_workers=2, threads_per_worker=1) as client:
        lazy = gd.read_parquet(path, engine="polars")
        chosen = lazy[lazy.k == 3][["x", "s"]]
        assert_same(chosen.compute(), expected[expected.k == 3][["x", "s"]])
        found = client.run(lambda: (os.environ["POLARS_MAX_THREADS"], "polars" in sys.modules))
    assert ("1", True) in found.values()
