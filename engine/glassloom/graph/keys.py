"""Keys name tasks and their results: ``"operation-token"`` or ``("operation-token", i, j, ...)``.

Layer, index and whether it is a tuple are another form of a key, exactly: ``(layer, *index)`` is a tuple, ``layer-index``,
or just ``layer`` if there is no index, a text.
Tasks whose keys share a layer are shown as one row of progress and drawn in one colour.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

Key = str | tuple[str | int, ...]


def key_layer(key: Key) -> str:
    """Return the layer that a key belongs to: the first element of a tuple, the operation of a plain name.

    >>> key_layer(("sum-3f2a", 0, 1)), key_layer("load-91bc"), key_layer("x"), key_layer("x-")
    ('sum-3f2a', 'load', 'x', 'x-')
    """
    if isinstance(key, tuple):
        return key[0]  # type: ignore[return-value]
    operation, _, token = key.rpartition("-")
    return operation if operation and token else key


def key_index(key: Key) -> str:
    """Return what tells a key from the others of its layer, as text.

    >>> key_index(("sum-3f2a", 0, 1)), key_index(("sum-3f2a", "part", 1)), key_index("load-91bc"), key_index("x")
    ('0, 1', "'part', 1", '91bc', '')
    """
    if isinstance(key, tuple):
        return ", ".join([repr(element) if isinstance(element, str) else str(element) for element in key[1:]])
    return key[len(key_layer(key)) + 1 :]


def key_indices(keys: Sequence[Key]) -> list[str]:
    """Return `key_index` of keys that are all of one layer, and all text or all tuples; faster than one by one.

    >>> key_indices([("sum-3f2a", 0), ("sum-3f2a", 1)]), key_indices(["load-91bc", "load-44de"])
    (['0', '1'], ['91bc', '44de'])
    """
    if isinstance(keys[0], tuple):
        try:
            return [repr(index) if type(index) is str else f"{index}" for _, index in keys]  # type: ignore[str-unpack]
        except ValueError:  # they have another length
            return [key_index(key) for key in keys]
    start = len(key_layer(keys[0])) + 1
    return [key[start:] for key in keys]  # type: ignore[misc]


def common_layer(keys: Sequence[Key]) -> str | None:
    """Return the layer that all of these keys belong to, None if there is no such layer; faster than one by one.

    >>> common_layer([("sum-3f2a", 0), ("sum-3f2a", 1)]), common_layer(["load-91bc", "load-44de"])
    ('sum-3f2a', 'load')
    >>> common_layer(["x", "y"]), common_layer(["load-91bc", "load-all-44de"])
    (None, None)
    """
    kinds = set(map(type, keys))
    if len(kinds) != 1:
        return None
    name = key_layer(keys[0])
    if kinds == {tuple}:
        return name if [key[0] for key in keys].count(name) == len(keys) else None
    start, prefix = len(name) + 1, f"{name}-"
    is_common = all([key.startswith(prefix) and "-" not in key[start:] for key in keys])  # type: ignore[union-attr]
    return name if is_common and prefix not in keys else None


def key_text(key: Key) -> str:
    """Return a key as messages show it: ``('sum-3f2a', 0)`` or ``'load-91bc'``."""
    return repr(key)


def layer_name(layer: str) -> str:
    """Return a layer's operation without its token: what a person calls it.

    >>> layer_name("sum-3f2a90b1c2d3e4f5"), layer_name("read-csv-0011223344556677"), layer_name("inc")
    ('sum', 'read-csv', 'inc')
    """
    operation, dash, token = layer.rpartition("-")
    is_token = len(token) >= 8 and all(character in "0123456789abcdef" for character in token)
    return operation if dash and operation and is_token else layer


def function_label(function: Any) -> str:
    """Return what a task that calls `function` is called in keys, layers and dashboards.

    A user's function keeps its name. The engine's own helpers are named by the operation: words, without the marks of
    private functions and functions of blocks.

    >>> import math
    >>> function_label(math.log1p), function_label(lambda: None)
    ('log1p', 'lambda')
    """
    return _label(
        getattr(function, "__name__", None) or type(function).__name__, getattr(function, "__module__", None) or ""
    )


@functools.lru_cache(1024)
def _label(name: Any, module: Any) -> str:
    name = str(name)
    name = name.encode(errors="backslashreplace").decode()  # keys are sent as UTF-8
    if name == "<lambda>":
        return "lambda"
    if not str(module).startswith("glassloom."):
        return name
    return re.sub(r"(_of)?_blocks?$", "", name.strip("_")).replace("_", "-")
