"""Deterministic tokens: equal values have equal tokens, so equal expressions share their work.

>>> tokenize(1, "a") == tokenize(1, "a"), tokenize(1) == tokenize(1.0)
(True, False)
"""

from __future__ import annotations

import datetime
import decimal
import functools
import hashlib
import pathlib
import sys
import types
import uuid
from collections.abc import Callable
from enum import Enum
from typing import Any

import cloudpickle

from glassloom.graph.lazy_registration import load_for

_DIGEST_BYTES = 12

_normalizers: dict[type, Callable[[Any], Any]] = {}


def tokenize(*values: Any) -> str:
    """Return a hexadecimal token of the values: the same in every process for values of equal type and content.

    Objects may define ``__glassloom_tokenize__()`` (or ``__dask_tokenize__()``), which returns something that can be
    tokenized. What can neither be normalised nor pickled gets a random token.
    """
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    _feed(digest.update, values)
    return digest.hexdigest()


def normalize_token(kind: type) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register how values of `kind` (and its subclasses) are turned into plain values to be hashed."""

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        _normalizers[kind] = function
        return function

    return register


_ATOMS = (
    bool, int, float, complex, type(None), type(Ellipsis), range, slice,
    datetime.date, datetime.time, datetime.timedelta, datetime.datetime, decimal.Decimal, uuid.UUID,
)  # fmt: skip


def _feed(update: Callable[[bytes], Any], value: Any) -> None:
    """Hash `value`: each branch writes its type before its content, so that no two kinds can be confused."""
    kind = type(value)
    if kind is str:
        encoded = value.encode("utf-8", "surrogatepass")
        update(b"s%d:" % len(encoded))
        update(encoded)
    elif kind is tuple or kind is list:
        update(b"%s%d:" % (b"t" if kind is tuple else b"l", len(value)))
        for item in value:
            _feed(update, item)
    elif kind in _ATOMS:
        update(f"{kind.__name__}:{value!r};".encode())
    elif kind is bytes or kind is bytearray or kind is memoryview:
        update(b"b%d:" % len(value))
        update(value)
    elif kind is dict:
        update(b"d%d:" % len(value))
        for name, item in value.items():
            _feed(update, name)
            _feed(update, item)
    elif kind is set or kind is frozenset:
        update(b"%s%d:" % (b"S" if kind is set else b"F", len(value)))
        for token in sorted(tokenize(item) for item in value):
            update(token.encode())
    else:
        _feed_object(update, value)


def _feed_object(update: Callable[[bytes], Any], value: Any) -> None:
    for method in ("__glassloom_tokenize__", "__dask_tokenize__"):
        own = getattr(value, method, None)
        if own is not None and not isinstance(value, type):
            update(f"o{type(value).__module__}.{type(value).__qualname__}:".encode())
            return _feed(update, own())
    for base in type(value).__mro__[:-1]:
        load_for(base)
    for base in type(value).__mro__[:-1]:
        if base in _normalizers:
            update(f"n{type(value).__module__}.{type(value).__qualname__}:".encode())
            return _feed(update, _normalizers[base](value))
    update(b"p")
    return _feed(update, pickled(value))


def pickled(value: Any) -> bytes:
    """Return the pickle of a value, or random bytes if it can't be pickled."""
    try:
        return bytes(cloudpickle.dumps(value, protocol=5))
    except Exception:  # user objects may raise anything when pickled; then nothing is known to be equal to them
        return uuid.uuid4().bytes


def _is_importable(value: Any) -> bool:
    module, qualname = getattr(value, "__module__", None) or "", getattr(value, "__qualname__", "<locals>")
    return module != "" and module != "__main__" and "<" not in qualname and _lookup(module, qualname) is value


def _lookup(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found


@normalize_token(types.FunctionType)
@normalize_token(type)
def _normalize_code(value: Any) -> Any:
    return (value.__module__, value.__qualname__) if _is_importable(value) else pickled(value)


@normalize_token(types.BuiltinFunctionType)
def _normalize_builtin(value: Any) -> Any:
    return (value.__module__, value.__qualname__) if isinstance(value.__self__, types.ModuleType) else pickled(value)


@normalize_token(types.MethodType)
def _normalize_method(value: Any) -> Any:
    return (value.__func__, value.__self__)


@normalize_token(functools.partial)
def _normalize_partial(value: Any) -> Any:
    return (value.func, value.args, value.keywords)


@normalize_token(Enum)
def _normalize_enum(value: Any) -> Any:
    return value.name


@normalize_token(pathlib.PurePath)
def _normalize_path(value: Any) -> Any:
    return str(value)
