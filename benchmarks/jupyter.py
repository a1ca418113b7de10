"""JupyterLab with the extension: beside dask-labextension, with all panes open, and with viewers that have stopped reading.

    python -m benchmarks.jupyter compare --other /path/to/venv/bin/python   # one with dask-labextension and distributed
    python -m benchmarks.jupyter pings --tasks 1000000 --seconds 60
    python -m benchmarks.jupyter stalled --minutes 15
    python -m benchmarks.jupyter panes --panes 1000

Needs Chromium for ``compare`` and ``panes``. Figures are printed as JSON, one object a contender or case.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from benchmarks.chromium import chromium
from benchmarks.jupyter_panes import opened_and_closed
from benchmarks.jupyter_server import (
    LOGIN,
    TOKEN,
    Jupyter,
    connect_to_kernel,
    jupyter_lab,
    ping_ms,
    quantiles,
    run_code,
    stalled_socket,
    start_kernel,
    tree_cpu_s,
)
from benchmarks.log_source import CLUSTER_ID
from benchmarks.viewers import open_page

LOOP_S = 20.0
"""For how long the cost on the server's loop is measured."""
_TIMEOUT_MS = 90_000
_PAINTED = """() => {
  const seen = document => [...document.querySelectorAll('iframe')].some(frame => {
    try { return deep(frame.contentDocument) } catch { return false }
  });
  const deep = root => root !== null && ([...root.querySelectorAll('*')].some(
    each => (each.tagName === 'CANVAS' && each.width > 10 && each.getClientRects().length > 0)
      || (each.shadowRoot !== null && deep(each.shadowRoot))) || seen(root));
  return seen(document);
}"""


@dataclass(frozen=True)
class Contender:
    """Where things are on the page of an extension."""

    name: str
    labextension: str
    panel: str
    """The selector of what is there when the panel can be used."""
    show: str
    """The script that shows it."""
    card: str
    cluster: tuple[str, str, Any]
    """The request that starts a cluster with two workers."""
    page: str
    """The selector of what opens the stream of tasks."""
    next_page: str
    """The selector of what opens the page that is opened next."""


OURS = Contender(
    "glassloom",
    "glassloom",
    "#glassloom-panel .gl-Page",
    "() => window.jupyterapp?.shell.activateById('glassloom-panel')",
    ".gl-Card[data-cluster]",
    ("POST", "glassloom/api/clusters", {"n_workers": 2, "threads_per_worker": 1, "idle_timeout": "2 min"}),
    '.gl-Page[data-page="task-stream"]',
    '.gl-Page[data-page="memory"]',
)
DASK = Contender(
    "dask-labextension",
    "dask-labextension",
    ".dask-DaskSidebar .dask-DaskClusterManager",
    "() => window.jupyterapp?.shell.activateById('dask-dashboard-launcher')",
    ".dask-ClusterListingItem",
    ("PUT", "dask/clusters", None),
    '.dask-DashboardListing-item:has-text("Task Stream") button',
    '.dask-DashboardListing-item:has-text("Cluster Memory") button',
)


def compare(python: str, contender: Contender) -> dict[str, Any]:
    """Return how long a person waits with an extension, and what it costs the server."""
    figures: dict[str, Any] = {"contender": contender.name, **bundle_kb(python, contender)}
    began_s = time.perf_counter()
    with chromium() as browser, jupyter_lab(python) as jupyter:
        figures["server_start_s"] = round(time.perf_counter() - began_s, 2)
        page = browser.new_page(viewport={"width": 1400, "height": 850})
        page.set_default_timeout(_TIMEOUT_MS)
        page.goto(f"{jupyter.url}lab?reset&token={TOKEN}")
        page.wait_for_function("() => window.jupyterapp !== undefined")
        page.wait_for_function(
            f"() => {{ ({contender.show})(); return document.querySelector('{_css(contender.panel)}') }}"
        )
        page.locator(contender.panel).first.wait_for()
        figures["panel_usable_s"] = round(time.perf_counter() - began_s, 2)
        figures["panel_usable_cpu_s"] = _cpu_s(jupyter)
        figures["idle_cpu_percent"] = _loop_cost(jupyter)
        figures["start_to_card_s"] = _start_to_card(page, jupyter, contender)
        before = _cpu_s(jupyter)
        figures["click_to_paint_s"] = _click_to_paint(page, contender)
        figures["click_to_paint_cpu_s"] = {
            name: round(used_s - before[name], 2) for name, used_s in _cpu_s(jupyter).items()
        }
        figures["next_click_to_paint_s"] = _next_click_to_paint(page, contender)
        figures["pane_open_cpu_percent"] = _loop_cost(jupyter)
        if contender is OURS:
            with ThreadPoolExecutor(1) as thread:  # the browser's driver runs a loop in this one
                figures["client_to_card_s"] = thread.submit(asyncio.run, _client_to_card(jupyter)).result()
    return figures


