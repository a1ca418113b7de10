"""One thread for each call of the linear algebra library (BLAS) while tasks run side by side, all for one that is alone.

The library starts a thread a core for every large product. Called from a thread a core at once, they fight: a QR of
20,000 x 500 in ten blocks takes 12 s instead of 1 s on four cores.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_LIBRARIES = ("openblas", "libmkl_rt", "libblis")
_SYMBOLS = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
)

_lock = threading.Lock()
_n_inside = 0
_limits: list[int] = []
_counts_before: list[int] = []
_lanes: dict[Callable[[], int], int | None] = {}


def watch_lanes(n_busy: Callable[[], int], n_cpus: int | None = None) -> None:
    """Ask `n_busy` from now on how many lanes of a pool have something to do, the one that asks included.

    Parameters
    ----------
    n_cpus
        CPUs that this process may use; BLAS itself counts all that the machine has, whatever a container's quota allows.
    """
    _lanes[n_busy] = n_cpus


def forget_lanes(n_busy: Callable[[], int]) -> None:
    """Take back `watch_lanes`."""
    _lanes.pop(n_busy, None)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread until the last of those who asked for it leaves; in the main thread nothing changes.

    For factorisations: their many small steps wait for each other's threads, so that one of them with a thread a core
    takes ten times as long as with one thread as soon as other programs are busy.
    """
    with _inside(may_be_alone=False):
        yield


@contextmanager
def sharing_blas() -> Iterator[None]:
    """As `one_blas_thread`, but for a lane that is alone as many threads as before, up to the CPUs that this process may use: for
    products.

    What began alone keeps its threads until it returns.
    """
    with _inside(may_be_alone=True):
        yield


@contextmanager
def _inside(may_be_alone: bool) -> Iterator[None]:
    if threading.current_thread() is threading.main_thread():
        yield
        return
    _enter(may_be_alone)
    try:
        yield
    finally:
        _leave()


@contextmanager
def at_most_blas_threads(count: int) -> Iterator[None]:
    """Let each call use so many threads until the last who asked for a number leaves. Of several the newest decides: the number is the
    process', not a thread's.
    """
    with _lock:
        if not _n_inside and not _limits:
            _controls.cache_clear()  # what was imported since may have brought a library of its own, as SciPy does
        _remember_counts()
        _limits.append(count)
        if not _n_inside:
            set_blas_threads(count)
    try:
        yield
    finally:
        with _lock:
            _limits.remove(count)
            _restore_counts()


def set_blas_threads(count: int) -> None:
    """Let each call use so many threads, in all BLAS libraries that are loaded."""
    for _, set_count in _controls():
        set_count(count)


def _enter(may_be_alone: bool) -> None:
    global _n_inside
    with _lock:
        _remember_counts()
        _n_inside += 1
        if not may_be_alone or _n_inside > 1 or any(n_busy() > 1 for n_busy in _lanes):
            set_blas_threads(1)
            return
        most = max((n_cpus for n_cpus in _lanes.values() if n_cpus is not None), default=None)
        if most is not None and not _limits and most < max(_counts_before, default=0):
            set_blas_threads(most)


def _leave() -> None:
    global _n_inside
    with _lock:
        _n_inside -= 1
        _restore_counts()


def _remember_counts() -> None:
    if not _n_inside and not _limits:
        _counts_before[:] = [get_count() for get_count, _ in _controls()]


def _restore_counts() -> None:
    if _n_inside:
        return
    if _limits:
        set_blas_threads(_limits[-1])
        return
    for (_, set_count), count in zip(_controls(), _counts_before, strict=True):
        set_count(count)


@cache
def _controls() -> list[tuple[Callable[[], int], Callable[[int], Any]]]:
    """Return how to get and set the number of threads of each library that this process has loaded."""
    found = []
    for path in _loaded_libraries():
        library = ctypes.CDLL(path)
        for get_name, set_name in _SYMBOLS:
            if hasattr(library, get_name) and hasattr(library, set_name):
                found.append((getattr(library, get_name), getattr(library, set_name)))
                break
    return found


def _loaded_libraries() -> list[str]:
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:  # not Linux: BLAS keeps its own mind
        return []
    paths = {line.split(maxsplit=5)[5] for line in lines if len(line.split(maxsplit=5)) == 6}
    return sorted(path for path in paths if any(name in Path(path).name for name in _LIBRARIES))


def _after_fork() -> None:
    """A forked child has none of its parent's threads, busy as they were."""
    global _lock, _n_inside
    _lock = threading.Lock()
    _n_inside = 0
    _limits.clear()
    _lanes.clear()


os.register_at_fork(after_in_child=_after_fork)
