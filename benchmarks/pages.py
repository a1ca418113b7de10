"""Cases of single parts of the dashboards: live frames of GPU pages, reports, very many layers, very many open pages."""

from __future__ import annotations

import gc
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, build_opener

import psutil

from benchmarks import large_log
from benchmarks.meter import Contender, Figures, Meter
from benchmarks.steady_load import noop, our_cluster, rss_mib

GPU_SECONDS, GPU_FRAMES = 300, 60
N_LAYERS = 100_000
TABS, TABS_OPEN_S = 40, 8.0
_LAYERS_A_MESSAGE = 10
_REPORT = """
import sys
from pathlib import Path
from glassloom_dashboards.report import report_html
Path(sys.argv[2]).write_text(report_html(sys.argv[1]))
"""


# A live frame of the page of GPUs: sixteen devices, a reading of each a second


def gpu_frame(kind: str) -> Figures:
    """Draw the page after each of the last readings, as for one viewer; the CPU of a frame, and what is sent with it."""
    from bokeh.document import Document
    from bokeh.document.events import DocumentPatchedEvent
    from bokeh.protocol import Protocol
    from glassloom_dashboards.folds.aggregate import ClusterAggregate
    from glassloom_dashboards.parts.colours import ColourBook
    from glassloom_dashboards.serving.bokeh_defaults import remember_defaults
    from glassloom_dashboards.serving.page import PageView

    remember_defaults()  # as the process does
    messages = list(_gpu_messages())
    aggregate, document, changes = ClusterAggregate(), Document(), []
    view = PageView("gpu", aggregate, ColourBook(), "light")
    first_drawn = len(messages) - GPU_FRAMES
    for message in itertools.chain(*messages[:first_drawn]):
        aggregate.apply(message)
    view.attach(document)
    card: Any = next(card for card in view.cards if card.id == "gpu-time")
    card.kind.value = kind
    document.to_json()
    document.on_change(lambda change: changes.append(change) if isinstance(change, DocumentPatchedEvent) else None)
    view.update(0.0)
    frames_ms, sizes_kb = [], []
    for number, told in enumerate(messages[first_drawn:], 1):
        for message in told:
            aggregate.apply(message)
        changes.clear()
        start_s = time.thread_time()
        view.update(float(number))
        patch = Protocol().create("PATCH-DOC", changes)
        sent = len(patch.content_json) + sum(len(part.to_bytes()) for part in patch.buffers)
        frames_ms.append(1e3 * (time.thread_time() - start_s))
        sizes_kb.append(sent / 1e3)
    return {
        "frame_cpu_ms": statistics.median(frames_ms),
        "slowest_cpu_ms": max(frames_ms),
        "kb": statistics.median(sizes_kb),
    }


def _gpu_messages() -> Iterator[list[Any]]:
    """Yield what a head tells of a simulated host in each second."""
    from glassloom.sampling.nvml import NvmlSampler
    from glassloom.sampling.nvml_session import ReplayedNvml
    from glassloom.sampling.nvml_simulator import scenario

    at_s = 0.0
    sampler = NvmlSampler(ReplayedNvml(scenario("sixteen", GPU_SECONDS), clock=lambda: at_s))
    sampler.begin()
    for second in range(GPU_SECONDS):
        at_s, now_s = float(second), large_log.STARTED_AT_S + second
        if not second:
            sampler.refresh(now_s)
        readings = {number: sampler.read(number, now_s) for number in sampler.ids()}
        samples, processes = sampler.messages(now_s, readings, workers={}, pools=None)
        yield [*([] if second else [sampler.table(now_s)]), processes, samples]


# Reports


def report(n_tasks: int) -> Figures:
    """Write the report of a recording, in a process of its own from its start to its end."""
    with tempfile.TemporaryDirectory() as directory:
        recording, page = Path(directory) / "tasks.glr", Path(directory) / "report.html"
        large_log.write_recording(recording, n_tasks)
        meter = Meter()
        subprocess.run([sys.executable, "-c", _REPORT, recording, page], check=True)
        figures = {"cpu_s": meter.cpu_s(), "wall_s": meter.wall_s()}
        return figures | {"page_mb": page.stat().st_size / 1e6}


# As many layers as `compute()` was called


