"""Calls as they travel: what is made of arguments of any kind, and that the quick way says the same as the general one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from glassloom.errors import SerialisationError
from glassloom.graph import Graph, Handle, Key, Task, TaskRef
from glassloom.protocol.annotations import Annotations
from glassloom.protocol.calls import LARGE_LITERAL_BYTES, Call, CallEncoder
from glassloom.protocol.messages import Submit
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

LARGE: dict[str, Any] = {
    "array": np.arange(LARGE_LITERAL_BYTES),
    "list": list(range(40_000)),
    "tuple": tuple(range(40_000)),
    "set": set(range(40_000)),
    "dict": {number: str(number) for number in range(20_000)},
    "bytes": bytes(LARGE_LITERAL_BYTES),
    "bytearray": bytearray(LARGE_LITERAL_BYTES),
    "text": "x" * LARGE_LITERAL_BYTES,
    "a list whose end is large": [*range(20), np.arange(LARGE_LITERAL_BYTES)],
}


class Held(Handle):
    """A result that a cluster holds."""

    def __init__(self, key: Key) -> None:
        self.key = key


class Wrapper:
    """An object that doesn't tell how large it is."""

    def __init__(self, inside: Any) -> None:
        self.inside = inside


class Places:
    """Where large literals are placed."""

    def __init__(self) -> None:
        self.values: dict[Key, Any] = {}

    def place(self, value: Any) -> Key:
        key = f"placed-{len(self.values)}"
        self.values[key] = value
        return key


def given_arguments(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def encode(argument_lists: list[tuple[Any, ...]], kwargs: dict[str, Any], places: Places, *, quick: bool) -> Submit:
    keys: list[Key] = [f"f-{number}" for number in range(len(argument_lists))]
    encoder = CallEncoder(places.place)
    if quick:
        return encoder.encode_calls(given_arguments, keys, argument_lists, kwargs, {}, Annotations())
    tasks = {
        key: Task(key, given_arguments, args, kwargs or None) for key, args in zip(keys, argument_lists, strict=True)
    }
    return encoder.encode(Graph(tasks), keys, Annotations())


def run(message: Submit, places: Places) -> list[Any]:
    """Return what the calls of a message are given. A result that a cluster holds is shown as its key."""
    names = [*message.keys, *message.external]
    results = []
    deps_of_each = message.deps * (len(message.keys) if len(message.deps) == 1 else 1)
    for number, literals, deps in zip(message.calls, message.literals, deps_of_each, strict=True):
        values = [places.values.get(names[dep], names[dep]) for dep in deps]
        results.append(Call(message.code[number])(literals, values))
    return results


LITERALS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5), st.binary(max_size=5)
)
HELD = st.sampled_from(["a", "b", "f-0"]).map(Held)
LARGE_ONES = st.sampled_from([LARGE["list"], LARGE["bytes"]])
VALUES = st.recursive(
    st.one_of(LITERALS, HELD, LARGE_ONES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=4,
)


def seen(value: Any) -> Any:
    """Return what a task sees of an argument: the results of futures are shown as their keys."""
    if isinstance(value, Handle):
        return value.key
    if isinstance(value, (list, tuple)):
        return type(value)(map(seen, value))
    return {name: seen(item) for name, item in value.items()} if isinstance(value, dict) else value


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.one_of(st.tuples(LITERALS), st.lists(VALUES, max_size=3).map(tuple)), max_size=4),
    st.dictionaries(st.sampled_from(["x", "y"]), VALUES),
)
def test_calls_of_one_function_are_given_the_same_the_quick_way(
    argument_lists: list[tuple[Any, ...]], kwargs: dict[str, Any]
) -> None:
    expected = [(seen(args), seen(kwargs)) for args in argument_lists]
    for quick in (False, True):
        places = Places()
        message = encode(argument_lists, kwargs, places, quick=quick)
        assert message.wanted_keys == message.keys == [f"f-{number}" for number in range(len(argument_lists))]
        assert run(message, places) == expected


@given(
    st.lists(st.lists(st.sampled_from([1, "x", None, "y" * 2000, [2]]), max_size=3).map(tuple), max_size=5),
    st.booleans(),
)
def test_calls_are_given_the_same_whether_all_of_them_are_plain_or_some(
    argument_lists: list[tuple[Any, ...]], has_kwargs: bool
) -> None:
    kwargs = {"x": 5} if has_kwargs else {}
    for quick in (False, True):
        places = Places()
        message = encode(argument_lists, kwargs, places, quick=quick)
        assert run(message, places) == [(args, kwargs) for args in argument_lists]


def test_tasks_of_a_graph_are_given_results_wherever_they_stand_in_plain_arguments() -> None:
    graph = Graph({
        "a": Task("a", given_arguments, (1, "x")),
        "b": Task("b", given_arguments, (TaskRef("a"), 2, TaskRef("held"), TaskRef("a"))),
        "c": Task("c", given_arguments, (Held("held"), [TaskRef("b")])),
        "d": Task("d", given_arguments),
    })  # fmt: skip
    message = CallEncoder(Places().place).encode(graph, ["c"], Annotations())
    places = Places()
    assert run(message, places) == [
        ((1, "x"), {}),
        (("a", 2, "held", "a"), {}),
        (("held", ["b"]), {}),
        ((), {}),
    ]


@pytest.mark.parametrize("quick", [False, True], ids=["graph", "calls"])
@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE)
def test_a_large_literal_is_placed_once_for_all_calls(value: Any, quick: bool) -> None:
    for argument_lists, kwargs in (
        ([(number, value) for number in range(5)], {}),
        ([(number,) for number in range(5)], {"data": value}),
        ([(number, Wrapper(value)) for number in [0]], {"data": Wrapper(value)}),
        ([(Held("a"), [value, Held("b")])] * 5, {}),
    ):
        places = Places()
        message = encode(argument_lists, kwargs, places, quick=quick)
        assert 1 <= len(places.values) <= 2 - ("data" not in kwargs or kwargs["data"] is value)
        assert all(len(literals) < LARGE_LITERAL_BYTES for literals in message.literals)
        assert len(run(message, places)) == len(argument_lists)


@pytest.mark.parametrize("quick", [False, True], ids=["graph", "calls"])
def test_what_is_large_in_memory_and_small_as_a_pickle_is_sent_as_it_is(quick: bool) -> None:
    places = Places()
    message = encode([([None] * 10_000,)], {"data": [1] * 10_000}, places, quick=quick)
    assert (places.values, run(message, places)) == ({}, [(([None] * 10_000,), {"data": [1] * 10_000})])


def test_calls_with_equal_keys_are_one() -> None:
    message = CallEncoder(Places().place).encode_calls(
        len, ["k", "j", "k"], [("",), ("a",), ("",)], {}, {}, Annotations()
    )
    assert (message.keys, len(message.literals), message.wanted_keys) == (["k", "j"], 2, ["k", "j", "k"])


@pytest.mark.parametrize("quick", [False, True], ids=["graph", "calls"])
@pytest.mark.parametrize(("args", "kwargs"), [((threading.Lock(),), {}), ((1,), {"lock": threading.Lock()})])
def test_an_argument_that_cannot_be_pickled_is_named(args: Any, kwargs: Any, quick: bool) -> None:
    with pytest.raises(SerialisationError, match="an argument of task 'f-0': .*lock"):
        encode([args], kwargs, Places(), quick=quick)
