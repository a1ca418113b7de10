"""`BlockReaders`: tasks that read the results of slices of blocks, as the sum over a `map` does. They count them, not each task.

A reader has slices in `TaskState.reads`, and the blocks know their readers. Only tasks by themselves are readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from glassloom.graph.keys import Key
from glassloom.scheduler.block_index import BlockIndex
from glassloom.scheduler.block_table import BlockTable
from glassloom.scheduler.state import TaskState
from glassloom.scheduler.states import MEMORY, RELEASED
from glassloom.scheduler.tables import Tables
from glassloom.scheduler.task_block import Reader, TaskBlock, TaskSlice

MAX_READERS = 64
"""Slices of one block that known tasks read, whether many tasks do or one. Whatever happens to a slice looks at all."""


class BlockReaders:
    """Tasks that read slices of blocks.

    Parameters
    ----------
    min_slice
        A task reads no fewer tasks of a block as a slice.
    """

    def __init__(self, tables: Tables, blocks: BlockTable, index: BlockIndex, min_slice: int) -> None:
        self._tables = tables
        self._blocks = blocks
        self._index = index
        self._min_slice = min_slice

    def connect(self, task: TaskState, keys: list[Key]) -> None:
        """Let a new task read the results of known tasks, in this order. Many that follow each other in a block stay there."""
        items = list(self._items(keys))
        while alone := _alone(items):
            for key in alone:
                self._blocks.task(key)
            items = list(self._items(keys))  # those that leave their block may take others along
        reads = [item for item in items if not isinstance(item, list)]
        task.read(reads)
        for item in reads:
            if isinstance(item, TaskSlice):
                item.block.read_by([*item.block.readers, Reader(task, item.start, item.stop)])

    def _items(self, keys: list[Key]) -> Iterator[TaskState | TaskSlice | list[Key]]:
        """Yield tasks by themselves, slices that may be read as such, and the keys of tasks that must leave their block."""
        at = 0
        while at < len(keys):
            task = self._tables.tasks.get(keys[at])
            if task is not None:
                yield task
                at += 1
                continue
            found = self._index.slice_of(keys, at)
            n = len(found)
            is_held = found.block.states.find(RELEASED, found.start, found.stop) < 0
            yield found if n >= self._min_slice and is_held else keys[at : at + n]
            at += n

    # What happens to a reader

    def prepare(self, task: TaskState) -> None:
        """A task is about to wait for what it reads: what isn't under way or held leaves its block, so that it can be started."""
        for block, start, stop in _slices(task):
            if block.states.find(RELEASED, start, stop) >= 0:
                self._blocks.dissolve(block)

    def make_reachable(self, task: TaskState) -> None:
        """All that a task reads is held: what not every process can reach leaves its block, so that it can be brought to the task."""
        for block, start, stop in _slices(task):
            if block.locations is None or None in block.locations[start:stop]:
                self._blocks.dissolve(block)

    def let_go(self, task: TaskState) -> None:
        """A task doesn't read its inputs any more, though it may have to once more."""
        for block, start, stop in _slices(task):
            self._blocks.release_unneeded(block, start, stop)

    def forget(self, task: TaskState) -> None:
        """A task is forgotten."""
        slices, task.reads = list(_slices(task)), None
        for block, _, _ in slices:
            if block.readers:
                block.read_by([reader for reader in block.readers if reader.task is not task])
        for block, start, stop in slices:
            self._blocks.release_unneeded(block, start, stop)

    def make_inputs_individual(self, task: TaskState) -> tuple[TaskState, ...]:
        """Return all that a task reads, one by one: it has left its blocks."""
        for block, _, _ in _slices(task):
            self._blocks.dissolve(block)
        return task.deps


def count_missing(task: TaskState) -> int:
    """Return how many of the results that a task reads aren't held."""
    n_missing = sum([1 for dep in task.deps if dep.state is not MEMORY])
    return n_missing if task.reads is None else n_missing + count_missing_in_slices(task)


def count_missing_in_slices(task: TaskState) -> int:
    """Return how many of the results aren't held that a task reads in slices of blocks."""
    return sum([stop - start - block.states.count(MEMORY, start, stop) for block, start, stop in _slices(task)])


def _alone(items: list[TaskState | TaskSlice | list[Key]]) -> list[Key]:
    """Return the keys of tasks that must leave their block, among them those in slices of which a block would have too many."""
    slices = [item for item in items if isinstance(item, TaskSlice)]
    n_slices = Counter([item.block for item in slices])
    full = {block for block, n in n_slices.items() if len(block.readers) + n > MAX_READERS}
    alone = [key for item in items if isinstance(item, list) for key in item]
    return alone + [key for item in slices if item.block in full for key in item.keys]


def _slices(task: TaskState) -> Iterator[tuple[TaskBlock, int, int]]:
    """Yield the slices that a task reads, as long as it reads them as such: blocks may be dissolved meanwhile."""
    for item in list(task.reads or ()):
        if isinstance(item, TaskSlice) and item.block.n_known:
            yield item.block, item.start, item.stop
