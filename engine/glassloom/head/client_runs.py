"""`ClientRuns`: from the numbers that clients give their runs to those of the cluster."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from glassloom.graph.run_info import RunInfo
from glassloom.head.connections import ClientConnection
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.protocol import messages
from glassloom.scheduler import NO_RUN, Scheduler

MAX_RUNS = 2_000
"""How many runs of a client are known, of those that calls of `submit` share and of the others each: those that it named last.

A client names no more different runs of `submit` than this before it begins all of them anew.
"""


@dataclass(slots=True)
class _ClientRun:
    """A run of a client: what is told of it, and its number if tasks were handed in."""

    info: RunInfo
    number: int = NO_RUN


class _KnownRuns:
    """The runs of one client, by its own numbers, the one that was named last last.

    Calls of `submit` name their run again and again. `map` and `compute` name a new one each, and never again: so these don't
    displace those.
    """

    def __init__(self) -> None:
        self._shared: OrderedDict[int, _ClientRun] = OrderedDict()
        self._others: OrderedDict[int, _ClientRun] = OrderedDict()

    def add(self, number: int, info: RunInfo) -> None:
        runs = self._shared if info.kind == "submit" else self._others
        runs[number] = _ClientRun(info)
        if len(runs) > MAX_RUNS:
            runs.popitem(last=False)

    def named(self, number: int) -> _ClientRun | None:
        """Return the run that a client names; None if it is forgotten."""
        for runs in (self._shared, self._others):
            if number in runs:
                runs.move_to_end(number)
                return runs[number]
        return None


class ClientRuns:
    """The runs of all clients. One begins with the first tasks that are handed in for it."""

    def __init__(self, scheduler: Scheduler, metrics_writer: MetricsWriter) -> None:
        self._scheduler = scheduler
        self._metrics_writer = metrics_writer
        self._known: dict[int, _KnownRuns] = {}

    def note(self, client: ClientConnection, message: messages.BeginRun) -> None:
        """A client will hand in tasks for a run."""
        info = RunInfo(*(getattr(message, name) for name in RunInfo._fields))
        self._known.setdefault(client.number, _KnownRuns()).add(message.number, info)

    def begun(self, client: ClientConnection, number: int) -> int:
        """Return the cluster's number of a client's run, to which tasks are about to be handed in."""
        known = self._known.get(client.number)
        run = None if known is None else known.named(number)
        if run is None:
            return NO_RUN
        if run.number == NO_RUN or not self._metrics_writer.resume_run(run.number):
            run.number = self._metrics_writer.begin_run(run.info)
        return run.number

    def handed_in(self, run: int, outcome: str = "finished") -> None:
        """Tasks were handed in, or refused: the run is over if all of them belong to others, or it never had any."""
        if run != NO_RUN and run not in self._scheduler.layer_table.runs:
            self._metrics_writer.end_run(run, outcome)

    def client_left(self, client: ClientConnection) -> None:
        """Forget a client's numbers."""
        self._known.pop(client.number, None)
