"""Reports in a browser: they ask for nothing, run no text of users, and have all their cards."""

from __future__ import annotations

import numpy as np
import pytest
import synthetic
from glassloom_dashboards.report import GPU_CARDS, REPORT_CARDS, errors_table, read_aggregate, write_report
from glassloom_metrics.protocol import Errors, Layers, Life, Log, Progress
from page_waits import wait_for_value
from playwright.sync_api import expect
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape
from test_report import HOSTILE, runs_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.glr"


def test_a_report_opens_in_a_browser_asks_for_nothing_and_runs_no_text_of_users(browser, path, tmp_path):
    recorder = synthetic.make_recorder(Shape(tasks=400, failures=True, names=(*HOSTILE_NAMES, HOSTILE)), "c1", HOSTILE)
    recorder.record(
        runs_of((1, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, STARTED_AT_S, None, "running", 1, 0, 0))
    )
    recorder.record(Errors([1], [0], [HOSTILE], [HOSTILE], [HOSTILE], [0], [HOSTILE], [1], [1.0], [1.0], [[HOSTILE]]))
    recorder.record(Layers([99], [HOSTILE], [1], [HOSTILE]))
    recorder.record(Progress(STARTED_AT_S, [99], [1], [0], [0], [0], [0], [0]))
    recorder.record(Life(STARTED_AT_S + 100, "closing"))
    synthetic.write_recording(path, recorder)
    report = tmp_path / "r.html"
    write_report(path, report, title=HOSTILE)
    assert errors_table(read_aggregate(path).aggregate).rows[0][0] == f"{HOSTILE}: {HOSTILE}"
    with browser.new_page(viewport={"width": 1200, "height": 800}) as tab:
        wrongs: list[str] = []
        tab.on("pageerror", lambda error: wrongs.append(str(error)))
        tab.on("dialog", lambda dialog: (wrongs.append(dialog.message), dialog.dismiss()))
        tab.on("console", lambda line: wrongs.append(line.text) if line.type in ("error", "warning") else None)
        asked: list[str] = []
        tab.on("request", lambda sent: asked.append(sent.url))
        tab.goto(f"file://{report}")
        tab.wait_for_function("() => window.Bokeh?.documents[0]?.is_idle")
        rows = tab.evaluate("Bokeh.documents[0].get_model_by_name('task-stream-source').get_length()")
        start, end = tab.evaluate(
            "(() => { const r = Bokeh.documents[0].get_model_by_name('task-stream').x_range; return [r.start, r.end] })()"
        )
        assert wrongs == [] and asked == [f"file://{report}"]
        expect(tab.locator("h1")).to_contain_text("</script>")
    tasks = read_aggregate(path).aggregate.tasks
    assert rows + np.count_nonzero(tasks["ok"] == 0) >= 400
    assert start < tasks.start_s - STARTED_AT_S and tasks.stop_s - STARTED_AT_S < end


SHOWN = """() => [...document.querySelectorAll('.card')].map(card => {
  const name = card.id.replace('card-', ''), empty = Bokeh.documents[0].get_model_by_name(`${name}-empty`)
  return [name, card.querySelector('.body').getBoundingClientRect().height > 40 && !empty.visible]
})"""


@pytest.mark.long
def test_every_card_of_a_report_is_there_with_data_and_numbers_without_a_network(browser, path, tmp_path):
    recorder = synthetic.make_recorder(Shape(tasks=400, failures=True), "c1", "demo")
    recorder.record(runs_of((1, "compute", "x.sum()", "", "", "", "", STARTED_AT_S, None, "running", 1, 0, 0)))
    recorder.record(Log(STARTED_AT_S + 1, 0, "info", "hello"))
    recorder.record(Life(STARTED_AT_S + 100, "closing"))
    synthetic.write_recording(path, recorder)
    report = tmp_path / "r.html"
    write_report(path, report)
    with browser.new_context(offline=True) as context:
        tab, asked = context.new_page(), []
        tab.on("request", lambda sent: asked.append(sent.url))
        tab.goto(f"file://{report}")
        tab.wait_for_function("() => window.Bokeh?.documents[0]?.is_idle")
        expected = [[name, True] for name in REPORT_CARDS if name not in GPU_CARDS]
        wait_for_value(tab, SHOWN, expected)
        sources = """() => Object.fromEntries([...Bokeh.documents[0].all_models]
          .filter(model => /-source$/.test(model.name ?? '')).map(model => [model.name, model.get_length() ?? 0]))"""
        rows = tab.evaluate(sources)
        tables = tab.locator("details.numbers tbody tr").count()
        links = tab.locator(".view a, .view .way:visible").count()
    assert asked == [f"file://{report}"]
    drawn = ("utilisation", "task-stream", "stages", "time-budget", "memory", "workers-memory", "workers-cpu")
    assert [name for name in drawn if not rows[f"{name}-source"]] == []
    assert tables > 7 and links == 0
