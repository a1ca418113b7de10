"""Clusters from the panel: started in the kernel's environment, seen among the running sessions, shut down."""

from __future__ import annotations

from playwright.sync_api import expect

START_MS = 60_000
# What stands there only for a moment is noted when it comes: a busy machine may look again after it has gone.
NOTE_WORDS = """words => {
  window.wereSeen = false
  const look = () => { window.wereSeen ||= document.body.innerText.includes(words) }
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true})
}"""


def test_a_cluster_is_started_controlled_and_shut_down_from_the_panel(page, lab, open_lab, choose, keep_picture):
    open_lab()
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("from-panel")
    dialog.get_by_label("Workers", exact=True).fill("1")
    dialog.get_by_label("Threads per worker").fill("2")
    dialog.get_by_label("Memory per worker").fill("lots")
    dialog.get_by_role("button", name="Start").click()
    failed = page.locator(".gl-Card.gl-mod-failed")
    expect(dialog.get_by_role("alert")).to_contain_text("“lots” is not a size", timeout=START_MS)
    expect(dialog.get_by_label("Name")).to_have_value("from-panel")
    expect(failed).to_have_count(0)
    keep_picture("new-cluster-refused-by-the-engine")
    dialog.get_by_label("Memory per worker").fill("500 MB")
    expect(page.get_by_text("Starting…")).to_have_count(0)
    page.evaluate(NOTE_WORDS, "Starting…")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_function("() => window.wereSeen")
    card = page.locator(".gl-Card[data-cluster]")
    expect(card).to_contain_text("1 worker, 2 threads", timeout=START_MS)
    expect(card).to_contain_text("Started from this panel")
    expect(failed).to_have_count(0)
    cluster = card.get_attribute("data-cluster")

    choose(cluster, "Scale…")
    dialog.get_by_label("Workers", exact=True).fill("2")
    keep_picture("scale")
    dialog.get_by_role("button", name="Scale").click()
    expect(card).to_contain_text("2 workers, 4 threads", timeout=START_MS)
    choose(cluster, "Rename…")
    dialog.get_by_label("New name").fill("renamed")
    dialog.get_by_role("button", name="Rename").click()
    expect(card.locator(".gl-Card-name")).to_have_text("renamed")
    choose(cluster, "Show Log")
    expect(dialog.locator(".gl-Log")).not_to_be_empty()
    keep_picture("log")
    dialog.get_by_role("button", name="Close").last.click()
    choose(cluster, "Check the Connection…")
    expect(dialog).to_contain_text("No fault was found.", timeout=START_MS)
    keep_picture("doctor")
    dialog.get_by_role("button", name="Close").last.click()

    page.locator('.jp-SideBar [data-id="jp-running-sessions"]').click()
    expect(page.locator("#jp-running-sessions")).to_contain_text("renamed")
    keep_picture("running-sessions")
    page.locator('.jp-SideBar [data-id="glassloom-panel"]').click()
    choose(cluster, "Shut Down…")
    dialog.get_by_role("button", name="Shut Down").click()
    expect(page.get_by_text("No clusters yet")).to_be_visible()
