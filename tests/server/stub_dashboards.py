"""Keeps the dashboards process's contract without drawing anything; it tells what reached it.

Environment: GLASSLOOM_STUB_FAIL makes it end at once with that message.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler


class Guarded(RequestHandler):
    def prepare(self) -> None:
        if self.request.headers.get("X-Glassloom-Secret") != os.environ["GLASSLOOM_DASH_SECRET"]:
            raise HTTPError(403)


class Echo(Guarded):
    def get(self) -> None:
        self.set_cookie("stub", "cookie")
        told = {"uri": self.request.uri, "headers": dict(self.request.headers), "pid": os.getpid()}
        self.finish(told | {"streams_ended": EchoSocket.streams_ended})


class Framed(Guarded):
    """A page with a policy of its own, and a file."""

    def get(self) -> None:
        self.set_header("Content-Security-Policy", "frame-ancestors 'self'; img-src 'self'")
        self.finish('<script defer src="static/a.js?v=1"></script>')


class EchoSocket(Guarded, WebSocketHandler):
    streams_ended = 0
    """How many clients of which a stream was asked for are gone."""

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return subprotocols[0] if subprotocols else None

    def check_origin(self, origin: str) -> bool:
        return True

    def open(self) -> None:
        self.write_message(json.dumps(dict(self.request.headers)))

    async def on_message(self, message: str | bytes) -> None:
        if message == "stream":
            await self._stream()
        else:
            self.write_message(message, binary=isinstance(message, bytes))

    async def _stream(self) -> None:
        """Send until the other end is known to be gone, as pages of a busy cluster are."""
        with contextlib.suppress(WebSocketClosedError):
            while True:
                await self.write_message("more")
                self.ping()
                await asyncio.sleep(0)
        EchoSocket.streams_ended += 1


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--unix-socket", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--max-pages", type=int)
    arguments = parser.parse_args()
    if reason := os.environ.get("GLASSLOOM_STUB_FAIL"):
        sys.exit(reason)
    server = HTTPServer(
        Application(
            [
                (arguments.prefix + r"/health", Echo),
                (arguments.prefix + r"/[\w-]+/[\w-]+/ws", EchoSocket),
                (arguments.prefix + r"/[\w-]+/overview", Framed),
                (arguments.prefix + r"/.*", Echo),
            ]
        )
    )
    server.add_socket(bind_unix_socket(arguments.unix_socket, 0o600))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
