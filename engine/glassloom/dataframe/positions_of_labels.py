"""Methods of an index that yield labels, ask where they are, or put them together: what pandas returns as a value is computed at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Method
from glassloom.dataframe.moving.argsort import argsorted
from glassloom.dataframe.moving.concat import concat
from glassloom.dataframe.wrap import is_node, operate, wrap


class PositionsOfLabels(Frame):
    """Methods of indexes."""

    if TYPE_CHECKING:
        name: Any

        def to_series(self, *, name: Any = ...) -> Any: ...

    def __iter__(self) -> Iterator[Any]:
        """Yield the labels, computing one partition after the other."""
        for part in self.partitions:
            yield from part._computed_by_pandas()

    def equals(self, other: Any) -> bool:
        """Compute whether another index has the same labels in the same order."""
        if is_node(other) and other.expr.name == self._expr.name:
            return True
        return bool(self._computed_by_pandas().equals(_at_hand(other)))

    def identical(self, other: Any) -> bool:
        """Compute whether another index has the same labels in the same order, the same dtype and the same name."""
        return bool(self._computed_by_pandas().identical(_at_hand(other)))

    def get_loc(self, key: Any) -> Any:
        """Compute the position of a label; of a repeated one a slice or an array of booleans."""
        return self._computed_by_pandas().get_loc(key)

    def get_indexer(self, target: Any, method: Any = None, limit: Any = None, tolerance: Any = None) -> Any:
        """Compute the position of each of some labels, -1 for those that aren't there."""
        return self._computed_by_pandas().get_indexer(_at_hand(target), method, limit, tolerance)

    def argmax(self, axis: Any = None, skipna: bool = True) -> Any:
        """Return the position of the first largest label, as a lazy scalar."""
        return self.to_series().argmax(axis, skipna)

    def argmin(self, axis: Any = None, skipna: bool = True) -> Any:
        """Return the position of the first smallest label, as a lazy scalar."""
        return self.to_series().argmin(axis, skipna)

    def argsort(self) -> Any:
        """Return the positions of the labels in their order, missing ones last, as a lazy array."""
        positions = wrap(argsorted(self.to_series().expr, has_missing=True))
        return operate(Method("to_numpy"), positions, label="argsort")

    def append(self, other: Any) -> Any:
        """Return the labels, and then those of another index, lazy or of pandas, or of a list of such."""
        others = list(other) if isinstance(other, (list, tuple)) else [other]
        if not all(
            isinstance(one, pd.Index) or (is_node(one) and isinstance(one.expr.meta, pd.Index)) for one in others
        ):
            raise TypeError("all inputs must be Index")
        if any(one.nlevels != self.expr.meta.nlevels for one in others):
            raise NotImplementedError(
                "index.append of an index of another number of levels: reset_index() makes levels columns"
            )
        made = concat([self.to_series(), *(one.to_series() for one in others)]).index
        name = self.name if all(one.name == self.name for one in others) else None
        return made if made.name == name else made.rename(name)

    def drop(self, labels: Any, errors: str = "raise") -> Any:
        """Return the labels without some, each of which has to be there unless ``errors="ignore"``."""
        return self.to_series().drop(labels, errors=errors).index


def _at_hand(other: Any) -> Any:
    return other._computed_by_pandas() if is_node(other) else other
