"""What is told of a cell's runs to the strip below it: from the messages of clusters to one message a cell. Nothing runs here."""

from __future__ import annotations

from typing import Any

import pytest
from glassloom.notebook.cell_progress import MAX_LAYERS, CellProgress, Following, Rate
from glassloom.notebook.cluster_fold import MAX_RUNS, ClusterFold, Since
from glassloom.notebook.progress_text import total_text
from glassloom_metrics.protocol import (
    DeviceTimes,
    Errors,
    Layers,
    Log,
    Message,
    Position,
    Progress,
    Runs,
    WorkerJoined,
    WorkerSamples,
)
from glassloom_metrics.registry import ClusterRecord

KERNEL = "k1"


def runs(*rows: dict[str, Any]) -> Runs:
    """Return runs: by default a compute of cell ``a`` that is under way."""
    base: dict[str, Any] = {
        "ids": 0, "kinds": "compute", "codes": "x.compute()", "notebooks": "n.ipynb", "cells": "a", "kernels": KERNEL,
        "origins": "cell 1, line 1: x.compute()", "started_s": 100.0, "ended_s": None, "outcomes": "running",
        "tasks": 10, "done": 0, "failed": 0,
    }  # fmt: skip
    full = [{**base, **row} for row in rows]
    return Runs(**{name: [row[name] for row in full] for name in full[0]})


def progress(
    at_s: float, layer: int, *, waiting: int = 0, running: int = 0, memory: int = 0, erred: int = 0
) -> Progress:
    return Progress(at_s, [layer], [waiting], [0], [running], [memory], [0], [erred], [0])


def following(*messages: Message, at_s: float = 100.0, now_s: float = 100.0) -> Following:
    """Return a cluster that has said this, and what its clock showed when ours showed `now_s`."""
    record = ClusterRecord("c1", "loom", "processes", 1, 0.0, "/s", "secret", 0.0, "/d", "p")
    found = Following(record, ClusterFold(lambda run: run.cell if run.kernel == KERNEL else ""))
    found.hear(at_s, now_s)
    for message in messages:
        found.fold.apply(message)
    return found


def told(cell: CellProgress, each: Following) -> dict[str, Any]:
    cell.clusters.add("c1")
    message = cell.message({"c1": each})
    assert message is not None
    return message


def test_a_running_cell_is_told_with_layers_rates_and_what_the_cluster_takes() -> None:
    each = following(
        WorkerJoined(99.0, 0, "w0", 1, 2, memory_limit_bytes=1000),
        WorkerJoined(99.0, 1, "w1", 1, 2, memory_limit_bytes=1000),
        runs({}),
        Layers([1, 2], ["load", "sum"], [8, 2], ["", ""], [0, 0]),
        WorkerSamples(
            101.0, [0, 1], [10.0] * 2, [500] * 2, [100] * 2, [0] * 2, [7, 0], [1, 0], [0, 0], [0] * 2, [50] * 2
        ),
        progress(102.0, 1, running=2, memory=4),
    )
    message = told(CellProgress("a", 1, began_s=99.9), each)
    assert message["outcome"] == "running" and message["ended_at"] is None
    assert message["tasks"] == {"total": 10, "done": 4, "running": 2, "failed": 0, "rate": 2.0, "eta_s": 3}
    assert message["layers"][0] == {
        "name": "load", "total": 8, "done": 4, "running": 2, "failed": 0, "rate": 2.0, "eta_s": 2,
    }  # fmt: skip
    (cluster,) = message["clusters"]
    assert (cluster["workers"], cluster["busy"], cluster["threads"]) == (2, 1, 4)
    assert (cluster["memory_bytes"], cluster["memory_limit_bytes"], cluster["spilled_bytes"]) == (300, 2000, 7)


def test_time_on_devices_is_told_of_the_cells_own_layers_also_when_it_comes_after_the_end() -> None:
    each = following(
        runs({}, {"ids": 1, "cells": "b"}),
        Layers([1, 2, 3], ["load", "sum", "load"], [8, 2, 5], [""] * 3, [0, 0, 1]),
        DeviceTimes(100.5, 0.25, [-1, -1], [1, 3], [0.25, 3.0]),  # of the snapshot: it came before we listened
        DeviceTimes(101.0, 9.0, [1, 2, 3], [1, 3, 77], [0.5, 4.0, 4.0]),
        runs({"ended_s": 102.0, "outcomes": "finished"}, {"ids": 1, "cells": "b"}),
        DeviceTimes(103.0, 10.5, [4], [1], [1.5]),
    )
    message = told(CellProgress("a", 1, began_s=99.9), each)
    assert message["tasks"]["device_s"] == 2.25
    assert [layer.get("device_s") for layer in message["layers"]] == [2.25, None]
    assert "2.2 s on the GPU" in total_text(message)


