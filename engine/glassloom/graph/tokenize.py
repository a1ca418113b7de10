"""Deterministic tokens: equal values have equal tokens, so equal expressions share their work.

>>> tokenize(1, "a") == tokenize(1, "a"), tokenize(1) == tokenize(1.0)
(True, False)

A token is the hash of all that a value is made of: its type, and what `pickle` would send of it, in an order that
doesn't depend on the process. Which decisions that took is in ``docs/decisions/0016-tokens-of-functions.md``:

- Values of unlike type are unlike: ``1``, ``1.0``, ``True`` and ``np.int64(1)`` have four tokens. So have ``0.0`` and ``-0.0``.
- The order of a dict counts, as a function can see it. That of a set doesn't.
- Whether two parts of a value are one object or two equal ones doesn't count; a value that contains itself has a token.
- What can't be told apart from others by its content, such as a lock, a generator or an open socket, is equal to
  nothing: each token of it is random.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import marshal
import os
import pickle
import struct
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

import cloudpickle

from glassloom.graph.definitions import class_content, code_content, find, function_content, import_path, module_content
from glassloom.graph.identity_cache import IdentityCache
from glassloom.graph.lazy_registration import load_for

_DIGEST_BYTES = 12
_PART_DIGEST_BYTES = 16
_INLINE_BYTES = 1024
"""Longer bytes are hashed by themselves, so that they aren't copied."""
_INLINE_ITEMS = 64
"""Longer sequences are hashed by themselves, so that one which turns up often is hashed once."""
_INLINE_DEPTH, _INLINE_ITEMS_BELOW = 3, 16
"""Containers this deep in containers, and no longer, are written with these; what contains itself isn't."""
_PROTOCOL = 5

_CONTAINERS: dict[type, bytes] = {tuple: b"t%d:", list: b"l%d:", dict: b"d%d:"}

Write = Callable[[bytes], Any]
Normalizer = Callable[[Any], Any]

_normalizers: dict[type, tuple[Normalizer, bytes]] = {}
_simple: dict[type, tuple[Normalizer, bytes]] = {}
_subclass_extras: dict[type, Normalizer] = {}


def tokenize(*values: Any) -> str:
    """Return a hexadecimal token of the values: the same in every process for values of equal type and content.

    Classes may define ``__glassloom_tokenize__()`` (or ``__dask_tokenize__()``), which returns something that can be
    tokenized. What can neither be normalised nor pickled gets a random token, also inside other values.
    """
    return _Walk().token(values)


class CallTokenizer:
    """Makes tokens of calls that share their function and keyword arguments: each part that is one object is looked at once.

    The tokens are those of `tokenize`, if nothing is changed between the first and the last.

    >>> CallTokenizer("3f2a", {"axis": 0}).tokenize((1, 2)) == tokenize("3f2a", {"axis": 0}, (1, 2))
    True

    Parameters
    ----------
    function_token
        The function's own.
    kwargs
        The keyword arguments.
    """

    def __init__(self, function_token: str, kwargs: Mapping[str, Any]) -> None:
        self._walk: _Walk | None = None
        written = self._written((function_token, kwargs)) if kwargs else _start_of_call(function_token)
        self._start: Any = None if written is None else hashlib.blake2b(written, digest_size=_DIGEST_BYTES)

    def tokenize(self, args: tuple[Any, ...]) -> str:
        """Return the token of a call with these positional arguments."""
        return self.tokenize_all([args])[0]

    def tokenize_all(self, arguments: Iterable[tuple[Any, ...]]) -> list[str]:
        """Return the tokens of calls with these positional arguments."""
        start = self._start
        tokens = []
        for args in arguments:
            atom = _SHORT_ATOMS.get(type(args[0])) if len(args) == 1 else None
            written = self._written_args(args) if atom is None else b"t1:" + atom(args[0])
            if start is None or written is None:
                tokens.append(_random_token())
                continue
            state = start.copy()
            state.update(written)
            tokens.append(state.hexdigest())
        return tokens

    def _written_args(self, args: tuple[Any, ...]) -> bytes | None:
        try:
            return _flat(args, tuple) or self._written((args,))
        except _NoToken:
            return None

    def _written(self, values: tuple[Any, ...]) -> bytes | None:
        """Return what is hashed of values; None if they have no token."""
        if self._walk is None:
            self._walk = _Walk()
        try:
            return self._walk.written(values)
        except (_NoToken, RecursionError):
            return None


