"""Waiting, written once for threads that block and for coroutines in an event loop.

What has to wait is written as a generator of `Wait`s, its *steps*; `block` carries it on in a thread, `carry_on` in an
event loop. A thread that runs a task gives its place to another task meanwhile, if the wait says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Generator
from typing import NamedTuple, TypeVar

from glassloom.worker.task_context import leave_place

T = TypeVar("T")


class Signal:
    """Something that happens once. Thread-safe."""

    __slots__ = ("_callbacks", "_happened", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[Callable[[], None], None] = {}
        self._happened = False

    @property
    def happened(self) -> bool:
        """Whether it has happened."""
        return self._happened

    def happen(self) -> None:
        """It happens now: call whoever wants to know."""
        with self._lock:
            self._happened = True
            callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks:
            callback()

    def when(self, callback: Callable[[], None]) -> None:
        """Call `callback` when it happens, from the thread in which it does; at once if it has already."""
        with self._lock:
            if not self._happened:
                self._callbacks[callback] = None
                return
        callback()

    def forget(self, callback: Callable[[], None]) -> None:
        """Take back `when`."""
        with self._lock:
            self._callbacks.pop(callback, None)


class Wait(NamedTuple):
    """What steps wait for. They are sent whether it has happened in time.

    ``for_tasks`` says that it may take other tasks to make it happen: a task that waits must not be in their way.
    """

    signal: Signal
    timeout_s: float | None = None
    for_tasks: bool = False


Steps = Generator[Wait, bool, T]


def block(steps: Steps[T]) -> T:
    """Carry on `steps` in this thread, which blocks while they wait; return their result."""
    try:
        wait = next(steps)
        while True:
            try:
                happened = _happens(wait)
            except BaseException as error:  # such as KeyboardInterrupt: the steps clean up
                wait = steps.throw(error)
            else:
                wait = steps.send(happened)
    except StopIteration as end:
        result: T = end.value
        return result


async def carry_on(steps: Steps[T]) -> T:
    """Carry on `steps` in the running event loop, which goes on with other things while they wait."""
    try:
        wait = next(steps)
        while True:
            try:
                happened = await _arrives(wait)
            except BaseException as error:  # such as CancelledError: the steps clean up
                wait = steps.throw(error)
            else:
                wait = steps.send(happened)
    except StopIteration as end:
        result: T = end.value
        return result


def _happens(wait: Wait) -> bool:
    signal = wait.signal
    if signal.happened:
        return True
    awake = threading.Event()
    signal.when(awake.set)
    thread = leave_place() if wait.for_tasks else None
    happened = False
    try:
        happened = awake.wait(wait.timeout_s)
    finally:
        signal.forget(awake.set)
        if thread is not None:
            thread.enter(thread, happened)  # who runs out of time doesn't wait for a place besides
    return happened


async def _arrives(wait: Wait) -> bool:
    signal = wait.signal
    if signal.happened:
        return True
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(arrived.set)

    signal.when(wake)
    try:
        async with asyncio.timeout(wait.timeout_s):
            await arrived.wait()
    except TimeoutError:
        return signal.happened
    finally:
        signal.forget(wake)
    return True
