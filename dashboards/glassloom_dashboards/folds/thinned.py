"""A series that is bounded however long it grows: the newest rows as they came, older ones thinned out more and more.

Rows leave a level of `keep` rows in pairs; of a pair the row with the higher `pick` goes on to the next level, so that
peaks stay, with all their values of that moment. A level's rows stand for twice as many samples as those of the level before.

>>> series = Thinned(("at_s", "used"), pick="used", keep=2)
>>> for at_s, used in enumerate([1, 5, 2, 3, 4, 9]):
...     series.append([at_s, used])
>>> series.columns()["used"]
array([5., 3., 4., 9.])
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[np.float64]]


class Thinned:
    """A bounded series of rows of numbers.

    Parameters
    ----------
    names
        The columns; the first is the time.
    pick
        The column whose higher value is kept of two rows.
    lowest, highest
        Columns that are the least or the most of all samples that a row stands for.
    keep
        Rows of a level, an even number.
    typecode
        ``"d"``, or ``"f"`` for half the memory.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        pick: str,
        lowest: Collection[str] = (),
        highest: Collection[str] = (),
        keep: int = 512,
        typecode: str = "d",
    ) -> None:
        self.names = tuple(names)
        self._pick = self.names.index(pick)
        self._bounds = [(self.names.index(name), min) for name in lowest]
        self._bounds += [(self.names.index(name), max) for name in highest]
        self._keep_values = keep * len(self.names)
        self._typecode = typecode
        self._levels: list[array[float]] = []

    def __len__(self) -> int:
        return sum(map(len, self._levels)) // len(self.names)

    def append(self, row: Sequence[float]) -> None:
        """Add the newest row."""
        width = len(self.names)
        for number in range(len(self._levels) + 1):
            if number == len(self._levels):
                self._levels.append(array(self._typecode))
            level = self._levels[number]
            level.extend(row)
            if len(level) < self._keep_values + 2 * width:
                return
            row = self._merged(level[:width], level[width : 2 * width])
            del level[: 2 * width]

    def _merged(self, first: array[float], second: array[float]) -> array[float]:
        merged = first if first[self._pick] > second[self._pick] else second
        for place, bound in self._bounds:
            merged[place] = bound(first[place], second[place])
        return merged

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return all rows that are kept, the oldest first."""
        parts = [np.array(level, np.float64) for level in reversed(self._levels)]
        rows = np.concatenate([*parts, np.empty(0)]).reshape(-1, len(self.names))
        return {name: rows[:, place] for place, name in enumerate(self.names)}


def thin(
    columns: Columns,
    width_s: float,
    *,
    pick: str,
    lowest: Collection[str] = (),
    highest: Collection[str] = (),
) -> dict[str, NDArray[np.float64]]:
    """Return one row for each `width_s` of time that has any, as `Thinned` picks them; the first column is the time.

    The grid is fixed, so that rows don't change while newer ones come.
    """
    at_s = next(iter(columns.values()))
    if not len(at_s):
        return dict(columns)
    bins = np.floor(at_s / width_s)
    firsts = np.flatnonzero(np.diff(bins, prepend=-np.inf))
    order = np.lexsort((columns[pick], bins))
    picked = order[np.append(firsts[1:], len(at_s)) - 1]
    thinned = {name: column[picked] for name, column in columns.items()}
    thinned |= {name: np.minimum.reduceat(columns[name], firsts) for name in lowest}
    return thinned | {name: np.maximum.reduceat(columns[name], firsts) for name in highest}
