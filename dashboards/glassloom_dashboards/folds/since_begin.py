"""What a recording that began late tells of its own time: the snapshot at its beginning is where its counts start from.

Such a file begins with a `Hello`, a snapshot of how things stood, and a `Position`. `SinceBegin` writes its messages anew:
runs and failures of before that don't change are left out, and the counts of the others, and of layers, are those since
then; a layer that was done has none. What holds as it is stays: workers, samples, GPUs, and each layer's name and bytes.

>>> since = SinceBegin()
>>> progress = Progress(1.0, [7], [1], [0], [0], [4], [0], [0])
>>> snapshot = [Layers([7], ["sum"], [5], [""]), progress, Position(2.0, 90)]
>>> [[type(one).__name__ for one in since.rewritten(message)] for message in snapshot]
[['Layers'], ['Progress'], ['Layers', 'Progress']]
>>> since.rewritten(Layers([7], ["sum"], [9], [""]))[0].totals
[5]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from glassloom_metrics.protocol import Errors, Layers, Message, Position, Progress, Runs, TaskEvents
from glassloom_metrics.run_row import RunRow, run_rows

_MAX_SNAPSHOT_MESSAGES = 10_000
"""No snapshot has more: what is still without a `Position` then is a recording since the cluster's start."""
_STATES = 6
_Row = tuple[Any, ...]


class SinceBegin:
    """Writes a recording's messages anew, in order. Of one that has no snapshot all stay as they are.

    Attributes
    ----------
    at_s
        When the recording began; None if it has no snapshot, or that hasn't been read yet.
    """

    def __init__(self) -> None:
        self.at_s: float | None = None
        self._snapshot: list[Message] | None = []
        self._layers: dict[int, _Row] = {}  # id, name, total, origin
        self._over: dict[int, list[int]] = {}  # of a layer: tasks done, failed, and cancelled before
        self._runs: dict[int, RunRow] = {}
        self._run_over: dict[int, list[int]] = {}  # of a run: tasks done, and failed before
        self._failures: dict[int, int] = {}

    def rewritten(self, message: Message) -> list[Message]:
        """Return what to take into account for the next message; at the snapshot's end all of that anew, from the hello on."""
        if self.at_s is not None:
            return list(self._after(message))
        if self._snapshot is None:
            return [message]
        if isinstance(message, Position):
            self.at_s = message.at_s
            snapshot, self._snapshot = self._snapshot, None
            for one in snapshot:
                self._note(one)
            return [part for one in snapshot for part in self._after(one)]
        self._snapshot.append(message)
        if isinstance(message, TaskEvents) or len(self._snapshot) > _MAX_SNAPSHOT_MESSAGES:
            self._snapshot = None
        return [message]

    def _note(self, message: Message) -> None:
        match message:
            case Layers():
                self._layers.update({row[0]: row[:4] for row in _rows(message, 0)})
            case Progress():
                for layer, *counts in _rows(message, 1):
                    done, failed = counts[3] + counts[4], counts[5]
                    cancelled = max(self._layers[layer][2] - sum(counts[:_STATES]), 0) if layer in self._layers else 0
                    self._over[layer] = [done, failed, cancelled]
            case Runs():
                for run in run_rows(message):
                    self._runs[run.id] = run
                    self._run_over[run.id] = [run.done, run.failed]
            case Errors():
                self._failures.update(zip(message.ids, message.counts, strict=True))

    def _after(self, message: Message) -> Iterator[Message]:
        match message:
            case Layers():
                self._layers.update({row[0]: row[:4] for row in _rows(message, 0) if row[0] in self._over})
                totals = [
                    max(total - sum(self._over.get(layer, ())), 0)
                    for layer, total in zip(message.ids, message.totals, strict=True)
                ]
                yield Layers(message.ids, message.names, totals, message.origins, message.runs, message.inputs)
            case Progress():
                yield from self._progress(message)
            case Runs():
                yield from _made(Runs, [row for row in map(self._run, run_rows(message)) if row])
            case Errors():
                yield from _made(Errors, [row for row in map(self._error, _rows(message, 0)) if row])
            case _:
                yield message

    def _progress(self, message: Progress) -> Iterator[Message]:
        rows, grown = [], []
        for layer, *counts in _rows(message, 1):
            over = self._over.get(layer)
            if over is not None:
                still = [min(over[0], counts[3] + counts[4]), min(over[1], counts[5]), over[2]]
                if still != over and layer in self._layers:  # lost results are computed anew, failed tasks tried again
                    over[:] = still
                    _, name, total, origin = self._layers[layer]
                    grown.append((layer, name, max(total - sum(over), 0), origin))
                counts = [*_counts_since(over, counts), *counts[_STATES:]]
            rows.append((layer, *counts))
        yield from _made(Layers, grown)
        yield Progress(message.at_s, *_columns(rows))

    def _run(self, run: RunRow) -> RunRow | None:
        known = self._runs.get(run.id)
        if known is None:
            return run
        if run == known and run.ended_s is not None:
            return None
        done, failed = map(min, self._run_over[run.id], (run.done, run.failed))
        self._run_over[run.id] = [done, failed]
        return run._replace(tasks=run.tasks - done - failed, done=run.done - done, failed=run.failed - failed)

    def _error(self, row: _Row) -> _Row | None:
        before, count = self._failures.get(row[0], 0), row[7]
        return (*row[:7], count - before, *row[8:10], row[10][before:] or row[10][-1:]) if count > before else None


def _counts_since(over: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Return a layer's counts without the tasks that were over before; results that were lost and are computed anew count.

    >>> _counts_since([4, 1, 0], [2, 0, 1, 2, 3, 1])
    [2, 0, 1, 1, 0, 0]
    """
    *under_way, memory, released, failed = counts[:_STATES]
    done = min(over[0], memory + released)
    still_held = max(done - released, 0)
    return [*under_way, memory - still_held, max(released - done, 0), max(failed - over[1], 0)]


def _rows(message: Message, start: int) -> Iterable[_Row]:
    columns = [column for name in message.__struct_fields__[start:] if (column := getattr(message, name))]
    return zip(*columns, strict=False)


def _columns(rows: Sequence[_Row]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _made(kind: type[Runs] | type[Errors] | type[Layers], rows: Sequence[_Row]) -> Iterator[Message]:
    if rows:
        yield kind(*_columns(rows))
