"""`ClientRuns`: from the numbers that clients give their runs to those of the cluster."""

from __future__ import annotations

from collections import OrderedDict

from glassloom.graph.run_info import RunInfo
from glassloom.head.connections import ClientConnection
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.protocol import messages
from glassloom.scheduler import NO_RUN, Scheduler

MAX_RUNS = 2_000
"""How many runs of a client are known: those that it named last."""


class ClientRuns:
    """The runs of all clients. One begins with the first tasks that are handed in for it."""

    def __init__(self, scheduler: Scheduler, metrics_writer: MetricsWriter) -> None:
        self._scheduler = scheduler
        self._metrics_writer = metrics_writer
        self._known: dict[int, OrderedDict[int, RunInfo | int]] = {}

    def note(self, client: ClientConnection, message: messages.BeginRun) -> None:
        """A client will hand in tasks for a run."""
        known = self._known.setdefault(client.number, OrderedDict())
        known[message.number] = RunInfo(
            message.kind, message.code, message.notebook, message.cell, message.kernel, message.origin
        )
        if len(known) > MAX_RUNS:
            known.popitem(last=False)

    def begun(self, client: ClientConnection, number: int) -> int:
        """Return the cluster's number of a client's run, to which tasks are about to be handed in."""
        known = self._known.get(client.number)
        found = None if known is None else known.get(number)
        if known is None or found is None:
            return NO_RUN
        if isinstance(found, int):
            return found
        run = known[number] = self._metrics_writer.begin_run(found)
        return run

    def handed_in(self, run: int, outcome: str = "finished") -> None:
        """Tasks were handed in, or refused: the run is over if all of them belong to others, or it never had any."""
        if run != NO_RUN and run not in self._scheduler.layer_table.runs:
            self._metrics_writer.end_run(run, outcome)

    def client_left(self, client: ClientConnection) -> None:
        """Forget a client's numbers."""
        self._known.pop(client.number, None)