def token_of_plain_call(function_token: str, args: tuple[Any, ...]) -> str | None:
    """Return the token that a `CallTokenizer` without keyword arguments makes of plain values and futures; None for others."""
    atom = _SHORT_ATOMS.get(type(args[0])) if len(args) == 1 else None
    written = _flat(args, tuple) if atom is None else b"t1:" + atom(args[0])
    if written is None:
        return None
    state = _hash_of_start(function_token).copy()
    state.update(written)
    digest: str = state.hexdigest()
    return digest


@functools.lru_cache(256)
def _hash_of_start(function_token: str) -> Any:
    """Return a hash to be copied, that has taken in what the calls of a function begin with."""
    return hashlib.blake2b(_start_of_call(function_token), digest_size=_DIGEST_BYTES)


@functools.lru_cache(256)
def _start_of_call(function_token: str) -> bytes:
    return _write_str(function_token) + _CONTAINERS[dict] % 0


def normalize_token(kind: type, *, is_simple: bool = False) -> Callable[[Normalizer], Normalizer]:
    """Register how values of exactly the type `kind` are turned into other values to be hashed.

    Subclasses are not concerned: they may have more to them than the function knows of.

    Parameters
    ----------
    kind
        The type.
    is_simple
        Whether such values are small and hold no others that might hold them: they aren't hashed by themselves.
    """

    def register(function: Normalizer) -> Normalizer:
        entries = _simple if is_simple else _normalizers
        entries[kind] = (function, b"n" + _reference(kind.__module__, kind.__qualname__))
        return function

    return register


def extend_token(kind: type) -> Callable[[Normalizer], Normalizer]:
    """Register what is hashed of values of subclasses of `kind` beside what `pickle` would send of them."""

    def register(function: Normalizer) -> Normalizer:
        _subclass_extras[kind] = function
        return function

    return register


class _NoToken(Exception):
    """A value has nothing that every process would know it by."""


