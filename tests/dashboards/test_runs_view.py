"""The page of runs: what it says of them, what it can be asked for, and that it is small whatever is in them."""

from __future__ import annotations

import re

import pytest
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.views.run_comparison import compare_layers, compare_runs
from glassloom_dashboards.views.runs_view import ROWS
from glassloom_metrics.protocol import Layers, Progress, Runs, WorkerLeft
from msgspec import structs
from opened_pages import FRAME_BYTES, Opened, aggregate_of, events
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape


def run_rows(ids: list[int], *, code: str = "x.sum().compute()", outcome: str = "finished") -> Runs:
    """Return runs of two seconds and 3 tasks, of which one failed."""
    count = len(ids)
    texts = [[code] * count, ["deep/study.ipynb"] * count, ["c0ffee"] * count, [""] * count, [f"cell {n}" for n in ids]]
    starts = [STARTED_AT_S + 10.0 * n for n in ids]
    ended = [None if outcome == "running" else start + 2.0 for start in starts]
    numbers = [[3] * count, [2] * count, [1] * count]
    return Runs(ids, ["compute"] * count, *texts, starts, ended, [outcome] * count, *numbers)


def with_runs(count: int, *, code: str = "x.sum().compute()", outcome: str = "finished") -> ClusterAggregate:
    """Return a cluster that has had so many runs of two seconds, each with a layer of 3 tasks."""
    aggregate = aggregate_of(Shape(workers=1, threads=2, tasks=0))
    ids = list(range(count))
    aggregate.apply(run_rows(ids, code=code, outcome=outcome))
    aggregate.apply(Layers(ids, ["sum"] * count, [3] * count, ["cell 1"] * count, ids, [[]] * count))
    return aggregate


def opened(aggregate: ClusterAggregate) -> Opened:
    return Opened("runs", aggregate)


def rows(page: Opened) -> list[str]:
    """Return the ids of the rows of the table."""
    return re.findall(r'<tr class="row[^>]*data-key="(\d+)"', page.card("runs").view.text)


def ask(page: Opened, action: str, value: str = "") -> str:
    """Ask for something as a browser does, and return what is shown then."""
    page.card("runs").view.asked.tags = [int(page.now_s), action, value]
    page.update()
    return page.card("runs").view.text


def test_runs_are_listed_newest_first_a_page_at_a_time_and_all_can_be_reached():
    page = opened(with_runs(10_000))
    assert rows(page) == [str(n) for n in range(9_999, 9_999 - ROWS, -1)]
    assert "10,000 runs" in page.card("runs").view.text
    ask(page, "page", "next")
    assert rows(page)[0] == str(9_999 - ROWS)
    ask(page, "search", "CELL 77")
    assert rows(page)[0] == "7799", "the first page again"
    ask(page, "search", "no such")
    assert rows(page) == [] and "No run matches." in page.card("runs").view.text
    assert max(page.frames) <= FRAME_BYTES


def test_a_row_says_how_the_run_ended_and_how_much_of_the_threads_it_had():
    aggregate = with_runs(1, outcome="failed")
    aggregate.apply(events(0, [(0.0, 1.0)]))
    aggregate.apply(events(1, [(0.0, 2.0)], lane=1))
    text = opened(aggregate).card("runs").view.text
    row = " ".join(re.sub(r"<[^>]*>", " ", text[text.index('<tr class="row') :]).split())
    assert row.startswith("failed x.sum().compute() compute · study.ipynb · cell 0")
    assert "2 s 2 / 3, 1 failed 75 %" in row
    aggregate.apply(WorkerLeft(STARTED_AT_S + 9, 0, "the cluster was closed"))
    assert "75 %" in opened(aggregate).card("runs").view.text, "of the threads that there were"


def test_a_run_that_was_under_way_when_the_cluster_ended_was_interrupted():
    aggregate = with_runs(1, outcome="running")
    page = opened(aggregate)
    assert "</svg>running</span>" in page.card("runs").view.text
    aggregate.end("the cluster was closed")
    page.update()
    assert "</svg>interrupted</span>" in page.card("runs").view.text
    ask(page, "outcome", "running")
    assert rows(page) == []


def test_an_open_run_shows_all_its_code_and_its_layers():
    aggregate = with_runs(2, code="import numpy\nx = 1\nx.compute()")
    aggregate.apply(events(0, [(0.5, 1.0), (0.5, 1.5)], layer=0))
    aggregate.apply(Progress(STARTED_AT_S, [0], [1], [0], [0], [2], [0], [0], [2**20]))
    page = opened(aggregate)
    assert "x = 1" not in page.card("runs").view.text
    text = ask(page, "open", "0")
    assert "x = 1\nx.compute()</pre>" in text and 'aria-expanded="true"' in text
    assert "2 / 3" in text and "1.5 s" in text and "750 ms" in text and "1.00 MiB" in text
    assert "from 500 ms to 1.5 s" in text
    assert "</pre>" not in ask(page, "open", "0"), "closed again"
    assert "</pre>" not in ask(page, "open", "99")


