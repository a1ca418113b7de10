"""Lines from files and to files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import glassloom.bag as gb
import pytest
from glassloom.errors import OptionError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"eins\nzwei\r\ndrei")
    (tmp_path / "b10.txt").write_bytes(b"zehn\n")
    (tmp_path / "b9.txt.gz").write_bytes(gzip.compress("größe\nneun\n".encode()))
    return tmp_path


def test_lines_keep_their_ends_and_files_their_natural_order(folder: Path) -> None:
    bag = gb.read_text(folder)
    assert bag.npartitions == 3
    assert bag.compute() == ["eins\n", "zwei\n", "drei", "größe\n", "neun\n", "zehn\n"]
    assert gb.read_text(str(folder / "b*"), files_per_partition=2).npartitions == 1
    paired = gb.read_text([folder / "b10.txt"], include_path=True).compute()
    assert paired == [("zehn\n", str(folder / "b10.txt"))]


def test_a_large_file_is_cut_at_line_ends(tmp_path: Path) -> None:
    lines = [f"{number} {'ä' * (number % 7)}\n" for number in range(500)]
    path = tmp_path / "large.txt"
    path.write_text("".join(lines))
    bag = gb.read_text(path, blocksize=400)
    assert bag.npartitions > 10
    assert bag.compute() == lines


def test_other_delimiters_and_encodings(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes("a;ü;c".encode("latin-1"))
    assert gb.read_text(path, linedelimiter=";", encoding="latin-1").compute() == ["a;", "ü;", "c"]
    with pytest.raises(UnicodeDecodeError):
        gb.read_text(path).compute()
    assert gb.read_text(path, errors="ignore").compute() == ["a;;c"]


def test_a_changed_file_is_another_bag(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("before\n")
    before = gb.read_text(path)
    path.write_text("afterwards\n")
    assert gb.read_text(path).name != before.name


@pytest.mark.parametrize("suffix", ["txt", "txt.gz", "txt.bz2", "txt.xz"])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    lines = [json.dumps({"n": number, "ü": "\u2028"}) for number in range(20)]
    written = gb.from_sequence(lines, npartitions=12).to_textfiles(tmp_path / f"new/part-*.{suffix}")
    assert [Path(path).name for path in written][:2] == [f"part-00.{suffix}", f"part-01.{suffix}"]
    assert sorted(str(path) for path in (tmp_path / "new").iterdir()) == written
    read = gb.read_text(written).map(str.rstrip, "\n")
    assert read.compute() == lines


def test_files_behind_urls_are_written_and_read_again_by_their_urls() -> None:
    written = gb.from_sequence(["a", "b"], npartitions=2).to_textfiles("memory://bags/part-*.txt")
    assert [url.partition("://")[0] for url in written] == ["memory", "memory"]
    assert gb.read_text(written).compute() == ["a", "b"]


def test_names_of_files(tmp_path: Path) -> None:
    bag = gb.from_sequence(["a", "b"], npartitions=2)
    assert bag.to_textfiles(tmp_path / "d", name_function=lambda n: "xy"[n]) == [
        str(tmp_path / "d/x.part"), str(tmp_path / "d/y.part"),
    ]  # fmt: skip
    paths = [str(tmp_path / "d/1.txt"), str(tmp_path / "d/2.txt")]
    assert bag.to_textfiles(paths, last_endline=True) == paths
    assert Path(paths[0]).read_text() == "a\n"


def test_later_means_later(tmp_path: Path) -> None:
    later = gb.from_sequence(["a", "b"], npartitions=2).to_textfiles(tmp_path / "*.txt", compute=False)
    assert list(tmp_path.iterdir()) == []
    assert later.compute() == 2
    assert (tmp_path / "1.txt").read_text() == "b"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    bag = gb.from_sequence(["a", 1, "b"], npartitions=3)
    with pytest.raises(TypeError):
        bag.to_textfiles(tmp_path / "*.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda p: gb.read_text(p / "none.txt"), FileNotFoundError, "none.txt"),
        (lambda p: gb.read_text(p, blocksize=1, files_per_partition=1), OptionError, "either blocksize or"),
        (lambda p: gb.read_text(p, compression="zip"), OptionError, "compression='zip' should be one of"),
        (lambda p: gb.read_text(p / "a.txt", blocksize=3, linedelimiter=";"), OptionError, "leave out blocksize"),
        (lambda p: gb.range(2, 2).to_textfiles([p / "a"]), OptionError, "1 paths were given for 2 partitions"),
        (lambda p: gb.range(2, 2).to_textfiles(p / "*/a.txt"), OptionError, "one '\\*', in the file's name"),
        (lambda p: gb.range(2, 2).to_textfiles([p / "a/x", p / "b/x"]), OptionError, "in one folder"),
        (lambda p: gb.range(2, 2).to_textfiles(p / "*", lambda n: "x"), ValueError, "each once"),
    ],
)
def test_errors_say_what_is_wrong(folder: Path, wrong: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(folder)
