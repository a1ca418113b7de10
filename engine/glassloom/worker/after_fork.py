"""What a worker's process does right after its fork: renew what no two processes may share, such as random numbers' state."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

_callbacks: list[Callable[[], Any]] = []


def after_worker_fork(callback: Callable[[], Any]) -> Callable[[], Any]:
    """Have a function called in each new worker's process, before its first task. Returns the function.

    It runs in the only thread of the process. To be known there it must be registered when the fork server has imported
    the module that registers it, which is before the first fork. A callback that is registered twice is called once.
    """
    if callback not in _callbacks:
        _callbacks.append(callback)
    return callback


def run_after_fork() -> None:
    """Call what is registered, in the order of registration."""
    for callback in _callbacks:
        callback()


@after_worker_fork
def reseed() -> None:
    """Seed the global random numbers of Python and NumPy anew. The fork server's state would be that of all its workers.

    Python does so by itself, but only for its own generator. NumPy's is left alone where nothing has imported it:
    it is seeded when it is.
    """
    random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
