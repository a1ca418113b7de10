"""Cases of the dashboards: what five viewers cost the cluster, a million tasks and ten, and a page beside dask.distributed's.

How long the load and the idle case run is set by ``--minutes``. A browser is taken from `GLASSLOOM_CHROMIUM`, or found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from psutil import Process

from benchmarks import large_log, opening
from benchmarks.chromium import chromium
from benchmarks.meter import Contender, Figures
from benchmarks.steady_load import (
    WatchedCluster,
    cpu_s,
    fill,
    our_cluster,
    plain_cluster,
    rss_mib,
    steady_load,
    their_cluster,
)

VIEWERS = 5
TASKS_S = 2_000
TASKS_S_BESIDE = 300
"""What dask.distributed's scheduler does with room to spare for its pages."""
MINUTES_VARIABLE = "GLASSLOOM_BENCHMARK_MINUTES"
FILLED_MAPS, FILLED_TASKS = 11_000, 220
"""More layers and more tasks than are kept in rows."""
PHASE_S = 30.0
_SETTLE_S = 3.0
_ZOOMS = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)
_VIEWS_A_ZOOM = 6
_LIVE_FRAMES = 30
_LIVE_ROWS = 200


def minutes() -> float:
    """Return how long the long cases run."""
    return float(os.environ.get(MINUTES_VARIABLE, "10"))


def load_of_viewers() -> Figures:
    """Five viewers at 2,000 tasks a second: what they cost the head and the workers, and what grows.

    Two clusters do the same at the same time, one of them watched, so that what a machine's speed does to one it does to the other.
    What has a bound is filled first: what grows then would grow for ever.
    """
    with our_cluster() as watched, plain_cluster() as (client, plain), ExitStack() as loads:
        submitted, _ = (loads.enter_context(steady_load(one, TASKS_S)) for one in (watched.client, client))
        time.sleep(2 * _SETTLE_S)
        before = _side_by_side(watched.engine, plain, lambda: time.sleep(2 * PHASE_S))
        _watch(watched, VIEWERS, _SETTLE_S)  # the dashboards begin to follow with their first viewer
        for one in (watched.client, client):
            fill(one, FILLED_MAPS, FILLED_TASKS)
        _watch(watched, VIEWERS, _SETTLE_S)
        mib = [rss_mib(watched.engine[0]), rss_mib(watched.dashboards)]
        begun_s, begun_cpu_s, begun = time.monotonic(), cpu_s([watched.dashboards]), submitted[0]
        sent: list[Figures] = []
        costs = _side_by_side(watched.engine, plain, lambda: sent.append(_watch(watched, VIEWERS, 60 * minutes())))
        wall_s, tasks = time.monotonic() - begun_s, submitted[0] - begun
        drawn_s = cpu_s([watched.dashboards]) - begun_cpu_s
        grown = [rss_mib(one) - was for one, was in zip((watched.engine[0], watched.dashboards), mib, strict=True)]
    return {
        "engine_cpu_percent_with": costs[0],
        "engine_cpu_percent_without": costs[1],
        "engine_slowed_percent": 100 * (costs[0] / costs[1] - 1),
        "differed_before_percent": 100 * (before[0] / before[1] - 1),
        "dashboards_cpu_percent": 100 * drawn_s / wall_s,
        "tasks_s": tasks / wall_s,
        "minutes": wall_s / 60,
        "head_mib": mib[0],
        "head_growth_mib": grown[0],
        "dashboards_mib": mib[1],
        "dashboards_growth_mib": grown[1],
    } | sent[0]


