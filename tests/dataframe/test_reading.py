"""Text files, JSON lines and objects at hand, read into frames."""

from __future__ import annotations

import bz2
import gzip
import io
import os
from collections import defaultdict

import fsspec
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pa_fs
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.io.read import Source
from glassloom.errors import MetaError, OptionError, ParseError, ReadError
from glassloom.graph import tokenize


def test_tables_and_fields_of_fixed_width_are_cut_into_blocks(tmp_path):
    frame = pd.DataFrame({"name": [f"n{n}" for n in range(40)], "x": range(100, 140), "y": [0.5] * 40})
    frame.to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    lazy = gd.read_table(tmp_path / "a.tsv", blocksize=100)
    assert lazy.npartitions > 3
    assert_same(lazy.compute().reset_index(drop=True), frame)
    (tmp_path / "a.txt").write_text(frame.to_string(index=False) + "\n")
    wide = gd.read_fwf(tmp_path / "a.txt", blocksize=100)
    assert wide.npartitions > 3
    assert_same(wide.compute().reset_index(drop=True), pd.read_fwf(tmp_path / "a.txt"))
    assert wide.x.sum().compute() == frame.x.sum()


def test_the_file_of_each_row_is_a_category(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"x\n{ord(name)}\n")
    lazy = gd.read_csv(tmp_path / "*.csv", include_path_column="file")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert lazy.file.compute().tolist() == files
    assert list(lazy.file.compute().cat.categories) == files
    assert lazy[["file"]].compute().file.tolist() == files
    assert list(gd.read_csv(tmp_path / "*.csv", include_path_column=True).columns) == ["x", "path"]
    assert lazy[["x"]].compute().x.tolist() == lazy.drop(columns="file").compute().x.tolist() == [97, 98]


def test_a_value_that_is_not_of_the_given_dtype_is_named_with_its_line(tmp_path):
    (tmp_path / "a.csv").write_text("k,x\n" + "1,1\n" * 1500 + "2,many\n")
    lazy = gd.read_csv(tmp_path / "a.csv", blocksize="2kB", dtype={"x": "int64"})
    with pytest.raises(MetaError, match=r"column 'x' should be int64 \(first 'many', in line 1502\)"):
        lazy.x.sum().compute()
    missing = tmp_path / "b.csv"
    missing.write_text("k,x\n" + "1,1\n" * 1500 + "2,\n")
    with pytest.raises(MetaError, match=r"'x' holds float64, the sample int64 \(first a missing value, in line 1502\)"):
        gd.read_csv(missing, blocksize="2kB").x.sum().compute()
    assert gd.read_csv(missing, blocksize="2kB", assume_missing=True).x.sum().compute() == 1500


def test_files_whose_columns_are_in_another_order_are_cut_with_their_own_names(tmp_path):
    (tmp_path / "a.csv").write_text("x,name\n" + "1,u\n" * 30)
    (tmp_path / "b.csv").write_text("name,x\n" + "v,2\n" * 30)
    for size in (20, None):
        got = gd.read_csv(tmp_path / "*.csv", blocksize=size).compute(scheduler="inline")
        assert got.x.tolist() == [1] * 30 + [2] * 30
        assert got.name.tolist() == ["u"] * 30 + ["v"] * 30


def test_json_lines_are_cut_into_blocks(tmp_path):
    frame = pd.DataFrame({"x": range(50), "s": [f"line {n}" for n in range(50)]})
    frame.to_json(tmp_path / "a.json", orient="records", lines=True)
    lazy = gd.read_json(tmp_path / "a.json", blocksize=200)
    assert lazy.npartitions > 3
    assert_same(lazy.compute().reset_index(drop=True), frame)
    assert gd.read_json(tmp_path / "a.json", meta={"s": str}).s.compute()[3] == "line 3"
    frame.to_json(tmp_path / "whole.json", orient="split")
    assert_same(gd.read_json(tmp_path / "whole.json", orient="split").compute(), frame)
    with pytest.raises(OptionError, match="blocksize=10 needs lines=True"):
        gd.read_json(tmp_path / "whole.json", orient="split", blocksize=10)
    (tmp_path / "bad.json").write_text("{nothing")
    with pytest.raises(ReadError, match=r"bad\.json' can't be read as JSON"):
        gd.read_json(tmp_path / "bad.json")
    with (tmp_path / "a.json").open("a") as file:
        file.write('{"x": "none", "s": "last"}\n')
    with pytest.raises(MetaError, match=r"'x' holds .*\(first 'none', in line 51\)"):
        gd.read_json(tmp_path / "a.json", blocksize=200, meta={"x": "int64", "s": str}, dtype=False).x.sum().compute()


