"""Reports: their numbers, and what they leave out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import synthetic
from glassloom_dashboards.report import (
    GPU_CARDS,
    REPORT_CARDS,
    drawn_cards,
    errors_table,
    facts,
    layers_table,
    read_aggregate,
    report_html,
    runs_table,
    write_report,
)
from glassloom_dashboards.serving.hub import Watched
from glassloom_dashboards.views.progress import ordered_layers
from glassloom_metrics.errors import RecordingError
from glassloom_metrics.protocol import (
    NOW,
    Action,
    Errors,
    Hello,
    Layers,
    Life,
    Position,
    Progress,
    Runs,
    WorkerJoined,
    WorkerSamples,
    decode,
    encode,
)
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.recording_writer import RecordingWriter
from glassloom_metrics.snapshot import Snapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from synthetic import STARTED_AT_S, Shape

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.glr"


def hello() -> Hello:
    return Hello(2, "c1", "demo", "processes", STARTED_AT_S, "log1", "1.2.3")


def runs_of(*rows) -> Runs:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return Runs(*columns)


def test_the_numbers_of_a_report_are_those_of_the_recorded_tasks(path):
    recorder = Recorder(hello())
    recorder.add_layer(0, "old", 5, "")
    recorder.add_layer(1, "new", 3, "cell 2, line 1")
    recorder.set_progress(0, (0, 0, 0, 0, 5, 0))
    recorder.set_progress(1, (0, 0, 0, 2, 0, 1))
    for index, ok in (("0", True), ("1", True), ("2", False)):
        recorder.add_task(
            index,
            layer=1,
            worker=0,
            lane=0,
            start_s=STARTED_AT_S + 10,
            stop_s=STARTED_AT_S + 12,
            nbytes=2**20 if ok else -1,
            ok=ok,
        )
    recorder.add_task(
        "0",
        layer=1,
        worker=0,
        lane=0,
        start_s=STARTED_AT_S + 12,
        stop_s=STARTED_AT_S + 13,
        nbytes=2**20,
        action=Action.SPILL_WRITE,
    )
    recorder.flush(STARTED_AT_S + 14)
    recorder.record(runs_of((4, "map", "x = 1\n", "", "", "", "cell 2", STARTED_AT_S + 9, None, "running", 3, 2, 1)))
    synthetic.write_recording(path, recorder)
    aggregate = read_aggregate(path).aggregate
    said = dict(facts(aggregate, "1.2.3"))
    assert said | {"began": "", "versions": ""} == {
        "cluster": "demo (processes)", "began": "", "duration": "14 s", "workers": "0", "threads": "0", "tasks run": "3",
        "tasks failed": "1", "time in tasks": "6 s", "results": "2.00 MiB", "moved between workers": "0 B", "spilled": "1.00 MiB",
        "errors": "0", "versions": "",
    }  # fmt: skip
    assert said["versions"].startswith("Glassloom 1.2.3, drawn with Python 3.")
    assert [row[:6] for row in layers_table(aggregate).rows] == [("new", "3", "1", "6 s", "2 s", "2 s")]
    assert list(aggregate.layers) == [1], "the layer of the snapshot was done before"
    assert [row[:4] for row in runs_table(aggregate).rows] == [("x = 1", "map", "cell 2", "running")]


def late_recording(path, before, after):
    """Write a recording that begins with a snapshot of what `before` tells, 20 s after the start."""
    snapshot = Snapshot()
    for message in before:
        snapshot.apply(message)
    writer = RecordingWriter(path, since=NOW)
    for message in (hello(), *snapshot.messages(), Position(STARTED_AT_S + 20, 90), *after):
        writer.add(encode(message))
    writer.close()


def failures(layer, count, group=1) -> Errors:
    keys = [f"k{number}" for number in range(count)]
    return Errors([group], [layer], ["E"], ["bad"], ["tb"], [0], ["a.py:1"], [count], [1.0], [STARTED_AT_S + 9], [keys])


def test_a_report_of_a_block_tells_of_the_block_only(path):
    at_s = STARTED_AT_S
    old = (3, "map", "old()", "", "", "", "old.py:1", at_s, at_s + 9, "failed", 5, 2, 3)
    half = (4, "map", "half()", "", "", "", "half.py:1", at_s, None, "running", 10, 4, 1)
    before = [
        WorkerJoined(at_s, 0, "w0", 1, 2),
        runs_of(old, half),
        Layers([0, 1], ["old", "half"], [5, 10], ["", ""], [3, 4]),
        Progress(at_s + 19, [0, 1], [0, 5], [0, 0], [0, 0], [0, 4], [2, 0], [3, 1]),
        failures(0, 3),
        failures(1, 1, group=2),
    ]
    recorder = Recorder(hello())
    recorder.add_tasks(["8", "9"], layer=1, start_s=[at_s + 21, at_s + 22], duration_s=1.0)
    recorder.flush(at_s + 24)
    events = [message for message in map(decode, recorder.read(1, limit=99)[0]) if message]
    after = [
        *events,
        runs_of((*half[:8], at_s + 25, "finished", 10, 6, 4)),
        Progress(at_s + 25, [0, 1], [0, 0], [0, 0], [0, 0], [0, 1], [2, 5], [3, 4], [0, 8]),
        failures(1, 4, group=2),
        Life(at_s + 26, "closing"),
    ]
    late_recording(path, before, after)
    aggregate = read_aggregate(path).aggregate
    said = dict(facts(aggregate, ""))
    assert (said["tasks run"], said["errors"], said["duration"], aggregate.error_count) == ("2", "3", "6 s", 3)
    assert [row[:1] + row[3:6] for row in runs_table(aggregate).rows] == [("half()", "finished", "5", "3")]
    assert [row[:2] for row in layers_table(aggregate).rows] == [("half", "2")]
    assert [row[1] for row in errors_table(aggregate).rows] == ["3"]
    assert [layer.name for layer in ordered_layers(aggregate)] == ["half"]
    counts = aggregate.task_counts
    assert (counts["total"], counts["erred"], counts["memory"] + counts["released"]) == (5, 3, 2)
    assert aggregate.layer_name(0) == "old" and aggregate.held.now == {0: 0, 1: 8}, "memory and names are as they are"
    text = report_html(path)
    assert "recorded from 20 s after the cluster" in text and "old()" not in text


def test_a_layer_that_was_done_counts_again_when_its_lost_results_are_computed_anew(path):
    before = [Layers([0], ["old"], [5], [""]), Progress(STARTED_AT_S, [0], [0], [0], [0], [5], [0], [0])]
    anew = Progress(STARTED_AT_S + 21, [0], [2], [0], [1], [2], [0], [0])
    late_recording(path, before, [anew, Progress(STARTED_AT_S + 22, [0], [0], [0], [0], [3], [2], [0])])
    aggregate = read_aggregate(path).aggregate
    assert [(layer.name, layer.total) for layer in ordered_layers(aggregate)] == [("old", 3)]
    assert aggregate.progress[0] == (0, 0, 0, 3, 0, 0)


def test_an_empty_recording_has_a_report(path):
    synthetic.write_recording(path, Recorder(hello()))
    text = report_html(path)
    assert "<title>demo: performance report</title>" in text and "No tasks&lt;" in text and "No tasks yet" not in text
    path.write_bytes(path.read_bytes()[:20])
    assert "is damaged: it ends within a frame" in report_html(path)


def test_a_file_that_is_no_recording_leaves_the_report_that_is_there(path, tmp_path):
    path.write_text("no")
    (tmp_path / "r.html").write_text("older")
    with pytest.raises(RecordingError):
        write_report(path, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == "older"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["r.html", "run.glr"]


@pytest.mark.long
def test_a_report_of_many_tasks_is_small(path):
    synthetic.write_recording(path, synthetic.make_recorder(Shape(workers=50, tasks=200_000)))
    assert len(report_html(path)) < 6_000_000


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("small") / "run.glr"
    synthetic.write_recording(
        path, synthetic.make_recorder(Shape(tasks=4, failures=True, names=("a", "b")), "c1", "demo")
    )
    return path.read_bytes()


damages = {"place": st.integers(0, 10**6), "difference": st.integers(1, 255), "cuts": st.booleans()}


def read_damaged(folder: Path, whole: bytes, place: int, difference: int, *, cuts: bool) -> Watched:
    """Return what can be read of a recording that is cut at a place, or has another byte there."""
    data = bytearray(whole)
    place = 8 + place % (len(data) - 8)
    data[place] ^= difference
    path = folder / "damaged.glr"
    path.write_bytes(data[:place] if cuts else data)
    return read_aggregate(path)


@pytest.mark.fault("a recording is cut or damaged")
@settings(max_examples=examples(100), deadline=None)
@given(**damages)
def test_a_recording_that_is_cut_or_damaged_anywhere_is_read_as_far_as_it_goes(
    tmp_path_factory, small, place, difference, cuts
):
    aggregate = read_damaged(tmp_path_factory.getbasetemp(), small, place, difference, cuts=cuts).aggregate
    assert facts(aggregate, "")
    for table in (runs_table, layers_table, errors_table):
        table(aggregate)


@pytest.mark.fault("a recording is cut or damaged")
@settings(max_examples=examples(5), deadline=None)  # each draws all cards
@given(**damages)
def test_a_recording_that_is_cut_or_damaged_anywhere_has_all_cards(tmp_path_factory, small, place, difference, cuts):
    watched = read_damaged(tmp_path_factory.getbasetemp(), small, place, difference, cuts=cuts)
    assert len(drawn_cards(watched)) == len(REPORT_CARDS) - len(GPU_CARDS), "all but the GPUs'"


@pytest.mark.filterwarnings("ignore:invalid value encountered", "ignore:overflow encountered")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e300])
def test_times_that_no_clock_gives_cost_no_report(path, value):
    recorder = Recorder(hello())
    recorder.add_layer(1, "sum", 3, "")
    recorder.add_tasks(["0", "1"], layer=1, start_s=[value, STARTED_AT_S + 1], duration_s=0.5)
    recorder.flush(value)
    recorder.record(WorkerJoined(value, 0, "w0", 1, 2))
    recorder.record(WorkerSamples(value, [0], [value], [2], [3], [4], [5], [6], [7]))
    synthetic.write_recording(path, recorder)
    text = report_html(path)
    assert '<th scope="row">sum</th><td class="number">2</td>' in text


def test_a_report_never_takes_the_place_of_its_recording_nor_of_what_is_no_file(tmp_path):
    recording = tmp_path / "run.glr"
    RecordingWriter(recording).close()
    before = recording.read_bytes()
    with pytest.raises(FileExistsError, match="that is the recording itself"):
        write_report(recording, recording)
    os.mkfifo(fifo := tmp_path / "fifo")
    with pytest.raises(FileExistsError, match="it is a FIFO, no regular file"):
        write_report(recording, fifo)
    assert recording.read_bytes() == before and sorted(tmp_path.iterdir()) == [fifo, recording]
