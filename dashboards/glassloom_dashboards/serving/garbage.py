"""Keeps the pauses of the garbage collector short, however many pages are open.

A page has some ten thousand objects, most of them Bokeh's. A full collection looks at all of them: with a hundred open pages
everybody waits for a second or more. So what a page is made of is put where the collector doesn't look (`gc.freeze`), and what
forms cycles in it is taken apart when its session ends, so that it is freed at once. A few objects of each connection remain;
they are collected once no page is open.
"""

from __future__ import annotations

import gc

from bokeh.model import Model


class Garbage:
    """What the collector is told of pages that come and go."""

    def __init__(self) -> None:
        self._n_pages = 0

    def page_made(self) -> None:
        """Let the collector look no more at what there is now, but for what is garbage already."""
        self._n_pages += 1
        gc.collect(1)
        gc.freeze()

    def page_ended(self) -> None:
        """Collect all there is if that was the last page."""
        self._n_pages -= 1
        if not self._n_pages:
            gc.unfreeze()
            gc.collect()


def take_apart(model: Model) -> None:
    """Let a model that no document has any more refer to nothing that refers to it."""
    model._callbacks.clear()
    model._event_callbacks.clear()
    model._unstable_default_values.clear()
