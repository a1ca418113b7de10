"""Values to bytes and back: pickle protocol 5 with buffers out of band; cloudpickle for code of the user's own.

Plain pickle is several times faster, but refers to what is defined in ``__main__`` by name, which another process
doesn't have; cloudpickle sends it by value.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import cloudpickle

from glassloom.errors import SerialisationError

_PROTOCOL = 5


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
    return _cloud_dumps(value, None) if b"__main__" in data else data


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
    except Exception:  # as above
        data = b"__main__"
    if b"__main__" in data:
        buffers.clear()
        data = _cloud_dumps(value, buffers)
    return data, [buffer.raw() for buffer in buffers]


def loads(data: bytes | memoryview, buffers: Sequence[memoryview] = ()) -> Any:
    """Return the value of what `dumps` or `dump_buffers` made."""
    return pickle.loads(data, buffers=buffers)


def _cloud_dumps(value: Any, buffers: list[pickle.PickleBuffer] | None) -> bytes:
    callback = None if buffers is None else buffers.append
    try:
        data: bytes = cloudpickle.dumps(value, _PROTOCOL, buffer_callback=callback)
    except Exception as error:  # pickling runs the user's code
        raise SerialisationError(
            f"a value of type {type(value).__module__}.{type(value).__qualname__} can't be sent to another process: "
            f"{type(error).__name__}: {error}"
        ) from error
    return data