class _Walk:
    """One pass over a value. Each part of it is written so that no two values are written alike.

    A part that isn't written in place is hashed by itself. Parts that contain each other form a cycle; `_trail` has those
    that are being hashed, and those that await the first of their cycle. A reference to one of them is written as
    its distance on the trail. Only the first of a cycle has a hash that says all; the others get one derived from it.
    """

    __slots__ = ("_current", "_first_referred", "_in_cycles", "_known", "_n_sets", "_places", "_trail")

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}  # values too, so that their ids stay theirs
        self._restart()

    def _restart(self) -> None:
        self._in_cycles: dict[int, tuple[Any, bytes]] = {}
        self._trail: list[Any] = []
        self._places: dict[int, int] = {}
        self._current = -1
        self._first_referred = 0
        self._n_sets = 0

    def token(self, values: Iterable[Any]) -> str:
        """Return the token of values."""
        try:
            written = self.written(values)
        except (_NoToken, RecursionError):
            return _random_token()
        return hashlib.blake2b(written, digest_size=_DIGEST_BYTES).hexdigest()

    def written(self, values: Iterable[Any]) -> bytes:
        """Return what is hashed of values. What is known of others before counts only where it can't depend on their order."""
        self._restart()
        parts: list[bytes] = []
        self.feed_all(values, parts.append)
        return b"".join(parts)

    def feed_all(self, values: Iterable[Any], write: Write) -> None:
        """Write values: plain ones in place, others as the hash of their content."""
        for value in values:
            kind = type(value)
            atom = _ATOMS.get(kind)
            if atom is not None:
                write(atom(value))
                continue
            written = None
            if kind in _CONTAINERS:
                written = _flat(value, kind)
            elif kind is types.FunctionType or issubclass(kind, type):
                written = _import_reference(value)
            elif (named := _in_place(value)) is not None:
                written = named
            elif self._write_simple(value, kind, write):
                continue
            write(self._hashed(value, kind) if written is None else written)

    def _write_simple(self, value: Any, kind: type, write: Write) -> bool:
        """Write an object in place if that takes little; return whether it did."""
        method = getattr(kind, "__glassloom_tokenize__", None)
        if method is not None:
            write(b"o")
            self.feed_all((kind, method(value)), write)
            return True
        if kind not in _simple and kind not in _normalizers:
            _load_normalizers(kind)
        if kind not in _simple:
            return False
        normalizer, tag = _simple[kind]
        write(tag)
        self.feed_all((normalizer(value),), write)
        return True

    def _hashed(self, value: Any, kind: type) -> bytes:
        identity = id(value)
        known = self._known.get(identity) or self._in_cycles.get(identity)
        if known is not None:
            return known[1]
        place = self._places.get(identity)
        if place is not None:
            self._first_referred = min(self._first_referred, place)
            return b"^%d;" % (self._current - place)
        return self._hash_new(value, kind)

    def _hash_new(self, value: Any, kind: type) -> bytes:
        place = self._places[id(value)] = len(self._trail)
        self._trail.append(value)
        outer, self._current = self._current, place
        outer_referred, self._first_referred = self._first_referred, place
        parts: list[bytes] = []
        self._write_content(value, kind, parts.append)
        digest = _digest(b"".join(parts))
        if self._first_referred == place:
            self._close(place, digest)
        self._first_referred = min(outer_referred, self._first_referred)
        self._current = outer
        return digest

    def _close(self, place: int, digest: bytes) -> None:
        """Take a value, and those in a cycle with it, off the trail: nothing in them refers to what is around them."""
        members = self._trail[place:]
        del self._trail[place:]
        for distance, member in enumerate(members):
            del self._places[id(member)]
            if len(members) == 1:
                self._known[id(member)] = (member, digest)
            elif not self._n_sets:  # the order of a set would decide which one is first
                own = _digest(b"%s@%d" % (digest, distance)) if distance else digest
                self._in_cycles[id(member)] = (member, own)

    def _write_content(self, value: Any, kind: type, write: Write) -> None:
        if kind in _CONTAINERS:
            write(_CONTAINERS[kind] % len(value))
            if (plain := _plain_items(value, kind)) is not None:
                write(b"M" + _digest(marshal.dumps(plain, _MARSHALLED)))
            else:
                self.feed_all(_items(value, kind), write)
        elif kind is set or kind is frozenset:
            write(b"S" if kind is set else b"F")
            if (plain := _plain_items(value, kind)) is not None:
                write(b"M" + _digest(marshal.dumps(sorted(plain), _MARSHALLED)))
            else:
                self._write_unordered(value, write)
        else:
            self._write_object(value, kind, write)

    def _write_unordered(self, items: Any, write: Write) -> None:
        """Write items in the order of what is written of them, which is the same in every process."""
        self._n_sets += 1
        written = []
        outer_referred = self._first_referred
        for item in items:
            parts: list[bytes] = []
            place = self._first_referred = len(self._trail)
            self.feed_all((item,), parts.append)
            if self._first_referred < place:  # it contains its set, so that the set's order would count
                raise _NoToken
            written.append(b"".join(parts))
        self._first_referred = outer_referred
        self._n_sets -= 1
        write(b"%d:" % len(written))
        for part in sorted(written):
            write(part)

    def _write_object(self, value: Any, kind: type, write: Write) -> None:
        if issubclass(kind, type):
            write(b"k")
            return self._write_made(class_content(value), write)
        method = getattr(kind, "__dask_tokenize__", None)
        if method is not None:
            write(b"o")
            return self.feed_all((kind, method(value)), write)
        normalizer, tag = _normalizers.get(kind, (None, b""))
        if normalizer is not None:
            write(tag)
            return self._write_made(normalizer(value), write)
        write(b"p")
        self.feed_all((kind,), write)
        return self._write_pickled(value, kind, write)

    def _write_made(self, content: Any, write: Write) -> None:
        """Write what was made for the occasion, and so can't turn up twice."""
        if type(content) is tuple:
            write(b"t%d:" % len(content))
            return self.feed_all(content, write)
        return self.feed_all((content,), write)

    def _write_pickled(self, value: Any, kind: type, write: Write) -> None:
        """Write what `pickle` would send: a name, or a call and the state that its result is given."""
        if isinstance(value, Enum):
            return self.feed_all((value._value_,), write)
        reduced = _reduce(value, kind)
        if isinstance(reduced, str):
            return write(_reference_to_global(value, reduced))
        make, arguments, state, items, pairs, setter = reduced
        if issubclass(kind, (set, frozenset)):
            write(b"S")
            self._write_unordered(value, write)
            self.feed_all((state,), write)
        else:
            self.feed_all((make,), write)
            self._write_made(arguments, write)
            self.feed_all((state, items, pairs, setter), write)
        for base in kind.__mro__[1:]:
            if base in _subclass_extras:
                self.feed_all((_subclass_extras[base](value),), write)


