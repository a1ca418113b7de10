"""The pages of GPUs in a browser: of a real cluster that measures a recorded session, and by keyboard."""

from __future__ import annotations

import tempfile

import gpu_recordings
import pytest
from browsing import open_tab
from glassloom import LocalCluster, config
from glassloom.sampling.nvml_simulator import scenario
from glassloom_metrics.registry import find_record
from playwright.sync_api import expect
from synthetic import Shape


@pytest.mark.long
def test_a_real_cluster_shows_a_session_live(browser, monkeypatch):
    with tempfile.TemporaryDirectory(prefix="gl-", dir="/tmp") as base:  # short: the paths of sockets must be
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", f"{base}/rt")
        monkeypatch.setenv("TMPDIR", base)
        monkeypatch.setattr(tempfile, "tempdir", None)
        scenario("two", 30.0).write(f"{base}/gpus.jsonl")
        with (
            config.set({"metrics.nvml-session": f"{base}/gpus.jsonl"}),
            LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="1GB", name="gpus"),
            open_tab(browser) as tab,
        ):
            tab.goto(f"{tab.base}/{find_record('gpus').id}/gpu")
            expect(tab.locator("tr.row")).to_have_count(2)
            moments = "Bokeh.documents[0].get_model_by_name('gpu-time-source-hovers').get_length()"
            tab.wait_for_function(f"() => {moments} >= 2")
            known = tab.evaluate(moments)
            tab.wait_for_function(f"() => {moments} > {known + 2}")
            columns = "Bokeh.documents[0].get_model_by_name('gpu-time-source-hovers').data"
            whole = tab.evaluate(f"Object.values({columns}).map(column => Array.from(column))")
            assert len({len(column) for column in whole}) == 1, "rows that came one by one are whole"
            shown = tab.evaluate(f"(({{left, right, text}}) => [[...left], [...right], text])({columns})")
            assert all(left < right and text for left, right, text in zip(*shown, strict=True))


@pytest.mark.long
def test_in_a_browser_metrics_are_chosen_and_devices_opened(publish, tab):
    handle = publish(Shape(tasks=0))
    handle.add(*gpu_recordings.gpu_messages(scenario("two", 20.0), 20, workers=1))
    tab.goto(f"{tab.cluster}/gpu")
    expect(tab.locator("tr.row")).to_have_count(2)
    tab.locator("tr.row button").first.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("text=tritonserver")
    tab.get_by_label("Metric").select_option(label="Memory")
    tab.wait_for_function("() => Bokeh.documents[0].get_model_by_name('gpu-time-source-driver').data.left.length > 0")
    tab.locator("#card-gpu-time .as-table").click()
    expect(tab.locator("#card-gpu-time tbody tr")).to_have_count(2)
