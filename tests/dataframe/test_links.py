"""Symbolic links, pipes and devices, where files are read and written: links are followed, as pandas follows them."""

import os
import stat

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import ReadError

ROWS = pd.DataFrame({"x": range(10), "s": list("abcdefghij")})
WRITERS = {
    "parquet": (lambda frame, path, **options: frame.to_parquet(path, **options), gd.read_parquet),
    "csv": (lambda frame, path, **options: frame.to_csv(path, index=False, **options), gd.read_csv),
    "json": (lambda frame, path, **options: frame.to_json(path, **options), gd.read_json),
    "orc": (lambda frame, path, **options: frame.to_orc(path, write_index=False, **options), gd.read_orc),
}


def lazy(rows=ROWS):
    return gd.from_pandas(rows, npartitions=2)


def plain(read):
    return read.compute().reset_index(drop=True)


def test_a_single_file_is_written_through_links(tmp_path):
    real, elsewhere = tmp_path / "real", tmp_path / "links"
    real.mkdir(), elsewhere.mkdir()
    (real / "a.csv").write_text("old")
    os.chmod(real / "a.csv", 0o600)
    (elsewhere / "first.csv").symlink_to(real / "a.csv")
    (elsewhere / "second.csv").symlink_to("first.csv")
    lazy().to_csv(elsewhere / "second.csv", single_file=True, index=False)
    assert (elsewhere / "second.csv").is_symlink() and (elsewhere / "first.csv").is_symlink()
    assert (real / "a.csv").read_text() == ROWS.to_csv(index=False)
    assert stat.S_IMODE(os.stat(real / "a.csv").st_mode) == 0o600
    assert sorted(os.listdir(real)) == ["a.csv"]
    assert sorted(os.listdir(elsewhere)) == ["first.csv", "second.csv"]


def test_a_link_to_no_file_yet_makes_it(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "new" / "b.csv")
    lazy().to_csv(tmp_path / "a.csv", single_file=True, index=False)
    assert (tmp_path / "a.csv").is_symlink()
    assert_same(plain(gd.read_csv(tmp_path / "new" / "b.csv")), ROWS)


def test_a_write_through_a_link_that_fails_leaves_the_file(tmp_path):
    (tmp_path / "a.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("a.csv")
    broken = lazy().map_partitions(lambda block: 1 / 0, meta=ROWS[:0])
    with pytest.raises(ZeroDivisionError):
        broken.to_csv(tmp_path / "link.csv", single_file=True)
    assert (tmp_path / "link.csv").read_text() == "old" and (tmp_path / "link.csv").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "link.csv"]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("is_there", [True, False])
def test_folders_are_written_through_links(tmp_path, kind, is_there):
    write, read = WRITERS[kind]
    if is_there:
        (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write(lazy(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and len(os.listdir(tmp_path / "real")) == 2
    assert_same(plain(read(tmp_path / "link")), ROWS)


@pytest.mark.parametrize("kind", WRITERS)
def test_files_of_a_folder_are_written_through_links(tmp_path, kind):
    write, read = WRITERS[kind]
    write(lazy(), tmp_path / "out")
    (first, _) = sorted(os.listdir(tmp_path / "out"))
    (tmp_path / "out" / first).rename(tmp_path / "kept")
    (tmp_path / "out" / first).symlink_to(tmp_path / "kept")
    write(lazy(ROWS[::-1].reset_index(drop=True)), tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / first).is_symlink()
    assert_same(plain(read(tmp_path / "out")), ROWS[::-1].reset_index(drop=True))
    assert_same(plain(read(str(tmp_path / "kept"))), ROWS[:4:-1].reset_index(drop=True))


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs a second file system")
def test_links_lead_to_other_disks(tmp_path):
    other = f"/dev/shm/glassloom-{os.getpid()}.csv"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-0000.csv").symlink_to(other)
    try:
        gd.from_pandas(ROWS, npartitions=1).to_csv(tmp_path / "out", index=False)
        assert (tmp_path / "out" / "part-0000.csv").is_symlink()
        assert_same(pd.read_csv(other), ROWS)
        assert [name for name in os.listdir("/dev/shm") if name.startswith(os.path.basename(other))] == [
            os.path.basename(other)
        ]
    finally:
        os.remove(other)


def test_links_that_lead_to_each_other_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for write in (
        lambda: lazy().to_csv(tmp_path / "a", single_file=True),
        lambda: lazy().to_parquet(tmp_path / "a"),
        lambda: lazy().to_csv(tmp_path / "a" / "b"),
        lambda: gd.read_csv(tmp_path / "a"),
    ):
        with pytest.raises(OSError, match="Too many levels of symbolic links"):
            write()
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_folders_are_read_through_links_and_never_twice(tmp_path):
    lazy().to_parquet(tmp_path / "real" / "deep")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "k=1").symlink_to(tmp_path / "real" / "deep")
    (tmp_path / "data" / "k=2").mkdir()
    (tmp_path / "data" / "k=2" / "one.parquet").symlink_to(tmp_path / "real" / "deep" / "part-0000.parquet")
    (tmp_path / "data" / "up").symlink_to("..")
    (tmp_path / "data" / "itself").symlink_to("itself")
    found = gd.read_parquet(tmp_path / "data").compute()
    assert found.x.tolist() == [*range(10), *range(5)]
    assert found.k.astype(int).tolist() == [1] * 10 + [2] * 5


def test_a_link_to_nothing_among_files_is_an_error(tmp_path):
    ROWS.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "b.csv").symlink_to(tmp_path / "gone.csv")
    (tmp_path / "b.other").symlink_to(tmp_path / "gone.other")
    for path in (tmp_path, tmp_path / "*.csv"):
        with pytest.raises(
            FileNotFoundError, match=r"b\.csv' is a symbolic link to '.*gone\.csv', which doesn't exist"
        ):
            gd.read_csv(path)


@pytest.mark.parametrize("read", [gd.read_csv, gd.read_json, gd.read_parquet, gd.read_orc])
def test_pipes_and_devices_are_refused(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/null"):
        with pytest.raises(ReadError, match=r"is a pipe or a device, which can be read only once; save what it yields"):
            read(path)
    with pytest.raises(OSError, match=r"'/dev/null' is a pipe or a device, which can't be replaced"):
        lazy().to_csv("/dev/null", single_file=True)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_that_is_linked_into_a_replaced_one_keeps_its_files(tmp_path):
    lazy().to_parquet(tmp_path / "others")
    lazy().to_parquet(tmp_path / "data")
    (tmp_path / "data" / "linked").symlink_to(tmp_path / "others")
    assert len(gd.read_parquet(tmp_path / "data")) == 2 * len(ROWS)
    lazy(ROWS.head(2)).to_parquet(tmp_path / "data", overwrite=True)
    assert len(gd.read_parquet(tmp_path / "data")) == 2
    assert len(gd.read_parquet(tmp_path / "others")) == len(ROWS)
