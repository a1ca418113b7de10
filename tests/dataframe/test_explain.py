"""`explain()`: what a plan reads and how many tasks it takes, before and after optimising."""

from __future__ import annotations

import glassloom as gl
import glassloom.dataframe as gd
import pandas as pd
import pytest


@pytest.fixture
def frame(tmp_path):
    pd.DataFrame({"x": range(8), "y": [0.5, -1.0] * 4, "s": list("abcdefgh")}).to_parquet(
        tmp_path / "a.parquet", row_group_size=2
    )
    return gd.read_parquet(tmp_path)


def lines_of(plan, part):
    text = str(plan).split("as it will run")[part == "after"]
    return [line.split("  ") for line in text.splitlines()]


def test_a_plan_tells_columns_row_groups_and_tasks_before_and_after(frame):
    plan = frame[frame.x > 5].y.sum().explain()
    before, after = str(plan).split("as it will run")
    assert "3 of 3: x, y, s" in before
    assert "4 of 4" in before
    assert "1 of 3: y where x > 5" in after
    assert "1 of 4" in after
    assert after.strip().endswith("5 tasks in all")
    assert "read-parquet > getitem > sum-chunk" in after


def test_what_a_step_is_made_of_stands_below_it_with_more_indent(frame):
    before = str((frame.x + frame.y).explain()).split("as it will run")[0]
    names = [line[2:].split("  ")[0] or line[2:].lstrip().split("  ")[0] for line in before.splitlines()[2:-1]]
    indents = [len(line) - len(line.lstrip()) for line in before.splitlines()[2:6]]
    assert indents == [2, 4, 6, 4], names


def test_memory_is_that_of_the_rows_or_a_bound(frame):
    assert "at most 64 B" in str(frame[frame.x + 1 > 3].x.explain())
    assert "128 B" in str(frame[["x", "y"]].explain())


def test_a_notebook_shows_a_plan_as_a_card_with_escaped_text(frame):
    html = frame[frame.s == "<b>"].x.explain()._repr_html_()
    assert "As it will run" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "0 of 4" in html


def test_the_card_of_a_plan_has_no_column_that_says_nothing(frame):
    in_memory = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3]}), npartitions=2)
    columns = ("Row groups read", "Read by", "Columns read", "Tasks")
    heads = [
        [f">{name}</th>" in lazy.x.sum().explain()._repr_html_() for name in columns] for lazy in (frame, in_memory)
    ]
    assert heads == [[True, True, True, True], [False, False, True, True]]


def test_a_plan_says_whether_arrow_or_pandas_reads(frame, tmp_path):
    assert "Arrow" in str(frame.explain())
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with gl.config.set({"dataframe.arrow": False}):
        assert "pandas" in str(gd.read_csv(tmp_path / "a.csv").explain())
    by_options = gd.read_csv(tmp_path / "a.csv", comment="#").explain()
    assert "pandas" in str(by_options)
    assert "Read by" in by_options._repr_html_()


def test_series_scalars_and_indexes_have_plans(frame):
    for lazy in (frame.x, frame.x.sum(), frame.index, frame.groupby("s").x.sum()):
        assert "tasks in all" in lazy.explain()