def _side_by_side(one: list[Process], other: list[Process], wait: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU that each takes until `wait` returns, in per cent of a core."""
    begun_s, before = time.monotonic(), [cpu_s(one), cpu_s(other)]
    wait()
    wall_s = time.monotonic() - begun_s
    taken = [cpu_s(processes) - was for processes, was in zip((one, other), before, strict=True)]
    return 100 * taken[0] / wall_s, 100 * taken[1] / wall_s


def _watch(cluster: WatchedCluster, viewers: int, seconds: float) -> Figures:
    command = [sys.executable, "-m", "benchmarks.viewers", cluster.page, str(viewers), str(seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=seconds + 120)
    figures: Figures = json.loads(done.stdout)
    return figures


def beside(run: Callable[[], AbstractContextManager[WatchedCluster]]) -> Figures:
    """At a rate that both stand: the scheduler's CPU for a viewer, the first paint, and what a page opened late shows."""
    with run() as cluster:
        with steady_load(cluster.client, TASKS_S_BESIDE) as submitted:
            time.sleep(2 * _SETTLE_S)
            scheduler = cluster.engine[:1]
            start_s = cpu_s(scheduler)
            time.sleep(PHASE_S)
            without = cpu_s(scheduler) - start_s
            start_s, begun_s = cpu_s(scheduler), time.monotonic()
            sent = _watch(cluster, VIEWERS, PHASE_S)
            wall_s = time.monotonic() - begun_s
            extra = (cpu_s(scheduler) - start_s) / wall_s - without / PHASE_S
            paint_s = first_paint_s(cluster.page)
        time.sleep(_SETTLE_S)
        shown = _shown_late(cluster.page)
        return {
            "scheduler_cpu_percent_without": 100 * without / PHASE_S,
            "scheduler_cpu_points_a_viewer": 100 * extra / VIEWERS,
            "first_paint_s": paint_s,
            "tasks_not_shown_late": float(max(submitted[0] - shown, 0)),
            "tasks": float(submitted[0]),
            "kb_s_a_viewer": sent["kb_s_a_viewer"],
            "first_document_kb": sent["first_document_kb"],
        }


_SHOWN_JS = """() => {
  const doc = window.Bokeh?.documents[0]
  if (!doc?.is_idle) return null
  const total = doc.get_model_by_name('task-stream-total')
  if (total) return total.data.events[0]
  const sources = [...doc._all_models.values()].filter((m) => m.type == 'ColumnDataSource' && 'worker_thread' in m.data)
  return Math.max(0, ...sources.map((m) => m.get_length() ?? 0))
}"""
_PAINTED_JS = "() => window.Bokeh?.documents[0]?.is_idle ? performance.now() / 1000 : null"


@contextmanager
def _tab() -> Iterator[Any]:
    with chromium() as browser:
        yield browser.new_page(viewport={"width": 1200, "height": 800})


def first_paint_s(url: str) -> float:
    """Return how long after its address was given a page is drawn, in a browser that has seen it once."""
    with _tab() as tab:
        tab.goto(url)
        tab.wait_for_function(_PAINTED_JS, timeout=60_000)
        tab.reload()
        return float(tab.wait_for_function(_PAINTED_JS, polling=20, timeout=60_000).json_value())


def _shown_late(url: str) -> int:
    """Return how many tasks a page shows that was opened only now."""
    with _tab() as tab:
        tab.goto(url)
        tab.wait_for_function(_PAINTED_JS, timeout=60_000)
        time.sleep(_SETTLE_S)
        return int(tab.wait_for_function(_SHOWN_JS).json_value())


def million() -> Figures:
    """A recording of 10^6 tasks: until all are shown, the first paint, and a live frame."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "million.glr"
        large_log.write_recording(path, 10**6)
        command = [sys.executable, "-m", "glassloom_dashboards", "--recording", str(path), "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            dashboards = psutil.Process(process.pid)
            begun_cpu_s = cpu_s([dashboards])
            opened_s = _all_shown_s(url)
            opened_cpu_s = cpu_s([dashboards]) - begun_cpu_s
            paint_s, mib = first_paint_s(url), rss_mib(dashboards)
        finally:
            process.terminate()
            process.wait(20)
    opened = {"opened_s": opened_s, "opened_cpu_s": opened_cpu_s, "first_paint_s": paint_s, "dashboards_rss_mib": mib}
    return opened | _frames(10**6)


def _all_shown_s(url: str) -> float:
    with _tab() as tab:
        begun_s = time.monotonic()  # the browser's own start isn't ours
        tab.goto(url)
        tab.wait_for_function(f"() => ({_SHOWN_JS})() == {10**6}", polling=20, timeout=120_000)
        return time.monotonic() - begun_s


def ten_million() -> Figures:
    """10^7 tasks in the aggregate: memory, and frames at every zoom."""
    return _frames(10**7)


def _frames(tasks: int) -> Figures:
    """Fold so many tasks; return how long it took, memory, and the time of live frames and of zooms in milliseconds of CPU."""
    from bokeh.document import Document
    from glassloom_dashboards.folds.aggregate import ClusterAggregate
    from glassloom_dashboards.parts.colours import ColourBook
    from glassloom_dashboards.serving.bokeh_defaults import remember_defaults
    from glassloom_dashboards.serving.garbage import Garbage
    from glassloom_dashboards.serving.page import PageView
    from glassloom_metrics.protocol import Hello, Message, decode, encode

    remember_defaults()  # as the process does
    this = psutil.Process()
    aggregate, before_mib = ClusterAggregate(), rss_mib(this)
    aggregate.apply(Hello(2, "bench", "bench", "processes", large_log.STARTED_AT_S))
    folded_s = 0.0
    messages: Iterator[Message] = (
        m for part in (large_log.beginning(tasks), large_log.task_messages(tasks)) for m in part
    )
    for message in messages:
        payload = encode(message)
        start_s = time.process_time()
        aggregate.apply(decode(payload))
        folded_s += time.process_time() - start_s
    view, document = PageView("task-stream", aggregate, ColourBook(), "light"), Document()
    view.attach(document)
    Garbage().page_made()  # as the process does with each page
    live_ms, now_s = [], 1.0
    for number in range(_LIVE_FRAMES):
        first = tasks + number * _LIVE_ROWS
        for message in large_log.task_messages(first + _LIVE_ROWS, first):
            aggregate.apply(message)
        now_s += 1
        live_ms.append(_drawn_ms(view, now_s))
    stream: Any = view.cards[0]
    stream.follow.active = None
    zoom_ms: list[float] = []
    rng, whole_s = np.random.default_rng(0), aggregate.tasks.stop_s - aggregate.started_at_s
    for share in _ZOOMS:
        for _ in range(_VIEWS_A_ZOOM):
            left_s = rng.random() * whole_s * (1 - share)
            stream.plot.x_range.update(start=left_s, end=left_s + share * whole_s)
            view.update(now_s := now_s + 1)
            zoom_ms.append(_drawn_ms(view, now_s := now_s + 1))
    return {
        "fold_cpu_s": folded_s,
        "aggregate_mib": rss_mib(this) - before_mib,
        "live_frame_cpu_ms": float(np.median(live_ms)),
        "slowest_live_frame_cpu_ms": max(live_ms),
        "zoom_frame_cpu_ms": float(np.median(zoom_ms)),
        "slowest_zoom_frame_cpu_ms": max(zoom_ms),
    }


def _drawn_ms(view: Any, now_s: float) -> float:
    start_s = time.process_time()
    view.update(now_s)
    return 1e3 * (time.process_time() - start_s)


def idle() -> Figures:
    """A page of a cluster that does nothing: still true, and next to free."""
    with our_cluster() as cluster:
        cluster.client.gather(cluster.client.map(abs, range(100)))
        with _tab() as tab:
            tab.goto(cluster.page)
            tab.wait_for_function(_PAINTED_JS, timeout=60_000)
            time.sleep(_SETTLE_S)
            processes = [cluster.engine[0], cluster.dashboards]
            mib, start_s, begun_s = [*map(rss_mib, processes)], [cpu_s([one]) for one in processes], time.monotonic()
            not_live = 0
            while time.monotonic() - begun_s < 60 * minutes():
                time.sleep(1.0)
                not_live += tab.evaluate(_BADGE_JS) != "live"
            wall_s = time.monotonic() - begun_s
        cpu = [100 * (cpu_s([one]) - before_s) / wall_s for one, before_s in zip(processes, start_s, strict=True)]
        grown = [rss_mib(one) - before for one, before in zip(processes, mib, strict=True)]
    return {
        "minutes": wall_s / 60,
        "seconds_not_live": float(not_live),
        "head_cpu_percent": cpu[0],
        "dashboards_cpu_percent": cpu[1],
        "head_growth_mib": grown[0],
        "dashboards_growth_mib": grown[1],
    }


_BADGE_JS = """() => {
  const models = [...window.Bokeh.documents[0]._all_models.values()]
  return models.map((m) => /class="badge (\\w+)"/.exec(m.text ?? '')?.[1]).find((state) => state)
}"""

CASES: dict[str, dict[str, Contender]] = {
    "dashboards-load": {"glassloom five viewers": load_of_viewers},
    "dashboards-beside": {
        "glassloom": lambda: beside(our_cluster),
        "distributed": lambda: beside(their_cluster),
    },
    "dashboards-million": {"glassloom": million},
    "dashboards-open": {
        f"glassloom messages of {words}": partial(opening.opening, rows)
        for words, rows in opening.TASK_MESSAGES.items()
    },
    "dashboards-ten-million": {"glassloom": ten_million},
    "dashboards-idle": {"glassloom": idle},
}
"""Contenders by case. All cases but the first two are ours alone: nobody else keeps that much."""
