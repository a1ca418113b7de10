"""`RunTable`: the runs of a cluster, from when they begin to what came of them."""

from __future__ import annotations

import itertools
from collections import OrderedDict

from glassloom_metrics.recorder import Recorder
from glassloom_metrics.run_row import RunRow

from glassloom.graph.run_info import RunInfo
from glassloom.scheduler import RunCounts, Scheduler

MAX_RUNS = 10_000
"""How many runs are known, and besides those that have open tasks: the least recently used go first."""


class RunTable:
    """Runs by number. Thread-safe as far as its scheduler and recorder are.

    >>> from glassloom_metrics.protocol import Hello
    >>> table = RunTable(Recorder(Hello(2, "c1", "demo", "threads", 0.0)))
    >>> table.begin(RunInfo("map", "client.map(f, x)"), 1.0)
    0
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._runs: OrderedDict[int, RunRow] = OrderedDict()
        self._numbers = itertools.count()

    def begin(self, info: RunInfo, now_s: float) -> int:
        """Note that a run begins; return its number."""
        number = next(self._numbers)
        run = RunRow(number, **info._asdict(), started_s=now_s)
        self._set(run)
        self._forget_if_too_many()
        return number

    def resume(self, number: int) -> bool:
        """More tasks come to a run; return whether it is still known. If not, begin another for them."""
        if number not in self._runs:
            return False
        self._runs.move_to_end(number)
        return True

    def end(self, number: int, outcome: str, now_s: float) -> None:
        """A run that has no tasks of its own is over."""
        run = self._runs.get(number)
        if run is not None and run.ended_s is None and not run.tasks:
            self._set(run._replace(ended_s=now_s, outcome=outcome))

    def note_counts(self, scheduler: Scheduler, now_s: float) -> None:
        """Take note of runs whose tasks have moved on."""
        for counts in scheduler.layer_table.take_changed_runs():
            run = self._runs.get(counts.number)
            if run is not None:
                ended_s = run.ended_s if counts.n_tasks == run.tasks else None
                self._set(
                    run._replace(
                        ended_s=None if counts.n_open else ended_s or now_s,
                        outcome=_outcome(counts),
                        tasks=counts.n_tasks,
                        done=counts.n_done,
                        failed=counts.n_failed,
                    )
                )

    def _set(self, run: RunRow) -> None:
        if self._runs.get(run.id) != run:
            self._runs[run.id] = run
            self._runs.move_to_end(run.id)
            self._recorder.set_run(run)

    def _forget_if_too_many(self) -> None:
        """Forget the least recently used runs, if there are too many. Those that have open tasks stay, and count as used."""
        for _ in range(len(self._runs) - MAX_RUNS):
            number, run = next(iter(self._runs.items()))
            if _is_open(run):
                self._runs.move_to_end(number)
            else:
                del self._runs[number]


def _is_open(run: RunRow) -> bool:
    """Whether a run is known to have tasks that are under way."""
    return bool(run.tasks) and run.ended_s is None


def _outcome(counts: RunCounts) -> str:
    """Return one of `protocol.OUTCOMES`."""
    if counts.n_open:
        return "running"
    if counts.n_failed:
        return "failed"
    return "cancelled" if counts.n_given_up else "finished"
