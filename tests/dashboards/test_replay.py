"""Recordings in the dashboards: the same aggregate and pages as their clusters had, also of cut and damaged files."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import synthetic
from glassloom_dashboards.parts.badge import Attention, badge_of
from glassloom_dashboards.parts.strip import notices
from glassloom_dashboards.serving.hub import Hub, Watched
from glassloom_dashboards.serving.page import PageView
from glassloom_metrics.open_recordings import (
    RecordingRecord,
    find_recording,
    publish_recording,
    read_recording_records,
    record_of_recording,
    withdraw_recording,
)
from glassloom_metrics.pages import PAGES
from glassloom_metrics.protocol import Hello, Life
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import read_records
from real_process import dashboards
from synthetic import Shape
from test_hub import until


@pytest.fixture
def recorder() -> Recorder:
    recorder = synthetic.make_recorder(Shape(tasks=300, failures=True), "c1", "demo")
    recorder.record(Life(synthetic.STARTED_AT_S + 100, "closing"))
    return recorder


@pytest.fixture
def recording(runtime, tmp_path, recorder) -> Path:
    path = tmp_path / "run.glr"
    synthetic.write_recording(path, recorder)
    return path


def watched_to_the_end(record: RecordingRecord) -> Watched:
    async def watch() -> Watched:
        hub = Hub(recordings=[record])
        watched = hub.watch(record.id)
        await until(lambda: watched.aggregate.state in ("recording", "refused"), "the end of the file")
        await hub.close()
        return watched

    return asyncio.run(watch())


def test_a_recording_is_the_same_aggregate_as_its_cluster_was(recording, recorder):
    live = Watched(record_of_recording(recording))
    for payload in recorder.read(0, limit=10**6)[0]:
        live.fold(payload)
    replayed = watched_to_the_end(record_of_recording(recording))
    one, other = live.aggregate, replayed.aggregate
    assert len(other.tasks) == 300
    for name in ("layer", "start_s", "thread", "ok"):
        assert np.array_equal(one.tasks[name], other.tasks[name])
    assert (one.task_counts, one.layers, one.errors, one.samples) == (
        other.task_counts,
        other.layers,
        other.errors,
        other.samples,
    )
    assert (other.state, other.ended_reason, other.name) == ("recording", "", "demo")
    assert badge_of(other, Attention(), 1e9).words == "recording"
    assert notices(other) == []


@pytest.mark.parametrize("page", [page.id for page in PAGES])
def test_every_page_draws_a_recording(recording, page, caplog):
    watched = watched_to_the_end(record_of_recording(recording))
    PageView(page, watched.aggregate, watched.colours, "light").update(0.0)
    assert caplog.records == []


@pytest.mark.fault("a recording is cut or damaged")
def test_a_cut_recording_is_shown_as_far_as_it_goes_and_says_so(recording):
    data = recording.read_bytes()
    recording.write_bytes(data[: len(data) // 2])
    watched = watched_to_the_end(record_of_recording(recording))
    assert watched.aggregate.name == "demo"
    (notice,) = notices(watched.aggregate)
    assert re.fullmatch(r"'.*/run.glr' is damaged: it ends within a frame that begins at byte .*\.", notice)


def test_a_recording_whose_file_is_gone_says_so_on_its_page(recording):
    record = record_of_recording(recording)
    recording.unlink()
    watched = watched_to_the_end(record)
    assert watched.aggregate.state == "refused"
    assert "No such file or directory" in watched.aggregate.ended_reason


def test_published_recordings_are_found_by_hubs_and_are_no_clusters(recording):
    record = record_of_recording(recording)
    publish_recording(record)
    assert read_recording_records() == [record] and find_recording(record.id) == record
    assert read_records() == []

    async def watch() -> None:
        hub = Hub()
        assert hub.shown() == []
        watched = hub.watch(record.id)
        await until(lambda: watched.aggregate.state == "recording", "the end of the file")
        await hub.close()

    asyncio.run(watch())
    withdraw_recording(record)
    assert read_recording_records() == []


def test_a_recording_that_was_closed_stays_for_its_viewers_and_is_forgotten_after_the_last(recording):
    records = [record_of_recording(recording) for _ in range(3)]
    for record in records:
        publish_recording(record)

    async def watch() -> list[bool]:
        hub = Hub()
        first = hub.watch(records[0].id)
        await until(lambda: first.aggregate.state == "recording", "the end of the file")
        await until(hub._tasks[records[0].id].done, "its task")
        first.viewers = 1
        withdraw_recording(records[0])
        stays = []
        for viewers, other in zip((1, 0), records[1:], strict=True):
            first.viewers = viewers
            hub.watch(other.id)
            stays.append(records[0].id in hub._watched)
        await hub.close()
        return stays

    assert asyncio.run(watch()) == [True, False]


def test_a_recording_opened_by_a_process_that_has_ended_is_taken_off_the_registry(recording, runtime):
    script = f"""
from glassloom_metrics.open_recordings import publish_recording, record_of_recording
publish_recording(record_of_recording({str(recording)!r}))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
    assert len(list((runtime / "glassloom").glob("recording-*.json"))) == 1
    assert read_recording_records() == []
    assert list((runtime / "glassloom").glob("recording-*.json")) == []


def test_large_recordings_leave_viewers_their_turn(runtime, tmp_path):
    recorder = synthetic.make_recorder(Shape(tasks=100_000), "c1", "demo")
    path = tmp_path / "run.glr"
    synthetic.write_recording(path, recorder)

    async def watch() -> list[str]:
        record = record_of_recording(path)
        hub = Hub(recordings=[record])
        watched, states = hub.watch(record.id), []
        while watched.aggregate.state != "recording":
            states.append(watched.aggregate.state)
            await asyncio.sleep(0)
        await hub.close()
        return states

    assert set(asyncio.run(watch())) <= {"connecting", "loading"}, "nothing calls it live"


def test_a_file_that_is_no_recording_is_named_and_nothing_is_served(tmp_path, runtime):
    path = tmp_path / "run.glr"
    path.write_text("no")
    with dashboards("--port", "0", "--recording", str(path)) as process:
        assert process.wait(60) == 1
        assert process.stderr.read().startswith(f"glassloom_dashboards: '{path}' is not a Glassloom recording")


def test_a_recording_that_ends_before_its_hello_is_named_after_its_file(tmp_path, runtime):
    path = tmp_path / "run.glr"
    synthetic.write_recording(path, Recorder(Hello(2, "c1", "demo", "threads", 0.0)))
    path.write_bytes(path.read_bytes()[:20])
    record = record_of_recording(path)
    assert (record.name, record.path, record.pid) == ("run.glr", os.fspath(path), os.getpid())
    assert watched_to_the_end(record).aggregate.name == "run.glr"
