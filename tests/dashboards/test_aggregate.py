"""The aggregate holds what plain Python would count from the same messages."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import synthetic
from glassloom_dashboards.folds import growing_texts, task_table
from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate
from glassloom_dashboards.folds.growing_texts import GrowingTexts
from glassloom_dashboards.folds.task_table import DATA_LANE
from glassloom_metrics.protocol import (
    Action,
    Errors,
    Hello,
    Layers,
    Life,
    Progress,
    Settings,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
    decode,
    task_events,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

HELLO = Hello(2, "c1", "demo", "processes", 100.0)

event = st.fixed_dictionaries(
    {
        "layer": st.integers(0, 5),
        "worker": st.integers(0, 2**16),
        "lane": st.integers(0, 2**16 - 1),
        "action": st.sampled_from(list(Action)).map(int),
        "start_s": st.floats(100, 200),
        "length_s": st.floats(0, 50, width=32),
        "nbytes": st.integers(-1, 2**40),
        "ok": st.integers(0, 1),
        "index": st.text(max_size=5),
    }
)


def batch(first: int, rows: list[dict]) -> TaskEvents:
    names = ("layer", "worker", "lane", "action", "start_s", "nbytes", "ok")
    columns = {name: [row[name] for row in rows] for name in names}
    columns["duration_s"] = [row["length_s"] for row in rows]
    return task_events(first, [row["index"] for row in rows], **columns)


def aggregate_of(*messages) -> ClusterAggregate:
    aggregate = ClusterAggregate()
    for message in (HELLO, *messages):
        aggregate.apply(message)
    return aggregate


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(event, max_size=30), max_size=8), st.floats(90, 260), st.floats(0, 60))
def test_random_batches_fold_to_what_plain_python_counts(batches, from_s, for_s):
    aggregate, rows = aggregate_of(), []
    for part in batches:
        aggregate.apply(batch(len(rows), part))
        rows += part

    tasks = aggregate.tasks
    assert len(tasks) == len(rows)
    assert aggregate.compute_tasks == sum(row["action"] == Action.COMPUTE for row in rows)
    for name in ("layer", "worker", "action", "start_s", "ok"):
        assert tasks[name].tolist() == [row[name] for row in rows]
    assert tasks["nbytes"].tolist() == [float(np.float32(row["nbytes"])) for row in rows]
    assert tasks.index.take(np.arange(len(rows))) == [row["index"] for row in rows]
    assert [tasks.threads[thread] for thread in tasks["thread"]] == [
        (row["worker"], row["lane"] if row["action"] == Action.COMPUTE else DATA_LANE) for row in rows
    ]
    overlapping = [
        number
        for number, row in enumerate(rows)
        if row["start_s"] <= from_s + for_s and row["start_s"] + row["length_s"] >= from_s
    ]
    assert tasks.rows_between(from_s, from_s + for_s).tolist() == overlapping


def test_rows_are_found_over_many_blocks_as_by_looking_at_each():
    recorder = synthetic.make_recorder(synthetic.Shape(tasks=40_000, workers=3))
    aggregate = ClusterAggregate()
    for payload in recorder.read(0, limit=10**6)[0]:
        aggregate.apply(decode(payload))
    tasks = aggregate.tasks
    for from_s, to_s in ((0.0, 1.0), (500.0, 501.0), (990.0, 10**6), (-5.0, -1.0)):
        start_s, stop_s = synthetic.STARTED_AT_S + from_s, synthetic.STARTED_AT_S + to_s
        expected = np.flatnonzero((tasks["start_s"] <= stop_s) & (tasks["stop_s"] >= start_s))
        assert np.array_equal(tasks.rows_between(start_s, stop_s), expected)


def test_rows_that_are_there_already_are_not_added_twice():
    rows = [
        dict(layer=0, worker=0, lane=0, action=0, start_s=101.0, length_s=1, nbytes=0, ok=1, index=str(n))
        for n in range(6)
    ]
    aggregate = aggregate_of(batch(0, rows[:4]), batch(2, rows[2:]), batch(0, rows[:3]))
    assert aggregate.tasks.index.take(np.arange(6)) == ["0", "1", "2", "3", "4", "5"]
    assert (len(aggregate.tasks), aggregate.lost_events) == (6, 0)


def test_rows_lost_on_the_way_are_counted():
    rows = [dict(layer=0, worker=0, lane=0, action=0, start_s=101.0, length_s=1, nbytes=0, ok=1, index="")] * 3
    aggregate = aggregate_of(batch(0, rows), batch(10, rows))
    assert (len(aggregate.tasks), aggregate.lost_events) == (6, 7)


def test_a_second_hello_begins_anew_and_says_so():
    aggregate = aggregate_of(Layers([0], ["sum"], [3], [""]), WorkerJoined(100.0, 0, "w0", 1, 2))
    generation, versions = aggregate.generation, Counter(aggregate.versions)
    aggregate.apply(HELLO)
    assert (aggregate.layers, aggregate.workers, aggregate.state) == ({}, {}, "live")
    assert aggregate.generation == generation + 1
    assert all(aggregate.versions[part] > versions[part] for part in ("layers", "workers", "tasks"))


def test_progress_adds_up_over_layers_by_the_last_word_of_each():
    def progress(at_s, layers, *counts):
        return Progress(at_s, layers, **{state: list(counts[place]) for place, state in enumerate(STATES)})

    aggregate = aggregate_of(
        Layers([4, 7], ["a", "b"], [10, 20], ["", ""]),
        progress(1.0, [4, 7], (5, 20), (1, 0), (1, 0), (2, 0), (1, 0), (0, 0)),
        progress(2.0, [7], (11,), (2,), (3,), (3,), (0,), (1,)),
    )
    assert aggregate.task_counts == {
        "waiting": 16, "ready": 3, "running": 4, "memory": 5, "released": 1, "erred": 1, "cancelled": 0, "total": 30,
    }  # fmt: skip


def test_a_worker_that_left_no_longer_counts_but_keeps_its_name():
    sample = WorkerSamples(
        101.0, [0, 1, 9], [50.0, 70.0, 99.0], [10, 20, 99], [4, 30, 0], [1, 0, 0], [0] * 3, [1] * 3, [0] * 3
    )
    aggregate = aggregate_of(
        WorkerJoined(100.0, 0, "first", 1, 2),
        WorkerJoined(100.0, 1, "second", 2, 4),
        sample,
        WorkerLeft(102.0, 1, "killed"),
    )
    assert list(aggregate.samples) == [0]
    assert aggregate.threads == 2
    assert aggregate.worker_name(1) == "second"
    assert aggregate.history["cpu_percent"].tolist() == [120.0]


def test_unmanaged_memory_is_never_negative():
    aggregate = aggregate_of(
        WorkerJoined(100.0, 0, "w0", 1, 2), WorkerSamples(101.0, [0], [0.0], [10], [30], [5], [0], [0], [0])
    )
    assert aggregate.samples[0].unmanaged_bytes == 0


def test_closing_ends_the_cluster_and_keeps_what_it_told():
    aggregate = aggregate_of(Layers([0], ["sum"], [3], [""]), Life(105.0, "closing"))
    assert (aggregate.state, aggregate.ended_reason) == ("ended", "the cluster was closed")
    assert aggregate.layers[0].name == "sum"


def test_a_renamed_cluster_has_its_new_name_from_then_on():
    aggregate = aggregate_of(Settings(101.0, "demo", []))
    before = aggregate.versions["life"]
    aggregate.apply(Settings(102.0, "renamed", []))
    assert (aggregate.name, aggregate.versions["life"]) == ("renamed", before + 1)


def test_errors_are_counted_beyond_those_that_are_kept():
    groups = [
        Errors([n], [0], ["ValueError"], ["no"], [""], [0], [""], [count], [101.0], [102.0], [[f"k{n}"]])
        for n in range(130)
        for count in (1, 3)
    ]
    aggregate = aggregate_of(*groups)
    assert (aggregate.error_count, len(aggregate.errors)) == (390, 100)
    assert list(aggregate.errors.values())[-1].keys == ["k129"]


def test_a_new_run_begins_after_a_pause():
    def row(start_s):
        return dict(layer=0, worker=0, lane=0, action=0, start_s=start_s, length_s=1.0, nbytes=0, ok=1, index="")

    aggregate = aggregate_of(batch(0, [row(100.0), row(101.0)]), batch(2, [row(110.0)]), batch(3, [row(110.5)]))
    assert aggregate.tasks.latest_run_start_s == 110.0


@pytest.mark.parametrize("text", ["{}, 3", "{:024x}"], ids=["block", "hash"])
def test_a_task_costs_less_than_64_bytes(text):
    texts = GrowingTexts()
    for first in range(0, 10_240, 128):
        texts.extend([text.format(number * 7919) for number in range(first, first + 128)])
    batches = 300 * len(texts._batches)  # what Python needs for their objects
    row = sum(column.itemsize for column in aggregate_of().tasks._events._columns.values())
    assert (texts.nbytes + batches) / 10_240 + row < 64


@given(st.lists(st.lists(st.text("0123456789abcdefA, é", max_size=9) | st.just("01234567"), max_size=40), max_size=9))
def test_texts_are_what_they_were_however_they_are_kept(parts):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(growing_texts, "_LEAST_ROWS", 10)
        patched.setattr(growing_texts, "_MOST_ROWS", 16)
        texts, plain = GrowingTexts(), []
        for part in parts:
            texts.extend(part)
            plain += part
        assert texts.take(np.arange(len(plain))) == plain
        assert texts.take(np.arange(len(plain))[::-2]) == plain[::-2]
        for start in range(0, len(plain), 7):
            stop = min(start + 5, len(plain))
            assert not texts.holds("é", start, stop) or "é" in "".join(plain[start:stop])
            assert all(texts.holds(one, start, stop) for one in plain[start:stop])
            for one in {*plain[start : stop + 2], "", "01234567", "no such"}:
                places = [place for place in range(start, stop) if plain[place] == one]
                assert texts.equal(one, start, stop).tolist() == places


def test_the_oldest_rows_go_and_the_others_keep_their_numbers_and_texts(monkeypatch):
    monkeypatch.setattr(task_table, "MAX_ROWS", 16_384)
    monkeypatch.setattr(task_table, "_DROPPED_ROWS", 8_192)
    aggregate = ClusterAggregate()
    payloads = synthetic.make_recorder(synthetic.Shape(tasks=60_000)).read(0, limit=10**6)[0]
    whole = ClusterAggregate()
    for payload in payloads:
        aggregate.apply(decode(payload))
    monkeypatch.setattr(task_table, "MAX_ROWS", 10**6)
    for payload in payloads:
        whole.apply(decode(payload))
    tasks, first = aggregate.tasks, 40_960
    assert (tasks.first_row, tasks.next_row, len(tasks)) == (first, 60_000, 60_000 - first)
    rows = np.arange(first, 60_000)
    assert tasks.index.take(rows) == whole.tasks.index.take(rows) == [f"{row // 10}, {row % 10}" for row in rows]
    for name in ("start_s", "stop_s", "layer", "thread", "fetch_s", "ready_s"):
        assert np.array_equal(tasks.take(name, rows), whole.tasks[name][rows])
        assert np.array_equal(tasks[name], whole.tasks[name][rows])
    found = whole.tasks.rows_between(-np.inf, np.inf)
    assert np.array_equal(tasks.rows_between(-np.inf, np.inf), found[found >= first])
    middle_s = float(tasks.take("start_s", np.array([50_000]))[0])
    found = whole.tasks.rows_between(middle_s, middle_s + 1)
    assert len(found) > 0 and np.array_equal(tasks.rows_between(middle_s, middle_s + 1), found)
    for layer in whole.layers:
        assert aggregate.sums.layers[layer] == whole.sums.layers[layer]
        assert aggregate.durations[layer].stragglers() == whole.durations[layer].stragglers()
    assert aggregate.sums.computed.failed == whole.sums.computed.failed
    for action in Action:
        moved = whole.tasks["nbytes"][whole.tasks["action"] == action].clip(0).sum(dtype=float)
        assert aggregate.sums.nbytes[action] == whole.sums.nbytes[action] == pytest.approx(moved, rel=1e-6)
    assert (aggregate.compute_tasks, tasks.start_s) == (whole.compute_tasks, whole.tasks.start_s)
