"""Waiting, written once for threads that block and for coroutines in an event loop.

What has to wait is written as a generator of `WaitFor`s, its *steps*; `run_sync` carries it on in a thread, `run_async` in an
event loop. A thread that runs a task gives its place to another task meanwhile, if the wait says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Generator
from typing import NamedTuple, TypeVar

from glassloom_metrics.time_limit import time_limit

from glassloom._waiting import acquire
from glassloom.client.deadline import Deadline
from glassloom.graph.options_in_use import IN_USE
from glassloom.protocol.tracebacks import drop_engine_frames
from glassloom.worker.task_context import TaskThread, secede_here, task_thread

T = TypeVar("T")

WATCH_S = 1.0
"""How often a wait is interrupted to see whether what it waits for can still happen."""


PATIENCE_S = 1.0
"""How long a task keeps its place while it waits for what mostly comes at once."""


class Signal:
    """A flag that is set once, with callbacks for threads and event loops. Thread-safe."""

    __slots__ = ("_callbacks", "_is_set", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[Callable[[], None], None] = {}
        self._is_set = False

    @property
    def is_set(self) -> bool:
        """Whether it was set."""
        return self._is_set

    def set(self) -> None:
        """Set the flag and call its callbacks, in the calling thread."""
        with self._lock:
            self._is_set = True
            callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks:
            callback()

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the flag is set, in the thread that sets it; at once if it is set already."""
        with self._lock:
            if not self._is_set:
                self._callbacks[callback] = None
                return
        callback()

    def remove_callback(self, callback: Callable[[], None]) -> None:
        """Take back `add_callback`."""
        with self._lock:
            self._callbacks.pop(callback, None)


class WaitFor(NamedTuple):
    """What steps wait for. They are sent whether it has happened in time.

    ``for_tasks`` says that it may take other tasks to make it happen: a task that waits must not be in their way. It seldom does if
    ``keeps_place``: then a task leaves its place only after `PATIENCE_S` seconds. ``watch`` is called every `WATCH_S` seconds
    meanwhile, in the waiting thread or event loop; what it raises ends the wait.
    """

    signal: Signal
    timeout_s: float | None = None
    for_tasks: bool = False
    watch: Callable[[], None] | None = None
    keeps_place: bool = False

    def next_pause_s(self, deadline: Deadline) -> float | None:
        """Return how long to wait in one piece; None: until it happens."""
        left_s = deadline.left_s
        if self.watch is None:
            return left_s
        return WATCH_S if left_s is None else min(left_s, WATCH_S)


Operation = Generator[WaitFor, bool, T]


def until(signal: Signal, timeout_s: float | None = None) -> Operation[bool]:
    """Wait for a signal; return whether it was set in time."""
    return (yield WaitFor(signal, timeout_s))


def run_sync(steps: Operation[T]) -> T:
    """Carry on `steps` in this thread, which blocks while they wait; return their result."""
    try:
        wait = next(steps)
        while True:
            try:
                happened = _wait_in_thread(wait)
            except BaseException as error:  # such as KeyboardInterrupt: the steps clean up
                wait = steps.throw(error)
            else:
                wait = steps.send(happened)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_async(steps: Operation[T]) -> T:
    """Carry on `steps` in the running event loop, which goes on with other things while they wait."""
    try:
        wait = next(steps)
        while True:
            try:
                happened = await _wait_in_loop(wait)
            except BaseException as error:  # such as CancelledError: the steps clean up
                wait = steps.throw(error)
            else:
                wait = steps.send(happened)
    except StopIteration as end:
        result: T = end.value
        return result
    except BaseException as error:
        drop_engine_frames(error)  # after this only frames of what awaits are added
        raise


def _wait_in_thread(wait: WaitFor) -> bool:
    if wait.signal.is_set:
        return True
    if not wait.for_tasks:
        return _wait_for_signal(wait, None)
    if wait.keeps_place and task_thread() is not None:
        first_s = PATIENCE_S if wait.timeout_s is None else min(wait.timeout_s, PATIENCE_S)
        if _wait_for_signal(WaitFor(wait.signal, first_s), None):
            return True
        wait = wait._replace(timeout_s=None if wait.timeout_s is None else wait.timeout_s - first_s)
    with IN_USE.set_aside():
        return _wait_for_signal(wait, secede_here())


def _wait_for_signal(wait: WaitFor, thread: TaskThread | None) -> bool:
    signal = wait.signal
    gate = threading.Lock()  # not an Event: an interrupt in the middle of its methods can leave it broken
    gate.acquire()
    happened = False
    try:
        signal.add_callback(gate.release)
        happened = _pass(gate, wait)
    finally:
        signal.remove_callback(gate.release)
        if thread is not None:
            thread.rejoin(thread, happened)  # who runs out of time doesn't wait for a place besides
    return happened


def _pass(gate: threading.Lock, wait: WaitFor) -> bool:
    """Wait until the gate is open; return False after the timeout."""
    deadline = Deadline(wait.timeout_s)
    while True:
        pause_s = wait.next_pause_s(deadline)
        if acquire(gate, pause_s):
            return True
        if deadline.is_over:
            return False
        if wait.watch is not None:
            wait.watch()


async def _wait_in_loop(wait: WaitFor) -> bool:
    signal = wait.signal
    if signal.is_set:
        return True
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(arrived.set)

    signal.add_callback(wake)
    deadline = Deadline(wait.timeout_s)
    try:
        while True:
            try:
                async with time_limit(wait.next_pause_s(deadline)):
                    await arrived.wait()
                return True
            except TimeoutError:
                if deadline.is_over:
                    return signal.is_set
            if wait.watch is not None:
                wait.watch()
    finally:
        signal.remove_callback(wake)
