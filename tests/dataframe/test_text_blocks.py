"""Text files as bytes and blocks: what pandas' parser makes of them doesn't depend on how it gets them."""

from __future__ import annotations

import io
import os
import warnings

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.array.sources import versions
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.io import blocks, csv, first_rows
from glassloom.dataframe.io.filesystems import LOCAL
from glassloom.dataframe.io.paths import file_state
from glassloom.dataframe.io.utf8_bytes import Utf8Bytes, takes_bytes
from glassloom.errors import MetaError, OptionError, ParseError, ReadError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from long_tests import examples
from property_settings import BY_LUCK


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[*BY_LUCK, HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.sampled_from(['"a', 'b"', '"c"', "d", '"e""f"', "", '""']), min_size=1, max_size=12),
    size=st.integers(1, 9),
    scan=st.integers(1, 7),
)
@example(lines=['"a', 'b"', "d"], size=1, scan=1)
def test_blocks_are_those_that_a_plain_count_of_quotes_gives(tmp_path, monkeypatch, lines, size, scan):
    """Whatever the size of the pieces that are scanned; and the first line of a block is counted."""
    data = ("head\n" + "\n".join(lines) + "\n").encode()
    path = str(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes(data)
    monkeypatch.setattr(blocks, "_SCAN_BYTES", scan)
    monkeypatch.setattr(blocks, "_LINE_BYTES", scan)
    for quote in (b'"', b""):
        wanted = expected_starts(data, 5, size, quote)
        headers, found = blocks.cut_files([file_state(path)], LOCAL, size, blocks.Header(lines=1), quote, whole=[False])
        assert headers == ({path: b"head\n"} if len(data) > size else {})
        assert [block.start for block in found] == wanted
        assert [block.end for block in found] == ([*wanted[1:], len(data)] if headers else [None])
        assert [blocks.first_line(block, LOCAL) for block in found] == [data.count(b"\n", 0, at) + 1 for at in wanted]


def expected_starts(data, start, size, quote):
    if len(data) <= size:
        return [0]
    starts, wanted = [start], start + size
    for place in range(start, len(data) - 1):
        ends_line = data[place : place + 1] == b"\n" and not (quote and data.count(quote, start, place) % 2)
        if ends_line and place >= wanted:
            starts.append(place + 1)
            wanted = place + 1 + size
    return starts


def test_a_file_is_looked_through_for_quotes_once_unless_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    looked = []
    look = blocks._outside_quotes
    monkeypatch.setattr(blocks, "_outside_quotes", lambda *args: looked.append(1) or look(*args))

    def let_changes_be_noticed(are_noticed):
        for name in ("_CLOCK_TICK_NS", "_COARSE_CLOCK_TICK_NS"):
            monkeypatch.setattr(versions, name, -(10**30) if are_noticed else 10**30)

    def read():
        return gd.read_csv(path, blocksize=8).compute(scheduler="inline").b.tolist()

    let_changes_be_noticed(True)
    path.write_text('a,b\n1,u\n3,"v\nv"\n5,w\n')
    assert [read(), read()] == [["u", "v\nv", "w"]] * 2
    assert len(looked) == 1
    path.write_text('a,b\n1,"u\nu"\n3,v\n5,w\n')
    os.utime(path, ns=(0, 0))
    assert read() == ["u\nu", "v", "w"]
    assert len(looked) == 2
    let_changes_be_noticed(False)  # perhaps it is changed again at once
    path.write_text('a,b\n1,u\n3,v\n5,"w\nw"\n')
    assert [read(), read()] == [["u", "v", "w\nw"]] * 2
    assert len(looked) == 4


TEXT_IS_OBJECTS = not isinstance(pd.Series(["a"]).dtype, pd.StringDtype)


@pytest.mark.skipif(TEXT_IS_OBJECTS, reason="some of the objects may be numbers")
@pytest.mark.parametrize("options", [{}, {"dtype": {"n": "float64"}}, {"usecols": ["code"]}])
def test_codes_of_digits_are_text_where_others_have_letters(tmp_path, options):
    codes = [*["AB1"] * 300, *["007"] * 300, *["1.50"] * 300, *["True"] * 300, *[""] * 300]
    pd.DataFrame({"code": codes, "n": range(len(codes))}).to_csv(tmp_path / "a.csv", index=False)
    lazy = gd.read_csv(tmp_path / "a.csv", blocksize=1000, **options)
    assert lazy.npartitions > 8
    assert_same(lazy.compute(scheduler="inline").reset_index(drop=True), pd.read_csv(tmp_path / "a.csv", **options))


MIXED = "".join(
    ["k,b,d,n\n"]
    + [f"a{i % 7},t,u,1\n" for i in range(1200)]
    + [f"0{i % 7},TRUE,2020-01-0{1 + i % 5},1\n" for i in range(400)]
    + [f"1e{i % 7},,2020-01-0{1 + i % 5},2\n" for i in range(400)]
    + [",TRUE,,3\n"] * 400
)
"""Columns of text, of which some blocks have what looks like numbers, booleans and times."""


@pytest.mark.parametrize("engine", ["c", "python", "pyarrow"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dtype": {"k": "category", "b": "category", "d": "category"}},
        {"dtype": "category"},
        {"dtype": {"k": object, "b": "string", "d": object}},
        {"dtype_backend": "pyarrow"},
    ],
    ids=repr,
)
def test_text_stays_as_it_is_written_where_a_block_has_other_values_alone(tmp_path, engine, options):
    (tmp_path / "a.csv").write_text(MIXED)
    got = gd.read_csv(tmp_path / "a.csv", engine=engine, blocksize=1500, **options)
    assert got.npartitions > 8
    expected = pd.read_csv(tmp_path / "a.csv", engine=engine, **options)
    if TEXT_IS_OBJECTS:  # there is None where PyArrow's engine reads
        for name in expected.select_dtypes("object"):
            expected[name] = pd.Series([np.nan if one is None else one for one in expected[name]], dtype=object)
    assert_same(got.compute(scheduler="inline").reset_index(drop=True), expected)
    one = got.k.compute(scheduler="inline").reset_index(drop=True)
    assert_same(one, expected.k)


@pytest.mark.parametrize("engine", ["c", "pyarrow"])
def test_categories_that_are_numbers_in_the_sample_alone_are_named(tmp_path, monkeypatch, engine):
    monkeypatch.setattr(csv, "_SAMPLE_BYTES", 2000)  # PyArrow's parser reads them, others a thousand lines
    (tmp_path / "a.csv").write_text("k,x\n" + "07,1\n" * 1500 + "b8,1\n" * 1000)
    options = {"engine": engine, "dtype": {"k": "category"}}
    cut = gd.read_csv(tmp_path / "a.csv", blocksize=1000, **options)
    if PANDAS_VERSION < (3, 1) and engine == "c":  # which leaves numbers text in all blocks
        expected = pd.read_csv(tmp_path / "a.csv", **options).k
        assert_same(cut.k.compute(scheduler="inline").reset_index(drop=True), expected)
    else:
        message = r"'k' holds categories of (str|object), the sample categories of [Ii]nt64\. Give dtype=\{'k': 'str'\}\. astype"
        with pytest.raises(MetaError, match=message):
            cut.k.compute(scheduler="inline")
    assert_same(cut.x.sum().compute(scheduler="inline"), 2500)
    if engine == "c":
        whole = gd.read_csv(tmp_path / "a.csv", blocksize=None, **options)
        assert_same(whole.compute(scheduler="inline"), pd.read_csv(tmp_path / "a.csv", **options))


@pytest.mark.parametrize("text", ["a,b\n1,é\n2,ß\n", "a,b\n1,x\n", "﻿a,b\n1,x\n", 'a,b\n1,"x\n\ny"\n', "a,a\n1,2\n"])
def test_bytes_are_parsed_as_text_is(text):
    data = text.encode()
    assert_same(pd.read_csv(Utf8Bytes(io.BytesIO(data), b"", 0, None)), pd.read_csv(io.BytesIO(data)))
    header, rest = data[: data.index(b"\n") + 1], data[data.index(b"\n") + 1 :]
    parted = Utf8Bytes(io.BytesIO(b"??" + rest + b"??"), header, 2, 2 + len(rest))
    assert_same(pd.read_csv(parted), pd.read_csv(io.BytesIO(data)))


def test_what_is_not_utf_8_is_an_error_also_in_columns_that_are_not_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,x\n" * 2000 + b"2,\xff\n")
    with pytest.raises(ReadError, match=r"a\.csv' can't be read as CSV: 'utf-8' codec can't decode byte 0xff"):
        gd.read_csv(tmp_path / "a.csv", blocksize=1000).a.sum().compute()
    assert gd.read_csv(tmp_path / "a.csv", blocksize=1000, encoding="latin-1").b.compute().iloc[-1] == "ÿ"


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "python"},
        {"sep": None},
        {"sep": r"\s+"},
        {"encoding": "latin-1"},
        {"on_bad_lines": print},
        {"foo": 1},
    ],
)
def test_other_options_have_pandas_open_the_file(options):
    assert not takes_bytes(pd.read_csv, options)
    assert not takes_bytes(pd.read_fwf, {})
    assert takes_bytes(pd.read_csv, {"sep": ";", "skiprows": [1], "dtype": {"a": str}})


