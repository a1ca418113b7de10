"""Results as pickles with their buffers beside them, and in files and shared memory that processes map."""

from __future__ import annotations

import errno
import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from glassloom.errors import DataLost, SerialisationError
from glassloom.store.pickling import dump_buffers, dumps, loads
from glassloom.store.segment import Segment, SegmentWriter, free_location, location_bytes, read_location
from stored_values import VALUES, same

MIB = 2**20

# Pickles


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__}")
def test_values_survive_pickling(value: Any) -> None:
    assert same(value, loads(dumps(value)))
    head, buffers = dump_buffers(value)
    assert same(value, loads(head, [memoryview(bytes(buffer)) for buffer in buffers]))


def test_large_arrays_are_not_copied_into_the_pickle() -> None:
    array = np.arange(100_000)
    head, (buffer,) = dump_buffers(array)
    assert len(head) < 500
    assert np.shares_memory(np.frombuffer(buffer, array.dtype), array)


def test_what_cannot_be_pickled_names_its_type() -> None:
    with pytest.raises(
        SerialisationError, match=r"^a value of type _thread\.lock can't be sent to another process: Typ"
    ):
        dumps(threading.Lock())


# Segments


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SegmentWriter:
    (tmp_path / "shm").mkdir()
    monkeypatch.setattr("glassloom.store.segment.SHARED_MEMORY_DIR", tmp_path / "shm")
    return SegmentWriter("p-", str(tmp_path), "w")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__}")
def test_values_survive_being_placed(writer: SegmentWriter, value: Any) -> None:
    assert same(value, read_location(writer.place(value)))


def test_small_values_need_no_file(writer: SegmentWriter, tmp_path: Path) -> None:
    location = writer.place(np.arange(1000))
    assert isinstance(location, bytes)
    assert location_bytes(location) == 0
    assert list((tmp_path / "shm").iterdir()) == []


def test_a_large_value_lies_in_one_private_aligned_file(writer: SegmentWriter, tmp_path: Path) -> None:
    location = writer.place([np.ones(10_001), np.zeros(7, "u1")])
    assert isinstance(location, Segment)
    assert Path(location.path).parent == tmp_path / "shm"
    assert re.fullmatch(r"p-w-0-[0-9a-f]{16}", Path(location.path).name)
    status = os.stat(location.path)
    assert (status.st_size, status.st_mode & 0o777) == (location.nbytes, 0o600)
    assert location.nbytes % 64 == 0
    ones, _ = read_location(location)
    assert ones.__array_interface__["data"][0] % 64 == 0


def test_arrays_in_a_segment_are_read_only(writer: SegmentWriter) -> None:
    array = read_location(writer.place(np.ones(10_000)))
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        array[0] = 5


def test_a_reader_keeps_what_it_sees_when_the_segment_is_freed(writer: SegmentWriter) -> None:
    location = writer.place(np.ones(10_000))
    array = read_location(location)
    free_location(location)
    free_location(location)
    assert float(array.sum()) == 10_000.0
    with pytest.raises(DataLost, match=r"^the file of a result is gone: .*/p-w-0-\w+$"):
        read_location(location)


@pytest.mark.fault("names in shared memory are taken by others")
def test_names_that_others_have_taken_cost_only_the_disk(
    writer: SegmentWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassloom.store.segment.secrets.token_hex", lambda nbytes: "guessed")
    taken = tmp_path / "shm" / "p-w-0-guessed"
    taken.mkdir()
    location = writer.place(np.ones(10_000))
    assert isinstance(location, Segment)
    assert Path(location.path) == tmp_path / "p-w-0-guessed"
    assert same(read_location(location), np.ones(10_000))
    assert taken.is_dir()


@pytest.mark.parametrize("code", [errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EMFILE, errno.EIO])
def test_whatever_the_system_says_of_shared_memory_the_disk_is_tried(
    writer: SegmentWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    write = os.write

    def refuse(descriptor: int, data: Any) -> int:
        if "/shm/" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(code, os.strerror(code))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", refuse)
    location = writer.place(np.ones(10_000))
    assert isinstance(location, Segment)
    assert Path(location.path).parent == tmp_path
    assert list((tmp_path / "shm").iterdir()) == []


def replace_by_link(path: Path) -> None:
    path.rename(f"{path}-moved")
    path.symlink_to(f"{path}-moved")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.fault("the file of a result is replaced by another user's, a link, a folder, a pipe")
@pytest.mark.parametrize("replace", [replace_by_link, replace_by_folder, replace_by_pipe])
def test_what_is_no_regular_file_is_not_read(writer: SegmentWriter, replace: Any) -> None:
    location = writer.place(np.ones(10_000))
    replace(Path(location.path))
    with pytest.raises(DataLost, match="the file of a result isn't ours"):
        read_location(location)


@pytest.mark.fault("the file of a result is replaced by another user's, a link, a folder, a pipe")
def test_another_users_file_is_not_read(writer: SegmentWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    location = writer.place(np.ones(10_000))
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(location.path).st_uid + 1)
    with pytest.raises(DataLost, match=r"isn't ours: .* belongs to user \d+"):
        read_location(location)


def test_a_shorter_file_is_not_read(writer: SegmentWriter) -> None:
    location = writer.place(np.ones(10_000))
    os.truncate(location.path, 5000)
    with pytest.raises(DataLost, match="is damaged: .* has 5000 of 80"):
        read_location(location)