def test_runs_of_other_cells_kernels_and_earlier_executions_are_left_out() -> None:
    each = following(
        runs(
            {"ids": 0, "started_s": 90.0},
            {"ids": 1, "cells": "b"},
            {"ids": 2, "kernels": "another"},
            {"ids": 3, "cells": ""},
            {"ids": 4, "tasks": 7},
        )
    )
    message = told(CellProgress("a", 2, began_s=95.0), each)
    assert [run["id"] for run in message["runs"]] == [4]
    assert CellProgress("c", 1, began_s=0.0, clusters={"c1"}).message({"c1": each}) is None


def test_runs_just_before_a_cell_are_left_out_however_late_the_clusters_messages_are() -> None:
    # All messages took 5 s: by what is known of its clock, the cell began at 95 there, where it was 100.
    each = following(
        runs({"ids": 0, "started_s": 99.0, "ordinals": 8}, {"ids": 1, "started_s": 100.1, "ordinals": 9}), now_s=105.0
    )
    message = told(CellProgress("a", 2, began_s=100.0, n_before=8), each)
    assert [run["id"] for run in message["runs"]] == [1]


def test_times_are_told_by_this_process_clock() -> None:
    # The cluster's clock is 50 s behind: the machine slept.
    each = following(runs({"started_s": 102.0}), at_s=100.0, now_s=150.0)
    assert told(CellProgress("a", 1, began_s=151.0), each)["started_at"] == 152.0
    assert CellProgress("a", 1, began_s=153.0, clusters={"c1"}).message({"c1": each}) is None


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["finished", "running"], "running"),
        (["finished", "failed"], "failed"),
        (["cancelled", "finished"], "cancelled"),
        (["finished", "finished"], "finished"),
    ],
)
def test_a_cell_with_several_runs_has_the_worst_outcome(outcomes: list[str], expected: str) -> None:
    rows = [
        {"ids": number, "outcomes": outcome, "ended_s": None if outcome == "running" else 105.0}
        for number, outcome in enumerate(outcomes)
    ]
    message = told(CellProgress("a", 1, began_s=0.0), following(runs(*rows)))
    assert (message["outcome"], message["n_runs"]) == (expected, 2)


def test_what_runs_when_its_cluster_ends_is_lost() -> None:
    each = following(runs({}), progress(108.0, 1))
    each.fold.has_ended = True
    message = told(CellProgress("a", 1, began_s=0.0), each)
    assert (message["outcome"], message["ended_at"]) == ("lost", 108.0)


def test_an_ended_cell_stays_as_it_was_whatever_its_cluster_does_next() -> None:
    worker = WorkerJoined(99.0, 0, "w0", 1, 2)
    samples = [
        WorkerSamples(at_s, [0], [0.0], [size], [size], [0], [0], [1], [0], [0], [0])
        for at_s, size in ((101.0, 500), (120.0, 900))
    ]
    each = following(worker, runs({}), samples[0])
    cell = CellProgress("a", 1, began_s=0.0)
    assert told(cell, each)["peak_bytes"] == 500
    each.fold.apply(runs({"ended_s": 104.0, "outcomes": "finished", "done": 10}))
    ended = told(cell, each)
    each.fold.apply(samples[1])
    assert told(cell, each) == ended
    assert (ended["ended_at"], ended["peak_bytes"], ended["at"]) == (104.0, 500, None)


