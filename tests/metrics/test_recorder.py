"""The log keeps what it can, in memory and on disk, and what it seals is what was added."""

from __future__ import annotations

import errno
import math

import pytest
from glassloom_metrics import frame_log, segments
from glassloom_metrics.frame_log import FrameLog
from glassloom_metrics.protocol import (
    Action,
    Dropped,
    Hello,
    Layers,
    Life,
    Log,
    Message,
    Progress,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    column,
    decode,
    encode,
)
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.recording import read_recording
from glassloom_metrics.snapshot import MAX_LAYERS
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

HELLO = Hello(2, "c1", "demo", "threads", 100.0)


def whole_log(recorder: Recorder, limit: int = 7) -> list[bytes]:
    """Return the payloads of all frames, read a few at a time."""
    frames: list[bytes] = []
    position = 0
    while position < len(recorder):
        part, position = recorder.read(position, limit=limit)
        frames += part
    return frames


def messages_of(recorder: Recorder) -> list[Message]:
    return [decode(payload) for payload in whole_log(recorder)]


def ticks(recorder: Recorder) -> list[float]:
    """Return the times of the `Life`s that are left."""
    return [message.at_s for message in messages_of(recorder) if isinstance(message, Life)]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, 400), max_size=60), st.integers(0, 3000), st.integers(1, 9))
def test_a_log_that_goes_to_disk_reads_like_one_in_memory(tmp_path_factory, sizes, memory_bytes, limit):
    directory = tmp_path_factory.mktemp("log")
    small = Recorder(HELLO, memory_bytes=memory_bytes, directory=directory)
    large = Recorder(HELLO)
    for number, size in enumerate(sizes):
        for recorder in (small, large):
            recorder.record(Life(float(number), "x" * size))
    assert len(small) == len(large) == len(sizes) + 1
    assert whole_log(small, limit)[1:] == whole_log(large)[1:]
    newest = len(encode(Life(0.0, "x" * sizes[-1]))) if sizes else 0
    assert small.memory_bytes <= max(memory_bytes, newest)
    small.close()
    assert not list(directory.iterdir())


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.sampled_from("abc"), max_size=80),
    st.integers(0, 500),
    st.integers(1, 5),
    st.none() | st.integers(1, 100),
    st.none() | st.sets(st.sampled_from("abcd")),
)
def test_reading_some_topics_gives_their_frames_and_goes_on_after_them(
    tmp_path_factory, topics, memory_bytes, limit, enough_bytes, wanted
):
    size, enough_bytes = 21, enough_bytes or math.inf
    directory = tmp_path_factory.mktemp("log")
    log = FrameLog(("hello", b"hello"), memory_bytes=memory_bytes, directory=directory)
    for number, topic in enumerate(topics):
        log.append(topic, f"{topic}{number:020}".encode())
    found, position = [], 1
    while position < len(log):
        payloads, following = log.read(position, limit=limit, topics=wanted, enough_bytes=enough_bytes)
        assert len(payloads) <= limit and following > position
        assert size * (len(payloads) - 1) < enough_bytes
        found += payloads
        position = following
    assert found == [
        f"{topic}{number:020}".encode() for number, topic in enumerate(topics) if wanted is None or topic in wanted
    ]
    log.close()


def test_frames_can_be_added_while_old_ones_are_read_from_disk(tmp_path):
    recorder = Recorder(HELLO, memory_bytes=500, directory=tmp_path)
    for number in range(50):
        recorder.record(Life(float(number), "x" * 50))
        assert decode(recorder.read(0, limit=1)[0][0]) == recorder.hello
        assert decode(recorder.read(len(recorder) - 1, limit=9)[0][0]).at_s == number
    assert ticks(recorder) == list(range(50))
    recorder.close()


def test_a_flush_seals_layers_then_tasks_then_progress_once():
    recorder = Recorder(HELLO)
    recorder.set_progress(4, (1, 2, 3, 4, 5, 6))
    recorder.set_progress(4, (6, 5, 4, 3, 2, 1))
    recorder.add_task("7", layer=4, worker=2, lane=3, start_s=101.0, stop_s=102.5, nbytes=80)
    recorder.add_task("", layer=4, worker=0, lane=0, start_s=101.0, stop_s=101.0, ok=False, action=Action.TRANSFER)
    recorder.add_layer(4, "sum", 9, "cell 1")
    recorder.flush(103.0)
    recorder.flush(104.0)
    recorder.add_task("x", layer=5, worker=1, lane=1, start_s=1.0, stop_s=2.0)
    recorder.flush(105.0)

    hello, layers, tasks, progress, later = messages_of(recorder)
    assert hello == recorder.hello
    assert layers == Layers([4], ["sum"], [9], ["cell 1"], [-1], [[]], [""], [0])
    assert progress == Progress(103.0, [4], [6], [5], [4], [3], [2], [1], [0])
    assert isinstance(tasks, TaskEvents) and isinstance(later, TaskEvents)
    assert (tasks.first, tasks.index, later.first, later.index) == (0, ["7", ""], 2, ["x"])
    got = {
        name: column(tasks, name).tolist()
        for name in ("layer", "worker", "lane", "action", "duration_s", "nbytes", "ok")
    }
    assert got == {
        "layer": [4, 4], "worker": [2, 0], "lane": [3, 0], "action": [0, 1],
        "duration_s": [1.5, 0.0], "nbytes": [80, -1], "ok": [1, 0],
    }  # fmt: skip