def _load_normalizers(kind: type) -> None:
    """Import what registers normalizers for a type and those that it is derived from."""
    for base in kind.__mro__[:-1]:
        if isinstance(base.__module__, str):
            load_for(base)


def _reduce(value: Any, kind: type) -> str | tuple[Any, ...]:
    """Return a name, or a call, its arguments, its state, items to append, items to set and what sets the state."""
    own = cloudpickle.CloudPickler.dispatch_table.get(kind)
    try:
        reduced = value.__reduce_ex__(_PROTOCOL) if own is None else own(value)
        if isinstance(reduced, str):
            return reduced
        make, arguments, state, items, pairs, setter = (*reduced, None, None, None, None)[:6]
        return make, arguments, state, items and list(items), pairs and list(pairs), setter
    except Exception as error:  # pickling runs the user's code; then nothing is known to be equal to the value
        raise _NoToken from error


_own_references: dict[int, tuple[Any, bytes]] = {}
"""How our own functions and classes are written, which nobody changes: looking for one by name takes longer than all else."""


def _import_reference(value: Any) -> bytes | None:
    known = _own_references.get(id(value))
    if known is not None:
        return known[1]
    path = import_path(value)
    if path is None:
        return None
    written = _reference(*path)
    if path[0].startswith("glassloom."):
        _own_references[id(value)] = (value, written)
    return written


def _reference_to_global(value: Any, name: str) -> bytes:
    module = getattr(value, "__module__", None) or pickle.whichmodule(value, name)  # type: ignore[attr-defined]
    if module == "__main__" or find(module, name) is not value:
        raise _NoToken
    return _reference(module, name)


def _reference(module: str, name: str) -> bytes:
    return f"g{len(module)}:{module}{len(name)}:{name}".encode("utf-8", "surrogatepass")


def _random_token() -> str:
    return os.urandom(_DIGEST_BYTES).hex()


def _digest(content: Any) -> bytes:
    return b"#" + hashlib.blake2b(content, digest_size=_PART_DIGEST_BYTES).digest()


# Plain values, written in place: each writes its type, and where it ends.


def _flat(value: Any, kind: type, depth: int = _INLINE_DEPTH) -> bytes | None:
    """Return how a short container of plain values, and of such containers, is written; None for others."""
    if len(value) > (_INLINE_ITEMS if depth == _INLINE_DEPTH else _INLINE_ITEMS_BELOW):
        return None
    try:
        parts = [_ATOMS[type(item)](item) for item in _items(value, kind)]
    except KeyError:
        parts = []
        for item in _items(value, kind):
            written = _in_place(item, depth - 1)
            if written is None:
                return None
            parts.append(written)
    return _CONTAINERS[kind] % len(value) + b"".join(parts)


def _in_place(value: Any, depth: int = _INLINE_DEPTH) -> bytes | None:
    """Return how a plain value is written, or an object that says what plain value stands for it; None for others."""
    kind = type(value)
    atom = _ATOMS.get(kind)
    if atom is not None:
        return atom(value)
    if kind in _CONTAINERS:
        return _flat(value, kind, depth) if depth else None
    method = getattr(kind, "__glassloom_tokenize__", None)
    if method is None:
        return None
    reference = _import_reference(kind)
    content = None if reference is None else _in_place(method(value), depth)
    return None if reference is None or content is None else b"o" + reference + content


def _plain_items(value: Any, kind: type) -> list[Any] | None:
    """Return the items of a long container of numbers or texts, which are written all at once; None for others."""
    if len(value) <= _INLINE_ITEMS:
        return None
    if kind is dict:
        kinds = {*map(type, value), *map(type, value.values())}
    else:
        kinds = set(map(type, value))
    is_ordered = kind is not set and kind is not frozenset
    if kinds <= _MARSHALLED_KINDS if is_ordered else kinds in _SORTED_KINDS:
        return list(_items(value, kind))
    return None


