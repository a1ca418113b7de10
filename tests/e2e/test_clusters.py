"""Clusters from the panel: started in the kernel's environment, seen among the running sessions, shut down."""

from __future__ import annotations

from playwright.sync_api import expect

START_MS = 60_000


def test_a_cluster_is_started_and_shut_down_from_the_panel(page, lab, open_lab, keep_picture):
    open_lab()
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("from-panel")
    dialog.locator('[name="n_workers"]').fill("1")
    dialog.locator('[name="threads_per_worker"]').fill("2")
    dialog.get_by_label("Memory limit per worker").fill("lots")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_role("alert")).to_contain_text("lots", timeout=START_MS)
    keep_picture("new-cluster-refused-by-the-engine")
    dialog.get_by_label("Memory limit per worker").fill("500 MB")
    dialog.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Starting…")).to_be_visible()
    card = page.locator(".gl-Card[data-cluster]")
    expect(card).to_contain_text("1 worker, 2 threads", timeout=START_MS)
    expect(card).to_contain_text("Started from this panel")
    page.locator('.jp-SideBar [data-id="jp-running-sessions"]').click()
    expect(page.locator("#jp-running-sessions")).to_contain_text("from-panel")
    keep_picture("running-sessions")
    page.locator('.jp-SideBar [data-id="glassloom-panel"]').click()
    card.locator('[data-action="shut-down"]').click()
    page.get_by_role("dialog").get_by_role("button", name="Shut Down").click()
    expect(page.get_by_text("No clusters yet")).to_be_visible()
