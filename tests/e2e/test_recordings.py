"""Recordings in JupyterLab: a double click on the file shows it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, encode
from glassloom_metrics.recording_writer import RecordingWriter
from playwright.sync_api import expect

OPENING_MS = 60_000


def record(path: Path) -> None:
    writer = RecordingWriter(path, since=1)
    writer.add(encode(Hello(PROTOCOL_VERSION, "c1", "nightly", "processes", 1.0, "log1")))
    writer.close()


def test_a_recording_opens_as_a_replay_keeps_its_name_and_closes_with_its_tab(page, lab, open_lab, keep_picture):
    path = lab.root / "run.glr"
    record(path)
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


@pytest.mark.long
def test_a_recording_and_a_running_cluster_are_exported_and_what_was_made_is_downloaded(
    page, lab, open_lab, publish_cluster, keep_picture
):
    record(lab.root / "exported.glr")
    publish_cluster("nightly")
    open_lab()
    page.locator('.gl-File[data-path="exported.glr"]').click(button="right")
    page.get_by_role("menuitem", name="Export as Chrome Trace (Perfetto)").click()
    row = page.locator("[data-export]")
    expect(row).to_have_attribute("data-state", "done", timeout=OPENING_MS)
    expect(row.get_by_role("status")).to_have_text("exported.trace.json")
    with page.expect_download() as downloaded:
        row.get_by_role("button", name="Download").click()
    assert "traceEvents" in json.loads(downloaded.value.path().read_bytes())
    row.get_by_role("button", name="Dismiss").click()
    expect(row).to_have_count(0)

    page.locator('.gl-Card [data-action="menu"]').click()
    page.get_by_role("menuitem", name="Record and Export…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("combobox")).to_have_value("Recording")
    keep_picture("export")
    dialog.get_by_role("button", name="Export").click()
    expect(row).to_have_attribute("data-state", "done", timeout=OPENING_MS)
    keep_picture("exported")
    made = row.get_by_role("status").text_content()
    expect(page.locator(f'.gl-File[data-path="{made}"]')).to_contain_text("nightly")
    for path in (lab.root / "exported.glr", lab.root / "exported.trace.json", lab.root / str(made)):
        path.unlink()
