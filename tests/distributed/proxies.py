"""A TCP proxy that can stop carrying what is sent, as a network does that is cut: nothing is refused, nothing arrives."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Proxy:
    """What connects to `address` reaches `target`, unless it is held."""

    def __init__(self, target: str) -> None:
        self._host, _, port = target.removeprefix("tcp://").partition(":")
        self._port = int(port)
        self._ready = threading.Event()
        self._carries: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._over: asyncio.Event
        self._server: asyncio.Server
        self._writers: list[asyncio.StreamWriter] = []
        self.address = ""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def hold(self) -> None:
        """Carry nothing from now on; keep what is sent."""
        asyncio.run_coroutine_threadsafe(self._set(False), self._loop).result()

    def go_on(self) -> None:
        """Carry what was kept, and all else."""
        asyncio.run_coroutine_threadsafe(self._set(True), self._loop).result()

    def close(self) -> None:
        """Close all connections, and accept no more."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()

    async def _close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _set(self, carries: bool) -> None:
        (self._carries.set if carries else self._carries.clear)()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(60)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop, self._carries, self._over = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._carries.set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.address = f"tcp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._over.wait()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, to_them = await asyncio.open_connection(self._host, self._port)
        self._writers += [writer, to_them]
        await asyncio.gather(self._carry(reader, to_them), self._carry(theirs, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._carries.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


@contextmanager
def proxy_of(target: str) -> Iterator[Proxy]:
    proxy = Proxy(target)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.go_on()
        proxy.stop()
