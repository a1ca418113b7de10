"""The tasks of a tree."""

from __future__ import annotations

import pytest
from glassloom.expr.tree import tree_tasks


def run(n, split_every):
    """Return the joined blocks, and how many tasks that took."""
    tasks = tree_tasks("sum-3f2a", "sum", [("x", number) for number in range(n)], "+".join, "".join, split_every)
    results = {("x", number): str(number) for number in range(n)}
    for key, task in tasks.items():
        results[key] = task.run(results)
    return results["sum-3f2a", 0], len(tasks)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, ("0", 1)), (3, ("012", 1)), (4, ("0+1+23", 3)), (10, ("0+1+2+3+4+5+6+7+89", 7))],
)
def test_blocks_are_joined_in_their_order_some_at_a_time(n, expected):
    assert run(n, 3) == expected


def test_tasks_on_the_way_have_names_of_their_own():
    tasks = tree_tasks("sum-3f2a", "sum", [("x", number) for number in range(4)], sum, sum, 2)
    assert list(tasks) == [("sum-combine-3f2a", 0, 0), ("sum-combine-3f2a", 0, 1), ("sum-3f2a", 0)]
