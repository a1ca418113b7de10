"""Notebook 7: the panel, its commands and code work as in JupyterLab; dashboards, which have no place there, open in browser tabs."""

from __future__ import annotations

import json
import re

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
