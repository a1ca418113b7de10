"""Viewers of Bokeh pages without a browser: they open a page over real HTTP and WebSockets, and acknowledge frames as ours do.

    python -m benchmarks.viewers URL COUNT SECONDS

opens so many, reads what they are sent for so long and prints figures as JSON. ``URL`` may be one that lets in by a token.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urljoin, urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

FRAME_MODEL, SHOWN_MODEL = "glassloom-frame", "glassloom-shown"
_PULL = "PULL-DOC-REQ", {}


@dataclass
class Viewer:
    """What one page was sent.

    Attributes
    ----------
    frames
        The size of each frame in bytes: of all messages up to one that asks to be acknowledged; of each message on other pages.
    document
        Bokeh's JSON of the page as it was opened.
    """

    connection: WebSocketClientConnection
    first_bytes: int = 0
    frames: list[int] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    _pending: int = 0
    _sent: int = 0

    async def read(self) -> tuple[str, dict[str, Any], int]:
        """Return the next message's type, its content and its size."""
        parts = [await self._part() for _ in range(3)]
        header = json.loads(parts[0])
        size = sum(map(len, parts))
        for _ in range(2 * int(header.get("num_buffers", 0))):
            size += len(await self._part())
        return header["msgtype"], json.loads(parts[2]), size

    async def _part(self) -> str | bytes:
        part = await self.connection.read_message()
        if part is None:
            raise ConnectionError("the server has closed the connection")
        return part

    async def send(self, kind: str, content: dict[str, Any]) -> None:
        """Send a message."""
        self._sent += 1
        for part in ({"msgid": f"{id(self)}-{self._sent}", "msgtype": kind}, {}, content):
            await self.connection.write_message(json.dumps(part))

    async def pull(self) -> None:
        """Get the page's document, as browsers do."""
        await self.send(*_PULL)
        kind = ""
        while kind != "PULL-DOC-REPLY":
            kind, content, size = await self.read()
        self.document, self.first_bytes = content["doc"], size
        for model in _models(content["doc"]):
            self._ids[str(model.get("attributes", {}).get("name"))] = model["id"]

    async def watch(self, seconds: float) -> None:
        """Read what comes for so long, and acknowledge each frame."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                kind, content, size = await asyncio.wait_for(self.read(), left_s)
            except TimeoutError:
                return
            if kind != "PATCH-DOC":
                continue
            self._pending += size
            number = self._frame_number(content)
            if number is not None or FRAME_MODEL not in self._ids:
                self.frames.append(self._pending)
                self._pending = 0
            if number is not None:
                shown = {"kind": "ModelChanged", "model": {"id": self._ids[SHOWN_MODEL]}, "attr": "tags"}
                await self.send("PATCH-DOC", {"events": [shown | {"new": [number, True]}]})

    def _frame_number(self, content: dict[str, Any]) -> int | None:
        for event in content["events"]:
            if event.get("model", {}).get("id") == self._ids.get(FRAME_MODEL) and event.get("attr") == "tags":
                return int(event["new"][0])
        return None


def _models(value: Any) -> list[dict[str, Any]]:
    """Return everything in a document's JSON that has an id."""
    if isinstance(value, list):
        return [model for item in value for model in _models(item)]
    if not isinstance(value, dict):
        return []
    inner = [model for item in value.values() for model in _models(item)]
    return [value, *inner] if "id" in value and "name" in value else inner


async def open_page(url: str, headers: dict[str, str] | None = None) -> Viewer:
    """Open a page as a browser does, or with headers that let in."""
    headers = headers or {}
    client = AsyncHTTPClient()
    try:
        request = HTTPRequest(url, headers=headers, follow_redirects=False, request_timeout=60)
        body = (await client.fetch(request)).body.decode()
    except HTTPClientError as error:
        if error.response is None or error.code not in (301, 302, 303):
            raise
        cookies = SimpleCookie("; ".join(error.response.headers.get_list("Set-Cookie")))
        headers = {"Cookie": "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())}
        url = urljoin(url, error.response.headers["Location"])
        body = (await client.fetch(HTTPRequest(url, headers=headers, request_timeout=60))).body.decode()
    found = re.search(r'"token":("[^"]+")', body)
    if found is None:
        raise ValueError(f"{url} is no page of Bokeh's")
    place = urlsplit(url)
    origin = f"{place.scheme}://{place.netloc}"
    connection = await websocket_connect(
        HTTPRequest(f"ws://{place.netloc}{place.path}/ws", headers=headers | {"Origin": origin}),
        subprotocols=["bokeh", json.loads(found[1])],
        max_message_size=2**28,
    )
    viewer = Viewer(connection)
    await viewer.read()  # Bokeh's greeting
    await viewer.pull()
    return viewer


async def watch(url: str, count: int, seconds: float) -> dict[str, float]:
    """Watch a page with so many viewers for so long; return what they were sent."""
    viewers = [await open_page(url) for _ in range(count)]
    await asyncio.gather(*(viewer.watch(seconds) for viewer in viewers))
    frames = [size for viewer in viewers for size in viewer.frames]
    return {
        "first_document_kb": max(viewer.first_bytes for viewer in viewers) / 1e3,
        "largest_frame_kb": max(frames, default=0) / 1e3,
        "frames_s_a_viewer": len(frames) / count / seconds,
        "kb_s_a_viewer": sum(frames) / count / seconds / 1e3,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(watch(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))))
