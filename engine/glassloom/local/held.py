"""Values that are at hand, such as blocks of persisted collections, go into the tasks that need them: none has to be run to return one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from glassloom.backends.sharing import read_only_view
from glassloom.graph import Graph, HeldValue, Key, Task, resolve


class TaskOfValues(Task):
    """A task that has some of its inputs, by their keys, from the start. It depends on the others."""

    __slots__ = ("values",)

    def __init__(self, task: Task, values: Mapping[Key, Any]) -> None:
        self.key, self.func, self.args, self.kwargs = task.key, task.func, task.args, task.kwargs
        self.deps = tuple(key for key in task.deps if key not in values)
        self.values = {key: values[key] for key in task.deps if key in values}

    def run(self, results: Mapping[Key, Any]) -> Any:
        """Call the function, which gets values at hand as it gets results: it can't change them for others."""
        inputs = {key: read_only_view(value) for key, value in self.values.items()}
        inputs.update(results)
        args = [resolve(arg, inputs) for arg in self.args]
        return self.func(*args, **{name: resolve(value, inputs) for name, value in (self.kwargs or {}).items()})


def with_values(graph: Graph, keys: Iterable[Key]) -> Graph:
    """Return a graph without tasks that only return what is at hand, but for those of `keys`: others' tasks have it."""
    held = {key: task.func.value for key, task in graph.tasks.items() if type(task.func) is HeldValue}
    for key in keys if held else ():
        held.pop(key, None)
    if not held:
        return graph
    tasks = {
        key: task if held.keys().isdisjoint(task.deps) else TaskOfValues(task, held)
        for key, task in graph.tasks.items()
        if key not in held
    }
    return replace(graph, tasks=tasks)
