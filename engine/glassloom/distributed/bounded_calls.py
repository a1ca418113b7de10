"""`bounded`: calls of dask.distributed that wait without end, with one. They run in a thread of their own."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from glassloom._supervision import start_thread

T = TypeVar("T")


def bounded(call: Callable[[], T], timeout_s: float) -> T:
    """Return what `call` returns, or raise what it raises.

    Raises
    ------
    TimeoutError
        If it takes longer. It isn't interrupted: its thread, which doesn't keep the process alive, ends when it does.
    """
    came: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    start_thread(
        "glassloom-bounded", lambda: came.put((call(), None)), on_crash=lambda crash: came.put((None, crash.error))
    )
    try:
        value, error = came.get(timeout=timeout_s)
    except Empty:
        raise TimeoutError(f"no answer within {timeout_s:g} s") from None
    if error is not None:
        raise error
    result: T = value
    return result
