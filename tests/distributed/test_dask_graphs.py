"""Graphs of Dask's as graphs of ours: nothing runs."""

from __future__ import annotations

import enum
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from calls import add, fail, inc
from dask import _task_spec as spec
from glassloom.distributed.annotated_graph import in_parts
from glassloom.distributed.dask_graph import convert, materialised
from glassloom.distributed.dask_keys import our_key
from glassloom.graph import Graph, Task, TaskRef, key_layer

UUID = "9d9c0bd6-5a2c-4c8e-8b5f-6f2b0c1d2e3f"


class Color(enum.Enum):
    RED = 1


KEYS = [
    "x", "sum-3f2a", ("sum-3f2a", 0, 1), ("shuffle-3f2a", "part", 1), ("\xe9", 0), "\xe9",
    f"inc-{UUID}", f"inc-{UUID.replace('-', '')}", b"x", ("x", "b'x'"), 1, ("int", "1"), 1.5, ("float", "1.5"), "1", None,
    ("x-1", (2, 3)), ("x", "('x-1', (2, 3))"), ("x-1", 2**63), ("x-1", None), (("x-1",), 2, 3), ("x-1",), (),
    "\ud800", "\\ud800", ("\ud800", 1), Color.RED, ("x", Color.RED), frozenset([1]), 1j, float("inf"), Decimal("1.1"),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS[:6] + [f"inc-{UUID.replace('-', '')}", ("x", "b'x'"), ("x-1",)], ids=ascii)
def test_keys_of_dask_that_can_be_ours_are(key: Any) -> None:
    assert our_key(key) == key


def test_other_keys_of_dask_become_keys_of_ours_that_become_themselves() -> None:
    for key in KEYS:
        assert our_key(our_key(key)) == our_key(key)
    assert key_layer(our_key(f"inc-{UUID}")) == "inc" and key_layer(our_key(("x-1", (2, 3)))) == "x"


def test_two_keys_of_dask_do_not_become_one() -> None:
    made = [our_key(key) for key in KEYS]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    "equal", [(1, True, 1.0, np.int64(1), Decimal(1)), (("x", 1), ("x", True), ("x", np.int8(1)), ("x", 1.0)), ("x", np.str_("x"))]
)  # fmt: skip
def test_keys_that_are_equal_in_a_dict_become_one(equal: tuple[Any, ...]) -> None:
    assert len({our_key(key) for key in equal}) == 1


def converted(dsk: dict[Any, Any], *wanted: Any) -> dict[Any, Task]:
    return convert(materialised(dsk), wanted).graph.tasks


def test_only_what_is_wanted_is_made() -> None:
    tasks = converted({"a": 1, "b": (inc, "a"), "c": (inc, "b"), "d": (inc, "a")}, "b")
    assert set(tasks) == {"a", "b"}


def test_references_in_containers_are_references_of_ours() -> None:
    graph = {
        "a": 1,
        "b": spec.Task("b", add, spec.List(spec.TaskRef("a"), [2]), spec.Dict({"n": spec.TaskRef("a")})),
        "c": spec.Task("c", add, spec.Tuple(spec.Set(spec.TaskRef("a")), 3), right=spec.TaskRef("a")),
    }
    tasks = converted(graph, "b", "c")
    assert tasks["b"].args == ([TaskRef("a"), [2]], {"n": TaskRef("a")})
    assert tasks["c"].args == (({TaskRef("a")}, 3),) and tasks["c"].kwargs == {"right": TaskRef("a")}
    assert tasks["b"].deps == tasks["c"].deps == ("a",)


def test_a_task_inside_a_task_goes_along_whole() -> None:
    tasks = converted({"a": 1, "b": (add, (inc, "a"), [(inc, "a"), 5])}, "b")
    assert set(tasks) == {"a", "b"} and tasks["b"].deps == ("a",)
    with pytest.raises(TypeError, match="unsupported operand"):  # an int and a list
        tasks["b"].run({"a": 1})
    assert converted({"a": 1, "b": (add, (inc, "a"), (inc, "a"))}, "b")["b"].run({"a": 1}) == 4


def test_other_names_of_a_result_are_no_tasks() -> None:
    found = convert(materialised({"a": 1, "b": "a", "c": "b", "d": (inc, "c")}), ["c", "d"])
    assert set(found.graph.tasks) == {"a", "d"}
    assert found.keys == {"c": "a", "d": "d"}


def test_what_the_graph_does_not_make_is_held_elsewhere() -> None:
    found = convert(materialised({"b": spec.Task("b", inc, spec.TaskRef(("a", 0)))}), ["b"])
    assert found.graph.held == {("a", 0)} and found.graph.tasks["b"].deps == (("a", 0),)


def test_containers_of_values_are_not_looked_into() -> None:
    values = [[1, 2], {"a": (inc, 1)}]
    assert converted({"a": spec.DataNode("a", values)}, "a")["a"].run({}) is values


def test_a_deep_chain_is_no_recursion() -> None:
    chain = {0: (inc, -1)} | {n: (inc, n - 1) for n in range(1, 20_000)}
    assert len(converted(chain, 19_999)) == 20_000


def test_a_graph_is_handed_in_in_parts_that_are_treated_alike() -> None:
    tasks = [
        Task("a", inc, (1,)), Task("b", inc, (TaskRef("a"),)), Task("c", inc, (TaskRef("b"),)),
        Task("d", fail, (TaskRef("a"),)), Task("e", add, (TaskRef("c"), TaskRef("d"))),
    ]  # fmt: skip
    graph = Graph({task.key: task for task in tasks})
    parts = in_parts(graph, {"b": {"retries": 2}, "c": {"retries": 2}, "d": {"resources": {"GPU": 1}}}, {"e"})
    assert [(part.handling, list(part.graph.tasks), part.keys) for part in parts] == [
        ({}, ["a"], ["a"]),
        ({"retries": 2}, ["b", "c"], ["c"]),
        ({"resources": {"GPU": 1}}, ["d"], ["d"]),
        ({}, ["e"], ["e"]),
    ]
