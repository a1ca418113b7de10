"""Recordings: which there are, opening and closing them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, encode
from glassloom_metrics.recording import hello_of
from glassloom_metrics.recording_writer import RecordingWriter
from glassloom_server import recordings
from tornado.httpclient import HTTPClientError


@pytest.fixture
def jp_server_config(jp_server_config, tmp_path) -> dict[str, Any]:
    settings = {**jp_server_config["GlassloomServer"], "recordings_dir": str(tmp_path / "recordings")}
    return {**jp_server_config, "GlassloomServer": settings}


def record(path: Path, name: str = "loom", at_s: int = 1000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = RecordingWriter(path, since=1)
    writer.add(encode(Hello(PROTOCOL_VERSION, "c1", name, "processes", 1.0, "log1")))
    writer.close()
    os.utime(path, (at_s, at_s))
    return path


async def listed(jp_fetch) -> dict[str, Any]:
    return json.loads((await jp_fetch("glassloom", "api", "recordings")).body)


async def open_(jp_fetch, path: str):
    return await jp_fetch("glassloom", "api", "recordings", method="POST", body=json.dumps({"path": path}))


async def test_recordings_below_the_root_and_in_the_directory_are_listed_newest_first(jp_fetch, jp_root_dir, tmp_path):
    record(jp_root_dir / "work" / "old.glr", "old", 1000)
    elsewhere = record(tmp_path / "recordings" / "new.glr", "new", 3000)
    (jp_root_dir / "broken.glr").write_text("no recording")
    os.utime(jp_root_dir / "broken.glr", (2000, 2000))
    record(jp_root_dir / ".hidden" / "not-told.glr")
    told = await listed(jp_fetch)
    assert told["directory"] == str(tmp_path / "recordings")
    rows = [(row["path"], row["name"], row["modified_at"], row["problem"][-40:]) for row in told["recordings"]]
    assert rows == [
        (str(elsewhere), "new", 3000.0, ""),
        ("broken.glr", "broken.glr", 2000.0, "m recording (it begins with b'no recor')"),
        ("work/old.glr", "old", 1000.0, ""),
    ]
    assert told["recordings"][2]["bytes"] == (jp_root_dir / "work" / "old.glr").stat().st_size


async def test_a_recording_is_opened_once_told_in_the_state_and_closed(jp_fetch, jp_root_dir):
    record(jp_root_dir / "work" / "run.glr")
    response = await open_(jp_fetch, "work/run.glr")
    opened = json.loads(response.body)
    assert response.code == 201
    assert json.loads((await open_(jp_fetch, "work/run.glr")).body) == opened
    state = json.loads((await jp_fetch("glassloom", "api", "clusters")).body)
    told = [
        (recording["id"], recording["name"], recording["pid"], recording["path"]) for recording in state["recordings"]
    ]
    assert told == [(opened["id"], "loom (run.glr)", os.getpid(), "work/run.glr")]
    assert (await jp_fetch("glassloom", "api", "recordings", opened["id"], method="DELETE")).code == 204
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("glassloom", "api", "recordings", opened["id"], method="DELETE")
    assert caught.value.code == 404


async def state_of(jp_fetch) -> list[str]:
    return [each["id"] for each in json.loads((await jp_fetch("glassloom", "api", "clusters")).body)["recordings"]]


async def test_a_recording_stays_open_while_any_page_shows_it_and_is_closed_some_time_after(
    jp_fetch, jp_ws_fetch, jp_root_dir, services, monkeypatch
):
    monkeypatch.setattr(services.recordings, "_left_s", 0.0)
    monkeypatch.setattr(services.recordings, "_unseen_s", 0.0)
    record(jp_root_dir / "run.glr")
    shown = services.recordings._n_pages

    async def until_shown_by(number: int, recording: str) -> None:
        async with asyncio.timeout(60):
            while shown[recording] != number:
                await asyncio.sleep(0.01)

    async def show() -> tuple[str, Any]:
        opened = services.recordings._open("run.glr").id  # without the wait for its first page
        return opened, await jp_ws_fetch("glassloom", "dash", opened, "status", "ws")

    recording, mine = await show()
    same, others = await show()
    assert same == recording
    await until_shown_by(2, recording)
    mine.close()
    await until_shown_by(1, recording)
    assert services.recordings._closing == {} and await state_of(jp_fetch) == [recording]
    others.close()
    async with asyncio.timeout(60):
        while await state_of(jp_fetch):
            await asyncio.sleep(0.01)
    assert services.recordings._closing == {}
    opened = json.loads((await open_(jp_fetch, "run.glr")).body)["id"]
    async with asyncio.timeout(60):
        while opened in await state_of(jp_fetch):  # no page has ever shown it
            await asyncio.sleep(0.01)


async def test_those_who_ask_for_the_list_at_once_share_one_look_at_the_files(jp_fetch, jp_root_dir, monkeypatch):
    record(jp_root_dir / "a.glr")
    read: list[str] = []
    monkeypatch.setattr(recordings, "hello_of", lambda path: read.append(path) or hello_of(path))
    told = await asyncio.gather(*(listed(jp_fetch) for _ in range(5)))
    assert [file["name"] for file in told[0]["recordings"]] == ["loom"] and all(each == told[0] for each in told)
    assert len(read) == 1
    (jp_root_dir / "a.glr").unlink()
    record(jp_root_dir / "a.glr", "another", 2000)
    assert [file["name"] for file in (await listed(jp_fetch))["recordings"]] == ["another"]


async def test_the_doctor_looks_at_a_recording_and_at_no_cluster(jp_fetch, jp_root_dir):
    record(jp_root_dir / "run.glr")
    opened = json.loads((await open_(jp_fetch, "run.glr")).body)["id"]

    async def examined(recording: str) -> dict[str, Any]:
        response = await jp_fetch("glassloom", "api", "doctor", params={"cluster": recording})
        return {hop["id"]: hop for hop in json.loads(response.body)["hops"]}

    hops = await examined(opened)
    assert {name: hop["state"] for name, hop in hops.items()} == {
        "registry": "good", "record": "good", "kernel": "skipped", "control": "skipped", "metrics": "skipped",
        "heard": "skipped", "dashboards": "skipped", "proxy": "skipped",
    }  # fmt: skip
    (jp_root_dir / "run.glr").unlink()
    gone = (await examined(opened))["record"]
    assert (gone["state"], gone["title"], gone["detail"][-21:]) == ("bad", "The recording", "isn't there any more.")
    assert (await examined("recording-none"))["record"]["mend"] == "Open the recording again."


async def test_only_recordings_where_recordings_may_lie_are_opened(jp_fetch, jp_root_dir, tmp_path):
    record(tmp_path / "outside.glr")  # beside the root
    (jp_root_dir / "text.txt").write_text("text")
    (jp_root_dir / "folder.glr").mkdir()
    (jp_root_dir / "broken.glr").write_text("no recording")
    not_there = ("../outside.glr", str(tmp_path / "outside.glr"), "missing.glr", "text.txt", "folder.glr")
    for path, code in [*((path, 404) for path in not_there), ("broken.glr", 400)]:
        with pytest.raises(HTTPClientError) as caught:
            await open_(jp_fetch, path)
        assert (path, caught.value.code) == (path, code)
        assert json.loads(caught.value.response.body)["message"]


async def test_a_file_whose_name_is_no_text_keeps_no_other_from_the_list(jp_fetch, jp_root_dir):
    record(jp_root_dir / "good.glr")
    record(jp_root_dir / os.fsdecode(b"bad\xff.glr"))
    assert [file["path"] for file in (await listed(jp_fetch))["recordings"]] == ["good.glr"]
