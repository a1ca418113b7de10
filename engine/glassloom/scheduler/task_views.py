"""The scheduler's tasks as others see them: mappings in which every task has an object of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from glassloom.graph.keys import Key
from glassloom.scheduler.block_index import BlockIndex
from glassloom.scheduler.block_table import BlockTable
from glassloom.scheduler.state import TaskState
from glassloom.scheduler.tables import Tables


class TasksByKey(Mapping[Key, TaskState]):
    """The known tasks by key. A task that is looked up leaves its block."""

    def __init__(self, tables: Tables, blocks: BlockTable, index: BlockIndex) -> None:
        self._tables = tables
        self._blocks = blocks
        self._index = index

    def __getitem__(self, key: Key) -> TaskState:
        task = self._blocks.task(key)
        if task is None:
            raise KeyError(key)
        return task

    def get(self, key: Key, default: Any = None) -> Any:
        return self._blocks.task(key) or default

    def __contains__(self, key: object) -> bool:
        return key in self._tables.tasks or key in self._index

    def __iter__(self) -> Iterator[Key]:
        return iter([*self._tables.tasks, *self._index.known_keys()])

    def __len__(self) -> int:
        return len(self._tables.tasks) + len(self._index)


class TasksByNumber(Mapping[int, TaskState]):
    """The known tasks by number. A task that is looked up leaves its block."""

    def __init__(self, tables: Tables, blocks: BlockTable, index: BlockIndex) -> None:
        self._tables = tables
        self._blocks = blocks
        self._index = index

    def __getitem__(self, number: int) -> TaskState:
        task = self._blocks.numbered(number)
        if task is None:
            raise KeyError(number)
        return task

    def get(self, number: int, default: Any = None) -> Any:
        return self._blocks.numbered(number) or default

    def __contains__(self, number: object) -> bool:
        return number in self._tables.by_number or (isinstance(number, int) and self._index.at(number) is not None)

    def __iter__(self) -> Iterator[int]:
        for key in self._index.known_keys():
            self._blocks.find(key)
        return iter(list(self._tables.by_number))

    def __len__(self) -> int:
        return len(self._tables.by_number) + len(self._index)
