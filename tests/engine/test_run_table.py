"""Which runs are known, and for how long: those that were used last, and all that have open tasks."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from glassloom.client.runs import Runs as NumberedRuns
from glassloom.graph.notebook import Cell
from glassloom.graph.origin import Origin
from glassloom.graph.run_info import RunInfo
from glassloom.head import client_runs
from glassloom.head.client_runs import ClientRuns
from glassloom.head.connections import ClientConnection
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.protocol import messages
from glassloom.protocol.clock import Clock
from glassloom.sampling import runs as run_table
from glassloom.sampling.runs import RunTable
from glassloom.scheduler import NO_RUN, Scheduler
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, Runs, decode
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord

CLIENT = cast("ClientConnection", types.SimpleNamespace(number=7))
INFO = RunInfo("map", "client.map(f, x)")


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(Hello(PROTOCOL_VERSION, "c", "c", "processes", 0.0), directory=tmp_path)
    yield recorder
    recorder.close()


@pytest.fixture
def scheduler() -> Scheduler:
    scheduler = Scheduler(lambda kind, task: kind)
    scheduler.worker_joined(0, "w", 1)
    return scheduler


def client_runs_of(scheduler: Scheduler, recorder: Recorder) -> ClientRuns:
    return ClientRuns(scheduler, MetricsWriter(recorder, scheduler, Clock()))


def begin(runs: ClientRuns, number: int, kind: str = "map") -> int:
    runs.note(CLIENT, messages.BeginRun(number, kind, "code", "", "", "", ""))
    return runs.begun(CLIENT, number)


def test_the_run_that_a_client_named_longest_ago_is_forgotten_first(
    scheduler: Scheduler, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_runs, "MAX_RUNS", 3)
    runs = client_runs_of(scheduler, recorder)
    first, second, _ = (begin(runs, number) for number in (10, 11, 12))
    assert runs.begun(CLIENT, 10) == first
    begin(runs, 13)
    assert (runs.begun(CLIENT, 10), runs.begun(CLIENT, 11)) == (first, NO_RUN)
    assert second != first


def test_any_number_of_maps_leaves_the_run_of_submit_known(
    scheduler: Scheduler, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_runs, "MAX_RUNS", 3)
    runs = client_runs_of(scheduler, recorder)
    submitted = begin(runs, 0, "submit")
    for number in range(1, 20):
        begin(runs, number)
    assert runs.begun(CLIENT, 0) == submitted


def test_tasks_that_come_to_a_run_that_the_cluster_has_forgotten_begin_another(
    scheduler: Scheduler, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_table, "MAX_RUNS", 3)
    runs = client_runs_of(scheduler, recorder)
    before = begin(runs, 0, "submit")
    for number in range(1, 20):
        begin(runs, number)
    again = runs.begun(CLIENT, 0)
    assert again not in (before, NO_RUN)
    assert runs.begun(CLIENT, 0) == again


def test_a_run_with_open_tasks_is_never_forgotten(
    scheduler: Scheduler, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_table, "MAX_RUNS", 3)
    table = RunTable(recorder)
    opened = []
    for _ in range(5):
        run = table.begin(INFO, 1.0)
        opened.append(run)
        keys: list[Any] = [(f"layer-{run}", 0)]
        scheduler.submit("me", keys, ["spec"], [()], wanted=keys, run=run)
        table.note_counts(scheduler, 2.0)
    for _ in range(20):
        table.begin(INFO, 3.0)
    assert [table.resume(run) for run in opened] == [True] * 5
    finish_all(scheduler)
    table.note_counts(scheduler, 4.0)
    recorder.flush(5.0)
    told = [decode(payload) for payload in recorder.read(0, limit=100)[0]]
    outcomes = {
        number: outcome
        for message in told
        if isinstance(message, Runs)
        for number, outcome in zip(message.ids, message.outcomes, strict=True)
    }
    assert [outcomes[run] for run in opened] == ["finished"] * 5
    latest = [table.begin(INFO, 6.0) for _ in range(3)]
    assert [table.resume(run) for run in opened + latest] == [False] * 5 + [True] * 3


def finish_all(scheduler: Scheduler) -> None:
    """Let the worker finish all tasks, as it is given them."""
    while batches := list(scheduler.take_actions().run.values()):
        for batch in batches:
            numbers = [task.number for task in batch]
            scheduler.finished(0, numbers, [8] * len(numbers), [0.1] * len(numbers), [b"result"] * len(numbers))


def test_a_run_that_gets_more_tasks_ends_with_the_last_of_them(scheduler: Scheduler, recorder: Recorder) -> None:
    table = RunTable(recorder)
    run = table.begin(INFO, 1.0)
    for number, at_s in enumerate((2.0, 3.0)):
        keys: list[Any] = [("layer", number)]
        scheduler.submit("me", keys, ["spec"], [()], wanted=keys, run=run)
        finish_all(scheduler)  # before the next look at the counts
        table.note_counts(scheduler, at_s)
    scheduler.release("me", [("layer", 0), ("layer", 1)])
    table.note_counts(scheduler, 4.0)
    assert (table._runs[run].ended_s, table._runs[run].tasks) == (3.0, 2)


def test_a_line_of_a_function_belongs_in_each_cell_that_calls_it_to_a_run_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now: list[Cell | None] = [None]
    monkeypatch.setattr("glassloom.client.runs.notebook_execution", lambda: now[0].execution if now[0] else 0)
    monkeypatch.setattr("glassloom.client.runs.current_cell", lambda: now[0])
    sent: list[object] = []
    runs = NumberedRuns(sent.append, cast("ClusterRecord", types.SimpleNamespace(id="c")))
    origin = Origin("/home/a/mine.py", 7, "f")
    numbers = []
    for execution in (3, 3, 5, 5, 0, 0):
        now[0] = Cell(execution, "c", "f()") if execution else None
        numbers.append(runs.of_line("mine.py:7", origin))
    assert numbers == [0, 0, 1, 1, 2, 2], "also the second time that the same line is met"
    assert len(sent) == 3
