"""`Layer`: the tasks of one operation, counted by state; `LayerTable`: all layers, and which have changed."""

from __future__ import annotations

import itertools

from glassloom.graph.keys import Key, key_layer, layer_name
from glassloom.scheduler.states import RELEASED, State

DATA_LAYER = -1
"""Number of the layer of values that clients hand in: they are no tasks, and no progress is counted by them."""
UNKNOWN_DURATION_S = 0.5
_SMOOTHING = 0.3


class Layer:
    """Tasks of one operation: what progress is counted by, and durations and sizes are learnt from."""

    __slots__ = (
        "counted",
        "counts",
        "duration_s",
        "label",
        "n_failed",
        "n_released",
        "name",
        "nbytes",
        "number",
        "origin",
        "total",
    )

    def __init__(self, number: int, name: str, label: str, origin: str) -> None:
        self.number = number
        self.name = name
        self.label = label
        self.origin = origin
        self.total = 0
        self.counts = [0] * len(State)
        self.counted = [0] * len(State)
        """The counts that `LayerTable` has added to its totals."""
        self.n_released = 0
        """Tasks whose result was held once and isn't any more, forgotten ones too; those given up before are no part."""
        self.n_failed = 0
        """Forgotten tasks that had failed."""
        self.duration_s = UNKNOWN_DURATION_S
        self.nbytes: float | None = None
        """Size of a result, on average; None: there was none yet."""

    def learn(self, duration_s: float, nbytes: int) -> None:
        """Take one more measurement into the moving averages."""
        if self.nbytes is None:
            self.duration_s, self.nbytes = duration_s, nbytes
        else:
            self.duration_s += _SMOOTHING * (duration_s - self.duration_s)
            self.nbytes += _SMOOTHING * (nbytes - self.nbytes)

    def learn_many(self, n_tasks: int, duration_s: float, nbytes: float) -> None:
        """Take so many measurements into the moving averages, of which the means are given."""
        if self.nbytes is None:
            self.duration_s, self.nbytes = duration_s, nbytes
        else:
            weight = 1 - (1 - _SMOOTHING) ** n_tasks
            self.duration_s += weight * (duration_s - self.duration_s)
            self.nbytes += weight * (nbytes - self.nbytes)


class LayerTable:
    """The layers by name, which of them have changed since they were last taken, and how many tasks are in which state."""

    def __init__(self) -> None:
        self.by_name: dict[str, Layer] = {}
        self.data = Layer(DATA_LAYER, "data", "data", "")
        """The layer of values that clients hand in."""
        self.changed: set[Layer] = set()
        """Layers whose tasks have moved on since `take_changed`."""
        self._grown: dict[Layer, None] = {}
        self._ended: dict[Layer, None] = {}
        """Layers of which no task is known any more, the one that ended first first."""
        self._totals = [0] * len(State)
        self._numbers = itertools.count()

    def of(self, key: Key, labels: dict[str, tuple[str, str]] | None) -> Layer:
        """Return the layer that a key's task is to be counted in; it grows by that task."""
        return self.named(key_layer(key), labels)

    def named(self, name: str, labels: dict[str, tuple[str, str]] | None) -> Layer:
        """Return the layer of a name, which is about to grow."""
        layer = self.by_name.get(name)
        if layer is None:
            label, origin = (labels or {}).get(name, ("", ""))
            layer = self.by_name[name] = Layer(next(self._numbers), name, label or layer_name(name), origin)
        self._grown[layer] = None
        return layer

    def add(self, layer: Layer, n_tasks: int = 1) -> None:
        """Count new tasks, which are RELEASED."""
        layer.total += n_tasks
        layer.counts[RELEASED] += n_tasks
        self.changed.add(layer)
        if layer in self._ended:
            del self._ended[layer]

    def remove(self, layer: Layer) -> None:
        """Don't count a RELEASED task any more: it belongs to another layer from now on."""
        layer.total -= 1
        layer.counts[RELEASED] -= 1
        self.changed.add(layer)

    def note_end(self, layer: Layer) -> None:
        """The last task of a layer was forgotten."""
        self._ended[layer] = None

    def built_elsewhere(self, labels: dict[str, tuple[str, str]]) -> dict[str, str]:
        """Return the user's line for known layers that this graph adds tasks to from another line."""
        known = ((self.by_name[name], origin) for name, (_, origin) in labels.items() if name in self.by_name)
        return {layer.name: origin for layer, origin in known if origin != layer.origin}

    def take_grown(self) -> list[Layer]:
        """Return the layers that are new or have more tasks than at the last call."""
        grown, self._grown = list(self._grown), {}
        return grown

    def take_changed(self) -> list[Layer]:
        """Return the layers whose tasks have moved on since the last call, without that of data."""
        self._update_totals()
        changed, self.changed = self.changed, set()
        changed.discard(self.data)
        return list(changed)

    def counts(self) -> list[int]:
        """Return the number of tasks in each state; in time that depends on what has changed, not on how much there is."""
        self._update_totals()
        return list(self._totals)

    def forget_ended(self, n_kept: int) -> None:
        """Forget layers of which no task is known any more, the oldest first, while there are more than `n_kept`."""
        self._update_totals()
        for layer in list(itertools.islice(self._ended, max(0, len(self.by_name) - n_kept))):
            del self._ended[layer]
            if self.by_name.get(layer.name) is layer:
                del self.by_name[layer.name]
                self._add_to_totals([-count for count in layer.counts])

    def _update_totals(self) -> None:
        for layer in self.changed:
            if layer is not self.data:
                self._add_to_totals([now - then for now, then in zip(layer.counts, layer.counted, strict=True)])
                layer.counted = list(layer.counts)

    def _add_to_totals(self, changes: list[int]) -> None:
        self._totals = [total + change for total, change in zip(self._totals, changes, strict=True)]
