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
from weakref import WeakSet


class _Pause:
    """One that some thread is in. It is known as long as it lives: an interrupt amid the end of one leaves none behind."""

    __slots__ = ("__weakref__",)


_lock = threading.RLock()  # a finalizer that a collection calls may pause, too
_pauses: WeakSet[_Pause] = WeakSet()
_is_off = False
"""Whether the collector was on and is turned off here."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cycle collector, if it is on; reference counting goes on as always. Nests; of several threads, the last resumes it."""
    pause = _Pause()
    try:
        _begin(pause)  # in here: an interrupt may come right after it
        yield
    finally:
        _end(pause)


def _begin(pause: _Pause) -> None:
    global _is_off
    with _lock:
        _pauses.add(pause)
        if gc.isenabled():
            _is_off = True
            gc.disable()


def _end(pause: _Pause) -> None:
    with _lock:
        _pauses.discard(pause)
        _resume_unless_paused()


def _resume_unless_paused() -> None:
    global _is_off
    if _is_off and not _pauses:
        gc.enable()
        _is_off = False


def _begin_anew_in_child() -> None:
    """Resume in a forked child, where the other threads that have paused are gone."""
    global _lock
    _lock = threading.RLock()
    _pauses.clear()
    _resume_unless_paused()


os.register_at_fork(after_in_child=_begin_anew_in_child)
