"""What is kept of runs, logs, tasks and workers: against plain Python, and within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from glassloom_dashboards.folds import log_table, runs, task_waits, worker_history
from glassloom_dashboards.folds.aggregate import ClusterAggregate, WorkerSample
from glassloom_dashboards.folds.log_table import LAST_LINES, LogTable
from glassloom_dashboards.folds.runs import RUN_GAP_S, HeldBytes, Run, RunTable, joined_runs, summed
from glassloom_dashboards.folds.task_finding import rows_of_key
from glassloom_dashboards.folds.task_sums import Sums, TaskSum
from glassloom_dashboards.folds.worker_history import MAX_SAMPLES, WorkerHistories
from glassloom_metrics.protocol import (
    Layers,
    Log,
    Progress,
    Runs,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
    task_events,
)
from hypothesis import given
from hypothesis import strategies as st


def run_rows(*rows: tuple[int, str, str]) -> Runs:
    """Return runs given as (id, outcome, code)."""
    ids, outcomes, codes = (list(column) for column in zip(*rows, strict=True))
    texts, numbers = [[""] * len(ids) for _ in range(4)], [[0] * len(ids) for _ in range(3)]
    ended = [None if outcome == "running" else 2.0 for outcome in outcomes]
    return Runs(ids, ["compute"] * len(ids), codes, *texts, [1.0] * len(ids), ended, outcomes, *numbers)


task = st.tuples(st.integers(0, 5), st.integers(0, 100), st.integers(0, 50), st.booleans())


@given(st.lists(st.lists(task, min_size=1, max_size=20), max_size=5))
def test_sums_of_tasks_are_those_of_plain_python(batches):
    sums = Sums()
    for batch in batches:
        ids, start, took, ok = (np.array(column) for column in zip(*batch, strict=True))
        sums.add(ids, start.astype(float), (start + took).astype(float), ok)
    rows = [row for batch in batches for row in batch]
    for id_ in range(7):
        mine = [row for row in rows if row[0] == id_]
        assert sums[id_] == TaskSum(
            len(mine),
            sum(not ok for *_, ok in mine),
            sum(took for _, _, took, _ in mine),
            max((took for _, _, took, _ in mine), default=0),
            min((start for _, start, _, _ in mine), default=float("inf")),
            max((start + took for _, start, took, _ in mine), default=float("-inf")),
        )
    assert sums.of([0, 1]).count == sum(row[0] < 2 for row in rows)


def test_of_runs_the_newest_are_kept_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(runs, "MAX_RUNS", 3)
    table = RunTable()
    table.add(run_rows((0, "running", "a"), (1, "running", "b")))
    table.add_layers(Layers([7, 8, 9], ["x"] * 3, [1] * 3, [""] * 3, [0, 1, 1], [[], [], []]))
    table.add(run_rows((0, "failed", "a"), (2, "finished", "c"), (3, "running", "d")))
    assert [run.id for run in table.newest_first()] == [3, 2, 1]
    assert (table.forgotten, table.get(0), table.layers_of(0), table.layers_of(1)) == (1, None, [], [8, 9])
    assert {name: count for name, count in table.outcomes.items() if count} == {
        "running": 2, "failed": 1, "finished": 1,
    }  # fmt: skip
    table.add(run_rows((0, "finished", "a")))
    assert table.get(0) is None, "told again after it was forgotten"
    table.add_layers(Layers([1], ["x"], [1], [""]))
    assert table.layers_of(1) == [8, 9], "layers whose run isn't known change nothing"


def run_at(
    number: int, started_s: float, ended_s: float | None, cell: str = "c", origin: str = "cell 4, line 2"
) -> Run:
    outcome = "running" if ended_s is None else "finished"
    return Run(number, "compute", "", "a.ipynb", cell, "k", origin, started_s, ended_s, outcome, 10, 5, 1)


def numbers(runs: list[Run]) -> list[int]:
    return [run.id for run in joined_runs(runs)]


def test_runs_of_one_cell_or_line_that_followed_each_other_belong_together():
    assert joined_runs([]) == []
    loop = [run_at(n, n * 1.5, n * 1.5 + 1.0) for n in range(5)][::-1]
    assert numbers(loop) == [4, 3, 2, 1, 0]
    late = run_at(9, 7.0 + RUN_GAP_S + 0.1, None)
    assert numbers([late, *loop]) == [9], "after a pause"
    under_way = run_at(5, 7.5, None)
    assert numbers([late, under_way, *loop]) == [9, 5, 4, 3, 2, 1, 0], "began while the one before was under way"
    other = run_at(6, 7.0, 7.5, cell="d")
    assert numbers([under_way, other, *loop]) == [5, 4, 3, 2, 1, 0], "somebody else's in between"
    assert numbers([other, *loop]) == [6]
    other_line = run_at(7, 8.0, None, origin="cell 4, line 3")
    assert numbers([other_line, *loop]) == [7, 4, 3, 2, 1, 0], "of one cell, though not of one line"


def test_runs_without_a_cell_belong_together_by_their_line_and_those_without_either_never():
    lines = [run_at(n, float(n), n + 0.5, "", origin) for n, origin in enumerate(["a.py:1", "a.py:2", "a.py:2"])][::-1]
    assert numbers(lines) == [2, 1]
    assert numbers([run_at(n, float(n), n + 0.5, "", "") for n in (1, 0)]) == [1]


def test_runs_that_belong_together_are_summed():
    runs = [run_at(1, 3.0, None), run_at(0, 1.0, 2.0)]
    assert summed(runs) == runs[0]._replace(started_s=1.0, tasks=20, done=10, failed=2)
    ended = [runs[0]._replace(ended_s=4.0, outcome="finished"), runs[1]._replace(outcome="failed")]
    assert (summed(ended).ended_s, summed(ended).outcome) == (4.0, "failed")


def test_the_latest_run_is_the_newest_with_tasks_of_its_own_as_it_stands_now():
    table = RunTable()
    assert table.latest() == []
    table.add(Runs(*([value] for value in run_at(0, 1.0, None, "c0")._replace(tasks=0))))
    assert numbers(table.latest()) == [0], "there is no other"
    table.add(Runs(*([value] for value in run_at(1, 2.0, None, "c1"))))
    table.add(Runs(*([value] for value in run_at(2, 3.0, 3.0, "c2")._replace(tasks=0))))
    assert numbers(table.latest()) == [1]
    table.add_layers(Layers([7], ["x"], [1], [""], [2], [[]]))
    assert numbers(table.latest()) == [2]


def test_of_too_much_code_the_oldest_keeps_its_first_line(monkeypatch):
    monkeypatch.setattr(runs, "MAX_CODE_CHARACTERS", 100)
    table = RunTable()
    code = "\nfirst = 1\n" + "x" * 60
    table.add(run_rows((0, "running", code)))
    table.add(run_rows((1, "running", code)))
    assert [run.code for run in table.newest_first()] == [code, "first = 1"]
    table.add(run_rows((0, "finished", code)))
    assert [(run.code, run.outcome) for run in table.newest_first()] == [
        (code, "running"), ("first = 1", "finished"),
    ]  # fmt: skip
    table.add(run_rows((2, "running", code)))
    assert [len(run.code) for run in table.newest_first()] == [len(code), 9, 9]


def test_held_bytes_are_remembered_at_their_most():
    held = HeldBytes()
    for nbytes in (5, 9, 0):
        held.add(Progress(1.0, [3], *([[0]] * 6), [nbytes]))
    held.add(Progress(1.0, [3], *([[0]] * 6)))
    assert (held.now, held.peak) == ({3: 0}, {3: 9})


def test_log_lines_are_bounded_by_number_and_size_and_the_last_of_each_worker_are_kept(monkeypatch):
    monkeypatch.setattr(log_table, "MAX_LINES", 100)
    table = LogTable()
    table.add(Log(0.0, 5, "stderr", "last words"))
    for number in range(200):
        table.add(Log(float(number), 1, "stdout", f"line {number}"))
    assert (len(table), table.total, table.counts) == (100, 201, {"stderr": 1, "stdout": 200})
    assert [line.text for line in table.last_of(5)] == ["last words"]
    assert [line.text for line in table.last_of(1)] == [f"line {n}" for n in range(200 - LAST_LINES, 200)]
    assert table.last_of(2) == []
    monkeypatch.setattr(log_table, "MAX_CHARACTERS", 1000)
    table.add(Log(1.0, 1, "stdout", "x" * 900))
    assert sum(len(line.text) for line in table.select()) <= 1000


def test_lines_are_selected_by_level_worker_and_text():
    table = LogTable()
    for worker, level, text in [
        (-1, "info", "worker joined"), (0, "stdout", "Hello"), (1, "stderr", "hello?"), (1, "WARNING", "high memory"),
    ]:  # fmt: skip
        table.add(Log(1.0, worker, level, text))
    assert [line.text for line in table.select(text="HELLO")] == ["Hello", "hello?"]
    assert [line.text for line in table.select(groups={"warnings", "messages"})] == ["worker joined", "high memory"]
    assert [line.text for line in table.select(is_wanted=lambda worker: worker == 1, text="h")] == [
        "hello?", "high memory",
    ]  # fmt: skip


def sample(executing: int) -> WorkerSample:
    return WorkerSample(0.0, 50.0, 3, 1, 1, 0, executing, 0, 2, 1)


@pytest.mark.parametrize("count", [0, 1, 33, MAX_SAMPLES, MAX_SAMPLES + 7, 3 * MAX_SAMPLES])
def test_of_each_worker_the_last_samples_are_kept_in_order(count):
    histories = WorkerHistories()
    histories.join(WorkerJoined(100.0, 4, "w4", 1, 2))
    for number in range(count):
        histories.add(100.0 + number, [4, 9], {4: sample(number)})
    columns = histories.get(4).columns()
    kept = range(max(count - MAX_SAMPLES, 0), count)
    assert columns["at_s"].tolist() == list(kept)
    assert columns["executing"].tolist() == list(kept)


def test_workers_that_left_are_kept_with_their_last_samples_up_to_a_number(monkeypatch):
    monkeypatch.setattr(worker_history, "MAX_LEFT", 2)
    histories = WorkerHistories()
    for worker in range(4):
        histories.join(WorkerJoined(1.0, worker, f"w{worker}", 1, 1))
        histories.add(2.0, [worker], {worker: sample(worker)})
        if worker < 3:
            histories.leave(WorkerLeft(3.0, worker, "killed"))
            histories.leave(WorkerLeft(4.0, worker, "twice"))
    assert [one.joined.worker for one in histories.all()] == [1, 2, 3]
    assert (histories.get(1).left.reason, histories.get(1).last.executing) == ("killed", 1)


def test_the_aggregate_hands_each_message_to_its_fold():
    aggregate = ClusterAggregate()
    aggregate.apply(WorkerJoined(1.0, 0, "w0", 1, 1))
    aggregate.apply(WorkerSamples(2.0, [0], [5.0], [9], [3], [2], [0], [1], [0], [7], [4], [2]))
    aggregate.apply(Log(3.0, 0, "stdout", "x"))
    aggregate.apply(run_rows((0, "running", "a")))
    aggregate.apply(Layers([7], ["x"], [1], [""], [0], [[]]))
    aggregate.apply(WorkerLeft(4.0, 0, "killed"))
    history = aggregate.histories.get(0)
    assert (history.last.pressure, history.last.unmanaged_bytes, history.left.reason) == (2, 4, "killed")
    assert (len(aggregate.logs), len(aggregate.runs), aggregate.runs.layers_of(0)) == (1, 1, [7])
    assert aggregate.versions["runs"] == aggregate.versions["logs"] == 1


def _messages(rng: np.random.Generator) -> list[TaskEvents]:
    """Return rows in many small messages: some columns are packed in some of them and one value in others."""
    messages, first = [], 0
    for size in rng.integers(1, 40, 60).tolist():
        spread = {
            "layer": rng.integers(0, 5, size), "worker": rng.integers(0, 3, size), "lane": rng.integers(0, 4, size),
            "action": rng.choice([0, 0, 0, 1, 6], size), "ok": rng.integers(0, 2, size), "nbytes": rng.integers(-1, 300, size),
            "duration_s": rng.uniform(0.01, 2, size), "ready_wait_s": rng.uniform(0, 1, size),
            "cpu_s": rng.uniform(0, 1, size), "bytes_in": rng.uniform(0, 9e5, size), "last_input": rng.integers(0, 50, size),
            "producer": rng.integers(0, 3, size), "attempt": rng.integers(1, 3, size),
        }  # fmt: skip
        columns = {name: values.tolist() for name, values in spread.items() if rng.random() < 0.7}
        start_s = (first / 10 + rng.uniform(0, 1, size)).tolist()
        index = [str(row) for row in range(first, first + size)]
        messages.append(task_events(first, index, **{"ok": 1, "start_s": start_s} | columns))
        first += size
    return messages


def test_messages_folded_at_once_are_the_same_as_one_by_one():
    messages = _messages(np.random.default_rng(1))
    one_by_one, together = ClusterAggregate(), ClusterAggregate()
    for message in messages:
        one_by_one.apply(message)
    together.add_events(messages[:3])
    together.add_events(messages[1:30])  # the first two are known
    together.add_events(messages[30:])
    columns = ("layer", "worker", "thread", "action", "ok", "start_s", "stop_s", "nbytes", *task_waits.DTYPES)
    for name in columns:
        ours, theirs = together.tasks[name], one_by_one.tasks[name]
        if name == "thread":  # numbered in order of appearance among the messages of a call
            ours, theirs = np.array(together.tasks.threads)[ours], np.array(one_by_one.tasks.threads)[theirs]
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    rows = np.arange(len(one_by_one.tasks))
    assert together.tasks.index.take(rows) == one_by_one.tasks.index.take(rows) == [str(row) for row in rows]
    for layer in range(5):
        assert together.sums.layers[layer].count == one_by_one.sums.layers[layer].count
        assert together.sums.layers[layer].busy_s == pytest.approx(one_by_one.sums.layers[layer].busy_s)
        assert together.durations[layer].stragglers() == one_by_one.durations[layer].stragglers()
        assert rows_of_key(together.tasks, layer, "7") == rows_of_key(one_by_one.tasks, layer, "7")
