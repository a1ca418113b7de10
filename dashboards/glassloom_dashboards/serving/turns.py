"""`Turns`: what takes long is done in slices, between which goes what a viewer waits for: files first, then documents, then logs.

Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

LONGEST_WAIT_S = 0.5
"""What goes first is waited for no longer than this, however slow its viewer's network is."""


class Turn:
    """What goes before something else: knows whether any of it is under way."""

    def __init__(self) -> None:
        self._under_way: set[object] = set()
        self._none = asyncio.Event()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Note that something is under way until the block ends, or for `LONGEST_WAIT_S`."""
        one = object()
        self._under_way.add(one)
        self._none.clear()
        no_longer = asyncio.get_running_loop().call_later(LONGEST_WAIT_S, self._end, one)
        try:
            yield
        finally:
            no_longer.cancel()
            self._end(one)

    def _end(self, one: object) -> None:
        self._under_way.discard(one)
        if not self._under_way:
            self._none.set()

    async def ended(self) -> None:
        """Wait until nothing is under way."""
        if self._under_way:
            await self._none.wait()


class Turns:
    """Whose turn it is.

    Attributes
    ----------
    files
        Taken while a file is sent that pages load.
    documents
        Taken while a page's document is made or sent.
    """

    def __init__(self) -> None:
        self.files = Turn()
        self.documents = Turn()

    async def give_way(self) -> None:
        """Let files and documents go first; called between slices of a log."""
        await self.give_way_to_files()
        await self.documents.ended()

    async def give_way_to_files(self) -> None:
        """Let files go first, without which a browser does nothing with a document; called between slices of documents."""
        await asyncio.sleep(0)
        await self.files.ended()
