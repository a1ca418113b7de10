"""Where the rows of a layer are in the task table: some bytes a layer. It holds no texts.

>>> index = TaskIndex()
>>> index.add(np.array([7, 7, 8]), 0)
>>> index.spans([8])
[(0, 3)]
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.folds.grouping import distinct_of

BLOCK_ROWS = 1024
"""Where a layer's rows are is known by block: those of one run lie close together."""
_KEEP_GONE_ROWS = 2**17
"""The index forgets rows that have gone so many at once."""

Span = tuple[int, int]
"""The numbers of the first row, and of the one after the last."""


class TaskIndex:
    """The blocks of a `TaskTable` that each layer has rows in."""

    def __init__(self) -> None:
        self._first_row = 0
        self._next_row = 0
        self._blocks: dict[int, array[int]] = {}
        self._folded: set[int] = set()
        """The blocks in which layers that were folded have rows."""
        self._newest_folded = -1

    def add(self, layers: NDArray[Any], first: int) -> None:
        """Add the next rows, of which `first` is the number of the first, by their layers."""
        if not len(layers):
            return
        self._next_row = first + len(layers)
        first_block = first // BLOCK_ROWS
        blocks = np.arange(first, self._next_row) // BLOCK_ROWS - first_block
        n_blocks = int(blocks[-1]) + 1
        distinct, place = distinct_of(layers)
        pairs = distinct_of(place * n_blocks + blocks)[0]
        of_pairs = zip(distinct[pairs // n_blocks].tolist(), (pairs % n_blocks + first_block).tolist(), strict=True)
        for layer, block in of_pairs:
            known = self._blocks.get(layer)
            if known is None:
                self._blocks[layer] = array("I", [block])
            elif known[-1] != block:
                known.append(block)

    def drop_before(self, row: int) -> None:
        """Forget the rows before number `row`, once there are many of them."""
        gone = row - self._first_row
        if gone < _KEEP_GONE_ROWS:
            return
        self._first_row = row
        oldest = row // BLOCK_ROWS
        self._folded = {block for block in self._folded if block >= oldest}
        for layer, blocks in list(self._blocks.items()):
            if blocks[-1] < oldest:
                del self._blocks[layer]
            elif blocks[0] < oldest:
                del blocks[: bisect_left(blocks, oldest)]

    def fold(self, layers: Iterable[int]) -> None:
        """Keep for some layers together where their rows are: it takes longer to find one of them."""
        for layer in layers:
            self._folded.update(self._blocks.pop(layer, ()))
            self._newest_folded = max(self._newest_folded, layer)

    def spans(self, layers: Iterable[int]) -> list[Span]:
        """Return where the rows of some layers are, in order: spans that hold others' rows too."""
        asked = list(layers)
        known = [np.array(self._blocks.get(layer, ()), np.uint32) for layer in asked]
        if any(layer <= self._newest_folded for layer in asked):
            known.append(np.fromiter(self._folded, np.uint32))
        blocks = np.unique(np.concatenate([np.empty(0, np.uint32), *known]))
        if not len(blocks):
            return []
        breaks = np.flatnonzero(np.diff(blocks) > 1) + 1
        parts = np.split(blocks.astype(np.int64), breaks)
        return [(int(part[0]) * BLOCK_ROWS, min((int(part[-1]) + 1) * BLOCK_ROWS, self._next_row)) for part in parts]
