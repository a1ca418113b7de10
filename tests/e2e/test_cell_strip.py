"""The strip below a cell of a real notebook: how far it is, cancelled from there, there again after a reload, never in the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from page_waits import wait_until_true
from playwright.sync_api import Page, expect

OPENING_MS = 60_000
SETUP = """
import os, time
from glassloom import Client
client = Client(n_workers=2, threads_per_worker=2, memory_limit="1GB", name="looms")
def load(number):
    if number < 24:
        print("loaded", number)
        time.sleep(0.05)
    while number >= 24 and not os.path.exists("go"):
        time.sleep(0.01)
    return number
def fail(number):
    raise ValueError(f"no row {number} in <orders>")
"""
WORK = """
broken = client.map(fail, range(3))
loaded = client.map(load, range(60))
total = client.submit(sum, loaded)
total.result()
"""
WAITING = "client.gather(client.map(load, range(100, 130)))"
SAVED = "() => window.jupyterapp.commands.execute('docmanager:save')"
RUN_OTHER_CODE = """() => {
  const { content } = window.jupyterapp.shell.currentWidget
  content.activeCellIndex = 1
  content.activeCell.model.sharedModel.setSource('6 * 7')
  void window.jupyterapp.commands.execute('notebook:run-cell')
}"""
RUN_NEXT = "() => { void window.jupyterapp.commands.execute('notebook:run-cell-and-select-next') }"

NO_CLUSTERS = "async url => (await (await fetch(url)).json()).clusters.length === 0"


@pytest.fixture
def notebook(lab: Any, page: Page) -> Iterator[str]:
    cells = [
        {"cell_type": "code", "id": name, "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for name, source in (("setup", SETUP), ("work", WORK), ("waiting", WAITING))
    ]
    spec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    content = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "strip.ipynb").write_text(json.dumps(content))
    (lab.root / "go").unlink(missing_ok=True)
    yield "strip.ipynb"
    (lab.root / "go").touch()  # tasks that still wait end by themselves
    page.evaluate("() => window.jupyterapp.serviceManager.kernels.shutdownAll()")
    wait_until_true(page, NO_CLUSTERS, f"{lab.url}glassloom/api/clusters")


def test_a_cell_shows_how_far_it_is_and_how_it_ended(page, lab, notebook, wait_for_kernel, set_theme, keep_picture):
    page.goto(lab.address(f"lab/tree/{notebook}?reset"))
    expect(page.locator(".jp-Notebook")).to_be_visible(timeout=OPENING_MS)
    wait_for_kernel()
    cells = page.locator(".jp-CodeCell")
    page.evaluate(RUN_NEXT)
    expect(cells.nth(0).locator(".jp-InputPrompt")).to_have_text("[1]:", timeout=OPENING_MS)
    set_theme("light")
    page.evaluate(RUN_NEXT)

    strip = cells.nth(1).locator(".gl-Strip")
    row = strip.locator('[data-layer="load"]')
    expect(row).to_contain_text("24 of 60")
    expect(strip).to_contain_text("2 of 2 workers busy")
    expect(strip).to_contain_text("ValueError: no row")
    strip.get_by_text("24 lines printed").click()
    expect(strip.locator("pre")).to_contain_text("loaded 23")
    expect(page.locator(".gl-Strip")).to_have_count(1)
    keep_picture("strip-running-light")
    set_theme("dark")
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)
    keep_picture("strip-running-dark")

    page.reload()  # a page that comes while the cell runs
    expect(row).to_contain_text("24 of 60", timeout=OPENING_MS)

    (lab.root / "go").touch()
    expect(strip).to_have_attribute("data-outcome", "failed")
    expect(strip.locator(".gl-Strip-details")).to_have_count(0)
    expect(strip).to_contain_text("64 tasks")
    expect(strip).to_contain_text("3 tasks failed")

    (lab.root / "go").unlink()
    wait_for_kernel()
    cells.nth(2).locator(".jp-InputArea-editor").click()
    page.evaluate(RUN_NEXT)
    other = cells.nth(2).locator(".gl-Strip")
    expect(other).to_contain_text("0 of 30 tasks")
    other.get_by_role("button", name="Cancel").click()
    expect(other).to_have_attribute("data-outcome", "cancelled")
    expect(cells.nth(2).locator(".jp-OutputArea")).to_contain_text("KeyboardInterrupt")
    keep_picture("strip-ended-dark")
    set_theme("light")
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)
    keep_picture("strip-ended-light")

    page.evaluate(SAVED)
    saved = (lab.root / notebook).read_text()
    assert "KeyboardInterrupt" in saved
    assert not any(word in saved for word in ("gl-Strip", "tasks failed", "workers busy"))
    page.reload()  # and one that comes when all is over
    expect(strip).to_contain_text("3 tasks failed", timeout=OPENING_MS)

    page.evaluate(RUN_OTHER_CODE)  # what stood below the cell was of an output that is gone
    expect(cells.nth(1).locator(".jp-OutputArea-output")).to_have_text("42")
    expect(strip).to_be_hidden()
