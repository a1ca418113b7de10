"""Keeps the pauses of the garbage collector short, however many pages are open.

A page has some ten thousand objects, most of them Bokeh's. A full collection looks at all of them: with a hundred open pages
everybody waits for a second or more. So what a page is made of is put where the collector doesn't look (`gc.freeze`), and what
forms cycles in it is taken apart when its session ends, so that it is freed at once. A few objects of each connection remain;
they are collected when no page has been open for a while, so that nobody waits for it.
"""

from __future__ import annotations

import asyncio
import gc

from bokeh.model import Model

QUIET_S = 5.0
"""For how long no page is open before all is collected: who closes many tabs may open the next at once."""


class Garbage:
    """What the collector is told of pages that come and go."""

    def __init__(self) -> None:
        self._n_pages = 0
        self._due: asyncio.TimerHandle | None = None

    def page_made(self) -> None:
        """Let the collector look no more at what there is now, but for what is garbage already."""
        self._n_pages += 1
        if self._due is not None:
            self._due.cancel()
            self._due = None
        gc.collect(1)
        gc.freeze()

    def page_ended(self) -> None:
        """Collect all there is some time after the last page. It isn't frozen then: what is in use may be garbage soon."""
        self._n_pages -= 1
        if not self._n_pages:
            self._due = asyncio.get_running_loop().call_later(QUIET_S, self._collect)

    def _collect(self) -> None:
        self._due = None
        gc.unfreeze()
        gc.collect()


def take_apart(model: Model) -> None:
    """Let a model that no document has any more refer to nothing that refers to it."""
    model._callbacks.clear()
    model._event_callbacks.clear()
    model._unstable_default_values.clear()
