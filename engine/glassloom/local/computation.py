"""`Computation`: one call of `get` or `hold` on threads: what is asked for, how its caller waits, and what came of it.

The caller may be interrupted (Ctrl-C) at any place, so it changes nothing that others use. It fills in a computation,
posts it to the pool, and waits for one lock. Another lock, held as long as the caller waits, tells the pool when it
has stopped waiting: leaving a ``with`` block of a lock is one step of the interpreter, before which no interrupt comes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from glassloom._waiting import acquire
from glassloom.errors import GraphError
from glassloom.graph import Graph, Key, Task, key_text
from glassloom.graph.run_info import RunInfo
from glassloom.protocol import failure
from glassloom.protocol.annotations import Annotations

TaskError = tuple[Key, str, BaseException]
"""A task's key, the user's line that built it, and what it raised."""

_NO_INFO = RunInfo("compute")


class Computation:
    """The scheduler's client for one graph.

    Parameters
    ----------
    graph
        The tasks.
    keys
        Whose results are asked for.
    annotations
        How the tasks are to be treated.
    info
        Where it was asked for.
    """

    def __init__(self, graph: Graph, keys: Sequence[Key], annotations: Annotations, info: RunInfo = _NO_INFO) -> None:
        self.tasks: dict[Key, Task] = graph.tasks
        self.deps = _positions(graph)
        self.keys = _distinct(keys, graph)
        self.annotations = annotations
        self.labels = graph.layer_texts()
        self.run_info = info
        self.n_open = len(self.keys)
        """Results that are still missing. The pool's, under its lock."""
        self._values: list[Any] = []
        self._task_error: TaskError | None = None
        self._error: BaseException | None = None
        self._is_awaited = threading.Lock()
        self._is_done = threading.Lock()
        self._is_done.acquire()

    @property
    def is_abandoned(self) -> bool:
        """Whether the caller doesn't wait any more. It begins to wait before the pool learns of the computation."""
        return not self._is_awaited.locked()

    def wait(self, post: Callable[[Computation], None]) -> list[Any]:
        """Hand the computation to the pool by `post`, wait until it has ended, and return the results in the order of `keys`.

        Raises the first failing task's exception, or the reason why the pool can't go on.
        """
        with self._is_awaited:
            post(self)
            acquire(self._is_done)
        values, self._values = self._values, []
        task_error, self._task_error = self._task_error, None  # the error's frames go with the error
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
            if task_error is not None:
                key, origin, raised = task_error
                raise failure.harmless(failure.annotate(raised, key_text(key), origin))
            return values
        finally:
            raised = error = task_error = None  # type: ignore[assignment]  # else these frames and the error hold each other

    def succeed(self, values: list[Any]) -> None:
        """Wake the caller with results. This and the next two end the computation; the pool calls one of them, once."""
        self._values = values
        self._is_done.release()

    def fail(self, error: TaskError) -> None:
        """Wake the caller with a task's exception."""
        self._task_error = error
        self._is_done.release()

    def refuse(self, error: BaseException) -> None:
        """Wake the caller with the reason why the graph can't be run."""
        self._error = error
        self._is_done.release()


def _distinct(keys: Sequence[Key], graph: Graph) -> list[Key]:
    """Return the keys that are asked for, each once."""
    distinct = list(graph.tasks)
    if distinct == keys:  # all, as for independent calls: then it is known without hashing them again
        return distinct
    distinct = list(dict.fromkeys(keys))
    unknown = [key for key in distinct if key not in graph.tasks]
    if unknown:
        raise GraphError(f"the caller asks for {unknown[0]!r}, which no task makes; the graph has {len(graph)} tasks")
    return distinct


def _positions(graph: Graph) -> Sequence[Sequence[int]]:
    """Return the dependencies of each task as positions in the graph."""
    below = [task.deps for task in graph.tasks.values()]
    if not any(below):
        return below  # type: ignore[return-value]  # no key is in it
    positions = {key: position for position, key in enumerate(graph.tasks)}
    try:
        return [[positions[dep] for dep in deps] for deps in below]
    except KeyError as error:
        raise GraphError(
            f"a task needs {error.args[0]!r}, which no task makes; the graph has {len(positions)} tasks"
        ) from None