def _css(selector: str) -> str:
    return selector.partition(":has-text")[0].replace("'", '"')


def bundle_kb(python: str, contender: Contender) -> dict[str, float]:
    """Return the size of an extension's scripts, as they are and compressed."""
    folder = Path(python).parents[1] / "share" / "jupyter" / "labextensions" / contender.labextension / "static"
    scripts = [path.read_bytes() for path in folder.glob("*.js")]
    return {
        "bundle_kb": round(sum(map(len, scripts)) / 1e3, 1),
        "bundle_gzip_kb": round(sum(len(gzip.compress(script)) for script in scripts) / 1e3, 1),
    }


def _loop_cost(jupyter: Jupyter) -> float:
    """Return the CPU that the server's process uses while nothing happens; 100 is one core."""
    before_s = jupyter.cpu_s()
    time.sleep(LOOP_S)
    return round(100 * (jupyter.cpu_s() - before_s) / LOOP_S, 2)


def _cpu_s(jupyter: Jupyter) -> dict[str, float]:
    """Return the CPU time so far of the server with all that it has started, and of the browser: other programs change it less than time on the wall."""
    server_s = jupyter.tree_cpu_s()
    this = psutil.Process()
    own_s = sum(this.cpu_times()[:2])
    below_s = sum(map(tree_cpu_s, this.children()))
    return {"server": round(server_s, 2), "browser": round(below_s - server_s, 2), "script": round(own_s, 2)}


def _start_to_card(page: Any, jupyter: Jupyter, contender: Contender) -> float:
    method, path, body = contender.cluster
    began_s = time.perf_counter()
    jupyter.ask(path, method, body)
    if contender is DASK:  # its panel asks for the list now and then; a person's click on New asks at once
        page.locator(".dask-DaskClusterManager").wait_for()
    page.locator(contender.card).first.wait_for()
    return round(time.perf_counter() - began_s, 2)


def _click_to_paint(page: Any, contender: Contender) -> float:
    page.locator(contender.card).first.click()
    began_s = time.perf_counter()
    page.locator(contender.page).first.click()
    page.wait_for_function(_PAINTED)
    return round(time.perf_counter() - began_s, 2)


def _next_click_to_paint(page: Any, contender: Contender) -> float:
    """Return how long it takes from a click on another page, with the first one closed, until it is painted."""
    page.evaluate("() => window.jupyterapp.commands.execute('application:close-all')")
    page.wait_for_function(f"() => !({_PAINTED})()")
    began_s = time.perf_counter()
    page.locator(contender.next_page).first.click()
    page.wait_for_function(_PAINTED)
    return round(time.perf_counter() - began_s, 2)


async def _client_to_card(jupyter: Jupyter) -> float:
    """Return how long it takes from ``Client()`` in a kernel until the panel is told of its cluster with its workers.

    dask-labextension lists only clusters that it has started itself.
    """
    connection = await connect_to_kernel(jupyter, start_kernel(jupyter))
    await run_code(connection, "from glassloom import Client")
    began_s = time.perf_counter()
    await run_code(connection, "client = Client(n_workers=2, threads_per_worker=1, name='from-a-kernel')")
    while not any(
        cluster["name"] == "from-a-kernel" and cluster["workers"] == 2
        for cluster in jupyter.ask("glassloom/api/clusters")["clusters"]
    ):
        await asyncio.sleep(0.02)
    took_s = time.perf_counter() - began_s
    await run_code(connection, "client.close()")
    connection.close()
    return round(took_s, 2)


