"""Nodes of tasks with several results: what they are made of, and what stands for each result. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from glassloom.expr.blockwise import Blockwise, Detached, Mapping, Program, block_indices, index_mapper
from glassloom.expr.core import Expr
from glassloom.graph import Key, Origin, Task, TaskRef, function_label

_NO_TASKS: dict[Key, Task] = {}


class Siblings(Blockwise):
    """The blocks of several nodes that are made in one task: a tuple.

    Never runs by itself: it is the root of what `fuse` makes of the siblings. `via` leads from its index to each node's.
    """

    parameters = ("nodes", "via", "numblocks")

    nodes: tuple[Blockwise, ...]
    via: tuple[Mapping, ...]
    numblocks: tuple[int, ...]

    def __init__(self, nodes: tuple[Blockwise, ...], via: tuple[Mapping, ...], numblocks: tuple[int, ...]) -> None:
        super().__init__(nodes, via, numblocks)
        self.origin = nodes[0].origin if len({node.origin for node in nodes}) == 1 else None  # no line is right for all

    is_made_by_fusion: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return "-".join(dict.fromkeys(node.label for node in self.nodes))

    @property
    def mappings(self) -> list[Mapping]:
        return list(self.via)

    @property
    def function(self) -> Callable[..., Any]:
        return as_tuple

    def member_function(self, member: Blockwise) -> Callable[..., Any]:
        function = self.nodes[0].member_function(member) if self._are_alike else member.function
        if self.origin is not None or member.origin is None or member.tiled is not None:
            return function  # what has a tiled form calls no code of a user
        return BuiltAt(function, member.label, str(member.origin))

    def outer_function(self, function: Callable[..., Any], *, is_own: bool = True) -> Callable[..., Any]:
        return self.nodes[0].outer_function(function, is_own=False) if self._are_alike else function

    @property
    def _are_alike(self) -> bool:
        """Whether all nodes would call members in the same way."""
        return len({(type(node).member_function, type(node).outer_function) for node in self.nodes}) == 1

    def detached(self, function: Callable[..., Any], detach: Callable[[Any], Any]) -> Callable[..., Any]:
        return Detached(function, OfEach(detach))

    @property
    def program_type(self) -> type[Program]:
        kinds = {node.program_type for node in self.nodes}
        return kinds.pop() if len(kinds) == 1 else Program


class SiblingOutput(Expr):
    """A node whose blocks are parts of the results of siblings. Keeps the node's name, and so its keys."""

    parameters = ("node", "siblings", "place")

    node: Expr
    siblings: Expr
    place: int

    def __init__(self, node: Expr, siblings: Expr, place: int, mapping: Mapping) -> None:
        self.operands = (node, siblings, place)
        self.origin = node.origin
        self.name = node.name
        self._mapping = mapping

    @property
    def label(self) -> str:
        return self.node.label

    @property
    def dependencies(self) -> list[Expr]:
        return [self.siblings]

    @property
    def n_tasks(self) -> int:
        return 0

    def output_keys(self) -> list[Key]:
        return self.node.output_keys()

    def tasks(self) -> dict[Key, Task]:
        return {}

    def parts_of_results(self) -> dict[Key, tuple[Key, int]]:
        source, name, own = self.siblings.name, self.name, index_mapper(self._mapping)
        indices = block_indices(self.siblings.numblocks)  # type: ignore[attr-defined]
        return {(name, *own(index)): ((source, *index), self.place) for index in indices}

    def assemble(self, blocks: list[Any]) -> Any:
        return self.node.assemble(blocks)

    def in_place(self, source: Expr) -> Expr:
        return self.node.in_place(source)

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return self.node.persisted(held, name)


def as_tuple(*values: Any) -> tuple[Any, ...]:
    """Return the arguments."""
    return values


class OfEach:
    """A function of a value, for each of a tuple."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        return (OfEach, (self.function,))

    def __call__(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(map(self.function, values))


class BuiltAt:
    """A function whose errors name the user's line that asked for it, since its task has been built by several lines."""

    __slots__ = ("function", "label", "line")

    def __init__(self, function: Callable[..., Any], label: str, line: str) -> None:
        self.function, self.label, self.line = function, label, line

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.label, self.line)

    def __reduce__(self) -> tuple[Any, ...]:
        return (BuiltAt, (self.function, self.label, self.line))

    @property
    def __name__(self) -> str:
        return function_label(self.function)

    def __call__(self, *args: Any) -> Any:
        try:
            return self.function(*args)
        except Exception as error:  # the user's code may raise anything: it is raised again
            error.add_note(f"In {self.label}, built at {self.line}")
            raise


class TakingPart:
    """A function of blocks, called with the tuples that they are parts of; all are at one place."""

    __slots__ = ("function", "place")

    def __init__(self, function: Callable[..., Any], place: int) -> None:
        self.function, self.place = function, place

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.place)

    def __reduce__(self) -> tuple[Any, ...]:
        return (TakingPart, (self.function, self.place))

    @property
    def __name__(self) -> str:
        return function_label(self.function)

    def __call__(self, *args: Any) -> Any:
        place = self.place
        return self.function(*[[each[place] for each in arg] if type(arg) is list else arg[place] for arg in args])


class Parts:
    """Which blocks are parts of other tasks' results, and how tasks get them.

    A task that reads nothing but the same part of several results takes it itself. For others a task yields the part.
    """

    def __init__(self) -> None:
        self._places: dict[Key, tuple[Key, int]] = {}
        self.origins: dict[str, Origin] = {}
        """The user's lines of layers of parts."""
        self._functions: dict[tuple[int, int], TakingPart] = {}

    def __bool__(self) -> bool:
        return bool(self._places)

    def add(self, node: Expr) -> None:
        """Note those of a node's blocks that are parts."""
        places = node.parts_of_results()
        self._places.update(places)
        if places and node.origin is not None:
            self.origins[node.name] = node.origin

    def read_by(self, task: Task) -> tuple[Task, dict[Key, Task]]:
        """Return a task that gets the parts which it reads, and the tasks that yield parts for it."""
        found = [self._places[key] for key in task.deps if key in self._places]
        if not found:
            return task, _NO_TASKS
        place = found[0][1]
        if len(found) < len(task.deps) or any(other != place for _, other in found) or not _reads_blocks_only(task):
            return task, self.yielding(task.deps)
        function = self._functions.get((id(task.func), place))
        if function is None:  # which keeps the function alive, so that its id stays its own
            function = self._functions[id(task.func), place] = TakingPart(task.func, place)
        read = task.reading({key: self._places[key][0] for key in task.deps})
        return Task(task.key, function, read.args), _NO_TASKS

    def yielding(self, keys: Iterable[Key]) -> dict[Key, Task]:
        """Return the tasks that yield those of the keys that are parts."""
        sources = {key: self._places[key] for key in keys if key in self._places}
        return {key: Task.of_blocks(key, _part, [source], (place,)) for key, (source, place) in sources.items()}


def _reads_blocks_only(task: Task) -> bool:
    """Whether a task's arguments are results and lists of results."""
    if task.kwargs:
        return False
    for arg in task.args:
        items = arg if type(arg) is list else (arg,)
        if any(type(item) is not TaskRef for item in items):
            return False
    return True


def _part(values: tuple[Any, ...], place: int) -> Any:
    return values[place]
