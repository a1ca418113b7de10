"""`Turns`: what takes long is done in slices between which others have their turn; pages that are being made go before logs.

Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

LONGEST_WAIT_S = 0.5
"""However many pages are being made, reading a log waits no longer than this between two slices."""


class Turns:
    """Knows whether pages are being made."""

    def __init__(self) -> None:
        self._pages = 0
        self._no_page = asyncio.Event()

    @contextlib.contextmanager
    def making_page(self) -> Iterator[None]:
        """Note that a page is being made until the block ends."""
        self._pages += 1
        self._no_page.clear()
        try:
            yield
        finally:
            self._pages -= 1
            if not self._pages:
                self._no_page.set()

    async def give_way(self) -> None:
        """Let others have their turn, and pages that are being made be finished."""
        await asyncio.sleep(0)
        if self._pages:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_WAIT_S):
                    await self._no_page.wait()
