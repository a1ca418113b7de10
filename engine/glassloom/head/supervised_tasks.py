"""The asyncio tasks of one owner: kept, because the event loop holds tasks only weakly, and supervised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from glassloom._supervision import OnCrash, start_task


class SupervisedTasks:
    """A set of tasks that are running.

    Parameters
    ----------
    on_crash
        Called in the event loop with what a task raised, unless it was started with a handler of its own.
    """

    def __init__(self, on_crash: OnCrash) -> None:
        self._on_crash = on_crash
        self._running: set[asyncio.Task[None]] = set()

    def start(self, name: str, work: Coroutine[Any, Any, None], *, on_crash: OnCrash | None = None) -> None:
        """Run something until it returns, or `cancel` is called."""
        task = start_task(name, work, on_crash=on_crash or self._on_crash)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def start_in_thread(self, name: str, function: Callable[..., Any], *args: Any, on_crash: OnCrash) -> None:
        """Call a function that takes time in another thread; what it returns is not wanted."""

        async def call() -> None:
            await asyncio.to_thread(function, *args)

        self.start(name, call(), on_crash=on_crash)

    def cancel(self) -> None:
        """Cancel all tasks."""
        for task in self._running:
            task.cancel()
