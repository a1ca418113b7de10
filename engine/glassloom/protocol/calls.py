"""Tasks as they travel: a call (function and the shape of its arguments, pickled once for many tasks), the literals
among the arguments, and the positions of the dependencies.

The shape has, for each argument, the number of a dependency, -1 for the next literal, or a nested list, tuple, set or
dict of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from glassloom.backends.sizeof import sizeof
from glassloom.errors import SerialisationError
from glassloom.graph import FunctionCache, Graph, Handle, Key, Task, TaskRef, key_text
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.messages import Submit
from glassloom.protocol.structures import as_set, emptied, filled, is_structure, items_of
from glassloom.store.pickling import dumps, loads

LARGE_LITERAL_BYTES = 64 * 1024
"""A literal larger than this travels through shared memory, once."""

_LITERAL = -1
_SMALL = frozenset([int, float, bool, str, bytes, type(None), complex, slice, type(Ellipsis)])
_NESTING = frozenset([list, tuple, dict, set])

_pickled_calls = FunctionCache()

Shape = int | tuple[Any, ...]


class CallEncoder:
    """Turns a graph into a `Submit` message. Made anew for each graph: functions may change between submissions.

    Parameters
    ----------
    place_large
        Called with a large literal; places it and returns the key under which tasks get it.
    function_tokens
        Tokens of functions by their ids, as far as they are known.
    """

    def __init__(self, place_large: Callable[[Any], Key], function_tokens: Mapping[int, str] | None = None) -> None:
        self._function_tokens = function_tokens or {}
        self._place_large = place_large
        self._placed: dict[int, tuple[Any, Key]] = {}
        self._calls: dict[Any, int] = {}
        self._code: list[bytes] = []
        self._keep: list[Any] = []

    def encode(self, graph: Graph, wanted: Sequence[Key], handling: Annotations) -> Submit:
        """Return the graph as a message.

        Raises
        ------
        SerialisationError
            If a function or an argument can't be pickled; it names the task and which of the two.
        """
        positions = {key: position for position, key in enumerate(graph.tasks)}
        external: dict[Key, int] = {}
        keys, calls, literals, deps = list(graph.tasks), [], [], []
        for task in graph.tasks.values():
            below: dict[Key, int] = {}
            values: list[Any] = []
            shape = self._shape_of_call(task, below, values)
            calls.append(self._call_number(task, shape))
            literals.append(self._pickle_literals(task, values))
            deps.append([_position(key, positions, external) for key in below])
        return Submit(
            keys,
            calls,
            literals,
            deps,
            self._code,
            list(external),
            list(wanted),
            graph.layer_texts(),
            handling.priority,
            handling.retries,
            dict(handling.resources),
            list(handling.workers),
            handling.allow_other_workers,
        )

    def _shape_of_call(self, task: Task, below: dict[Key, int], values: list[Any]) -> tuple[Any, ...]:
        args = tuple([self._shape(arg, below, values) for arg in task.args])
        if not task.kwargs:
            return (args, ())
        return (args, tuple((name, self._shape(value, below, values)) for name, value in task.kwargs.items()))

    def _shape(self, value: Any, below: dict[Key, int], values: list[Any]) -> Shape:
        kind = type(value)
        if kind in _SMALL:
            values.append(value)
            return _LITERAL
        if kind is TaskRef or isinstance(value, Handle):
            return _number_of(value.key, below)
        if kind in _NESTING:
            return self._nested_shape(value, kind, below, values)
        if is_structure(kind) and holds_results(value):
            return self._structure_shape(value, below, values)
        if sizeof(value) > LARGE_LITERAL_BYTES:
            return _number_of(self._large(value), below)
        values.append(value)
        return _LITERAL

    def _nested_shape(self, value: Any, kind: type, below: dict[Key, int], values: list[Any]) -> Shape:
        n_values = len(values)
        items = value.items() if kind is dict else enumerate(value)
        shapes = [(name, self._shape(item, below, values)) for name, item in items]
        if all(shape == _LITERAL for _, shape in shapes):  # only literals inside: one literal itself
            del values[n_values:]
            values.append(value)
            return _LITERAL
        return (kind.__name__, *shapes)

    def _structure_shape(self, value: Any, below: dict[Key, int], values: list[Any]) -> Shape:
        values.append(emptied(value))
        return ("structure", *[(name, self._shape(item, below, values)) for name, item in items_of(value)])

    def _large(self, value: Any) -> Key:
        if id(value) not in self._placed:
            self._placed[id(value)] = (value, self._place_large(value))
        return self._placed[id(value)][1]

    def _call_number(self, task: Task, shape: tuple[Any, ...]) -> int:
        identity = (id(task.func), shape)
        number = self._calls.get(identity)
        if number is None:
            self._keep.append(task.func)  # so that its id isn't used again meanwhile
            try:
                self._code.append(self._pickle_call(task.func, shape))
            except SerialisationError as error:
                raise SerialisationError(f"the function of task {key_text(task.key)}: {error}") from error
            number = self._calls[identity] = len(self._code) - 1
        return number

    def _pickle_call(self, function: Callable[..., Any], shape: tuple[Any, ...]) -> bytes:
        token = self._function_tokens.get(id(function))
        return _pickled_calls.get(function, shape, lambda: dumps((function, shape)), token)

    def _pickle_literals(self, task: Task, values: list[Any]) -> bytes:
        if not values:
            return b""
        try:
            return dumps(values)
        except SerialisationError:
            raise _name_the_culprit(task, values) from None


def _name_the_culprit(task: Task, values: list[Any]) -> SerialisationError:
    """Return the error of the first of `values` that can't be pickled by itself."""
    for value in values:
        try:
            dumps(value)
        except SerialisationError as error:
            return SerialisationError(f"an argument of task {key_text(task.key)}: {error}")
    return SerialisationError(f"the arguments of task {key_text(task.key)} can't be sent together to another process")


