"""Graphs as plain data: keys, references, culling, tokens, the static order."""

from __future__ import annotations

import datetime
import functools
import operator
import os
import subprocess
import sys
from enum import Enum
from pathlib import PurePosixPath
from random import Random
from typing import Any

import numpy as np
import pytest
import tasks
from glassloom.errors import GraphError
from glassloom.graph import Graph, Task, TaskRef, cull, find_refs, key_index, key_layer, layer_name, resolve, tokenize
from glassloom.graph.origin import Origin, user_origin
from glassloom.scheduler.order import Cycle, order

# Keys


@pytest.mark.parametrize(
    ("key", "layer", "index"),
    [
        (("sum-3f2a", 0, 1), "sum-3f2a", "0, 1"),
        (("sum-3f2a",), "sum-3f2a", ""),
        ("load-91bc", "load", "91bc"),
        ("read-csv-91bc", "read-csv", "91bc"),
        ("x", "x", ""),
        ("-x", "-x", ""),
        ("x-", "x-", ""),
        ("drop--", "drop--", ""),
        (("x", "part", 3), "x", "'part', 3"),
    ],
)
def test_a_key_names_its_layer_and_its_place_in_it(key: Any, layer: str, index: str) -> None:
    assert (key_layer(key), key_index(key)) == (layer, index)


@pytest.mark.parametrize(
    ("layer", "name"),
    [("sum-3f2a90b1c2d3", "sum"), ("read-csv-0011223344", "read-csv"), ("inc", "inc"), ("my-key", "my-key")],
)
def test_a_layer_is_called_by_its_operation(layer: str, name: str) -> None:
    assert layer_name(layer) == name


# Tasks


def test_references_are_found_in_lists_tuples_and_dicts_in_order() -> None:
    value = [TaskRef("a"), (TaskRef("b"), {"x": TaskRef("c")}), "text", {TaskRef("key"): 1}]
    assert list(find_refs(value)) == ["a", "b", "c"]


def test_references_in_other_containers_are_not_looked_for() -> None:
    assert list(find_refs({1, 2})) == []
    assert list(find_refs(np.array([TaskRef("a")], dtype=object))) == []


def test_a_tasks_dependencies_are_named_once() -> None:
    task = Task("x", max, (TaskRef("a"), [TaskRef("b"), TaskRef("a")]), {"key": TaskRef("c")})
    assert task.deps == ("a", "b", "c")


def test_a_task_of_blocks_is_the_same_as_one_with_references() -> None:
    quick, plain = Task.of_blocks("x", max, ["a", "b"], (3,)), Task("x", max, (TaskRef("a"), TaskRef("b"), 3))
    assert (quick.args, quick.deps, quick.kwargs) == (plain.args, plain.deps, plain.kwargs)


def test_running_a_task_puts_results_in_the_places_of_references() -> None:
    task = Task("x", lambda *args, **kwargs: (args, kwargs), ([TaskRef("a")], 2), {"y": {"z": (TaskRef("b"),)}})
    assert task.run({"a": 1, "b": 5}) == (([1], 2), {"y": {"z": (5,)}})


def test_resolving_leaves_everything_else_as_it_is() -> None:
    value = frozenset([1, 2])
    assert resolve(value, {}) is value


# Graphs


def graph_of(**deps: list[str]) -> Graph:
    return Graph({key: Task(key, tasks.total, ([TaskRef(dep) for dep in below],)) for key, below in deps.items()})


def test_culling_keeps_what_is_needed_in_the_order_in_which_it_is_asked_for() -> None:
    graph = graph_of(a=[], b=["a"], c=["a"], d=["c", "b"], unused=["d"])
    assert list(cull(graph, ["d"]).tasks) == ["d", "c", "a", "b"]
    assert list(cull(graph, ["b", "c"]).tasks) == ["b", "a", "c"]


def test_culling_stops_at_what_is_known() -> None:
    graph = graph_of(a=[], b=["a"], c=["b"])
    assert list(cull(graph, ["c"], frozenset(["b"])).tasks) == ["c"]


def test_culling_names_the_task_that_needs_a_missing_key() -> None:
    with pytest.raises(GraphError, match="^task 'b' needs 'gone', which no task makes; the graph has 2 tasks$"):
        cull(graph_of(a=[], b=["a", "gone"]), ["b"])


def test_culling_names_a_missing_key_that_is_asked_for() -> None:
    with pytest.raises(GraphError, match="^the caller asks for 'gone', which no task makes; the graph has 1 tasks$"):
        cull(graph_of(a=[]), ["gone"])


def test_a_key_that_is_there_keeps_its_task() -> None:
    graph = graph_of(a=[])
    first = graph.tasks["a"]
    graph.add({"a": Task("a", int)})
    assert graph.tasks["a"] is first


# Tokens


class Colour(Enum):
    RED = 1
    BLUE = 2


class Custom:
    def __init__(self, content: Any) -> None:
        self.content = content

    def __glassloom_tokenize__(self) -> Any:
        return self.content


