"""Starts the dashboards: ``python -m glassloom_dashboards --unix-socket PATH --prefix PREFIX``, or alone ``--port 0``."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bokeh.settings import settings
from glassloom_metrics.errors import RecordingError
from glassloom_metrics.open_recordings import record_of_recording
from glassloom_metrics.pages import MAX_OPEN_PAGES
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets, bind_unix_socket

from glassloom_dashboards.parts.templates import template
from glassloom_dashboards.serving.gate import SECRET_VARIABLE, SecretGate, TokenGate
from glassloom_dashboards.serving.hub import Hub
from glassloom_dashboards.serving.server import DashboardServer

_PARENT_CHECK_S = 0.5


def positive(text: str) -> int:
    """Return a number from 1 on; raises `ValueError`, as `argparse` expects."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line; exits with a message if it makes no sense."""
    parser = argparse.ArgumentParser(prog="python -m glassloom_dashboards", description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--unix-socket", metavar="PATH", help=f"listen here, for who knows the secret in {SECRET_VARIABLE}"
    )
    where.add_argument("--port", type=int, help="listen on 127.0.0.1, for who knows the printed token; 0 picks a port")
    parser.add_argument("--prefix", default="", help="path before all others, such as /user/someone/glassloom/dash")
    parser.add_argument(
        "--max-pages",
        type=positive,
        default=MAX_OPEN_PAGES,
        metavar="N",
        help="how many pages may be open at once (%(default)s)",
    )
    parser.add_argument("--recording", metavar="FILE", action="append", default=[], help="show this recording, too")
    parser.add_argument("--end-with-parent", action="store_true", help="end when the process that started this one has")
    options = parser.parse_args(arguments)
    options.end_with_parent |= bool(options.unix_socket)
    if options.unix_socket and not os.environ.get(SECRET_VARIABLE):
        parser.error(f"--unix-socket needs a secret in the environment variable {SECRET_VARIABLE}")
    return options


def prepare() -> None:
    """Do before the first request what the first page would wait for: compile its templates, load what NumPy loads when first used."""
    for name in ("page_head.html", "page.html"):
        template(name)
    np.unique(np.zeros(1))


async def serve(options: argparse.Namespace, parent: int) -> None:
    """Serve until SIGTERM or SIGINT, or, behind Jupyter or if asked to, until our parent is no more the process of that id."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    hub = Hub(recordings=list(map(record_of_recording, options.recording)))
    if options.unix_socket:
        server, http = _on_unix_socket(hub, options)
    else:
        server, http = _on_port(hub, options)
    server.initialize(IOLoop.current())
    server.start()
    server.gzipped.make()
    prepare()
    # What is there now stays: full collections, which hold up every page, need not look through it. None is run before, as who has
    # the address may be waiting for the first page.
    gc.freeze()
    lag = asyncio.create_task(server.loop_lag.watch())
    try:
        if options.end_with_parent:
            await _until_orphaned(stop, parent)
        else:
            await stop.wait()
    finally:
        lag.cancel()
        http.stop()
        server.stop()
        await hub.close()
        if options.unix_socket:
            Path(options.unix_socket).unlink(missing_ok=True)


def _on_unix_socket(hub: Hub, options: argparse.Namespace) -> tuple[DashboardServer, HTTPServer]:
    # Out of the environment, so that nothing we might start inherits it.
    gate = SecretGate(os.environ.pop(SECRET_VARIABLE))
    # Only Jupyter's proxy, which has checked the origin, reaches this socket.
    server = DashboardServer(
        hub, gate, prefix=options.prefix, origins=["*"], lists_clusters=False, max_pages=options.max_pages
    )
    http = HTTPServer(server)
    previous = os.umask(0o177)
    try:
        http.add_socket(bind_unix_socket(options.unix_socket, mode=0o600))
    finally:
        os.umask(previous)
    return server, http


def _on_port(hub: Hub, options: argparse.Namespace) -> tuple[DashboardServer, HTTPServer]:
    sockets = bind_sockets(options.port, "127.0.0.1")
    port = sockets[0].getsockname()[1]
    token = secrets.token_urlsafe(24)
    origins = [f"127.0.0.1:{port}", f"localhost:{port}"]
    gate = TokenGate(token, str(port))
    server = DashboardServer(
        hub, gate, prefix=options.prefix, origins=origins, lists_clusters=True, max_pages=options.max_pages
    )
    http = HTTPServer(server)
    http.add_sockets(sockets)
    page = f"{next(iter(hub.recordings))}/status" if len(hub.recordings) == 1 else ""
    sys.stdout.write(f"http://127.0.0.1:{port}{server.prefix}/{page}?token={token}\n")
    sys.stdout.flush()
    return server, http


async def _until_orphaned(stop: asyncio.Event, parent: int) -> None:
    """Return when `stop` is set or our parent has changed, which it also does after the parent's kill -9."""
    while os.getppid() == parent:
        try:
            await asyncio.wait_for(stop.wait(), _PARENT_CHECK_S)
        except TimeoutError:
            continue
        return


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the dashboards' process."""
    parent = os.getppid()  # before anybody can see that we run, and may end because of it
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    options = parse_arguments(arguments)
    settings.perform_document_validation = False  # it takes 0.15 s of a page, to warn developers
    try:
        asyncio.run(serve(options, parent))
    except RecordingError as error:
        sys.exit(f"glassloom_dashboards: {error}")


if __name__ == "__main__":
    main()
