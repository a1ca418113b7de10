"""`delayed`: calls of ordinary functions, made later and in parallel."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from glassloom.collection import Collection
from glassloom.errors import OptionError
from glassloom.expr import Expr, Persisted
from glassloom.graph import (
    Key,
    Origin,
    Task,
    TaskRef,
    function_label,
    random_token,
    task_function,
    tokenize,
    user_origin,
)
from glassloom.graph.structures import emptied, filled, is_structure, items_of
from glassloom.reprs import render
from glassloom.reprs.block_states import block_states, held_bytes, held_values, states_html
from glassloom.reprs.live_blocks import show_blocks

_PLAIN = frozenset([int, float, bool, str, bytes, type(None)])
_NO_NODES: list[Expr] = []  # shared by many calls, as is the next: fewer objects for the garbage collector
_NO_KWARGS: dict[str, Any] = {}


class Call(Expr):
    """A call whose arguments may hold other expressions.

    With a `token`, that names the call: its function and arguments, which may be large, aren't looked into.

    Parameters
    ----------
    called
        What `function_label` says of the function, if that is known.
    """

    parameters = ("function", "args", "kwargs", "token", "below")
    is_opaque = True

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    token: str
    below: tuple[Expr, ...]

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        token: str,
        below: tuple[Expr, ...],
        *,
        origin: Origin | None = None,
        called: str | None = None,
    ) -> None:
        self.operands = (function, args, kwargs, token, below)
        self.origin = origin or user_origin()
        self.name = f"{called or function_label(function)}-{token or self.token_of_operands()}"

    @cached_property
    def dependencies(self) -> list[Expr]:
        return list(self.below) if self.below else _NO_NODES

    @property
    def label(self) -> str:
        return function_label(self.function)

    def output_keys(self) -> list[Key]:
        return [self.name]

    def tasks(self) -> dict[Key, Task]:
        only = self.only_task()
        if only is not None:
            return {self.name: only}
        tasks: dict[Key, Task] = {}
        args = tuple([_lowered(arg, tasks) for arg in self.args])
        kwargs = {name: _lowered(value, tasks) for name, value in self.kwargs.items()}
        tasks[self.name] = Task(self.name, self.function, args, kwargs or None)
        return tasks

    def only_task(self) -> Task | None:
        function, args, kwargs, _, below = self.operands
        return None if below else Task(self.name, function, args, kwargs or None)

    def substitute(self, replacement: Callable[[Expr], Expr]) -> Call:
        if not self.below:
            return self
        below = tuple(replacement(node) for node in self.below)
        if all(new is old for new, old in zip(below, self.below, strict=True)):
            return self
        new = {old.name: node for old, node in zip(self.below, below, strict=True)}
        args = tuple(_swapped(arg, new) for arg in self.args)
        kwargs = {name: _swapped(value, new) for name, value in self.kwargs.items()}
        return Call(self.function, args, kwargs, self.token, below, origin=self.origin)

    def assemble(self, blocks: list[Any]) -> Any:
        return blocks[0]

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        name = name or self.name
        return Known(Persisted(name, held), name, origin=self.origin)


class Known(Expr):
    """A single value that the runtime holds under `key`."""

    parameters = ("source", "key")
    is_opaque = True

    source: Persisted
    key: Key

    def output_keys(self) -> list[Key]:
        return [self.key]

    def tasks(self) -> dict[Key, Task]:
        return self.source.tasks([self.key])

    def assemble(self, blocks: list[Any]) -> Any:
        return blocks[0]

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return self


class Delayed(Collection):
    """A call to be made later. Operators, indexing, attributes and calls of it are delayed too.

    Examples
    --------
    >>> import glassloom as gl
    >>> total = gl.delayed(sum)([1, 2]) + 10
    >>> total.compute()
    13
    """

    def __init__(self, expr: Expr) -> None:
        object.__setattr__(self, "_expr", expr)  # past `__setattr__`, which takes as long as all the rest

    def __repr__(self) -> str:
        return f"Delayed({self.name!r})"

    def _repr_html_(self) -> str:
        return delayed_html(self)

    def _ipython_display_(self) -> None:
        show_blocks(self, delayed_html)

    @property
    def key(self) -> Key:
        """The key of the task that makes the value."""
        return self.name

    def __setattr__(self, attribute: str, value: Any) -> None:
        if not attribute.startswith("_"):
            raise TypeError(
                f"attributes of a Delayed can't be set, as {attribute!r} here: it has no value before compute()"
            )
        super().__setattr__(attribute, value)

    def __call__(self, /, *args: Any, pure: bool | None = None, **kwargs: Any) -> Delayed:
        refuse_call_options(kwargs)
        return call(_apply, (self, *args), kwargs, pure=bool(pure), label="call")

    def __getattr__(self, attribute: str) -> Delayed:
        if attribute.startswith("_"):
            raise AttributeError(f"'Delayed' object has no attribute {attribute!r}")
        if attribute == "dask":
            raise AttributeError(
                "'Delayed' has no 'dask': draw its tasks with visualize(), and see explain() of arrays and frames"
            )
        return call(getattr, (self, attribute), {}, pure=True)

    def __getitem__(self, index: Any) -> Delayed:
        return call(operator.getitem, (self, index), {}, pure=True)

    def __iter__(self) -> Any:
        raise TypeError(
            "a Delayed object of unknown length can't be iterated; use delayed(f, nout=n)(...) to unpack it"
        )

    def __bool__(self) -> bool:
        raise TypeError("the truth of a Delayed object is not known before compute()")


def delayed_html(value: Delayed, told: Sequence[str] = ()) -> str:
    """Return a card with the key, and how the value stands if it is persisted; `told`: see `block_states`."""
    held = held_values(value.expr)
    states = states_html(block_states(held, told), held_bytes(held), was_told=bool(told))
    return render("delayed.html.j2", key=value.name, origin=str(value.expr.origin or ""), states=states)


class DelayedTuple(tuple[Delayed, ...]):
    """What a call with ``nout`` returns: one `Delayed` for each result."""


_MISSING: Any = object()


def delayed(
    obj: Any = _MISSING,
    *,
    name: str | None = None,
    pure: bool | None = None,
    nout: int | None = None,
    traverse: bool = True,
) -> Any:
    """Make a function lazy, or wrap a value. As a decorator with or without arguments, or as a call.

    Parameters
    ----------
    obj
        A function (calls of what is returned are lazy), or any value, which becomes a `Delayed` of itself. A coroutine
        function runs in an event loop of the task's own. Without `obj`: a decorator that has the other arguments.
    name
        What to call the task instead of the function's own name.
    pure
        Whether equal calls have equal results, so that they are made only once. Default False: each call is its own.
    nout
        Number of results if the function returns a tuple to be unpacked; the call then returns that many `Delayed`.
    traverse
        Whether to look for other delayed values inside the lists, tuples, sets and dicts of a value. False: a large
        container that holds none is taken as it is.

    Raises
    ------
    TypeError
        If `obj` is a generator function.
    ValueError
        If `nout` is no number of results.

    Examples
    --------
    >>> import glassloom as gl
    >>> @gl.delayed
    ... def inc(x):
    ...     return x + 1
    >>> inc(inc(1)).compute()
    3
    >>> @gl.delayed(pure=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(4) is double(4), double(4).name == double(4).name
    (False, True)
    >>> quotient, rest = gl.delayed(divmod, nout=2)(7, 3)
    >>> gl.compute(quotient, rest)
    (2, 1)
    """
    if obj is _MISSING:
        return partial(delayed, name=name, pure=pure, nout=nout, traverse=traverse)
    if isinstance(obj, Delayed):
        return obj
    if callable(obj) and not isinstance(obj, Collection):
        return DelayedFunction(obj, name=name, pure=bool(pure), nout=nout)
    label = name or type(obj).__name__
    if traverse:
        return call(_same, (obj,), {}, pure=True, label=label)
    return call(_opened, (_Closed(obj),), {}, pure=True, label=label)


def refuse_call_options(kwargs: dict[str, Any]) -> None:
    """Refuse Dask's option of calls, which would go to the function.

    Raises
    ------
    OptionError
        If it is among them; the message says what there is instead.
    """
    if "dask_key_name" in kwargs:
        raise OptionError(
            f"dask_key_name={kwargs['dask_key_name']!r}: calls take no name here; give the function one, delayed(f, name=...)"
        )


class DelayedFunction:
    """A function whose calls are lazy; made by `delayed`."""

    def __init__(self, function: Callable[..., Any], *, name: str | None, pure: bool, nout: int | None) -> None:
        if nout is not None and (not isinstance(nout, int) or nout < 0):
            raise ValueError(f"nout={nout!r} should be a number of results, 0 or more")
        self.function = task_function(function)
        self._named_function = self.function if name is None else _Named(self.function, name)
        self._called = function_label(self._named_function)
        self._pure = pure
        self._nout = nout
        self.__name__ = name or function_label(function)
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"delayed({self.__name__})"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can be decorated."""
        if instance is None:
            return self
        bind = getattr(self.__wrapped__, "__get__", None)
        if bind is None:
            return self  # a callable object isn't bound either when it is an attribute of a class
        bound = bind(instance, owner)
        return DelayedFunction(bound, name=self.__name__, pure=self._pure, nout=self._nout)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        refuse_call_options(kwargs)
        origin = user_origin(2)
        result = call(self._named_function, args, kwargs, pure=self._pure, origin=origin, called=self._called)
        if self._nout is None:
            return result
        return DelayedTuple(result[position] for position in range(self._nout))


def call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    pure: bool,
    label: str | None = None,
    origin: Origin | None = None,
    called: str | None = None,
) -> Delayed:
    """Return the lazy call ``function(*args, **kwargs)``.

    Parameters
    ----------
    pure
        Whether equal calls are one.
    label
        What to call it instead of the function's own name.
    origin
        The user's line, if that is known.
    called
        What `function_label` says of the function, if that is known.
    """
    if label is not None:
        function = _Named(function, label)
    below: dict[str, Expr] = {}
    if not _PLAIN.issuperset(map(type, args)):
        args = tuple([_unwrapped(arg, below) for arg in args])
    plain_kwargs = {name: _unwrapped(value, below) for name, value in kwargs.items()} if kwargs else _NO_KWARGS
    token = "" if pure else random_token()
    return Delayed(Call(function, args, plain_kwargs, token, tuple(below.values()), origin=origin, called=called))