def many_layers() -> Figures:
    """Fold 10^5 layers of one task; what the process grows by."""
    from glassloom_dashboards.folds.aggregate import ClusterAggregate
    from glassloom_metrics.protocol import decode, encode

    aggregate, this = ClusterAggregate(), psutil.Process()
    for message in _layer_messages(0, 10 * _LAYERS_A_MESSAGE):  # what is made once
        aggregate.apply(decode(encode(message)))
    gc.collect()
    before_mib, start_s = rss_mib(this), time.process_time()
    for message in _layer_messages(10 * _LAYERS_A_MESSAGE, N_LAYERS):
        aggregate.apply(decode(encode(message)))
    gc.collect()
    return {"grown_mib": rss_mib(this) - before_mib, "cpu_s": time.process_time() - start_s}


def _layer_messages(first: int, stop: int) -> Iterator[Any]:
    from glassloom_metrics.protocol import Layers, Progress, task_events

    n, none, each = _LAYERS_A_MESSAGE, [0] * _LAYERS_A_MESSAGE, [1] * _LAYERS_A_MESSAGE
    for start in range(first, stop, n):
        ids, at_s = list(range(start, start + n)), large_log.STARTED_AT_S + 0.02 * start
        yield Layers(ids, ["inc"] * n, each, ["cell 3, line 1: x.compute()"] * n)
        times = {"start_s": [at_s + 0.02 * number for number in range(n)], "duration_s": [1e-3] * n}
        yield task_events(
            start, [""] * n, layer=ids, worker=none, lane=none, action=none, nbytes=none, ok=each, **times
        )
        yield Progress(at_s + 0.2, ids, none, none, none, none, each, none, none)


def many_computes() -> Figures:
    """Call `compute()` 10^5 times while a page is open; what the head and the dashboards' process grow by."""
    from glassloom import delayed

    with our_cluster() as cluster:
        opener = build_opener(HTTPCookieProcessor())
        opener.open(re.sub("/[^/]*/status", "/", cluster.page)).read()
        opener.open(cluster.page).read()
        processes = [cluster.engine[0], cluster.dashboards]
        for number in range(100):
            delayed(noop)(-number).compute()
        before_mib = [*map(rss_mib, processes)]
        meter = Meter()
        for number in range(N_LAYERS):
            delayed(noop)(number).compute()
        wall_s = meter.wall_s()
        grown = [rss_mib(process) - mib for process, mib in zip(processes, before_mib, strict=True)]
    return {"head_grown_mib": grown[0], "dashboards_grown_mib": grown[1], "wall_s": wall_s}


# Many open pages


def many_tabs() -> Figures:
    """Open the status page of 10^5 tasks many times; the longest pauses of the garbage collector."""
    with tempfile.TemporaryDirectory() as directory:
        recording = Path(directory) / "tasks.glr"
        large_log.write_recording(recording, 100_000)
        command = [sys.executable, "-m", "benchmarks.pauses", "--recording", str(recording), "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            page = process.stdout.readline().strip()
            opened_s = time.monotonic()
            viewers = [sys.executable, "-m", "benchmarks.viewers", page, str(TABS), str(TABS_OPEN_S)]
            subprocess.run(viewers, stdout=subprocess.DEVNULL, check=True, timeout=300, env=dict(os.environ))
            closed_s = time.monotonic()
        finally:
            process.terminate()
            printed, _ = process.communicate(timeout=60)
    rows = json.loads(printed.splitlines()[-1])
    pauses = [(generation, took_s) for at_s, generation, took_s in rows if opened_s <= at_s < closed_s]
    full_s = [took_s for generation, took_s in pauses if generation == 2]
    return {"longest_pause_ms": 1e3 * max(took_s for _, took_s in pauses), "full_collections": float(len(full_s))}


CASES: dict[str, dict[str, Contender]] = {
    "gpu-frame": {f"glassloom {kind}": partial(gpu_frame, kind) for kind in ("utilization", "memory")},
    "report-100k": {"glassloom": partial(report, 10**5)},
    "report-million": {"glassloom": partial(report, 10**6)},
    "layers-100k": {"glassloom": many_layers},
    "computes-100k": {"glassloom": many_computes},
    "many-tabs": {"glassloom": many_tabs},
}
