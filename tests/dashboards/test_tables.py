"""Plots as tables: what they hold, and that texts of users stay text."""

from __future__ import annotations

import re

import pytest
from glassloom_dashboards.parts.layouts import LAYOUTS
from glassloom_dashboards.parts.tables import MAX_CELL_LENGTH, MAX_ROWS, PERIOD_S, Table, table_html
from opened_pages import FRAME_BYTES, Opened, aggregate_of, events, shared_aggregate_of
from synthetic import HOSTILE_NAMES, Shape

WITH_TABLES = ["status", "task-stream", "progress", "workers-memory", "workers-cpu", "memory", "stages", "time-budget"]


def test_a_table_is_real_html_whose_texts_are_escaped_and_cut():
    html = table_html(Table(("layer", "tasks"), [["<b>sum</b>", "3"], ["x" * 500, "4"]]), 'all "layers" & more')
    assert "<caption>all &#34;layers&#34; &amp; more</caption>" in html
    assert '<th scope="row">&lt;b&gt;sum&lt;/b&gt;</th><td class="number">3</td>' in html
    assert f'<th scope="row">{"x" * (MAX_CELL_LENGTH - 1)}…</th>' in html


def test_a_long_table_says_how_many_rows_it_leaves_out():
    html = table_html(Table(("layer",), [[str(n)] for n in range(MAX_ROWS + 1234)]), "")
    assert html.count("<tr>") == MAX_ROWS + 1
    assert "<p>1,234 more rows are not shown.</p>" in html


@pytest.mark.each_choice
@pytest.mark.parametrize("page", WITH_TABLES)
@pytest.mark.parametrize(
    "shape",
    [
        Shape(workers=0, tasks=0),
        Shape(names=tuple(HOSTILE_NAMES), failures=True),
        Shape(workers=500, tasks=5000, names=("<'&>" * 100,), layers=300),
    ],
    ids=["nobody", "hostile", "500-workers"],
)
def test_every_card_has_a_name_with_numbers_and_a_table_that_is_sent_only_when_it_is_asked_for(page, shape):
    opened = Opened(page, shared_aggregate_of(shape))
    cards = list(LAYOUTS[page].cards)
    assert [card for card, _, _ in opened.view.summaries.tags] == cards
    assert all(re.search(r"\d|No |no ", words) for _, words, _ in opened.view.summaries.tags)
    divs = [opened.document.get_model_by_name(f"{card}-table") for card in cards]
    assert [div.text for div in divs] == [""] * len(cards)
    opened.view.tables.tags = cards[:1]
    opened.update()
    assert divs[0].text.startswith("<table><caption>") and not any(div.text for div in divs[1:])
    assert "<script" not in divs[0].text and "<img" not in divs[0].text
    assert len(divs[0].text) <= FRAME_BYTES
    opened.update()
    assert opened.update() == 0


def test_a_table_that_is_shown_changes_no_more_often_than_it_can_be_read():
    aggregate = aggregate_of(Shape(tasks=0))
    opened = Opened("task-stream", aggregate)
    opened.view.tables.tags = ["task-stream"]
    opened.update(0.1)
    div = opened.document.get_model_by_name("task-stream-table")
    before = div.text
    aggregate.apply(events(0, [(1.0, 2.0)]))
    opened.update(PERIOD_S / 2)
    assert div.text == before
    opened.update(PERIOD_S / 2)
    assert "<td>compute</td>" in div.text
    opened.view.tables.tags = []
    aggregate.apply(events(1, [(2.0, 3.0)]))
    before = div.text
    opened.update(2 * PERIOD_S)
    assert div.text == before


def test_the_task_stream_as_a_table_sums_what_is_on_screen_by_layer():
    aggregate = aggregate_of(Shape(tasks=0))
    aggregate.apply(events(0, [(1.0, 2.0), (2.0, 5.0)], ok=0))
    aggregate.apply(events(2, [(2.0, 2.25)], layer=7))
    table = Opened("task-stream", aggregate).card("task-stream").table()
    assert [list(row) for row in table.rows] == [
        ["unknown layer", "compute", "2", "4 s", "2 s", "3 s", "2", "0"],
        ["unknown layer", "compute", "1", "250 ms", "250 ms", "250 ms", "0", "0"],
    ]