VALUES = [
    None, True, False, 0, 1, -1, 1.0, -0.0, 0.0, float("inf"), 1j, "", "1", b"", b"1", (), (1,), [1], [], {}, {1: 2},
    {2: 1}, {1}, frozenset([1]), [[1], 2], [1, [2]], range(3), slice(1, 2), ..., datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1), Colour.RED, Colour.BLUE, PurePosixPath("/a"), "/a", int, len, operator.add,
    tasks.inc, tasks.add, functools.partial(tasks.add, 1), functools.partial(tasks.add, 2), "abc".upper, np.add,
    np.int8(1), np.int64(1), np.float64(1), np.dtype("i4"), np.dtype("f4"), np.arange(3), np.arange(3.0),
    np.arange(4).reshape(2, 2), np.arange(4), np.zeros(0), np.zeros((0, 2)), np.array(["a"], dtype=object),
    np.array(["b"], dtype=object), np.array([("a", 1)], dtype=[("x", "U1"), ("y", "i4")]),
    np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0]), np.array("2020-01-01", "M8[D]"), Custom(1), Custom(2),
    lambda x: x, lambda x: x + 1, "a", ["a", "b"], ["ab"], ("a", "b"),
]  # fmt: skip


def test_different_values_have_different_tokens() -> None:
    tokens: dict[str, list[Any]] = {}
    for value in VALUES:
        tokens.setdefault(tokenize(value), []).append(value)
    assert [values for values in tokens.values() if len(values) > 1] == []


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_has_one_token(value: Any) -> None:
    assert tokenize(value) == tokenize(value)


def test_equal_arrays_have_equal_tokens_whatever_their_layout() -> None:
    array = np.arange(12).reshape(3, 4)
    copies = [array.copy(), np.asfortranarray(array), np.arange(24).reshape(3, 8)[:, ::2] // 2]
    assert {tokenize(copy) for copy in copies} == {tokenize(array)}


def test_the_order_of_a_set_does_not_matter_but_that_of_a_list_does() -> None:
    assert tokenize({"a", "b", "c"}) == tokenize({"c", "a", "b"})
    assert tokenize(["a", "b"]) != tokenize(["b", "a"])


def test_what_cannot_be_pickled_is_equal_to_nothing() -> None:
    generator = (number for number in range(3))
    assert tokenize(generator) != tokenize(generator)


def test_tokens_are_the_same_in_every_process() -> None:
    script = """
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np, tasks
from functools import partial
from glassloom.graph import tokenize
print(tokenize(1, "a", {"x", "y", "z"}, {"k": [1.5, None]}, np.arange(5), tasks.inc, partial(tasks.add, 1), np.add))
"""
    command = [sys.executable, "-c", script, str(PurePosixPath(__file__).parent)]
    outputs = {
        subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    values = (
        1,
        "a",
        {"x", "y", "z"},
        {"k": [1.5, None]},
        np.arange(5),
        tasks.inc,
        functools.partial(tasks.add, 1),
        np.add,
    )

    assert outputs == {tokenize(*values) + "\n"}


# Origins


def test_the_users_line_is_found() -> None:
    origin = user_origin()  # this line
    assert origin is not None
    assert (origin.filename, origin.function) == (__file__, "test_the_users_line_is_found")
    assert str(origin).endswith("origin = user_origin()  # this line")


def test_a_callers_caller_that_is_missing_is_no_origin() -> None:
    assert user_origin(1000) is None


def test_an_origin_without_source_is_file_and_line() -> None:
    assert str(Origin("/no/such.py", 7, "f")) == "/no/such.py:7"


# The static order


def ranks_of(graph: dict[str, list[str]]) -> dict[str, int]:
    position = {key: number for number, key in enumerate(graph)}
    return dict(zip(graph, order([[position[dep] for dep in deps] for deps in graph.values()]), strict=True))


def test_what_was_loaded_is_reduced_before_more_is_loaded() -> None:
    ranks = ranks_of({"load-0": [], "load-1": [], "sum-0": ["load-0"], "sum-1": ["load-1"], "all": ["sum-0", "sum-1"]})
    assert sorted(ranks, key=ranks.__getitem__) == ["load-0", "sum-0", "load-1", "sum-1", "all"]


def test_the_larger_branch_goes_first() -> None:
    ranks = ranks_of({"small": [], "a": [], "b": [], "large": ["a", "b"], "all": ["small", "large"]})
    assert sorted(ranks, key=ranks.__getitem__) == ["a", "b", "large", "small", "all"]


def test_the_order_of_an_empty_graph_is_empty() -> None:
    assert order([]) == []


@pytest.mark.parametrize("seed", range(20))
def test_dependencies_always_rank_before_their_dependants(seed: int) -> None:
    random = Random(seed)
    n = random.randint(1, 200)
    deps = [random.sample(range(task), min(task, random.randint(0, 4))) for task in range(n)]
    names = random.sample(range(n), n)  # positions in any order
    shuffled: list[list[int]] = [[] for _ in range(n)]
    for task, below in enumerate(deps):
        shuffled[names[task]] = [names[dep] for dep in below]
    ranks = order(shuffled)
    assert sorted(ranks) == list(range(n))
    assert all(ranks[dep] < ranks[task] for task, below in enumerate(shuffled) for dep in below)


@pytest.mark.parametrize("deps", [[[0]], [[1], [0]], [[], [0, 3], [1], [2]]])
def test_a_cycle_is_found(deps: list[list[int]]) -> None:
    with pytest.raises(Cycle, match=r"^the graph has a cycle through task \d$"):
        order(deps)


def test_a_chain_of_two_hundred_thousand_tasks_is_ordered() -> None:
    n = 200_000
    assert order([[task - 1] if task else [] for task in range(n)])[-1] == n - 1
