"""A page that stands still, in a browser."""

from __future__ import annotations

import pytest
from opened_pages import events
from playwright.sync_api import expect
from synthetic import Shape


@pytest.mark.long
def test_a_page_is_paused_and_resumed_from_the_keyboard(publish, tab):
    cluster = publish(Shape(tasks=50))
    tab.goto(f"{tab.cluster}/status")
    button = tab.get_by_role("button", name="Pause")
    button.focus()
    tab.keyboard.press("Enter")
    tab.get_by_text("no task has ended since").wait_for()
    rows = "() => Bokeh.documents[0].get_model_by_name('task-stream-total').data.tasks[0]"
    before = tab.evaluate(rows)
    cluster.add(events(50, [(2.5, 2.6)] * 7))
    tab.get_by_text("7 tasks have ended since").wait_for()
    assert tab.evaluate(rows) == before
    tab.get_by_role("button", name="Resume").press("Enter")
    tab.wait_for_function(f"before => ({rows})() === before + 7", arg=before)
    tab.get_by_text("ended since").wait_for(state="hidden")


PRESS_BEFORE_THE_MOVE = """() => {
  const inside = root => [...root.querySelectorAll('*')].flatMap(el => [el, ...(el.shadowRoot ? inside(el.shadowRoot) : [])])
  const button = inside(document).find(el => el.localName === 'button' && el.innerText.includes('Pause'))
  const follow = glassloom.followTime
  glassloom.followTime = (models, ...rest) => {
    if (models.extent.data.right[0] > 100) {
      glassloom.followTime = follow
      button.click()
    }
    follow(models, ...rest)
  }
}"""


@pytest.mark.long
@pytest.mark.parametrize("page", ["overview", "status", "task-stream"])
def test_a_paused_page_stands_still_however_its_view_moved_when_it_was_paused(publish, tab, page):
    cluster = publish(Shape(tasks=50))
    tab.goto(f"{tab.cluster}/{page}")
    tab.get_by_text("All", exact=True).click()
    tab.get_by_role("button", name="Pause").wait_for()
    tab.evaluate(PRESS_BEFORE_THE_MOVE)
    words = tab.get_by_text("ended since")
    cluster.add(events(50, [(100.0, 110.0)]))
    words.wait_for()
    paused_at = words.inner_text().split("·")[0].strip()
    for batch in range(1, 5):
        cluster.add(events(44 + 7 * batch, [(100.0 + batch * 10, 101.0 + batch * 10)] * 7))
        tab.get_by_text(f"{7 * batch} tasks have ended since").wait_for()
    expect(words).to_contain_text(paused_at)
    tab.set_viewport_size({"width": 1100, "height": 700})  # what the viewer does is answered
    tab.get_by_text("no task has ended since").wait_for()