def _items(value: Any, kind: type) -> Iterable[Any]:
    return itertools.chain.from_iterable(value.items()) if kind is dict else value


def _write_str(value: str) -> bytes:
    encoded = value.encode("utf-8", "surrogatepass")
    return b"s%d:%s" % (len(encoded), encoded)


def _write_int(value: int) -> bytes:
    if -(2**63) <= value < 2**63:
        return b"i%d;" % value
    n_bytes = value.bit_length() // 8 + 1
    return b"I%d:%s" % (n_bytes, value.to_bytes(n_bytes, "little", signed=True))


def _bytes_writer(tag: bytes) -> Callable[[Any], bytes]:
    def write(value: Any) -> bytes:
        if len(value) <= _INLINE_BYTES:
            return b"%s%d:%s" % (tag, len(value), value)
        return tag + _digest(value)

    return write


def _write_memory(value: memoryview) -> bytes:
    if "O" in value.format:  # references to objects, which others have elsewhere
        raise _NoToken
    data = value if value.c_contiguous else value.tobytes()
    return b"m%s%s%s" % (_write_str(value.format), _flat(value.shape, tuple), _digest(data))


_ATOMS: dict[type, Callable[[Any], bytes]] = {
    str: _write_str,
    int: _write_int,
    bool: lambda value: b"T" if value else b"f",
    type(None): lambda _: b"N",
    type(Ellipsis): lambda _: b"E",
    type(NotImplemented): lambda _: b"O",
    float: lambda value: b"D" + struct.pack("<d", value),
    complex: lambda value: b"C" + struct.pack("<dd", value.real, value.imag),
    bytes: _bytes_writer(b"b"),
    bytearray: _bytes_writer(b"a"),
    memoryview: _write_memory,
    pickle.PickleBuffer: lambda value: _write_memory(memoryview(value)),
    range: lambda value: b"r" + _write_int(value.start) + _write_int(value.stop) + _write_int(value.step),
}

_SHORT_ATOMS = {kind: _ATOMS[kind] for kind in (int, str, float, bool, type(None))}
"""Those of which most arguments are."""

_MARSHALLED = 2
"""The version of `marshal` whose bytes depend on values alone: not on which of them are one object."""
_MARSHALLED_KINDS = frozenset([int, str, float, bool, type(None)])
_SORTED_KINDS = ({int}, {str})

_codes: IdentityCache[str] = IdentityCache()


@normalize_token(types.CodeType, is_simple=True)
def _normalize_code(value: Any) -> Any:
    return _codes.get(value) or _codes.set(value, tokenize(code_content(value)))


@normalize_token(types.BuiltinFunctionType, is_simple=True)
def _normalize_builtin(value: Any) -> Any:
    owner = value.__self__
    return (
        (owner.__name__, value.__qualname__) if isinstance(owner, types.ModuleType) else value.__reduce_ex__(_PROTOCOL)
    )


@normalize_token(types.MethodType)
def _normalize_method(value: Any) -> Any:
    return (value.__func__, value.__self__)


@normalize_token(type(functools.lru_cache(int)))
def _normalize_cached_function(value: Any) -> Any:
    path = import_path(value)
    return path or (value.__wrapped__, value.cache_parameters(), {**vars(value), "__wrapped__": None})


@normalize_token(functools.partial)
def _normalize_partial(value: Any) -> Any:
    return (value.func, value.args, value.keywords, vars(value))


@normalize_token(functools.cached_property)
def _normalize_cached_property(value: Any) -> Any:
    return (value.func, value.attrname)


@normalize_token(typing.TypeVar)
def _normalize_type_variable(value: Any) -> Any:
    return (value.__name__, value.__bound__, value.__constraints__, value.__covariant__, value.__contravariant__)


@normalize_token(slice)
def _normalize_slice(value: Any) -> Any:
    return (value.start, value.stop, value.step)


normalize_token(types.FunctionType)(function_content)
normalize_token(types.ModuleType)(module_content)
normalize_token(types.MappingProxyType)(dict)
