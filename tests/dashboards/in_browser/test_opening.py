"""Opening a page in a browser: what it shows before BokehJS has come, and what it draws how often."""

from __future__ import annotations

from typing import Any

import pytest
from glassloom_dashboards.parts.card import TITLES
from glassloom_dashboards.parts.layouts import LAYOUTS
from page_waits import wait_until_said
from playwright.sync_api import expect
from synthetic import Shape


def test_the_browser_shows_the_page_first_and_says_if_its_document_does_not_come(publish, tab):
    publish(Shape(tasks=5))
    tab.route_web_socket("**/ws", lambda socket: socket.close())
    tab.goto(f"{tab.cluster}/status", wait_until="load")
    expect(tab.locator("h2")).to_have_text([TITLES[card] for card in LAYOUTS["status"].cards])
    expect(tab.locator("#lost:visible")).to_contain_text("could not be opened")
    tab.wrongs.clear()  # Bokeh has told of the connection, too


def test_what_a_page_was_sent_with_is_seen_before_bokehjs_has_come_and_is_replaced_by_it(publish, tab):
    publish(Shape(tasks=5))
    held: list[Any] = []
    tab.goto(f"{tab.cluster}/status")  # a page waits for a cluster's first word for a moment only
    tab.wait_for_function("() => Bokeh.documents[0].get_model_by_name('strip').text.includes('badge live')")
    tab.route("**/bokeh.min.js*", lambda route: held.append(route))
    tab.goto(f"{tab.cluster}/overview", wait_until="commit")
    tab.wait_for_function("() => document.querySelector('#opening')?.shadowRoot?.textContent.includes('threads')")
    for shown in ("#card-overview h3", "p.first"):
        expect(tab.locator(shown).first).to_be_visible()
    tab.evaluate("() => { window.known = document.querySelector('#card-overview .view .panel') }")
    wait_until_said(tab, lambda: held)[0].continue_()
    tab.wait_for_selector(":root[data-opened]")
    expect(tab.locator("p.first, #opening, .view.first")).to_have_count(0)
    assert tab.evaluate("() => known === document.querySelector('#card-overview .view .panel')")


_GLYPHS_JS = """() => {
  const doc = window.Bokeh?.documents[0]
  if (!doc?.is_idle) return null
  const found = [], walk = (view) => {
    if (view.model.type === 'GlyphRenderer' && Object.getPrototypeOf(view.decimated_glyph) === view.glyph) {
      found.push(view.muted_glyph.data_size === view.glyph.data_size)
    } else if (view.model.type === 'GlyphRenderer') found.push(view.model.name ?? 'unnamed')
    if (view.model.type !== 'GlyphRenderer') view.children_views().forEach(walk)
  }
  ;[...window.Bokeh.index].forEach(walk)
  return found
}"""


@pytest.mark.long
def test_a_browser_makes_one_glyph_for_each_renderer_whatever_is_selected(publish, tab):
    publish(Shape(tasks=5))
    tab.goto(f"{tab.cluster}/status")
    found = tab.wait_for_function(_GLYPHS_JS).json_value()
    assert set(found) == {True} and len(found) > 20


_SIZES_JS = """
new MutationObserver(() => {
  const walk = view => [view, ...view.children_views().flatMap(walk)]
  const figures = [...window.Bokeh.index].flatMap(walk).filter(view => view.model.type === 'Figure')
  window.sizes ??= figures.map(({bbox, el}) => [bbox.width, bbox.height, Math.floor(el.clientWidth), Math.floor(el.clientHeight)])
}).observe(document, {subtree: true, attributeFilter: ['data-opened']})
"""


def test_plots_are_drawn_once_the_page_has_its_sizes(publish, tab):
    publish(Shape(tasks=5))
    tab.add_init_script(_SIZES_JS)  # when the document is there, before anything else of the page is laid out
    tab.goto(f"{tab.cluster}/status")
    sizes = tab.wait_for_function("() => window.sizes").json_value()
    assert len(sizes) == 5
    for width, height, own_width, own_height in sizes:  # a height may end within a pixel
        assert width == own_width and abs(height - own_height) <= 1
