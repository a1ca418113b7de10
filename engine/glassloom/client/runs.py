"""`Runs`: the numbers of a client's runs, by which messages name them (see `glassloom_metrics.protocol.Runs`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from glassloom_metrics.registry import ClusterRecord

from glassloom.graph.cell_runs import tell_of_cell_run
from glassloom.graph.notebook import current_cell
from glassloom.graph.origin import Origin, notebook_execution, user_origin
from glassloom.graph.run_info import run_info
from glassloom.protocol import messages
from glassloom.protocol.identity import asker_id

_MOST_LINES = 1_000


class Runs:
    """Gives runs numbers, and tells the head of each before a message names it.

    A graph, or a `map`, is a run of its own. What is submitted one by one belongs to the run of its cell, or of its line
    in a script. Thread-safe: two threads may begin two runs for one cell, no more.

    Parameters
    ----------
    send
        Sends a message to the head.
    record
        Of the cluster.
    """

    def __init__(self, send: Callable[[messages.FromClient], None], record: ClusterRecord) -> None:
        self._send = send
        self._record = record
        self._execution = 0
        self._numbers = itertools.count()
        self._by_line: dict[str, int] = {}
        self._by_cell: dict[tuple[str, int], int] = {}
        self._kernel = asker_id()

    def begin(self, kind: str, origin: Origin | None = None) -> int:
        """Begin a run; return its number."""
        number = next(self._numbers)
        tell_of_cell_run(self._record.id, self._find_record)
        info = run_info(kind, origin or user_origin(), self._kernel)
        self._send(messages.BeginRun(number, *info))
        return number

    def of_line(self, line: str, origin: Origin | None) -> int:
        """Return the run of tasks that this line, which is the text of `origin`, submits one by one."""
        execution = notebook_execution()
        if execution != self._execution:  # the line may be a function's that another cell calls now
            self._execution = execution
            self._by_line.clear()
        number = self._by_line.get(line)
        return self._of_place(line, origin) if number is None else number

    def _of_place(self, line: str, origin: Origin | None) -> int:
        if origin is None:
            return self._by_line.setdefault(line, self.begin("submit"))
        cell = current_cell()
        if len(self._by_line) > _MOST_LINES:
            self._by_line.clear()
            self._by_cell.clear()
        if cell is None:
            return self._by_line.setdefault(line, self.begin("submit", origin))
        place = (origin.filename, cell.execution)
        number = self._by_cell.get(place)
        if number is None:
            number = self._by_cell.setdefault(place, self.begin("submit", origin))
        self._by_line[line] = number
        return number

    def _find_record(self) -> ClusterRecord:
        return self._record
