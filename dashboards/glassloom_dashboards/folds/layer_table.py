"""`LayerTable`: all layers as columns, so that what a page asks of each of ten thousand takes milliseconds for all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.folds.layers import Layer

Places = NDArray[np.intp]

_FIRST_ROWS = 64
RUNS, NOT_BEGUN, DONE = 0, 1, 2
"""The stage of a layer: tasks of it run or have ended, none has, none is left."""


class LayerTable:
    """The number, total, name and counts of each layer that is kept; a layer's *place* is its row.

    Parameters
    ----------
    states
        The states that tasks are in, in the order of `Progress`.
    """

    def __init__(self, states: Sequence[str]) -> None:
        self._states = tuple(states)
        self._place_of: dict[int, int] = {}
        self._number_of_name: dict[str, int] = {}
        self._number_of_origin: dict[str, int] = {}
        self._ids = np.zeros(_FIRST_ROWS, np.int64)
        self._totals = np.zeros(_FIRST_ROWS, np.int64)
        self._names = np.zeros(_FIRST_ROWS, np.int64)
        self._origins = np.zeros(_FIRST_ROWS, np.int64)
        self._is_known = np.zeros(_FIRST_ROWS, bool)
        self._counts = np.zeros((_FIRST_ROWS, len(self._states)), np.int64)

    def __len__(self) -> int:
        return len(self._place_of)

    def set_layer(self, layer: Layer) -> None:
        """Add a layer, or change its total."""
        place = self._place_of.setdefault(layer.id, len(self._place_of))
        if place >= len(self._ids):
            self._grow()
        self._ids[place], self._totals[place] = layer.id, layer.total
        self._names[place] = self._number_of_name.setdefault(layer.name, len(self._number_of_name))
        self._origins[place] = self._number_of_origin.setdefault(layer.origin, len(self._number_of_origin))

    def set_counts(self, layer: int, counts: Sequence[int]) -> None:
        """Note how many tasks of a layer are in each state; of one that isn't there, nothing."""
        place = self._place_of.get(layer)
        if place is not None:
            self._is_known[place], self._counts[place] = True, counts

    def keep(self, layers: Collection[int]) -> None:
        """Forget all but these."""
        kept = [place for layer, place in self._place_of.items() if layer in layers]
        columns = ("_ids", "_totals", "_names", "_origins", "_is_known", "_counts")
        for name in columns:
            column = getattr(self, name)
            column[: len(kept)] = column[kept]
        self._is_known[len(kept) :] = False
        self._counts[len(kept) :] = 0
        self._place_of = {layer: place for place, layer in enumerate(self._ids[: len(kept)].tolist())}

    def _grow(self) -> None:
        for name in ("_ids", "_totals", "_names", "_origins", "_is_known"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
        self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])

    def places(self, layers: Iterable[int]) -> Places:
        """Return the places of layers that are there."""
        return np.array([self._place_of[layer] for layer in layers], np.intp)

    def all(self) -> Places:
        """Return the places of all layers."""
        return np.arange(len(self))

    def ids(self, places: Places) -> list[int]:
        """Return the numbers of layers."""
        found: list[int] = self._ids[places].tolist()
        return found

    def totals(self, places: Places) -> NDArray[np.int64]:
        """Return how many tasks each has."""
        return self._totals[places]

    def names(self, places: Places) -> NDArray[np.int64]:
        """Return a number for the name of each: equal names have equal numbers."""
        return self._names[places]

    def origins(self, places: Places) -> NDArray[np.int64]:
        """Return a number for where each was built: equal lines have equal numbers."""
        return self._origins[places]

    def counts(self, places: Places) -> dict[str, int]:
        """Return the number of tasks of all these layers together in each state, and how many were ``cancelled``: are in none."""
        counts, known = self._counts[places], self._is_known[places]
        cancelled = np.maximum(self._totals[places] - counts.sum(axis=1), 0)[known].sum()
        sums = dict(zip(self._states, counts.sum(axis=0).tolist(), strict=True))
        return sums | {"cancelled": int(cancelled)}

    def is_done(self, places: Places) -> NDArray[np.bool_]:
        """Tell of each whether nothing of it is to come, and nothing went wrong."""
        counts = self._counts[places]
        done = counts[:, self._states.index("memory")] + counts[:, self._states.index("released")]
        totals = self._totals[places]
        return self._is_known[places] & (done == totals) & (totals > 0)

    def ordered(self, places: Places) -> Places:
        """Return places in the order of `RUNS`, `NOT_BEGUN`, `DONE`; the newest layers first."""
        counts = self._counts[places]
        left, running = counts[:, :3].sum(axis=1), counts[:, 2] > 0
        stage = np.where(left == 0, DONE, np.where(running | (left < self._totals[places]), RUNS, NOT_BEGUN))
        stage[~self._is_known[places]] = NOT_BEGUN
        return places[np.lexsort((-self._ids[places], stage))]
