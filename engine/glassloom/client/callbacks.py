"""`UserCallbacks`: calls users' functions one after the other, in a thread of their own. They may wait for results."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from glassloom._supervision import Crash, start_thread

_log = logging.getLogger("glassloom")


class UserCallbacks:
    """A queue of functions, and a thread that is there as long as it has something to call."""

    def __init__(self) -> None:
        self._functions: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self._lock = threading.Lock()
        self._has_thread = False

    def call(self, function: Callable[[], Any]) -> None:
        """Call a function soon, after those that came before. What it raises is logged."""
        self._functions.put(function)
        with self._lock:
            if not self._has_thread:
                start_thread("glassloom-callbacks", self._call_all, on_crash=self._on_crash)
                self._has_thread = True

    def _call_all(self) -> None:
        while True:
            with self._lock:
                try:
                    function = self._functions.get_nowait()
                except Empty:
                    self._has_thread = False
                    return
            try:
                function()
            except Exception:  # the function is the user's
                _log.exception("a callback of a future raised")
            del function  # it may hold a future

    def _on_crash(self, crash: Crash) -> None:
        """Go on with the next: what ended the thread was raised by a user's function, such as SystemExit."""
        _log.error("a callback of a future ended its thread: %s", crash.reason)
        with self._lock:
            self._has_thread = not self._functions.empty()
            if self._has_thread:
                start_thread("glassloom-callbacks", self._call_all, on_crash=self._on_crash)
