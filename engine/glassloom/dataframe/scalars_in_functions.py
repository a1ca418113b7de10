"""Lazy scalars that users' functions name, such as ``latest`` in ``lambda days: (latest - days.max()).days``: they are computed before the functions get them."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from glassloom.collection import Collection, compute
from glassloom.dataframe.keys_at_hand import is_lazy_scalar

CALLING = frozenset([
    "agg", "aggregate", "apply", "combine", "filter", "map", "map_overlap", "map_partitions", "reduction", "rename", "sort_index", "sort_values", "transform",
])  # fmt: skip
"""Methods whose functions get computed values."""
_READS_GLOBAL = frozenset(["LOAD_GLOBAL", "LOAD_NAME"])
_HOLDING = frozenset([FunctionType, functools.partial, tuple, list, dict])


def with_scalars_at_hand(arguments: Any) -> Any:
    """Return arguments with functions that name values in the place of lazy scalars. All scalars are computed now, together.

    Functions stay as they are that ask for what only lazy values have, such as ``compute``, or that set variables of other functions.

    Parameters
    ----------
    arguments
        Any value; functions are looked for in tuples, lists and dicts.
    """
    found = {id(scalar): scalar for scalar in _scalars_in(arguments)}
    if not found:
        return arguments
    values = dict(zip(found, compute(*found.values(), traverse=False), strict=True))
    return _with_values(arguments, values)


def _scalars_in(value: Any) -> Iterator[Any]:
    """Yield the lazy scalars that functions among some arguments name, or are given."""
    if type(value) is FunctionType:
        yield from _scalars_of(value)
    elif type(value) is functools.partial:
        yield from filter(_is_scalar, (*value.args, *value.keywords.values()))
        yield from _scalars_in(value.func)
    elif type(value) is dict:
        yield from _scalars_in(list(value.values()))
    elif type(value) in (tuple, list) and not _HOLDING.isdisjoint(map(type, value)):
        for one in value:
            yield from _scalars_in(one)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Collection) and is_lazy_scalar(value)


def _scalars_of(function: FunctionType) -> list[Any]:
    """Return the lazy scalars that a function names, if values can take their place."""
    named = list(filter(_is_scalar, _named(function)))
    if not named:
        return []
    codes = list(_codes(function.__code__))
    asked = {name for code in codes for name in code.co_names}
    is_changing = any(_is_change(one, function) for code in codes for one in dis.get_instructions(code))
    is_asking = any(
        hasattr(type(value), name) and not hasattr(value.expr.meta, name) for value in named for name in asked
    )
    return [] if is_changing or is_asking else named


def _is_change(instruction: dis.Instruction, function: FunctionType) -> bool:
    """Whether a step of a function sets a variable outside of it."""
    is_outside = instruction.argval in function.__code__.co_freevars
    return instruction.opname == "STORE_GLOBAL" or (instruction.opname == "STORE_DEREF" and is_outside)


def _named(function: FunctionType) -> Iterator[Any]:
    """Yield the values of variables and arguments that a function may name."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        if not _is_empty(cell):
            yield cell.cell_contents
    for code in _codes(function.__code__):
        known = [name for name in code.co_names if _is_scalar(function.__globals__.get(name))]
        if known:  # a name may be that of an attribute, too
            asked = {one.argval for one in dis.get_instructions(code) if one.opname in _READS_GLOBAL}
            yield from (function.__globals__[name] for name in known if name in asked)


def _is_empty(cell: CellType) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:  # it is filled later
        return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and of those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _with_values(value: Any, values: dict[int, Any]) -> Any:
    """Return arguments whose functions have values for the lazy scalars of some ids."""
    if type(value) is FunctionType:
        return _naming_values(value, values) if _scalars_of(value) else value
    if type(value) in (tuple, list):
        return type(value)(_with_values(one, values) for one in value)
    if type(value) is dict:
        return {key: _with_values(one, values) for key, one in value.items()}
    if type(value) is functools.partial:
        args = [values.get(id(one), one) for one in value.args]
        keywords = {name: values.get(id(one), one) for name, one in value.keywords.items()}
        return functools.partial(_with_values(value.func, values), *args, **keywords)
    return value


def _naming_values(function: FunctionType, values: dict[int, Any]) -> FunctionType:
    """Return a function that has values for some objects, by their id, among the variables and arguments that it names."""

    def at_hand(value: Any) -> Any:
        return values.get(id(value), value)

    names = {name for code in _codes(function.__code__) for name in code.co_names}
    variables = {
        name: at_hand(value)
        for name, value in function.__globals__.items()
        if name in names or (name.startswith("__") and name.endswith("__"))
    }
    cells = tuple(
        cell if _is_empty(cell) or id(cell.cell_contents) not in values else CellType(at_hand(cell.cell_contents))
        for cell in function.__closure__ or ()
    )
    defaults = tuple(map(at_hand, function.__defaults__ or ())) or None
    made = FunctionType(function.__code__, variables, function.__name__, defaults, cells)
    if function.__kwdefaults__ is not None:
        made.__kwdefaults__ = {name: at_hand(value) for name, value in function.__kwdefaults__.items()}
    made.__qualname__, made.__doc__, made.__module__ = function.__qualname__, function.__doc__, function.__module__
    made.__dict__.update(function.__dict__)
    return made
