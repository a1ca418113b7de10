"""What a thread of a worker knows of the task that it runs. In any other thread there is nothing to know."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from glassloom.protocol.options import WorkerOptions


@dataclass
class TaskThread:
    """A worker's thread: which task it runs, and how that leaves its place among the running ones.

    ``leave`` and ``enter`` are the worker's: they give the place to another task, and take one again; ``enter`` waits for
    it or makes one task too many run for a while.
    """

    leave: Callable[[TaskThread], None]
    enter: Callable[[TaskThread, bool], None]
    number: int = -1
    priority: int = 0
    is_aside: bool = False
    """Whether the task runs beside those that are counted."""


_threads = threading.local()
_worker: list[WorkerOptions] = []


def be_worker(options: WorkerOptions) -> None:
    """This process is a worker from now on."""
    _worker[:] = [options]


def worker_here() -> WorkerOptions | None:
    """Return the options of the worker that this process is, or None."""
    return _worker[0] if _worker else None


def run_tasks_in(thread: TaskThread) -> None:
    """The calling thread runs tasks from now on."""
    _threads.thread = thread


def task_thread() -> TaskThread | None:
    """Return what the calling thread knows of the task that it runs; None if it runs none."""
    return getattr(_threads, "thread", None)


@contextmanager
def standing_aside() -> Iterator[None]:
    """Let other tasks run in the place of this one meanwhile. Nothing happens outside tasks, or if it left already."""
    thread = leave_place()
    try:
        yield
    finally:
        if thread is not None:
            thread.enter(thread, True)


def leave_place() -> TaskThread | None:
    """Let other tasks run in the place of the calling thread's; return the thread if that has to come back."""
    thread = task_thread()
    if thread is None or thread.is_aside:
        return None
    thread.leave(thread)
    return thread
