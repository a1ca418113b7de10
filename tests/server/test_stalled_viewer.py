"""A browser that stops reading, such as one of a laptop that was closed: the server keeps no more for it than one message.

`benchmarks/jupyter.py` has the same with a server in a process of its own, for as long as one likes.
"""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from glassloom_metrics.protocol import Log
from glassloom_server.base_handlers import StreamHandler
from glassloom_server.cluster_handlers import ClusterMetricsHandler, MetricsHandler
from glassloom_server.starts import Starts

TIMEOUT_S = 60
N_STARTS, N_CHANGES = 1500, 40
N_LINES, LINE_BYTES = 200, 100_000
MOST_BYTES = 2 * 2**20
"""What may wait for one reader: a message and what the next one begins with."""


@asynccontextmanager
async def stalled(port: int, path: str, headers: dict[str, str]) -> AsyncIterator[None]:
    """Open a WebSocket that is never read."""
    key = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.socket() as viewer:
        viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        viewer.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(viewer, ("localhost", port))
        await loop.sock_sendall(
            viewer, f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n{key}\r\n{told}\r\n".encode()
        )
        assert (await loop.sock_recv(viewer, 12)) == b"HTTP/1.1 101"
        yield


def waiting_bytes(kind: type[StreamHandler]) -> int:
    """Return how much the server holds for all readers of a kind."""
    handlers = [each for each in gc.get_objects() if type(each) is kind and each.ws_connection is not None]
    assert handlers
    return sum(len(handler.ws_connection.stream._write_buffer) for handler in handlers)


def some_starts(change: int) -> Starts:
    starts = Starts()
    for number in range(N_STARTS):
        starts = starts.begun(f"s{number}", f"{change}-{'x' * 150}")
    return starts


async def test_a_viewer_of_the_panel_that_stops_reading_costs_one_message(
    services, jp_fetch, jp_http_port, jp_base_url, jp_auth_header
):
    n_bytes = 0
    changes = [some_starts(change) for change in (0, 1)]
    async with (
        asyncio.timeout(TIMEOUT_S),
        services.watch.listen() as quick,
        stalled(jp_http_port, f"{jp_base_url}glassloom/api/metrics", jp_auth_header),
    ):
        for change in range(N_CHANGES):
            services.watch.note_starts(changes[change % 2])
            marker = f'"name":"{change % 2}-'.encode()
            while marker not in (message := await quick.next()):
                pass
            n_bytes += len(message)
        assert n_bytes > 4 * MOST_BYTES, "much more was told than may wait"
        assert waiting_bytes(MetricsHandler) < MOST_BYTES
        services.watch.note_starts(Starts())


async def test_a_reader_of_a_clusters_protocol_that_stops_reading_costs_no_more_than_a_message(
    start_cluster, jp_http_port, jp_base_url, jp_auth_header, jp_ws_fetch
):
    cluster = await start_cluster()
    async with (
        asyncio.timeout(TIMEOUT_S),
        stalled(jp_http_port, f"{jp_base_url}glassloom/api/metrics/c1", jp_auth_header),
    ):
        for number in range(N_LINES):
            cluster.say(Log(1.0, 0, "stdout", f"{number} {'x' * LINE_BYTES}"))
        quick = await jp_ws_fetch("glassloom", "api", "metrics", "c1")
        last = f"{N_LINES - 1} xxx".encode()
        while last not in await quick.read_message():
            pass
        assert waiting_bytes(ClusterMetricsHandler) < MOST_BYTES
        quick.close()
