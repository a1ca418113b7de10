"""`FunctionReads`: what decides what a function does, and whether that is still so, found without hashing what is large.

A function that is importable is its name. Another is its code, defaults and closure, and the globals that it reads, with the
functions among them. Each part is compared in the cheapest way that tells: constants and code by identity, what can be
changed in place by its token. Only large arrays and containers are compared by a sample of their content.
"""

from __future__ import annotations

import array
import itertools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from glassloom.graph.definitions import globals_read, import_path, is_by_value, still_importable
from glassloom.graph.tokenize import tokenize

_CONSTANTS = frozenset([int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range])
_LARGE_BYTES = 64 * 1024
"""Up to here hashing a buffer costs little."""
_LARGE_ITEMS = 4096
_ENDS_BYTES = 256
_SAMPLES = 64
_MISSING: Any = object()


class FunctionReads:
    """The parts of a function, as they are when this is made. Keeps no object alive that might hold the function.

    Attributes
    ----------
    has_large
        Whether some of them are compared by a sample, so that `still_hold` may miss a change.
    """

    __slots__ = ("_checks", "_seen", "has_large")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.has_large = False
        self._checks: list[Callable[[], bool]] = []
        self._seen: set[int] = set()
        if type(function) is types.FunctionType and import_path(function) is None:
            self._seen.add(id(function))
            self._add_function(weakref.ref(function))
        else:
            self._add(weakref.ref(function))

    def still_hold(self) -> bool:
        """Tell whether the parts are what they were."""
        for check in self._checks:  # noqa: SIM110 - half the time of `all`
            if not check():
                return False
        return True

    def _add(self, read: Callable[[], Any]) -> None:
        """Add what a place has now."""
        value = read()
        kind = type(value)
        if (
            kind in _CONSTANTS
            or value is _MISSING
            or (kind is tuple and all(type(item) in _CONSTANTS for item in value))
        ):
            self._checks.append(lambda: read() is value)
        elif kind is types.ModuleType and _is_importable(value):
            self._checks.append(lambda: read() is value and _is_importable(value))
        elif kind is types.FunctionType or kind is types.BuiltinFunctionType or issubclass(kind, type):
            self._add_definition(read, value)
        elif (sample := _sample(value)) is not None:
            self.has_large = True
            self._checks.append(lambda: _sample(read()) == sample)
        else:
            self._add_token(read)

    def _add_definition(self, read: Callable[[], Any], value: Any) -> None:
        path = import_path(value)
        reference = weakref.ref(value)
        if path is not None and type(value) is types.FunctionType:
            self._checks.append(
                lambda: (now := read()) is reference() and now is not None and still_importable(now, path)
            )
        elif path is not None:
            self._checks.append(lambda: read() is reference() and import_path(reference()) == path)
        elif type(value) is types.FunctionType:
            self._checks.append(lambda: read() is reference())
            if id(value) not in self._seen:
                self._seen.add(id(value))
                self._add_function(reference)
        else:
            self._add_token(read)

    def _add_token(self, read: Callable[[], Any]) -> None:
        token = tokenize(read())
        self._checks.append(lambda: tokenize(read()) == token)

    def _add_function(self, function: Callable[[], Any]) -> None:
        code, doc, module, qualname = _definition(function())
        is_bare = _is_bare(function())

        def is_same() -> bool:
            now = function()
            return (
                now.__code__ is code
                and now.__doc__ is doc
                and now.__module__ is module
                and now.__qualname__ is qualname
                and (
                    not is_bare
                    or (
                        now.__defaults__ is None
                        and not now.__kwdefaults__
                        and not now.__dict__
                        and not now.__annotations__
                    )
                )
            )

        self._checks.append(is_same)
        if not is_bare:
            self._add(lambda: function().__defaults__)
            self._add(lambda: function().__kwdefaults__ or None)
            self._add(lambda: function().__dict__ or None)
            self._add(lambda: getattr(function(), "__annotate__", None) or function().__annotations__ or None)
        for position in range(len(function().__closure__ or ())):
            self._add(lambda position=position: _content(function().__closure__[position]))  # type: ignore[misc]
        for name in globals_read(function().__code__):
            self._add(lambda name=name: function().__globals__.get(name, _MISSING))  # type: ignore[misc]


def _definition(function: Any) -> tuple[Any, ...]:
    return (function.__code__, function.__doc__, function.__module__, function.__qualname__)


def _is_bare(function: Any) -> bool:
    """Whether a function has no defaults, attributes or annotations."""
    return (
        function.__defaults__ is None
        and not function.__kwdefaults__
        and not function.__dict__
        and not function.__annotations__
    )


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


def _is_importable(module: types.ModuleType) -> bool:
    name = module.__name__
    return sys.modules.get(name) is module and name != "__main__" and not is_by_value(name)


def _sample(value: Any) -> Any:
    """Return some of a large value's content; None if it isn't large, or of a type that can't be sampled."""
    kind = type(value)
    if kind is list or kind is tuple:
        return (
            (id(value), len(value), [*map(id, value[:: len(value) // _SAMPLES])]) if len(value) > _LARGE_ITEMS else None
        )
    if kind is dict:
        return (
            (id(value), len(value), [*itertools.islice(_ids(value), _SAMPLES)]) if len(value) > _LARGE_ITEMS else None
        )
    if kind is set or kind is frozenset:
        return (
            (id(value), len(value), [*map(id, itertools.islice(value, _SAMPLES))])
            if len(value) > _LARGE_ITEMS
            else None
        )
    if kind is bytearray or kind is array.array or (kind.__name__ == "ndarray" and kind.__module__ == "numpy"):
        return _sample_of_buffer(value)
    return None


def _ids(value: dict[Any, Any]) -> Any:
    return ((id(key), id(item)) for key, item in value.items())


def _sample_of_buffer(value: Any) -> Any:
    try:
        view = memoryview(value)
        if view.nbytes <= _LARGE_BYTES or "O" in view.format or not view.c_contiguous:
            return None
        data = view.cast("B")
    except (ValueError, TypeError, BufferError):  # such as an array of dates
        return None
    step = view.nbytes // _SAMPLES | 1  # odd: over all bytes of the elements
    ends = bytes(data[:_ENDS_BYTES]), bytes(data[-_ENDS_BYTES:])
    return (id(value), view.nbytes, view.format, view.shape, ends, bytes(data[::step]))
