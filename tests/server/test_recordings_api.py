"""Recordings: which there are, opening and closing them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, encode
from glassloom_metrics.recording_writer import RecordingWriter
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
