"""`StaticFiles`: BokehJS, sent in one piece and compressed once. Browsers keep it, as its address has its version."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Collection
from pathlib import Path

from bokeh.server.views.static_handler import StaticHandler
from bokeh.settings import settings

from glassloom_dashboards.serving.turns import Turns

_LEVEL = 6
"""Of zlib. Level 9 takes half as long again, for 0.3 % less of BokehJS."""


def accepts_gzip(accept_encoding: str) -> bool:
    """Tell whether a client that sends this ``Accept-Encoding`` takes gzip.

    >>> [accepts_gzip(sent) for sent in ("gzip, deflate, br", "br;q=1.0, GZIP;q=0.8, *;q=0.1", "*", "*;q=0, gzip")]
    [True, True, True, True]
    >>> [accepts_gzip(sent) for sent in ("", "identity", "gzip;q=0", "*, gzip; q=0.000", "*;q=0", "xgzip", "gzip;q=much")]
    [False, False, False, False, False, False, False]
    """
    weights: dict[str, float] = {}
    for one in accept_encoding.lower().split(","):
        name, _, parameter = one.partition(";")
        try:
            weights[name.strip()] = float(parameter.partition("=")[2]) if parameter.strip() else 1.0
        except ValueError:
            weights[name.strip()] = 0.0
    return weights.get("gzip", weights.get("*", 0.0)) > 0


class GzippedFiles:
    """Files of BokehJS in gzip's format: each is compressed once, in a thread, and kept. Belongs to one event loop.

    Parameters
    ----------
    paths
        Of the files, within BokehJS's folder. Others are not compressed: nobody loads them, and some have megabytes.
    """

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)
        self._made: dict[str, asyncio.Task[bytes]] = {}

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    def make(self) -> None:
        """Begin to compress all of them, before anyone asks."""
        for path in sorted(self._paths):
            self._begin(path)

    async def content(self, path: str) -> bytes:
        """Return a file, compressed; raises `OSError` if it can't be read."""
        made = self._made.get(path)
        if made is None or (made.done() and (made.cancelled() or made.exception() is not None)):
            made = self._begin(path)
        return await asyncio.shield(made)

    def _begin(self, path: str) -> asyncio.Task[bytes]:
        file = Path(settings.bokehjs_path()) / path
        made = self._made[path] = asyncio.create_task(asyncio.to_thread(_gzipped, file))
        return made


def _gzipped(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), _LEVEL, mtime=0)


class StaticFiles(StaticHandler):
    """Bokeh's handler of static files, which sends 64 KiB in each turn of the event loop.

    While a log is read between them, that takes a second for what pages load first.
    """

    def initialize(self, path: str, turns: Turns, gzipped: GzippedFiles) -> None:
        """Take over who waits while a file is sent, and what there is compressed; called by Tornado."""
        super().initialize(path)
        self._turns = turns
        self._gzipped = gzipped
        self._sends_gzip = False

    def set_default_headers(self) -> None:
        """Say that an answer depends on what the client takes, also of those that are sent as they are."""
        self.set_header("Vary", "Accept-Encoding")

    async def get(self, path: str, include_body: bool = True) -> None:
        """Send a file."""
        with self._turns.files.taken():
            headers = self.request.headers
            # A part of a file is asked for in bytes of the file itself.
            if path in self._gzipped and "Range" not in headers and accepts_gzip(headers.get("Accept-Encoding", "")):
                await self._send_gzipped(path, include_body)
            else:
                await super().get(path, include_body)

    async def _send_gzipped(self, path: str, include_body: bool) -> None:
        self._sends_gzip = True
        self.path = self.parse_url_path(path)
        self.absolute_path = self.validate_absolute_path(self.root, self.get_absolute_path(self.root, self.path))
        self.modified = self.get_modified_time()
        self.set_headers()
        if self.should_return_304():
            self.set_status(304)
            return
        content = await self._gzipped.content(path)
        self.set_header("Content-Encoding", "gzip")
        self.set_header("Content-Length", len(content))
        # A download that was cut off must not go on with bytes of the file as it is.
        self.set_header("Accept-Ranges", "none")
        await self.finish(content if include_body else None)

    def compute_etag(self) -> str | None:
        """Return the file's hash, marked if it is sent compressed: other bytes have another tag."""
        tag = super().compute_etag()
        return f'{tag[:-1]}-gzip"' if tag and self._sends_gzip else tag

    @classmethod
    def get_content(cls, abspath: str, start: int | None = None, end: int | None = None) -> bytes:
        """Return a file's bytes, or part of them."""
        return Path(abspath).read_bytes()[start:end]
