"""Values to bytes and back: pickle protocol 5 with buffers out of band; cloudpickle for code of the user's own.

Plain pickle is several times faster, but refers by name to what is defined in ``__main__``, or in a module that is
registered with ``cloudpickle.register_pickle_by_value``. Another process doesn't have those; cloudpickle sends them by value.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import cloudpickle

from glassloom._text import error_line, full_type_name
from glassloom.errors import SerialisationError

_PROTOCOL = 5
_CachedFunction = type(functools.lru_cache(int))


def dumps(value: Any) -> bytes:
    """Return `value` as bytes, buffers included.

    Raises
    ------
    SerialisationError
        If it can't be pickled.
    """
    try:
        data = pickle.dumps(value, _PROTOCOL)
    except Exception:  # pickling runs the user's code; cloudpickle may know better
        return _cloud_dumps(value, None)
    return _cloud_dumps(value, None) if _names_what_goes_by_value(data) else data


def dump_buffers(value: Any) -> tuple[bytes, list[memoryview]]:
    """Return `value` as bytes and the large buffers in it, not copied.

    Raises
    ------
    SerialisationError
        If it can't be pickled.
    """
    buffers: list[pickle.PickleBuffer] = []
    try:
        data = pickle.dumps(value, _PROTOCOL, buffer_callback=buffers.append)
        goes_by_value = _names_what_goes_by_value(data)
    except Exception:  # as above
        goes_by_value = True
    if goes_by_value:
        buffers.clear()
        data = _cloud_dumps(value, buffers)
    return data, [buffer.raw() for buffer in buffers]


def loads(data: bytes | memoryview, buffers: Sequence[memoryview] = ()) -> Any:
    """Return the value of what `dumps` or `dump_buffers` made. Whatever unpickling raises is raised as it is."""
    return pickle.loads(data, buffers=buffers)


def loads_all(pickles: Iterable[bytes]) -> list[Any]:
    """Return the values of what `dumps` made. Whatever unpickling raises is raised as it is."""
    return list(map(pickle.loads, pickles))


def loads_result(data: bytes | memoryview, buffers: Sequence[memoryview] = ()) -> Any:
    """Return the value of what `dumps` or `dump_buffers` made of a task's result.

    Raises
    ------
    SerialisationError
        If it can't be unpickled here: the class of the value raises, or this process lacks what it needs.
    MemoryError
        If there is no room for it.
    """
    try:
        return loads(data, buffers)
    except MemoryError:
        raise
    except Exception as error:  # unpickling runs the user's code
        raise SerialisationError(f"a result was pickled, but can't be unpickled: {error_line(error)}") from error


def _names_what_goes_by_value(data: bytes) -> bool:
    """Whether a pickle has the name of a module whose content other processes don't have. It may be just a string."""
    return b"__main__" in data or any(name.encode() in data for name in cloudpickle.list_registry_pickle_by_value())


class _CloudPickler(cloudpickle.Pickler):
    """cloudpickle, which also sends functions with a `functools.lru_cache` by value."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how an object is put together again."""
        if type(obj) is _CachedFunction and _goes_by_value(obj):
            return _cached_function, (obj.__wrapped__, obj.cache_parameters()), vars(obj)
        return super().reducer_override(obj)


def _goes_by_value(function: Any) -> bool:
    module = function.__module__
    registered = cloudpickle.list_registry_pickle_by_value()
    return (
        module == "__main__"
        or "<locals>" in function.__qualname__
        or any(module == name or module.startswith(f"{name}.") for name in registered)
    )


def _cached_function(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    """Return a function with an empty cache."""
    return functools.lru_cache(**parameters)(function)


def _cloud_dumps(value: Any, buffers: list[pickle.PickleBuffer] | None) -> bytes:
    callback = None if buffers is None else buffers.append
    file = io.BytesIO()
    try:
        _CloudPickler(file, _PROTOCOL, buffer_callback=callback).dump(value)
    except Exception as error:  # pickling runs the user's code
        raise SerialisationError(
            f"a value of type {full_type_name(type(value))} can't be sent to another process: {error_line(error)}"
        ) from error
    return file.getvalue()
