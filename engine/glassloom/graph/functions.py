"""What a task can call: ordinary functions and coroutine functions, but no generators."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import types
from collections.abc import Callable
from typing import Any

from glassloom.graph.keys import function_label

_SPECIAL = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
"""What marks the code of functions that don't simply return."""


def task_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a task calls for a user's function: itself, or for a coroutine function one that runs it to its end.

    Raises
    ------
    TypeError
        If it is a generator function: its result can't be kept, or sent to another process.
    """
    if type(function) is types.FunctionType and not function.__code__.co_flags & _SPECIAL and not function.__dict__:
        return function  # most of them
    call = function if inspect.isroutine(function) else inspect.getattr_static(type(function), "__call__", None)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        return CoroutineCall(function)
    for kind in (function, call):
        if inspect.isgeneratorfunction(kind) or inspect.isasyncgenfunction(kind):
            name = function_label(function)
            raise TypeError(
                f"{name} is a generator function, and a generator can't be kept as a result; return a list instead, or "
                f"make a task of each part"
            )
    return function


class CoroutineCall:
    """Calls a coroutine function in an event loop of its own, in the thread of the task."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function_label(function)
        self.__module__ = getattr(function, "__module__", None) or ""  # the user's, for names of layers
        self.__wrapped__ = function

    def __glassloom_tokenize__(self) -> Any:
        return ("coroutine", self.function)

    def __reduce__(self) -> Any:
        return CoroutineCall, (self.function,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _has_running_loop():
            return asyncio.run(self._run(args, kwargs))
        return _call_in_thread(lambda: asyncio.run(self._run(args, kwargs)))

    async def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return await self.function(*args, **kwargs)


def _has_running_loop() -> bool:
    """Whether this thread runs an event loop, as a notebook's main thread does under the synchronous scheduler."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _call_in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own with the caller's context; return or raise what it does."""
    outcome: list[Any] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.append((True, context.run(function)))
        except BaseException as error:  # the user's code raised it: it is raised again in the caller's thread
            outcome.append((False, error))

    thread = threading.Thread(target=run, name="glassloom-coroutine")
    thread.start()
    thread.join()
    is_result, value = outcome[0]
    if is_result:
        return value
    raise value
