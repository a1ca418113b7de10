"""The page of logs and errors: what is shown of them, filters, pausing, and that it is small whatever is in them."""

from __future__ import annotations

import re

import pytest
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.views.logs_view import ROWS, STEP
from glassloom_metrics.protocol import Errors, Log, WorkerJoined
from msgspec import structs
from opened_pages import FRAME_BYTES, Opened, aggregate_of
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape


def with_lines(*lines: tuple[int, str, str]) -> ClusterAggregate:
    """Return a cluster of twelve workers with lines given as (worker, level, text)."""
    aggregate = aggregate_of(Shape(workers=12, tasks=0))
    for number, (worker, level, text) in enumerate(lines):
        aggregate.apply(Log(STARTED_AT_S + number, worker, level, text))
    return aggregate


def with_errors(texts: list[str], keys: list[str]) -> Errors:
    count = len(texts)
    return Errors(
        list(range(count)), [0] * count, ["ValueError"] * count, texts, texts, [0] * count, texts, [7] * count,
        [STARTED_AT_S] * count, [STARTED_AT_S + 5] * count, [keys] * count,
    )  # fmt: skip


def texts(page: Opened) -> list[str]:
    """Return the lines that are shown."""
    return re.findall(r'<span class="text">(.*?)</span>', page.card("logs").view.text, re.DOTALL)


def ask(page: Opened, action: str, value: str = "") -> str:
    """Ask for something as a browser does, and return what is shown then."""
    page.card("logs").view.asked.tags = [int(page.now_s), action, value]
    page.update()
    return page.card("logs").view.text


MIXED = [
    (-1, "info", "scheduler started"), (1, "stdout", "hello from one"), (11, "stderr", "hello from eleven"),
    (1, "warning", "high memory"),
]  # fmt: skip


def test_lines_are_shown_by_level_worker_and_text():
    page = Opened("logs", with_lines(*MIXED))
    assert texts(page) == [text for *_, text in MIXED]
    assert "Warnings, errors <small>1</small>" in page.card("logs").view.text
    ask(page, "level", "stdout")
    assert texts(page) == ["scheduler started", "hello from eleven", "high memory"]
    ask(page, "level", "stdout")
    ask(page, "worker", "w1")
    assert texts(page) == ["hello from one", "high memory"], "not w11, as there is one of that very name"
    ask(page, "worker", "w")
    assert len(texts(page)) == 3
    ask(page, "worker", "head")
    assert texts(page) == ["scheduler started"]
    ask(page, "worker", "")
    ask(page, "search", "HELLO")
    assert texts(page) == ["hello from one", "hello from eleven"]
    assert "No line matches." in ask(page, "worker", "nobody")


def test_the_newest_lines_are_followed_until_paused_and_earlier_ones_can_be_reached():
    aggregate = with_lines(*((0, "stdout", f"line {n}") for n in range(1000)))
    page = Opened("logs", aggregate)
    assert (texts(page)[0], texts(page)[-1]) == (f"line {1000 - ROWS}", "line 999")
    aggregate.apply(Log(STARTED_AT_S, 0, "stdout", "one more"))
    page.update()
    assert texts(page)[-1] == "one more"
    assert 'data-follow="false"' in ask(page, "follow", "pause")
    aggregate.apply(Log(STARTED_AT_S, 0, "stdout", "unseen"))
    assert page.update() == 0, "nothing moves while it is paused"
    ask(page, "page", "previous")
    assert texts(page)[-1] == f"line {1000 - STEP}"
    assert "1 newer came meanwhile" in page.card("logs").view.text
    for _ in range(9):
        ask(page, "page", "previous")
    assert (texts(page)[0], len(texts(page))) == ("line 0", ROWS)
    ask(page, "follow", "follow")
    assert texts(page)[-1] == "unseen"


def test_new_lines_are_shown_twice_a_second_at_most():
    aggregate = with_lines((0, "stdout", "first"))
    page = Opened("logs", aggregate)
    page.update()
    for number in range(3):
        aggregate.apply(Log(STARTED_AT_S, 0, "stdout", f"line {number}"))
        page.update(0.2)
    assert texts(page) == ["first", "line 0"]
    page.update(0.2)
    assert texts(page) == ["first", "line 0", "line 1", "line 2"]
    aggregate.apply(Log(STARTED_AT_S, 0, "stdout", "later"))
    assert page.update(0.2) == 0


def test_errors_are_shown_in_groups_with_the_first_traceback_of_one_that_is_open():
    aggregate = aggregate_of(Shape(workers=1, tasks=0))
    aggregate.apply(with_errors(["bad price", "no such file"], ["('clean', 3)", "('clean', 4)"]))
    page = Opened("logs", aggregate)
    text = page.card("logs").view.text
    assert "14 failures in 2 groups" in text and ">7<" in text and "</pre>" not in text
    assert text.index("no such file") < text.index("bad price"), "the newest first"
    text = ask(page, "open", "0")
    assert 'href="task?open=0%3A4"' in text
    assert "bad price</pre>" in text and "(&#39;clean&#39;, 4)</code></a>, and 5 more" in text and "w0" in text
    assert "</pre>" not in ask(page, "open", "0")


def test_an_error_says_the_file_and_line_and_where_it_is_open_their_folder_too():
    place = f"/home/jo/{'long/' * 20}model.py:85: wait(client.map(check, range(24)))"
    aggregate = aggregate_of(Shape(workers=1, tasks=0))
    aggregate.apply(structs.replace(with_errors(["bad price"], ["k"]), origins=[place]))
    page = Opened("logs", aggregate)
    assert ">model.py:85: wait(client.map(check, range(24)))<" in page.card("logs").view.text
    assert place not in page.card("logs").view.text
    assert place in ask(page, "open", "0")


def test_a_cluster_that_has_said_nothing_says_what_it_waits_for():
    page = Opened("logs", aggregate_of(Shape(tasks=0)))
    assert "Nothing was logged yet" in page.document.get_model_by_name("logs-empty").text


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "😀" * 3000, "<&'\">" * 800])
def test_whatever_is_logged_it_stays_text_and_frames_stay_small(name):
    aggregate = with_lines(*((n % 12, name[:50], name) for n in range(500)))
    for worker in range(100, 300):
        aggregate.apply(WorkerJoined(STARTED_AT_S, worker, f"{worker}{name}", 1, 1))
    aggregate.apply(with_errors([f"{n}{name}" for n in range(100)], [name] * 10))
    page = Opened("logs", aggregate)
    text = ask(page, "open", "99")
    assert "</pre>" in text
    assert "<img" not in text and "<script" not in text
    assert max(page.frames) <= FRAME_BYTES
    assert page.update() == 0, "nothing is sent twice"


def test_without_lines_none_are_said_to_match():
    aggregate = aggregate_of(Shape(failures=True))
    text = Opened("logs", aggregate).card("logs").view.text
    assert "No lines were logged." in text and "matches" not in text
