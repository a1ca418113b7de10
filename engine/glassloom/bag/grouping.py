"""Groups of a bag's items: those of a key meet in one partition.

Each partition is split once by the hash of the keys, and each output takes its pieces. With many partitions that would be
n * n small objects: then the pieces of some inputs for some outputs are merged on the way, about ``2 * n ** 1.5`` objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

from glassloom.bag.hashing import place_of
from glassloom.bag.nodes import BagExpr
from glassloom.graph import Key, Task, TaskRef

MAX_PIECES = 1024
"""With more, the exchange has two stages."""

_Groups = dict[Any, list[Any]]


class Grouped(BagExpr):
    """Pairs of a key and the list of its items."""

    parameters = ("bag", "key", "count")
    operation = "groupby"

    bag: BagExpr
    key: Callable[[Any], Any]
    count: int

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (self.count,)

    @property
    def n_tasks(self) -> int:
        return len(self.tasks())

    def tasks(self) -> dict[Key, Task]:
        token = self.name.rpartition("-")[2]
        tasks: dict[Key, Task] = {}
        splits: list[Key] = []
        for number, source in enumerate(self.bag.output_keys()):
            key: Key = (f"groupby-split-{token}", number)
            tasks[key] = Task.of_blocks(key, partial(split, self.key, self.count), [source])
            splits.append(key)
        outputs = self.output_keys()
        if len(splits) * self.count <= MAX_PIECES:
            self._one_stage(splits, outputs, token, tasks)
        else:
            self._two_stages(splits, outputs, token, tasks)
        return tasks

    @staticmethod
    def _one_stage(splits: Sequence[Key], outputs: Sequence[Key], token: str, tasks: dict[Key, Task]) -> None:
        for place, output in enumerate(outputs):
            refs = []
            for number, source in enumerate(splits):
                key: Key = (f"groupby-piece-{token}", number, place)
                tasks[key] = Task.of_blocks(key, piece, [source], (place,))
                refs.append(TaskRef(key))
            tasks[output] = Task(output, groups_of, (refs,))

    @staticmethod
    def _two_stages(splits: Sequence[Key], outputs: Sequence[Key], token: str, tasks: dict[Key, Task]) -> None:
        batches, ranges = _near_square_root(len(splits)), _near_square_root(len(outputs))
        for number, (start, stop) in enumerate(ranges):
            merged: list[Key] = []
            for batch, (first, last) in enumerate(batches):
                refs = []
                for source in range(first, last):
                    some: Key = (f"groupby-some-{token}", source, number)
                    tasks[some] = Task.of_blocks(some, pieces, [splits[source]], (start, stop))
                    refs.append(TaskRef(some))
                key: Key = (f"groupby-merged-{token}", batch, number)
                tasks[key] = Task(key, merged_pieces, (refs,))
                merged.append(key)
            for place in range(start, stop):
                refs = []
                for batch, source_key in enumerate(merged):
                    one: Key = (f"groupby-piece-{token}", batch, place)
                    tasks[one] = Task.of_blocks(one, piece, [source_key], (place - start,))
                    refs.append(TaskRef(one))
                tasks[outputs[place]] = Task(outputs[place], groups_of, (refs,))


def split(key: Callable[[Any], Any], count: int, block: list[Any]) -> list[_Groups]:
    """Return the groups of a partition, by the output that they go to."""
    groups: _Groups = {}
    for item in block:
        groups.setdefault(key(item), []).append(item)
    outputs: list[_Groups] = [{} for _ in range(count)]
    for one, items in groups.items():
        outputs[place_of(one, count)][one] = items
    return outputs


def piece(outputs: Sequence[_Groups], place: int) -> _Groups:
    """Return the groups of one output."""
    return outputs[place]


def pieces(outputs: Sequence[_Groups], start: int, stop: int) -> Sequence[_Groups]:
    """Return the groups of some outputs."""
    return outputs[start:stop]


def merged_pieces(parts: Sequence[Sequence[_Groups]]) -> list[_Groups]:
    """Return the groups of several inputs, by output."""
    return [_merged(groups) for groups in zip(*parts, strict=True)]


def groups_of(parts: Sequence[_Groups]) -> list[tuple[Any, list[Any]]]:
    """Return the groups of all inputs."""
    return list(_merged(parts).items())


def _merged(parts: Sequence[_Groups]) -> _Groups:
    found: dict[Any, list[list[Any]]] = {}
    for groups in parts:
        for key, items in groups.items():
            found.setdefault(key, []).append(items)
    return {key: list(chain.from_iterable(lists)) for key, lists in found.items()}


def _near_square_root(count: int) -> list[tuple[int, int]]:
    """Return about the square root of `count` ranges of about equal lengths that cover all below it."""
    n_ranges = max(1, round(math.sqrt(count)))
    bounds = [number * count // n_ranges for number in range(n_ranges + 1)]
    return list(zip(bounds, bounds[1:], strict=False))
