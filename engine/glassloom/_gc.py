"""Pausing Python's cycle collector: while a large graph is built, of which each full pass would walk all to free nothing, and while
frames of other threads are read.

Until Python 3.11 a collection may begin amid ``frame.f_back``, which allocates an object for the frame before. The Python code that
it runs, of finalizers and `gc.callbacks`, lets other threads go on: the one that is looked at may return from the function whose
frame is being made, and the process dies of a segmentation fault. (`sys._current_frames` pauses collections for a reason like that,
see python/cpython#106883.)
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()  # a finalizer that a collection calls may pause, too
_pausing: set[object] = set()
"""A token for each pause that some thread is in."""
_was_enabled = False


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cycle collector, if it is on; reference counting goes on as always. Nests; of several threads, the last resumes it."""
    token = object()
    try:
        _pause(token)  # in here: an interrupt may come right after it
        yield
    finally:
        _resume(token)


def _pause(token: object) -> None:
    global _was_enabled
    with _lock:
        if not _pausing:
            _was_enabled = gc.isenabled()
        _pausing.add(token)
        gc.disable()


def _resume(token: object) -> None:
    with _lock:
        _pausing.discard(token)
        if not _pausing and _was_enabled:
            gc.enable()


def _begin_anew_in_child() -> None:
    """Resume in a forked child, where the other threads that have paused are gone."""
    global _lock
    _lock = threading.RLock()
    if _pausing:
        _pausing.clear()
        if _was_enabled:
            gc.enable()


os.register_at_fork(after_in_child=_begin_anew_in_child)
