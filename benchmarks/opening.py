"""The case ``dashboards-open``: how long a page of a million tasks takes to open, in a real browser, and what it costs.

A log without a head (`log_source.py`) stands behind a real dashboards process. Nobody has looked at it when the first page
is opened, in a browser that has nothing cached; then the page is opened again in new tabs. Times begin with the navigation. Of
the later openings the last counts: a browser keeps a script's compiled form when it has met the script several times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from benchmarks.chromium import chromium_with_profile
from benchmarks.log_source import CLUSTER_ID
from benchmarks.meter import Figures
from benchmarks.steady_load import cpu_s

TASKS = 10**6
TASK_MESSAGES = {"5,000 rows": 5_000, "200 rows": 200}
"""How many rows a message has: of tasks that end in great numbers, and of 2,000 a second."""

_MORE_OPENINGS = 3
_MARKS_JS = """
window.marks = {}
{
  const mark = (name) => { window.marks[name] ??= performance.now() / 1000 }
  const look = () => {
    const doc = window.Bokeh?.documents[0]
    if (doc || document.querySelector('.card .first')) mark('first_contents_s')
    if (doc?.is_idle) {
      mark('first_paint_s')
      if (doc.get_model_by_name('task-stream-total')?.data.events[0] === TASKS) mark('all_tasks_s')
    }
    if (window.marks.all_tasks_s === undefined) requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}
""".replace("TASKS", str(TASKS))
"""Notes when what is there at an animation frame has been seen for the first time."""
_PAINT_JS = """() => ({
  first_contentful_paint_s: performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000
})"""
"""The browser's own account: what the page was sent with is painted then, numbers of the cluster included."""


@contextmanager
def running(module: str, *arguments: str, **environment: str) -> Iterator[tuple[psutil.Process, str]]:
    """Run a module until the block ends; give the process and the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        assert process.stdout is not None
        yield psutil.Process(process.pid), process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=20)


def opening(rows_a_message: int) -> Figures:
    """Open the status page of 10^6 tasks, and again."""
    size = {"width": 1200, "height": 800}
    with tempfile.TemporaryDirectory() as runtime, tempfile.TemporaryDirectory() as profile:
        place = {"JUPYTER_RUNTIME_DIR": runtime}
        with (
            running("benchmarks.log_source", str(TASKS), str(rows_a_message), **place),
            running("glassloom_dashboards", "--port", "0", **place) as (dashboards, url),
            chromium_with_profile(profile, viewport=size) as context,
        ):
            base, _, token = url.partition("/?")
            page = f"{base}/{CLUSTER_ID}/status?{token}"
            context.add_init_script(_MARKS_JS)
            first = _open(context, page, dashboards)
            again = [_open(context, page, dashboards) for _ in range(_MORE_OPENINGS)][-1]
            lag_s = context.request.get(f"{base}/health").json()["loop_lag_s"]
    return first | {f"again_{name}": value for name, value in again.items()} | {"loop_lag_s": lag_s}


def _open(context: Any, page: str, dashboards: psutil.Process) -> Figures:
    tab = context.new_page()
    tab.goto("about:blank")
    begun_cpu_s, begun_s = cpu_s([dashboards]), time.monotonic()
    tab.goto(page, wait_until="commit")
    found: Figures = {}
    for name in ("first_paint", "all_tasks"):
        tab.wait_for_function(f"() => window.marks.{name}_s", polling=20, timeout=120_000)
        found[f"{name}_cpu_s"] = cpu_s([dashboards]) - begun_cpu_s
    found["all_tasks_outside_s"] = time.monotonic() - begun_s
    found |= tab.evaluate(_PAINT_JS) | tab.evaluate("window.marks")
    tab.close()
    return dict(sorted(found.items(), reverse=True))
