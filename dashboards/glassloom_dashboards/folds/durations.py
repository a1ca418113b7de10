"""How long the tasks of each layer take, as counts in narrow bins: quantiles without sorting, a few bytes a layer.

>>> durations = Durations()
>>> durations.add(np.full(100, 7), np.linspace(0.5, 1.5, 100))
>>> round(durations[7].quantile(0.5), 2), round(durations[7].quantile(1.0), 2)
(0.99, 1.5)
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from glassloom_metrics.protocol import Action
from numpy.typing import NDArray

from glassloom_dashboards.folds.grouping import distinct_of

BINS_AN_OCTAVE = 8
"""A bin is 9 % wide, and a quantile is between the shortest and the longest of a bin's tasks."""
_SHORTEST_S = 1e-6
LONGEST_KEPT = 8
"""How many tasks of a layer are kept by themselves: the longest."""
STRAGGLER_FACTOR = 2.0
"""A straggler takes so many times what 95 % of its layer's tasks take."""
LEAST_STRAGGLER_S = 0.05
"""A shorter task delays nobody, however short the others are."""
LEAST_TASKS = 20
"""Layers with fewer tasks have no stragglers."""
_JOINED_TOGETHER = 128
"""Layers whose numbers are in one range of so many are joined once, until one of that range has a task more."""
_RANGES_KEPT = 1024


class LongTask(NamedTuple):
    """One of a layer's longest tasks: its row in the task table (which may have gone since), its worker and its text in the index."""

    seconds: float
    row: int
    worker: int
    text: str


_Bin = tuple[int, float, float]
"""How many tasks are in a bin, and between which durations. Plain tuples of numbers aren't looked at by the garbage collector: there
may be some hundred thousand.
"""
_LongTask = tuple[float, int, int, str]
"""What a `LongTask` has, for the same reason."""
_EMPTY: _Bin = (0, float("inf"), 0.0)


class _Columns(NamedTuple):
    """Bins as columns, and how long all of their tasks took together."""

    bins: NDArray[np.int64]
    tasks: NDArray[np.int64]
    shortest_s: NDArray[np.float64]
    longest_s: NDArray[np.float64]
    total_s: float


class LayerDurations:
    """The durations of one layer's tasks.

    Attributes
    ----------
    count, total_s, longest_s
        Of all tasks.
    """

    def __init__(self) -> None:
        self._bins: dict[int, _Bin] = {}
        self._cumulated: tuple[list[int], list[int]] | None = None
        self._quantiles: dict[float, float] = {}
        self._longest: list[_LongTask] = []
        self.count = 0
        self.total_s = 0.0
        self.shortest_s = float("inf")
        self.longest_s = 0.0

    def add(self, bin_: int, count: int, total_s: float, longest_s: float, shortest_s: float) -> None:
        """Count tasks of one bin."""
        tasks, least_s, most_s = self._bins.get(bin_, _EMPTY)
        self._bins[bin_] = (tasks + count, min(least_s, shortest_s), max(most_s, longest_s))
        self._cumulated = None
        self._quantiles.clear()
        self.count += count
        self.total_s += total_s
        self.longest_s = max(self.longest_s, longest_s)
        self.shortest_s = min(self.shortest_s, shortest_s)

    def include(self, other: LayerDurations) -> None:
        """Count the tasks of another layer."""
        bins = self._bins
        for bin_, one in other._bins.items():
            known = bins.get(bin_)
            if known is not None:
                tasks, shortest_s, longest_s = known
                one = (tasks + one[0], min(shortest_s, one[1]), max(longest_s, one[2]))
            bins[bin_] = one
        self._cumulated = None
        self._quantiles.clear()
        self.count += other.count
        self.total_s += other.total_s
        self.longest_s = max(self.longest_s, other.longest_s)
        self.shortest_s = min(self.shortest_s, other.shortest_s)

    def columns(self) -> _Columns:
        """Return all bins as columns."""
        tasks, shortest_s, longest_s = zip(*self._bins.values(), strict=True) if self._bins else ((), (), ())
        return _Columns(
            np.array(list(self._bins), np.int64),
            np.array(tasks, np.int64),
            np.array(shortest_s),
            np.array(longest_s),
            self.total_s,
        )

    def note(self, task: LongTask) -> None:
        """Keep a task if it is among the longest."""
        one: _LongTask = (task.seconds, task.row, task.worker, task.text)
        if len(self._longest) < LONGEST_KEPT:
            heapq.heappush(self._longest, one)
        else:
            heapq.heappushpop(self._longest, one)

    @property
    def least_kept_s(self) -> float:
        """How long a task must take at least to be kept by itself."""
        return self._longest[0][0] if len(self._longest) == LONGEST_KEPT else -1.0

    @property
    def mean_s(self) -> float:
        """The mean, 0 if there is no task."""
        return self.total_s / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """Return what a share of the tasks takes at most; 0 if there is none."""
        if not self.count:
            return 0.0
        known = self._quantiles.get(share)
        if known is None:
            known = self._quantiles[share] = self._quantile(share)
        return known

    def _quantile(self, share: float) -> float:
        bins, reached = self._sorted()
        wanted = share * self.count
        place = min(bisect_left(reached, wanted), len(bins) - 1)
        tasks, shortest_s, longest_s = self._bins[bins[place]]
        rank = tasks - (reached[place] - wanted)
        inside = max(rank - 1, 0.0) / max(tasks - 1, 1)
        return shortest_s + inside * (longest_s - shortest_s)

    def _sorted(self) -> tuple[list[int], list[int]]:
        """Return the bins in order, and how many tasks are in each or in one before."""
        if self._cumulated is None:
            bins = sorted(self._bins)
            self._cumulated = bins, list(accumulate(self._bins[bin_][0] for bin_ in bins))
        return self._cumulated

    @property
    def straggler_s(self) -> float:
        """From which duration on a task is a straggler."""
        if self.count < LEAST_TASKS:
            return float("inf")
        return max(STRAGGLER_FACTOR * self.quantile(0.95), LEAST_STRAGGLER_S)

    def stragglers(self) -> tuple[int, list[LongTask]]:
        """Return how many stragglers there are, about, and the longest of them, the longest first."""
        limit_s = self.straggler_s
        if self.longest_s <= limit_s:
            return 0, []
        listed = [LongTask(*task) for task in sorted(self._longest, reverse=True) if task[0] > limit_s]
        bins, reached = self._sorted()
        place = bisect_left(bins, limit_s, key=bin_start_s)
        counted = self.count - (reached[place - 1] if place else 0)
        return max(counted, len(listed)), listed


