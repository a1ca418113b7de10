"""Tasks as they travel: a call (function and the shape of its arguments, pickled once for many tasks), the literals
among the arguments, and the positions of the dependencies.

The shape has, for each argument, the number of a dependency, -1 for the next literal, or a nested list, tuple, set or
dict of these.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from glassloom.backends.sizeof import sizeof
from glassloom.errors import SerialisationError
from glassloom.graph import FunctionCache, Graph, Handle, Key, TaskRef, key_text
from glassloom.graph.caller_options import CallerOptions, WithOptions
from glassloom.graph.function_cache import Known
from glassloom.graph.structures import as_set, emptied, filled, is_structure, items_of
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.messages import Submit
from glassloom.protocol.pickled_futures import NotedFutures, noting_futures
from glassloom.store.pickling import dumps, loads

LARGE_LITERAL_BYTES = 64 * 1024
"""A literal whose pickle is larger than this travels through shared memory, once for all tasks of a message."""

_LITERAL = -1
_SMALL = frozenset([int, float, bool, type(None), complex, slice, type(Ellipsis)])
_PLAIN = _SMALL - {slice}  # whose parts may be anything
_TEXT = frozenset([bytes, str])
_NESTING = frozenset([list, tuple, dict, set])
_PROTOCOL = 5
_SHORT_TEXT = 1024

_pickled_calls = FunctionCache()
known_call: Callable[[object, tuple[Any, ...]], Known | None] = _pickled_calls.known
"""Returns a function's token, and its call of a shape as `pickled_call` does, if both are known and it reads the same."""

_func_of, _kwargs_of = attrgetter("func"), attrgetter("kwargs")

Shape = int | tuple[Any, ...]
Kwargs = Mapping[str, Any]


def function_token(function: Callable[..., Any]) -> str:
    """Return a function's token: what is known of it since it was called last is used again if it reads the same."""
    return _pickled_calls.token(function)


class _SharedKwargs(NamedTuple):
    """Keyword arguments that calls share: the dependencies and literals in them, and their shapes by name."""

    below: dict[Key, int]
    values: list[Any]
    shapes: tuple[tuple[str, Shape], ...]


@functools.lru_cache(64)
def _all_literals(n_args: int) -> tuple[Any, ...]:
    """Return the shape of a call that has so many arguments, each a literal by itself."""
    return ((_LITERAL,) * n_args, ())


class PickledCall(NamedTuple):
    """A call, pickled, and the futures in it: cluster ids and keys."""

    code: bytes
    futures: tuple[tuple[str, Key], ...]


_NO_KWARGS = _SharedKwargs({}, [], ())


def pickled_call(
    function: Callable[..., Any], shape: tuple[Any, ...], token: str | None, options: CallerOptions | None = None
) -> PickledCall:
    """Return a call: that which was made when the function was called last, if it reads the same.

    Parameters
    ----------
    token
        What `function_token` has returned just now, if it was called.
    options
        What is set of other libraries when it runs.

    Raises
    ------
    SerialisationError
        If the function can't be pickled.
    """
    if options is None:
        return _pickled_calls.get(function, shape, lambda: _pickle_call(function, shape), token, _code_bytes)
    call, use = WithOptions(function, options.options), (shape, options.token)
    return _pickled_calls.get(function, use, lambda: _pickle_call(call, shape), token, _code_bytes)


def _pickle_call(function: Callable[..., Any], shape: tuple[Any, ...]) -> PickledCall:
    noted: NotedFutures = {}
    with noting_futures(noted):
        code = dumps((function, shape))
    return PickledCall(code, tuple(noted))


def _code_bytes(call: PickledCall) -> int:
    return len(call.code)


def plain_shape(args: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any], Sequence[Key]] | None:
    """Return a call's shape, literals and dependencies if each argument is plain or stands for a result, by itself; else None."""
    if _PLAIN.issuperset(map(type, args)) or _are_plain(args):
        return _all_literals(len(args)), list(args), ()
    shapes: list[Shape] = []
    values: list[Any] = []
    below: list[Key] = []
    for arg in args:
        kind = type(arg)
        if kind in _PLAIN or (kind in _TEXT and len(arg) <= _SHORT_TEXT):
            shapes.append(_LITERAL)
            values.append(arg)
        elif kind is TaskRef or isinstance(arg, Handle):
            if arg.key not in below:
                below.append(arg.key)
            shapes.append(below.index(arg.key))
        else:
            return None
    return (tuple(shapes), ()), values, below


def pickle_plain(values: list[Any]) -> bytes:
    """Return the pickle of plain literals, empty if there are none."""
    return pickle.dumps(values, _PROTOCOL) if values else b""


