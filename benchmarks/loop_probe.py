"""How long an event loop is held up by each thing that it runs, by the CPU time of its thread. Used by `benchmarks.jupyter_server`.

A Jupyter server's configuration file calls `install`. On a machine that others use too, answers to pings say how busy that is;
this says how much of it is ours.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

_WRITE_EVERY_S = 1.0
_KEPT = 20


class LoopProbe:
    """The longest run of each kind of callback of the main thread's loop, in seconds."""

    def __init__(self) -> None:
        self.longest_s: dict[str, float] = {}

    def time(self, what: str, took_s: float) -> None:
        """Take one run into account."""
        if took_s > self.longest_s.get(what, 0.0):
            self.longest_s[what] = took_s

    def table(self) -> list[tuple[float, str]]:
        """Return the longest in milliseconds, the longest first."""
        return sorted(((round(1e3 * s, 2), what) for what, s in self.longest_s.copy().items()), reverse=True)[:_KEPT]


def install(path: str) -> None:
    """Time what the loop of this process' main thread runs, and write the longest to a file each second."""
    probe, run, main = LoopProbe(), asyncio.Handle._run, threading.main_thread()

    def timed(handle: asyncio.Handle) -> None:
        if threading.current_thread() is not main:
            run(handle)
            return
        what, before_s = _name_of(handle._callback), time.thread_time()
        run(handle)
        probe.time(what, time.thread_time() - before_s)

    def write() -> None:
        while True:
            time.sleep(_WRITE_EVERY_S)
            Path(path).write_text(json.dumps(probe.table()))

    asyncio.Handle._run = timed  # type: ignore[method-assign]
    threading.Thread(target=write, name="loop-probe", daemon=True).start()


def _name_of(callback: Any) -> str:
    """Return what runs: of a task, the coroutines that await each other."""
    task = getattr(callback, "__self__", None)
    if not isinstance(task, asyncio.Task):
        return str(getattr(callback, "__qualname__", type(callback).__name__))
    names, coroutine = [], task.get_coro()
    while coroutine is not None and hasattr(coroutine, "__qualname__"):
        names.append(coroutine.__qualname__)
        coroutine = getattr(coroutine, "cr_await", None)
    return " > ".join(names)
