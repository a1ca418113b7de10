"""`StaticFiles`: BokehJS, sent in one piece. Browsers keep it, as its address has its version."""

from __future__ import annotations

from pathlib import Path

from bokeh.server.views.static_handler import StaticHandler

from glassloom_dashboards.serving.turns import Turns


class StaticFiles(StaticHandler):
    """Bokeh's handler of static files, which sends 64 KiB in each turn of the event loop.

    While a log is read between them, that takes a second for what pages load first.
    """

    def initialize(self, path: str, turns: Turns) -> None:
        """Take over who waits while a file is sent; called by Tornado."""
        super().initialize(path)
        self._turns = turns

    async def get(self, path: str, include_body: bool = True) -> None:
        """Send a file."""
        with self._turns.files.taken():
            await super().get(path, include_body)

    @classmethod
    def get_content(cls, abspath: str, start: int | None = None, end: int | None = None) -> bytes:
        """Return a file's bytes, or part of them."""
        return Path(abspath).read_bytes()[start:end]
