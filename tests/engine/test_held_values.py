"""On threads, blocks of persisted collections go into the tasks that need them."""

from __future__ import annotations

import glassloom.array as ga
import numpy as np
import pytest
from glassloom.graph import Graph, HeldValue, Task, TaskRef
from glassloom.local.held import TaskOfValues, with_values
from glassloom.local.threads import ThreadsRuntime


def _joined(*args, **kwargs):
    return args, kwargs


@pytest.fixture
def runtime():
    runtime = ThreadsRuntime(2, publish=False)
    yield runtime
    runtime.close()


def test_tasks_that_only_return_what_is_at_hand_are_left_out():
    tasks = [
        Task("a", HeldValue(1)), Task("b", HeldValue(2)), Task("c", sum, ([TaskRef("a"), TaskRef("b")],)),
        Task("d", max, (TaskRef("c"), TaskRef("b"))), Task("e", int),
    ]  # fmt: skip
    found = with_values(Graph({task.key: task for task in tasks}), ["d", "b", "e"])
    assert list(found.tasks) == ["b", "c", "d", "e"]
    assert [task.deps for task in found.tasks.values()] == [(), ("b",), ("c", "b"), ()]
    assert type(found.tasks["c"]) is TaskOfValues and found.tasks["e"] is tasks[4]


def test_a_graph_without_such_tasks_stays_as_it_is():
    graph = Graph({"a": Task("a", int)})
    assert with_values(graph, ["a"]) is graph


def test_values_reach_arguments_of_every_kind(runtime):
    task = Task("r", _joined, ([TaskRef("h"), {"x": TaskRef("h")}], TaskRef("c")), {"k": (TaskRef("h"), 3)})
    graph = Graph({"h": Task("h", HeldValue(7)), "c": Task("c", int, ("5",)), "r": task})
    assert runtime.get(graph, ["r", "h"]) == [(([7, {"x": 7}], 5), {"k": (7, 3)}), 7]


def test_a_task_cannot_change_a_persisted_block(runtime):
    def doubled(block):
        block *= 2
        return block

    value = np.ones(3)
    graph = Graph({"h": Task("h", HeldValue(value)), "r": Task("r", doubled, (TaskRef("h"),))})
    with pytest.raises(ValueError, match="read-only"):
        runtime.get(graph, ["r"])
    assert value.tolist() == [1, 1, 1]


def test_persisted_arrays_are_computed_with_and_returned():
    persisted = ga.ones((4, 6), chunks=(2, 3)).persist(scheduler="threads")
    total = (persisted + persisted.T.T[:1]).sum()
    assert total.compute(scheduler="threads") == 48
    assert persisted.compute(scheduler="threads").tolist() == np.ones((4, 6)).tolist()
    again = (persisted * 3).persist(scheduler="threads")
    del persisted
    assert again.sum().compute(scheduler="threads") == 72
