"""`ClusterFold`: what a cluster's metrics stream says of the runs of this kernel. Pure: no clock, no thread, no socket."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.gpu_messages import OF_ALL_ROWS
from glassloom_metrics.protocol import (
    DeviceTimes,
    Errors,
    Layers,
    Log,
    Message,
    Position,
    Progress,
    Runs,
    Settings,
    WorkerSamples,
)
from glassloom_metrics.recorder import STATES
from glassloom_metrics.run_row import RunRow, run_rows

TOPICS = (
    "runs", "layers", "progress", "worker-joined", "worker-left", "samples", "errors", "log", "settings", "device-times",
)  # fmt: skip
"""What is read of a cluster's stream: nothing that grows with the number of tasks, unless workers have devices."""
MAX_RUNS = 64
"""How many ended runs are kept apart; what older ones have done is summed up."""
_MAX_LINES = 50
_MAX_LINE = 300
_MAX_EARLY_LINES = 200
_MAX_ERRORS = 50

_RUNNING = STATES.index("running")
_FAILED = STATES.index("erred")
_DONE = tuple(map(STATES.index, ("memory", "released", "erred")))


@dataclass(slots=True)
class LayerCounts:
    """How far the tasks of one operation are, and how long they took on their workers' devices."""

    total: int = 0
    done: int = 0
    running: int = 0
    failed: int = 0
    device_s: float = 0.0

    def add(self, other: LayerCounts) -> None:
        """Count those of another layer too."""
        self.total += other.total
        self.done += other.done
        self.running += other.running
        self.failed += other.failed
        self.device_s += other.device_s


@dataclass(slots=True)
class _Layer:
    name: str
    run: int
    counts: LayerCounts
    inputs: list[int]


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """A group of failures: see `glassloom_metrics.protocol.Errors`."""

    layer: str
    exception: str
    message: str
    origin: str
    count: int


@dataclass(slots=True)
class CellOutput:
    """The newest lines that tasks of a cell have printed, and how many there were."""

    lines: deque[tuple[str, str, str]] = field(default_factory=lambda: deque(maxlen=_MAX_LINES))
    """Worker, level and text."""
    count: int = 0


@dataclass(slots=True)
class PastRuns:
    """What runs that are forgotten have done, for one cell."""

    count: int = 0
    first_started_s: float = float("inf")
    outcomes: set[str] = field(default_factory=set)
    layers: dict[str, LayerCounts] = field(default_factory=dict)


def inputs_first(numbers: Sequence[int], inputs: Mapping[int, Sequence[int]]) -> list[int]:
    """Return layers so that each comes after those that it reads from, else in their order.

    >>> inputs_first([1, 2, 3, 4], {1: [2, 3], 2: [3], 3: [], 4: []})
    [3, 2, 1, 4]
    """
    known, seen = set(numbers), set[int]()
    ordered: dict[int, None] = {}
    for number in numbers:
        stack = [number]
        while stack:
            top = stack[-1]
            if top in seen:
                ordered.setdefault(stack.pop())
            else:
                seen.add(top)
                stack += [each for each in reversed(inputs[top]) if each in known and each not in seen]
    return list(ordered)


class Since(NamedTuple):
    """When an execution of a cell began.

    Attributes
    ----------
    at_s
        By the cluster's clock, as far as it is known: never too late, but as much too early as the fastest message took.
    n_before
        How many runs its process had begun before. It tells exactly what the time can't.
    """

    at_s: float
    n_before: int = 0

    def covers(self, run: RunRow) -> bool:
        """Tell whether a run of the same process began then or later."""
        return run.started_s >= self.at_s and not 0 < run.ordinal <= self.n_before


_EVER = Since(0.0)


