"""Options of libraries that change results, as they are where a graph is handed in: its tasks run with them in other processes.

Each library registers who reads them (`register_options`). Mostly they are what they are by default, and nothing is added to tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from glassloom.graph.graph import Graph
from glassloom.graph.keys import Key
from glassloom.graph.task import Task, TaskRef, resolve
from glassloom.graph.tokenize import tokenize

Call = Callable[[Mapping[str, Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Calls a function with options: of these, the function, its arguments."""


class ReadsOptions(Protocol):
    """Returns the options that aren't the defaults, by name, and what calls a function with them."""

    def __call__(self) -> tuple[Mapping[str, Any], Call]: ...


_readers: list[ReadsOptions] = []


def register_options(read: ReadsOptions) -> ReadsOptions:
    """Declare what reads a library's options. It is asked whenever a graph is made for other processes."""
    _readers.append(read)
    return read


@dataclass(frozen=True)
class _WithOptions:
    """A task's function, called with a library's options as the caller has them."""

    call: Call
    options: tuple[tuple[str, Any], ...]
    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(dict(self.options), self.function, args, kwargs)


def with_callers_options(graph: Graph, *, renames: bool) -> tuple[Graph, Callable[[Key], Key]]:
    """Return a graph whose tasks run with the options that this process has now, and what its keys have become.

    Parameters
    ----------
    renames
        Whether keys say that results are made with options, so that none is taken that was made with others. Those of blocks that are to be
        known by their keys stay.
    """
    found = [(call, tuple(options.items())) for options, call in (read() for read in _readers) if options]
    if not found:
        return graph, _same
    wrapped: dict[int, Callable[..., Any]] = {}  # one for all tasks of a function, by which they are sent together

    def function_of(task: Task) -> Callable[..., Any]:
        known = wrapped.get(id(task.func))
        if known is None:
            known = task.func
            for call, options in found:
                known = _WithOptions(call, options, known)
            wrapped[id(task.func)] = known
        return known

    mark = tokenize([options for _, options in found])[:8] if renames else ""
    keys = {key: _marked(key, mark) for key in graph.tasks}
    refs = _Refs((key, TaskRef(made)) for key, made in keys.items())
    tasks = {
        keys[key]: Task(keys[key], function_of(task), resolve(task.args, refs), resolve(task.kwargs, refs))
        for key, task in graph.tasks.items()
    }
    origins = {**graph.origins, **{layer + mark: origin for layer, origin in graph.origins.items()}}
    labels = {**graph.labels, **{layer + mark: label for layer, label in graph.labels.items()}}
    return Graph(tasks, origins, labels, graph.held), lambda key: keys.get(key, key)


class _Refs(dict[Key, TaskRef]):
    """References to tasks' results by the keys that they had; results that are held keep theirs."""

    def __missing__(self, key: Key) -> TaskRef:
        return TaskRef(key)


def _marked(key: Key, mark: str) -> Key:
    return key + mark if isinstance(key, str) else (f"{key[0]}{mark}", *key[1:])


def _same(key: Key) -> Key:
    return key
