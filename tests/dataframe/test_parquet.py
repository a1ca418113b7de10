"""`read_parquet`: folders with values in their names, file systems, dtypes, and what becomes a partition."""

from __future__ import annotations

import os
import warnings

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from frame_helpers import assert_same, frames, reads
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.io import parquet_files, parquet_rows, parquet_to_pandas
from glassloom.dataframe.io.parquet_filters import known_filters
from glassloom.errors import OptionError, ReadError, UnknownColumn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from long_tests import examples
from property_settings import BY_LUCK


@pytest.fixture
def hive(tmp_path):
    frame = pd.DataFrame({"x": range(6), "year": [2023, 2023, 2024, 2024, 2025, 2025], "k": list("ababab")})
    frame.to_parquet(tmp_path / "hive", partition_cols=["year", "k"])
    return tmp_path / "hive"


def test_columns_in_the_names_of_folders_are_categories(hive):
    lazy = gd.read_parquet(hive)
    got, expected = lazy.compute(), pd.read_parquet(hive)
    assert_same(got, expected)
    assert_same(lazy.dtypes.astype(str), expected.dtypes.astype(str))
    assert lazy.k.compute().tolist() == expected.k.tolist()
    assert_same(gd.read_parquet(hive, columns=["k", "x"]).compute(), expected[["k", "x"]])


def test_partitions_that_folders_names_leave_out_are_not_read(hive, monkeypatch):
    from glassloom.dataframe.io import parquet_rows

    expected = pd.read_parquet(hive)
    lazy = gd.read_parquet(hive)
    opened = []
    original = parquet_rows.read_groups
    monkeypatch.setattr(
        parquet_rows, "read_groups", lambda file, piece, columns: opened.append(piece) or original(file, piece, columns)
    )
    some = lazy[(lazy.year == 2024) & (lazy.k == "a")]
    assert [read.condition for read in reads(some)] == [(("year", "==", 2024), ("k", "==", "a"))]
    assert_same(some.compute(scheduler="inline"), expected[(expected.year == 2024) & (expected.k == "a")])
    assert len(opened) == 1
    assert_same(lazy[lazy.year.isin([2023, 2025])].x.compute(), expected[expected.year.isin([2023, 2025])].x)
    for filters in (
        [("year", "in", ["2024"])],
        [("year", "not in", ["2024"])],
        [("k", "==", "b"), ("year", ">", 2023)],
    ):
        assert (
            gd.read_parquet(hive, filters=filters).x.compute().tolist()
            == pd.read_parquet(hive, filters=filters).x.tolist()
        )
    pruned = gd.read_parquet(hive, filters=[("year", "=", 2025)])
    assert pruned.npartitions == 2
    assert sorted(pruned.compute().x) == [4, 5]


