"""From a graph of Dask's to one of ours. Runs nothing, and asks no cluster.

A task of Dask's is a call whose arguments may be references, containers of them, or tasks in their turn. The first two are
arguments of our tasks as they are. A task inside a task goes along whole, as one argument of a task that runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dask import _task_spec as spec

from glassloom.distributed.dask_keys import our_key
from glassloom.errors import GraphError
from glassloom.graph import Graph, Handle, Key, Origin, Task, TaskRef, key_layer

DaskKey = Any
_CONTAINERS: dict[type, type] = {spec.List: list, spec.Tuple: tuple, spec.Set: set}
_LITERALS = frozenset([int, float, bool, str, bytes, type(None), list, tuple, dict, slice])
"""Types of arguments that refer to nothing, whatever is inside: Dask has containers of its own for those that do."""


_SEALED = frozenset([list, tuple, dict, set])


class Sealed:
    """A container that holds no references: nobody needs to look inside."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        return Sealed, (self.value,)


def opened(sealed: Sealed) -> Any:
    """Return what was sealed: the task of a value."""
    return sealed.value


def same(value: Any) -> Any:
    """Return `value`: the task of a value."""
    return value


def run_node(node: spec.GraphNode, names: tuple[DaskKey, ...], *values: Any) -> Any:
    """Run a task that has tasks inside; `values` are the results that it refers to by `names`."""
    return node(dict(zip(names, values, strict=True)))


class _NestedTask(Exception):
    """An argument has a task inside."""


class Converted(NamedTuple):
    """A graph, and for each key of Dask's that was asked for the key of ours that has its result."""

    graph: Graph
    keys: dict[DaskKey, Key]


def materialised(graph: Any) -> dict[DaskKey, Any]:
    """Return a graph of Dask's, be it a dict, layers or an expression, as nodes by key."""
    tasks = graph if isinstance(graph, Mapping) and not hasattr(graph, "__dask_graph__") else graph.__dask_graph__()
    nodes: dict[DaskKey, Any] = spec.convert_legacy_graph(dict(tasks))
    return nodes


def convert(nodes: Mapping[DaskKey, Any], wanted: Iterable[DaskKey], origin: Origin | None = None) -> Converted:
    """Return the part of a graph that `wanted` needs.

    What it refers to and doesn't make is taken to be held by a cluster (`Graph.held`).

    Parameters
    ----------
    nodes
        As from `materialised`.
    origin
        The user's line.
    """
    return _Conversion(nodes).run(wanted, origin)


@dataclass
class _Conversion:
    nodes: Mapping[DaskKey, Any]
    tasks: dict[Key, Task] = field(default_factory=dict)
    held: set[Key] = field(default_factory=set)
    refs: dict[DaskKey, TaskRef] = field(default_factory=dict)
    stack: list[tuple[DaskKey, Key]] = field(default_factory=list)

    def run(self, wanted: Iterable[DaskKey], origin: Origin | None) -> Converted:
        keys = {key: self._ref(key).key for key in wanted}
        while self.stack:
            theirs, ours = self.stack.pop()
            task = self.tasks[ours] = self._task(ours, self.nodes[theirs])
            if len(task.deps) == 1 and task.deps[0] == ours:
                raise _cycle_through(theirs)
        origins = {} if origin is None else dict.fromkeys(set(map(key_layer, self.tasks)), origin)
        return Converted(Graph(self.tasks, origins, held=frozenset(self.held)), keys)

    def _ref(self, key: DaskKey) -> TaskRef:
        """Return the reference to a key's result. A task that it is first seen of is noted to be made."""
        ref = self.refs.get(key)
        if ref is None:
            target = self._target(key)
            ours = our_key(target)
            ref = self.refs[key] = TaskRef(ours)
            if target != key:
                self._ref(target)
            elif key in self.nodes and not _is_own_alias(self.nodes[key]):
                self.stack.append((key, ours))
            else:
                self.held.add(ours)
        return ref

    def _target(self, key: DaskKey) -> DaskKey:
        """Return the key that a key is another name of, itself if it is none."""
        seen = {key}
        while type(node := self.nodes.get(key)) is spec.Alias and node.target != key:
            key = node.target
            if key in seen:
                raise _cycle_through(key)
            seen.add(key)
        return key

    def _task(self, key: Key, node: Any) -> Task:
        kind = type(node)
        if kind is spec.DataNode:
            return (
                Task(key, opened, (Sealed(node.value),))
                if type(node.value) in _SEALED
                else Task(key, same, (node.value,))
            )
        if kind in _CONTAINERS or kind is spec.Dict or not isinstance(node, spec.Task):
            return self._whole(key, node)
        given = _with_futures_outside(node.args) if node.func is spec._execute_subgraph else node.args
        try:
            args = tuple([self._value(arg) for arg in given])
            kwargs = {name: self._value(arg) for name, arg in node.kwargs.items()} if node.kwargs else None
        except _NestedTask:
            return self._whole(key, node)
        return Task(key, node.func, args, kwargs)

    def _whole(self, key: Key, node: Any) -> Task:
        names = tuple(node.dependencies)
        return Task(key, run_node, (node, names, *[self._ref(name) for name in names]))

    def _value(self, arg: Any) -> Any:
        """Return an argument with references of ours in the places of Dask's."""
        kind = type(arg)
        if kind is spec.TaskRef:
            return self._ref(arg.key)
        if kind in _LITERALS:
            return arg
        if kind is spec.Alias:
            return self._ref(arg.target)
        if kind is spec.DataNode:
            return arg.value
        container = _CONTAINERS.get(kind)
        if container is not None:
            return container([self._value(item) for item in arg.args])
        if kind is spec.Dict:
            names = arg.args[::2]
            if any([isinstance(name, (spec.GraphNode, spec.TaskRef)) for name in names]):
                raise _NestedTask
            return dict(zip(names, map(self._value, arg.args[1::2]), strict=True))
        if isinstance(arg, spec.GraphNode):
            raise _NestedTask
        return self._ref(arg.key) if isinstance(arg, (spec.TaskRef, Handle)) else arg


def _with_futures_outside(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a fused task with futures of ours among those that it gets from outside, where they become results."""
    inner, outkey, inkeys, *given = args
    futures = {
        key: node.value for key, node in inner.items() if type(node) is spec.DataNode and isinstance(node.value, Handle)
    }
    if not futures:
        return args
    rest = {key: node for key, node in inner.items() if key not in futures}
    return (rest, outkey, (*inkeys, *futures), *given, *futures.values())


def _cycle_through(key: DaskKey) -> GraphError:
    return GraphError(f"the graph has a cycle through {key!r}")


def _is_own_alias(node: Any) -> bool:
    """Whether a node stands for a result that is somewhere else, by its own key."""
    return type(node) is spec.Alias and bool(node.target == node.key)