def test_objects_at_hand_become_frames():
    columns = {"x": [1, 2, 3], "s": ["a", None, "c"]}
    assert_same(gd.from_dict(columns, npartitions=2).compute(), pd.DataFrame(columns))
    assert_same(
        gd.from_dict({"r": [1, 2]}, orient="index", columns=["a", "b"]).compute(),
        pd.DataFrame({"a": [1], "b": [2]}, index=["r"]),
    )
    records = [(1, "a"), (2, "b")]
    assert_same(gd.from_records(records, columns=["x", "s"]).compute(), pd.DataFrame(records, columns=["x", "s"]))
    table = pa.table(columns)
    lazy = gd.from_arrow(table, npartitions=2)
    assert lazy.divisions == (0, 1, 2)
    assert len(lazy) == 3
    assert_same(lazy.compute(), table.to_pandas())
    assert_same(lazy.x.compute(), table.to_pandas().x)
    kept = gd.from_arrow(table, chunksize=2, dtype_backend="pyarrow")
    assert_same(kept.compute(), table.to_pandas(types_mapper=pd.ArrowDtype))
    assert len(gd.from_arrow(table.slice(0, 0))) == 0
    with pytest.raises(TypeError, match="from_arrow takes a pyarrow Table, RecordBatch or RecordBatchReader, got list"):
        gd.from_arrow([1])


def test_made_up_data_has_the_columns_that_are_asked_for():
    dtypes = {"n": int, "flag": bool, "kind": "category", "text": str, "z": float}
    lazy = gd.datasets.timeseries(end="2000-01-03", freq="1min", dtypes=dtypes, n_lam=3, seed=1)
    frame = lazy.compute()
    assert list(frame.columns) == list(dtypes)
    assert [str(dtype) for dtype in frame.dtypes[["n", "flag", "kind", "z"]]] == [
        "int64",
        "bool",
        "category",
        "float64",
    ]
    assert 2 < frame.n.mean() < 4
    assert_same(lazy.kind.compute(), frame.kind)
    with pytest.raises(OptionError, match=r"dtypes\['q'\]=<class 'bytes'> should be int"):
        gd.datasets.timeseries(dtypes={"q": bytes})
    with pytest.raises(TypeError, match=r"got \['x_lam'\]: the mean of a column of whole numbers"):
        gd.datasets.timeseries(x_lam=3)


def _unlike_sources(folder):
    """Return pairs of frames that are read from the same data, and yet differ."""
    plain = pd.DataFrame({"x": range(2000), "k": range(2000)})
    plain.to_parquet(folder / "a.parquet")
    values = list(range(2000))
    others = [*values[:1000], 7777, *values[1001:]]  # text of an expression leaves the middle of long lists out
    x = pc.field("x")
    return {
        "divisions": (gd.from_pandas(plain, 2), gd.from_pandas(plain, 2, sort=False)),
        "long filters": tuple(
            gd.read_parquet(folder / "a.parquet", filters=x.isin(some) & (x >= 0)) for some in (values, others)
        ),
        "index": (gd.read_parquet(folder / "a.parquet"), gd.read_parquet(folder / "a.parquet", index="k")),
        "meta": tuple(
            gd.from_map(lambda n: pd.DataFrame({"x": [n]}), [1, 2], meta=pd.DataFrame({"x": pd.Series(dtype=dtype)}))
            for dtype in ("int64", "float64")
        ),
    }


@pytest.mark.parametrize("name", ["divisions", "long filters", "index", "meta"])
def test_sources_that_differ_in_anything_have_different_names(tmp_path, name):
    one, other = _unlike_sources(tmp_path)[name]
    assert one.expr.name != other.expr.name
    assert one.expr.layout != other.expr.layout