@pytest.mark.parametrize(
    "options", [{"on_bad_lines": "skip"}, {"usecols": ["x"]}, {"index_col": "x", "on_bad_lines": "warn"}]
)
def test_a_longer_row_means_the_same_wherever_a_block_begins(tmp_path, options):
    """Of the first row of a text, pandas takes the fields that are too many for labels."""
    rows = ["1,2\n"] * 2500
    rows[1200] = "3,4,5\n"
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(rows))
    is_labelled = "index_col" in options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)
        wanted = pd.read_csv(path, **options)
        for size in (1200 * 4, 1200 * 4 - 2):  # ends with the row, and before it
            lazy = gd.read_csv(path, blocksize=size, **options)
            assert_same(lazy.compute().reset_index(drop=not is_labelled), wanted.reset_index(drop=not is_labelled))
            assert lazy.npartitions > 1


def test_a_longer_row_at_the_beginning_of_a_block_is_an_error_that_names_its_line(tmp_path):
    rows = ["1,2\n"] * 2500
    rows[1200] = "3,4,5\n"
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(rows))
    lazy = gd.read_csv(path, blocksize=1200 * 4 - 2)
    with pytest.raises(ParseError, match=r"Expected 2 fields in line 1202, saw 3\. Give names="):
        lazy.compute()
    assert lazy.x.sum().compute() == 2502  # whose fields are the first of each row


