"""`OlderLayers`: what is still known of layers that are no longer kept one by one.

A notebook that runs for days makes more layers than anybody looks at, and each takes some kilobytes. The oldest that are done,
of runs that have ended, are counted together as one layer. Of each of them its name is kept, in four bytes.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from operator import add

from glassloom_dashboards.folds.layers import Layer

OLDER = -2
"""Id of the layer that stands for all of them; clusters number theirs from 0 on."""
OLDER_NAME = "older layers"
MAX_LAYERS = 10_000
"""How many layers are kept, and besides those that aren't done: as many as a cluster keeps."""
AT_ONCE = 1_000
"""Layers are folded together when there are so many too many."""
MAX_NAMES = 50_000
"""How many different names are kept."""
_RESTORABLE = 1_000
_NO_NAME = 1
"""The number of the names that were too many; 0: such a layer wasn't folded."""

Counts = tuple[int, ...]


class OlderLayers:
    """Layers that were folded together, with the number of their tasks in each state.

    Parameters
    ----------
    states
        How many states there are.

    Attributes
    ----------
    count, total, counts
        How many layers, all of their tasks, and those in each state.
    """

    def __init__(self, states: int) -> None:
        self.count = self.total = 0
        self.counts: Counts = (0,) * states
        self._names = ["", ""]
        self._number_of_name: dict[str, int] = {}
        self._name_of = array("I")
        self._newest: OrderedDict[int, tuple[Layer, Counts]] = OrderedDict()

    @property
    def layer(self) -> Layer:
        """The layer that stands for them."""
        return Layer(
            OLDER, OLDER_NAME, self.total, f"{self.count:,} layers of runs long ended, no longer kept one by one"
        )

    def add(self, layer: Layer, counts: Counts) -> None:
        """Fold one more layer."""
        self._count(layer, counts, 1)
        self._newest[layer.id] = layer, counts
        if len(self._newest) > _RESTORABLE:
            self._newest.popitem(last=False)
        number = self._number_of_name.get(layer.name)
        if number is None and len(self._names) < MAX_NAMES:
            number = self._number_of_name[layer.name] = len(self._names)
            self._names.append(layer.name)
        if layer.id >= len(self._name_of):
            self._name_of.extend([0] * (layer.id + 1 - len(self._name_of)))
        self._name_of[layer.id] = number or _NO_NAME

    def restore(self, layers: Iterable[int]) -> list[tuple[Layer, Counts]]:
        """Return those of some layers that were folded last, which are told of again: they are counted here no more."""
        found = [self._newest.pop(layer) for layer in layers if layer in self._newest]
        for layer, counts in found:
            self._count(layer, counts, -1)
        return found

    def _count(self, layer: Layer, counts: Counts, sign: int) -> None:
        self.count += sign
        self.total += sign * layer.total
        self.counts = tuple(map(add, self.counts, (sign * count for count in counts)))

    def has(self, layer: int) -> bool:
        """Tell whether a layer was ever folded."""
        return 0 <= layer < len(self._name_of) and self._name_of[layer] > 0

    def name(self, layer: int) -> str:
        """Return the name of a layer; ``""`` if it was never folded, or has one name too many."""
        return self._names[self._name_of[layer]] if 0 <= layer < len(self._name_of) else ""