def holds_results(value: Any) -> bool:
    """Tell whether something in a structure stands for a result."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is TaskRef or isinstance(item, Handle):
            return True
        if is_structure(kind):
            stack.extend(inner for _, inner in items_of(item))
        elif kind in _NESTING:
            stack.extend(item.values() if kind is dict else item)
    return False


def _number_of(key: Key, below: dict[Key, int]) -> int:
    return below.setdefault(key, len(below))


def _position(key: Key, positions: dict[Key, int], external: dict[Key, int]) -> int:
    position = positions.get(key)
    if position is None:
        position = len(positions) + external.setdefault(key, len(external))
    return position


class Call:
    """A call on the worker's side: fills the shape with values and calls the function."""

    __slots__ = ("_args", "_function", "_is_flat", "_kwargs", "code")

    def __init__(self, code: bytes) -> None:
        self.code = code
        self._function, (self._args, self._kwargs) = loads(code)
        self._is_flat = not self._kwargs and all(type(shape) is int for shape in self._args)

    def __call__(self, literals: bytes, deps: Sequence[Any]) -> Any:
        """Return the function's result; dependencies and literals take the places that the shape gives them."""
        rest = iter(loads(literals)) if literals else iter(())
        if self._is_flat:
            return self._function(*[next(rest) if shape < 0 else deps[shape] for shape in self._args])
        args = [_fill(shape, rest, deps) for shape in self._args]
        return self._function(*args, **{name: _fill(shape, rest, deps) for name, shape in self._kwargs})


def _fill(shape: Shape, literals: Iterator[Any], deps: Sequence[Any]) -> Any:
    if isinstance(shape, int):
        return next(literals) if shape < 0 else deps[shape]
    kind, *items = shape
    if kind == "structure":
        left = next(literals)
        return filled(left, [(name, _fill(item, literals, deps)) for name, item in items])
    if kind == "dict":
        return {name: _fill(item, literals, deps) for name, item in items}
    values = [_fill(item, literals, deps) for _, item in items]
    return values if kind == "list" else tuple(values) if kind == "tuple" else as_set(set, values)