def test_dtypes_come_from_the_first_file_with_rows(tmp_path):
    for name, text in (("a", "x,y\n"), ("b", ""), ("c", "x,y\n1,2.5\n"), ("d", "x,y\n3,4.5\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    read = gd.read_csv(tmp_path / "*.csv")
    assert_same(read.compute().reset_index(drop=True), pd.DataFrame({"x": [1, 3], "y": [2.5, 4.5]}))


def test_labels_of_a_flag_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match="index_col couldn't be 'True': give the name"):
        gd.read_csv(tmp_path / "a.csv", index_col=True)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("  1  2\n123 98\n", {"infer_nrows": 1, "header": None}),
        ("a~~b~~~c\n1..~~22~3\n44~~5.~~6\n", {"delimiter": "~"}),
        ("left out\na  b  c\nleft out, too\n12 34 56\n78 90 12\n", {"skiprows": [0, 2]}),
        ("a  b # text\n1  2\n34 5 # more\n", {"comment": "#"}),
    ],
)
def test_fields_of_fixed_width_are_found_as_by_pandas(tmp_path, text, options):
    (tmp_path / "a.txt").write_text(text)
    assert_same(gd.read_fwf(tmp_path / "a.txt", **options).compute(), pd.read_fwf(tmp_path / "a.txt", **options))


