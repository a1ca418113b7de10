"""Recordings as they are written: cut, on full disks, over lost connections; and their footers."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from array import array
from collections.abc import AsyncGenerator

import pytest
from glassloom_metrics import follower as follower_module
from glassloom_metrics import recording_writer
from glassloom_metrics.errors import ConnectionRefused, RecordingError
from glassloom_metrics.follower import Follower
from glassloom_metrics.framing import HEADER_BYTES
from glassloom_metrics.host import process_started_s
from glassloom_metrics.outputs import output_path
from glassloom_metrics.protocol import (
    NOW,
    Dropped,
    Footer,
    Hello,
    Layers,
    Life,
    Log,
    Message,
    Position,
    WorkerJoined,
    decode,
    encode,
    tag_of,
)
from glassloom_metrics.recording import read_recording
from glassloom_metrics.recording_writer import RecordingWriter
from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.segments import END
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

HELLO = Hello(2, "c1", "demo", "processes", 0.0, "log1")
STARTED = Life(1.0, "started")
CLOSING = Life(9.0, "closing")


def line(number: int) -> Log:
    return Log(float(number), -1, "info", f"line {number}")


def record_of(pid: int | None = None) -> ClusterRecord:
    pid = os.getpid() if pid is None else pid
    return ClusterRecord("c1", "demo", "processes", pid, process_started_s(os.getpid()), "/none", "s", 0.0, "/none", "")


def written(path, messages: list[Message], *, since: int = 1, close: bool = True) -> RecordingWriter:
    writer = RecordingWriter(path, since=since)
    for message in messages:
        writer.add(encode(message))
    if close:
        writer.close()
    return writer


def footer_of(path) -> Footer:
    data = path.read_bytes()
    assert data.endswith(END)
    at = int.from_bytes(data[-16:-8], "little")
    footer = decode(data[at + HEADER_BYTES : -16])
    assert isinstance(footer, Footer)
    return footer


def test_a_recording_has_the_frames_of_a_subscription_but_its_positions_and_a_footer_that_finds_them(tmp_path):
    path = tmp_path / "run.glr"
    writer = written(path, [HELLO, STARTED, line(1), Position(2.0, 3), line(2), Position(3.0, 4), CLOSING])
    assert list(read_recording(path)) == [HELLO, STARTED, line(1), line(2), CLOSING]
    assert (writer.problem, writer.has_ended, writer.next, writer.log_id) == ("", True, 5, "log1")
    assert writer.nbytes == path.stat().st_size
    footer = footer_of(path)
    assert (footer.first, footer.names, footer.topics) == (1, ["life", "log"], b"\x00\x01\x01\x00")
    data = path.read_bytes()
    offsets = array("Q")
    offsets.frombytes(footer.offsets)
    for offset, message in zip(offsets, [STARTED, line(1), line(2), CLOSING], strict=True):
        assert data[offset : offset + len(encode(message))] == encode(message)


def test_a_recording_from_now_on_begins_with_a_snapshot_whose_frames_have_no_numbers(tmp_path):
    path = tmp_path / "run.glr"
    joined = WorkerJoined(0.0, 0, "w0", 1, 2)
    written(
        path,
        [HELLO, joined, Layers([0], ["sum"], [1], [""]), Position(2.0, 700), line(1), Position(3.0, 701)],
        since=NOW,
    )
    announced = Layers([0], ["sum"], [1], [""])
    assert list(read_recording(path)) == [HELLO, joined, announced, Position(2.0, 700), line(1)]
    footer = footer_of(path)
    assert (footer.first, [footer.names[topic] for topic in footer.topics]) == (700, ["log"])


def test_a_file_that_is_there_is_kept_unless_it_may_be_overwritten(tmp_path):
    path = tmp_path / "run.glr"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match=r"can't record to '.*run.glr': there is a file already.*overwrite=True"):
        RecordingWriter(path)
    assert path.read_text() == "precious"
    writer = RecordingWriter(path, overwrite=True)
    writer.add(encode(HELLO))
    writer.close()
    assert list(read_recording(path)) == [HELLO]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileNotFoundError):
        RecordingWriter(tmp_path / "nowhere" / "run.glr")


def test_a_recording_that_replaces_one_that_is_still_written_is_not_spoilt_by_it(tmp_path):
    path = tmp_path / "run.glr"
    first = written(path, [HELLO, line(1)], close=False)
    second = RecordingWriter(path, overwrite=True)
    for message in (HELLO, line(2)):
        second.add(encode(message))
    first.close()
    second.close()
    assert list(read_recording(path)) == [HELLO, line(2)]


def test_a_long_recording_keeps_no_list_of_its_frames_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(recording_writer, "MAX_INDEXED", 3)
    for count in (3, 4, 9):
        path = tmp_path / f"{count}.glr"
        writer = written(
            path, [HELLO, *[part for number in range(count) for part in (line(number), Position(1.0, number + 2))]]
        )
        assert list(read_recording(path)) == [HELLO, *map(line, range(count))]
        assert len(footer_of(path).topics) == (3 if count == 3 else 0)
        assert (writer.nbytes, writer.next) == (path.stat().st_size, count + 1)


def test_what_was_heard_up_to_the_last_position_is_in_the_file_if_the_writer_is_killed(tmp_path):
    path = tmp_path / "run.glr"
    written(path, [HELLO, line(1), Position(2.0, 2), line(2)], close=False)
    recording = read_recording(path)
    assert (list(recording), recording.damage) == ([HELLO, line(1)], "")


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_a_recording_that_is_cut_or_damaged_anywhere_opens_as_far_as_it_goes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "property.glr"
    messages = [HELLO, *map(line, range(data.draw(st.integers(0, 8), "lines")))]
    path.unlink(missing_ok=True)
    written(path, messages)
    whole = bytearray(path.read_bytes())
    place = data.draw(st.integers(8, len(whole) - 1), "place")
    if data.draw(st.booleans(), "cut"):
        del whole[place:]
    else:
        whole[place] ^= data.draw(st.integers(1, 255), "difference")
    path.write_bytes(whole)
    read = list(read_recording(path))
    ends = [8]
    for message in messages:
        ends.append(ends[-1] + HEADER_BYTES + len(encode(message)))
    before = sum(end <= place for end in ends) - 1
    assert read[:before] == messages[:before]
    assert len(read) <= len(messages)


@pytest.mark.parametrize("room", [0, 1, 30])
def test_a_full_disk_is_said_and_what_is_there_stays_readable(tmp_path, monkeypatch, room):
    path = tmp_path / "run.glr"
    writer = written(path, [HELLO, line(1), Position(2.0, 2)], close=False)
    real, left = os.pwrite, room

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = real(descriptor, bytes(data[:left]), offset)
        left -= taken
        return taken

    monkeypatch.setattr(os, "pwrite", pwrite)
    for message in (Log(2.0, -1, "info", "x" * 100), Position(3.0, 3), line(3), Position(4.0, 4)):
        writer.add(encode(message))
    writer.close()
    assert writer.problem == f"the recording '{path}' ends early: the disk is full (No space left on device)"
    recording = read_recording(path)
    assert (list(recording), recording.damage) == ([HELLO, line(1)], "")


def test_a_lost_connection_is_taken_up_at_the_frame_after_the_last(tmp_path):
    path = tmp_path / "run.glr"
    writer = written(path, [HELLO, STARTED, Position(1.0, 2), line(1), line(2)], close=False)
    assert (writer.next, writer.log_id) == (4, "log1")
    for message in (HELLO, line(3), Dropped(5, 80), Layers([0], ["sum"], [1], [""]), line(4)):
        writer.add(encode(message))
    assert writer.next == 81, "the length of the snapshot isn't known before the next position"
    writer.add(encode(Position(2.0, 90)))
    assert writer.next == 90
    writer.close()
    read = list(read_recording(path))
    assert [message for message in read if isinstance(message, Hello)] == [HELLO]
    assert [message.text for message in read if isinstance(message, Log)] == [
        f"line {number}" for number in (1, 2, 3, 4)
    ]
    assert Dropped(5, 80) in read


def test_frames_that_cannot_be_read_and_those_of_the_future_are_kept_for_who_can(tmp_path):
    path = tmp_path / "run.glr"
    writer = written(path, [HELLO], close=False)
    for payload in (b"\xc1", b"\x81\xa4type\xa9novelties", encode(line(1))):
        writer.add(payload)
    writer.close()
    recording = read_recording(path)
    assert (list(recording), recording.unreadable) == ([HELLO, line(1)], 1)
    assert footer_of(path).names == ["", "novelties", "log"]
    assert [tag_of(payload) for payload in (b"\xc1", b"", b"\x81\xa4type\xa9novelties", b"\x90")] == [
        "",
        "",
        "novelties",
        "",
    ]


# Following


class Stream:
    """A cluster that says these things, one list for each connection, and is then silent, or fails."""

    def __init__(self, *connections: list[Message | Exception | None]) -> None:
        self._connections = list(connections)
        self.asked: list[tuple[int, str]] = []

    async def __call__(self, record: ClusterRecord, *, since: int, log_id: str) -> AsyncGenerator[bytes]:
        self.asked.append((since, log_id))
        said = self._connections.pop(0) if self._connections else [None]
        for message in said:
            if message is None:
                await asyncio.Event().wait()
            elif isinstance(message, Exception):
                raise message
            else:
                yield encode(message)


def follow(
    path,
    stream: Stream,
    *,
    stop_after: Message | None = None,
    record: ClusterRecord | None = None,
    overwrite: bool = False,
) -> RecordingWriter:
    """Follow until it ends by itself, or is stopped once it has begun."""
    writer = RecordingWriter(path, overwrite=overwrite)

    async def main() -> None:
        follower = Follower(record or record_of(), writer, stream)
        running = asyncio.ensure_future(follower.run())
        if stop_after is not None:
            await follower.began.wait()
            follower.stop()
        async with asyncio.timeout(60):
            await running
        assert follower.began.is_set()

    asyncio.run(main())
    return writer


@pytest.fixture(autouse=True)
def short_times(monkeypatch):
    monkeypatch.setattr(follower_module, "_FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(follower_module, "SETTLE_S", 0.01)
    monkeypatch.setattr(follower_module, "SILENCE_S", 0.2)


def test_a_cluster_is_recorded_over_lost_connections_to_its_end(tmp_path):
    stream = Stream(
        [HELLO, line(1), Position(1.0, 2)],
        [ConnectionResetError("cut")],
        [HELLO, line(2), line(3), ConnectionResetError("cut")],
        [HELLO, line(4), CLOSING],
    )
    writer = follow(tmp_path / "run.glr", stream)
    assert stream.asked == [(1, ""), (2, "log1"), (2, "log1"), (4, "log1")]
    assert list(read_recording(writer.path)) == [HELLO, line(1), line(2), line(3), line(4), CLOSING]
    assert writer.problem == ""


def test_a_cluster_that_is_silent_when_it_is_to_stop_is_not_waited_for(tmp_path):
    writer = follow(tmp_path / "run.glr", Stream([HELLO, line(1), Position(1.0, 2), line(2), None]), stop_after=line(1))
    assert writer.problem == "cluster 'demo' hasn't answered for 0 s: the recording may lack its end"
    assert list(read_recording(writer.path)) == [HELLO, line(1), line(2)]
    assert footer_of(writer.path).topics == b"\x00\x00"


def test_a_recording_ends_if_the_process_of_its_cluster_is_gone_or_has_begun_another_log(tmp_path):
    writer = follow(tmp_path / "gone.glr", Stream([HELLO, line(1)]), record=record_of(2**22 + 1))
    assert writer.problem == f"cluster 'demo' ended without a word: its process {2**22 + 1} is gone"
    other = Hello(2, "c1", "demo", "processes", 0.0, "log2")
    writer = follow(tmp_path / "other.glr", Stream([HELLO, line(1), Position(1.0, 2)], [other, line(9), None]))
    assert writer.problem == "cluster 'demo' has begun another log: the recording ends here"
    assert list(read_recording(writer.path)) == [HELLO, line(1)]
    writer = follow(tmp_path / "refused.glr", Stream([ConnectionRefused("no, thanks")]))
    assert writer.problem == "no, thanks"


# Where it may be written


def test_what_is_no_regular_file_is_neither_replaced_nor_read(tmp_path):
    os.mkfifo(fifo := tmp_path / "fifo.glr")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match=r"can't write to '.*fifo.glr': it is a FIFO, no regular file"):
            RecordingWriter(fifo, overwrite=overwrite)
        with pytest.raises(IsADirectoryError, match="it is a folder"):
            RecordingWriter(tmp_path, overwrite=overwrite)
    (loop := tmp_path / "loop.glr").symlink_to(loop)
    with pytest.raises(FileExistsError, match="a symbolic link to itself"):
        RecordingWriter(loop, overwrite=True)
    assert stat.S_ISFIFO(fifo.lstat().st_mode) and sorted(tmp_path.iterdir()) == [fifo, loop]
    with pytest.raises(RecordingError, match=r"fifo.glr' is not a Glassloom recording: it is a FIFO"):
        read_recording(fifo)


def test_a_symbolic_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "old.glr").write_text("old")
    for name in ("old.glr", "new.glr"):
        (link := tmp_path / f"link-to-{name}").symlink_to(name)
        writer = RecordingWriter(link, overwrite=True)
        writer.add(encode(HELLO))
        writer.close()
        assert link.is_symlink() and list(read_recording(tmp_path / name)) == [HELLO]


def test_what_is_read_is_not_written_over(tmp_path):
    (source := tmp_path / "run.glr").write_text("precious")
    os.link(source, tmp_path / "other.glr")
    for path in (source, tmp_path / "other.glr", tmp_path / "." / "run.glr"):
        with pytest.raises(FileExistsError, match="that is the recording itself"):
            output_path(path, source=source)
    assert output_path(tmp_path / "run.html", source=source) == tmp_path / "run.html"


def test_a_cluster_that_says_nothing_replaces_no_file(tmp_path):
    path = tmp_path / "run.glr"
    path.write_text("precious")
    writer = follow(path, Stream([]), record=record_of(2**22 + 1), overwrite=True)
    assert writer.problem == f"cluster 'demo' has ended: its process {2**22 + 1} is gone"
    writer.discard()
    assert path.read_text() == "precious" and list(tmp_path.iterdir()) == [path]
    writer = follow(path, Stream([HELLO, CLOSING]), overwrite=True)
    assert list(read_recording(path)) == [HELLO, CLOSING] and list(tmp_path.iterdir()) == [path]
