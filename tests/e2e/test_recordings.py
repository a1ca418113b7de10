"""Recordings in JupyterLab: a double click on the file shows it again."""

from __future__ import annotations

from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, encode
from glassloom_metrics.recording_writer import RecordingWriter
from playwright.sync_api import expect

OPENING_MS = 60_000


def test_a_recording_opens_as_a_replay_keeps_its_name_and_closes_with_its_tab(page, lab, open_lab, keep_picture):
    path = lab.root / "run.glr"
    writer = RecordingWriter(path, since=1)
    writer.add(encode(Hello(PROTOCOL_VERSION, "c1", "nightly", "processes", 1.0, "log1")))
    writer.close()
    recorded = path.read_bytes()
    open_lab()
    page.locator('.jp-SideBar [data-id="filebrowser"]').click()
    page.get_by_role("listitem", name="run.glr").dblclick()
    pane = page.locator(".gl-Pane")
    expect(pane).to_have_attribute("data-state", "live", timeout=OPENING_MS)
    page.locator('.jp-SideBar [data-id="glassloom-panel"]').click()
    card = page.locator(".gl-Card[data-recording]")
    expect(card).to_contain_text("nightly (run.glr)")
    # JupyterLab renames files whose documents change their titles.
    expect(page.locator(".lm-DockPanel-tabBar .lm-TabBar-tabLabel", has_text="run.glr")).to_be_visible()
    assert path.read_bytes() == recorded
    keep_picture("replay")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.close()")
    expect(card).to_have_count(0)
    path.unlink()