def test_a_value_that_is_missing_in_a_folders_name_is_missing(tmp_path):
    for folder in ("k=1", "k=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / folder).mkdir()
        pd.DataFrame({"x": [1.5]}).to_parquet(tmp_path / folder / "a.parquet")
    lazy = gd.read_parquet(tmp_path)
    assert lazy.compute().k.isna().tolist() == [False, True]
    assert len(lazy[lazy.k.isna()].compute()) == 1
    (tmp_path / "q=1").mkdir()
    pd.DataFrame({"x": [1.5]}).to_parquet(tmp_path / "q=1" / "a.parquet")
    with pytest.raises(ReadError, match="lies in folders of"):
        gd.read_parquet(tmp_path)


@settings(max_examples=examples(23), suppress_health_check=[*BY_LUCK, HealthCheck.function_scoped_fixture])
@given(frame=frames(min_rows=1), groups=st.integers(1, 9))
def test_conditions_checked_while_reading_select_the_rows_that_pandas_selects(tmp_path, frame, groups):
    file = tmp_path / "a.parquet"
    frame.to_parquet(file, row_group_size=groups)
    lazy, expected = gd.read_parquet(file), pd.read_parquet(file)
    conditions = {
        "not equal": lambda f: f.f != 2.25,
        "not greater": lambda f: ~(f.f > 0),
        "text or not": lambda f: (f.s != "bee") | f.s.isna(),
        "missing": lambda f: f.d.isna() | (f.i == 1),
        "times": lambda f: (f.d > "2020-01-01") | (f.d < pd.Timestamp("2000-01-01")),
        "among": lambda f: f.s.isin(["ant", "cat"]) & ~f.i.isin([0, 1]),
        "between": lambda f: f.f.notna() & (f.f >= -1.5) & (f.f <= 3),
        "flags": lambda f: f.b | ~f.b & (f.i < 0.5),
        "whole numbers": lambda f: (f.i >= 0.5) | (f.i == -1.5) | (f.i <= -2.5),
    }
    for name, condition in conditions.items():
        some = lazy[condition(lazy)]
        # Before pandas 3 text of which no value is known is written without a type.
        has_type = HAS_COPY_ON_WRITE or frame.s.notna().any() or name not in ("text or not", "among")
        assert not has_type or [bool(read.condition) for read in reads(some)] == [True], name
        assert_same(some[["f", "s"]].compute(scheduler="inline"), expected[condition(expected)][["f", "s"]])


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_dtypes_with_missing_values_of_their_own(tmp_path, backend):
    table = pa.table(
        {"i": [1, None, 3, 4], "f": [0.5, 1.5, None, 2.5], "s": ["a", None, "c", "d"], "b": [True, None, False, True]}
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    lazy = gd.read_parquet(tmp_path / "a.parquet", dtype_backend=backend)
    expected = pd.read_parquet(tmp_path / "a.parquet", dtype_backend=backend)
    assert_same(lazy.compute(), expected)
    assert_same(lazy.dtypes.astype(str), expected.dtypes.astype(str))
    for condition in (lambda f: f.i > 1, lambda f: ~(f.i > 1), lambda f: (f.i != 3) | (f.f > 0), lambda f: f.s == "d"):
        mask = condition(expected).fillna(False).astype(bool)
        assert_same(lazy[condition(lazy)].compute(), expected[mask])


def test_conditions_follow_the_dtypes_that_files_note(tmp_path):
    frame = pd.DataFrame(
        {
            "i": pd.array([1, 2, None, 3], "Int64"),
            "f": pd.array([0.5, None, 1.5, 2.5], "Float64"),
            "b": pd.array([True, None, False, True], "boolean"),
            "s": pd.array(["a", None, "c", "d"], "string"),
            "a": pd.array([1, None, 2, 3], "int64[pyarrow]"),
            "n": [1.0, None, 2.0, 3.0],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    expected = pd.read_parquet(tmp_path / "a.parquet")
    assert_same(lazy.compute(), expected)
    for condition in (
        lambda f: f.i != 1, lambda f: ~(f.i > 1), lambda f: ~(f.f > 1), lambda f: f.b != True,  # noqa: E712
        lambda f: f.s != "a", lambda f: ~(f.a > 1), lambda f: (f.i != 1) | (f.n > 1), lambda f: ~(f.n > 1),
    ):  # fmt: skip
        mask = condition(expected).fillna(False).astype(bool)
        assert_same(lazy[condition(lazy)].compute(), expected[mask])


def test_texts_among_times_are_looked_for_as_pandas_does(tmp_path):
    frame = pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2020-01-02"]), "x": [1, 2]})
    frame.to_parquet(tmp_path / "a.parquet")
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older versions of pandas read the text
        expected = frame[frame.d.isin(["2020-01-02"])]
        assert_same(lazy[lazy.d.isin(["2020-01-02"])].compute(), expected)
    assert_same(lazy[lazy.d.isin([pd.Timestamp("2020-01-02")])].compute(), frame[1:])


def test_row_groups_are_joined_where_there_are_many_and_they_are_small(tmp_path):
    frame = pd.DataFrame({"x": range(300), "day": pd.date_range("2020-01-01", periods=300)}).set_index("day")
    for number in range(3):
        frame[number * 100 : number * 100 + 100].to_parquet(tmp_path / f"{number}.parquet", row_group_size=1)
    count = lambda **options: gd.read_parquet(tmp_path, **options).npartitions  # noqa: E731
    assert 60 <= count() <= 80
    assert count(split_row_groups=True) == 300
    assert count(split_row_groups=False) == count(partition_by="file") == 3
    assert count(split_row_groups=False, aggregate_files=True, blocksize="1 GiB") == 1
    assert count(split_row_groups=7) == 3 * 15
    assert count(split_row_groups="adaptive") == 1
    assert count(split_row_groups="adaptive", aggregate_files=False) == 3
    joined = gd.read_parquet(tmp_path, split_row_groups=7)
    assert_same(joined.compute(), frame)
    assert joined.known_divisions
    assert_same(joined[joined.x > 250].compute(), frame[frame.x > 250])
    assert_same(joined.loc["2020-03-01":"2020-03-05"].compute(), frame.loc["2020-03-01":"2020-03-05"])


def test_files_behind_a_file_system_are_read(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    frame = pd.DataFrame({"x": range(4), "s": list("abcd")})
    memory = fsspec.filesystem("memory")
    for number in (0, 1):
        with memory.open(f"/glassloom/k={number}/a.parquet", "wb") as file:
            frame.to_parquet(file)
    try:
        lazy = gd.read_parquet("memory://glassloom", storage_options={})
        assert lazy.npartitions == 2
        assert_same(lazy[lazy.k == 1][["x"]].compute(scheduler="inline"), frame[["x"]].set_index(frame.index + 4))
        assert len(gd.read_parquet("/glassloom/*/a.parquet", filesystem=memory)) == 8
        assert len(gd.read_parquet("/glassloom", filesystem=memory, filters=[("x", ">", 2)]).compute()) == 2
    finally:
        memory.rm("/glassloom", recursive=True)
    frame.to_parquet(tmp_path / "a.parquet")
    local = gd.read_parquet(f"file://{tmp_path}/a.parquet", filesystem=pa.fs.LocalFileSystem())
    assert_same(local.compute(), frame)
    with pytest.raises(OptionError, match="storage_options="):
        gd.read_parquet(tmp_path, storage_options={"anon": True})


def test_filters_read_only_the_columns_that_they_name(tmp_path):
    frame = pd.DataFrame({f"c{n}": np.arange(8) for n in range(4)})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    expression = (pc.field("c0") > 2) & (pc.field("c0") < 5)
    for filters in (expression, [("c0", ">", 2), ("c0", "<", 5)], [[("c0", "==", 3)], [("c0", "==", 4)]]):
        lazy = gd.read_parquet(tmp_path / "a.parquet", columns=["c3"], filters=filters)
        assert lazy.npartitions == 2
        assert_same(lazy.compute(), frame[["c3"]][3:5])
        assert_same(lazy[lazy.c3 > 3].compute(), frame[["c3"]][4:5])
    assert len(gd.read_parquet(tmp_path, filters=[("c0", ">", 100)])) == 0
    with pytest.raises(UnknownColumn, match="no column 'no'. The columns are 'c0', 'c1', 'c2', 'c3'"):
        gd.read_parquet(tmp_path, filters=[("no", ">", 1)])
    with pytest.raises(OptionError, match=r"filters=\[\[\('c0', '~', 1\)\]\]: '~' should be one of '=', '==', '!=',"):
        gd.read_parquet(tmp_path, filters=[[("c0", "~", 1)]])
    with pytest.raises(OptionError, match=r"filters=.* can't be applied: .*int64, .*string"):
        gd.read_parquet(tmp_path, filters=[("c0", ">", "a")])


def test_filters_that_are_asked_again_are_taken_as_they_are_now(tmp_path):
    frame = pd.DataFrame({"x": range(4), "y": [True, False, True, False]})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    filters = [("x", ">", 2)]
    first = gd.read_parquet(tmp_path / "a.parquet", filters=filters)
    again = gd.read_parquet(tmp_path / "a.parquet", filters=[("x", ">", 2)])
    assert first.expr.source is again.expr.source
    filters[0] = ("x", "<", 1)
    assert gd.read_parquet(tmp_path / "a.parquet", filters=filters).x.compute().tolist() == [0]
    assert gd.read_parquet(tmp_path / "a.parquet", filters=[("x", ">", 2)]).x.compute().tolist() == [3]
    listed = [1, 2]
    assert gd.read_parquet(tmp_path / "a.parquet", filters=[("x", "in", listed)]).x.compute().tolist() == [1, 2]
    listed[:] = [3]
    assert gd.read_parquet(tmp_path / "a.parquet", filters=[("x", "in", listed)]).x.compute().tolist() == [3]
    assert gd.read_parquet(tmp_path / "a.parquet", filters=[("x", "in", [1, 2])]).x.compute().tolist() == [1, 2]
    assert first.x.compute().tolist() == [3]
    frame[::-1].to_parquet(tmp_path / "a.parquet", row_group_size=2, index=False)
    assert gd.read_parquet(tmp_path / "a.parquet", filters=[("x", ">", 1)]).x.compute().tolist() == [3, 2]


def test_known_filters_are_equal_only_with_values_of_the_same_types():
    same = [[("x", "==", 1)], [("x", "in", (1, 2))]]
    assert known_filters(same) == known_filters([list(part) for part in same])
    assert hash(known_filters(same)) == hash(known_filters([list(part) for part in same]))
    distinct = [None, *([("x", "==", one)] for one in (1, True, 1.0, "1", np.int64(1), pd.Timestamp(1), None))]
    distinct += [[("x", "<", 1)], [("y", "==", 1)], [[("x", "==", 1)]], [("x", "==", 1)] * 2]
    known = [known_filters(one) for one in distinct]
    assert None not in known
    assert len(set(known)) == len(distinct)
    others = (pc.field("x") > 1, [("x", "in", {1, 2})], [("x", "==", pd.NA)], [("x", "in", list(range(1001)))])
    assert [known_filters(one) for one in others] == [None] * 4


def test_types_of_some_columns_may_be_given(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2.5, None], "k": [1, 2, 3], "s": ["a", None, "c"]})
    lazy = gd.from_pandas(frame, npartitions=2)
    lazy.to_parquet(tmp_path / "some", schema={"x": pa.float32(), "k": pa.int8()})
    assert_same(gd.read_parquet(tmp_path / "some").compute(), frame.astype({"x": "float32", "k": "int8"}))
    with pytest.raises(UnknownColumn, match="no column 'y'"):
        lazy.to_parquet(tmp_path / "other", schema={"y": pa.float32()})
    with pytest.raises(
        OptionError, match=r"schema={'x': 'float32'} should be a pyarrow.Schema, a dict from columns to types"
    ):
        lazy.to_parquet(tmp_path / "other", schema={"x": "float32"})
    assert not (tmp_path / "other").exists()


def test_options_that_are_not_there_are_refused_by_name(tmp_path):
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(NotImplementedError, match=r"read_parquet\(use_nullable_dtypes=True\)"):
        gd.read_parquet(tmp_path, use_nullable_dtypes=True)
    with pytest.raises(NotImplementedError, match="engine='fastparquet'"):
        gd.read_parquet(tmp_path, engine="fastparquet")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colums'"):
        gd.read_parquet(tmp_path, colums=["x"])
    with pytest.raises(OptionError, match="split_row_groups='all'"):
        gd.read_parquet(tmp_path, split_row_groups="all")
    assert gd.read_parquet(tmp_path, columns="x").compute().tolist() == [1]


def test_a_file_whose_column_has_no_value_is_filtered_as_the_others(tmp_path):
    pq.write_table(pa.table({"x": [1.5, 2.5], "s": ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.nulls(2), "s": ["a", "b"]}), tmp_path / "b.parquet")
    lazy = gd.read_parquet(tmp_path)
    for condition in (lambda f: f.x > 2, lambda f: f.x != 1.5, lambda f: f.x.isin([1.5]), lambda f: f.x.isna()):
        expected = lazy.compute()
        assert_same(lazy[condition(lazy)].compute(), expected[condition(expected)])
    assert len(gd.read_parquet(tmp_path, filters=[("x", "!=", 1.5)]).compute()) == 1


def test_what_pandas_noted_is_read_only_where_dtypes_hang_on_it():
    """Notes of one schema aren't taken for those of another one that differs in metadata alone."""
    plain, nullable = pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": pd.array([1, 2], dtype="Int64")})
    with_attrs = plain.copy()
    with_attrs.attrs = {"unit": "m"}
    has_attrs = bool(pa.Table.from_pandas(with_attrs).to_pandas().attrs)  # PyArrow 16 notes none
    for frame, is_needed in ((plain, False), (nullable, True), (with_attrs, has_attrs), (plain, False)):
        table = pa.Table.from_pandas(frame)
        assert (parquet_to_pandas._notes_needed(parquet_to_pandas._Schema(table.schema), None) is not None) == is_needed
        made = parquet_to_pandas._plain_to_pandas(table, None)
        assert_same(made, frame)
        assert made.attrs == (frame.attrs if has_attrs else {})
        expected = frozenset({"x"} if frame is nullable else ())
        assert parquet_to_pandas.nullable_columns(table.schema, None) == expected


@pytest.mark.parametrize("small_rows", [1, 7, 1000])
def test_rows_are_chosen_in_parts_of_row_groups_and_keep_their_labels(tmp_path, monkeypatch, small_rows):
    monkeypatch.setattr(parquet_rows, "_SMALL_ROWS", small_rows)
    frame = pd.DataFrame(
        {
            "k": [0] * 8 + list(range(12)),
            "x": np.arange(20) / 4,
            "when": pd.date_range("2020", periods=20, freq="D"),
            "text": [f"name {number}" for number in range(20)],
            "gap": [None, 1.5] * 10,
        }
    )
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=4)
    frame.set_index("when").to_parquet(tmp_path / "labelled.parquet", row_group_size=4)
    lazy = gd.read_parquet(tmp_path / "a.parquet", split_row_groups=5)
    for chosen in (
        lambda one: one[one.k > 8],
        lambda one: one[(one.k > 2) & (one.gap < 2)][["x", "text"]],
        lambda one: one[one.when >= "2020-01-07"].x,
        lambda one: one[one.k < 0],
        lambda one: one[one.k >= 0][["k"]],
        lambda one: one[(one.x != 1.25) | (one.k.isna())],
    ):
        assert_same(chosen(lazy).compute(), chosen(frame))
    labelled = gd.read_parquet(tmp_path / "labelled.parquet", split_row_groups=5)
    indexed = frame.set_index("when")
    assert_same(labelled[labelled.k == 3].compute(), indexed[indexed.k == 3])
    filtered = gd.read_parquet(tmp_path / "a.parquet", columns=["x"], filters=[("k", "<", 4), ("gap", ">", 1)])
    assert_same(filtered.compute(), frame[(frame.k < 4) & (frame.gap > 1)][["x"]])


def _recorded_reads(monkeypatch):
    """Return a list that gets the row groups and columns of each read from now on."""
    read = []
    original = parquet_rows.read_groups
    monkeypatch.setattr(
        parquet_rows,
        "read_groups",
        lambda file, piece, columns: read.append((piece.groups, columns)) or original(file, piece, columns),
    )
    return read


def test_only_row_groups_with_chosen_rows_are_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "_SMALL_ROWS", 1)
    # The statistics of each row group say that 3 may be there: only its values tell that it isn't.
    frame = pd.DataFrame({"k": [1, 5, 1, 3, 5, 1, 5, 1], "x": np.arange(8) / 2})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    read = _recorded_reads(monkeypatch)
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    assert_same(lazy[lazy.k == 3].compute(scheduler="inline"), frame[frame.k == 3])
    assert [groups for groups, columns in read if columns == ["k"]] == [(0,), (1,), (2,), (3,)]
    assert [groups for groups, columns in read if columns == ["x"]] == [(1,)]


def test_columns_of_conditions_are_read_until_no_row_is_left_and_elsewhere_by_one_request(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "_SMALL_ROWS", 1)
    frame = pd.DataFrame({"k": [1, 5, 2, 4], "n": [1, 3, 1, 3], "x": np.arange(4) / 2, "y": 1.5})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    read = _recorded_reads(monkeypatch)

    def compute(lazy):
        read.clear()
        return lazy[(lazy.k == 4) & (lazy.n == 3)].compute(scheduler="inline")

    expected = frame[(frame.k == 4) & (frame.n == 3)]
    assert_same(compute(gd.read_parquet(tmp_path / "a.parquet")), expected)
    assert read == [((0,), ["k"]), ((1,), ["k"]), ((1,), ["n"]), ((1,), ["x"]), ((1,), ["y"])]
    monkeypatch.setattr(parquet_rows, "_CACHED_ROWS", 1)
    assert_same(compute(gd.read_parquet(tmp_path / "a.parquet")), expected)
    assert read == [((0,), ["k"]), ((1,), ["k"]), ((1,), ["n"]), ((1,), ["x", "y"])]
    elsewhere = pa.fs.SubTreeFileSystem(str(tmp_path), pa.fs.LocalFileSystem())
    assert_same(compute(gd.read_parquet("a.parquet", filesystem=elsewhere)), expected)
    assert read == [((0,), ["k", "n"]), ((1,), ["k", "n"]), ((1,), ["x", "y"])]


@pytest.mark.parametrize("small_rows", [1, 5, 1000])
def test_text_in_codes_of_unlike_dictionaries_is_chosen_in_parts_of_row_groups(tmp_path, monkeypatch, small_rows):
    monkeypatch.setattr(parquet_rows, "_SMALL_ROWS", small_rows)
    texts = [
        *["long enough to be shared"] * 6,
        *["another text"] * 6,
        *["a third one", None] * 3,
        *["another text"] * 6,
    ]
    frame = pd.DataFrame({"text": pd.Series(texts, dtype="str"), "other": texts, "x": np.arange(24) % 6})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=3)
    for options in ({}, {"dtype_backend": "pyarrow"}):
        lazy = gd.read_parquet(tmp_path / "a.parquet", split_row_groups=8, **options)
        assert lazy.npartitions == 1
        expected = pd.read_parquet(tmp_path / "a.parquet", **options)
        for choose in (
            lambda one: one[one.x > 4],
            lambda one: one[one.text == "another text"],
            lambda one: one[one.text.isin(["a third one", "none of them"]) & (one.x < 5)],
            lambda one: one[one.text.isna()],
            lambda one: one[one.text != "another text"][["x", "other"]],
            lambda one: one[one.text == "none of them"],
            lambda one: one[one.x < 3].groupby("text").x.sum(),
            lambda one: one[one.x < 3].assign(y=one.x + 1)[["other", "y"]],
        ):
            assert_same(choose(lazy).compute(), choose(expected))


