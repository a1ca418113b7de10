"""`TaskSpecEncoder`: from tasks of ours to Dask's task specification, as a cluster of dask.distributed takes it. Sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dask import _task_spec as spec

from glassloom.backends.sizeof import sizeof
from glassloom.distributed.dask_graph import run_node
from glassloom.errors import GraphError
from glassloom.graph import Graph, Handle, Key, Task, TaskRef, random_token
from glassloom.graph.caller_options import WithOptions, in_turn, users_function
from glassloom.graph.structures import emptied, filled, is_structure, items_of
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.calls import holds_results

_LARGE_BYTES = 2**20
"""Arguments of all calls of a map that take more are a task of their own."""
_CONTAINERS: dict[type, Callable[[Any], Any]] = {
    # each takes its items as one value of its kind: several would be taken for items of their own
    list: spec.List,
    tuple: spec.Tuple,
    set: spec.Set,
}


class SpecGraph(NamedTuple):
    """A graph to hand over.

    Attributes
    ----------
    tasks
        Dask's tasks by key.
    wanted
        Whose results are asked for.
    origins
        The user's lines, by layer.
    handling
        How the tasks are to be treated.
    external
        Keys of results that the cluster holds, which tasks refer to, with the future that each was referred to by, if it was by one.
    """

    tasks: dict[Key, spec.GraphNode]
    wanted: list[Key]
    origins: Mapping[str, str]
    handling: Annotations
    external: dict[Key, Handle | None]


class TaskSpecEncoder:
    """Turns a graph, or calls of one function, into a `SpecGraph`. Made anew for each."""

    def __init__(self) -> None:
        self._external: dict[Key, Handle | None] = {}
        self._functions: dict[int, tuple[Any, Any]] = {}
        """What is called for functions, by their ids, and these, so that their ids stay theirs."""

    def encode(self, graph: Graph, wanted: Sequence[Key], handling: Annotations) -> SpecGraph:
        """Return a graph."""
        tasks = {key: self._spec(task) for key, task in graph.tasks.items()}
        return self._made(tasks, wanted, {layer: line for layer, (_, line) in graph.layer_texts().items()}, handling)

    def encode_calls(
        self,
        function: Callable[..., Any],
        keys: Sequence[Key],
        arguments: Sequence[tuple[Any, ...]],
        kwargs: Mapping[str, Any],
        labels: dict[str, tuple[str, str]],
        handling: Annotations,
    ) -> SpecGraph:
        """Return calls of one function; of calls with equal keys only the first is made."""
        tasks: dict[Key, spec.GraphNode] = {}
        function = self._function(function)
        shared = {name: self._shared(name, value, tasks) for name, value in kwargs.items()}
        for key, args in zip(keys, arguments, strict=True):
            if key not in tasks:
                tasks[key] = spec.Task(key, function, *map(self._value, args), **shared)
        return self._made(tasks, keys, {layer: line for layer, (_, line) in labels.items()}, handling)

    def _shared(self, name: str, value: Any, tasks: dict[Key, spec.GraphNode]) -> Any:
        """Return an argument of all calls: if it is large, a reference to a task of its own, so that workers hold it once."""
        own = self._value(value)
        if own is not value or sizeof(value) < _LARGE_BYTES:
            return own
        key = f"{name}-{random_token()}"
        tasks[key] = spec.DataNode(key, value)
        return spec.TaskRef(key)

    def _made(
        self, tasks: dict[Key, spec.GraphNode], wanted: Sequence[Key], origins: Mapping[str, str], handling: Annotations
    ) -> SpecGraph:
        external = {key: handle for key, handle in self._external.items() if key not in tasks}
        return SpecGraph(tasks, list(wanted), origins, handling, external)

    def _spec(self, task: Task) -> spec.GraphNode:
        if users_function(task.func) is run_node:  # it holds a task of Dask's, which would be run as an argument
            node, names, *refs = task.args
            renamed = {name: self._value(ref).key for name, ref in zip(names, refs, strict=True)}
            return _as_called(node.substitute(renamed, key=task.key), task.func)
        kwargs = {name: self._value(value) for name, value in task.kwargs.items()} if task.kwargs else {}
        return spec.Task(task.key, self._function(task.func), *map(self._value, task.args), **kwargs)

    def _function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what takes turns with functions that need options of other libraries: workers over there don't see to that."""
        known = self._functions.get(id(function))
        if known is None:
            known = self._functions[id(function)] = function, in_turn(function)
        return known[1]

    def _value(self, value: Any) -> Any:
        """Return an argument with references of Dask's in the places of ours. What has none stays the same object."""
        kind = type(value)
        if kind is TaskRef or isinstance(value, Handle):
            self._external[value.key] = None if kind is TaskRef else value
            return spec.TaskRef(value.key)
        if kind in _CONTAINERS:
            items: Any = [self._value(item) for item in value]
            is_same = all([new is old for new, old in zip(items, value, strict=True)])
            return value if is_same else _CONTAINERS[kind](kind(items))
        if kind is dict:
            named = {name: self._value(item) for name, item in value.items()}
            return value if all([named[name] is item for name, item in value.items()]) else spec.Dict(named)
        if is_structure(kind) and holds_results(value):
            names, inside = zip(*items_of(value), strict=True)
            return spec.Task(None, fill, emptied(value), names, *map(self._value, inside))
        return value


def _as_called(node: spec.GraphNode, function: Callable[..., Any]) -> spec.GraphNode:
    """Return a task of Dask's that is called with the options with which a function is called."""
    if not isinstance(function, WithOptions) or type(node) is not spec.Task or node.is_coro:
        return node
    return spec.Task(node.key, WithOptions(node.func, function.options), *node.args, **node.kwargs)


def fill(left: Any, names: tuple[Any, ...], *items: Any) -> Any:
    """Return a structure with its items."""
    return filled(left, zip(names, items, strict=True))


def cycle_error(error: BaseException) -> GraphError | None:
    """Return our error for that of a scheduler which has found a cycle, None if it is another one.

    >>> cycle_error(RuntimeError("Cycle detected between the following keys:\\n  -> x\\n  -> y\\n  -> x"))
    GraphError("the graph has a cycle through 'x'")
    """
    text = str(error)
    if type(error) is not RuntimeError or not text.startswith("Cycle detected between the following keys:"):
        return None
    keys = [line.partition("-> ")[2] for line in text.splitlines()[1:]]
    return GraphError(f"the graph has a cycle through {keys[0]!r}")
