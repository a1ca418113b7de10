"""The pages in a real browser: who moves the view, what the pane hears, and that names of users stay text."""

from __future__ import annotations

import pytest
from browsing import point_in, state_when, stopped, tip_with, wait_for_next_frame, zoom_in
from glassloom_dashboards.parts.time_view import LATEST_RUN
from glassloom_metrics.protocol import Layers, Refused, WorkerSamples, encode
from opened_pages import events
from page_waits import wait_for_value
from playwright.sync_api import expect
from synthetic import HOSTILE_NAMES, MIB, STARTED_AT_S, Shape


def test_the_user_may_zoom_and_is_left_alone_until_asking_to_follow_again(publish, tab):
    cluster = publish(Shape(tasks=0))
    cluster.add(Layers([0], ["sum"], [200], [""]), events(0, [(n / 10, n / 10 + 0.09) for n in range(100)]))
    tab.goto(f"{tab.cluster}/status")
    state = state_when(tab, "s.rows == 100 && s.end > 9.9")
    assert (state["tasks"], state["follow"]) == (100, 1)

    zoom_in(tab, "task-stream", "#card-task-stream .body", 6)
    drawn = "[...Array(100).keys()].filter(n => n / 10 <= s.end && n / 10 + 0.09 >= s.start).length"
    zoomed = state_when(tab, f"s.follow == null && s.end - s.start < 5 && s.rows == {drawn}")
    cluster.add(events(100, [(50.0, 51.0)]))
    state = state_when(tab, "s.tasks == 101")
    assert (state["start"], state["end"], state["rows"]) == (zoomed["start"], zoomed["end"], zoomed["rows"])

    tab.get_by_text("Latest run", exact=True).click()
    state = state_when(tab, "s.rows == 1")
    assert 49 < state["start"] < 50
    tab.get_by_text("All", exact=True).click()
    state = state_when(tab, "s.rows == 101 && s.end > 50")
    assert state["start"] < 0.1


def test_a_zoom_in_one_card_moves_the_others_and_live_data_do_not_move_them_back(publish, tab):
    cluster = publish(Shape(tasks=50))
    tab.goto(f"{tab.cluster}/status")
    state_when(tab, "s.rows > 40")
    ranges = """() => ['task-stream', 'workers-cpu-history'].map(name => {
      const {start, end} = Bokeh.documents[0].get_model_by_name(name).x_range
      return [start, end]
    })"""
    before = tab.evaluate(ranges)
    assert before[0] == before[1]
    zoom_in(tab, "workers-cpu-history", "#card-workers-cpu .body", 4, down=0.8)
    state_when(tab, f"s.follow == null && s.end - s.start < {0.8 * (before[0][1] - before[0][0])}")
    zoomed = tab.evaluate(ranges)
    assert zoomed[0] == zoomed[1]
    tasks = state_when(tab, "true")["tasks"]
    cluster.add(events(50, [(59.0, 60.0)]))
    state_when(tab, f"s.tasks > {tasks}")
    assert tab.evaluate(ranges) == zoomed
    tab.get_by_text("All", exact=True).click()
    state_when(tab, "s.end > 59")
    after = tab.evaluate(ranges)
    assert after[0] == after[1]


@pytest.mark.long
def test_in_the_browser_both_plots_zoom_together_and_new_samples_do_not_move_them(publish, tab):
    cluster = publish(Shape(tasks=50))
    tab.goto(f"{tab.cluster}/memory")
    ranges = """() => {
      const doc = window.Bokeh?.documents[0], model = (name) => doc?.get_model_by_name(name)
      if (!doc?.is_idle || model('memory-source').get_length() == 0) return null
      const [above, below] = [model('memory').x_range, model('memory-disk').x_range]
      return {start: above.start, end: above.end, same: above === below, follow: model('memory-follow').active}
    }"""
    before = tab.wait_for_function(ranges).json_value()
    assert before["same"] and before["follow"] == LATEST_RUN
    zoom_in(tab, "memory", "#card-memory .body", 5, down=0.33)
    zoomed = tab.wait_for_function(f"() => {{ const r = ({ranges})(); return r && r.follow === null ? r : null }}")
    zoomed = zoomed.json_value()
    cluster.add(
        WorkerSamples(STARTED_AT_S + 60, [0], [1.0], [MIB], [MIB], [0], [7 * MIB], [0], [0]),
        events(50, [(59.0, 60.0)]),
    )
    wait_for_next_frame(tab)  # it may have been under way
    wait_for_next_frame(tab)
    after = tab.wait_for_function(ranges).json_value()
    assert (after["start"], after["end"]) == (zoomed["start"], zoomed["end"])
    tab.get_by_text("All", exact=True).click()
    tab.wait_for_function(f"() => {{ const r = ({ranges})(); return r && r.end > 59 }}")