@pytest.mark.parametrize(
    "options", [{}, {"on_bad_lines": "skip"}, {"usecols": ["x"]}, {"index_col": 0}, {"dtype": {"x": float}}]
)
@pytest.mark.parametrize("left_out", [None, 3, 60])
def test_labels_without_a_name_may_follow_each_other_or_not(tmp_path, options, left_out):
    """Labels that follow each other become numbers of rows to pandas, in a block or in all."""
    frame = pd.DataFrame({"x": range(100), "y": 1.5})[::2]
    path = tmp_path / "a.csv"
    frame[frame.x != left_out * 2 if left_out else slice(None)].to_csv(path, index_label=False)
    wanted = pd.read_csv(path, **options)
    for size in (20, 33, 100):
        assert_same(gd.read_csv(path, blocksize=size, **options).compute(), wanted)


def test_rows_that_all_end_in_a_separator_are_cut_like_others(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{number},{number % 3},\n" for number in range(20)))
    assert_same(gd.read_csv(tmp_path / "a.csv", blocksize=25).compute(), pd.read_csv(tmp_path / "a.csv"))


def test_several_longer_rows_are_left_out_where_a_block_begins_with_them(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 5 + '"3\n3",4,5\n' * 3 + "6,7\n" * 5)
    found = gd.read_csv(tmp_path / "a.csv", blocksize=16, on_bad_lines="skip").compute()
    assert_same(found.reset_index(drop=True), pd.read_csv(tmp_path / "a.csv", on_bad_lines="skip"))


def test_a_fraction_among_whole_numbers_of_arrows_is_named(tmp_path):
    rows = [f"{number}\n" for number in range(2000)]
    rows[1999] = "1999.5\n"
    (tmp_path / "a.csv").write_text("a\n" + "".join(rows))
    with pytest.raises(MetaError, match=r"first 1999\.5, in line 2001"):
        gd.read_csv(tmp_path / "a.csv", blocksize=1000, dtype_backend="pyarrow").compute()


def test_a_first_row_that_is_longer_than_what_is_looked_at_is_no_bad_line(tmp_path, monkeypatch):
    monkeypatch.setattr(first_rows, "_FIRST_BYTES", 8)
    rows = [f'{number},"{"a line" * number}\nand another"\n' for number in range(40)]
    (tmp_path / "a.csv").write_text("n,s\n" + "".join(rows))
    found = gd.read_csv(tmp_path / "a.csv", blocksize=300).compute()
    assert_same(found.reset_index(drop=True), pd.read_csv(tmp_path / "a.csv"))


def test_long_rows_of_too_many_fields_are_left_out_to_the_last(tmp_path):
    """More of them than are looked at, to begin with; also where one column is asked for, for which pandas leaves out none."""
    longer = [f'"{"x" * 3000}",2,3\n'] * 20
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 5 + "".join(longer) + "6,7\n" * 8000)
    for size in (24, 40_000):
        lazy = gd.read_csv(tmp_path / "a.csv", blocksize=size, on_bad_lines="skip", dtype={"x": str})
        if size == 24:  # of many blocks the first ones: a block has one of these rows
            lazy = lazy.partitions[:20]
        wanted = ["1"] * 5 + ["6"] * (len(lazy) - 5)
        assert lazy.x.compute().tolist() == lazy.compute().x.tolist() == wanted