class CallEncoder:
    """Turns a graph, or calls of one function, into a `Submit` message. Made anew for each: functions may change meanwhile.

    Parameters
    ----------
    place_large
        Called with a large literal; places it and returns the key under which tasks get it.
    function_tokens
        Tokens of functions by their ids, as far as they are known.
    cluster_id
        The cluster that gets the message. A task depends on the futures of this cluster that are pickled with it, so that
        they are held until it has run.
    """

    def __init__(
        self,
        place_large: Callable[[Any], Key],
        function_tokens: Mapping[int, str] | None = None,
        cluster_id: str = "",
    ) -> None:
        self._function_tokens = function_tokens or {}
        self._cluster_id = cluster_id
        self._noted: NotedFutures = {}
        self._call_futures: list[tuple[Key, ...]] = []
        self._place_large = place_large
        self._placed: dict[int, tuple[Any, Key, tuple[Key, ...]]] = {}
        self._literal_containers: dict[int, Any] = {}  # values too, so that their ids stay theirs
        self._call_numbers: dict[Any, int] = {}
        self._code: list[bytes | int] = []
        self._keep: list[Any] = []
        self._positions: dict[Key, int] = {}
        self._external: dict[Key, int] = {}
        self._calls: list[int] = []
        self._literals: list[bytes] = []
        self._deps: list[list[int]] = []

    def encode(self, graph: Graph, wanted: Sequence[Key], handling: Annotations) -> Submit:
        """Return a graph as a message.

        Raises
        ------
        SerialisationError
            If a function or an argument can't be pickled; it names the task and which of the two.
        """
        self._positions = {key: position for position, key in enumerate(graph.tasks)}
        tasks = list(graph.tasks.values())
        with noting_futures(self._noted):
            is_one_function = len(set(map(id, map(_func_of, tasks)))) == 1 and not any(map(_kwargs_of, tasks))
            if is_one_function and self._add_columns(tasks[0].func, [task.args for task in tasks], _NO_KWARGS):
                tasks = []
            for task in tasks:
                if not task.kwargs and self._add_plain(task.key, task.func, task.args):
                    continue
                kwargs = self._share(task.key, task.kwargs) if task.kwargs else _NO_KWARGS
                self._add(task.key, task.func, task.args, kwargs)
        return self._message(wanted, graph.layer_texts(), handling)

    def encode_calls(
        self,
        function: Callable[..., Any],
        keys: Sequence[Key],
        arguments: Sequence[tuple[Any, ...]],
        kwargs: Kwargs,
        labels: dict[str, tuple[str, str]],
        handling: Annotations,
    ) -> Submit:
        """Return calls of one function as a message. What they share is looked at once.

        Parameters
        ----------
        keys, arguments
            One element a call. Of calls with equal keys only the first is made.
        kwargs
            The same for all calls.
        labels
            As `Graph.layer_texts`.

        Raises
        ------
        SerialisationError
            As `encode`.
        """
        calls = dict(zip(reversed(keys), reversed(arguments), strict=True))  # the first of equal keys
        self._positions = dict(zip(dict.fromkeys(keys), range(len(calls)), strict=True))
        with noting_futures(self._noted):
            self._add_calls(function, calls, kwargs)
        return self._message(keys, labels, handling)

    def _add_calls(self, function: Callable[..., Any], calls: Mapping[Key, tuple[Any, ...]], kwargs: Kwargs) -> None:
        shared = self._share(next(iter(self._positions)), kwargs) if kwargs and calls else _NO_KWARGS
        is_plain = _are_plain(shared.values)
        if is_plain and self._add_columns(function, [calls[key] for key in self._positions], shared):
            return
        is_plain = is_plain and not shared.below
        numbers: dict[int, int] = {}  # of calls, by how many arguments they have
        for key in self._positions:
            args = calls[key]
            if not is_plain or not args or not _are_plain(args):
                if kwargs or not self._add_plain(key, function, args):
                    self._add(key, function, args, shared)
                continue
            number = numbers.get(len(args))
            if number is None:
                shape = ((_LITERAL,) * len(args), shared.shapes)
                number = numbers[len(args)] = self._call_number(key, function, shape)
            self._calls.append(number)
            self._literals.append(pickle.dumps([*args, *shared.values], _PROTOCOL))
            self._deps.append(self._deps_of([dep for dep in self._call_futures[number] if dep != key]))

    def _add_columns(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], shared: _SharedKwargs
    ) -> bool:
        """Add all calls at once if each argument is plain, or the same result, in all of them; return False if it isn't."""
        if len(set(map(len, arguments))) != 1:
            return False
        columns = list(zip(*arguments, strict=True))
        below = dict(shared.below)
        shapes = tuple([_shape_of_column(column, below) for column in columns])
        if not shapes or None in shapes or not self._positions.keys().isdisjoint(below):
            return False
        number = self._call_number(next(iter(self._positions)), function, (shapes, shared.shapes))
        if self._call_futures[number]:
            return False
        n, dumps, values = len(arguments), pickle.dumps, shared.values
        literals = [column for column, shape in zip(columns, shapes, strict=True) if shape == _LITERAL]
        if literals:
            self._literals = [dumps([*row, *values], _PROTOCOL) for row in zip(*literals, strict=True)]
        else:
            self._literals = [pickle_plain(values)] * n
        self._calls = [number] * n
        self._deps = [self._deps_of(below)]
        return True

    def _message(self, wanted: Sequence[Key], labels: dict[str, tuple[str, str]], handling: Annotations) -> Submit:
        keys = list(self._positions)
        return Submit(
            keys,
            self._calls,
            self._literals,
            self._deps,
            self._code,
            list(self._external),
            None if keys == wanted else list(wanted),
            labels,
            handling.priority,
            handling.retries,
            dict(handling.resources),
            list(handling.workers),
            handling.allow_other_workers,
        )

    def _add_plain(self, key: Key, function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
        """Add a task whose arguments are plain, or results, by themselves; return False if they aren't."""
        below: Sequence[Key] = ()
        if args and _are_plain(args):
            shape, values = _all_literals(len(args)), list(args)
        else:
            plain = plain_shape(args)
            if plain is None:
                return False
            shape, values, below = plain
        number = self._call_numbers.get((id(function), shape))
        if number is None:
            number = self._call_number(key, function, shape)
        if self._call_futures[number]:
            return False
        self._calls.append(number)
        self._literals.append(pickle_plain(values))
        self._deps.append(self._deps_of(below) if below else [])
        return True

    def _add(self, key: Key, function: Callable[..., Any], args: Sequence[Any], kwargs: _SharedKwargs) -> None:
        """Add a task. The dependencies of its keyword arguments are numbered first."""
        below = dict(kwargs.below)
        values: list[Any] = []
        shapes = tuple([self._shape(arg, below, values) for arg in args])
        literals = self._pickle_literals(key, [*values, *kwargs.values])
        if len(literals) > LARGE_LITERAL_BYTES and self._place_large_among(values):
            self._add(key, function, args, kwargs)
            return
        futures = self._take_noted()
        number = self._call_number(key, function, (shapes, kwargs.shapes))
        for future in (*futures, *self._call_futures[number]):
            if future != key:
                _number_of(future, below)  # no shape mentions it: the call leaves the result alone
        self._calls.append(number)
        self._literals.append(literals)
        self._deps.append(self._deps_of(below))

    def _deps_of(self, below: Iterable[Key]) -> list[int]:
        return [_position(dep, self._positions, self._external) for dep in below]

    def _take_noted(self) -> tuple[Key, ...]:
        """Return the futures of this cluster that were pickled since the last call."""
        if not self._noted:
            return ()
        futures = self._ours(self._noted)
        self._noted.clear()
        return futures

    def _ours(self, futures: Iterable[tuple[str, Key]]) -> tuple[Key, ...]:
        return tuple([key for cluster_id, key in futures if cluster_id == self._cluster_id])

    def _share(self, key: Key, kwargs: Kwargs) -> _SharedKwargs:
        """Look at the keyword arguments of a task, or of all."""
        below: dict[Key, int] = {}
        values: list[Any] = []
        shapes = tuple([(name, self._shape(value, below, values)) for name, value in kwargs.items()])
        if len(self._pickle_literals(key, values)) > LARGE_LITERAL_BYTES and self._place_large_among(values):
            return self._share(key, kwargs)
        return _SharedKwargs(below, values, shapes)

    def _shape(self, value: Any, below: dict[Key, int], values: list[Any]) -> Shape:
        kind = type(value)
        if kind in _SMALL or (kind in _TEXT and len(value) <= _SHORT_TEXT):
            values.append(value)
            return _LITERAL
        if kind is TaskRef or isinstance(value, Handle):
            return _number_of(value.key, below)
        if id(value) in self._placed:
            return self._number_of_large(value, below)
        if kind in _NESTING:
            return self._nested_shape(value, kind, below, values)
        if is_structure(kind) and holds_results(value):
            return self._structure_shape(value, below, values)
        if sizeof(value) > LARGE_LITERAL_BYTES:
            return self._number_of_large(value, below)
        values.append(value)
        return _LITERAL

    def _nested_shape(self, value: Any, kind: type, below: dict[Key, int], values: list[Any]) -> Shape:
        n_values = len(values)
        if id(value) not in self._literal_containers:
            items = value.items() if kind is dict else enumerate(value)
            shapes = [(name, self._shape(item, below, values)) for name, item in items]
            if any(shape != _LITERAL for _, shape in shapes):
                return (kind.__name__, *shapes)
            del values[n_values:]  # only literals inside: one literal itself
            if _is_large_container(value):
                return self._number_of_large(value, below)
            self._literal_containers[id(value)] = value
        values.append(value)
        return _LITERAL

    def _structure_shape(self, value: Any, below: dict[Key, int], values: list[Any]) -> Shape:
        values.append(emptied(value))
        return ("structure", *[(name, self._shape(item, below, values)) for name, item in items_of(value)])

    def _number_of_large(self, value: Any, below: dict[Key, int]) -> int:
        key, futures = self._large(value)
        number = _number_of(key, below)
        for future in futures:
            _number_of(future, below)
        return number

    def _large(self, value: Any) -> tuple[Key, tuple[Key, ...]]:
        """Return where a large value is, and which futures are in it."""
        if id(value) not in self._placed:
            self._noted.clear()
            key = self._place_large(value)
            self._placed[id(value)] = (value, key, self._take_noted())
        return self._placed[id(value)][1:]

    def _place_large_among(self, values: Sequence[Any]) -> bool:
        """Place those literals that turned out to be large when they were pickled; return whether there are any."""
        large = [value for value in values if type(value) not in _SMALL and len(dumps(value)) > LARGE_LITERAL_BYTES]
        for value in large:
            self._literal_containers.pop(id(value), None)
            self._large(value)
        return bool(large)

    def _call_number(self, key: Key, function: Callable[..., Any], shape: tuple[Any, ...]) -> int:
        identity = (id(function), shape)
        number = self._call_numbers.get(identity)
        if number is None:
            self._keep.append(function)  # so that its id isn't used again meanwhile
            try:
                call = self._pickle_call(function, shape)
            except SerialisationError as error:
                raise SerialisationError(f"the function of task {key_text(key)}: {error}") from error
            self._code.append(call.code)
            self._call_futures.append(self._ours(call.futures))
            number = self._call_numbers[identity] = len(self._code) - 1
        return number

    def _pickle_call(self, function: Callable[..., Any], shape: tuple[Any, ...]) -> PickledCall:
        return pickled_call(function, shape, self._function_tokens.get(id(function)))

    def _pickle_literals(self, key: Key, values: list[Any]) -> bytes:
        self._noted.clear()  # of what was pickled to see how large it is
        if not values:
            return b""
        try:
            return dumps(values)
        except SerialisationError:
            raise _name_the_culprit(key, values) from None


def _are_plain(values: Iterable[Any]) -> bool:
    """Whether these are literals that are small and pickled alike everywhere."""
    for value in values:
        kind = type(value)
        if kind not in _PLAIN and (kind not in _TEXT or len(value) > _SHORT_TEXT):
            return False
    return True


def _shape_of_column(column: Sequence[Any], below: dict[Key, int]) -> int | None:
    """Return the shape of an argument that many calls have: all plain, or all the same result; None if it is neither."""
    first = column[0]
    if type(first) is TaskRef or isinstance(first, Handle):
        is_same = all([arg is first for arg in column])
        return _number_of(first.key, below) if is_same else None
    kinds = set(map(type, column))
    is_plain = kinds <= _PLAIN or (kinds <= _PLAIN | _TEXT and _are_plain(column))
    return _LITERAL if is_plain else None


def _is_large_container(value: Any) -> bool:
    """Whether a container of literals has a large pickle; if it can't be pickled, that is reported later."""
    if sizeof(value) <= LARGE_LITERAL_BYTES:
        return False
    try:
        return len(dumps(value)) > LARGE_LITERAL_BYTES
    except SerialisationError:
        return False


def _name_the_culprit(key: Key, values: list[Any]) -> SerialisationError:
    """Return the error of the first of `values` that can't be pickled by itself."""
    for value in values:
        try:
            dumps(value)
        except SerialisationError as error:
            return SerialisationError(f"an argument of task {key_text(key)}: {error}")
    return SerialisationError(f"the arguments of task {key_text(key)} can't be sent together to another process")


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

    __slots__ = ("_args", "_is_flat", "_is_literal", "_kwargs", "code", "function")

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.function, (self._args, self._kwargs) = loads(code)
        self._is_flat = not self._kwargs and all(type(shape) is int for shape in self._args)
        self._is_literal = self._is_flat and bool(self._args) and all(shape < 0 for shape in self._args)

    def __call__(self, literals: bytes, deps: Sequence[Any]) -> Any:
        """Return the function's result; dependencies and literals take the places that the shape gives them."""
        if self._is_literal:
            return self.function(*pickle.loads(literals))  # as `loads`, for less
        rest = iter(loads(literals)) if literals else iter(())
        if self._is_flat:
            return self.function(*[next(rest) if shape < 0 else deps[shape] for shape in self._args])
        args = [_fill(shape, rest, deps) for shape in self._args]
        return self.function(*args, **{name: _fill(shape, rest, deps) for name, shape in self._kwargs})


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