def test_many_tasks_at_once_are_recorded_as_one_by_one():
    one_by_one, at_once = Recorder(HELLO), Recorder(HELLO)
    for number in range(5):
        one_by_one.add_task(
            f"{number}",
            layer=number,
            worker=3,
            lane=number % 2,
            start_s=number + 0.5,
            stop_s=number + 1.5,
            nbytes=number,
        )
    at_once.add_tasks(
        [f"{number}" for number in range(5)],
        layer=range(5),
        worker=3,
        lane=[0, 1, 0, 1, 0],
        start_s=[number + 0.5 for number in range(5)],
        duration_s=1.0,
        nbytes=range(5),
    )
    assert at_once.rows == one_by_one.rows == 5
    one_by_one.flush(9.0)
    at_once.flush(9.0)
    assert whole_log(at_once)[1:] == whole_log(one_by_one)[1:]


def test_a_closed_recorder_says_so(tmp_path):
    recorder = Recorder(HELLO, memory_bytes=1, directory=tmp_path)
    recorder.record(Life(1.0, "x"))
    recorder.close()
    with pytest.raises(ValueError, match="the recorder is closed"):
        recorder.read(0, limit=1)


def test_a_log_past_its_share_of_the_disk_drops_its_oldest_segments_and_says_which(tmp_path, monkeypatch):
    monkeypatch.setattr(frame_log, "SEGMENT_BYTES", 5_000)
    recorder = Recorder(HELLO, memory_bytes=2_000, disk_bytes=20_000, directory=tmp_path)
    assert recorder.dropped(0) is None
    for number in range(2_000):
        recorder.record(Life(float(number), "x" * 30))
    left = ticks(recorder)
    assert left == list(range(2_000 - len(left), 2_000))
    assert 12_000 < recorder.disk_bytes == sum(path.stat().st_size for path in tmp_path.iterdir()) <= 26_000
    dropped = recorder.dropped(5)
    assert dropped == Dropped(5, 2_000 - len(left))
    assert recorder.dropped(dropped.last + 1) is None
    recorder.close()
    assert not list(tmp_path.iterdir())


def test_every_segment_is_a_recording_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(frame_log, "SEGMENT_BYTES", 5_000)
    recorder = Recorder(HELLO, memory_bytes=2_000, directory=tmp_path)
    recorder.add_layer(3, "sum", 9, "cell 1")
    recorder.flush(0.5)
    for number in range(500):
        recorder.record(Life(float(number), "x" * 30))
    segments = [list(read_recording(path)) for path in sorted(tmp_path.iterdir())]
    assert len(segments) > 3
    for messages in segments:
        assert messages[0] == recorder.hello
        assert Layers([3], ["sum"], [9], ["cell 1"], [-1], [[]], [""], [0]) in messages
    seen = [message.at_s for messages in segments for message in messages if isinstance(message, Life)]
    assert sorted(set(seen)) == list(range(int(max(seen)) + 1))
    recorder.close()


@pytest.mark.fault("the disk of a cluster's log is full")
def test_a_log_whose_disk_is_full_stays_in_memory(tmp_path, monkeypatch):
    (tmp_path / "journal-000000.glr").symlink_to("/dev/full")  # every write to it fails with ENOSPC
    recorder = Recorder(HELLO, memory_bytes=2000, directory=tmp_path)
    monkeypatch.setattr("pathlib.Path.unlink", lambda path: None)
    for number in range(70):
        recorder.record(Life(float(number), "x" * 10))
    assert 2000 < recorder.memory_bytes <= 4000
    assert ticks(recorder) == list(range(70))


def test_where_the_disk_is_full_new_frames_take_the_place_of_the_oldest(tmp_path, monkeypatch):
    """A disk of 30 kB, as far as this log knows."""
    monkeypatch.setattr(frame_log, "SEGMENT_BYTES", 5_000)
    write = segments._write_all

    def write_if_there_is_room(descriptor: int, data: bytes, offset: int) -> None:
        if sum(path.stat().st_size for path in tmp_path.iterdir()) + len(data) > 30_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(descriptor, data, offset)

    monkeypatch.setattr(segments, "_write_all", write_if_there_is_room)
    recorder = Recorder(HELLO, memory_bytes=2_000, directory=tmp_path)
    for number in range(3_000):
        recorder.record(Life(float(number), "x" * 30))
        assert recorder.memory_bytes <= 4_000
    left = ticks(recorder)
    assert left == list(range(3_000 - len(left), 3_000)) and len(left) > 300
    recorder.close()


