"""`WorkerLogs`: the last lines that tasks of each worker have printed or logged, for clients that ask."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection

from glassloom.protocol import messages

MAX_LINES = 1000
"""How many lines of each worker are kept."""
MAX_WORKERS = 100
"""Of how many workers; those that have printed least recently are forgotten."""


class WorkerLogs:
    """Bounded: lines of 16 KiB at most, `MAX_LINES` for each of `MAX_WORKERS`."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[tuple[str, str]]] = OrderedDict()

    def add(self, worker: str, output: messages.TaskOutput) -> None:
        """Take what a worker has sent."""
        lines = self._lines.setdefault(worker, deque(maxlen=MAX_LINES))
        lines.extend(zip(output.streams, output.texts, strict=True))
        self._lines.move_to_end(worker)
        if len(self._lines) > MAX_WORKERS:
            self._lines.popitem(last=False)

    def last(self, n: int | None, workers: Collection[str] | None) -> dict[str, list[tuple[str, str]]]:
        """Return the last `n` lines (None: all that are kept) of these workers (None: all), oldest first."""
        return {
            worker: list(lines)[len(lines) - min(len(lines), n) if n is not None else 0 :]
            for worker, lines in self._lines.items()
            if workers is None or worker in workers
        }
