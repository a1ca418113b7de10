"""`glassloom.monitor`: a small dashboard of a cluster, from what its stream says."""

from __future__ import annotations

import re
from typing import Any

import glassloom as gl
import pytest
import tasks
from fault_helpers import eventually
from glassloom import Client, LocalCluster
from glassloom.notebook.monitor_display import MAX_WORKERS, facts_of, monitor_html, monitor_text
from glassloom.notebook.monitor_fold import HISTORY_S, MAX_LAYERS, MonitorFold
from glassloom_metrics.protocol import Errors, Layers, Message, Position, Progress, Runs, WorkerJoined, WorkerSamples

MIB = 2**20
HOSTILE = "<script>alert(1)</script>"


def joined(worker: int, name: str = "", limit: int = 100 * MIB) -> WorkerJoined:
    return WorkerJoined(0.0, worker, name or f"w{worker}", 1, nthreads=2, memory_limit_bytes=limit)


def samples(at_s: float, *cpu_percent: float, managed: int = 10 * MIB, spilled: int = 0) -> WorkerSamples:
    """Return a measurement of the workers from 0 on: each runs a task."""
    n = len(cpu_percent)
    return WorkerSamples(
        at_s,
        list(range(n)),
        list(cpu_percent),
        rss_bytes=[50 * MIB] * n,
        managed_bytes=[managed] * n,
        shared_bytes=[0] * n,
        spilled_bytes=[spilled] * n,
        executing=[1] * n,
        queued=[0] * n,
        unmanaged_bytes=[20 * MIB] * n,
    )


def run(number: int = 1, ended_s: float | None = None) -> Runs:
    row: dict[str, Any] = {
        "ids": number, "kinds": "compute", "codes": "x", "notebooks": "", "cells": "", "kernels": "other", "origins": "line 1",
        "started_s": 1.0, "ended_s": ended_s, "outcomes": "running" if ended_s is None else "finished", "tasks": 10, "done": 0,
        "failed": 0,
    }  # fmt: skip
    return Runs(**{name: [value] for name, value in row.items()})


def layers(*names: str, run: int = 1, total: int = 10) -> Layers:
    n = len(names)
    ids = list(range(10 * run, 10 * run + n))
    return Layers(ids, list(names), [total] * n, [""] * n, runs=[run] * n)


def progress(
    at_s: float, layer: int, *, waiting: int = 0, running: int = 0, memory: int = 0, erred: int = 0
) -> Progress:
    return Progress(at_s, [layer], [waiting], [0], [running], [memory], [0], [erred], [0])


def told(*messages: Message) -> MonitorFold:
    fold = MonitorFold("loom")
    for message in messages:
        fold.apply(message)
    return fold


def test_a_view_has_workers_tasks_and_the_layers_of_all_open_runs_whoever_began_them() -> None:
    view = told(
        joined(0), joined(1), samples(5.0, 150.0, 20.0, spilled=MIB), run(1, ended_s=2.0), run(2), layers("old"), layers("load", "sum", run=2),
        progress(5.0, 10, memory=10), progress(5.0, 20, memory=4, erred=1, running=2, waiting=3), Position(5.0, 1),
    ).view()  # fmt: skip
    assert (view.cpu_percent, view.memory_bytes, view.memory_limit_bytes) == (170.0, 60 * MIB, 200 * MIB)
    assert [(each.name, each.n_threads, each.cpu_percent, each.executing) for each in view.workers] == [
        ("w0", 2, 150.0, 1),
        ("w1", 2, 20.0, 1),
    ]
    assert (view.spilled_bytes, view.n_running, view.n_waiting, view.n_done, view.n_failed) == (2 * MIB, 2, 3, 15, 1)
    assert (view.is_running, view.layers) == (True, (("load", 10, 5, 1), ("sum", 10, 0, 0)))


def test_when_nothing_runs_the_last_runs_layers_stay() -> None:
    view = told(run(1, ended_s=2.0), run(2, ended_s=3.0), layers("old"), layers("new", run=2)).view()
    assert (view.is_running, [name for name, *_ in view.layers]) == (False, ["new"])


