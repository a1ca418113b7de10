"""`Layer`: the tasks of one operation in one run, counted by state; `LayerTable`: all layers and runs, and which have changed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from operator import add, sub

from glassloom.graph.keys import Key, key_layer, layer_name
from glassloom.scheduler.states import ERRED, MEMORY, READY, RELEASED, RUNNING, STAGING, WAITING, State

DATA_LAYER = -1
"""Number of the layer of values that clients hand in: they are no tasks, and no progress is counted by them."""
NO_RUN = -1
"""The run of tasks that were handed in without one."""
UNKNOWN_DURATION_S = 0.5
_SMOOTHING = 0.3
_MAX_GROWTH = 4
_SHORT_S = 1e-4
"""Durations below this are taken as measured: a worker is given 10 ms of work at once."""
_N_FEW = 4
"""So many durations have a median that says more than each of them."""
_N_STATES = len(State)


class Learnt:
    """What was learnt of an operation's tasks: shared by its layers in all runs."""

    __slots__ = ("_n_long", "duration_s", "nbytes")

    def __init__(self) -> None:
        self.duration_s = UNKNOWN_DURATION_S
        self.nbytes: float | None = None
        """Size of a result, on average; None: there was none yet."""
        self._n_long = 0
        """How many measurements in a row were above the limit for one."""

    def add(self, duration_s: float, nbytes: float) -> None:
        """Take one more measurement into the moving averages.

        The operating system may take the CPU away from a task for hundreds of milliseconds, so one duration counts for at most
        `_MAX_GROWTH` times the average, the second long one in a row for at most the square of that, and so on.
        """
        if self.nbytes is None:
            self.duration_s, self.nbytes = duration_s, nbytes
            return
        average_s = self.duration_s
        if duration_s <= _MAX_GROWTH * average_s or duration_s <= _SHORT_S:
            self._n_long = 0
        else:
            self._n_long += 1
            duration_s = min(duration_s, max(average_s * _MAX_GROWTH**self._n_long, _SHORT_S))
        self.duration_s = average_s + _SMOOTHING * (duration_s - average_s)
        self.nbytes += _SMOOTHING * (nbytes - self.nbytes)

    def add_many(self, durations_s: Sequence[float], nbytes: float) -> None:
        """Take the durations of some tasks, and the mean size of their results, into the moving averages.

        Durations of fewer than half of them count for at most `_MAX_GROWTH` times the average.
        """
        n_tasks = len(durations_s)
        if n_tasks < _N_FEW:
            for duration_s in durations_s:
                self.add(duration_s, nbytes)
            return
        is_first = self.nbytes is None
        limit_s = 0.0 if is_first else max(_MAX_GROWTH * self.duration_s, _SHORT_S)
        if max(durations_s) > limit_s:
            limit_s = max(limit_s, _MAX_GROWTH * sorted(durations_s)[n_tasks // 2])
            durations_s = [min(duration_s, limit_s) for duration_s in durations_s]
        weight = 1.0 if is_first else 1 - (1 - _SMOOTHING) ** n_tasks
        self.duration_s += weight * (sum(durations_s) / n_tasks - self.duration_s)
        self.nbytes = nbytes if self.nbytes is None else self.nbytes + weight * (nbytes - self.nbytes)


class Layer:
    """Tasks of one operation in one run: what progress is counted by, and durations and sizes are learnt from."""

    __slots__ = (
        "counted",
        "counts",
        "held_bytes",
        "inputs",
        "is_tuple",
        "label",
        "learnt",
        "n_failed",
        "n_released",
        "name",
        "number",
        "origin",
        "run",
        "total",
    )

    def __init__(
        self,
        number: int,
        name: str,
        label: str,
        origin: str,
        run: int = NO_RUN,
        learnt: Learnt | None = None,
        *,
        is_tuple: bool = False,
    ) -> None:
        self.number = number
        self.name = name
        self.label = label
        self.origin = origin
        self.run = run
        self.is_tuple = is_tuple
        """Whether its tasks' keys are tuples, else texts: both are never in one layer."""
        self.learnt = learnt or Learnt()
        self.total = 0
        self.counts = [0] * _N_STATES
        self.counted = [0] * (_N_STATES + 3)
        """The `numbers` that `LayerTable` has added to its totals."""
        self.n_released = 0
        """Tasks whose result was held once and isn't any more, forgotten ones too; those given up before are no part."""
        self.n_failed = 0
        """Forgotten tasks that had failed."""
        self.held_bytes = 0
        """Size of the results that are held."""
        self.inputs: set[int] = set()
        """Numbers of the layers that its tasks read from."""

    @property
    def duration_s(self) -> float:
        """How long a task is expected to take."""
        return self.learnt.duration_s

    @property
    def nbytes(self) -> float | None:
        """Size of a result, on average; None: there was none yet."""
        return self.learnt.nbytes

    def numbers(self) -> list[int]:
        """Return what is counted: tasks by state, then those released, failed and forgotten, and all."""
        return [*self.counts, self.n_released, self.n_failed, self.total]


class RunCounts:
    """How the tasks of a run stand. A task belongs to the run that handed it in first."""

    __slots__ = ("_numbers", "n_layers", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.n_layers = 0
        """Layers that are not forgotten."""
        self._numbers = [0] * (_N_STATES + 3)

    def add(self, changes: Sequence[int]) -> None:
        """Count what has changed in a layer."""
        self._numbers = list(map(add, self._numbers, changes))

    @property
    def n_tasks(self) -> int:
        """All tasks so far."""
        return self._numbers[-1]

    @property
    def n_failed(self) -> int:
        """Tasks that have failed for good, or depend on such a task."""
        return self._numbers[ERRED] + self._numbers[-2]

    @property
    def n_done(self) -> int:
        """Tasks that have had a result."""
        return self._numbers[MEMORY] + self._numbers[-3]

    @property
    def n_open(self) -> int:
        """Tasks that are under way."""
        numbers = self._numbers
        return numbers[WAITING] + numbers[READY] + numbers[STAGING] + numbers[RUNNING]

    @property
    def n_given_up(self) -> int:
        """Tasks that were given up before they had a result."""
        return max(0, self.n_tasks - self.n_open - self.n_done - self.n_failed)


class LayerTable:
    """The layers by run and name, which of them have changed since they were last taken, and how many tasks are in which state."""

    def __init__(self) -> None:
        self.by_name: dict[str, Layer] = {}
        """The newest layer of each name."""
        self.runs: dict[int, RunCounts] = {}
        """Runs that have layers."""
        self._layers: dict[tuple[int, str, bool], Layer] = {}
        self.data = Layer(DATA_LAYER, "data", "data", "")
        """The layer of values that clients hand in."""
        self.changed: set[Layer] = set()
        """Layers whose tasks have moved on since `take_changed`."""
        self._changed_runs: dict[RunCounts, None] = {}
        self._grown: dict[Layer, None] = {}
        self._ended: dict[Layer, None] = {}
        """Layers of which no task is known any more, the one that ended first first."""
        self._totals = [0] * _N_STATES
        self._numbers = itertools.count()

    def __len__(self) -> int:
        """Return the number of layers that are known."""
        return len(self._layers)

    def of(self, key: Key, labels: dict[str, tuple[str, str]] | None, run: int = NO_RUN) -> Layer:
        """Return the layer that a key's task is to be counted in; it grows by that task."""
        return self.named(key_layer(key), labels, run, is_tuple=isinstance(key, tuple))

    def named(
        self, name: str, labels: dict[str, tuple[str, str]] | None, run: int = NO_RUN, *, is_tuple: bool = False
    ) -> Layer:
        """Return the layer of a name, of keys that are tuples or texts, in a run; it is about to grow."""
        layer = self._layers.get((run, name, is_tuple))
        if layer is None:
            label, origin = (labels or {}).get(name, ("", ""))
            known = self.by_name.get(name)
            layer = Layer(
                next(self._numbers),
                name,
                label or layer_name(name),
                origin,
                run,
                None if known is None else known.learnt,
                is_tuple=is_tuple,
            )
            self._layers[run, name, is_tuple] = self.by_name[name] = layer
            counts = self.runs.get(run) or self.runs.setdefault(run, RunCounts(run))
            counts.n_layers += 1
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
        """The last task of a layer was forgotten. That of data stays: there is one, and no run has it."""
        if layer is not self.data:
            self._ended[layer] = None

    def note_input(self, layer: Layer, source: Layer) -> None:
        """A task of a layer reads from a task of another."""
        if source.number not in layer.inputs and source.number != layer.number:
            layer.inputs.add(source.number)
            self._grown[layer] = None

    def built_elsewhere(self, labels: dict[str, tuple[str, str]], run: int = NO_RUN) -> dict[str, str]:
        """Return the user's line for known layers that this graph adds tasks to from another line."""
        known = (
            (self._layers.get((run, name, is_tuple)), origin)
            for name, (_, origin) in labels.items()
            for is_tuple in (False, True)
        )
        return {layer.name: origin for layer, origin in known if layer is not None and origin != layer.origin}

    def take_grown(self) -> list[Layer]:
        """Return the layers that are new or have more tasks, or inputs, than at the last call."""
        grown, self._grown = list(self._grown), {}
        return grown

    def take_changed(self) -> list[Layer]:
        """Return the layers whose tasks have moved on since the last call, without that of data."""
        self._update_totals()
        changed, self.changed = self.changed, set()
        changed.discard(self.data)
        return list(changed)

    def take_changed_runs(self) -> list[RunCounts]:
        """Return the runs whose tasks have moved on since the last call."""
        self._update_totals()
        changed, self._changed_runs = list(self._changed_runs), {}
        return changed

    def counts(self) -> list[int]:
        """Return the number of tasks in each state; in time that depends on what has changed, not on how much there is."""
        self._update_totals()
        return list(self._totals)

    def forget_ended(self, n_kept: int) -> None:
        """Forget layers of which no task is known any more, the oldest first, while there are more than `n_kept`."""
        self._update_totals()
        for layer in list(itertools.islice(self._ended, max(0, len(self._layers) - n_kept))):
            del self._ended[layer], self._layers[layer.run, layer.name, layer.is_tuple]
            if self.by_name.get(layer.name) is layer:
                del self.by_name[layer.name]
            self._add_to_totals([-count for count in layer.counts])
            counts = self.runs[layer.run]
            counts.n_layers -= 1
            if not counts.n_layers:
                del self.runs[layer.run]

    def _update_totals(self) -> None:
        for layer in self.changed:
            if layer is not self.data:
                numbers = layer.numbers()
                changes = list(map(sub, numbers, layer.counted))
                self._add_to_totals(changes[:_N_STATES])
                layer.counted = numbers
                counts = self.runs.get(layer.run)
                if counts is not None and layer.run != NO_RUN:
                    counts.add(changes)
                    self._changed_runs[counts] = None

    def _add_to_totals(self, changes: Sequence[int]) -> None:
        self._totals = list(map(add, self._totals, changes))
