"""What a JupyterLab keeps of panes that were opened and closed. Used by `benchmarks.jupyter`.

The server's stream and the pages are made up: what is measured is the browser's side, and Jupyter's.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from benchmarks.chromium import chromium
from benchmarks.jupyter_server import TOKEN, Jupyter, jupyter_lab

WARM_UP = 50
"""After how many panes counting begins: JupyterLab makes some hundred nodes late, but once."""
_BATCH = 50
_TIMEOUT_MS = 300_000
_PAGE = "<!doctype html><script>setInterval(() => parent.postMessage({type: 'glassloom:alive'}, '*'), 500); parent.postMessage({type: 'glassloom:alive'}, '*')</script>"
_OPEN_AND_CLOSE = """async count => {
  const { commands, shell } = window.jupyterapp
  for (let index = 0; index < count; index += 1) {
    await commands.execute('glassloom:open-dashboard', {cluster: 'c0', page: 'status'})
    const pane = [...shell.widgets('main')].find(widget => widget.id.endsWith('-status'))
    window.paneClass = Object.getPrototypeOf(pane)
    // What is closed sooner is held by JupyterLab, which is about to remember where it was.
    while (pane.node.dataset.state !== 'live') await new Promise(resolve => setTimeout(resolve))
    pane.close()
  }
}"""
_SETTLE = "() => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve, 100)))"
_CLUSTER = {
    "id": "c0", "name": "loom", "kind": "processes", "started_at": 100, "workers": 4, "threads": 8, "memory_bytes": 2**30,
    "memory_limit_bytes": 2**33, "cpu_percent": 320.0, "cpu_history": [100.0, 320.0], "runs": [], "can": [],
}  # fmt: skip


def opened_and_closed(panes: int) -> dict[str, Any]:
    """Open and close so many panes beside one that stays; return what there was before and after."""
    with jupyter_lab(sys.executable) as jupyter, chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 850})
        page.set_default_timeout(_TIMEOUT_MS)
        _make_up(page)
        page.goto(f"{jupyter.url}lab?reset&token={TOKEN}")
        page.locator(".gl-Card").first.wait_for()
        page.evaluate(
            "() => window.jupyterapp.commands.execute('glassloom:open-dashboard', {cluster: 'c0', page: 'memory'})"
        )
        devtools = page.context.new_cdp_session(page)
        _open(page, WARM_UP)
        before = _counts(page, devtools, jupyter)
        _open(page, panes)
        return {"panes": panes, "before": before, "after": _counts(page, devtools, jupyter)}


def _make_up(page: Any) -> None:
    state = {"version": 2, "type": "snapshot", "sequence": 1, "state": {"clusters": [_CLUSTER]}}
    page.route_web_socket(re.compile("glassloom/api/metrics"), lambda socket: socket.send(json.dumps(state)))
    page.route(re.compile(r"/glassloom/dash/"), lambda route: route.fulfill(body=_PAGE, content_type="text/html"))


def _open(page: Any, panes: int) -> None:
    for begun in range(0, panes, _BATCH):
        page.evaluate(_OPEN_AND_CLOSE, min(_BATCH, panes - begun))


def _counts(page: Any, devtools: Any, jupyter: Jupyter) -> dict[str, float]:
    for _ in range(4):  # what only another dead object holds is found the next time
        page.evaluate(_SETTLE)
        devtools.send("HeapProfiler.collectGarbage")
    counters = devtools.send("Memory.getDOMCounters")
    prototype = devtools.send("Runtime.evaluate", {"expression": "window.paneClass"})["result"]["objectId"]
    found = devtools.send("Runtime.queryObjects", {"prototypeObjectId": prototype})["objects"]["objectId"]
    length = {"objectId": found, "functionDeclaration": "function() { return this.length }", "returnByValue": True}
    return {
        "documents": counters["documents"],
        "nodes": counters["nodes"],
        "listeners": counters["jsEventListeners"],
        "heap_mb": round(devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6, 2),
        "panes_alive": devtools.send("Runtime.callFunctionOn", length)["result"]["value"],
        "sockets": len(jupyter.process.net_connections()),
        "descriptors": jupyter.process.num_fds(),
        "jupyter_mb": round(jupyter.rss_mb(), 1),
    }
