"""`SameNames`: which layers have the same name, so that their work counts together. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_NAMES = 50_000
"""How many different names are known."""
MAX_LAYERS = 2**21
"""Layers with ids from this on stand for themselves. Each below, up to the highest, takes four bytes."""


class SameNames:
    """For each layer the first one that had its name: that stands for all of them. A layer whose name isn't known is its own.

    >>> names = SameNames()
    >>> names.add([0, 1, 2], ["sum", "mean", "sum"])
    >>> names.first_of(np.array([0, 1, 2, 77]))
    array([ 0,  1,  0, 77])
    """

    def __init__(self) -> None:
        self._first_of_name: dict[str, int] = {}
        self._first = np.zeros(0, np.uint32)

    def add(self, layers: Sequence[int], names: Sequence[str]) -> None:
        """Note the names of layers."""
        for layer, name in zip(layers, names, strict=True):
            first = self._first_of_name.get(name)
            if first is None and len(self._first_of_name) < MAX_NAMES:
                first = self._first_of_name[name] = layer
            if 0 <= layer < MAX_LAYERS:
                self._make_room(layer)
                self._first[layer] = layer if first is None else first

    def _make_room(self, layer: int) -> None:
        known = len(self._first)
        if layer >= known:
            added = np.arange(known, max(layer + 1, min(2 * known, MAX_LAYERS)), dtype=np.uint32)
            self._first = np.concatenate([self._first, added])

    def first_of(self, layers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each layer the one that stands for it."""
        if not len(self._first):
            return layers
        is_known = (layers >= 0) & (layers < len(self._first))
        if is_known.all():
            return self._first[layers].astype(np.int64)
        return np.where(is_known, self._first[np.where(is_known, layers, 0)], layers)