@pytest.mark.pairwise
@pytest.mark.fault("the disk of a cluster's log is full")
@pytest.mark.parametrize("error", [errno.EFBIG, errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("room", [0, 900, 3_500, 7_000, 12_000, 30_000])
@pytest.mark.parametrize("counts_file", [True, False])
def test_whatever_a_full_disk_takes_readers_come_to_the_end(tmp_path, monkeypatch, room, counts_file, error):
    """A disk, or each file on it, that takes so many bytes, and later as many as you like."""
    monkeypatch.setattr(frame_log, "SEGMENT_BYTES", 5_000)
    write, is_full = segments._write_all, [True]

    def write_if_there_is_room(descriptor: int, data: bytes, offset: int) -> None:
        used = offset if counts_file else sum(path.stat().st_size for path in tmp_path.iterdir())
        if is_full[0] and used + len(data) > room:
            raise OSError(error, "no room")
        write(descriptor, data, offset)

    monkeypatch.setattr(segments, "_write_all", write_if_there_is_room)
    recorder = Recorder(HELLO, memory_bytes=2_000, directory=tmp_path)
    for number in range(3_000):
        is_full[0] = number < 1_500
        recorder.record(Life(float(number), "x" * 30))
        assert recorder.memory_bytes <= 4_100
        if number % 250 == 249:
            for start in (1, number // 2, number + 1):
                position = start
                while position < len(recorder):
                    _, following = recorder.read(position, limit=7)
                    assert following > position
                    position = following
            left = ticks(recorder)
            assert left == list(range(number + 1 - len(left), number + 1))
            dropped = recorder.dropped(1)
            assert (dropped.last if dropped else 0) == number + 1 - len(left)
    recorder.close()


def test_a_log_that_fits_nowhere_drops_its_oldest_frames_and_keeps_its_first(tmp_path):
    recorder = Recorder(HELLO, memory_bytes=2000, directory=tmp_path / "missing")
    for number in range(1000):
        recorder.record(Life(float(number), "x" * 10))
    assert recorder.memory_bytes <= 2 * 2000 + 50
    assert len(recorder) == 1001
    assert messages_of(recorder)[0] == recorder.hello
    left = ticks(recorder)
    assert left == list(range(1000 - len(left), 1000))
    assert recorder.dropped(0) == Dropped(1, 1000 - len(left))
    (tmp_path / "missing").mkdir()  # there is room again
    for number in range(1000, 2000):
        recorder.record(Life(float(number), "x" * 10))
    assert recorder.memory_bytes <= 2000
    assert ticks(recorder) == list(range(1000 - len(left), 2000))
    recorder.close()


def test_a_snapshot_says_how_things_stand(tmp_path):
    recorder = Recorder(HELLO)
    joined = [WorkerJoined(1.0, number, f"w{number}", 10 + number, 2) for number in range(3)]
    for message in (*joined, WorkerLeft(2.0, 1, "retired")):
        recorder.record(message)
    for total in (4, 9):
        recorder.add_layer(7, "sum", total, "cell 1")
        recorder.add_layer(8, "mul", total, "cell 2")
        recorder.set_progress(7, (total, 0, 0, 0, 0, 0))
        recorder.flush(float(total))
    assert recorder.snapshot() == [
        joined[0],
        joined[2],
        Layers([7, 8], ["sum", "mul"], [9, 9], ["cell 1", "cell 2"], [-1, -1], [[], []], ["", ""], [0, 0]),
        Progress(9.0, [7], [9], [0], [0], [0], [0], [0], [0]),
    ]


def test_a_snapshot_keeps_the_newest_layers_only():
    recorder = Recorder(HELLO)
    for number in range(MAX_LAYERS + 500):
        recorder.add_layer(number, "x", 1, "")
        if number % 1000 == 0:
            recorder.flush(1.0)
    recorder.flush(2.0)
    (layers,) = recorder.snapshot()
    assert layers.ids == list(range(500, MAX_LAYERS + 500))


@pytest.mark.fault("names, keys, errors and printed lines hold HTML, scripts or broken text")
def test_text_that_is_not_valid_unicode_is_recorded_with_escapes():
    recorder = Recorder(HELLO)
    recorder.record(Log(1.0, 0, "error", "can't read a\udcff.csv"))
    assert decode(recorder.read(1, limit=1)[0][0]) == Log(1.0, 0, "error", "can't read a\\udcff.csv")
    recorder.add_layer(1, "read\udcff", 3, "line 1")
    recorder.flush(2.0)
    assert decode(recorder.read(2, limit=1)[0][0]).names == ["read\\udcff"]


def test_a_size_that_no_column_can_hold_is_recorded_as_the_largest():
    recorder = Recorder(HELLO)
    recorder.add_task("0", layer=1, worker=0, lane=0, start_s=0.0, stop_s=1.0, nbytes=2**64 - 1)
    recorder.add_tasks(["1"], layer=1, worker=0, lane=[0], start_s=[0.0], duration_s=[1.0], nbytes=[2**63])
    recorder.flush(2.0)
    assert column(decode(recorder.read(1, limit=1)[0][0]), "nbytes").tolist() == [2**63 - 1] * 2
