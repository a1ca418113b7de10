"""Recordings in the formats of other tools: whole, consistent, and with nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from glassloom import Client, wait
from glassloom.errors import OptionError
from glassloom.recordings.chrome_trace import _without_overlap
from glassloom.recordings.export import export
from glassloom.recordings.parquet import TABLES
from glassloom_metrics import protocol
from glassloom_metrics.errors import RecordingError
from glassloom_metrics.gpu_messages import NOT_SUPPORTED, GpuDevice, GpuProcesses, gpu_devices, gpu_samples
from glassloom_metrics.message_base import MessageBase
from glassloom_metrics.protocol import Action, Hello
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.recording_writer import RecordingWriter
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples


def double(x: int) -> int:
    return 2 * x


def bad(x: int) -> int:
    raise ValueError(f"no {x}")


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("made") / "run.glr"
    with Client(n_workers=2, threads_per_worker=1, memory_limit="1GB", name="exported") as client, client.record(path):
        client.gather(client.map(double, range(50)))
        wait(client.map(bad, range(3)))
    return path


def write(path: Path, recorder: Recorder) -> None:
    writer = RecordingWriter(path)
    for payload in recorder.read(0, limit=10**6)[0]:
        writer.add(payload)
    writer.close()


def test_parquet_files_hold_the_tasks_of_a_cluster_with_their_names(recording, tmp_path):
    target, damage = export(recording, "parquet", tmp_path / "out")
    assert (target, damage) == (tmp_path / "out", "")
    tasks = pq.read_table(target / "tasks.parquet").to_pandas()
    of_double = tasks[(tasks.layer_name == "double") & (tasks.action == "compute")]
    assert len(of_double) == 50 and of_double.ok.all()
    assert set(of_double.worker_name) <= {"exported-0", "exported-1"}
    assert (of_double.stop_s >= of_double.start_s).all() and (of_double.nbytes > 0).all()
    assert (of_double.cpu_s.dropna() >= 0).all() and of_double.producer.isna().all()
    failed = tasks[~tasks.ok]
    assert len(failed) == 3 and set(failed.layer_name) == {"bad"}
    runs = pq.read_table(target / "runs.parquet").to_pandas()
    assert set(of_double.run) <= set(runs.ids)
    errors = pq.read_table(target / "errors.parquet").to_pandas()
    assert errors.iloc[-1]["counts"] == 3 and len(errors.iloc[-1]["keys"]) == 3
    workers = pq.read_table(target / "workers.parquet")
    assert {"at_s", "workers", "rss_bytes", "unmanaged_bytes"} <= set(workers.column_names)


def gpu_messages() -> list[protocol.Message]:
    """Return a device and a part of it, a sample of both, and a process."""
    whole = GpuDevice(0, "u0", "H200", 0, -1, 100, NOT_SUPPORTED, 1980, 5, 16, 2, 0, "ok", 0.0, "")
    part = msgspec.structs.replace(whole, id=1, uuid="u1", parent=0)
    readings = {"utilization_percent": 50.0, "memory_used_bytes": NOT_SUPPORTED, "power_w": "error: broken"}
    return [
        gpu_devices(1.0, "580", "", [whole, part]),
        GpuProcesses(1.0, [0], [7], ["python"], [0], [10]),
        gpu_samples(1.0, {0: readings, 1: readings}, {0: ([1.0, None], [2.0, 3.0])}),
    ]


def test_every_message_that_has_rows_has_a_table_of_its_fields(tmp_path):
    recorder = Recorder(Hello(2, "c1", "demo", "threads", 0.0))
    for message in gpu_messages():
        recorder.record(message)
    recorder.record(gpu_samples(2.0, {}))
    recorder.record(protocol.WorkerJoined(1.0, 0, "w0", 1, 2, devices=["u0", "u1"]))
    recorder.record(protocol.Log(1.0, -1, "info", "hello"))
    write(tmp_path / "run.glr", recorder)
    target, _ = export(tmp_path / "run.glr", "parquet")
    assert sorted(path.stem for path in target.iterdir()) == [
        "gpu_devices", "gpu_processes", "gpus", "log", "workers_joined",
    ]  # fmt: skip
    gpus = pq.read_table(target / "gpus.parquet").to_pylist()
    assert [(row["uuid"], row["utilization_percent"], row["memory_used_bytes"]) for row in gpus] == [
        ("u0", 50.0, None), ("u1", 50.0, None),
    ]  # fmt: skip
    assert (gpus[0]["memory_used_bytes_why_not"], gpus[0]["power_w_why_not"]) == (NOT_SUPPORTED, "error: broken")
    assert gpus[0]["utilization_percent_why_not"] is None
    assert (gpus[0]["links_received_bytes_s"], gpus[0]["links_sent_bytes_s"]) == ([1.0, None], [2.0, 3.0])
    devices = pq.read_table(target / "gpu_devices.parquet").to_pylist()
    assert [(row["uuids"], row["parents"], row["power_limit_w"]) for row in devices] == [
        ("u0", -1, None),
        ("u1", 0, None),
    ]
    assert pq.read_table(target / "workers_joined.parquet").to_pylist()[0]["devices"] == ["u0", "u1"]
    structs = {kind for kind in vars(protocol).values() if isinstance(kind, type) and issubclass(kind, MessageBase)}
    others = {
        "Connect",
        "Command",
        "Refused",
        "Hello",
        "Position",
        "Dropped",
        "Footer",
        "TaskEvents",
        "DeviceTimes",  # a column of the tasks
        "Life",
        "MessageBase",
        "Outcome",
        "Settings",
    }
    assert {kind.__name__ for kind in structs} - others <= {kind.__name__ for kind in TABLES}


def spans(trace: dict) -> dict[tuple[int, int], list[tuple[int, int]]]:
    found = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    return found


def test_a_chrome_trace_has_a_track_for_each_lane_and_the_keys_and_sizes_of_tasks(recording, tmp_path):
    target, _ = export(recording, "perfetto", tmp_path / "run.json")
    trace = json.loads(target.read_text())
    events = trace["traceEvents"]
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert set(processes.values()) == {"exported · exported-0", "exported · exported-1", "exported · runs"}
    threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    of_double = [
        event for event in events if event["name"] == "double" and event["ph"] == "X" and event["cat"] != "run"
    ]
    assert len(of_double) == 50 and {threads[event["tid"]] for event in of_double} == {"thread 0"}
    assert all(event["args"]["key"].startswith("(double") or event["args"]["key"] == "double" for event in of_double)
    assert all(event["args"]["bytes"] > 0 and event["args"]["action"] == "compute" for event in of_double)
    failed = [event for event in events if event.get("cname") == "terrible"]
    assert len(failed) == 3 and all(event["args"]["failed"] for event in failed)
    assert all(event["ts"] >= 0 and event.get("dur", 0) >= 0 for event in events if "ts" in event)
    for track in spans(trace).values():
        assert all(stop <= start for (_, stop), (start, _) in pairwise(sorted(track)))
    counters = [event for event in events if event["ph"] == "C"]
    assert counters and set(counters[0]["args"]) <= {"managed", "shared", "spilled", "unmanaged"}


def test_what_moves_data_at_the_same_time_is_on_tracks_beside_each_other(tmp_path):
    recorder = Recorder(Hello(2, "c1", "demo", "threads", 0.0))
    recorder.add_layer(0, 'a "quoted" \ud800 name', 3, "cell 1")
    for start_s, stop_s, action in (
        (0.0, 4.0, Action.COMPUTE),
        (1.0, 3.0, Action.TRANSFER),
        (2.0, 5.0, Action.SPILL_WRITE),
    ):
        recorder.add_task("1", layer=0, worker=0, lane=0, start_s=start_s, stop_s=stop_s, action=action)
    recorder.flush(6.0)
    write(tmp_path / "run.glr", recorder)
    target, _ = export(tmp_path / "run.glr", "perfetto")
    assert target == tmp_path / "run.trace.json"
    events = json.loads(target.read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    shown = {
        names[event["tid"]]: (event["name"].partition(":")[0], event["ts"], event["dur"])
        for event in events
        if event["ph"] == "X"
    }
    assert shown == {
        "thread 0": ('a "quoted" \\ud800 name', 0, 4_000_000),
        "data": ("transfer", 1_000_000, 2_000_000),
        "data (2)": ("spill_write", 2_000_000, 3_000_000),
    }


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=30))
def test_no_two_spans_of_a_track_overlap(rows):
    spans = sorted((start, start + length) for start, length in rows)
    tracks = _without_overlap(*zip(*spans, strict=True)) if spans else []
    for track in set(tracks):
        own = [span for span, number in zip(spans, tracks, strict=True) if number == track]
        assert all(stop <= start for (_, stop), (start, _) in pairwise(own))


@pytest.mark.parametrize("to", ["parquet", "perfetto", "speedscope"])
def test_a_cut_recording_is_exported_as_far_as_it_goes_and_an_empty_one_too(recording, tmp_path, to):
    cut = tmp_path / "cut.glr"
    data = recording.read_bytes()
    for size in (8, len(data) // 2):
        cut.write_bytes(data[:size])
        _, damage = export(cut, to, overwrite=True)
        assert bool(damage) == (size > 8)
    cut.write_bytes(b"no")
    with pytest.raises(RecordingError):
        export(cut, to, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_an_export_never_takes_the_place_of_its_recording_nor_of_what_is_no_file(recording, tmp_path):
    before = recording.read_bytes()
    with pytest.raises(FileExistsError, match="that is the recording itself"):
        export(recording, "perfetto", recording, overwrite=True)
    assert recording.read_bytes() == before
    os.mkfifo(fifo := tmp_path / "fifo")
    with pytest.raises(FileExistsError, match="it is a FIFO, no regular file"):
        export(recording, "perfetto", fifo, overwrite=True)
    with pytest.raises(RecordingError, match="it is a FIFO"):
        export(fifo, "perfetto", tmp_path / "out.json")
    (link := tmp_path / "link.json").symlink_to("real.json")
    export(recording, "speedscope", link)
    assert link.is_symlink() and (tmp_path / "real.json").stat().st_size


def test_what_is_there_is_replaced_only_if_asked_for_and_if_it_is_an_export(recording, tmp_path):
    target, _ = export(recording, "parquet", tmp_path / "out")
    with pytest.raises(FileExistsError, match="it is there already"):
        export(recording, "parquet", target)
    export(recording, "parquet", target, overwrite=True)
    (target / "mine.txt").write_text("precious")
    with pytest.raises(FileExistsError, match=r"has other files too, such as 'mine.txt'"):
        export(recording, "parquet", target, overwrite=True)
    assert (target / "mine.txt").read_text() == "precious" and (target / "tasks.parquet").exists()
    with pytest.raises(OptionError, match=r"to='csv' should be one of 'parquet', 'perfetto'"):
        export(recording, "csv")
    assert list(tmp_path.iterdir()) == [target]


def test_the_command_exports(recording, tmp_path):
    command = [sys.executable, "-m", "glassloom", "export", str(recording), "--to", "perfetto", "--output"]
    done = subprocess.run([*command, str(tmp_path / "t.json")], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"Exported to {tmp_path / 't.json'}\n", "")
    again = subprocess.run([*command, str(tmp_path / "t.json")], capture_output=True, text=True, timeout=300)
    assert (again.returncode, again.stderr) == (
        1,
        f"glassloom: can't export to '{tmp_path / 't.json'}': it is there already\n",
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> bytes:
    """Return a recording in which a byte matters."""
    recorder = Recorder(Hello(2, "c1", "demo", "threads", 0.0))
    recorder.add_layer(0, "sum", 3, "cell 1")
    recorder.record(protocol.WorkerJoined(1.0, 0, "w0", 1, 2))
    recorder.add_tasks(
        ["0", "1", "2"], layer=0, worker=[0, 1, 0], lane=[0, 0, 1], start_s=[1.0, 1.5, 3.0], duration_s=[0.5, 0.75, 1.0]
    )
    recorder.flush(6.0)
    recorder.record(protocol.WorkerSamples(6.0, [0], [1.0], [2], [3], [4], [5], [6], [7]))
    for message in gpu_messages():
        recorder.record(message)
    run = protocol.Runs([1], ["map"], ["x"], [""], [""], [""], [""], [1.0], [None], ["running"], [3], [3], [0])
    recorder.record(run)
    path = tmp_path_factory.mktemp("small") / "run.glr"
    recorder.record(protocol.Stacks([0, 1], [-1, 0], ["f", "g"], ["a.py", ""], [3, 0]))
    recorder.record(protocol.Profile(1.0, 2.0, [0, 0], [0, 0], [0, 1], [1, 2], [0.5, 1.5]))
    write(path, recorder)
    return path.read_bytes()


@pytest.mark.fault("a recording is cut or damaged")
@settings(max_examples=examples(250), deadline=None)
@given(place=st.integers(8, 10**6), difference=st.integers(1, 255), cuts=st.booleans())
def test_a_recording_that_is_cut_or_damaged_anywhere_can_be_exported(tmp_path_factory, small, place, difference, cuts):
    folder = tmp_path_factory.getbasetemp()
    data = bytearray(small)
    place = 8 + place % (len(data) - 8)
    data[place] ^= difference
    path = folder / "damaged.glr"
    path.write_bytes(data[:place] if cuts else data)
    for to in ("parquet", "perfetto", "speedscope"):
        target, _ = export(path, to, folder / f"damaged-{to}", overwrite=True)
        if to == "perfetto":
            trace = json.loads(target.read_text(), parse_constant=lambda name: pytest.fail(f"{name} isn't JSON"))
            assert isinstance(trace["traceEvents"], list)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e300, -1e300])
def test_times_that_no_clock_gives_are_left_out_of_traces(tmp_path, value):
    recorder = Recorder(Hello(2, "c1", "demo", "threads", 0.0))
    recorder.add_layer(0, "sum", 3, "cell 1")
    recorder.add_tasks(["0", "1", "2"], layer=0, start_s=[1.0, value, 2.0], duration_s=[0.5, 0.5, 0.5])
    recorder.flush(6.0)
    recorder.record(protocol.WorkerSamples(value, [0], [value], [2], [3], [4], [5], [6], [7]))
    for started_s, ended_s in ((value, None), (1.0, value)):
        recorder.record(
            protocol.Runs(
                [1], ["map"], ["x"], [""], [""], [""], [""], [started_s], [ended_s], ["running"], [3], [3], [0]
            )
        )
    write(tmp_path / "run.glr", recorder)
    target, _ = export(tmp_path / "run.glr", "perfetto")
    events = json.loads(target.read_text(), parse_constant=lambda name: pytest.fail(f"{name} isn't JSON"))[
        "traceEvents"
    ]
    assert [event["ts"] for event in events if event["ph"] == "X"] == [0, 1_000_000]
    assert len(pq.read_table(export(tmp_path / "run.glr", "parquet")[0] / "tasks.parquet")) == 3


PHASES = {
    "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"},
    "C": {"name", "ph", "ts", "pid", "args"},
    "M": {"name", "ph", "pid", "args"},
    "i": {"name", "cat", "ph", "ts", "pid", "tid", "s", "args"},
    "s": {"name", "cat", "ph", "ts", "pid", "tid", "id"},
    "f": {"name", "cat", "ph", "ts", "pid", "tid", "id", "bp"},
}
"""What events of each phase must have, after the trace event format (Duan Sitan and others: "Trace Event Format", 2016)."""
METADATA = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index"}


def faults_of(trace: dict) -> list[str]:
    """Return what of a trace isn't in the trace event format, or refers to what isn't there."""
    faults = [f"unknown key {key!r}" for key in trace.keys() - {"traceEvents", "displayTimeUnit"}]
    if trace["displayTimeUnit"] not in ("ms", "ns"):
        faults.append(f"displayTimeUnit {trace['displayTimeUnit']!r}")
    named: set[tuple[int, int]] = set()
    processes: set[int] = set()
    flows: dict[object, list[str]] = defaultdict(list)
    for event in trace["traceEvents"]:
        phase = event.get("ph")
        missing = PHASES.get(phase, {"a known phase"}) - event.keys()
        if missing:
            faults.append(f"{event} has no {missing}")
            continue
        wrong = [
            key
            for key in ("ts", "dur", "pid", "tid")
            if not isinstance(event.get(key, 0), int) or event.get(key, 0) < 0
        ]
        faults += [f"{key} of {event}" for key in wrong]
        if phase == "M":
            value = event["args"].get(METADATA.get(event["name"], ""))
            if not isinstance(value, str if event["name"] != "process_sort_index" else int):
                faults.append(f"metadata {event}")
            if event["name"] == "thread_name":
                named.add((event["pid"], event["tid"]))
            if event["name"] == "process_name":
                processes.add(event["pid"])
        elif phase == "C" and not all(isinstance(value, int | float) for value in event["args"].values()):
            faults.append(f"counter {event}")
        elif phase in "sf":
            flows[event["id"]].append(phase)
    for event in trace["traceEvents"]:
        if event["pid"] not in processes:
            faults.append(f"process {event['pid']} has no name")
        if event["ph"] == "X" and event["pid"] != 1 and (event["pid"], event["tid"]) not in named:
            faults.append(f"thread {event['tid']} has no name")
    faults += [f"flow {key!r} is {phases}" for key, phases in flows.items() if sorted(phases) != ["f", "s"]]
    return faults


def test_a_trace_keeps_to_the_trace_event_format(recording, tmp_path):
    target, _ = export(recording, "perfetto", tmp_path / "run.json")
    trace = json.loads(target.read_text())
    assert faults_of(trace) == []
    assert {event["ph"] for event in trace["traceEvents"]} >= {"X", "M", "C"}
    for event, change in ((0, {"pid": "a"}), (-1, {"ts": -1}), (5, {"ph": "?"}), (-1, {"ph": "s", "id": 7})):
        broken = json.loads(target.read_text())
        broken["traceEvents"][event] |= change
        assert faults_of(broken), change
