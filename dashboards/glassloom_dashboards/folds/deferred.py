"""`DeferredFold`: a fold of the task table's rows that is brought up to date when somebody asks for it, or when there is time.

>>> parts = []
>>> fold = DeferredFold(lambda first, stop: parts.append((first, stop)), unit=10)
>>> fold.reach(25)
>>> fold.reach(31)
>>> parts
[(0, 20), (20, 30)]
"""

from __future__ import annotations

from collections.abc import Callable

ROWS_AT_ONCE = 2**15
"""So many rows are folded together: fewer cost more each, of more the columns no longer fit the processor's cache."""


class DeferredFold:
    """How far a fold has come. Rows must not be dropped before it has reached them.

    Parameters
    ----------
    add
        Adds the rows from one number up to another, which come in order.
    unit
        Rows are added in multiples of this.

    Attributes
    ----------
    row
        The number of the row to go on with.
    """

    def __init__(self, add: Callable[[int, int], None], unit: int = 1) -> None:
        self._add = add
        self._unit = unit
        self.row = 0

    def reach(self, row: int) -> None:
        """Add the rows before `row`, as far as they make whole units."""
        stop = row - row % self._unit
        while self.row < stop:
            first, self.row = self.row, min(self.row + max(ROWS_AT_ONCE // self._unit, 1) * self._unit, stop)
            self._add(first, self.row)
