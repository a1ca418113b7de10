"""A task: a function, its arguments, and the keys of the results among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from glassloom.graph.keys import Key

_CONTAINERS = frozenset({list, tuple, dict, set})


class TaskRef:
    """Stands in a task's arguments for the result of another task."""

    __slots__ = ("key",)

    def __init__(self, key: Key) -> None:
        self.key = key

    def __repr__(self) -> str:
        return f"TaskRef({self.key!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskRef) and other.key == self.key

    def __hash__(self) -> int:
        return hash((TaskRef, self.key))

    def __reduce__(self) -> tuple[type[TaskRef], tuple[Key]]:
        return (TaskRef, (self.key,))


class Handle:
    """A result that a cluster holds, known by its key: what a `Future` is to code that must not know the client."""

    __slots__ = ()
    key: Key


class HeldValue:
    """A call that returns a value which is at hand, such as a block of a persisted collection."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


class Task:
    """One call to be made: ``func(*args, **kwargs)``, whose result is known as `key`.

    Parameters
    ----------
    key
        The name of the result.
    func
        What is called.
    args, kwargs
        Its arguments. A `TaskRef` in them, also inside lists, tuples, sets and dicts, stands for another task's result.
    """

    __slots__ = ("args", "deps", "func", "key", "kwargs")

    def __init__(
        self, key: Key, func: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> None:
        self.key = key
        self.func = func
        self.args = args
        self.kwargs = kwargs
        deps: list[Key] = []
        for arg in args:
            kind = type(arg)
            if kind is TaskRef:
                deps.append(arg.key)
            elif kind in _CONTAINERS:
                deps.extend(find_refs(arg))
        if kwargs:
            deps.extend(find_refs(kwargs))
        self.deps: tuple[Key, ...] = tuple(dict.fromkeys(deps)) if len(deps) > 1 else tuple(deps)

    @classmethod
    def of_blocks(
        cls, key: Key, func: Callable[..., Any], sources: Sequence[Key], literals: tuple[Any, ...] = ()
    ) -> Task:
        """Return the task ``func(*results of sources, *literals)``: the quick way where literals hold no references."""
        task = cls.__new__(cls)
        task.key = key
        task.func = func
        task.args = (*map(TaskRef, sources), *literals)
        task.kwargs = None
        task.deps = tuple(dict.fromkeys(sources)) if len(sources) > 1 else tuple(sources)
        return task

    def reading(self, others: Mapping[Key, Key]) -> Task:
        """Return this task with the results of other keys in place of those that it refers to; itself if none is named."""
        if not any([key in others for key in self.deps]):
            return self
        refs = {key: TaskRef(others.get(key, key)) for key in self.deps}
        return Task(self.key, self.func, resolve(self.args, refs), resolve(self.kwargs, refs))

    def renamed(self, key: Key, func: Callable[..., Any]) -> Task:
        """Return the task of another key, that calls another function with the arguments of this one."""
        task = Task.__new__(Task)
        task.key, task.func, task.args, task.kwargs, task.deps = key, func, self.args, self.kwargs, self.deps
        return task

    def __repr__(self) -> str:
        name = getattr(self.func, "__name__", type(self.func).__name__)
        return f"Task({self.key!r}, {name}, deps={list(self.deps)!r})"

    def run(self, results: Mapping[Key, Any]) -> Any:
        """Call the function, taking results of other tasks from `results`."""
        if not self.deps:
            return self.func(*self.args, **self.kwargs) if self.kwargs else self.func(*self.args)
        args = [resolve(arg, results) for arg in self.args]
        if not self.kwargs:
            return self.func(*args)
        return self.func(*args, **{name: resolve(value, results) for name, value in self.kwargs.items()})


def find_refs(value: Any) -> Iterator[Key]:
    """Yield the keys of all references inside `value`, looking into exact lists, tuples, sets and dicts."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is TaskRef:
            yield item.key
        elif kind is list or kind is tuple:
            stack.extend(reversed(item))
        elif kind is dict:
            stack.extend(reversed(item.values()))
        elif kind is set:
            stack.extend(item)


def resolve(value: Any, results: Mapping[Key, Any]) -> Any:
    """Return `value` with each reference replaced by its result."""
    kind = type(value)
    if kind is TaskRef:
        return results[value.key]
    if kind is list:
        return [resolve(item, results) for item in value]
    if kind is tuple:
        return tuple(resolve(item, results) for item in value)
    if kind is dict:
        return {name: resolve(item, results) for name, item in value.items()}
    if kind is set:
        return {resolve(item, results) for item in value}
    return value
