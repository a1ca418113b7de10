"""What a person sees where the extension of the Jupyter server is disabled: what is missing and what to do, and all that works without it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from jupyter_labs import Lab, running_lab
from playwright.sync_api import Page, expect

OPENING_MS = 60_000
NOT_ENABLED = "extension of the Jupyter server is not enabled"
CELLS = [
    """import glassloom as gl, os, time
client = gl.Client(n_workers=2, threads_per_worker=1)
def wait(_):
    while not os.path.exists("go"):
        time.sleep(0.02)""",
    "gl.monitor()",
    "client.gather(client.map(wait, range(8)))",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    disabled = "--ServerApp.jpserver_extensions={'glassloom_server': False}"
    with running_lab(tmp_path_factory.mktemp("disabled"), "/", disabled) as lab:
        yield lab


@pytest.mark.long
def test_panel_and_panes_say_so_and_how_to_enable_it(page, open_lab, keep_picture):
    open_lab()
    panel = page.locator("#glassloom-panel")
    expect(panel).to_contain_text(NOT_ENABLED)
    expect(panel).to_contain_text("jupyter server extension enable glassloom_server")
    page.evaluate("() => window.jupyterapp.commands.execute('glassloom:open-dashboard', {cluster: 'c1'})")
    expect(page.locator(".gl-Pane-cover")).to_contain_text(NOT_ENABLED)
    expect(page.locator(".gl-Pane iframe")).not_to_have_attribute("src", re.compile("."))
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.locator(".Toastify")).to_contain_text(NOT_ENABLED)
    keep_picture("extension-disabled")


@pytest.fixture
def notebook(lab: Lab, page: Page) -> Iterator[str]:
    cells = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for i, source in enumerate(CELLS)
    ]
    spec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    content = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "alone.ipynb").write_text(json.dumps(content))
    yield "alone.ipynb"
    (lab.root / "go").touch()
    page.evaluate("() => window.jupyterapp.serviceManager.kernels.shutdownAll()")


@pytest.mark.long
def test_progress_below_cells_and_the_monitor_work_without_it(page, lab, notebook, wait_for_kernel, keep_picture):
    page.goto(lab.address(f"lab/tree/{notebook}?reset"))
    expect(page.locator(".jp-Notebook")).to_be_visible(timeout=OPENING_MS)
    wait_for_kernel()
    page.evaluate("() => { void window.jupyterapp.commands.execute('notebook:run-all-cells') }")
    cells = page.locator(".jp-CodeCell")
    strip, monitor = cells.nth(2).locator(".gl-Strip"), cells.nth(1).locator(".jp-OutputArea-output .glm2")
    expect(strip).to_contain_text("0 of 8 tasks", timeout=OPENING_MS)
    expect(monitor).to_contain_text("2 running, 6 waiting")
    keep_picture("without-the-extension")
    (lab.root / "go").touch()
    expect(strip).to_have_attribute("data-outcome", "finished")
    expect(monitor).to_contain_text("0 running, 0 waiting, 8 done")