@pytest.mark.parametrize("new", [np.arange(100)[::-1], np.arange(200)], ids=["as long", "longer"])
def test_a_file_that_was_written_anew_is_not_read_by_its_old_footer(tmp_path, new):
    plain = {"row_group_size": 10, "compression": None, "use_dictionary": False, "index": False}
    file = tmp_path / "a.parquet"
    pd.DataFrame({"a": np.arange(100)}).to_parquet(file, **plain)
    lazy = gd.read_parquet(file)
    chosen = lazy[lazy.a >= 50]
    assert len(chosen.compute()) == 50
    os.utime(file, (0, 0))  # as of a copy
    assert len(chosen.compute()) == 50
    pd.DataFrame({"a": new}).to_parquet(file, **plain)
    for read in (chosen, lazy, chosen):
        with pytest.raises(
            ReadError, match=r"a\.parquet' has changed since read_parquet\(\) looked at it: call read_parquet\(\) again"
        ):
            read.compute(scheduler="inline")
        parquet_files.footer.cache_clear()  # as in a worker, which has read no footer before
        parquet_files.footer_digest.cache_clear()
    assert len(gd.read_parquet(file)) == len(new)


def test_a_file_that_was_written_anew_behind_a_file_system_is_noticed():
    memory = pytest.importorskip("fsspec").filesystem("memory")

    def write(rows):
        with memory.open("/anew/a.parquet", "wb") as file:
            pd.DataFrame({"a": rows}).to_parquet(file, row_group_size=10, compression=None, index=False)

    try:
        write(range(100))
        lazy = gd.read_parquet("/anew/a.parquet", filesystem=memory)
        assert lazy.a.compute(scheduler="inline").tolist() == list(range(100))
        memory.rm("/anew/a.parquet")
        write(range(100)[::-1])
        with pytest.raises(ReadError, match="has changed since read_parquet"):
            lazy.compute(scheduler="inline")
    finally:
        memory.rm("/anew", recursive=True)


