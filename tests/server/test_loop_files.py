"""Jupyter's loop touches no file of a cluster, of the registry or of a recording: a disk that hangs holds up a thread only."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

TOUCHES = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename")


class Touches:
    """What files this thread has touched below some folders while it was watched; there is no way to remove an audit hook."""

    def __init__(self) -> None:
        self.below: tuple[str, ...] = ()
        self.thread = threading.get_ident()
        self.seen: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.below and event in TOUCHES and threading.get_ident() == self.thread:
            path = arguments[0]
            if isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).startswith(self.below):
                self.seen.append(f"{event} {os.fsdecode(path)}")


@pytest.fixture(scope="module")
def touches() -> Touches:
    return Touches()


async def test_requests_and_streams_read_files_in_threads(
    jp_fetch, jp_ws_fetch, jp_root_dir, jp_runtime_dir, start_cluster, touches, tmp_path
):
    cluster = await start_cluster()
    directory = Path(cluster.record.directory)
    directory.mkdir()
    (directory / "cluster.log").write_text("a line\n")
    (jp_root_dir / "run.glr").write_text("no recording")
    touches.below = (str(jp_runtime_dir / "glassloom"), str(directory), str(jp_root_dir / "run.glr"))
    try:
        list(os.scandir(directory))
        assert touches.seen.pop().startswith("os.scandir"), "the hook sees"
        socket = await jp_ws_fetch("glassloom", "api", "metrics")
        assert json.loads(await socket.read_message())["type"] == "snapshot"
        for path in (
            "clusters",
            "clusters/c1/log",
            "recordings",
            "profiles",
            "doctor",
            "pages",
            "prometheus",
            "openapi.json",
        ):
            assert (await jp_fetch("glassloom", "api", *path.split("/"))).code == 200
        for verb, body in (("scale", '{"n": 2}'), ("rename", '{"name": "new"}')):
            await jp_fetch("glassloom", "api", "clusters", "c1", verb, method="POST", body=body)
        await jp_fetch("glassloom", "api", "clusters", "c1", method="DELETE")
        with pytest.raises(Exception, match="400"):
            await jp_fetch("glassloom", "api", "recordings", method="POST", body='{"path": "run.glr"}')
        await jp_fetch("glassloom", "dash", "c1", "status")
        socket.close()
        await asyncio.sleep(0)
    finally:
        touches.below = ()
    assert touches.seen == []