def test_a_run_is_called_by_the_line_that_asked_for_it_and_not_by_an_import():
    aggregate = with_runs(1)
    code = "import numpy\n\nx = 1\nx.compute()"
    aggregate.apply(structs.replace(run_rows([0], code=code), origins=["cell 3, line 4: x.compute()"]))
    page = opened(aggregate)
    text = page.card("runs").view.text
    assert (
        "<code>x.compute()</code>" in text and "compute · study.ipynb · cell 3, line 4" in text and "import" not in text
    )
    assert f"{code}</pre>" in ask(page, "open", "0")
    aggregate.apply(structs.replace(run_rows([0], code=""), origins=["/home/jo/churn/model.py:85: (a / b).compute()"]))
    page.update()
    assert "· model.py:85: (a / b).compute()<" in page.card("runs").view.text, "a division is no folder"
    aggregate.apply(structs.replace(run_rows([0], code=code), origins=[""]))
    page.update()
    assert "<code>import numpy</code>" in page.card("runs").view.text, "nothing else is known"


def test_two_runs_are_compared_as_a_whole_and_by_layer():
    aggregate = with_runs(3)
    aggregate.apply(Layers([9], ["only-new"], [1], [""], [2], [[]]))
    aggregate.apply(events(0, [(0.0, 1.0)], layer=0))
    aggregate.apply(events(1, [(20.0, 21.0), (20.0, 22.0)], layer=2))
    first, second = (aggregate.runs.get(run) for run in (0, 2))
    whole = {one.words: (one.first, one.second, one.difference) for one in compare_runs(aggregate, first, second)}
    assert whole["Duration"] == ("2 s", "2 s", "same")
    assert whole["Time in tasks"] == ("1 s", "3 s", "+2 s (+200 %)")
    assert whole["Threads' share"] == ("25 %", "75 %", "+50 points")
    layers = compare_layers(aggregate, first, second)
    assert [layer.name for layer in layers] == ["sum", "only-new"]
    assert [one.difference for one in layers[0].differences] == [
        "+1 (+100 %)",
        "+2 s (+200 %)",
        "+500 ms (+50 %)",
        "–",
    ]
    assert [one.difference for one in layers[1].differences[:3]] == ["only in B"] * 3

    page = opened(aggregate)
    assert "Choose another run" in ask(page, "choose", "2")
    text = ask(page, "choose", "0")
    assert text.index("A · run 0") < text.index("B · run 2") and "+2 s (+200 %)" in text
    text = ask(page, "choose", "1")
    assert "A · run 0" in text and "B · run 1" in text, "the one chosen first makes room"
    assert "A · run" not in ask(page, "clear")


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "😀" * 4000, "<&'\">" * 800])
def test_whatever_is_in_runs_it_stays_text_and_frames_stay_small(name):
    aggregate = with_runs(ROWS, code=name)
    layers = list(range(500, 600))
    aggregate.apply(Layers(layers, [name] * 100, [1] * 100, [name] * 100, [49] * 100, [[]] * 100))
    aggregate.apply(
        Layers(
            list(range(600, 700)), [f"{n}{name}" for n in range(100)], [1] * 100, [name] * 100, [48] * 100, [[]] * 100
        )
    )
    page = opened(aggregate)
    ask(page, "open", "49")
    ask(page, "choose", "49")
    text = ask(page, "choose", "48")
    assert "<img" not in text and "<script" not in text
    assert max(page.frames) <= FRAME_BYTES
    assert page.update() == 0, "nothing is sent twice"


@pytest.mark.parametrize(
    "said", [[], ["open"], [1, "open"], [1, "nothing", "1"], [1, "open", "x"], [1, "open", 7], [1, "choose", "1e5"]]
)
def test_what_no_browser_of_ours_asks_changes_nothing(said):
    page = opened(with_runs(2))
    before = page.card("runs").view.text
    page.card("runs").view.asked.tags = said
    page.update()
    assert page.card("runs").view.text == before


def test_an_address_opens_a_run_wherever_it_is_in_the_list_as_soon_as_it_is_known():
    aggregate = with_runs(200)
    page = opened(aggregate)
    page.view.go_to({"open": "205"})
    page.update()
    assert 'aria-expanded="true"' not in page.card("runs").view.text
    aggregate.apply(run_rows(list(range(200, 206 + 2 * ROWS))))
    page.update()
    assert "205" in rows(page) and rows(page)[0] != str(205 + 2 * ROWS)
    assert "cell 205" in page.card("runs").view.text
    assert page.card("runs").view.text.count('aria-expanded="true"') == 1
    ask(page, "open", "205")
    assert 'aria-expanded="true"' not in page.card("runs").view.text


def test_an_address_compares_two_runs_as_soon_as_both_are_known():
    aggregate = with_runs(2)
    page = opened(aggregate)
    page.view.go_to({"open": "1,5"})
    page.update()
    assert "A · run" not in page.card("runs").view.text
    aggregate.apply(run_rows([5]))
    page.update()
    text = page.card("runs").view.text
    assert "A · run 1" in text and "B · run 5" in text