def test_very_many_rows_of_too_many_fields_at_the_beginning_of_a_block_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,2\n" * 1000 + "3,4,5\n" * 500 + "6,7\n" * 1000)
    found = gd.read_csv(path, blocksize=3998, on_bad_lines="skip").compute()
    assert_same(found.reset_index(drop=True), pd.read_csv(path, on_bad_lines="skip"))


RAGGED = {
    "names of all fields": {"names": ["a", "b", "c"], "on_bad_lines": "skip"},
    "some of the names": {"names": ["a", "b", "c"], "usecols": ["c"]},
    "names of some fields": {"names": ["a", "c"], "usecols": [0, 2]},
    "some of the names by number": {"names": ["a", "b", "c"], "usecols": [0, 2]},
    "names that a function chooses": {"names": ["a", "b", "c"], "usecols": lambda name: name > "a"},
    "a function of bad lines": {"names": ["a", "b", "c"], "on_bad_lines": lambda row: row[:3], "engine": "python"},
    "labels": {"names": ["a", "b"], "on_bad_lines": "skip"},
    "labels, some columns": {"header": 0, "names": ["a", "b"], "on_bad_lines": "skip"},
    "columns alone": {"names": ["a", "b"], "index_col": False, "on_bad_lines": "skip"},
    "categories": {"names": ["a", "b", "c"], "dtype": {"c": "category"}, "on_bad_lines": "skip"},
    "PyArrow's engine": {"names": ["a", "b", "c"], "on_bad_lines": "skip", "engine": "pyarrow"},
    "the parser in Python": {"header": 0, "names": ["a", "b"], "usecols": ["a"], "engine": "python"},
}


@pytest.mark.parametrize("options", RAGGED.values(), ids=RAGGED.keys())
def test_rows_of_unlike_lengths_mean_the_same_wherever_a_block_begins(tmp_path, options):
    rows = ["11,2,3", "4,5,6", "7,8", "9,10,11,12", "13", "14,15,16", "17,18,19,20", "21,22", "23,24,25"]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(rows) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)  # of fields that are left out
        wanted = pd.read_csv(path, **options)
        is_labelled = not isinstance(wanted.index, pd.RangeIndex)
        for size in (5, 9, 14, 30):
            found = gd.read_csv(path, blocksize=size, **options).compute(scheduler="inline")
            assert_same(found if is_labelled else found.reset_index(drop=True), wanted)


def test_the_row_after_which_a_block_is_parsed_leaves_no_category_in_it(tmp_path):
    (tmp_path / "a.csv").write_text("a\n" + "x\n" * 10 + "y\n" * 10)
    last = gd.read_csv(tmp_path / "a.csv", blocksize=20, dtype="category").partitions[-1].compute()
    assert last.a.cat.categories.tolist() == ["y"]


@pytest.mark.parametrize("blocksize", [11, None])
def test_the_only_column_beside_labels_without_a_name_is_not_that_of_the_labels(tmp_path, blocksize):
    path = tmp_path / "labelled.csv"
    path.write_text("x\n0,1.5\n1,\n2,1e3\n")
    lazy = gd.read_csv(path, blocksize=blocksize)
    assert_same(lazy["x"].compute(scheduler="inline"), pd.read_csv(path)["x"])


@pytest.mark.parametrize(
    "before", ["# no row\n" * 3000, "\n" * 3000, '"' + "line\n" * 3000 + '",2\n'], ids=["comments", "blank", "quoted"]
)
def test_the_first_row_of_a_file_may_be_far_behind_its_header(tmp_path, before):
    path = tmp_path / "far.csv"
    path.write_text("x,y\n" + before + "".join(f"{number},2\n" for number in range(4000)))
    options = {"comment": "#"}
    lazy = gd.read_csv(path, blocksize=9000, **options)
    assert lazy.npartitions > 3
    assert_same(lazy.compute(scheduler="inline").reset_index(drop=True), pd.read_csv(path, **options))


