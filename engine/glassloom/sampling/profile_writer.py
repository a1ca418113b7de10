"""`ProfileWriter`: the samples of all workers as the messages `Stacks` and `Profile`, with one table of stacks for all."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom_metrics.profile import OTHER, Profile, Stacks
from glassloom_metrics.recorder import Recorder

from glassloom.sampling.stack_samples import columns
from glassloom.sampling.taken_samples import TakenSamples
from glassloom.sampling.task_stacks import Frame

WINDOW_S = 1.0
"""How long samples are summed up before they are written."""
MAX_STACKS = 10_000
"""How large the table becomes before it begins anew. A reader's snapshot has the whole of it."""
MAX_ROWS = 5_000
"""How many rows a window has; what there is more of is of stack `OTHER`."""

_Place = tuple[int, Frame]


class ProfileWriter:
    """Writes samples to a recorder. Not thread-safe.

    Parameters
    ----------
    epoch_s
        What is added to monotonic times.
    """

    def __init__(self, recorder: Recorder, epoch_s: float) -> None:
        self._recorder = recorder
        self._epoch_s = epoch_s
        self._tables: dict[int, list[_Place]] = {}
        """By worker: its stacks, as it has told of them."""
        self._known: dict[tuple[int, int], int] = {}
        """Our numbers for theirs, by worker and stack."""
        self._numbers: dict[_Place, int] = {}
        self._next = 0
        self._new: list[tuple[int, _Place]] = []
        self._rows: dict[tuple[int, int, int], list[float]] = {}
        self._start_s = self._stop_s = 0.0
        self._written_s = 0.0

    def add(self, worker: int, taken: TakenSamples, layers: Sequence[int]) -> None:
        """Add what a worker has seen; `layers` are those of its rows."""
        self._note_stacks(worker, taken)
        if not self._rows:
            self._start_s, self._stop_s = taken.start_s, taken.stop_s
        self._start_s, self._stop_s = min(self._start_s, taken.start_s), max(self._stop_s, taken.stop_s)
        for layer, stack, samples, seconds in zip(layers, taken.stacks, taken.samples, taken.seconds, strict=True):
            number = OTHER if stack == OTHER else self._number(worker, stack)
            row = (worker, layer, number)
            if row not in self._rows and len(self._rows) >= MAX_ROWS:
                row = (worker, layer, OTHER)
            sums = self._rows.setdefault(row, [0, 0.0])
            sums[0] += samples
            sums[1] += seconds

    def worker_left(self, worker: int) -> None:
        """Forget a worker's table."""
        self._tables.pop(worker, None)
        self._known = {place: number for place, number in self._known.items() if place[0] != worker}

    def flush(self, now_s: float, *, at_once: bool = False) -> None:
        """Write what there is if the window is over."""
        if not self._rows or (now_s - self._written_s < WINDOW_S and not at_once):
            return
        self._written_s = now_s
        if self._new:
            places = [place for _, place in self._new]
            ids, parents = [number for number, _ in self._new], [parent for parent, _ in places]
            self._recorder.record(Stacks(ids, parents, *columns(places)))
            self._new = []
        workers, layers, stacks = map(list, zip(*self._rows, strict=True))
        samples, seconds = map(list, zip(*self._rows.values(), strict=True))
        start_s, stop_s = self._epoch_s + self._start_s, self._epoch_s + self._stop_s
        self._recorder.record(Profile(start_s, stop_s, workers, layers, stacks, samples, seconds))
        self._rows = {}
        if len(self._numbers) > MAX_STACKS:
            self._numbers, self._known = {}, {}

    def _note_stacks(self, worker: int, taken: TakenSamples) -> None:
        if taken.first == 0:
            self.worker_left(worker)
        table = self._tables.setdefault(worker, [])
        frames = zip(taken.functions, taken.files, taken.lines, strict=True)
        table += zip(taken.parents, frames, strict=True)

    def _number(self, worker: int, stack: int) -> int:
        """Return our number for a worker's stack; it is announced if it is new."""
        known = self._known.get((worker, stack))
        if known is None:
            parent, frame = self._tables[worker][stack]
            place = (OTHER if parent == OTHER else self._number(worker, parent), frame)
            known = self._numbers.get(place)
            if known is None:
                known = self._numbers[place] = self._next
                self._next += 1
                self._new.append((known, place))
            self._known[worker, stack] = known
        return known
