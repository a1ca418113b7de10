"""Notebook 7: the panel, its commands and code work as in JupyterLab; dashboards, which have no place there, open in browser tabs."""

from __future__ import annotations

import json
import re
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

pytest.importorskip("notebook")

OPENING_MS = 60_000
SPEC = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}


def test_the_panel_controls_clusters_and_dashboards_open_in_a_browser_tab(page, lab, keep_picture, publish_cluster):
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "Loaded"}
    notebook = {"cells": [cell], "metadata": {"kernelspec": SPEC}, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "seven.ipynb").write_text(json.dumps(notebook))
    cluster = publish_cluster("nightly", "--busy")
    page.goto(lab.address("notebooks/seven.ipynb"))
    card = page.locator(f'#glassloom-panel .gl-Card[data-cluster="{cluster}"]')
    expect(card).to_contain_text("4 workers, 8 threads", timeout=OPENING_MS)
    expect(page.locator(".jp-Notebook .jp-RenderedMarkdown")).to_have_text("Loaded")

    card.locator('[data-action="insert"]').click()
    expect(page.locator(".jp-Notebook .cm-content").filter(has_text='client = Client("nightly")')).to_have_count(1)
    card.locator('[data-action="menu"]').click()
    expect(page.get_by_role("menuitem", name="Shut Down…")).to_be_visible()
    page.keyboard.press("Escape")
    keep_picture("notebook-7")

    with page.expect_popup() as opened:
        page.locator('.gl-Page[data-page="progress"]').first.click()
    expect(opened.value).to_have_url(re.compile(re.escape(f"{lab.url}glassloom/dash/{cluster}/progress")))
    expect(opened.value.get_by_text("live", exact=True)).to_be_visible(timeout=OPENING_MS)
    expect(page.locator(".gl-Pane")).to_have_count(0)


WAITING = """
import os, time
from glassloom import delayed
@delayed
def wait(number):
    while not os.path.exists("go-seven"):
        time.sleep(0.01)
    return number
delayed(sum)([wait(number) for number in range(6)]).compute()
"""


@pytest.fixture
def waiting_notebook(lab):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None, "source": WAITING}
    notebook = {"cells": [cell], "metadata": {"kernelspec": SPEC}, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "waiting.ipynb").write_text(json.dumps(notebook))
    yield "waiting.ipynb"
    (lab.root / "go-seven").touch()
    for kernel in json.loads(asked(lab, "GET", "api/kernels")):
        asked(lab, "DELETE", f"api/kernels/{kernel['id']}")


def asked(lab, method: str, path: str) -> bytes:
    """Return what Jupyter's own API answers."""
    with urlopen(Request(lab.address(path), method=method), timeout=60) as answer:
        return answer.read()


@pytest.mark.long
def test_a_cell_shows_how_far_it_is_below_it_and_then_one_line(
    page, lab, waiting_notebook, wait_for_kernel, keep_picture
):
    page.goto(lab.address(f"notebooks/{waiting_notebook}"))
    expect(page.locator(".jp-CodeCell .cm-content")).to_be_visible(timeout=OPENING_MS)
    wait_for_kernel()
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")
    strip = page.locator(".jp-CodeCell .gl-Strip").first
    expect(strip).to_contain_text("0 of 7 tasks", timeout=OPENING_MS)
    keep_picture("notebook-7-strip")
    (lab.root / "go-seven").touch()
    expect(strip).to_have_attribute("data-outcome", "finished", timeout=OPENING_MS)
    expect(strip.locator(".gl-Strip-details")).to_have_count(0)