class ClusterFold:
    """The runs of some cells on one cluster, with their layers, errors and output.

    Parameters
    ----------
    cell_of
        Returns the id of the cell that a run is counted for; ``""``: it is left out.
    """

    def __init__(self, cell_of: Callable[[RunRow], str]) -> None:
        self.summary = ClusterSummary()
        self.runs: dict[int, RunRow] = {}
        self.past: defaultdict[str, PastRuns] = defaultdict(PastRuns)
        self.at_s = 0.0
        """The cluster's time when progress was told last."""
        self.has_ended = False
        self.name = ""
        """What the cluster is called now, once it has said so."""
        self._cell_of = cell_of
        self._layers: dict[int, _Layer] = {}
        self._layers_of: defaultdict[int, list[int]] = defaultdict(list)
        self._ordered: dict[int, list[int]] = {}
        """The layers of a run, inputs first, until it has others."""
        self._errors: dict[int, tuple[int, ErrorRow]] = {}
        self._output: defaultdict[str, CellOutput] = defaultdict(CellOutput)
        self._early: deque[Log] = deque(maxlen=_MAX_EARLY_LINES)
        self._busy: dict[int, bool] = {}
        self._since: dict[str, Since] = {}

    def apply(self, message: Message) -> None:
        """Take the next message of the stream into account."""
        self.summary.apply(message)
        match message:
            case Runs():
                self._apply_runs(message)
            case Layers():
                self._apply_layers(message)
            case Progress():
                self._apply_progress(message)
            case DeviceTimes():
                self._apply_device_times(message)
            case Errors():
                self._apply_errors(message)
            case Log():
                self._apply_log(message)
            case Settings():
                self.name = message.name
            case WorkerSamples():
                self.at_s = max(self.at_s, message.at_s)
                self._busy = dict(zip(message.workers, map(bool, message.executing), strict=True))
            case Position():
                self.at_s = max(self.at_s, message.at_s)
                self._sum_up_old_runs()  # the layers of all runs before it are known

    # What cells ask

    def runs_of(self, cell: str, since: Since) -> list[RunRow]:
        """Return the runs of a cell that began then or later, oldest first."""
        return [run for run in self.runs.values() if run.cell == cell and since.covers(run)]

    def layers_of(self, run: int) -> Iterator[tuple[str, LayerCounts]]:
        """Yield the layers of a run by name: each after those that it reads from."""
        if run not in self._ordered:
            numbers = self._layers_of.get(run, [])
            self._ordered[run] = inputs_first(numbers, {number: self._layers[number].inputs for number in numbers})
        for number in self._ordered[run]:
            layer = self._layers[number]
            yield layer.name, layer.counts

    def errors_of(self, runs: set[int]) -> list[ErrorRow]:
        """Return the groups of failures of runs."""
        return [row for run, row in self._errors.values() if run in runs]

    def output_of(self, cell: str) -> CellOutput:
        """Return what tasks of a cell have printed."""
        return self._output[cell]

    def begin_cell(self, cell: str, since: Since) -> None:
        """The cell begins anew: what was summed up of it, its output, and runs that began before are an earlier execution's."""
        self._since[cell] = since
        self.past.pop(cell, None)
        self._output.pop(cell, None)

    @property
    def n_busy(self) -> int:
        """How many workers ran a task when they were last sampled."""
        return sum(self._busy.values())

    # Messages

    def _apply_runs(self, message: Runs) -> None:
        for row in run_rows(message):
            cell = self._cell_of(row)
            if cell:
                self.runs[row.id] = row if cell == row.cell else row._replace(cell=cell)

    def _sum_up_old_runs(self) -> None:
        """Forget ended runs beyond a bound. Those of `submit` may go on, and stay."""
        ended = [run for run in self.runs.values() if run.ended_s is not None and run.kind != "submit"]
        for run in ended[: max(0, len(ended) - MAX_RUNS)]:
            if self._since.get(run.cell, _EVER).covers(run):
                past = self.past[run.cell]
                past.count += 1
                past.first_started_s = min(past.first_started_s, run.started_s)
                past.outcomes.add(run.outcome)
                for name, counts in self.layers_of(run.id):
                    past.layers.setdefault(name, LayerCounts()).add(counts)
            del self.runs[run.id]
            self._ordered.pop(run.id, None)
            for number in self._layers_of.pop(run.id, ()):
                del self._layers[number]

    def _apply_layers(self, message: Layers) -> None:
        runs = message.runs or [-1] * len(message.ids)
        inputs = message.inputs or [[]] * len(message.ids)
        rows = zip(message.ids, message.names, message.totals, runs, inputs, strict=True)
        for number, name, total, run, sources in rows:
            if number in self._layers:
                layer = self._layers[number]
                layer.counts.total, layer.inputs = total, sources
                self._ordered.pop(layer.run, None)
            elif run in self.runs:
                self._layers[number] = _Layer(name, run, LayerCounts(total), sources)
                self._layers_of[run].append(number)
                self._ordered.pop(run, None)
        early = list(self._early)
        self._early.clear()
        for line in early:
            self._apply_log(line)

    def _apply_progress(self, message: Progress) -> None:
        self.at_s = max(self.at_s, message.at_s)
        columns = [getattr(message, state) for state in STATES]
        for position, number in enumerate(message.layers):
            layer = self._layers.get(number)
            if layer is not None:
                layer.counts.done = sum(columns[state][position] for state in _DONE)
                layer.counts.running = columns[_RUNNING][position]
                layer.counts.failed = columns[_FAILED][position]

    def _apply_device_times(self, message: DeviceTimes) -> None:
        for row, number, seconds in zip(message.rows, message.layers, message.seconds, strict=True):
            layer = self._layers.get(number)
            if layer is not None:
                layer.counts.device_s = seconds + (0.0 if row == OF_ALL_ROWS else layer.counts.device_s)

    def _apply_errors(self, message: Errors) -> None:
        rows = zip(
            message.ids,
            message.layers,
            message.exceptions,
            message.messages,
            message.origins,
            message.counts,
            strict=True,
        )
        for number, layer_number, exception, text, origin, count in rows:
            layer = self._layers.get(layer_number)
            if layer is not None:
                self._errors[number] = layer.run, ErrorRow(layer.name, exception, text, origin, count)
        for number in list(self._errors)[:-_MAX_ERRORS]:
            del self._errors[number]

    def _apply_log(self, message: Log) -> None:
        if message.layer < 0:
            return  # no task's
        layer = self._layers.get(message.layer)
        if layer is None:
            self._early.append(message)  # its layer may be told of a moment later
            return
        output = self._output[self.runs[layer.run].cell]
        worker = self.summary.worker_name(message.worker)
        output.lines.append((worker, message.level, message.text[:_MAX_LINE]))
        output.count += 1
