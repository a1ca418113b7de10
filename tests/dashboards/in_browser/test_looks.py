"""What a card shows in a browser: its table in the place of its plot, and colours where the system forces its own."""

from __future__ import annotations

import pytest
from page_waits import wait_until_said
from playwright.sync_api import expect
from synthetic import HOSTILE_NAMES, Shape


def test_a_button_puts_a_table_in_the_place_of_the_plot_and_the_plot_back(publish, tab):
    publish(Shape(names=(HOSTILE_NAMES[0],)))
    tab.goto(f"{tab.cluster}/status")
    tab.wait_for_function(
        "() => document.querySelector('#card-progress .body').ariaLabel?.includes('1 layer; tasks done: ')"
    )
    card = tab.locator("#card-progress")
    button = card.get_by_role("button", name="Show Progress as a table")
    button.focus()
    tab.keyboard.press("Enter")
    card.get_by_role("row").filter(has_text=HOSTILE_NAMES[0]).wait_for()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(card.locator(".body")).to_be_hidden()
    expect(tab.locator("#card-workers-cpu .body")).to_be_visible()
    tab.keyboard.press("Enter")
    card.get_by_role("table").wait_for(state="hidden")
    expect(card.locator(".body")).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "false")


@pytest.mark.long
def test_where_the_system_forces_colours_those_that_mean_something_stay(publish, tab):
    publish(Shape(tasks=50))
    tab.emulate_media(forced_colors="active")
    tab.goto(f"{tab.cluster}/overview?theme=high-contrast")
    blue = "rgb(125, 184, 255)"
    for of_what_is_computed in ("#card-utilisation .legend i", ".overview .bar i"):
        expect(tab.locator(of_what_is_computed).first).to_have_css("background-color", blue)
    buttons = tab.locator("#card-utilisation .bk-btn")
    chosen, other = buttons.and_(tab.locator(".bk-active")), buttons.and_(tab.locator(":not(.bk-active)")).first
    colour = wait_until_said(tab, lambda: chosen.evaluate("one => getComputedStyle(one).backgroundColor"))
    expect(other).not_to_have_css("background-color", colour)