def _levelled(levels, names=("k", "l")):
    index = pd.MultiIndex.from_arrays(levels, names=names)
    return pd.DataFrame({"x": range(6), "y": [0.5, None, 1.5, 2.5, None, 3.5]}, index=index)


SEVERAL_LEVELS = {
    "numbers and text": _levelled([[1, 1, 2, 2, 3, 3], list("ababab")]),
    "without names": _levelled([[1, 1, 2, 2, 3, 3], list("ababab")], names=(None, None)),
    "one without a name": _levelled([[1, 1, 2, 2, 3, 3], list("ababab")], names=("k", None)),
    "repeated": _levelled([[1, 1, 1, 1, 0, 0], [5, 5, 4, 4, 5, 5]]),
    "times": _levelled([pd.date_range("2000", periods=6, tz="Europe/Berlin"), pd.date_range("2001", periods=6)]),
    "missing": _levelled([[1.5, None, 2.5, 2.5, 3.5, 3.5], ["a", "b", None, "b", "a", "b"]]),
    "three": _levelled([[1, 1, 2, 2, 3, 3], list("ababab"), [True, False] * 3], names=("k", "l", "m")),
    "columns that are numbers": _levelled([[1, 1, 2, 2, 3, 3], list("ababab")]).set_axis([10, 20], axis=1),
}


