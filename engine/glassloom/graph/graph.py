"""A graph: tasks by key, and what is known of their layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from glassloom.errors import GraphError
from glassloom.graph.keys import Key
from glassloom.graph.origin import Origin
from glassloom.graph.task import Task


@dataclass
class Graph:
    """Tasks by key; `origins` names the user's line for layers that have one, `labels` what a layer is called if not
    by its key.

    References to keys that are not in `tasks` are allowed only for results that the runtime already holds.
    """

    tasks: dict[Key, Task] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    held: frozenset[Key] = frozenset()
    """Keys that the graph refers to and does not make: a cluster holds their results."""

    def __len__(self) -> int:
        return len(self.tasks)

    def layer_texts(self) -> dict[str, tuple[str, str]]:
        """Return, for each layer of which something is known, its label (or ``""``) and the user's line as text."""
        layers = self.labels.keys() | self.origins.keys()
        lines = {layer: str(self.origins.get(layer, "")) for layer in layers}
        return {layer: (self.labels.get(layer, ""), lines[layer]) for layer in layers}

    def add(self, tasks: Mapping[Key, Task]) -> None:
        """Add tasks; a key that is already there keeps its task (equal keys mean equal results)."""
        for key, task in tasks.items():
            self.tasks.setdefault(key, task)


def cull(graph: Graph, keys: Iterable[Key], known: frozenset[Key] | set[Key] = frozenset()) -> Graph:
    """Return the part of `graph` that `keys` need.

    Parameters
    ----------
    known
        Keys whose results the runtime already holds.

    Raises
    ------
    GraphError
        If a task needs a key that neither the graph makes nor the runtime holds.
    """
    tasks = graph.tasks
    wanted: dict[Key, Task] = {}
    stack: list[Key] = list(keys)
    stack.reverse()  # so that tasks stay in the order in which they are asked for
    while stack:
        key = stack.pop()
        if key in wanted or key in known:
            continue
        task = tasks.get(key)
        if task is None:
            raise GraphError(
                f"{_who_needs(key, wanted)} {key!r}, which no task makes; the graph has {len(tasks)} tasks"
            )
        wanted[key] = task
        stack.extend(reversed(task.deps))
    return Graph(wanted, graph.origins, graph.labels, frozenset(known))


def _who_needs(key: Key, tasks: Mapping[Key, Task]) -> str:
    for dependent, task in tasks.items():
        if key in task.deps:
            return f"task {dependent!r} needs"
    return "the caller asks for"
