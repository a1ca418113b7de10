"""Options of other libraries that results depend on, such as pandas': tasks of other processes run with those of the caller.

Options are read when a graph is submitted. Where all are the libraries' defaults, tasks are as they were. Options are of a whole process: tasks with
other ones wait for each other. A task without any, such as one of another client or computation, may run beside in another thread of the same worker,
and sees them. Results that are held, by futures or persisted, are what they were made with: an equal expression gets them whatever the options are now.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from glassloom.graph.graph import Graph
from glassloom.graph.keys import function_label
from glassloom.graph.task import Task

Options = tuple[tuple[str, Any], ...]
"""The names and values of the options that aren't defaults."""
Apply = Callable[[Options], Options]
"""Sets options, and returns those that were there before."""

_readers: list[tuple[Callable[[], Options], Apply]] = []


def register_options(read: Callable[[], Options], apply: Apply) -> None:
    """Make a library's options known.

    Parameters
    ----------
    read
        Returns the options that aren't defaults; it is called for each computation.
    apply
        A function of a module, which tasks call.
    """
    _readers.append((read, apply))


def with_caller_options(graph: Graph) -> Graph:
    """Return a graph whose tasks run with this process's options of other libraries; the same graph if those are the defaults."""
    found = tuple((apply, options) for read, apply in _readers if (options := read()))
    if not found:
        return graph
    made: dict[int, WithOptions] = {}
    tasks: dict[Any, Task] = {}
    for key, task in graph.tasks.items():
        function = made.get(id(task.func))
        if function is None:  # which keeps the task's function alive, so that its id stays its own
            function = made[id(task.func)] = WithOptions(task.func, found)
        tasks[key] = Task(key, function, task.args, task.kwargs)
    return Graph(tasks, graph.origins, graph.labels, graph.held)


class WithOptions:
    """A function that is called with some options set."""

    __slots__ = ("function", "options")

    def __init__(self, function: Callable[..., Any], options: tuple[tuple[Apply, Options], ...]) -> None:
        self.function, self.options = function, options

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        return (WithOptions, (self.function, self.options))

    @property
    def __name__(self) -> str:
        return function_label(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _SET.during(self.options):
            return self.function(*args, **kwargs)


class _OptionsInUse:
    """The options that tasks of this process have set, until the last of them ends. Threads that need other ones wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._options: tuple[tuple[Apply, Options], ...] = ()
        self._before: list[tuple[Apply, Options]] = []
        self._n_tasks = 0

    @contextmanager
    def during(self, options: tuple[tuple[Apply, Options], ...]) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._n_tasks or self._options == options)
            if not self._n_tasks:
                self._options = options
                self._before = [(apply, apply(one)) for apply, one in options]
            self._n_tasks += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_tasks -= 1
                if not self._n_tasks:
                    for apply, before in self._before:
                        apply(before)
                    self._changed.notify_all()


_SET = _OptionsInUse()
