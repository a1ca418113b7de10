"""Files that change between the moment when a frame is made and that when it is computed: an error, never old and new rows together."""

import io
import os
import shutil

import fsspec
import glassloom.bag as gb
import glassloom.dataframe as gd
import pandas as pd
import pyarrow as pa
import pyarrow.orc as orc
import pytest
from glassloom.errors import ReadError

ROWS = pd.DataFrame({"x": range(1000, 1200)})
READERS = {
    "read_csv": (lambda frame: frame.to_csv(index=False).encode(), {}),
    "read_table": (lambda frame: frame.to_csv(index=False, sep="\t").encode(), {}),
    "read_fwf": (lambda frame: frame.to_string(index=False).encode(), {}),
    "read_json": (lambda frame: frame.to_json(orient="records", lines=True).encode(), {}),
    "read_parquet": (lambda frame: frame.to_parquet(), {}),
    "read_orc": (lambda frame: _orc(frame), {}),
}
CUT = {"read_csv": {"blocksize": 100}, "read_json": {"blocksize": 100}, "read_parquet": {"split_row_groups": True}}


def _orc(frame):
    sink = io.BytesIO()
    orc.write_table(pa.Table.from_pandas(frame), sink)
    return sink.getvalue()


def _as_folder(path):
    os.remove(path)
    os.mkdir(path)


CHANGES = {
    "another": lambda path, data, other: path.write_bytes(other),
    "truncated": lambda path, data, other: os.truncate(path, len(data) // 2),
    "grown": lambda path, data, other: path.write_bytes(data + other),
    "emptied": lambda path, data, other: path.write_bytes(b""),
    "a folder": lambda path, data, other: _as_folder(path),
    "moved there": lambda path, data, other: _move_there(path, other),
}


def _move_there(path, other):
    path.with_name("new").write_bytes(other)
    os.replace(path.with_name("new"), path)


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_has_changed_is_an_error(tmp_path, reader, change, is_cut):
    to_bytes, options = READERS[reader]
    data, other = to_bytes(ROWS), to_bytes(ROWS[::-1])
    for name in "ab":
        (tmp_path / f"{name}.txt").write_bytes(data)
        os.utime(tmp_path / f"{name}.txt", ns=(10**18, 10**18))
    paths = [str(tmp_path / f"{name}.txt") for name in "ab"]
    lazy = getattr(gd, reader)(paths, **options, **(CUT.get(reader, {}) if is_cut else {}))
    assert lazy.x.sum().compute() == 2 * ROWS.x.sum()
    CHANGES[change](tmp_path / "b.txt", data, other)
    for frame in (lazy, lazy[["x"]], lazy.x.max()):
        with pytest.raises(
            ReadError, match=rf"b\.txt' has changed since {reader}\(\) looked at it: call {reader}\(\) again"
        ):
            frame.compute(scheduler="inline")


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_gone_is_an_error(tmp_path, reader):
    to_bytes, options = READERS[reader]
    (tmp_path / "a.txt").write_bytes(to_bytes(ROWS))
    lazy = getattr(gd, reader)(str(tmp_path / "a.txt"), **options)
    os.remove(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError, match=rf"a\.txt' is gone since {reader}\(\) looked at it"):
        lazy.x.sum().compute(scheduler="inline")


@pytest.mark.parametrize("options", [{}, {"blocksize": 100}, {"files_per_partition": 1}])
def test_lines_of_a_file_that_has_changed_are_an_error(tmp_path, options):
    (tmp_path / "a.txt").write_text("line\n" * 100)
    bag = gb.read_text(tmp_path / "a.txt", **options)
    (tmp_path / "a.txt").write_text("l\n" * 99)
    with pytest.raises(
        ReadError, match=r"a\.txt' has changed since read_text\(\) looked at it: call read_text\(\) again"
    ):
        bag.compute()


@pytest.mark.parametrize("reader", ["read_csv", "read_json"])
def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path, reader, monkeypatch):
    to_bytes, _ = READERS[reader]
    (tmp_path / "a.txt").write_bytes(to_bytes(ROWS))
    lazy = getattr(gd, reader)(str(tmp_path / "a.txt"))
    read = getattr(pd, reader)

    def slow(*arguments, **options):
        frame = read(*arguments, **options)
        (tmp_path / "a.txt").write_bytes(to_bytes(ROWS[:150]))
        return frame

    slow.__name__ = reader
    source = lazy.expr.source
    if reader == "read_csv":
        object.__setattr__(source.parser, "function", slow)
    else:
        monkeypatch.setattr(pd, reader, slow)
    with pytest.raises(ReadError, match="has changed since"):
        lazy.compute(scheduler="inline")


@pytest.mark.parametrize("reader", READERS)
def test_a_file_elsewhere_that_has_changed_is_an_error(reader):
    to_bytes, options = READERS[reader]
    memory = fsspec.filesystem("memory")
    memory.pipe("/changing/a.txt", to_bytes(ROWS))
    lazy = getattr(gd, reader)("memory://changing/a.txt", **options)
    assert lazy.x.sum().compute(scheduler="inline") == ROWS.x.sum()
    memory.pipe("/changing/a.txt", to_bytes(ROWS[::-1]))
    with pytest.raises(ReadError, match=rf"a\.txt' has changed since {reader}\(\) looked at it"):
        lazy.x.sum().compute(scheduler="inline")
    memory.rm("/changing", recursive=True)
    with pytest.raises(FileNotFoundError, match=rf"a\.txt' is gone since {reader}\(\) looked at it"):
        lazy.x.sum().compute(scheduler="inline")


def test_files_that_are_touched_but_equal_are_read_on_where_the_format_tells(tmp_path):
    ROWS.to_parquet(tmp_path / "a.parquet")
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    shutil.copy(tmp_path / "a.parquet", tmp_path / "b")
    os.replace(tmp_path / "b", tmp_path / "a.parquet")
    assert lazy.x.sum().compute() == ROWS.x.sum()
