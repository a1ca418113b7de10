"""What a thread of a worker knows of the task that it runs. In any other thread there is nothing to know."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from glassloom.graph.caller_options import note_task_thread
from glassloom.graph.options_in_use import IN_USE
from glassloom.protocol.options import WorkerOptions


@dataclass
class TaskThread:
    """A worker's thread: which task it runs, and how that leaves its place among the running ones.

    ``secede`` and ``rejoin`` are the worker's: they give the place to another task, and take one again; ``rejoin`` waits for
    it or makes one task too many run for a while.
    """

    secede: Callable[[TaskThread], None]
    rejoin: Callable[[TaskThread, bool], None]
    number: int = -1
    priority: int = 0
    started_s: float = math.inf
    """When it took the task; infinity while it runs none. It is set before `number`."""
    has_seceded: bool = False
    """Whether the task runs beside those that are counted."""
    begun_s: float = math.inf
    """When it began what it runs: a task, or some of a slice; or when that went on after it had seceded."""
    busy_s: float = 0.0
    """How long what it ran before has taken."""
    ident: int = field(default_factory=threading.get_ident)
    """Python's identifier of the thread, in which this is made."""

    def end(self, now_s: float) -> None:
        """It has run what it had to, or stops counting."""
        if not self.has_seceded:
            self.busy_s += now_s - self.begun_s


class _Threads(threading.local):
    """What each thread knows of the task that it runs: to look for what isn't there would take longer."""

    thread: TaskThread | None = None


_threads = _Threads()
_worker: list[WorkerOptions] = []


def set_worker(options: WorkerOptions) -> None:
    """This process is a worker from now on."""
    _worker[:] = [options]


def current_worker() -> WorkerOptions | None:
    """Return the options of the worker that this process is, or None."""
    return _worker[0] if _worker else None


def set_task_thread(thread: TaskThread) -> None:
    """The calling thread runs tasks from now on."""
    _threads.thread = thread
    note_task_thread()


def task_thread() -> TaskThread | None:
    """Return what the calling thread knows of the task that it runs; None if it runs none."""
    return _threads.thread


@contextmanager
def seceded_meanwhile() -> Iterator[None]:
    """Let other tasks run in the place of this one meanwhile. Nothing happens outside tasks, or if it left already."""
    thread = secede_here()
    try:
        yield
    finally:
        if thread is not None:
            rejoin_here(thread)


@contextmanager
def waiting_meanwhile() -> Iterator[None]:
    """Let other tasks run in the place of this one, which only waits meanwhile, whichever options of other libraries they need."""
    with IN_USE.set_aside(), seceded_meanwhile():
        yield


def rejoin_here(thread: TaskThread) -> None:
    """Wait for a place of the calling thread's task among the running ones."""
    with IN_USE.set_aside():  # those that run may wait for it to have no options
        thread.rejoin(thread, True)


def secede_here() -> TaskThread | None:
    """Let other tasks run in the place of the calling thread's; return the thread if that has to come back."""
    thread = task_thread()
    if thread is None or thread.has_seceded:
        return None
    thread.secede(thread)
    return thread


def _forget_in_child() -> None:
    """The thread goes on in a child that its task forked, but runs no task of the worker's there: it has no place to leave."""
    vars(_threads).clear()


os.register_at_fork(after_in_child=_forget_in_child)
