"""Which runtime runs a computation: the one asked for, the current client, or threads. Runs nothing itself."""

from __future__ import annotations

import contextvars
import importlib
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, runtime_checkable

from glassloom import config
from glassloom.errors import OptionError
from glassloom.graph import Graph, Key

T = TypeVar("T")


@runtime_checkable
class Runtime(Protocol):
    """Something that can run a graph."""

    shares_memory: bool
    """Whether tasks run in the caller's process, so that they can write to an array of the caller's."""

    @property
    def process_memory_bytes(self) -> int | None:
        """What the process that may use least memory of those that run tasks may use, in bytes.

        None if that isn't known, or if the processes are on several machines, so that they can't map the same memory.
        """

    def get(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        """Run the graph and return the results of `keys`, in order. Raises the first failing task's exception."""

    def hold(self, graph: Graph, keys: Sequence[Key]) -> Mapping[Key, Any]:
        """Run the graph and return what keeps each result: its value, or a `Future` of it."""


_ALIASES = {
    "inline": "synchronous",
    "sync": "synchronous",
    "single-threaded": "synchronous",
    "threading": "threads",
    "multiprocessing": "processes",
}
"""Other names that they are known by, in Dask too."""

_named: dict[str, Callable[[], Runtime]] = {}
_modules: dict[str, str] = {}
_newest: list[Runtime] = []
"""The runtime set last, if there is one. It is kept alive, so that a `Client()` that isn't bound to a name can be used."""
_earlier: list[weakref.ref[Runtime]] = []
"""Those set before and not unset, oldest first. A client that nothing else refers to is closed when another takes its place."""
_in_task: contextvars.ContextVar[Runtime | None] = contextvars.ContextVar("glassloom_runtime_of_task", default=None)


def register_runtime(name: str, make: Callable[[], Runtime]) -> None:
    """Make a runtime known by name."""
    _named[name] = make


def load_runtime_later(name: str, module: str) -> None:
    """Promise that importing `module` registers the runtime called `name`; it is imported when that is asked for."""
    if name not in _named:
        _modules[name] = module


def set_current(runtime: Runtime) -> None:
    """Let `runtime` run what doesn't say where; the last one set that is not yet unset counts.

    It is kept alive until another takes its place; from then on only as long as something else refers to it.
    """
    unset_current(runtime)
    before, _newest[:] = _newest[:], [runtime]
    _earlier.extend(map(weakref.ref, before))


def unset_current(runtime: Runtime) -> None:
    """Take back `set_current`; nothing happens if it wasn't set."""
    _earlier[:] = [ref for ref in _earlier if (other := ref()) is not None and other is not runtime]
    if runtime in _newest:
        _newest[:] = [other for ref in _earlier[-1:] if (other := ref()) is not None]
        del _earlier[-1:]


def current() -> Runtime | None:
    """Return the runtime set last, or None."""
    return _in_task.get() or (_newest[0] if _newest else None)


def latest(kind: type[T]) -> T | None:
    """Return the newest runtime of a kind that was set and isn't unset, whatever the calling task computes with."""
    everyone = (*_newest, *(ref() for ref in reversed(_earlier)))
    return next((runtime for runtime in everyone if isinstance(runtime, kind)), None)


def _forget_in_child() -> None:
    """A forked child has no threads that its parent's runtimes could use: it computes on threads of its own."""
    _newest.clear()
    _earlier.clear()


@contextmanager
def running_on(runtime: Runtime) -> Iterator[None]:
    """Let `runtime` run what the calling thread computes meanwhile."""
    token = _in_task.set(runtime)
    try:
        yield
    finally:
        _in_task.reset(token)


def choose_runtime(scheduler: str | Runtime | None) -> Runtime:
    """Return the runtime that `scheduler` names.

    None stands for the first of these that there is: what the calling task computes with, the option
    ``compute.scheduler``, the current client, threads.

    Raises
    ------
    OptionError
        If there is no such runtime.
    """
    if scheduler is None:
        scheduler = _in_task.get() or config.get("compute.scheduler") or current() or "threads"
    if isinstance(scheduler, str):
        name = _ALIASES.get(scheduler, scheduler)
        if name in _modules:
            importlib.import_module(_modules.pop(name))
        if name in _named:
            return _named[name]()
    elif isinstance(scheduler, Runtime):
        return scheduler
    names = ", ".join(map(repr, sorted({*_named, *_modules})))
    raise OptionError(
        f"scheduler={scheduler!r} is none of {names} and no Client; to compute on a cluster, make a Client() first: "
        "collections then run there, and scheduler=client says so explicitly"
    )


def run_inside_task(runtime: Runtime) -> None:
    """Let `runtime` run what the calling thread's tasks compute: a task must not wait for the pool that it occupies."""
    _in_task.set(runtime)


def refuse_held(graph: Graph) -> None:
    """Raise if the graph builds on results that only a cluster holds: this process can't reach them."""
    if graph.held:
        raise OptionError(
            f"the blocks of a persisted collection (such as {next(iter(graph.held))!r}) are held by a cluster; "
            "compute with its client, not with scheduler='threads' or 'synchronous'"
        )


os.register_at_fork(after_in_child=_forget_in_child)