def test_many_runs_of_a_cell_are_summed_up() -> None:
    each = following()
    each.fold.begin_cell("a", Since(100.0))
    # What an hour-old execution has done is none of it.
    each.fold.apply(runs({"ids": 9999, "started_s": 50.0, "ended_s": 51.0, "outcomes": "failed"}))
    n_runs = MAX_RUNS + 40
    for number in range(n_runs):
        ended_s = 101.0 + number
        each.fold.apply(runs({"ids": number, "started_s": 100.0 + number}))
        each.fold.apply(Layers([number], ["sum"], [3], [""], [number]))
        each.fold.apply(progress(ended_s, number, memory=3))
        each.fold.apply(runs({"ids": number, "started_s": 100.0 + number, "ended_s": ended_s, "outcomes": "finished"}))
    each.fold.apply(Position(200.0, 1))
    assert len(each.fold.runs) == MAX_RUNS
    message = told(CellProgress("a", 1, began_s=0.0), each)
    assert (message["n_runs"], message["tasks"]["total"], message["tasks"]["done"]) == (n_runs, 3 * n_runs, 3 * n_runs)
    assert (message["started_at"], message["ended_at"]) == (100.0, 100.0 + n_runs)
    assert [layer["name"] for layer in message["layers"]] == ["sum"]
    each.fold.begin_cell("a", Since(0.0))
    assert told(CellProgress("a", 2, began_s=100.0 + MAX_RUNS), each)["n_runs"] == 40


def test_of_too_many_layers_those_under_way_are_told() -> None:
    n_layers = MAX_LAYERS + 5
    numbers = list(range(n_layers))
    each = following(
        runs({}), Layers(numbers, [f"l{n}" for n in numbers], [1] * n_layers, [""] * n_layers, [0] * n_layers)
    )
    for number in numbers[:-1]:
        each.fold.apply(progress(101.0, number, memory=1))
    each.fold.apply(progress(101.0, numbers[-1], running=1))
    message = told(CellProgress("a", 1, began_s=0.0), each)
    assert (len(message["layers"]), message["n_layers"]) == (MAX_LAYERS, n_layers)
    assert message["layers"][-1]["name"] == f"l{n_layers - 1}"


def test_layers_are_told_in_the_order_in_which_they_run_whatever_order_they_were_announced_in() -> None:
    names = ["total", "sum", "load", "other"]
    announced = Layers([1, 2, 3, 4], names, [1] * 4, [""] * 4, [0] * 4, [[2], [3], [], []])
    each = following(runs({}), announced)
    cell = CellProgress("a", 1, began_s=0.0)
    assert [layer["name"] for layer in told(cell, each)["layers"]] == ["load", "sum", "total", "other"]
    each.fold.apply(Layers([3, 5], ["load", "open"], [2, 1], [""] * 2, [0] * 2, [[5], []]))  # more tasks of a cell
    assert [layer["name"] for layer in told(cell, each)["layers"]] == ["open", "load", "sum", "total", "other"]


def test_layers_that_read_from_each_other_are_told_once() -> None:
    each = following(runs({}), Layers([1, 2], ["left", "right"], [1, 1], ["", ""], [0, 0], [[2], [1, 77]]))
    names = [layer["name"] for layer in told(CellProgress("a", 1, began_s=0.0), each)["layers"]]
    assert names == ["right", "left"]


def test_errors_and_output_are_told_with_the_cell_of_their_tasks() -> None:
    each = following(
        WorkerJoined(99.0, 0, "w0", 1, 2),
        runs({}, {"ids": 1, "cells": "b"}),
        Log(100.5, 0, "stdout", "too early", 1, "0"),
        Layers([1, 2], ["load", "other"], [8, 2], ["", ""], [0, 1]),
        Log(101.0, 0, "stdout", "x" * 1000, 1, "1"),
        Log(101.0, 0, "stdout", "of b", 2, "1"),
        Log(101.0, 0, "info", "a worker's own"),
        Errors([5, 6], [1, 2], ["ValueError", "KeyError"], ["no", "b"], ["", ""], [0, 0], ["cell 1", ""], [3, 1], [101.0] * 2, [102.0] * 2, [[], []]),
    )  # fmt: skip
    message = told(CellProgress("a", 1, began_s=0.0), each)
    assert message["output"]["count"] == 2
    assert [(line["worker"], line["text"]) for line in message["output"]["lines"]] == [
        ("w0", "too early"),
        ("w0", "x" * 300),
    ]
    assert message["errors"] == [
        {"layer": "load", "exception": "ValueError", "message": "no", "origin": "cell 1", "count": 3}
    ]


def test_rates_follow_the_last_seconds() -> None:
    rate = Rate(0.0)
    assert rate.per_second() is None
    for at_s in range(1, 31):
        rate.add(float(at_s), at_s)
    for at_s in range(31, 61):
        rate.add(float(at_s), 30 + 5 * (at_s - 30))
    assert rate.per_second() == pytest.approx(5.0)
