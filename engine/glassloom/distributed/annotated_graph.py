"""Annotations of Dask's graphs: a submission of ours treats all its tasks alike, so a graph is handed in part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from glassloom.distributed.dask_keys import our_key
from glassloom.graph import Graph, Key, Task

Handling = tuple[tuple[str, Any], ...]
"""Arguments of `annotate`, as pairs."""

OPTIONS = ("priority", "retries", "resources", "workers", "allow_other_workers")


class Part(NamedTuple):
    """Tasks that are treated alike, and those of their results that other parts read or the caller wants."""

    handling: dict[str, Any]
    graph: Graph
    keys: list[Key]


def handlings(dsk: Any) -> dict[Key, dict[str, Any]]:
    """Return how tasks of a graph of Dask's are to be treated, as far as its layers say so.

    Annotations that mean nothing to a scheduler, which users make for themselves, are left out.
    """
    find = getattr(dsk, "__dask_annotations__", None)
    found: dict[Key, dict[str, Any]] = {}
    for name, values in (find() if find is not None else {}).items():
        if name in OPTIONS:
            for key, value in values.items():
                found.setdefault(our_key(key), {})[name] = value
    return found


def in_parts(graph: Graph, annotations: Mapping[Key, Mapping[str, Any]], wanted: set[Key]) -> list[Part]:
    """Return a graph in parts, each after those that it reads from."""
    handling = {key: _frozen(annotations.get(key, {})) for key in graph.tasks}
    stage: dict[Key, int] = {}
    for key, task in _in_order(graph.tasks):
        below = [stage[dep] + (handling[dep] != handling[key]) for dep in task.deps if dep in stage]
        stage[key] = max(below, default=0)
    groups: dict[tuple[int, Handling], dict[Key, Task]] = {}
    for key, task in graph.tasks.items():
        groups.setdefault((stage[key], handling[key]), {})[key] = task
    made_in = {key: group for group, tasks in groups.items() for key in tasks}
    read = set(wanted)
    for key, task in graph.tasks.items():
        read.update(dep for dep in task.deps if made_in.get(dep, made_in[key]) != made_in[key])
    return [
        Part(_thawed(how), Graph(tasks, graph.origins, graph.labels), [key for key in tasks if key in read])
        for (_, how), tasks in sorted(groups.items(), key=lambda group: group[0][0])
    ]


def _frozen(annotations: Mapping[str, Any]) -> Handling:
    return tuple([(name, _hashable(value)) for name, value in sorted(annotations.items())])


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return ("dict", *sorted(value.items()))
    return tuple(value) if isinstance(value, (list, set, frozenset)) else value


def _thawed(handling: Handling) -> dict[str, Any]:
    return {name: dict(value[1:]) if name == "resources" else value for name, value in handling}


def _in_order(tasks: Mapping[Key, Task]) -> Iterator[tuple[Key, Task]]:
    """Yield tasks after those that they read from."""
    done: set[Key] = set()
    stack = [*tasks][::-1]
    while stack:
        key = stack[-1]
        waiting = [dep for dep in tasks[key].deps if dep in tasks and dep not in done] if key not in done else []
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if key not in done:
            done.add(key)
            yield key, tasks[key]