def test_lines_over_time_have_a_point_a_second_and_end_somewhere() -> None:
    fold = told(joined(0))
    for tenth in range(20 * HISTORY_S):
        fold.apply(samples(tenth / 10, float(tenth % 100)))
    history = fold.view().history
    assert len(history) == HISTORY_S
    assert history[-1].at_s - history[0].at_s == pytest.approx(HISTORY_S - 1)


def test_the_rate_is_of_the_last_ten_seconds() -> None:
    fold = told(joined(0), run(), layers("load", total=10_000))
    for second in range(100):
        fold.apply(progress(float(second), 10, memory=100 * second, running=1))
        fold.apply(samples(float(second), 1.0))
    assert fold.view().rate_hz == pytest.approx(100.0)
    assert "100 a second" in monitor_text(fold.view(), "running")


def test_an_output_is_replaced_for_news_and_not_for_noise() -> None:
    messages = (joined(0), run(), layers("load"), progress(1.0, 10, running=1), samples(1.0, 51.0), Position(1.0, 1))
    before = facts_of(told(*messages).view())
    assert facts_of(told(*messages, samples(3.0, 49.0, managed=10 * MIB + 9000), Position(9.0, 1)).view()) == before
    for news in (samples(3.0, 90.0), samples(3.0, 50.0, managed=30 * MIB), progress(3.0, 10, memory=1), joined(1)):
        assert facts_of(told(*messages, news).view()) != before


def test_html_needs_no_script_and_holds_any_name() -> None:
    errors = Errors([1], [10], [HOSTILE], [HOSTILE], [""], [0], [""], [3], [1.0], [1.0], [[]])
    fold = told(joined(0, HOSTILE), samples(1.0, 10.0), run(), layers(HOSTILE), progress(1.0, 10, erred=3), errors)
    html = monitor_html(fold.view(), "running")
    assert "<script" not in html and "&lt;script&gt;alert(1)" in html
    assert re.search(r'<svg[^>]*role="img" aria-label="CPU: 10 % of 200 %"', html)
    assert "when shown" in html and "when shown" not in monitor_html(fold.view(), "ended")


def test_nothing_of_an_ended_cluster_runs() -> None:
    view = told(
        joined(0), samples(1.0, 50.0), run(), layers("load"), progress(1.0, 10, memory=4, running=2, waiting=3)
    ).view()
    text, html = monitor_text(view, "ended"), monitor_html(view, "ended")
    assert text == "Cluster 'loom', ended: had 1 worker, 2 threads\ntasks: 4 done, 5 not done"
    assert "had 1 worker" in html and "5 not done" in html and "Last run" in html and "4 of 10" in html
    assert "running" not in html.split("</style>")[1].lower() and "CPU at the end: 50 %" in html and "w0" not in html
    assert "2 running" in monitor_text(view, "not answering") and "w0" in monitor_html(view, "not answering")


def test_what_is_too_much_is_counted() -> None:
    many = [joined(number) for number in range(MAX_WORKERS + 3)]
    names = [f"layer {number}" for number in range(MAX_LAYERS + 2)]
    view = told(*many, run(), layers(*names)).view()
    html = monitor_html(view, "running")
    assert "and 3 more" in html and "and 2 more" in html
    assert monitor_text(view, "running").endswith("and 3 more")


def test_it_follows_a_cluster_to_its_end_and_there_is_one_of_each() -> None:
    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster, set_as_default=False) as client:
        monitor = gl.monitor(client)
        assert gl.monitor(cluster) is monitor
        client.gather(client.map(tasks.inc, range(20)))
        eventually(lambda: "20 done" in repr(monitor))
        assert repr(monitor).startswith(f"Cluster {client.name!r}, running: 2 workers, 2 threads\n")
        assert "Last run" in monitor._repr_html_()
    eventually(lambda: monitor.status == "ended")


def test_a_closed_one_follows_no_more_and_another_can_be_made() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        monitor = gl.monitor(client)
        monitor.close()
        monitor.close()
        assert monitor.status == "closed"
        assert gl.monitor(client) is not monitor


def test_what_is_no_cluster_is_refused() -> None:
    with pytest.raises(TypeError, match="takes a Client or a LocalCluster, not 'int'"):
        gl.monitor(3)
