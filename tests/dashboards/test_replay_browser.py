"""A recording in a real browser."""

from __future__ import annotations

import re

import synthetic
from browsing import STATE, open_tab
from glassloom_metrics.protocol import Life
from real_process import dashboards
from synthetic import Shape


def test_the_process_alone_shows_a_recording_in_a_browser(runtime, tmp_path, browser):
    recording = tmp_path / "run.glr"
    recorder = synthetic.make_recorder(Shape(tasks=300), "c1", "demo")
    recorder.record(Life(synthetic.STARTED_AT_S + 100, "closing"))
    synthetic.write_recording(recording, recorder)
    with dashboards("--port", "0", "--recording", str(recording)) as process:
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/recording-[0-9a-f]{12}/status\?token=[\w-]{32}", url)
        with open_tab(browser) as tab:
            tab.base = url.rpartition("/recording-")[0]
            tab.goto(url)
            tab.wait_for_function(f"() => {{ const s = ({STATE})(); return s?.tasks > 250 && s.rows > 250 }}")
            words = "Bokeh.documents[0].get_model_by_name('strip').text"
            tab.wait_for_function(f"() => {words}.includes('>recording<')")
            tab.goto(f"{tab.base}/")
            assert "demo (run.glr)" in tab.inner_text("body")