@pytest.mark.parametrize("name", SEVERAL_LEVELS)
def test_an_index_of_several_levels_is_read_as_pandas_reads_it(tmp_path, name):
    plain = SEVERAL_LEVELS[name]
    one, two = tmp_path / "a.parquet", tmp_path / "parts"
    plain.to_parquet(one, row_group_size=2)
    two.mkdir()
    plain[:4].to_parquet(two / "0.parquet")
    plain[4:].to_parquet(two / "1.parquet")
    first = plain.columns[0]
    for path, npartitions in ((one, 3), (two, 2)):
        lazy, expected = gd.read_parquet(path), pd.read_parquet(path)
        assert lazy.npartitions == npartitions
        assert_same(lazy.compute(scheduler="inline"), expected)
        assert_same(lazy[first].sum().compute(scheduler="inline"), expected[first].sum())
        assert_same(lazy[lazy[first] > 2].compute(scheduler="inline"), expected[expected[first] > 2])
        if first == "x":
            assert_same(
                gd.read_parquet(path, columns=["x"]).compute(scheduler="inline"), pd.read_parquet(path, columns=["x"])
            )
            assert_same(gd.read_parquet(path, columns="x").compute(scheduler="inline"), expected.x)
            filters = [("x", ">", 2)]
            got = gd.read_parquet(path, filters=filters).compute(scheduler="inline")
            assert_same(got, pd.read_parquet(path, filters=filters))


def test_an_index_of_several_levels_is_written_and_chosen(tmp_path):
    plain = SEVERAL_LEVELS["numbers and text"]
    gd.from_pandas(plain.reset_index(), npartitions=2).set_index(["k", "l"]).to_parquet(tmp_path)
    assert_same(gd.read_parquet(tmp_path).compute(scheduler="inline"), plain)
    chosen = gd.read_parquet(tmp_path, index=["l", "k"])
    assert_same(chosen.compute(scheduler="inline"), plain.reset_index().set_index(["l", "k"]))
    assert_same(
        gd.read_parquet(tmp_path, index="k").compute(scheduler="inline"),
        plain.reset_index().set_index("k")[["x", "y", "l"]],
    )
    with pytest.raises(UnknownColumn, match="no column 'z'"):
        gd.read_parquet(tmp_path, index=["k", "z"])
    plain.droplevel("l").to_parquet(tmp_path / "part-9999.parquet")
    with pytest.raises(
        ReadError, match=r"some files have an index of 2 levels, others another; choose one with index="
    ):
        gd.read_parquet(tmp_path)
