"""Times and names in hover cards and on axes, which the browser writes: with no more digits than tell anything."""

from __future__ import annotations

from pathlib import Path

import bokeh
import glassloom_dashboards
import pytest
from bokeh.document import Document
from bokeh.plotting import figure
from glassloom_dashboards.parts.theme import set_seconds_axis

SCRIPT = Path(glassloom_dashboards.__file__).parent / "static" / "glassloom.js"


@pytest.fixture(scope="module")
def script(browser):
    """Return a page that has the functions, and BokehJS; no test leaves anything there."""
    page = browser.new_page()
    page.add_script_tag(path=SCRIPT)
    page.add_script_tag(path=Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js")
    yield page
    page.close()


@pytest.mark.parametrize(
    ("start_s", "length_s", "words"),
    [
        (12.34, 20.0, "12 s"),
        (12.34, 0.097, "12.340 s"),
        (12.34, 12e-6, "12.340000 s"),
        (12.34, 5.0, "12.3 s"),
        (0.0, 1.0, "0.0 s"),
        (119.99, 0.5, "119.99 s"),
        (3725.25, 0.4, "1 h 02 min 05.25 s"),
        (125.0, 30.0, "2 min 05 s"),
        (125.0, 900.0, "2 min"),
    ],
)
def test_a_start_is_written_as_exactly_as_its_task_is_long(script, start_s, length_s, words):
    source = {"data": {"right": [start_s + length_s]}}
    said = script.evaluate("([start, source]) => glassloom.started(start, {source}, {index: 0})", [start_s, source])
    assert said == words


@pytest.mark.parametrize(
    ("ticks", "words"),
    [
        ([0, 10, 20], ["0", "10 s", "20 s"]),
        ([2, 2.5, 3], ["2.0 s", "2.5 s", "3.0 s"]),
        ([25.4341, 25.4342], ["25.4341 s", "25.4342 s"]),
        ([0, 0.0005, 0.001], ["0", "0.5 ms", "1.0 ms"]),
        ([0, 30, 60, 90, 120], ["0", "30 s", "1 min 00 s", "1 min 30 s", "2 min 00 s"]),
        ([0, 300, 3600], ["0", "5 min", "1 h 00 min"]),
        ([3600, 3600.5], ["1 h 00 min 00.0 s", "1 h 00 min 00.5 s"]),
    ],
)
def test_labels_of_a_time_axis_have_as_many_digits_as_tell_them_apart(script, ticks, words):
    assert script.evaluate("all => all.map(one => glassloom.secondsTick(one, all))", ticks) == words


@pytest.mark.parametrize(
    ("apart_px", "shown"),
    [(60, [0, 1, 2, 3, 4, 5, 6]), (40, [0, 2, 4, 6]), (16, [0, 4]), (1, [0])],
)
def test_labels_without_room_are_left_out_evenly(script, apart_px, shown):
    distance = f"(one, other) => (other - one) * {apart_px} - 45"
    assert script.evaluate(f"glassloom.evenLabels([0, 1, 2, 3, 4, 5, 6], {distance})") == shown


def test_a_time_axis_has_ticks_at_times_that_people_count_in(script):
    plot = figure()
    set_seconds_axis(plot)
    document = Document()
    document.add_root(plot)
    steps = script.evaluate(
        """document => {
          const {ticker} = Bokeh.loader['document/document'].Document.from_json(document).roots()[0].below[0]
          const steps = new Set()
          for (let span = 10; span < 86400; span *= 1.05) {
            const {major} = ticker.get_ticks_no_defaults(0, span, NaN, ticker.desired_num_ticks)
            steps.add(major[1] - major[0])
          }
          return [...steps]
        }""",
        document.to_json(deferred=False),
    )
    hours = [hour * 3600 for hour in (1, 2, 4)]
    assert steps == [2, 5, 10, 20, *(minutes * 60 for minutes in (0.5, 1, 2, 5, 10, 15, 30)), *hours]


def test_a_task_is_called_by_its_key_in_hover_cards(script):
    names = {"data": {"first": ["sum", "load"], "is_text": [False, True]}}
    models = {"names": names, "source": {"data": {"kind": [0, 1, 1]}}}
    said = script.evaluate(
        "models => ['3, 4', '2024', ''].map((index, row) => glassloom.task(index, models, {index: row}))", models
    )
    assert said == ["sum[3, 4]", "load-2024", "load"]
