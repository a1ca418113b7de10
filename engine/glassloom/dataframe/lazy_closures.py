"""Users' functions that name lazy values: called with partitions or values, they would return lazy values among the others."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.backends.pandas_ import of_samples
from glassloom.collection import Collection
from glassloom.dataframe.wrap import holds_lazy
from glassloom.errors import MetaError


def of_samples_at_hand(function: Callable[..., Any], *metas: Any, who: str, users: Any = None) -> Any:
    """Return what a function, which calls a user's, makes of made-up rows. See `of_samples`.

    Parameters
    ----------
    who
        What the user has called.
    users
        The user's function, or a list or dict of such.

    Raises
    ------
    TypeError
        If there are lazy values in it.
    """
    made = call_users_function(of_samples, function, *metas)
    require_at_hand_values(made, who, users)
    return made


def require_at_hand_values(made: Any, who: str, users: Any = None) -> None:
    """Check that a result of a user's function is no lazy value, and that there are none among its values and labels.

    Raises
    ------
    TypeError
        If there are.
    """
    if not _has_lazy(made):
        return
    why = lazy_hint(users) or "it uses a lazy value"
    raise LazyResult(
        f"{who}: the function gets computed values and returned a lazy one, since {why}: compute() it before the call"
    )


class LazyResult(TypeError):
    """A user's function returned lazy values."""


def lazy_hint(users: Any) -> str:
    """Return which lazy values the functions of a user's name, as errors say it; nothing if there are none."""
    found = [f"{name!r} is a lazy {type(value).__name__}" for name, value in names_of_lazy(users).items()]
    return ", ".join(found)


def failed_on_samples(what: str, error: Exception, users: Any, how: str, of_rows: Exception | None = None) -> MetaError:
    """Return the error of a user's function that failed on made-up rows; `how` says how its result is described.

    If it names lazy values, that is likely why: then the error has no cause, whose traceback is long and says nothing of them. `of_rows` is
    what it raised for the first rows of the data, where it was tried on these too.
    """
    raised = f"tried on two made-up rows to find out what it returns, and raised {_said(error)}"
    if of_rows is not None and _said(of_rows) != _said(error):
        raised += f"; on the first rows of the data it raised {_said(of_rows)}"
    meta = f"Say what it returns with meta={how}"
    if hint := lazy_hint(users):
        made = MetaError(f"{what}: {hint}; functions get computed values: compute() it before. It was {raised}. {meta}")
        made.__suppress_context__ = True
        return made
    made = MetaError(f"{what} was {raised}. {meta}")
    made.__cause__ = error if of_rows is None else of_rows
    return made


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def names_of_lazy(users: Any) -> dict[str, Collection]:
    """Return the lazy values that a function names, or the functions in a list, tuple or dict: its variables' and arguments'."""
    if isinstance(users, dict):
        users = list(users.values())
    if isinstance(users, (list, tuple)):
        return {name: value for one in users for name, value in names_of_lazy(one).items()}
    if isinstance(users, functools.partial):
        given = {**{f"argument {number}": arg for number, arg in enumerate(users.args)}, **users.keywords}
        return {**names_of_lazy(users.func), **names_of_lazy(list(users.args)), **_lazy_among(given)}
    users = getattr(users, "__func__", users)  # of a bound method
    return _lazy_among(dict(_named(users))) if isinstance(users, FunctionType) else {}


def _lazy_among(named: dict[str, Any]) -> dict[str, Collection]:
    return {name: value for name, value in named.items() if isinstance(value, Collection)}


def _named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names that a function uses from outside, and their values."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it is filled later
            continue
    arguments = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()
    for name in _globals_of(code):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _globals_of(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)


def _has_lazy(made: Any) -> bool:
    if isinstance(made, Collection):
        return True
    if isinstance(made, pd.DataFrame):
        return _has_lazy(made.index) or any(
            _has_lazy(made.iloc[:, place])
            for place, dtype in enumerate(made.dtypes)
            if pd.api.types.is_object_dtype(dtype)
        )
    if isinstance(made, pd.Series) and _has_lazy(made.index):
        return True
    if (
        not isinstance(made, (pd.Series, pd.Index))
        or not pd.api.types.is_object_dtype(made.dtype)
        or isinstance(made, pd.MultiIndex)
    ):
        return False
    kinds = set(map(type, made.array))
    if any(issubclass(kind, Collection) for kind in kinds):
        return True
    return not kinds.isdisjoint((dict, list, tuple)) and holds_lazy(list(made.array))