def test_columns_are_chosen_by_names_that_are_numbers_of_others(tmp_path):
    path = tmp_path / "numbered.csv"
    path.write_text("".join(f"{number},{number + 10},{number + 20}\n" for number in range(6)))
    for names in ([2, 0, 1], [5, 6, 7]):
        lazy, expected = (module.read_csv(path, header=None, names=names) for module in (gd, pd))
        for name in names:
            assert lazy[name].compute().tolist() == expected[name].tolist()
        assert lazy[names[:2]].compute().columns.tolist() == names[:2]


SHORT_FIRST = ["6,1", "8,9,4", "4,3,2", "5,9,7", "6,6,5", "8,4,1"]


@pytest.mark.parametrize("columns", [["c"], ["a", "c"], ["a"]])
@pytest.mark.parametrize("size", [None, 8])
def test_columns_that_the_first_row_lacks_are_read_among_all(tmp_path, columns, size):
    """Of one such field pandas reads no row at all, and of several only missing values."""
    path = tmp_path / "a.csv"
    path.write_text("\n".join(SHORT_FIRST) + "\n")
    options = {"names": ["a", "b", "c"], "usecols": [0, 1, 2]}
    lazy = gd.read_csv(path, blocksize=size, **options)[columns]
    assert_same(lazy.compute(scheduler="inline").reset_index(drop=True), pd.read_csv(path, **options)[columns])


@pytest.mark.parametrize("size", [None, 8])
@pytest.mark.parametrize(
    "options",
    [
        {"names": ["a", "b"], "header": 0},
        {"names": ["a", "b", "c"], "usecols": [0, 1, 2], "header": 0},
        {"names": ["a", "b", "c"], "usecols": [0, 2], "header": 0},
    ],
)
def test_some_columns_that_the_parser_in_python_reads_are_those_of_all(tmp_path, options, size):
    """It takes labels where names are fewer than fields, and refuses fewer names than fields where columns are chosen."""
    path = tmp_path / "a.csv"
    path.write_text("x,y,z\n" + "\n".join(SHORT_FIRST[1:]) + "\n")
    lazy, wanted = (
        gd.read_csv(path, blocksize=size, engine="python", **options),
        pd.read_csv(path, engine="python", **options),
    )
    for columns in ([*wanted.columns], [wanted.columns[-1]], [wanted.columns[0]]):
        found = lazy[columns].compute(scheduler="inline")
        is_numbered = isinstance(wanted.index, pd.RangeIndex)
        assert_same(found.reset_index(drop=True) if is_numbered else found, wanted[columns])


@pytest.mark.parametrize(
    "options", [{"header": None}, {"names": ["a", "b"]}, {"names": ["a", "b"], "dtype": {"b": str}}]
)
def test_pyarrows_engine_makes_no_times_of_texts_in_the_blocks_where_all_are_times(tmp_path, options):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{number},2024-01-0{number} 10:00\n" for number in range(1, 9)))
    lazy = gd.read_csv(path, blocksize=40, engine="pyarrow", **options)
    assert_same(lazy.compute(scheduler="inline").reset_index(drop=True), pd.read_csv(path, engine="pyarrow", **options))


def test_pyarrows_engine_parses_dates_beside_whole_numbers_that_are_missing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("n,d\n" + "".join(f"{number if number % 7 else ''},2024-01-0{number}\n" for number in range(1, 9)))
    options = {"engine": "pyarrow", "parse_dates": ["d"]}
    assert_same(gd.read_csv(path, **options).compute(), pd.read_csv(path, **options))


