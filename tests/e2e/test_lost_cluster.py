"""A cluster whose head is killed: a person hears of it, reads what it said last, and starts another one like it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from glassloom_metrics.registry import ClusterRecord
from jupyter_labs import Lab
from page_waits import wait_until_true
from playwright.sync_api import Page, expect

STARTING_MS = 60_000
STANDS_STILL = "async selector => document.querySelector(selector).getAnimations().length === 0"


@pytest.fixture
def records(lab: Lab) -> Callable[[], list[ClusterRecord]]:
    """Return the records of the clusters that run."""
    folder = Path(lab.environment["JUPYTER_RUNTIME_DIR"]) / "glassloom"
    return lambda: [
        msgspec.json.decode(path.read_bytes(), type=ClusterRecord) for path in folder.glob("cluster-*.json")
    ]


def start_cluster(page: Page, name: str) -> str:
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Workers", exact=True).fill("1")
    dialog.get_by_role("button", name="Start").click()
    card = page.locator(".gl-Card[data-cluster]")
    expect(card).to_contain_text("1 worker", timeout=STARTING_MS)
    expect(dialog).to_have_count(0)
    return str(card.get_attribute("data-cluster"))


@pytest.mark.long
def test_a_cluster_whose_head_is_killed_is_told_with_its_log_and_is_started_again(
    page: Page, open_lab: Any, set_theme: Any, keep_picture: Any, choose: Any, records: Any
):
    open_lab()
    lost = start_cluster(page, "night-run")
    (record,) = records()
    with open(Path(record.directory) / "cluster.log", "a") as log:
        log.write("what it said last\n")
    os.kill(record.pid, signal.SIGKILL)

    toast = page.locator(".Toastify__toast", has_text="The cluster night-run was lost")
    expect(toast).to_have_count(1)
    expect(page.locator(f'.gl-Card[data-cluster="{lost}"]')).to_have_count(0)
    again, show_log = (toast.get_by_role("button", name=name) for name in ("Start again…", "Show the log"))
    for theme in ("light", "dark"):
        set_theme(theme)
        expect(page.locator("#jupyterlab-splash")).to_have_count(0)
        expect(again).to_be_in_viewport(ratio=1)
        wait_until_true(page, STANDS_STILL, ".Toastify__toast")
        keep_picture(f"lost-cluster-{theme}")

    show_log.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("what it said last")
    expect(dialog.get_by_role("button", name="Copy")).to_be_visible()
    expect(dialog.get_by_role("button", name="Refresh")).to_have_count(0)  # nothing is added to it
    keep_picture("lost-cluster-log")
    dialog.get_by_role("button", name="Close").last.click()
    expect(dialog).to_have_count(0)

    again.click()
    expect(dialog.get_by_label("Name")).to_have_value("night-run")
    expect(dialog.get_by_label("Workers", exact=True)).to_have_value("1")
    keep_picture("lost-cluster-again")
    dialog.get_by_role("button", name="Start").click()
    card = page.locator(".gl-Card[data-cluster]", has_text="night-run")
    expect(card).to_contain_text("1 worker", timeout=STARTING_MS)
    again = str(card.get_attribute("data-cluster"))
    assert again != lost
    choose(again, "Shut Down…")
    dialog.get_by_role("button", name="Shut Down").click()
    expect(page.get_by_text("No clusters yet")).to_be_visible()
    expect(toast).to_have_count(0)  # this end was asked for
