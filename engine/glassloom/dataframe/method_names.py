"""The names that errors give methods: those of the class that users know, where a method is inherited from one that they don't. And those that are completed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import CellType, FunctionType
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)
_ACCESSORS = frozenset(["cat", "dt", "list", "str", "struct"])


def methods_named(kind: str) -> Callable[[_Class], _Class]:
    """Return a class decorator that names all public methods of a class, inherited ones too, as those of `kind`.

    Python says of a wrong argument which method of which class doesn't take it.

    >>> class Base:
    ...     def head(self): ...
    >>> @methods_named("DataFrame")
    ... class Frame(Base): ...
    >>> Frame().head(3)
    Traceback (most recent call last):
    TypeError: DataFrame.head() takes 1 positional argument but 2 were given
    """

    def change(cls: _Class) -> _Class:
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            if name.startswith("_"):
                continue
            if isinstance(method, FunctionType):
                setattr(cls, name, _named(method, f"{kind}.{name}", cls.__module__))
            elif isinstance(method, staticmethod) and isinstance(method.__func__, FunctionType):
                setattr(cls, name, staticmethod(_named(method.__func__, f"{kind}.{name}", cls.__module__)))
        return cls

    return change


def names_without_unfit(lazy: Any, names: Iterable[str]) -> list[str]:
    """Return the names that are completed for a series or index: without accessors of other values than it has."""
    return [name for name in names if name not in _ACCESSORS or hasattr(lazy, name)]


def _named(function: FunctionType, qualname: str, module: str) -> FunctionType:
    """Return a copy of a function, and of the one that it wraps, under another name."""
    wrapped = function.__dict__.get("__wrapped__")
    inner = _named(wrapped, qualname, module) if isinstance(wrapped, FunctionType) else wrapped
    cells = [_cell(cell, wrapped, inner) for cell in function.__closure__ or ()]
    made: Any = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells) or None
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    made.__doc__ = function.__doc__
    made.__dict__.update(function.__dict__)
    if inner is not None:
        made.__wrapped__ = inner
    made.__qualname__, made.__module__ = qualname, module
    return made


def _cell(cell: CellType, old: Any, new: Any) -> CellType:
    """Return a cell of a closure, or one with the new function in place of the old one."""
    try:
        return CellType(new) if old is not None and cell.cell_contents is old else cell
    except ValueError:  # it is filled later
        return cell
