"""Functions, classes, code and modules as plain values for a token: by name if every process finds them under it, else by content.

What is importable is known by its module and name. What is defined in ``__main__``, in a function, or in a module that
is registered with ``cloudpickle.register_pickle_by_value``, is known by its content, as only that tells an edited
definition from the one before. Where it stands (file and line) is no part of its content.
"""

from __future__ import annotations

import dis
import enum
import sys
import types
from collections.abc import Iterator
from typing import Any

import cloudpickle

from glassloom.graph.identity_cache import IdentityCache

_CODE_CONTENT = (
    "co_name", "co_qualname", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_code", "co_consts",
    "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable",
)  # fmt: skip
"""All of a code object but its file and lines."""

_NO_CLASS_CONTENT = frozenset(
    ["__dict__", "__weakref__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__",
     "__annotations_cache__", "__slotnames__", "_abc_impl"]
)  # fmt: skip
"""What a class's namespace has that differs between equal definitions, or that is told apart from it."""

_DESCRIPTORS_OF_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_FUNCTIONS = (types.FunctionType, classmethod, staticmethod, property)
_READS_GLOBALS = frozenset(["LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"])
_IS_MADE_AT_RUN_TIME = 1 << 9
"""Py_TPFLAGS_HEAPTYPE."""
_EMPTY_CELL = "an empty cell"

_globals_read: IdentityCache[tuple[str, ...]] = IdentityCache()


def import_path(value: Any) -> tuple[str, str] | None:
    """Return the module and name under which other processes find a function or class; None if they can't."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__" or "<" in name:
        return None
    if isinstance(value, type) and not value.__flags__ & _IS_MADE_AT_RUN_TIME:
        return module, name  # Python's own, such as the type of functions, which no module has
    if is_by_value(module) or find(module, name) is not value:
        return None
    return module, name


def still_importable(value: Any, path: tuple[str, str]) -> bool:
    """Tell whether `import_path` of a function is what it was. Faster than to find it again."""
    module, name = path
    if value.__module__ is not module or value.__qualname__ is not name or "." in name:
        return import_path(value) == path
    is_found = getattr(sys.modules.get(module), name, None) is value
    return is_found and not (cloudpickle.list_registry_pickle_by_value() and is_by_value(module))


def find(module: str, name: str) -> Any:
    """Return what a loaded module has under a dotted name; None if there is no such thing."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def is_by_value(module: str) -> bool:
    """Whether a module, or a package that it is in, is registered with ``cloudpickle.register_pickle_by_value``."""
    registered = cloudpickle.list_registry_pickle_by_value()
    return bool(registered) and any(module == name or module.startswith(f"{name}.") for name in registered)


def function_content(function: types.FunctionType) -> Any:
    """Return all that decides what a function does, the globals that it reads included."""
    module_globals = function.__globals__
    read = {name: module_globals[name] for name in globals_read(function.__code__) if name in module_globals}
    annotations = getattr(function, "__annotate__", None) or function.__annotations__  # 3.14: not evaluated yet
    return (
        function.__module__,
        function.__qualname__,
        function.__doc__,
        function.__code__,
        function.__defaults__,
        function.__kwdefaults__,
        annotations,
        [_cell_content(cell) for cell in function.__closure__ or ()],
        function.__dict__,
        read,
    )


def _cell_content(cell: types.CellType) -> Any:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not assigned yet
        return _EMPTY_CELL


def code_content(code: types.CodeType) -> Any:
    """Return all of a code object but its file and lines."""
    return [getattr(code, name) for name in _CODE_CONTENT]


def globals_read(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of the globals that code reads, the functions in it included, in alphabetical order."""
    names = _globals_read.get(code)
    if names is None:
        names = _globals_read.set(code, tuple(sorted(set(_find_globals(code)))))
    return names


def _find_globals(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in _READS_GLOBALS:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _find_globals(constant)


def class_content(cls: type) -> Any:
    """Return all that decides what a class does, its methods included."""
    content = {name: value for name, value in vars(cls).items() if name not in _NO_CLASS_CONTENT}
    members: Any = None
    if isinstance(cls, enum.EnumMeta):
        members = [(name, each._value_) for name, each in vars(cls)["_member_map_"].items()]
        content = {name: value for name, value in content.items() if _is_own_content(cls, name, value)}
    kept = sorted(name for name, value in content.items() if not isinstance(value, _DESCRIPTORS_OF_SLOTS))
    return (
        type(cls), cls.__module__, cls.__qualname__, cls.__bases__, members, [(name, content[name]) for name in kept],
    )  # fmt: skip


def _is_own_content(cls: enum.EnumMeta, name: str, value: Any) -> bool:
    """Whether an enumeration's entry was written by its author, rather than kept by `enum` as members are looked up."""
    if name in cls.__members__:
        return False
    is_kept_by_enum = name.startswith("_") and name.endswith("_") and not name.startswith("__")
    return not is_kept_by_enum or isinstance(value, (*_FUNCTIONS, enum.FlagBoundary))


def module_content(module: types.ModuleType) -> Any:
    """Return the name of a module that can be imported; else what it defines."""
    name = module.__name__
    if sys.modules.get(name) is module and not is_by_value(name) and name != "__main__":
        return name
    return (name, {key: value for key, value in sorted(vars(module).items()) if not key.startswith("__")})
