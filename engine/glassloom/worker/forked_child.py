"""What becomes of the child of a task that calls `os.fork`: it is no worker, and leaves as soon as the task's code ends there.

The child has a copy of the worker's memory and of the one thread that forked. Its copy of the socket is closed at once,
so that nothing it does can reach the head in the worker's name.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from glassloom._ownership import exit_forked_child

child_pids: list[int] = []
"""The pid of this process if it is such a child; nothing in a worker."""


def on_fork(in_child: Callable[[], None]) -> None:
    """Have `in_child` called in each child of this process, in its only thread, before the code that forked goes on."""

    def note() -> None:
        child_pids.append(os.getpid())
        in_child()

    os.register_at_fork(after_in_child=note)


def leave_if_child(error: BaseException | None = None) -> None:
    """End this process if it is the forked child of a task, as if the task's code had been the whole program.

    Parameters
    ----------
    error
        What that code has raised; None if it has returned.
    """
    if child_pids:
        exit_forked_child(error)
