"""Recordings in other formats: processes write them, and the state tells what becomes of them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, encode
from glassloom_metrics.recording_writer import RecordingWriter
from tornado.httpclient import HTTPClientError

# Stands in for `glassloom`: notes its arguments beside itself, then does what its recording's name says.
STAND_IN = """
import os, pathlib, sys, time
arguments = sys.argv[1:]
with open(__file__ + ".asked", "a") as asked:
    asked.write(repr(arguments) + "\\n")
if "broken.glr" in arguments[-1]:
    sys.exit("glassloom: it is broken")
if "endless.glr" in arguments[-1]:
    time.sleep(600)
output = [each.partition("=")[2] for each in arguments if each.startswith("--output=")]
pathlib.Path(*(output or arguments[-1:])).write_text("made")
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    path = tmp_path / "stand_in.py"
    path.write_text(STAND_IN)
    return path


@pytest.fixture(params=["stand-in"])
def jp_server_config(request, jp_server_config, tmp_path, stand_in) -> dict[str, Any]:
    settings = {**jp_server_config["GlassloomServer"], "recordings_dir": str(tmp_path / "recordings")}
    if request.param == "stand-in":
        settings["export_command"] = [sys.executable, str(stand_in)]
    return {**jp_server_config, "GlassloomServer": settings}


def record(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = RecordingWriter(path, since=1)
    writer.add(encode(Hello(PROTOCOL_VERSION, "c1", "loom", "processes", 1.0, "log1")))
    writer.close()
    return path


Export = Callable[..., Awaitable[str]]


@pytest.fixture
def export(jp_fetch) -> Export:
    """Ask for an export of a recording, by its path, or of a cluster, by its id; return the export's id."""

    async def export(to: str, path: str = "", cluster: str = "") -> str:
        parts = ("clusters", cluster, "export") if cluster else ("recordings", "export")
        body = {"to": to} if cluster else {"to": to, "path": path}
        answer = await jp_fetch("glassloom", "api", *parts, method="POST", body=json.dumps(body))
        assert answer.code == 202
        return str(json.loads(answer.body)["id"])

    return export


@pytest.fixture
def until(services) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Wait until the stream tells that an export is in a state, and return what it tells of it."""

    async def until(export_id: str, *states: str) -> dict[str, Any]:
        async with asyncio.timeout(60), services.watch.listen() as listener:
            while True:
                told = json.loads(await listener.next())
                for each in told.get("state", told).get("exports", []):
                    if each["id"] == export_id and each["state"] in states:
                        return dict(each)

    return until


def asked(stand_in: Path) -> list[str]:
    return Path(f"{stand_in}.asked").read_text().splitlines()


@pytest.mark.parametrize("jp_server_config", ["real"], indirect=True)
async def test_a_running_cluster_is_recorded_and_exported(jp_root_dir, start_cluster, export, until):
    await start_cluster(name="nightly/../run")
    told = await until(await export("perfetto", cluster="c1"), "done", "failed")
    assert told["problem"] == ""
    assert told["recording"].startswith("nightly-..-run-") and told["recording"].endswith(".glr")
    assert told["output"] == told["recording"].replace(".glr", ".trace.json")
    trace = json.loads((jp_root_dir / told["output"]).read_bytes())
    assert any("w0" in event.get("args", {}).get("name", "") for event in trace["traceEvents"]), trace


async def test_an_export_is_written_beside_its_recording_and_replaces_nothing(jp_root_dir, export, until, stand_in):
    path = record(jp_root_dir / "work" / "run.glr")
    (jp_root_dir / "work" / "run-parquet").mkdir()
    told = await until(await export("parquet", "work/run.glr"), "done")
    assert (told["name"], told["recording"], told["output"]) == ("run.glr", "work/run.glr", "work/run-2-parquet")
    told = await until(await export("report", "work/run.glr"), "done")
    assert told["output"] == "work/run.html"
    assert asked(stand_in) == [
        repr(["export", "--to=parquet", f"--output={path.with_name('run-2-parquet')}", "--", str(path)]),
        repr(["report", "--", str(path), str(path.with_name("run.html"))]),
    ]


async def test_of_a_recording_that_jupyter_does_not_reach_the_export_goes_where_it_does(
    jp_root_dir, tmp_path, export, until
):
    path = record(tmp_path / "recordings" / "far.glr")
    told = await until(await export("speedscope", str(path)), "done")
    assert (told["recording"], told["output"]) == (None, "far.speedscope.json")
    assert (jp_root_dir / "far.speedscope.json").read_text() == "made"


async def test_an_export_that_fails_says_why_until_it_is_dismissed(jp_root_dir, jp_fetch, export, until, services):
    record(jp_root_dir / "broken.glr")
    export_id = await export("perfetto", "broken.glr")
    told = await until(export_id, "failed")
    assert (told["problem"], told["output"]) == ("it is broken", None)
    assert (await jp_fetch("glassloom", "api", "exports", export_id, method="DELETE")).code == 204
    assert services.exporter.all == ()
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("glassloom", "api", "exports", export_id, method="DELETE")
    message = json.loads(caught.value.response.body)["message"]
    assert (caught.value.code, message) == (404, f"no export '{export_id}'; there are: none")


async def test_an_export_that_takes_too_long_is_ended_and_says_so(jp_root_dir, export, until, services):
    services.exporter._timeout_s = 0.5
    record(jp_root_dir / "endless.glr")
    told = await until(await export("perfetto", "endless.glr"), "failed")
    assert told["problem"] == "not done after 0.5 s"


async def test_one_export_waits_for_the_other_and_goes_on_when_that_is_given_up(
    jp_root_dir, jp_fetch, export, until, services
):
    for name in ("endless.glr", "run.glr"):
        record(jp_root_dir / name)
    endless, waiting = await export("perfetto", "endless.glr"), await export("perfetto", "run.glr")
    assert [each.state for each in services.exporter.all] == ["exporting", "exporting"]
    assert (await jp_fetch("glassloom", "api", "exports", endless, method="DELETE")).code == 204
    assert (await until(waiting, "done"))["output"] == "run.trace.json"
    assert not services.exporter._going_on


@pytest.mark.parametrize(
    ("path", "to", "status", "problem"),
    [
        ("../outside.glr", "parquet", 404, "no recording"),
        ("notes.txt", "parquet", 404, "no recording"),
        ("run.glr", "word", 400, "to='word' should be one of 'parquet', 'perfetto', 'report', 'speedscope'"),
    ],
)
async def test_what_is_no_recording_or_no_format_is_refused(jp_root_dir, export, services, path, to, status, problem):
    record(jp_root_dir / "run.glr")
    with pytest.raises(HTTPClientError) as caught:
        await export(to, path)
    assert caught.value.code == status
    assert problem in json.loads(caught.value.response.body)["message"]
    assert services.exporter.all == ()
