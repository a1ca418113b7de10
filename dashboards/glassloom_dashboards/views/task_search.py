"""What people type to find a task, and the tasks that it means, by layer, the newest layer first. Pure.

>>> parse("sum[3, 4]"), parse("('sum-3f2a90b1', 3, 4)"), parse("sum[3"), parse("7")
(Query(name='sum', index='3, 4', kind='key'), Query(name='sum', index='3, 4', kind='key'), Query(name='sum', index='3', kind='part'), Query(name='7', index='7', kind='either'))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from glassloom_metrics.protocol import Action

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.older_layers import OLDER
from glassloom_dashboards.folds.running_tasks import LostTask, RunningTask
from glassloom_dashboards.folds.task_finding import Looked, computed_between, newest_rows, rows_of_key
from glassloom_dashboards.folds.task_keys import layer_words, splits, tasks_of_key, written_key

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
    key = written_key(text)
    if key is not None:
        layer, index = splits(key)[0]
        return Query(layer_words(layer), index, "key")
    name, bracket, rest = text.partition("[")
    if not bracket:
        return Query(text, text, "either")
    return Query(name, rest.removesuffix("]"), "key" if rest.endswith("]") else "part")


def layers_named(aggregate: ClusterAggregate, name: str, *, is_whole: bool) -> list[int]:
    """Return the layers with `name` in their name, or of just this name, newest first."""
    known = [
        layer for layer in reversed(aggregate.layers.values()) if layer.id != OLDER
    ]  # none of its tasks is kept by it
    if is_whole:
        return [layer.id for layer in known if layer.name == name]
    wanted = name.casefold()
    return [layer.id for layer in known if wanted in layer.name.casefold()]


def find(aggregate: ClusterAggregate, text: str, looked: Looked | None = None) -> tuple[list[Group], bool]:
    """Return the tasks that a text means, by layer, and whether these are all of the layers.

    The task with just this key comes first, if there is one; and only it, if the text is a key as Python writes it.
    ``looked`` is of earlier searches for the same.
    """
    text = text.strip()
    query = parse(text)
    if query is None:
        return [], True
    written = written_key(text)
    exact = _of_key(aggregate, tasks_of_key(aggregate.layers, text if written is None else written))
    if exact and written is not None:
        return exact[:MAX_GROUPS], len(exact) <= MAX_GROUPS
    groups, is_all = search(aggregate, query, looked)
    name, dash, index = text.rpartition("-")
    if not groups and name and dash:
        groups, is_all = search(aggregate, Query(name, index, "part"))
    whole = {group.layer for group in groups if group.is_whole}
    exact = [group for group in exact if group.layer not in whole]
    known = {group.layer for group in exact}
    groups = exact + [group for group in groups if group.layer not in known]
    return groups[:MAX_GROUPS], is_all and len(groups) <= MAX_GROUPS


def _of_key(aggregate: ClusterAggregate, tasks: Iterable[tuple[int, str]]) -> list[Group]:
    """Return those of some tasks, by layer and index, of which something is known."""
    groups = []
    for layer, index in tasks:
        rows = [row for row in rows_of_key(aggregate.tasks, layer, index) if _is_computed(aggregate, row)]
        group = Group(layer, rows=rows[: -ROWS_A_GROUP - 1 : -1])
        group.running = [task for task in aggregate.running.now if (task.layer, task.index) == (layer, index)]
        group.lost = [one for one in aggregate.running.lost if (one.task.layer, one.task.index) == (layer, index)]
        if group.rows or group.running or group.lost:
            groups.append(group)
    return groups


def _is_computed(aggregate: ClusterAggregate, row: int) -> bool:
    return bool(aggregate.tasks["action"][row - aggregate.tasks.first_row] == Action.COMPUTE)


def search(aggregate: ClusterAggregate, query: Query, looked: Looked | None = None) -> tuple[list[Group], bool]:
    """Return the tasks that a query means, by layer, and whether these are all of the layers.

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
