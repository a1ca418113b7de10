"""Jupyter is restarted under an open browser: the cluster lives on, and the panel and the panes come back by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
from free_ports import free_port
from jupyter_labs import Lab, running_lab
from playwright.sync_api import expect

OPENING_MS = 90_000


NOTICE_LOSS = """pane => {
  window.wasLost = false
  const note = () => { window.wasLost ||= pane.dataset.state === 'lost' }
  new MutationObserver(note).observe(pane, {attributeFilter: ['data-state']})
}"""


@pytest.fixture
def start_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Lab]]:
    """Start a JupyterLab at always the same address and home; the one before is ended."""
    directory, port = tmp_path_factory.mktemp("restarted"), free_port()
    with contextlib.ExitStack() as running:

        def start_lab() -> Lab:
            running.close()
            return running.enter_context(running_lab(directory, "/", port=port))

        yield start_lab


@pytest.fixture
def lab(start_lab: Callable[[], Lab]) -> Lab:
    return start_lab()


@pytest.mark.long
@pytest.mark.fault("the Jupyter server is restarted")
def test_panel_and_panes_come_back_by_themselves(
    page, lab, start_lab, publish_cluster, open_lab, open_pane, keep_picture
):
    cluster = publish_cluster("nightly", "--tasks=300")
    open_lab()
    pane = open_pane(cluster, "status")
    pane.evaluate(NOTICE_LOSS)
    before = lab.dashboards_pid()
    again = start_lab()
    assert again.url == lab.url
    page.wait_for_function("() => window.wasLost")
    expect(page.locator("#glassloom-panel")).not_to_contain_text("No connection", timeout=OPENING_MS)
    expect(page.locator(f'.gl-Card[data-cluster="{cluster}"]')).to_contain_text("300 tasks done", timeout=OPENING_MS)
    expect(pane).to_have_attribute("data-state", "live", timeout=OPENING_MS)
    keep_picture("jupyter-restarted")
    assert again.dashboards_pid() not in {None, before}
