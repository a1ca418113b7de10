"""What people type to find a task, and the tasks that it means, by layer, the newest layer first. Pure.

>>> parse("sum[3, 4]"), parse("('sum-3f2a90b1', 3, 4)"), parse("sum[3"), parse("7")
(Query(name='sum', index='3, 4', kind='key'), Query(name='sum', index='3, 4', kind='key'), Query(name='sum', index='3', kind='part'), Query(name='7', index='7', kind='either'))
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.running_tasks import LostTask, RunningTask
from glassloom_dashboards.folds.task_finding import Looked, computed_between, newest_rows

MAX_GROUPS = 30
"""Layers whose tasks are listed at once."""
MAX_FOUND = 200
"""Tasks that are looked for by part of their key alone: the newest."""
ROWS_A_GROUP = 5
MAX_TEXT_LENGTH = 200


@dataclass(frozen=True)
class Query:
    """What to look for.

    ``kind`` is ``"key"``: just this task; ``"part"``: the layer's name has ``name`` in it, and the rest of the key ``index``;
    ``"either"``: the one or the other.
    """

    name: str
    index: str
    kind: str


@dataclass
class Group:
    """Tasks of one layer that were found: rows, the newest first, those that run, and those lost with their workers.

    ``is_whole``: all of the layer was meant.
    """

    layer: int
    is_whole: bool = False
    rows: list[int] = field(default_factory=list)
    running: list[RunningTask] = field(default_factory=list)
    lost: list[LostTask] = field(default_factory=list)


def parse(text: str) -> Query | None:
    """Return what a text asks for; None if it is empty."""
    text = text.strip()
    if not text:
        return None
    key = parse_key(text)
    if key is not None:
        return Query(*key, kind="key")
    name, bracket, rest = text.partition("[")
    if not bracket:
        return Query(text, text, "either")
    return Query(name, rest.removesuffix("]"), "key" if rest.endswith("]") else "part")


def parse_key(text: str) -> tuple[str, str] | None:
    """Return the layer's name and the rest of a key as Python writes it, None if it is no such key.

    >>> parse_key("('sum-3f2a90b1', 3, 4)"), parse_key("'load-91bc'"), parse_key("sum")
    (('sum', '3, 4'), ('load', '91bc'), None)
    """
    if not text.startswith(("('", '("', "'", '"')):
        return None
    try:
        key = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # whatever somebody has typed
        return None
    match key:
        case (str(layer), *rest):
            return layer_words(layer), ", ".join(map(str, rest))
        case str():
            operation, dash, token = key.rpartition("-")
            return (layer_words(operation), token) if dash and operation else (key, "")
    return None


def layer_words(layer: str) -> str:
    """Return a layer's operation without its token, as `Layers` names it.

    >>> layer_words("sum-3f2a90b1c2d3e4f5"), layer_words("read-csv")
    ('sum', 'read-csv')
    """
    operation, dash, token = layer.rpartition("-")
    is_token = len(token) >= 8 and all(character in "0123456789abcdef" for character in token)
    return operation if dash and operation and is_token else layer


def layers_named(aggregate: ClusterAggregate, name: str, *, is_whole: bool) -> list[int]:
    """Return the layers with `name` in their name, or of just this name, newest first."""
    known = reversed(aggregate.layers.values())
    if is_whole:
        return [layer.id for layer in known if layer.name == name]
    wanted = name.casefold()
    return [layer.id for layer in known if wanted in layer.name.casefold()]


def search(aggregate: ClusterAggregate, query: Query, looked: Looked | None = None) -> tuple[list[Group], bool]:
    """Return the tasks that are meant, by layer, and whether these are all of the layers.

    ``looked`` is of earlier searches for the same.
    """
    looked = looked or Looked(aggregate.tasks)
    found: dict[int, Group] = {}
    if query.kind == "either":
        named = layers_named(aggregate, query.name, is_whole=False)
        whole = {layer: Group(layer, is_whole=True) for layer in named[: MAX_GROUPS + 1]}
        for group in whole.values():
            group.rows = list(islice(newest_rows(aggregate.tasks, [group.layer]), ROWS_A_GROUP))
        found = whole | _by_index(aggregate, query.index, whole, looked)
    else:
        layers = layers_named(aggregate, query.name, is_whole=query.kind == "key")
        for layer in layers[: MAX_GROUPS + 1]:
            rows = looked.newest(layer, ROWS_A_GROUP, _look_for(aggregate, layer, query))
            found[layer] = Group(layer, is_whole=not query.index, rows=rows)
    _add_unfinished(aggregate, query, found)
    groups = [group for group in found.values() if group.is_whole or group.rows or group.running or group.lost]
    groups.sort(key=lambda group: -group.layer)
    return groups[:MAX_GROUPS], len(groups) <= MAX_GROUPS


def _look_for(aggregate: ClusterAggregate, layer: int, query: Query) -> Callable[[int], Iterator[int]]:
    return lambda since: newest_rows(
        aggregate.tasks, [layer], text=query.index, is_whole=query.kind == "key", since=since
    )


def _by_index(aggregate: ClusterAggregate, text: str, without: Iterable[int], looked: Looked) -> dict[int, Group]:
    """Return the newest tasks with `text` in the rest of their key, but of some layers."""
    tasks, left_out = aggregate.tasks, set(without)
    groups: dict[int, Group] = {}
    for row in looked.newest("index", MAX_FOUND, lambda since: computed_between(tasks, since, tasks.next_row, text)):
        layer = int(tasks["layer"][row - tasks.first_row])
        if layer not in left_out:
            group = groups.setdefault(layer, Group(layer))
            if len(group.rows) < ROWS_A_GROUP:
                group.rows.append(row)
    return groups


def _add_unfinished(aggregate: ClusterAggregate, query: Query, found: dict[int, Group]) -> None:
    for task in aggregate.running.now:
        if is_meant(query, aggregate.layer_name(task.layer), task.index):
            group = found.setdefault(task.layer, Group(task.layer))
            if len(group.running) < ROWS_A_GROUP:
                group.running.append(task)
    for lost in reversed(aggregate.running.lost):
        if is_meant(query, aggregate.layer_name(lost.task.layer), lost.task.index):
            group = found.setdefault(lost.task.layer, Group(lost.task.layer))
            if len(group.lost) < ROWS_A_GROUP:
                group.lost.append(lost)


def is_meant(query: Query, name: str, index: str) -> bool:
    """Tell whether a task of a layer of this name is meant."""
    if query.kind == "key":
        return name == query.name and index == query.index
    is_named = query.name.casefold() in name.casefold()
    return is_named or query.index in index if query.kind == "either" else is_named and query.index in index
