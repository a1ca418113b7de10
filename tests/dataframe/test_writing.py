"""Writing: the files are pandas', all of them are put in place at once or none, and what is there is respected."""

from __future__ import annotations

import gzip
import io
import sqlite3
import threading
from contextlib import closing
from functools import partial

import glassloom.dataframe as gd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from frame_helpers import assert_same, blocks_of
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.io import sql_writing
from glassloom.dataframe.io.filesystems import LOCAL
from glassloom.dataframe.io.staging import Publish, Written, staging_in
from glassloom.errors import CancelledError, MetaError, OptionError, ReadError


@pytest.fixture
def plain():
    return pd.DataFrame({"x": range(6), "k": list("ababab"), "y": [0.5, None, 2.5, 3.5, None, 5.5]})


@pytest.fixture
def frame(plain):
    return gd.from_pandas(plain, npartitions=3)


def failing(frame):
    def fail(block):
        if block.x.max() == 5:
            raise ZeroDivisionError("the last partition can't be made")
        return block

    return frame.map_partitions(fail, meta=frame.compute()[:0])


def names_in(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


WRITERS = {
    "parquet": lambda frame, folder: frame.to_parquet(folder, overwrite=True),
    "csv": lambda frame, folder: frame.to_csv(folder, overwrite=True),
    "a single csv": lambda frame, folder: frame.to_csv(folder / "all.csv", single_file=True),
    "json": lambda frame, folder: frame.to_json(folder, overwrite=True),
    "orc": lambda frame, folder: frame.to_orc(folder, overwrite=True),
    "sql": lambda frame, folder: frame.to_sql("t", folder / "a.db", if_exists="replace"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_write_that_fails_leaves_what_was_there(tmp_path, frame, name):
    write = WRITERS[name]
    with pytest.raises(ZeroDivisionError):
        write(failing(frame), tmp_path)
    assert [one for one in names_in(tmp_path) if one != "a.db"] == []
    write(frame, tmp_path)
    before = {one: (tmp_path / one).read_bytes() for one in names_in(tmp_path)}
    assert before
    with pytest.raises(ZeroDivisionError):
        write(failing(frame), tmp_path)
    if name == "sql":
        with sqlite3.connect(tmp_path / "a.db") as connection:
            tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
            assert tables == [("t",)]
            assert connection.execute("select count(*) from t").fetchone() == (6,)
        connection.close()
    else:
        assert {one: (tmp_path / one).read_bytes() for one in names_in(tmp_path)} == before


def test_parquet_files_are_partitioned_appended_to_and_named(tmp_path, plain, frame):
    folder = tmp_path / "hive"
    frame.to_parquet(folder, partition_on=["k"], write_index=False)
    assert names_in(folder) == [f"k={k}/part-000{n}.parquet" for k in "ab" for n in range(3)]
    assert_same(gd.read_parquet(folder).compute().sort_values("x", ignore_index=True)[["x", "y"]], plain[["x", "y"]])
    named = tmp_path / "named"
    frame.to_parquet(named, name_function=lambda number: f"data-{number}", custom_metadata={"made by": "a test"})
    assert names_in(named) == ["data-0.parquet", "data-1.parquet", "data-2.parquet"]
    assert pq.read_metadata(named / "data-0.parquet").metadata[b"made by"] == b"a test"
    frame.to_parquet(tmp_path / "more")
    frame.to_parquet(tmp_path / "more", append=True)
    assert len(gd.read_parquet(tmp_path / "more")) == 12
    with pytest.raises(MetaError, match=r"append=True: the files in .* have the columns \['x', 'k', 'y'\]"):
        frame[["x"]].to_parquet(tmp_path / "more", append=True)
    with pytest.raises(MetaError, match=r"append=True: column 'x' is int64 in the files, but double in the frame"):
        frame.astype({"x": float}).to_parquet(tmp_path / "more", append=True)
    with pytest.raises(OptionError, match="append=True and overwrite=True"):
        frame.to_parquet(named, append=True, overwrite=True)
    with pytest.raises(ValueError, match="names in ascending order, each once"):
        frame.to_parquet(tmp_path / "none", name_function=lambda number: "same")
    frame.partitions[:1].to_parquet(named, overwrite=True)
    assert names_in(named) == ["part-0000.parquet"]


def test_a_frame_may_replace_the_files_that_it_is_read_from(tmp_path, plain, frame):
    frame.to_parquet(tmp_path)
    again = gd.read_parquet(tmp_path)
    again.assign(x=again.x + 1).to_parquet(tmp_path, overwrite=True)
    assert gd.read_parquet(tmp_path).x.compute().tolist() == [1, 2, 3, 4, 5, 6]


def test_nothing_is_written_before_it_is_computed(tmp_path, frame):
    lazy = frame.to_parquet(tmp_path / "later", compute=False)
    assert not (tmp_path / "later").exists()
    assert lazy.compute() == 6
    assert len(gd.read_parquet(tmp_path / "later")) == 6


def test_files_are_written_behind_a_file_system(frame, plain):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    try:
        frame.to_parquet("memory://written/p")
        frame.to_csv("/written/c", filesystem=memory, index=False)
        assert_same(gd.read_parquet("memory://written/p").compute(scheduler="inline"), plain)
        csv = gd.read_csv("/written/c", filesystem=memory, blocksize=8)
        assert_same(csv.compute(scheduler="inline").reset_index(drop=True), plain)
    finally:
        memory.rm("/written", recursive=True)


class Buckets:
    """A file system of objects in memory, which makes buckets as s3fs does where folders are made."""

    def __init__(self, fsspec):
        base = fsspec.get_filesystem_class("memory")
        kind = type("Objects", (base,), {"protocol": "s3", "store": {}, "pseudo_dirs": [""], "cachable": False})
        self.filesystem = kind()

    def names(self):
        return sorted(one["name"] for one in self.filesystem.ls("/"))


@pytest.mark.parametrize("how", ["to_parquet", "to_csv", "to_json", "to_orc"])
def test_a_bucket_that_does_not_exist_is_named_and_not_made(how, frame):
    buckets = Buckets(pytest.importorskip("fsspec"))
    buckets.filesystem.mkdir("/there")
    with pytest.raises(FileNotFoundError, match=r"there is no bucket 'missing' of s3; make it before"):
        getattr(frame, how)("missing/folder", filesystem=buckets.filesystem)
    assert buckets.names() == ["/there"]
    getattr(frame, how)("there/folder", filesystem=buckets.filesystem)
    assert buckets.names() == ["/there"] and len(buckets.filesystem.ls("/there/folder")) == 3


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_overwriting_leaves_files_that_readers_leave_out(tmp_path, frame, kind):
    (tmp_path / "_old").mkdir()
    kept = [tmp_path / f"_x.{kind}", tmp_path / "_old" / f"x.{kind}", tmp_path / f".x.{kind}"]
    gone = [tmp_path / f"x.{kind}", tmp_path / f"X.{kind.upper()}"]
    for path in (*kept, *gone):
        path.write_text("x")
    with pytest.raises(FileExistsError, match="holds 2"):
        getattr(frame, f"to_{kind}")(tmp_path)
    getattr(frame, f"to_{kind}")(tmp_path, overwrite=True)
    assert [path.exists() for path in (*kept, *gone)] == [True, True, True, False, False]
    assert len(getattr(gd, f"read_{kind}")(tmp_path)) == 6


def test_csv_goes_into_one_file_or_many_as_pandas_writes_it(tmp_path, plain, frame):
    frame.to_csv(tmp_path / "all.csv", single_file=True, index=False)
    assert (tmp_path / "all.csv").read_text() == plain.to_csv(index=False)
    with pytest.raises(FileExistsError, match=r"all\.csv' exists already; mode='w' replaces it"):
        frame.to_csv(tmp_path / "all.csv", single_file=True, mode="x")
    frame.x.to_csv(tmp_path / "part-*.csv", header=False, name_function=lambda number: "abc"[number])
    assert [one for one in names_in(tmp_path) if "part" in one] == ["part-a.csv", "part-b.csv", "part-c.csv"]
    assert (tmp_path / "part-b.csv").read_text() == "2,2\n3,3\n"
    frame.to_csv(tmp_path / "z" / "all.csv.gz", single_file=True, compression="infer", index=False)
    assert_same(pd.read_csv(tmp_path / "z" / "all.csv.gz"), plain)
    frame.to_csv(tmp_path / "by-name.csv.gz", single_file=True, index=False)
    assert_same(pd.read_csv(tmp_path / "by-name.csv.gz"), plain)
    with pytest.raises(NotImplementedError, match="mode='a'.*give single_file=True to add rows to one file"):
        frame.to_csv(tmp_path / "more.csv", mode="a")


@pytest.mark.parametrize(
    "options", [{}, {"header": False, "index": False}, {"encoding": "utf-8-sig"}, {"encoding": "utf-16"}]
)
def test_rows_are_added_to_one_csv_file_as_pandas_adds_them(tmp_path, plain, frame, options):
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    for _ in range(3):  # the first one makes the file
        assert frame.to_csv(ours, single_file=True, mode="a", **options) == [str(ours)]
        plain.to_csv(theirs, mode="a", **options)
        assert ours.read_bytes() == theirs.read_bytes()
    with pytest.raises(ZeroDivisionError):
        failing(frame).to_csv(ours, single_file=True, mode="a", **options)
    assert ours.read_bytes() == theirs.read_bytes()
    later = frame.to_csv(ours, single_file=True, mode="a", compute=False, **options)
    assert ours.read_bytes() == theirs.read_bytes()
    for _ in range(2):
        assert later.compute() == 6
        plain.to_csv(theirs, mode="a", **options)
        assert ours.read_bytes() == theirs.read_bytes()
    assert names_in(tmp_path) == ["ours.csv", "theirs.csv"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rows_that_are_added_later_have_no_second_mark_of_their_encoding(tmp_path, plain, frame, encoding):
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    for later in [frame.to_csv(ours, single_file=True, mode="a", compute=False, encoding=encoding) for _ in range(2)]:
        later.compute()
        plain.to_csv(theirs, mode="a", encoding=encoding)
        assert ours.read_bytes() == theirs.read_bytes()
    zipped = tmp_path / "ours.csv.gz"
    for _ in range(2):
        frame.to_csv(zipped, single_file=True, mode="a", encoding=encoding)
    with gzip.open(zipped) as file:
        assert file.read() == theirs.read_bytes()


def test_rows_are_added_to_compressed_files_that_can_be_joined(tmp_path, plain, frame):
    for name in ("a.csv.gz", "a.csv.bz2"):
        for _ in range(2):
            frame.to_csv(tmp_path / name, single_file=True, mode="at", header=False, index=False)
        assert_same(pd.read_csv(tmp_path / name, names=["x", "k", "y"]), pd.concat([plain] * 2, ignore_index=True))
    with pytest.raises(
        NotImplementedError, match=r"to_csv\(mode='a'\) isn't supported: nothing can be added .* by 'zip'"
    ):
        frame.to_csv(tmp_path / "a.csv.zip", single_file=True, mode="a")


def test_rows_that_a_lost_worker_has_added_are_not_added_again(tmp_path):
    staging = staging_in(LOCAL, str(tmp_path)).made()
    (tmp_path / "all.csv").write_text("old\n")
    with staging.open("part-0.csv") as sink:
        sink.write(b"new\n")
    publish = Publish(staging, [])
    publish.into_one, publish.keeps_old = "all.csv", True
    publish._concatenate(["part-0.csv"], "all.csv")
    staging.publish(["all.csv"])  # then it is lost
    assert publish([[Written(1, ("part-0.csv",))]]) == 1
    assert (tmp_path / "all.csv").read_text() == "old\nnew\n"


def test_each_csv_file_begins_with_the_mark_of_its_encoding(tmp_path, plain, frame):
    frame.to_csv(tmp_path, encoding="utf-16", index=False, header_first_partition_only=True)
    for number, name in enumerate(names_in(tmp_path)):
        got = pd.read_csv(tmp_path / name, encoding="utf-16", names=["x", "k", "y"], skiprows=int(number == 0))
        assert got.x.tolist() == [2 * number, 2 * number + 1]


def test_files_of_others_that_a_star_fits_are_neither_deleted_nor_mixed_with_ours(tmp_path, frame):
    (tmp_path / "_x.csv").write_text("x")
    for options in ({}, {"overwrite": True}):
        with pytest.raises(FileExistsError, match=r"_x\.csv|holds 1 csv files"):
            frame.to_csv(tmp_path / "*.csv", **options)
    with pytest.raises(
        FileExistsError, match=r"'_x\.csv' in folder .* fits '\*\.csv', but isn't one of a frame's files"
    ):
        frame.to_csv(tmp_path / "*.csv", overwrite=True)
    assert names_in(tmp_path) == ["_x.csv"]
    (tmp_path / "_7.csv").write_text("of an earlier frame of more partitions")
    for stars, name in (("_*.csv", "_x.csv"), (".*.csv", ".x.csv")):
        (tmp_path / name).write_text("x")
        with pytest.raises(FileExistsError, match=f"{name!r} in folder .* has no number for the star"):
            frame.to_csv(tmp_path / stars, overwrite=True)
        assert (tmp_path / name).read_text() == "x"
        (tmp_path / name).unlink()
    frame.to_csv(tmp_path / "_*.csv", overwrite=True)
    assert names_in(tmp_path) == ["_0.csv", "_1.csv", "_2.csv"]
    frame.to_csv(tmp_path / "_*.csv", name_function=lambda number: f"{number}a", overwrite=True)
    with pytest.raises(FileExistsError, match="_0a"):
        frame.to_csv(tmp_path / "_*.csv", overwrite=True)
    frame.to_csv(tmp_path / ".*.csv")
    with pytest.raises(FileExistsError, match=r"holds 3 csv files named like '\.\*\.csv'"):
        frame.to_csv(tmp_path / ".*.csv")


WITH_ARGUMENTS = {
    **{name: lambda frame, folder, name=name, **more: getattr(frame, f"to_{name}")(folder / "o", **more)
       for name in ("parquet", "csv", "json", "orc")},
    "sql": lambda frame, folder, **more: frame.to_sql("t", folder / "a.db", **more),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_arguments_of_compute_are_passed_on(tmp_path, frame, name):
    write, threads = WITH_ARGUMENTS[name], set()

    def noting(block):
        threads.add(threading.get_ident())
        return block

    noted = frame.map_partitions(noting, meta=frame.compute()[:0])
    write(noted, tmp_path, compute_kwargs={"scheduler": "synchronous", "num_workers": None})
    assert threads == {threading.get_ident()}
    found = names_in(tmp_path)
    (tmp_path / "p").mkdir()
    with pytest.raises(
        OptionError, match=rf"to_{name}: compute_kwargs=.* with compute=False; give them to compute\(\)"
    ):
        write(frame, tmp_path / "p", compute=False, compute_kwargs={"scheduler": "synchronous"})
    with pytest.raises(NotImplementedError, match=r"compute\(num_workers=4\) isn't supported"):
        write(frame, tmp_path / "p", compute_kwargs={"num_workers": 4})
    with pytest.raises(TypeError, match=r"Scalar.compute\(\) got an unexpected keyword argument 'color'"):
        write(frame, tmp_path / "p", compute_kwargs={"color": "red"})
    assert [one for one in names_in(tmp_path) if one != "p/a.db"] == found


def test_text_that_is_written_returns_the_paths_of_its_files(tmp_path, plain, frame, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = frame.to_csv("out", index=False)
    assert paths == [f"{tmp_path}/out/part-{number:04}.csv" for number in range(frame.npartitions)]
    assert_same(
        gd.read_csv(paths).x.compute().reset_index(drop=True), plain.x.reset_index(drop=True), check_dtype=False
    )
    assert frame.to_csv(tmp_path / "one.csv", single_file=True) == [f"{tmp_path}/one.csv"]
    named = frame.to_json(tmp_path / "n-*.json", name_function=lambda number: f"{number:02}")
    assert named == [f"{tmp_path}/n-{number:02}.json" for number in range(frame.npartitions)]
    elsewhere = frame.to_json("memory://written-paths")
    assert len(gd.read_json(elsewhere)) == len(plain) and elsewhere[0].startswith("memory://")
    assert frame.to_csv("lazy", compute=False).compute() == len(plain)


def test_json_and_orc_come_back(tmp_path, plain, frame):
    frame.to_json(tmp_path / "json")
    assert_same(gd.read_json(tmp_path / "json").compute().reset_index(drop=True), plain)
    frame.to_json(tmp_path / "columns", orient="columns")
    assert gd.read_json(tmp_path / "columns", orient="columns").x.compute().tolist() == list(range(6))
    frame.to_orc(tmp_path / "orc")
    lazy = gd.read_orc(tmp_path / "orc", columns=["y", "x"])
    assert lazy.npartitions == 3
    assert_same(lazy.compute().reset_index(drop=True), plain[["y", "x"]])
    assert gd.read_orc(tmp_path / "orc", index="x").y.compute().index.name == "x"
    with pytest.raises(NotImplementedError, match="engine='fastparquet'"):
        frame.to_parquet(tmp_path / "p", engine="fastparquet")


@pytest.mark.parametrize(
    "options",
    [{}, {"index": False}, {"index_label": ["m", "n"]}, {"dtype": {"x": "INTEGER UNIQUE", "m": "TEXT"}}],
    ids=str,
)
def test_tables_of_sqlite_have_the_indexes_of_pandas(tmp_path, options):
    labels = pd.MultiIndex.from_arrays([list("aabbcc"), range(6)], names=["k", "m"])
    plain = pd.DataFrame({"x": range(6)}, index=labels)
    lazy = gd.from_pandas(plain.reset_index(), npartitions=3).set_index(["k", "m"])
    for turn, how in enumerate(["fail", "replace", "append"]):
        if turn == 2 and "dtype" in options:
            continue  # no value comes twice
        lazy.to_sql("t", tmp_path / "lazy.db", if_exists=how, **options)
        with closing(sqlite3.connect(tmp_path / "plain.db")) as connection:
            plain.to_sql("t", connection, if_exists=how, **options)
        found, expected = (_indexes(tmp_path / name) for name in ("lazy.db", "plain.db"))
        assert found == expected


def _indexes(path):
    with closing(sqlite3.connect(path)) as connection:
        names = [row[1] for row in connection.execute("PRAGMA index_list(t)")]
        return sorted((name, *[row[2] for row in connection.execute(f"PRAGMA index_info({name})")]) for name in names)


def test_tables_of_sqlite_are_written_and_read(tmp_path, plain, frame):
    file = tmp_path / "a.db"
    frame.to_sql("t", file, index_label="row")
    with pytest.raises(ValueError, match="table 't' exists already"):
        frame.to_sql("t", file)
    expected = plain.rename_axis("row")
    lazy = gd.read_sql_table("t", str(file), "row", npartitions=2)
    assert lazy.divisions == (0, 2, 5)
    assert_same(lazy.compute(), expected)
    assert_same(lazy.x.compute(), expected.x)
    assert_same(gd.read_sql_table("t", file, "row", columns=["y"], divisions=[0, 1, 9]).compute(), expected[["y"]])
    query = gd.read_sql("select row, x * 2 as double_x from t where x > 1", f"sqlite:///{file}", "row", npartitions=3)
    assert query.double_x.compute().tolist() == [4, 6, 8, 10]
    frame.to_sql("t", file, if_exists="append", index_label="row")
    assert len(gd.read_sql_table("t", file, "row")) == 12
    frame.partitions[0].to_sql("t", file, if_exists="replace", index_label="row")
    assert len(gd.read_sql_table("t", file, "row")) == 2


@pytest.mark.parametrize("options", [{}, {"index": False}], ids=str)
def test_rows_are_appended_to_the_columns_of_their_names(tmp_path, options):
    first = pd.DataFrame({"x": [1, 2], "y": [10, 20]}, index=pd.Index([7, 8], name="i"))
    for other in (first, first[["y", "x"]], first[["y"]], first.rename(columns={"y": "Y"})):
        tables = []
        for folder in ("pandas", "lazy"):
            (tmp_path / folder).mkdir(exist_ok=True)
            file = tmp_path / folder / "a.db"
            with closing(sqlite3.connect(file)) as connection:
                first.to_sql("t", connection, if_exists="replace")
                if folder == "pandas":
                    other.to_sql("t", connection, if_exists="append", **options)
                else:
                    gd.from_pandas(other, npartitions=2).to_sql("t", file, if_exists="append", **options)
                tables.append(pd.read_sql("select * from t", connection))
        assert_same(tables[1], tables[0])


def test_columns_that_a_table_lacks_are_named_before_rows_are_written(tmp_path, frame):
    file = tmp_path / "a.db"
    frame.to_sql("t", file, index_label="row")
    for lazy, options, lacking in (
        (frame, {}, "'index'"),
        (frame, {"index_label": "line"}, "'line'"),
        (frame.assign(z=1), {"index": False}, "'z'"),
    ):
        with pytest.raises(ValueError, match=rf"if_exists='append': table 't' lacks the columns \[{lacking}\]; it has"):
            lazy.to_sql("t", file, if_exists="append", compute=False, **options)
    with pytest.raises(ValueError, match="Length of 'index_label' should match number of levels"):
        frame.to_sql("q", file, index_label=["a", "b"], compute=False)


def test_mistakes_with_databases_are_named(tmp_path, frame):
    file = tmp_path / "a.db"
    frame.to_sql("t", file, index_label="row")
    with pytest.raises(OptionError, match=r"index_col='no' is no column"):
        gd.read_sql_table("t", file, "no")
    with pytest.raises(OptionError, match=r"index_col='k' is text, which can't be cut by spans; give divisions="):
        gd.read_sql_table("t", file, "k", npartitions=2)
    with pytest.raises(OSError, match=r"index_col='y' has 2 missing values"):
        gd.read_sql_table("t", file, "y")
    with pytest.raises(TypeError, match="con should be the path of a SQLite file or a URL, got a Connection"):
        connection = sqlite3.connect(file)
        connection.close()
        frame.to_sql("q", connection)


def test_what_has_no_lazy_form_says_what_to_do_instead(frame):
    with pytest.raises(NotImplementedError, match=r"head\(\)\.to_string"):
        frame.to_string()


def test_a_task_that_outlives_a_failed_write_leaves_nothing_behind(tmp_path, plain):
    staging = staging_in(LOCAL, str(tmp_path / "files")).made()
    with staging.open("a/b/one.csv") as sink:
        sink.write(b"x")
    staging.remove()
    for name in ("two.csv", "a/two.csv"):
        with pytest.raises(OSError, match=r"two\.csv|/a'"), staging.open(name):
            pass
    assert list((tmp_path / "files").iterdir()) == []
    url = f"sqlite:///{tmp_path / 'a.db'}"
    options = {"how": {"index": False}, "first": "append", "engine": {}, "mark": "gone"}
    with pytest.raises(CancelledError, match="another partition has failed"):
        sql_writing._append(plain, url, "t", options, 0, None)
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        assert connection.execute("select name from sqlite_master").fetchall() == []


@pytest.mark.parametrize("method", ["to_csv", "to_json", "to_parquet", "to_orc"])
@pytest.mark.parametrize(
    ("name_function", "message"),
    [
        (lambda number: f"../x{number}", r"'\.\./x0', which should be the name of a file, without a slash"),
        (lambda number: f"_x{number}", r"'_x0': readers of a folder leave out names that begin with '\.' or '_'"),
        (lambda number: number, "name_function should return text, got 0"),
        ("x", "name_function='x' should be a function of a partition's number"),
        (lambda number: "same", "names in ascending order, each once; got "),
    ],
)
def test_names_that_lead_elsewhere_or_are_not_read_are_refused(tmp_path, frame, method, name_function, message):
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(frame, method)(tmp_path / "o", name_function=name_function)
    if method == "to_csv" and "begin with" not in message:
        with pytest.raises((ValueError, TypeError), match=message):
            frame.to_csv(tmp_path / "o" / "a-*.csv", name_function=name_function)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("method", ["to_csv", "to_json", "to_parquet", "to_orc"])
def test_paths_that_are_none_are_refused(frame, method):
    for path in (None, 3, b"x", [3], io.StringIO()):
        with pytest.raises(TypeError, match=rf"{method}: path=.* should be the path of a folder or a file"):
            getattr(frame, method)(path)
    with pytest.raises(FileNotFoundError, match=rf"{method}: path='' is empty"):
        getattr(frame, method)("")


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_texts_are_written_into_the_files_of_a_list(tmp_path, plain, frame, kind):
    paths = [tmp_path / f"{folder}.{kind}" for folder in ("a", "deep/b", "deep/er/c")][: frame.npartitions]
    write = (
        (lambda **more: frame.to_csv(paths, index=False, **more))
        if kind == "csv"
        else lambda **more: frame.to_json(paths, **more)
    )
    assert write() == list(map(str, paths))
    read = pd.read_csv if kind == "csv" else partial(pd.read_json, lines=True)
    assert [len(read(path)) for path in paths] == [len(block) for block in blocks_of(frame)]
    with pytest.raises(
        FileExistsError, match=r"3 of the files that are listed exist already, such as 'a\..*overwrite=True"
    ):
        write()
    write(overwrite=True)
    with pytest.raises(ValueError, match="to_csv: 2 different paths were given for 3 partitions"):
        frame.to_csv(paths[:2])
    with pytest.raises(ValueError, match="a list of paths names the files, and so does name_function="):
        frame.to_csv(paths, name_function=str)
    with pytest.raises(OptionError, match="single_file=True takes one path, got 3"):
        frame.to_csv(paths, single_file=True)


def test_a_schema_may_leave_out_the_index_that_is_written(tmp_path):
    plain = pd.DataFrame({"k": [0, 0, 1, 1], "s": ["a", "b", None, None]})
    schema = pa.schema([("s", pa.string()), ("k", pa.int64())])
    gd.from_pandas(plain, npartitions=2).to_parquet(tmp_path, partition_on="k", schema=schema)
    (file, *_) = sorted(tmp_path.rglob("*.parquet"))
    assert pq.read_schema(file).types == [pa.string(), pa.int64()]
    assert gd.read_parquet(tmp_path).s.compute().tolist()[:2] == ["a", "b"]


def test_the_index_of_orc_is_none_of_its_columns(tmp_path):
    plain = pd.DataFrame({"a": range(4), "b": range(4)})
    gd.from_pandas(plain, npartitions=2).to_orc(tmp_path, write_index=False)
    assert_same(gd.read_orc(tmp_path, columns=["a", "b"], index="a").compute(), plain.set_index("a"))


def counted_json(text, orient, lines):
    """A reader as `read_json` takes it for ``engine``: it needs an open text."""
    return pd.DataFrame({"n_lines": [sum(1 for line in text if line.strip())]})


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_json_is_read_by_a_function(tmp_path, frame, ending):
    compression = "gzip" if ending else None
    frame.to_json(tmp_path, compression=compression)
    lazy = gd.read_json(tmp_path / f"*.json{ending}", engine=counted_json, lines=True)
    assert lazy.n_lines.compute().tolist() == [len(block) for block in blocks_of(frame)]


class Made:
    """A function of `from_map` that makes some columns alone."""

    def __init__(self, columns=("a", "b")):
        self.columns = columns

    def project_columns(self, columns):
        return Made(tuple(columns))

    def __call__(self, number):
        return pd.DataFrame({"a": [number], "b": [f"{self.columns}"]})[list(self.columns)]


def test_columns_that_nothing_is_made_of_are_not_made():
    lazy = gd.from_map(Made(), [1, 2])
    assert lazy.b.compute().tolist() == ["('b',)"] * 2
    assert lazy.compute().b.tolist() == ["('a', 'b')"] * 2
    assert lazy[["b", "a"]].compute().columns.tolist() == ["b", "a"]


def test_every_level_of_an_index_is_written_also_where_one_is_a_range(tmp_path):
    index = pd.MultiIndex.from_arrays([range(6), list("ababab")], names=["i", "j"])
    plain = pd.DataFrame({"x": range(6)}, index=index)
    gd.from_map([plain[:3], plain[3:3], plain[3:]].__getitem__, range(3), meta=plain[:0]).to_parquet(tmp_path / "f")
    assert_same(gd.read_parquet(tmp_path / "f").compute(), plain)
    plain.to_parquet(tmp_path / "noted.parquet")
    if not HAS_COPY_ON_WRITE:  # it writes the range
        assert_same(gd.read_parquet(tmp_path / "noted.parquet").compute(), plain)
        return
    with pytest.raises(
        ReadError, match="2 levels, of which one is a range that is in no column; choose other columns with index="
    ):
        gd.read_parquet(tmp_path / "noted.parquet")
    assert gd.read_parquet(tmp_path / "noted.parquet", index="j").compute().x.tolist() == list(range(6))
