"""A cluster that several notebooks use: a page can show the runs of one of them; at first it shows those of all."""

from __future__ import annotations

import re

import pytest
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_metrics.protocol import Layers, Progress, Runs
from glassloom_metrics.task_events import task_events
from opened_pages import Opened, aggregate_of
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape

NOTEBOOKS = ["work/a.ipynb", "work/b.ipynb"]


def of_two_notebooks(notebooks: list[str] = NOTEBOOKS) -> ClusterAggregate:
    """Return a cluster with a run of two tasks of each notebook, ``only-0`` before ``only-1``."""
    aggregate = aggregate_of(Shape(workers=1, threads=1, tasks=0))
    aggregate.layers.clear()
    for number, notebook in enumerate(notebooks):
        begin_s = STARTED_AT_S + 10 + 20.0 * number
        row = [[number], ["compute"], [f"x{number}.compute()"], [notebook], [""], ["k"], [""], [begin_s], [begin_s + 4]]
        aggregate.apply(Runs(*row, ["finished"], [2], [2], [0]))
        aggregate.apply(Layers([number], [f"only-{number}"], [2], [""], [number], [[]]))
        aggregate.apply(
            task_events(
                2 * number, ["0", "1"], layer=number, worker=0, lane=0, action=0, nbytes=1, ok=1,
                start_s=[begin_s, begin_s + 2], duration_s=[1.5, 1.5],
            )
        )  # fmt: skip
        aggregate.apply(Progress(begin_s + 4, [number], [0], [0], [0], [0], [2], [0], [0]))
    return aggregate


def choose(page: Opened, notebook: str) -> None:
    page.view.notebooks.body.value = notebook
    page.update()


def test_all_notebooks_are_shown_until_one_is_chosen():
    page = Opened("progress", of_two_notebooks())
    assert page.view.notebooks.body.visible
    assert [value for value, _ in page.view.notebooks.body.options] == ["", *NOTEBOOKS]
    names = page.card("progress").source.data["name"]
    assert set(names) == {"only-0", "only-1"}
    choose(page, NOTEBOOKS[0])
    assert list(page.card("progress").source.data["name"]) == ["only-0"]
    choose(page, "")
    assert set(page.card("progress").source.data["name"]) == {"only-0", "only-1"}


def test_stages_and_time_are_those_of_the_latest_run_of_the_notebook():
    page = Opened("stages", of_two_notebooks())
    assert list(page.card("stages").source.data["name"]) == ["only-1"]
    choose(page, NOTEBOOKS[0])
    assert list(page.card("stages").source.data["name"]) == ["only-0"]
    stream = Opened("task-stream", of_two_notebooks())
    assert stream.view.time.times()[0] == pytest.approx(30, abs=1)
    choose(stream, NOTEBOOKS[0])
    assert stream.view.time.times()[0] == pytest.approx(10, abs=1)


def test_the_task_stream_draws_tasks_of_other_notebooks_in_grey():
    page = Opened("task-stream", of_two_notebooks())
    page.card("task-stream").follow.active = 0
    choose(page, NOTEBOOKS[0])
    single = page.card("task-stream").single.data
    colours = dict(
        zip(
            [page.card("task-stream").names.data["name"][kind] for kind in single["kind"]],
            single["colour"],
            strict=True,
        )
    )
    assert set(colours) == {"only-0", "only-1"} and colours["only-0"] != colours["only-1"]
    assert "of other notebooks" in page.card("task-stream").legend.text
    assert "only-1" not in page.card("task-stream").legend.text


def test_runs_are_those_of_the_notebook():
    page = Opened("runs", of_two_notebooks())
    choose(page, NOTEBOOKS[1])
    assert re.findall(r'<tr class="row[^>]*data-key="(\d+)"', page.card("runs").view.text) == ["1"]
    assert "1 of 2 runs" in page.card("runs").view.text


def test_of_one_notebook_there_is_nothing_to_choose_and_an_address_may_choose_one():
    page = Opened("runs", of_two_notebooks([NOTEBOOKS[0]] * 2))
    assert not page.view.notebooks.body.visible
    page.view.go_to({"notebook": NOTEBOOKS[1]})
    page.update()
    assert page.view.notebooks.body.visible and "No run matches" in page.card("runs").view.text
    hostile = Opened("progress", of_two_notebooks(HOSTILE_NAMES[:2]))
    assert hostile.view.notebooks.body.visible
