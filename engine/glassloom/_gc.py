"""Pausing Python's cycle collector while a large graph is built: each full pass would walk all of it, to free nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cycle collector, if it is on; reference counting goes on as always. Nests."""
    if not gc.isenabled():
        yield
        return
    try:
        gc.disable()  # in here: an interrupt may come right after it
        yield
    finally:
        gc.enable()