def test_pyarrows_engine_takes_labels_that_rows_have_in_every_block(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{number},x{number},{number % 3}\n" for number in range(12)))
    options = {"engine": "pyarrow", "names": ["a", "b"]}
    found = gd.read_csv(path, blocksize=16, **options).compute(scheduler="inline")
    if PANDAS_VERSION >= (3, 1):  # before, they are a column
        assert found.index.tolist() == list(range(12))
    assert_same(found.reset_index(drop=True), pd.read_csv(path, **options).reset_index(drop=True))


@pytest.mark.parametrize("header", [[0, 1], [0], [1]])
def test_a_header_of_several_lines_goes_before_every_block(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text("x,x,y\np,q,p\n" + "".join(f"{number},{number % 3},t{number}\n" for number in range(20)))
    lazy = gd.read_csv(path, blocksize=30, header=header)
    assert lazy.npartitions > 3
    assert_same(lazy.compute(scheduler="inline").reset_index(drop=True), pd.read_csv(path, header=header))
    with pytest.raises(
        OptionError, match=r"a line may have the index's names; set blocksize=None, or call set_index\(\)"
    ):
        gd.read_csv(path, blocksize=30, header=[0, 1], index_col=0)


@pytest.mark.parametrize("options", [{"encoding": "utf-16"}, {"skipfooter": 1}], ids=["UTF-16", "a footer"])
def test_some_columns_of_files_that_only_the_parser_in_python_reads_are_those_of_all(tmp_path, options):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,a\n2,b\n3,c\n", encoding=options.get("encoding"))
    options = {"engine": "python", **options}
    assert_same(gd.read_csv(path, **options)[["y"]].compute(), pd.read_csv(path, **options)[["y"]])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_pyarrows_engine_looks_at_the_last_line_too(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_text("n\n5", encoding=encoding)
    options = {"engine": "pyarrow", "encoding": encoding}
    assert_same(gd.read_csv(path, **options).compute(), pd.read_csv(path, **options))


@pytest.mark.parametrize("backend", [None, "numpy_nullable", "pyarrow"])
def test_blocks_without_a_value_fit_where_values_may_be_missing(tmp_path, backend):
    """PyArrow's days are objects where no dtypes are chosen, and their missing values None."""
    path = tmp_path / "a.csv"
    path.write_text(
        "x,n,b,d\n" + "".join(f"{number},{',,' if number > 5 else '1,True,2024-01-05'}\n" for number in range(12))
    )
    if backend is None:
        path.write_text(path.read_text().replace(",1,True", ",1.5,a"))
    options = {"engine": "pyarrow", **({} if backend is None else {"dtype_backend": backend})}
    lazy = gd.read_csv(path, blocksize=30, **options)
    assert lazy.npartitions > 2
    found, wanted = lazy.compute(scheduler="inline").reset_index(drop=True), pd.read_csv(path, **options)
    assert_same(found, wanted)
    assert [one is None for one in found.d] == [one is None for one in wanted.d]


@pytest.mark.parametrize("engine", ["c", "python"])
def test_a_first_row_may_be_blank(tmp_path, engine):
    path = tmp_path / "a.csv"
    path.write_text("\n1\n2")
    options = {"names": ["a"], "skip_blank_lines": False, "engine": engine}
    found = gd.read_csv(path, blocksize=1, **options).compute().reset_index(drop=True)
    assert_same(found, pd.read_csv(path, **options))


def test_texts_that_are_times_in_one_block_alone_stay_as_they_are_written(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n2024-04-22 17:15+05:30\n2024-02-19 12:19\n")
    for engine in ("c", "python"):
        options = {"parse_dates": ["a"], "date_format": "ISO8601", "engine": engine}
        found = gd.read_csv(path, blocksize=10, **options).compute().reset_index(drop=True)
        assert_same(found, pd.read_csv(path, **options))


@pytest.mark.filterwarnings("ignore::pandas.errors.ParserWarning")  # of fields that are left out
def test_rows_that_a_function_makes_of_bad_lines_come_once(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\na,b\nc,d,e\nf,g,h\n")
    options = {"engine": "python", "index_col": False, "on_bad_lines": lambda fields: fields[:1]}
    found = gd.read_csv(path, blocksize=4, **options).compute(scheduler="inline").reset_index(drop=True)
    assert_same(found, pd.read_csv(path, **options))
