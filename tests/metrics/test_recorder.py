"""The log forgets nothing, in memory or on disk, and what it seals is what was added."""

from __future__ import annotations

from pathlib import Path

import pytest
from glassloom_metrics.protocol import (
    Action,
    Hello,
    Layers,
    Life,
    Log,
    Progress,
    TaskEvents,
    column,
    decode,
    encode,
)
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.recording import read_recording
from hypothesis import given, settings
from hypothesis import strategies as st

HELLO = Hello(1, "c1", "demo", "threads", 100.0)


def whole_log(recorder: Recorder, limit: int = 7) -> list[tuple[str, bytes]]:
    frames: list[tuple[str, bytes]] = []
    while part := recorder.read(len(frames), limit=limit):
        frames += part
    return frames


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=60), st.integers(0, 3000), st.integers(1, 9))
def test_a_log_that_spools_to_disk_reads_like_one_in_memory(tmp_path_factory, sizes, memory_bytes, limit):
    spool = tmp_path_factory.mktemp("spool") / "log.glr"
    small = Recorder(HELLO, memory_bytes=memory_bytes, spool_path=spool)
    large = Recorder(HELLO)
    for number, size in enumerate(sizes):
        for recorder in (small, large):
            recorder.record(Life(float(number), "x" * size))
    assert len(small) == len(large) == len(sizes) + 1
    assert whole_log(small, limit) == whole_log(large)
    newest = len(encode(Life(0.0, "x" * sizes[-1]))) if sizes else 0
    assert small.memory_bytes <= max(memory_bytes, newest, len(encode(HELLO)))
    small.close()
    assert not spool.exists()


def test_frames_can_be_added_while_old_ones_are_read_from_disk(tmp_path):
    recorder = Recorder(HELLO, memory_bytes=500, spool_path=tmp_path / "log.glr")
    for number in range(50):
        recorder.record(Life(float(number), "x" * 50))
        assert decode(recorder.read(0, limit=1)[0][1]) == HELLO
        assert decode(recorder.read(len(recorder) - 1, limit=9)[0][1]).at_s == number
    assert [decode(payload).at_s for _, payload in whole_log(recorder)[1:]] == list(range(50))
    recorder.close()


def test_a_flush_seals_layers_then_tasks_then_progress_once():
    recorder = Recorder(HELLO)
    recorder.set_progress(4, (1, 2, 3, 4, 5, 6))
    recorder.set_progress(4, (6, 5, 4, 3, 2, 1))
    recorder.add_task(4, "7", worker=2, lane=3, start_s=101.0, stop_s=102.5, nbytes=80)
    recorder.add_task(4, "", worker=0, lane=0, start_s=101.0, stop_s=101.0, ok=False, action=Action.TRANSFER)
    recorder.add_layer(4, "sum", 9, "cell 1")
    recorder.flush(103.0)
    recorder.flush(104.0)
    recorder.add_task(5, "x", worker=1, lane=1, start_s=1.0, stop_s=2.0)
    recorder.flush(105.0)

    hello, layers, tasks, progress, later = (decode(payload) for _, payload in recorder.read(0, limit=99))
    assert hello == HELLO
    assert layers == Layers([4], ["sum"], [9], ["cell 1"])
    assert progress == Progress(103.0, [4], [6], [5], [4], [3], [2], [1])
    assert isinstance(tasks, TaskEvents) and isinstance(later, TaskEvents)
    assert (tasks.first, tasks.index, later.first, later.index) == (0, ["7", ""], 2, ["x"])
    got = {
        name: column(tasks, name).tolist() for name in ("layer", "worker", "lane", "action", "stop_s", "nbytes", "ok")
    }
    assert got == {
        "layer": [4, 4], "worker": [2, 0], "lane": [3, 0], "action": [0, 1],
        "stop_s": [102.5, 101.0], "nbytes": [80, -1], "ok": [1, 0],
    }  # fmt: skip


