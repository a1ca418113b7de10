"""Text files: where they may go, how they are compressed and named, and values of all partitions in one form."""

from __future__ import annotations

import builtins
import importlib
import os
import warnings

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.dataframe.io import unlike_texts

PLAIN = pd.DataFrame({"x": range(7), "s": list("abcdefg")})


@pytest.fixture
def frame():
    return gd.from_pandas(PLAIN, npartitions=3)


def names_in(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*"))


# Where files go.


def test_a_folder_that_is_a_file_is_an_error_before_anything_is_computed(tmp_path, frame):
    (tmp_path / "out").write_text("mine")
    for write in ("to_csv", "to_json", "to_parquet", "to_orc"):
        with pytest.raises(FileExistsError, match=r"out' is a file; one file a partition is written into a folder"):
            getattr(frame, write)(tmp_path / "out", overwrite=True)
        with pytest.raises(NotADirectoryError, match=r"more' can't be made: '.*out' is a file"):
            getattr(frame, write)(tmp_path / "out" / "more")
    with pytest.raises(FileExistsError, match="or single_file=True for one file"):
        frame.to_csv(tmp_path / "out")
    with pytest.raises(IsADirectoryError, match="is a folder; single_file=True needs the name of a file"):
        frame.to_csv(tmp_path, single_file=True)
    assert names_in(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "mine"
    frame.to_csv(tmp_path / "out", single_file=True, index=False)
    assert_same(pd.read_csv(tmp_path / "out"), PLAIN)


def test_files_whose_names_are_not_utf8_are_no_hindrance_and_are_replaced(tmp_path, frame):
    strange = "caf\udce9.csv"
    (tmp_path / strange).write_text("x\n1\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / strange).write_text("x\n1\n")
    frame.to_parquet(tmp_path)
    frame.to_csv(tmp_path / "one.csv", single_file=True)
    with pytest.raises(FileExistsError, match="holds 3 csv files already"):
        frame.to_csv(tmp_path)
    frame.to_csv(tmp_path, overwrite=True)
    assert [name for name in names_in(tmp_path) if name.endswith(".csv")] == [f"part-{n:04}.csv" for n in range(3)]


def test_a_file_is_written_without_a_look_at_what_else_is_there(tmp_path, frame, monkeypatch):
    below = tmp_path / "many" / "below"
    below.mkdir(parents=True)
    looked = []
    monkeypatch.setattr(os, "scandir", lambda folder, own=os.scandir: looked.append(str(folder)) or own(folder))
    frame.to_csv(tmp_path / "one.csv", single_file=True)
    assert looked == []
    frame.to_csv(tmp_path / "each-*.csv")
    assert looked == [str(tmp_path)]
    frame.to_csv(tmp_path, overwrite=True)
    assert looked[1:] == [str(tmp_path), str(tmp_path / "many"), str(below)]


def test_other_files_of_a_folder_stay_and_those_of_the_kind_are_replaced_if_asked_for(tmp_path, frame):
    (tmp_path / "notes.md").write_text("mine")
    frame.to_csv(tmp_path, compression="gzip", index=False)
    with pytest.raises(FileExistsError, match="holds 3 csv files already; give overwrite=True"):
        frame.to_csv(tmp_path, index=False)
    frame.partitions[0].to_csv(tmp_path, index=False, overwrite=True)
    assert names_in(tmp_path) == ["notes.md", "part-0000.csv"]


def test_files_that_a_name_with_a_star_fits_are_replaced_if_asked_for(tmp_path, frame):
    (tmp_path / "other-1.csv").write_text("mine")
    frame.to_csv(tmp_path / "part-*.csv", index=False)
    with pytest.raises(FileExistsError, match=r"holds 3 csv files named like 'part-\*\.csv' already"):
        frame.to_csv(tmp_path / "part-*.csv", index=False)
    frame.partitions[:2].to_csv(tmp_path / "part-*.csv", index=False, overwrite=True)
    assert names_in(tmp_path) == ["other-1.csv", "part-0.csv", "part-1.csv"]


@pytest.mark.parametrize("write", ["to_csv", "to_json", "to_parquet", "to_orc"])
def test_folders_that_were_made_are_removed_if_writing_fails(tmp_path, frame, write):
    def fail(block):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        getattr(frame.map_partitions(fail, meta=PLAIN[:0]), write)(tmp_path / "a" / "b")
    assert names_in(tmp_path) == []
    (tmp_path / "a").mkdir()
    with pytest.raises(ZeroDivisionError):
        getattr(frame.map_partitions(fail, meta=PLAIN[:0]), write)(tmp_path / "a" / "b")
    assert names_in(tmp_path) == ["a"]


# Compression.

ENDINGS = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zip": ".zip", "tar": ".tar"}
METHODS = [*ENDINGS, *(["zstd"] if importlib.util.find_spec("zstandard") else [])]


@pytest.mark.parametrize("method", METHODS)
def test_compressed_files_are_named_by_it_and_read_back(tmp_path, frame, method):
    ending = {**ENDINGS, "zstd": ".zst"}[method]
    frame.to_csv(tmp_path / "csv", compression=method, index=False)
    assert names_in(tmp_path / "csv") == [f"part-000{number}.csv{ending}" for number in range(3)]
    assert_same(gd.read_csv(tmp_path / "csv").compute().reset_index(drop=True), PLAIN)
    assert_same(pd.read_csv(tmp_path / "csv" / f"part-0000.csv{ending}"), frame.partitions[0].compute())
    frame.to_json(tmp_path / "json", compression={"method": method})
    assert names_in(tmp_path / "json") == [f"part-000{number}.json{ending}" for number in range(3)]
    assert_same(gd.read_json(tmp_path / "json").compute().reset_index(drop=True), PLAIN)
    frame.to_csv(tmp_path / f"one.csv{ending}", single_file=True, index=False)
    assert_same(pd.read_csv(tmp_path / f"one.csv{ending}"), PLAIN)
    frame.to_csv(tmp_path / f"p-*.csv{ending}", index=False)
    assert_same(gd.read_csv(str(tmp_path / f"p-*.csv{ending}")).compute().reset_index(drop=True), PLAIN)
    frame.to_csv(tmp_path / "named", compression=method, name_function=lambda number: f"{number}.csv")
    assert names_in(tmp_path / "named")[0] == f"0.csv{ending}"


def test_encodings_are_those_that_were_asked_for(tmp_path):
    plain = pd.DataFrame({"s": ["ä", "ö"]})
    lazy = gd.from_pandas(plain, npartitions=2)
    for compression in (None, "gzip"):
        lazy.to_csv(tmp_path / "c", encoding="utf-16", compression=compression, overwrite=True, index=False)
        assert gd.read_csv(tmp_path / "c", encoding="utf-16", blocksize=None).s.compute().tolist() == ["ä", "ö"]
        lazy.to_json(tmp_path / "j", encoding="latin-1", compression=compression, overwrite=True, force_ascii=False)
        assert gd.read_json(tmp_path / "j", encoding="latin-1").s.compute().tolist() == ["ä", "ö"]


@pytest.mark.parametrize(
    ("write", "options", "error"),
    [
        ("to_csv", {"compression": "zstd"}, ImportError),
        ("to_json", {"compression": "zstd"}, ImportError),
        ("to_csv", {"compression": "rar"}, ValueError),
        ("to_json", {"compression": {"method": "rar"}}, ValueError),
        ("to_csv", {"sep": "ab"}, TypeError),
        ("to_csv", {"columns": ["no"]}, KeyError),
        ("to_csv", {"encoding": "no"}, LookupError),
        ("to_json", {"orient": "no"}, ValueError),
        ("to_json", {"date_unit": "h"}, ValueError),
    ],
)
def test_what_cannot_be_written_is_an_error_before_anything_is(tmp_path, frame, monkeypatch, write, options, error):
    original = builtins.__import__

    def without(name, *rest, **more):
        if name == "zstandard":
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(__import__("sys").modules, "zstandard", raising=False)
    if options.get("compression") == "zstd" and importlib.util.find_spec("compression") is not None:
        pytest.skip("since version 3.14 Python compresses by zstd itself, so that no library can be missing")
    computed = []
    noted = frame.map_partitions(lambda block: computed.append(1) or block, meta=PLAIN[:0])
    with pytest.raises(error):
        getattr(noted, write)(tmp_path / "a" / "out", **options)
    assert names_in(tmp_path) == []
    assert not computed


# One form for all values.


def pieces(*frames):
    load = gl.delayed(lambda number: frames[number])
    return {
        "from_delayed": gd.from_delayed([load(number) for number in range(len(frames))]),
        "from_map": gd.from_map(lambda number: frames[number], range(len(frames))),
    }


def check_texts(tmp_path, parts, **options):
    expected = pd.concat(parts)
    for name, lazy in pieces(*parts).items():
        for scheduler in ("inline", "threads"):
            lazy.to_csv(tmp_path / f"{name}.csv", single_file=True, **options, compute=False).compute(
                scheduler=scheduler
            )
            assert (tmp_path / f"{name}.csv").read_text() == expected.to_csv(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # times will be texts by default
            lazy.to_json(tmp_path / name, overwrite=True)
            texts = "".join(file.read_text() for file in sorted((tmp_path / name).iterdir()))
            assert texts.split() == expected.to_json(orient="records", lines=True).split()


def test_numbers_of_unlike_dtypes_are_written_as_those_of_all_rows(tmp_path):
    whole, fractions = pd.DataFrame({"x": [3, 4], "y": [1, 2]}), pd.DataFrame({"x": [0.5, None], "y": [5, 6]})
    for parts in ([whole, fractions], [fractions, whole], [whole, whole[:0], fractions, whole]):
        check_texts(tmp_path, parts, index=False)
    check_texts(tmp_path, [whole.set_index("x"), fractions.set_index("x")])
    for lazy in pieces(fractions, whole).values():
        texts = lazy.x.astype(str).compute()
        assert texts.tolist()[-2:] == ["3.0", "4.0"]


TIMES = {
    "days": ["2020-01-01", None],
    "hours": ["2020-01-01 10:00:00", "2020-01-02"],
    "thousandths": ["2020-01-01 10:00:00.5", "2020-01-02"],
    "millionths": [None, "2020-01-01 10:00:00.000001"],
    "finest": ["2020-01-01 00:00:00.000000001", "2020-01-01"],
    "none": [None, None],
}


@pytest.mark.each_choice
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize(
    "names", [("days", "hours"), ("hours", "thousandths", "days"), ("finest", "none", "millionths"), ("days", "days")]
)
def test_times_are_written_as_long_as_those_of_all_rows(tmp_path, names, zone):
    parts = []
    for name in names:
        times = pd.Series(pd.to_datetime(TIMES[name], format="mixed")).astype("datetime64[ns]").dt.tz_localize(zone)
        parts.append(pd.DataFrame({"t": times, "x": 1}))
    check_texts(tmp_path, parts)
    check_texts(tmp_path, parts, index=False, date_format="%d.%m.%Y")
    check_texts(tmp_path, [part.dropna().set_index("t") for part in parts])
    check_texts(tmp_path, [part.t for part in parts], na_rep="-")


def test_durations_are_written_as_long_as_those_of_all_rows(tmp_path):
    parts = [pd.DataFrame({"t": pd.to_timedelta(days, unit="D")}) for days in ([1, 2], [0.5, None], [3, None])]
    check_texts(tmp_path, parts)
    check_texts(tmp_path, [part.dropna().set_index("t").assign(x=1) for part in parts])


def test_categories_that_are_numbers_are_written_as_those_of_all_rows(tmp_path):
    parts = [pd.DataFrame({"x": pd.Categorical(values, categories=[2, 1])}) for values in ([1, 2], [None, 2], [1])]
    check_texts(tmp_path, parts)


def test_partitions_are_written_again_in_tasks_of_their_own(tmp_path, monkeypatch):
    again = []
    original = unlike_texts._in_form
    monkeypatch.setattr(
        unlike_texts, "_in_form", lambda block, changes: again.append(len(block)) or original(block, changes)
    )
    parts = [pd.DataFrame({"x": [number]}) for number in range(5)] + [pd.DataFrame({"x": [0.5]})]
    lazy = gd.from_map(parts.__getitem__, range(6), meta={"x": "int64"})
    written = lazy.to_csv(tmp_path / "c", compute=False)
    assert written.compute(scheduler="inline") == 6
    assert again == [1] * 5
    assert names_in(tmp_path / "c") == [f"part-000{number}.csv" for number in range(6)]
    assert np.array_equal(gd.read_csv(tmp_path / "c").x.compute(), [0, 1, 2, 3, 4, 0.5])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_a_single_file_has_one_mark_of_its_encoding(tmp_path, frame, encoding):
    frame.to_csv(tmp_path / "all.csv", single_file=True, encoding=encoding)
    assert (tmp_path / "all.csv").read_bytes() == PLAIN.to_csv().encode(encoding)
    frame.to_csv(tmp_path / "parts", encoding=encoding)
    parts = [pd.read_csv(file, encoding=encoding, index_col=0) for file in sorted((tmp_path / "parts").iterdir())]
    assert_same(pd.concat(parts), PLAIN)
