"""Viewers without a browser: pages of a Bokeh server in this process, opened over real HTTP and WebSockets."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bokeh.server.contexts import ApplicationContext
from glassloom_dashboards.serving.gate import SecretGate
from glassloom_dashboards.serving.hub import Hub
from glassloom_dashboards.serving.server import DashboardServer
from real_process import SECRET
from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.websocket import WebSocketClientConnection, websocket_connect

PREFIX = "/user/some.one/glassloom/dash"
GOOD = {"X-Glassloom-Secret": SECRET}


class Serving:
    """A dashboards server that listens in this loop."""

    def __init__(self, hub: Hub, **options: int) -> None:
        self.hub = hub
        gate = SecretGate(SECRET)
        self.server = DashboardServer(hub, gate, prefix=PREFIX, origins=["*"], lists_clusters=False, **options)
        sockets = bind_sockets(0, "127.0.0.1")
        self.http = HTTPServer(self.server)
        self.http.add_sockets(sockets)
        self.host = f"127.0.0.1:{sockets[0].getsockname()[1]}"
        self.server.initialize(IOLoop.current())
        self.server.start()

    async def get(self, path: str) -> str:
        """Return the body of a page of ours."""
        return (await self.fetch(f"{PREFIX}{path}")).body.decode()

    async def fetch(self, path: str) -> HTTPResponse:
        """Return the answer to a request for a path of this host."""
        request = HTTPRequest(f"http://{self.host}{path}", headers=GOOD, request_timeout=60)
        return await AsyncHTTPClient().fetch(request)

    async def open(self, path: str) -> WebSocketClientConnection:
        """Open a page as a browser does, up to the first fragment of Bokeh's greeting."""
        connection = await self.connect(path, await self.token(path))
        await connection.read_message()
        return connection

    async def token(self, path: str) -> str:
        """Ask for a page; return the token that it is sent with."""
        return json.loads(re.search(r'"token":("[^"]+")', await self.get(path))[1])

    async def connect(self, path: str, token: str) -> WebSocketClientConnection:
        """Connect to the session of a page that was sent with a token."""
        request = HTTPRequest(
            f"ws://{self.host}{PREFIX}{path}/ws", headers=GOOD, connect_timeout=60, request_timeout=60
        )
        return await websocket_connect(request, subprotocols=["bokeh", token])

    def context(self, page: str) -> ApplicationContext:
        """Return Bokeh's context of a page, which holds its sessions."""
        return next(context for key, context in self.server.applications.items() if key.endswith(f"/{page}"))


@asynccontextmanager
async def serving(hub: Hub | None = None, **options: int) -> AsyncIterator[Serving]:
    """Serve every cluster of the registry until the block ends; the options are those of `DashboardServer`."""
    serving = Serving(hub or Hub(), **options)
    try:
        yield serving
    finally:
        serving.http.stop()
        serving.server.stop()
        await serving.hub.close()
