"""Keys of tasks from and to their layer and index: exactly, if the cluster tells what the keys of a layer begin with. Pure.

>>> text_of("load", "2024", is_tuple=False), text_of("sum-3f2a90b1", "'part', 3", is_tuple=True)
("'load-2024'", "('sum-3f2a90b1', 'part', 3)")
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from glassloom_dashboards.folds.aggregate import ClusterAggregate, Layer

Key = str | tuple[str | int, ...]


def text_of(prefix: str, index: str, *, is_tuple: bool) -> str:
    """Return a key as Python writes it."""
    if is_tuple:
        return f"({prefix!r}, {index})" if index else f"({prefix!r},)"
    return repr(f"{prefix}-{index}" if index else prefix)


def true_key(aggregate: ClusterAggregate, layer: int, index: str) -> str:
    """Return the key of a task as Python writes it; ``""``: the cluster doesn't tell."""
    known = aggregate.layers.get(layer)
    return text_of(known.prefix, index, is_tuple=known.is_tuple) if known is not None and known.prefix else ""


def written_key(text: str) -> Key | None:
    """Return the key that a text is as Python writes it, None if it is none.

    >>> written_key("('sum-3f2a90b1', 3, 4)"), written_key("'load-91bc'"), written_key("sum")
    (('sum-3f2a90b1', 3, 4), 'load-91bc', None)
    """
    if not text.startswith(("('", '("', "'", '"')):
        return None
    try:
        key = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # whatever somebody has typed
        return None
    if isinstance(key, str) or (isinstance(key, tuple) and isinstance(key[0], str)):
        return key
    return None


def layer_words(layer: str) -> str:
    """Return a layer's operation without its token, as `Layers` names it.

    >>> layer_words("sum-3f2a90b1c2d3e4f5"), layer_words("read-csv")
    ('sum', 'read-csv')
    """
    operation, dash, token = layer.rpartition("-")
    is_token = len(token) >= 8 and all(character in "0123456789abcdef" for character in token)
    return operation if dash and operation and is_token else layer


def splits(key: Key) -> list[tuple[str, str]]:
    """Return the layer and the index of a key, in all ways in which clusters may have split it.

    >>> splits(("sum-3f2a90b1", "part", 3))
    [('sum-3f2a90b1', "'part', 3"), ('sum-3f2a90b1', 'part, 3')]
    >>> splits("load-2024"), splits("x-")
    ([('load', '2024'), ('load-2024', '')], [('x-', ''), ('x', '')])
    """
    if isinstance(key, tuple):
        ways = [", ".join(map(repr, key[1:])), ", ".join(map(str, key[1:]))]
        return [(str(key[0]), index) for index in dict.fromkeys(ways)]
    operation, _, token = key.rpartition("-")
    if not operation:
        return [(key, "")]
    return [(operation, token), (key, "")] if token else [(key, ""), (operation, "")]


def tasks_of_key(layers: dict[int, Layer], key: Key) -> list[tuple[int, str]]:
    """Return layer and index of the tasks that a key may name, the newest layer first: exactly one in each run, if prefixes are told."""
    ways = splits(key)
    exact = [way for way in ways if text_of(*way, is_tuple=isinstance(key, tuple)) == repr(key)][:1]
    found = []
    for layer in reversed(layers.values()):
        for prefix, index in exact if layer.prefix else ways:
            if _has(layer, prefix, is_tuple=isinstance(key, tuple)):
                found.append((layer.id, index))
    return found


def indices_of(aggregate: ClusterAggregate, layer: int, texts: Iterable[str]) -> list[str | None]:
    """Return the index in a layer of each of some keys as Python writes them, None if it isn't known."""
    known = aggregate.layers.get(layer)
    return [_index_of(known, written_key(text)) for text in texts]


def _index_of(layer: Layer | None, key: Key | None) -> str | None:
    if key is None:
        return None
    if layer is None:
        return splits(key)[0][1]
    return next((index for _, index in tasks_of_key({layer.id: layer}, key)), None)


def _has(layer: Layer, prefix: str, *, is_tuple: bool) -> bool:
    """Tell whether keys with this prefix are a layer's; of clusters that tell none, by the name of the operation."""
    if layer.prefix:
        return (layer.prefix, layer.is_tuple) == (prefix, is_tuple)
    return layer.name in (prefix, layer_words(prefix))