@pytest.mark.fault("names, keys, errors and printed lines hold HTML, scripts or broken text")
def test_what_users_name_things_is_shown_as_text(publish, tab):
    name = HOSTILE_NAMES[0]
    cluster = publish(Shape(workers=1, threads=1, tasks=0), name=name)
    cluster.add(Layers([0], [name], [1], [name]), events(0, [(0.0, 10.0)]))
    tab.goto(f"{tab.cluster}/status")
    state_when(tab, "s.rows == 1")
    tab.mouse.move(*point_in(tab, "#card-task-stream .body", down=0.12))
    assert tip_with(tab, "onerror", "10 s").startswith(f"{name}[0]")
    left, top = point_in(tab, "#card-progress .body", 0, 0)
    tab.mouse.move(left + 60, top + 20)
    tip_with(tab, "from")
    tab.get_by_text(name).first.wait_for()


def test_the_parent_hears_that_the_page_lives_and_may_change_its_theme(publish, tab):
    publish(Shape())
    tab.goto(f"{tab.base}/health")  # any page of the same origin will do as the parent
    tab.evaluate(
        """(source) => {
          window.heard = []
          window.addEventListener('message', (event) => window.heard.push([event.origin, event.data.type]))
          document.body.innerHTML = '<iframe width="900" height="600"></iframe>'
          document.querySelector('iframe').src = source
        }""",
        f"{tab.cluster}/task-stream?theme=light",
    )
    tab.wait_for_function("() => window.heard.length >= 2")  # the second comes two seconds after the first
    assert tab.evaluate("window.heard[0]") == [tab.base, "glassloom:alive"]
    tab.evaluate(
        "document.querySelector('iframe').contentWindow.postMessage({type: 'glassloom:theme', theme: 'dark'}, '*')"
    )
    frame = tab.frames[1]
    frame.wait_for_function(
        """() => document.documentElement.dataset.theme == 'dark' &&
          Bokeh.documents[0].get_model_by_name('task-stream').below[0].axis_line_color == '#6b737b'"""
    )
    tab.evaluate(
        "document.querySelector('iframe').contentWindow.postMessage({type: 'glassloom:theme', theme: 'high-contrast'}, '*')"
    )
    frame.wait_for_function("() => getComputedStyle(document.body).backgroundColor == 'rgb(0, 0, 0)'")


@pytest.mark.long
def test_a_page_alone_has_the_theme_that_the_browser_prefers_unless_its_address_says_one(publish, tab):
    publish(Shape(tasks=5))
    theme = "() => document.documentElement.dataset.theme"
    tab.emulate_media(contrast="more")
    tab.goto(f"{tab.cluster}/task-stream")
    tab.wait_for_function(f"() => ({theme})() === 'high-contrast'")
    tab.emulate_media(contrast="no-preference", color_scheme="dark")
    tab.goto(f"{tab.cluster}/task-stream")
    tab.wait_for_function(f"() => ({theme})() === 'dark'")
    tab.goto(f"{tab.cluster}/task-stream?theme=light")
    state_when(tab, "s.rows == 5")
    assert tab.evaluate(theme) == "light"


def test_a_page_says_that_the_connection_was_lost_and_stops_saying_it_is_alive(publish, tab_alone):
    publish(Shape(tasks=5))
    tab_alone.goto(f"{tab_alone.cluster}/task-stream")
    state_when(tab_alone, "s.rows == 5")
    expect(tab_alone.locator("#lost")).to_be_hidden()
    tab_alone.process.kill()
    expect(tab_alone.locator("#lost:visible")).to_have_text("Connection lost. Trying to reconnect …")
    expect(tab_alone.locator(".badge:visible")).to_have_text(["out of date"])
    tab_alone.wrongs.clear()


def test_every_frame_is_answered_and_a_process_that_stands_still_is_said_not_to_respond(publish, tab):
    publish(Shape(tasks=5))
    tab.goto(f"{tab.cluster}/status")
    tab.wait_for_function("() => Bokeh.documents[0]?.get_model_by_name('glassloom-shown')?.tags[0] >= 2")
    wait_for_value(tab, "Bokeh.documents[0].get_model_by_name('glassloom-shown').tags[1]", True)
    with stopped(tab.process.pid):
        expect(tab.locator("#lost:visible")).to_contain_text("are not responding")
        expect(tab.locator(".badge:visible")).to_have_text(["out of date"])
    expect(tab.locator("#lost")).to_be_hidden()
    expect(tab.locator(".badge:visible")).to_have_text(["live"])


