"""Rows of the task table by key, by part of a key and by layer, the newest first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice

import numpy as np
from glassloom_metrics.protocol import Action
from numpy.typing import NDArray

from glassloom_dashboards.folds.task_index import BLOCK_ROWS
from glassloom_dashboards.folds.task_table import TaskTable


def rows_of_key(tasks: TaskTable, layer: int, text: str) -> list[int]:
    """Return the rows of a task, of all that are kept: its attempts, and what was done with its result."""
    found: list[int] = []
    for start, stop in tasks.finder.spans([layer]):
        rows = tasks.index.equal(text, max(start, tasks.first_row), stop)
        found += rows[tasks.take("layer", rows) == layer].tolist()
    return found


class Looked:
    """What a search has found in a table, and how far it has looked: when it is repeated it looks at new rows alone."""

    def __init__(self, tasks: TaskTable) -> None:
        self.tasks = tasks
        self._known: dict[Hashable, tuple[int, list[int]]] = {}

    def newest(self, what: Hashable, limit: int, look: Callable[[int], Iterator[int]]) -> list[int]:
        """Return the newest rows that `look` yields, the newest first; it is given the first row to look at."""
        since, known = self._known.get(what, (self.tasks.first_row, []))
        rows = list(islice(look(since), limit))
        rows += [row for row in known if row >= self.tasks.first_row][: limit - len(rows)]
        self._known[what] = (self.tasks.next_row, rows)
        return rows


def newest_rows(
    tasks: TaskTable, layers: Iterable[int], *, text: str = "", is_whole: bool = False, since: int = 0
) -> Iterator[int]:
    """Yield the computed rows of some layers, the newest first: all, or those with `text` in the rest of the key.

    Parameters
    ----------
    is_whole
        Whether `text` must be all of the rest of the key.
    since
        The first row that is looked at.
    """
    wanted = np.unique(np.fromiter(layers, np.int64))
    for begin, stop in reversed(tasks.finder.spans(wanted.tolist())):
        first = max(begin, since)
        for start in range(stop - (stop - first - 1) % BLOCK_ROWS - 1, first - 1, -BLOCK_ROWS):
            yield from _newest_of_block(tasks, start, min(start + BLOCK_ROWS, stop), wanted, text, is_whole)


def _newest_of_block(
    tasks: TaskTable, start: int, stop: int, layers: NDArray[np.int64], text: str, is_whole: bool
) -> Iterator[int]:
    start = max(start, tasks.first_row)
    if start >= stop or (text and not tasks.index.holds(text, start, stop)):
        return
    part = slice(start - tasks.first_row, stop - tasks.first_row)
    is_meant = np.isin(tasks["layer"][part], layers) & (tasks["action"][part] == Action.COMPUTE)
    rows = np.flatnonzero(is_meant)[::-1] + start
    if not text and not is_whole:
        yield from rows.tolist()
        return
    for row, known in zip(rows.tolist(), tasks.index.take(rows), strict=True):
        if known == text or (text in known and not is_whole):
            yield row


def computed_between(tasks: TaskTable, start: int, stop: int, text: str) -> Iterator[int]:
    """Yield the computed rows from `start` to before `stop` with `text` in the rest of the key, the newest first."""
    for first in range(stop - 1 - (stop - 1) % BLOCK_ROWS, start - BLOCK_ROWS, -BLOCK_ROWS):
        low, high = max(first, start, tasks.first_row), min(first + BLOCK_ROWS, stop)
        if low >= high or not tasks.index.holds(text, low, high):
            continue
        rows = np.arange(low, high)
        for row, known in zip(rows[::-1].tolist(), reversed(tasks.index.take(rows)), strict=True):
            if text in known and tasks["action"][row - tasks.first_row] == Action.COMPUTE:
                yield row