NONE = LayerDurations()


def joined(parts: Iterable[LayerDurations]) -> LayerDurations:
    """Return the durations of the tasks of several layers together, but not which are the longest."""
    whole = LayerDurations()
    for part in parts:
        whole.include(part)
    return whole


def _summed(parts: Sequence[_Columns]) -> LayerDurations:
    """Return the durations whose bins are those of all parts."""
    whole = LayerDurations()
    distinct, place = distinct_of(np.concatenate([part.bins for part in parts]))
    tasks = np.bincount(place, np.concatenate([part.tasks for part in parts]), len(distinct)).astype(np.int64)
    shortest_s, longest_s = np.full(len(distinct), np.inf), np.zeros(len(distinct))
    np.minimum.at(shortest_s, place, np.concatenate([part.shortest_s for part in parts]))
    np.maximum.at(longest_s, place, np.concatenate([part.longest_s for part in parts]))
    columns = (distinct.tolist(), tasks.tolist(), longest_s.tolist(), shortest_s.tolist())
    for bin_, count, longest, shortest in zip(*columns, strict=True):
        whole.add(bin_, count, 0.0, longest, shortest)
    whole.total_s = sum(part.total_s for part in parts)
    return whole


class Durations:
    """The durations of all layers' tasks, by layer."""

    def __init__(self) -> None:
        self._layers: dict[int, LayerDurations] = {}
        self._changes: Counter[int] = Counter()  # by the range that a layer's number is in
        self._ranges: OrderedDict[tuple[int, bytes], tuple[int, _Columns]] = OrderedDict()

    def __getitem__(self, layer: int) -> LayerDurations:
        return self._layers.get(layer, NONE)

    def joined(self, layers: Sequence[int]) -> LayerDurations:
        """Return the durations of the tasks of several layers together. Of ten thousand layers most are as they were when they were joined last."""
        ids = np.sort(np.asarray(layers, np.int64))
        if not len(ids):
            return LayerDurations()
        ranges = ids // _JOINED_TOGETHER
        cuts = np.flatnonzero(np.diff(ranges)) + 1
        firsts = ranges[np.append(0, cuts)].tolist()
        return _summed([self._range(one, part) for one, part in zip(firsts, np.split(ids, cuts), strict=True)])

    def _range(self, number: int, layers: NDArray[np.int64]) -> _Columns:
        """Return the bins of layers of one range together."""
        key, changes = (number, layers.tobytes()), self._changes[number]
        known = self._ranges.get(key)
        if known is None or known[0] != changes:
            known = changes, joined(self[layer] for layer in layers.tolist()).columns()
            self._ranges[key] = known
        self._ranges.move_to_end(key)
        if len(self._ranges) > _RANGES_KEPT:
            self._ranges.popitem(last=False)
        return known[1]

    def fold(self, kept: Container[int], newest: int, into: int) -> None:
        """Count the layers up to `newest` that aren't `kept` as one. Which of their tasks took longest isn't kept."""
        whole = self._layers.setdefault(into, LayerDurations())
        for layer in [one for one in self._layers if one <= newest and one not in kept and one != into]:
            whole.include(self._layers.pop(layer))
            self._changes[layer // _JOINED_TOGETHER] += 1
        self._changes[into // _JOINED_TOGETHER] += 1

    def add_rows(
        self, columns: dict[str, NDArray[Any]], first: int, texts: Callable[[NDArray[np.int64]], list[str]]
    ) -> None:
        """Add rows of the task table: their columns, the number of the first, and what returns the texts of some by their numbers."""
        rows = np.flatnonzero(columns["action"] == Action.COMPUTE)
        if not len(rows):
            return
        layer, duration_s = columns["layer"][rows], columns["stop_s"][rows] - columns["start_s"][rows]
        self.add(layer, duration_s)
        distinct, place_of_layer = distinct_of(layer)
        least_s = np.array([self._layers[one].least_kept_s for one in distinct.tolist()])
        long = np.sort(_longest(layer, duration_s, np.flatnonzero(duration_s > least_s[place_of_layer])))
        numbers, workers = rows[long] + first, columns["worker"][rows[long]]
        seconds = duration_s[long].tolist()
        tasks = map(LongTask, seconds, numbers.tolist(), workers.tolist(), texts(numbers))
        for one, task in zip(layer[long].tolist(), tasks, strict=True):
            self._layers[one].note(task)

    def add(self, layer: NDArray[Any], duration_s: NDArray[np.float64]) -> None:
        """Count tasks. This costs as much as there are different layers and bins, but for a pass over the columns."""
        bins = bins_of(duration_s)
        layers, place_of_layer = distinct_of(layer)
        lowest = int(bins.min(initial=0xFFFF))
        n_bins = int(bins.max(initial=0)) - lowest + 1
        distinct, place = distinct_of(place_of_layer * n_bins + (bins - lowest))
        size = len(distinct)
        longest_s, shortest_s = np.zeros(size), np.full(size, np.inf)
        np.maximum.at(longest_s, place, duration_s)
        np.minimum.at(shortest_s, place, duration_s)
        counts, totals_s = np.bincount(place, minlength=size), np.bincount(place, duration_s, minlength=size)
        columns = (counts.tolist(), totals_s.tolist(), longest_s.tolist(), shortest_s.tolist())
        keys = (layers[distinct // n_bins].tolist(), (distinct % n_bins + lowest).tolist())
        for one, bin_, *sums in zip(*keys, *columns, strict=True):
            self._layers.setdefault(one, LayerDurations()).add(bin_, *sums)
        self._changes.update((layers // _JOINED_TOGETHER).tolist())


def _longest(layer: NDArray[Any], duration_s: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of the `LONGEST_KEPT` longest tasks of each layer, of those at `places`."""
    order = places[np.lexsort((-duration_s[places], layer[places]))]
    firsts = np.flatnonzero(np.diff(layer[order].astype(np.int64), prepend=-1))
    place = np.arange(len(order)) - np.repeat(firsts, np.diff(np.append(firsts, len(order))))
    return order[place < LONGEST_KEPT]


def bins_of(duration_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each duration; all shorter than a microsecond are in the first."""
    bins = np.floor(np.log2(np.maximum(duration_s, _SHORTEST_S) / _SHORTEST_S) * BINS_AN_OCTAVE)
    return np.clip(bins, 0, 0xFFFF).astype(np.int64)


def bin_start_s(bin_: int) -> float:
    """Return the shortest duration of a bin."""
    return float(_SHORTEST_S * 2.0 ** (bin_ / BINS_AN_OCTAVE))