@contextmanager
def published_log(jupyter: Jupyter, tasks: int) -> Iterator[None]:
    """Publish a log of so many tasks as a cluster."""
    command = [sys.executable, "-m", "benchmarks.log_source", str(tasks), "5000"]
    with subprocess.Popen(
        command, env=jupyter.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as source:
        assert source.stdout is not None and source.stdin is not None
        assert source.stdout.readline() == "ready\n"
        yield
        source.stdin.close()


async def pings(tasks: int, seconds: float) -> dict[str, Any]:
    """Return how fast a kernel answers without panes, while all panes open, and with all of them open; and what holds up the loop.

    A JupyterLab without the extension, in which nothing happens, is asked at the same times by the same process.
    """
    plain = ("--ServerApp.jpserver_extensions={'glassloom_server': False}",)
    with (
        jupyter_lab(sys.executable, is_probed=True) as jupyter,
        jupyter_lab(sys.executable, options=plain) as other,
        published_log(jupyter, tasks),
    ):
        kernels = [await connect_to_kernel(each, start_kernel(each)) for each in (jupyter, other)]

        async def measure() -> dict[str, dict[str, float]]:
            took_ms = await asyncio.gather(*(ping_ms(kernel, seconds) for kernel in kernels))
            return dict(zip(("with", "without"), map(quantiles, took_ms), strict=True))

        stream = HTTPRequest(f"ws{jupyter.url[4:]}glassloom/api/metrics", headers=LOGIN)
        panel = await websocket_connect(stream, on_message_callback=lambda message: None)
        figures: dict[str, Any] = {"tasks": tasks, "load": os.getloadavg()[0], "without_panes_ms": await measure()}
        names = [page["id"] for page in jupyter.ask("glassloom/api/pages")["pages"]]
        urls = [f"{jupyter.url}glassloom/dash/{CLUSTER_ID}/{name}" for name in names]
        pinging = asyncio.create_task(measure())
        viewers = [await open_page(url, LOGIN) for url in urls]
        figures |= {"panes": len(viewers), "while_opening_ms": await pinging}
        watching = [asyncio.create_task(viewer.watch(seconds + 5)) for viewer in viewers]
        before_s = jupyter.cpu_s()
        figures["with_all_panes_ms"] = await measure()
        figures["server_cpu_percent"] = round(100 * (jupyter.cpu_s() - before_s) / seconds, 1)
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        panel.close()
        for kernel in kernels:
            kernel.close()
        figures["longest_callbacks_cpu_ms"] = jupyter.longest_callbacks_ms()[:5]
    return figures


BUSY = """
import time
from glassloom import Client
client = Client(n_workers=2, threads_per_worker=1, name="busy")
def work(number):
    time.sleep(0.01)
    return number
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    client.gather(client.map(work, range(500), pure=False))
client.close()
"""


async def stalled(minutes: float) -> dict[str, Any]:
    """Return how much the server grows while a cluster computes and viewers of all its streams have stopped reading."""
    with jupyter_lab(sys.executable) as jupyter:
        connection = await connect_to_kernel(jupyter, start_kernel(jupyter))
        running = asyncio.create_task(run_code(connection, BUSY.format(seconds=60 * minutes)))
        while not (clusters := (await asyncio.to_thread(jupyter.ask, "glassloom/api/clusters"))["clusters"]):
            await asyncio.sleep(0.1)
        cluster = clusters[0]["id"]
        page = f"{jupyter.url}glassloom/dash/{cluster}/task-stream"
        kept = await open_page(page, LOGIN)  # acknowledges nothing more
        sockets = [
            stalled_socket(jupyter, path) for path in ("glassloom/api/metrics", f"glassloom/api/metrics/{cluster}")
        ]
        await asyncio.sleep(10)
        first_mb, most_mb = jupyter.rss_mb(), 0.0
        while not running.done():
            await asyncio.sleep(1)
            most_mb = max(most_mb, jupyter.rss_mb())
        await running
        for each in sockets:
            each.close()
        kept.connection.close()
        connection.close()
    return {"minutes": minutes, "first_mb": round(first_mb, 1), "growth_mb": round(most_mb - first_mb, 1)}


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jupyter", description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=["compare", "pings", "stalled", "panes"])
    parser.add_argument("--other", default="", help="the Python of an environment with dask-labextension")
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--panes", type=int, default=1000)
    options = parser.parse_args()
    if options.case == "pings":
        print(json.dumps(asyncio.run(pings(options.tasks, options.seconds)), indent=1))
    elif options.case == "stalled":
        print(json.dumps(asyncio.run(stalled(options.minutes)), indent=1))
    elif options.case == "panes":
        print(json.dumps({"load": os.getloadavg()[0], **opened_and_closed(options.panes)}, indent=1))
    else:
        print(json.dumps(compare(sys.executable, OURS), indent=1), flush=True)
        if options.other:
            print(json.dumps(compare(options.other, DASK), indent=1))
        else:
            print("without dask-labextension: give --other", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
