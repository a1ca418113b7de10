"""Which futures a pickle contains: those of a task's call and literals become dependencies of the task.

A future is pickled as the cluster and the key. Nothing in the pickle itself holds the result.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from glassloom.graph import Key

NotedFutures = dict[tuple[str, Key], None]
"""Cluster ids and keys of futures, in the order in which they were pickled."""

_MARK = b"attach_pickled_future"
"""The name of the function that every pickled future refers to."""

_thread = threading.local()


@contextmanager
def noting_futures(noted: NotedFutures) -> Iterator[None]:
    """Add the futures that the calling thread pickles meanwhile to `noted`."""
    before = getattr(_thread, "noted", None)
    _thread.noted = noted
    try:
        yield
    finally:
        _thread.noted = before


def note_pickled(cluster_id: str, key: Key) -> None:
    """A future is being pickled by the calling thread."""
    noted: NotedFutures | None = getattr(_thread, "noted", None)
    if noted is not None:
        noted[cluster_id, key] = None


def may_have_futures(data: bytes) -> bool:
    """Tell whether there may be a future in a pickle: False is certain."""
    return _MARK in data