def test_a_pane_that_is_hidden_is_not_drawn_for_and_still_lives(publish, tab):
    cluster = publish(Shape(tasks=0))
    tab.goto(f"{tab.base}/health")
    tab.evaluate(
        """(source) => {
          window.alive = 0
          window.addEventListener('message', () => { window.alive += 1 })
          document.body.innerHTML = '<iframe width="900" height="600"></iframe>'
          document.querySelector('iframe').src = source
        }""",
        f"{tab.cluster}/task-stream",
    )
    tab.wait_for_function("() => window.alive > 0")
    frame = tab.frames[1]
    show = "value => { document.querySelector('iframe').style.display = value; window.alive = 0 }"
    tab.evaluate(show, "none")
    frame.wait_for_function("() => !Bokeh.documents[0].get_model_by_name('glassloom-shown').tags[1]")
    wait_for_next_frame(frame)  # the process knows by then that nobody sees the page
    cluster.add(Layers([0], ["sum"], [1], [""]), events(0, [(0.0, 1.0)]))
    wait_for_next_frame(frame)
    tab.wait_for_function("() => window.alive >= 2")
    rows = "Bokeh.documents[0].get_model_by_name('task-stream-source').get_length()"
    assert frame.evaluate(rows) == 0, "nothing was drawn for nobody"
    tab.evaluate(show, "block")
    frame.wait_for_function(f"() => {rows} == 1")


@pytest.mark.fault("a cluster speaks an older or newer version of the protocol only")
def test_a_cluster_of_another_version_is_told_and_not_called_ended(publish, tab):
    cluster = publish(Shape(tasks=0))
    refused = encode(Refused("the caller speaks version 2 of the protocol, this cluster 1"))
    cluster.answer_with([refused])
    tab.goto(f"{tab.cluster}/status")
    words = "speaks version 1 of the metrics protocol; this Glassloom reads 2: upgrade Glassloom in the cluster's environment."
    tab.get_by_text(words).first.wait_for()
    tab.wait_for_selector(":root[data-opened]")
    expect(tab.get_by_text("cannot be read", exact=True)).to_have_count(1)
    expect(tab.get_by_text("No tasks yet")).to_have_count(0)


WIDTHS = "() => [document.documentElement.scrollWidth, innerWidth]"


@pytest.mark.parametrize("width", [1400, 700])
def test_the_list_of_clusters_is_as_wide_as_the_window_also_with_long_names(publish, tab, width):
    publish(Shape(tasks=5), name="n" * 200)
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(f"{tab.base}/")
    tab.get_by_role("link", name="GPUs over time").wait_for()
    wait_for_value(tab, WIDTHS, [width, width])


@pytest.mark.long
def test_a_page_alone_leads_to_its_siblings_and_to_the_list_and_keeps_the_theme(publish, tab):
    publish(Shape(tasks=5))
    tab.goto(f"{tab.cluster}/stages?theme=dark")
    pages = tab.get_by_role("navigation", name="Pages of this cluster")
    pages.get_by_text("Pages").click()
    expect(pages.get_by_role("link", name="Progress and stages")).to_have_attribute("aria-current", "page")
    pages.get_by_role("link", name="Runs", exact=True).click()
    tab.wait_for_url(f"{tab.cluster}/runs?theme=dark")
    tab.get_by_role("link", name="Clusters").click()
    tab.wait_for_url(f"{tab.base}/?theme=dark")
    tab.get_by_role("link", name="demo").click()
    tab.wait_for_url(f"{tab.cluster}/overview?theme=dark")


def test_a_pane_has_no_links_to_other_pages_and_no_page_runs_off_the_window_for_them(publish, tab):
    publish(Shape(tasks=5))
    tab.set_viewport_size({"width": 700, "height": 900})
    tab.goto(f"{tab.cluster}/stages")
    tab.get_by_text("Pages", exact=True).click()
    wait_for_value(tab, WIDTHS, [700, 700])
    tab.goto(f"{tab.base}/health")  # any page of the same origin will do as the parent
    tab.evaluate(
        """source => { document.body.innerHTML = '<iframe width="900" height="600"></iframe>'
          document.querySelector('iframe').src = source }""",
        f"{tab.cluster}/stages",
    )
    pane = tab.frame_locator("iframe")
    pane.get_by_role("button", name="Table").wait_for()
    expect(pane.get_by_text("Pages", exact=True)).to_be_hidden()