def test_many_tasks_at_once_are_recorded_as_one_by_one():
    one_by_one, at_once = Recorder(HELLO), Recorder(HELLO)
    for number in range(5):
        one_by_one.add_task(
            number, f"{number}", worker=3, lane=number % 2, start_s=number + 0.5, stop_s=number + 1.5, nbytes=number
        )
    at_once.add_tasks(
        range(5),
        [f"{number}" for number in range(5)],
        worker=3,
        lanes=[0, 1, 0, 1, 0],
        starts_s=[number + 0.5 for number in range(5)],
        stops_s=[number + 1.5 for number in range(5)],
        nbytes=range(5),
    )
    assert at_once.rows == one_by_one.rows == 5
    one_by_one.flush(9.0)
    at_once.flush(9.0)
    assert whole_log(at_once) == whole_log(one_by_one)


def test_a_saved_log_is_a_recording_of_all_its_messages(tmp_path: Path):
    recorder = Recorder(HELLO, memory_bytes=300, spool_path=tmp_path / "spool")
    for number in range(600):
        recorder.record(Life(float(number), "tick"))
    recorder.save(tmp_path / "run.glr")
    assert list(read_recording(tmp_path / "run.glr")) == [HELLO, *(Life(float(n), "tick") for n in range(600))]
    assert list(read_recording(tmp_path / "spool"))[:3] == [HELLO, Life(0.0, "tick"), Life(1.0, "tick")]
    recorder.close()


def test_a_closed_recorder_says_so(tmp_path):
    recorder = Recorder(HELLO, memory_bytes=1, spool_path=tmp_path / "spool")
    recorder.record(Life(1.0, "x"))
    recorder.close()
    with pytest.raises(ValueError, match="the recorder is closed"):
        recorder.read(0, limit=1)


def test_a_log_whose_disk_is_full_stays_in_memory(tmp_path):
    spool = tmp_path / "spool"
    spool.symlink_to("/dev/full")  # every write to it fails with ENOSPC
    recorder = Recorder(HELLO, memory_bytes=2000, spool_path=spool)
    for number in range(70):
        recorder.record(Life(float(number), "x" * 10))
    assert 2000 < recorder.memory_bytes <= 4000
    assert [decode(payload).at_s for _, payload in whole_log(recorder)[1:]] == list(range(70))


def test_a_log_that_fits_nowhere_drops_its_oldest_frames_and_keeps_its_first(tmp_path):
    recorder = Recorder(HELLO, memory_bytes=2000, spool_path=tmp_path / "missing" / "spool")
    for number in range(1000):
        recorder.record(Life(float(number), "x" * 10))
    frames = whole_log(recorder)
    assert recorder.memory_bytes <= 2 * 2000 + 50
    assert (len(recorder), len(frames)) == (1001, 1001)
    assert decode(frames[0][1]) == HELLO
    left = [decode(payload).at_s for _, payload in frames[1:] if payload]
    assert left == list(range(1000 - len(left), 1000))
    assert {topic for topic, payload in frames if not payload} == {"dropped"}
    (tmp_path / "missing").mkdir()  # there is room again
    for number in range(1000, 2000):
        recorder.record(Life(float(number), "x" * 10))
    assert recorder.memory_bytes <= 2000
    recorder.save(tmp_path / "run.glr")
    saved = list(read_recording(tmp_path / "run.glr"))
    assert saved == [HELLO, *(Life(float(n), "x" * 10) for n in range(1000 - len(left), 2000))]
    recorder.close()


def test_text_that_is_not_valid_unicode_is_recorded_with_escapes():
    recorder = Recorder(HELLO)
    recorder.record(Log(1.0, 0, "error", "can't read a\udcff.csv"))
    assert decode(recorder.read(1, limit=1)[0][1]) == Log(1.0, 0, "error", "can't read a\\udcff.csv")
    recorder.add_layer(1, "read\udcff", 3, "line 1")
    recorder.flush(2.0)
    assert decode(recorder.read(2, limit=1)[0][1]).names == ["read\\udcff"]


def test_a_size_that_no_column_can_hold_is_recorded_as_the_largest():
    recorder = Recorder(HELLO)
    recorder.add_task(1, "0", worker=0, lane=0, start_s=0.0, stop_s=1.0, nbytes=2**64 - 1)
    recorder.add_tasks([1], ["1"], worker=0, lanes=[0], starts_s=[0.0], stops_s=[1.0], nbytes=[2**63])
    recorder.flush(2.0)
    assert column(decode(recorder.read(1, limit=1)[0][1]), "nbytes").tolist() == [2**63 - 1] * 2