class _Named:
    """A function under another name."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.__name__ = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.__name__)


def _apply(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _same(value: Any) -> Any:
    return value


class _Closed:
    """Holds a value into which nobody looks for other delayed values."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __glassloom_tokenize__(self) -> Any:
        return self.value


def _opened(closed: _Closed) -> Any:
    return closed.value


def _unwrapped(value: Any, below: dict[str, Expr]) -> Any:
    """Return `value` with collections replaced by their expressions, which are noted in `below`."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, Collection):
        below.setdefault(value.expr.name, value.expr)  # a series' own name is its column's
        return value.expr
    if isinstance(value, DelayedFunction):
        return value.function
    if kind in (list, tuple, set):
        return kind(_unwrapped(item, below) for item in value)
    if kind is dict:
        return {name: _unwrapped(item, below) for name, item in value.items()}
    if is_structure(kind):
        return _unwrapped_structure(value, below)
    return value


def _unwrapped_structure(value: Any, below: dict[str, Expr]) -> Any:
    """Return a structure as it is, or if there are collections in it a call that makes it of their results."""
    items, inside = items_of(value), dict[str, Expr]()
    parts = [_unwrapped(item, inside) for _, item in items]
    if not inside:
        return value
    made = Call(filled_in, (emptied(value), [name for name, _ in items], parts), {}, "", tuple(inside.values()))
    below.setdefault(made.name, made)
    return made


def filled_in(left: Any, names: list[Any], values: list[Any]) -> Any:
    """Return a structure with items of these names and values: see `emptied`."""
    return filled(left, zip(names, values, strict=True))


def _swapped(value: Any, new: dict[str, Expr]) -> Any:
    if isinstance(value, Expr):
        return new.get(value.name, value)
    kind = type(value)
    if kind in (list, tuple, set):
        return kind(_swapped(item, new) for item in value)
    if kind is dict:
        return {name: _swapped(item, new) for name, item in value.items()}
    return value


def _lowered(value: Any, tasks: dict[Key, Task]) -> Any:
    """Return `value` with expressions replaced by references; those of several blocks get a task that assembles them."""
    if isinstance(value, Expr):
        keys = value.output_keys()
        if isinstance(value, (Call, Known)):
            return TaskRef(keys[0])
        key = f"assemble-{tokenize(value.name)}"
        tasks[key] = Task(key, value.assemble, ([TaskRef(block) for block in keys],))
        return TaskRef(key)
    kind = type(value)
    if kind in (list, tuple):
        return kind(_lowered(item, tasks) for item in value)
    if kind is set:
        return {_lowered(item, tasks) for item in value}
    if kind is dict:
        return {name: _lowered(item, tasks) for name, item in value.items()}
    return value


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Delayed]:
    def method(self: Any, other: Any) -> Delayed:
        return call(function, (self, other), {}, pure=True)

    return method


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Delayed]:
    def method(self: Any, other: Any) -> Delayed:
        return call(function, (other, self), {}, pure=True)

    return method


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Delayed]:
    def method(self: Any) -> Delayed:
        return call(function, (self,), {}, pure=True)

    return method


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    _function = getattr(operator, f"__{_name}__")
    setattr(Delayed, f"__{_name}__", _binary(_function))
    setattr(Delayed, f"__r{_name}__", _reflected(_function))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Delayed, f"__{_name}__", _binary(getattr(operator, f"__{_name}__")))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Delayed, f"__{_name}__", _unary(getattr(operator, f"__{_name}__")))
setattr(Delayed, "__hash__", lambda self: hash(self.name))  # noqa: B010 - setting __eq__ above unset it