def test_what_a_source_says_of_itself_is_in_its_token():
    class Plain(Source):
        token, meta, divisions, lengths = "same", pd.DataFrame({"x": [1]})[:0], (0, 1), (2,)

    def token(**attributes):
        source = Plain()
        vars(source).update(attributes)
        return tokenize(source)

    unlike = [
        {"divisions": (None, None)},
        {"lengths": None},
        {"meta": pd.DataFrame({"x": ["a"]})[:0]},
        {"label": "other"},
        {"can_filter": True},
        {"token": "other"},
    ]
    assert token() == token()
    assert len({token(), *(token(**attributes) for attributes in unlike)}) == len(unlike) + 1


def test_files_of_equal_names_in_different_file_systems_are_told_apart(tmp_path):
    frames = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        pd.DataFrame({"x": [number, number]}).to_parquet(folder / "a.parquet")
        (folder / "a.csv").write_text(f"x\n{number}\n")
        for name in ("a.parquet", "a.csv"):
            os.utime(folder / name, ns=(0, 0))
        system = pa_fs.SubTreeFileSystem(str(folder), pa_fs.LocalFileSystem())
        frames.append((gd.read_parquet("a.parquet", filesystem=system), gd.read_csv("a.csv", filesystem=system)))
    for one, other in zip(*frames, strict=True):
        assert one.expr.name != other.expr.name
    assert [int(frame.x.max().compute(scheduler="inline")) for pair in frames for frame in pair] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "pattern",
    [
        "*.csv",
        "a/*.csv",
        "a*/b?/*.csv",
        "a/**/*.csv",
        "**/1.csv",
        "a/b[!x]/1.csv",
        "a/**",
        "*/*",
        "**/b1/*",
        "./a/*.csv",
        "**",
        ".*",
        "*/.*",
        "**/.*",
        ".h/*",
        "_*",
        "*/_*",
        "[.]1.csv",
        "k=*",
        "k=*/",
        "**/k=*",
        "a/**/",
    ],
)
def test_globs_stand_for_the_same_files_in_every_file_system(tmp_path, pattern, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["1", "10", "2", "a/1", "a/3", "a/b1/1", "a/b1/2", "a/bx/1", "a/b1/c/1", "ab/b2/1"]
    hidden = [
        ".1",
        "_1",
        "a/.1",
        "a/_1",
        ".h/1",
        "_h/1",
        "a/.h/1",
        "a/b1/.1",
        "k=1/1",
        "k=1/.2",
        "k=1/_3/4",
        "k=2/_5",
        "k=2/6",
    ]
    for number, name in enumerate([*names, *hidden]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.csv").write_text(f"x\n{number}\n")
    memory = fsspec.filesystem("memory")
    memory.put(f"{tmp_path}/", "/globs", recursive=True)
    system = pa_fs.SubTreeFileSystem(str(tmp_path), pa_fs.LocalFileSystem())
    plain = pattern.removeprefix("./")
    places = ((pattern, None), (plain, system), (f"/globs/{plain}", memory))
    found = [_values_of(path, filesystem) for path, filesystem in places]
    memory.rm("/globs", recursive=True)
    assert found[0] == found[1] == found[2]


def _values_of(path, filesystem):
    try:
        return gd.read_csv(path, filesystem=filesystem).x.compute(scheduler="inline").tolist()
    except FileNotFoundError:
        return "nothing"


def test_folders_elsewhere_are_read_whole_as_those_on_this_machine(tmp_path):
    for number, name in enumerate(["a", "d/b", ".h", "_u", ".d/c", "_d/e"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.csv").write_text(f"x\n{number}\n")
    system = pa_fs.SubTreeFileSystem(str(tmp_path), pa_fs.LocalFileSystem())
    assert _values_of(tmp_path, None) == _values_of("", system) == [0, 1]


def test_digits_of_other_kinds_in_names_are_no_numbers(tmp_path):
    for name in ("m2", "m²", "10²0", "٣"):
        (tmp_path / f"{name}.csv").write_text("x\n1\n")
    assert len(gd.read_csv(tmp_path / "*.csv")) == 4


def test_writing_to_what_was_computed_changes_nothing_that_is_held():
    data = pd.DataFrame({"x": [1, 2]})
    lazy = gd.from_pandas(data, npartitions=1)
    for one in (lazy, (lazy + 0).persist()):
        mine = one.compute()
        mine.loc[0, "x"] = 7
        assert one.compute().x.tolist() == data.x.tolist() == [1, 2]
        series = one.x.compute()
        series[1] = 8
        assert one.x.compute().tolist() == [1, 2]


@pytest.mark.parametrize("read", [gd.read_csv, gd.read_json, gd.read_parquet, gd.read_orc, gd.read_fwf])
def test_what_is_no_path_is_refused(read):
    for path in (None, 3, b"a.csv", {"a": 1}, [3], [b"x"]):
        with pytest.raises(
            TypeError, match="paths should be a path or URL as text, a glob, a folder, or a list of those, got"
        ):
            read(path)
    with pytest.raises(TypeError, match=r"what is open is read by pandas, and its frame goes into from_pandas\(\)"):
        read(io.StringIO("a,b\n"))
    with pytest.raises(
        OptionError, match="filesystem='x' should be one of 'auto', 'fsspec', 'arrow', 'pyarrow', or a file"
    ):
        read("a.csv", filesystem="x")


def test_the_column_of_paths_takes_the_place_of_none(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "a.json").write_text('{"x": 1}\n')
    for read, name in ((gd.read_csv, "a.csv"), (gd.read_json, "a.json")):
        with pytest.raises(OptionError, match=rf"include_path_column='x': '.*{name}' has a column of this name"):
            read(tmp_path / name, include_path_column="x")


@pytest.mark.parametrize("empty", ["a.csv", "b.csv", "c.csv"])
@pytest.mark.parametrize("header", ["infer", None])
def test_a_file_without_a_byte_has_no_rows(tmp_path, empty, header):
    frame = pd.DataFrame({"x": [1, 2], "y": ["u", "v"]})
    for name in ("a.csv", "b.csv", "c.csv"):
        frame.to_csv(tmp_path / name, index=False, header=header is not None)
    (tmp_path / empty).write_text("")
    lazy = gd.read_csv(tmp_path / "*.csv", header=header, include_path_column=True)
    found = lazy.compute().reset_index(drop=True)
    both = pd.concat([frame, frame], ignore_index=True)
    assert_same(found[lazy.columns[:2]].set_axis(["x", "y"], axis=1), both)
    assert str(tmp_path / empty) not in found["path"].tolist() and str(tmp_path / empty) in found["path"].cat.categories
    assert len(lazy) == 4 and lazy[lazy.columns[0]].sum().compute() == 6


@pytest.mark.parametrize("blocksize", [None, 100])
def test_json_files_without_a_byte_have_no_rows(tmp_path, blocksize):
    for name, text in (("a", ""), ("b", '{"x": 1}\n{"x": 2}\n'), ("c", "")):
        (tmp_path / f"{name}.json").write_text(text)
    lazy = gd.read_json(
        tmp_path / "*.json",
        blocksize=blocksize,
        include_path_column=True,
        path_converter=lambda path: None if "b" in path[-6:] else "none",
    )
    assert lazy.compute().x.tolist() == [1, 2] and lazy.x.sum().compute() == 3
    assert lazy.path.isna().all().compute() and list(lazy.path.cat.categories) == ["none"]


def test_files_without_a_byte_alone_are_an_error(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("")
    with pytest.raises(ReadError, match=r"a\.csv' can't be read as CSV: No columns to parse from file"):
        gd.read_csv(tmp_path / "*.csv")
    (tmp_path / "none").mkdir()
    with pytest.raises(FileNotFoundError, match=r"holds no \.csv or \.tsv or \.txt file$"):
        gd.read_csv(tmp_path / "none")


@pytest.mark.parametrize("read", [gd.read_csv, gd.read_json, gd.read_parquet, gd.read_orc, gd.from_arrow])
def test_rows_without_columns_stay_those_of_the_file(tmp_path, read):
    frame = pd.DataFrame({"x": [1, 2], "y": ["u", "v"]})
    kind = read.__name__.removeprefix("read_")
    options = {"csv": {"index": False}, "json": {"orient": "records", "lines": True}}.get(kind, {})
    if read is gd.from_arrow:
        lazy = gd.from_arrow(pa.Table.from_pandas(frame))
    else:
        getattr(frame, f"to_{kind}")(tmp_path / f"a.{kind}", **options)
        lazy = read(tmp_path / f"a.{kind}")
    for found in (lazy[[]].compute(), lazy.drop(columns=["x", "y"]).compute()):
        pd.testing.assert_index_equal(found.columns, frame[[]].columns, exact=True)
        assert len(found) == 2


def test_columns_that_a_file_of_orc_lacks_are_missing_in_its_rows(tmp_path):
    pd.DataFrame({"x": [1, 2]}).to_orc(tmp_path / "0.orc")
    pd.DataFrame({"x": [3], "y": ["u"]}).to_orc(tmp_path / "1.orc")
    found = gd.read_orc(tmp_path)[["y"]].compute()
    assert_same(found.reset_index(drop=True), pd.DataFrame({"y": pd.Series([None, None, "u"], dtype="str")}))


@pytest.mark.parametrize("read", [gd.read_csv, gd.read_json, gd.read_parquet, gd.read_orc])
def test_columns_may_be_chosen_twice(tmp_path, read):
    frame = pd.DataFrame({"x": [1, 2], "y": ["u", "v"], "z": [0.5, 1.5]})
    kind = read.__name__.removeprefix("read_")
    options = {"csv": {"index": False}, "json": {"orient": "records", "lines": True}}.get(kind, {})
    getattr(frame, f"to_{kind}")(tmp_path / f"a.{kind}", **options)
    lazy, columns = read(tmp_path / f"a.{kind}"), ["z", "x", "x", "y", "z"]
    assert_same(lazy[columns].compute(), frame[columns])
    assert_same(lazy[columns].head(1), frame[columns].head(1))
    assert_same(lazy[lazy.x > 1][columns].compute(), frame[frame.x > 1][columns])


def test_a_function_makes_something_else_of_paths(tmp_path):
    for number, name in enumerate(["2020-a", "2020-b", "2021"]):
        (tmp_path / f"{name}.csv").write_text(f"x,y\n{number},7\n")
        (tmp_path / f"{name}.json").write_text(f'{{"x": {number}, "y": 7}}\n')

    def year(path):
        return int(path.rpartition("/")[2][:4])

    double = {"path": year, "y": lambda text: int(text) * 2}
    lazy = gd.read_csv(tmp_path / "*.csv", include_path_column=True, converters=double)
    assert lazy.compute().values.tolist() == [[0, 14, 2020], [1, 14, 2020], [2, 14, 2021]]
    assert list(lazy.path.compute().cat.categories) == [2020, 2021] == list(lazy.path.cat.categories)
    assert lazy[lazy.path == 2021].x.compute().tolist() == [2]
    as_json = gd.read_json(tmp_path / "*.json", include_path_column="year", path_converter=year)
    assert as_json.year.compute().tolist() == [2020, 2020, 2021]


def test_text_that_cannot_be_parsed_is_a_value_error_as_for_pandas(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n1,2,3\n")
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.json").write_text('{"a":\n')
    for read in (
        lambda: gd.read_csv(tmp_path / "a.csv"),
        lambda: gd.read_csv([tmp_path / "b.csv", tmp_path / "a.csv"]).compute(),
        lambda: gd.read_json(tmp_path / "a.json"),
    ):
        with pytest.raises(ParseError, match=r"a\.(csv|json)' can't be read as (CSV|JSON)") as caught:
            read()
        assert isinstance(caught.value, ValueError) and isinstance(caught.value, ReadError)


@pytest.mark.parametrize("given", [{"names": ["y"], "usecols": [1]}, {"names": ["w", "y", "z"], "usecols": [2, 1]}])
def test_names_of_columns_that_are_chosen_by_number_stay_theirs(tmp_path, given):
    frame = pd.DataFrame({"a": range(30), "b": range(100, 130), "c": list("xyz" * 10)})
    frame.to_csv(tmp_path / "a.csv", index=False)
    lazy = gd.read_csv(tmp_path / "a.csv", header=0, blocksize=60, **given)
    wanted = pd.read_csv(tmp_path / "a.csv", header=0, **given)
    assert lazy.npartitions > 2
    for name in wanted.columns:
        assert_same(lazy[name].compute().reset_index(drop=True), wanted[name])
    assert_same(lazy.compute().reset_index(drop=True), wanted)


_ROWS = "".join(f"{number},{number / 2},t{number},{number * 3}\n" for number in range(12))
_DAYS = "".join(f"{number},{number + 1:02d}/02/2020,t{number},13/{number % 9 + 1:02d}/2020\n" for number in range(12))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (_ROWS, {"names": list("abc")}),
        (_ROWS, {"names": list("abc"), "engine": "python"}),
        (_ROWS, {"names": list("abcdef")}),
        (_ROWS, {"names": [1.5, 2.5, 3.5, 4.5]}),
        (_ROWS, {"names": [True, False, "c", "d"]}),
        (_ROWS, {"names": [("a", 1), ("a", 2), ("b", 1), ("b", 2)]}),
        (_ROWS, {"names": ["p", "q"], "usecols": np.array([0, 2])}),
        ("a,b,c\n" + _ROWS, {"usecols": ["a", "b", "c"]}),
        ("a,b,c\n" + _ROWS, {"usecols": [0, 1, 2]}),
        ("a,b,c,d\n" + _ROWS, {"dtype": {1: "float32", "a": "Int64"}}),
        ("a,a,b,b\nx,y,x,y\n" + _ROWS, {"header": [0, 1], "blocksize": None}),
        ("a,b,c,d\n" + _ROWS, {"dtype": {1: "float32", 3: str}, "engine": "python"}),
        ("a,b,c,d\n" + _ROWS, {"dtype": {1: str}, "engine": "python", "usecols": ["b", "d"]}),
        ("a,b,c,d\n" + _ROWS, {"converters": {0: str}}),
        ("a,b,c,d\n" + _ROWS, {"converters": {0: str}, "engine": "python"}),
        ("a,b,c,d\n" + _ROWS, {"na_values": {0: ["4"], 2: ["t3"]}, "engine": "python"}),
        (_ROWS, {"header": None, "converters": {3: str}, "engine": "python"}),
        ("a,b,c,d\n" + _ROWS, {"dtype": defaultdict(lambda: str, b=float)}),
        ("a,a,a,a\n" + _ROWS, {"dtype": {"a": str}}),
        ("a,a,a,a\n" + _ROWS, {"dtype": {"a": str}, "engine": "python"}),
        (_ROWS, {"header": None, "usecols": lambda name: name != 0}),
        (_ROWS, {"header": None, "usecols": lambda name: name != 0, "engine": "python"}),
        (_ROWS, {"header": None, "engine": "pyarrow"}),
        (_ROWS, {"names": list("abcd"), "engine": "pyarrow"}),
        *([("a,a,,a\n" + _ROWS, {"engine": "pyarrow"})] if PANDAS_VERSION >= (3, 1) else []),
        (_DAYS, {"header": None, "parse_dates": [1], "date_format": "%d/%m/%Y"}),
        (_DAYS, {"header": None, "parse_dates": [0], "usecols": [1, 3]}),
        ("a,b,c,d\n" + _DAYS, {"usecols": [1, 3], "parse_dates": [0], "dayfirst": True}),
    ],
)
def test_columns_are_those_that_are_there_when_all_are_read(tmp_path, text, options):
    (tmp_path / "a.csv").write_text(text)
    wanted = pd.read_csv(tmp_path / "a.csv", **{name: options[name] for name in options if name != "blocksize"})
    lazy = gd.read_csv(tmp_path / "a.csv", **{"blocksize": 120, **options})
    has_labels = not isinstance(wanted.index, pd.RangeIndex)
    choices = [[name] for name in wanted.columns] + [list(wanted.columns[:2])] + [[]]
    for columns in [list(wanted.columns), *choices]:
        places = [wanted.columns.tolist().index(name) for name in columns]  # of booleans pandas makes a mask
        made = lazy.iloc[:, places].compute(scheduler="inline")  # by itself: reads of several are one
        assert_same(made if has_labels else made.reset_index(drop=True), wanted.iloc[:, places])


@pytest.mark.skipif(PANDAS_VERSION >= (3, 1), reason="later ones number columns of one name")
def test_columns_that_pyarrow_gives_one_name_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,,a\n" + _ROWS)
    with pytest.raises(
        NotImplementedError,
        match=r"a.csv' names columns \['a'\] more than once, which engine='pyarrow' leaves.*leave out the engine",
    ):
        gd.read_csv(tmp_path / "a.csv", engine="pyarrow")


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n4,5,6\n", "a,b,c\n0,1,2,3\n1,4,5,6\n"], ids=["columns", "labels"])
@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip"},
        {"compression": "bz2"},
        {"encoding": "utf-16"},
        {"skipfooter": 1, "engine": "python"},
        {"lineterminator": "\n", "escapechar": "!"},
    ],
)
@pytest.mark.parametrize("chosen", [["a", "b"], ["a", "b", "c"]])
def test_fewer_columns_of_those_chosen_are_read_from_files_that_cannot_be_cut(tmp_path, text, options, chosen):
    opened = {"gzip": gzip.open, "bz2": bz2.open}.get(options.get("compression"), open)
    with opened(tmp_path / "a.txt", "wb") as file:
        file.write(text.encode(options.get("encoding", "utf-8")))
    for name in ("read_csv", "read_table"):
        lazy, wanted = (
            getattr(module, name)(tmp_path / "a.txt", sep=",", usecols=chosen, **options) for module in (gd, pd)
        )
        assert_same(lazy[["a"]].compute(), wanted[["a"]])


@pytest.mark.parametrize("options", [{"header": None, "usecols": [1, 2, 3]}, {"names": [2, 1, 0, 3]}])
def test_labels_are_the_column_at_a_place_where_names_are_numbers(tmp_path, options):
    (tmp_path / "a.csv").write_text(_ROWS)
    lazy, wanted = (module.read_csv(tmp_path / "a.csv", index_col=1, **options) for module in (gd, pd))
    assert_same(lazy.compute(), wanted)
    with pytest.raises(ValueError, match="Index 9 invalid; the columns are"):
        gd.read_csv(tmp_path / "a.csv", index_col=9, header=None, names=[9, 8, 7, 6])


def test_columns_whose_names_are_booleans_are_chosen():
    frame = pd.DataFrame({False: [1, 2, 3], True: [4.0, 5.0, 6.0]})
    lazy = gd.from_pandas(frame, npartitions=2)
    for ask in (
        lambda f: f[True],
        lambda f: f[f[True] > 4][False],
        lambda f: f.drop(columns=True),
        lambda f: f[[True, False, True]],
    ):
        assert_same(ask(lazy).compute(), ask(frame))


def test_generators_of_names_are_those_of_all_blocks(tmp_path):
    (tmp_path / "a.csv").write_text(_ROWS)
    lazy = gd.read_csv(tmp_path / "a.csv", names=iter("abcd"), usecols=iter("ac"), blocksize=60)
    wanted = pd.read_csv(tmp_path / "a.csv", names=list("abcd"), usecols=list("ac"))
    assert lazy.npartitions > 1
    assert_same(lazy.compute().reset_index(drop=True), wanted)


def test_names_are_given_for_each_field_that_is_found(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{number}  {number + 10}  t{number}\n" for number in range(9)))
    assert_same(gd.read_fwf(tmp_path / "a.txt", names=["x", "y", "z"])[["y"]].compute().y.sum(), sum(range(10, 19)))
    with pytest.raises(
        ValueError, match=r"found 3 fields, .*, and names=\['x', 'y'\] has 2 names: give a name for each"
    ):
        gd.read_fwf(tmp_path / "a.txt", names=["x", "y"])


def test_rows_are_counted_as_they_are_read(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 50 + "1,2,3\n" + "1,2\n" * 50)
    kept = gd.read_csv(tmp_path / "a.csv", blocksize=150, on_bad_lines="skip")
    assert len(kept) == len(kept.index) == len(kept.compute()) == 100
    with pytest.raises(ParseError, match="Expected 2 fields in line"):
        len(gd.read_csv(tmp_path / "a.csv", blocksize=150))


@pytest.mark.parametrize("dates", [{"day": [0, 1]}, [[0, 1]]])
def test_dates_of_several_columns_are_refused_before_anything_is_read(tmp_path, dates):
    (tmp_path / "a.csv").write_text("year,month\n2000,1\n")
    with pytest.raises(NotImplementedError, match=r"makes a column of several; .* call to_datetime\(\)"):
        gd.read_csv(tmp_path / "a.csv", parse_dates=dates)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zip"])
def test_a_list_of_records_is_told_from_a_record_a_line(tmp_path, suffix):
    frame = pd.DataFrame({"x": [1, 2, 3], "s": ["a", "b", None]})
    path = tmp_path / f"a.json{suffix}"
    frame.to_json(path, orient="records")
    assert_same(gd.read_json(path).compute(), pd.read_json(path))
    with pytest.raises(OptionError, match="needs lines=True"):
        gd.read_json(path, blocksize=10)
    frame.to_json(path, orient="records", lines=True)
    assert_same(gd.read_json(path).compute(), pd.read_json(path, lines=True))
