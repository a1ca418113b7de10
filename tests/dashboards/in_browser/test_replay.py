"""A recording in a real browser."""

from __future__ import annotations

import re

import synthetic
from browsing import open_site, open_tab_of, state_when
from glassloom_metrics.protocol import Life
from playwright.sync_api import expect
from synthetic import Shape


def test_the_process_alone_shows_a_recording_in_a_browser(runtime, tmp_path, browser):
    recording = tmp_path / "run.glr"
    recorder = synthetic.make_recorder(Shape(tasks=300), "c1", "demo")
    recorder.record(Life(synthetic.STARTED_AT_S + 100, "closing"))
    synthetic.write_recording(recording, recorder)
    with open_site(browser, "--recording", str(recording)) as site, open_tab_of(site) as tab:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/recording-[0-9a-f]{12}/status\?token=[\w-]{32}", site.url)
        tab.goto(site.url)
        state_when(tab, "s.tasks > 250 && s.rows > 250")
        words = "Bokeh.documents[0].get_model_by_name('strip').text"
        tab.wait_for_function(f"() => {words}.includes('>recording<')")
        tab.goto(f"{tab.base}/")
        expect(tab.locator("body")).to_contain_text("demo (run.glr)")
