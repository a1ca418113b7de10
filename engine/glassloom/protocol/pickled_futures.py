"""Which futures a pickle contains: those of a task's call and literals become dependencies of the task.

A future is pickled as the cluster and the key. Nothing in the pickle itself holds the result.
"""

from __future__ import annotations

import threading

from glassloom.graph import Key

NotedFutures = dict[tuple[str, Key], None]
"""Cluster ids and keys of futures, in the order in which they were pickled."""

_MARK = b"attach_pickled_future"
"""The name of the function that every pickled future refers to."""

_thread = threading.local()


class noting_futures:  # noqa: N801 - reads like a function; a class costs each `submit` less than a generator
    """Add the futures that the calling thread pickles inside `with` to `noted`."""

    __slots__ = ("_before", "_noted")

    def __init__(self, noted: NotedFutures) -> None:
        self._noted = noted

    def __enter__(self) -> None:
        self._before: NotedFutures | None = getattr(_thread, "noted", None)
        _thread.noted = self._noted

    def __exit__(self, *_: object) -> None:
        _thread.noted = self._before


def note_pickled(cluster_id: str, key: Key) -> bool:
    """A future is being pickled by the calling thread; return whether that notes its futures."""
    noted: NotedFutures | None = getattr(_thread, "noted", None)
    if noted is None:
        return False
    noted[cluster_id, key] = None
    return True


def may_have_futures(data: bytes) -> bool:
    """Tell whether there may be a future in a pickle: False is certain."""
    return _MARK in data
