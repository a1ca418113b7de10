"""The real dashboards process behind a real Jupyter server: what browsers are sent of its scripts."""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError, HTTPResponse


@pytest.fixture
def jp_server_config(jp_server_config: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "glassloom_dashboards"]
    return jp_server_config | {"GlassloomServer": {"dashboards_command": command}}


async def test_scripts_come_through_jupyter_compressed_and_are_asked_for_again_by_their_tag(jp_fetch, jp_base_url):
    async def fetch(path: str, method: str = "GET", **headers: str) -> HTTPResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        address, _, version = path.partition("?v=")
        segments = address.removeprefix(jp_base_url).split("/")
        query = {"v": version} if version else {}
        return await jp_fetch(*segments, method=method, headers=named, params=query, decompress_response=False)

    scripts = json.loads((await fetch(f"{jp_base_url}glassloom/dash/health")).body)["scripts"]
    assert len(scripts) == 2
    for script in scripts:
        plain = await fetch(script, Accept_Encoding="identity")
        small = await fetch(script, Accept_Encoding="gzip, deflate, br")
        assert gzip.decompress(small.body) == plain.body
        assert [answer.headers.get("Content-Encoding") for answer in (plain, small)] == [None, "gzip"]
        assert [int(answer.headers["Content-Length"]) for answer in (plain, small)] == [
            len(plain.body),
            len(small.body),
        ]
        assert [answer.headers["Vary"] for answer in (plain, small)] == ["Accept-Encoding"] * 2
        assert small.headers["Etag"] != plain.headers["Etag"]
        assert small.headers["Cache-Control"].startswith("max-age=")
        head = await fetch(script, "HEAD", Accept_Encoding="gzip")
        assert head.body == b""
        assert [head.headers[name] for name in ("Content-Length", "Etag")] == [
            str(len(small.body)),
            small.headers["Etag"],
        ]
        with pytest.raises(HTTPClientError, match="304") as known:
            await fetch(script, Accept_Encoding="gzip", If_None_Match=small.headers["Etag"])
        assert not known.value.response.body
        again = await fetch(script, Accept_Encoding="gzip", If_None_Match=plain.headers["Etag"])
        assert again.code == 200
