"""Supervision: a thread or asyncio task of the engine's own that raises is noticed, and its owner ends with a reason.

Every thread and asyncio task that the engine starts goes through `start_thread` or `start_task`. What they run should
not raise. If it does all the same, `on_crash` gets a `Crash`: a worker ends its process, the head ends its cluster, a
client closes its connection. Nothing stops silently while others wait for it.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Crash:
    """What ended a supervised thread or task.

    Attributes
    ----------
    name
        Of the thread or task.
    error
        What it raised.
    """

    name: str
    error: BaseException

    @property
    def reason(self) -> str:
        """One line for people: what crashed, and why."""
        return f"{self.name} crashed: {type(self.error).__name__}: {self.error}"

    @property
    def traceback(self) -> str:
        """The traceback as text."""
        return "".join(traceback.format_exception(self.error))


OnCrash = Callable[[Crash], None]
"""Called in the thread, or in the event loop, that crashed. It must not raise and must not wait."""


def start_thread(
    name: str, function: Callable[..., None], *args: Any, on_crash: OnCrash, daemon: bool = True
) -> threading.Thread:
    """Start a thread that calls ``function(*args)``; return it.

    Parameters
    ----------
    name
        Of the thread, in debuggers, stacks and crash reports.
    on_crash
        Called in that thread with what `function` raised, if it raises.
    """

    def run() -> None:
        try:
            function(*args)
        except BaseException as error:  # whatever it is, somebody depends on this thread
            on_crash(Crash(name, error))

    thread = threading.Thread(target=run, name=name, daemon=daemon)
    thread.start()
    return thread


def start_task(name: str, coroutine: Coroutine[Any, Any, None], *, on_crash: OnCrash) -> asyncio.Task[None]:
    """Start an asyncio task in the running event loop; return it.

    Cancelling it is no crash. Whoever starts a task keeps the returned object: the event loop holds tasks only weakly.
    """

    async def run() -> None:
        try:
            await coroutine
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # whatever it is, somebody depends on this task
            on_crash(Crash(name, error))

    return asyncio.get_running_loop().create_task(run(), name=name)
