"""Futures in containers of all kinds: in gather, in scatter, as arguments of tasks."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from glassloom import Client, wait


class Pair(NamedTuple):
    first: Any
    second: Any = 7


Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any = 2


@dataclass
class Checked:
    a: Any
    made: list[Any] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.a, (int, np.integer)) and type(self.a).__name__ != "Future":
            raise TypeError(f"a={self.a!r}")
        self.made.append("once")


@dataclass(slots=True)
class Slotted:
    a: Any
    b: Any = None


def twice(number: int) -> int:
    return 2 * number


def containers(one: Any, two: Any) -> dict[str, Any]:
    return {
        "named tuple": Pair(one),
        "namedtuple": Point(one, [two]),
        "frozen dataclass": Frozen(one, {"b": two}),
        "dataclass with checks": Checked(one),
        "dataclass with slots": Slotted(one, (two,)),
        "frozenset": frozenset([one, two]),
        "set": {one, two},
        "ordered dict": OrderedDict(b=one, a=two),
        "default dict": defaultdict(list, a=one, b=[two]),
        "nested": [Pair({"a": Frozen(one)}, frozenset([two]))],
    }


KINDS = list(containers(1, 2))


def describe(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value


@pytest.mark.parametrize("kind", KINDS)
def test_gather_keeps_the_container(client: Client, kind: str) -> None:
    one, two = client.map(twice, [1, 2])
    gathered, expected = client.gather(containers(one, two)[kind]), containers(2, 4)[kind]
    assert (type(gathered), gathered) == (type(expected), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_keyword", [False, True])
def test_a_task_gets_the_container_with_results(client: Client, kind: str, as_keyword: bool) -> None:
    one, two = client.map(twice, [1, 2])
    value, expected = containers(one, two)[kind], containers(2, 4)[kind]
    future = client.submit(describe, value=value) if as_keyword else client.submit(describe, value)
    assert future.result(timeout=60) == (type(expected).__name__, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_containers_without_futures_are_values_like_any(client: Client, kind: str) -> None:
    value = containers(1, 2)[kind]
    assert client.gather(value) == value
    assert client.submit(describe, value).result(timeout=60) == (type(value).__name__, value)


def test_calls_with_other_futures_in_a_dataclass_are_other_tasks(client: Client) -> None:
    one, two = client.map(twice, [1, 2])
    first, second, again = (client.submit(describe, Frozen(future)) for future in (one, two, one))
    assert (first.key == again.key, first.key == second.key) == (True, False)
    assert client.gather([first, second]) == [("Frozen", Frozen(2)), ("Frozen", Frozen(4))]


def test_what_wait_returns_can_be_gathered(client: Client) -> None:
    futures = client.map(twice, [1, 2, 3])
    gathered = client.gather(wait(futures))
    assert (gathered.done, gathered.not_done) == ({2, 4, 6}, set())


def test_sets_of_futures_of_arrays_and_of_equal_results_lose_nothing(client: Client) -> None:
    arrays = client.gather(set(client.map(np.full, [2, 2], [1.0, 2.0])))
    assert sorted(float(array.sum()) for array in arrays) == [2.0, 4.0]
    assert client.gather(set(client.map(abs, [-3, 3]))) == [3, 3]
    assert client.gather(frozenset(client.map(abs, [-3, 3]))) == [3, 3]
    assert client.submit(describe, set(client.map(abs, [-3, 3]))).result(timeout=60) == ("list", [3, 3])


def test_failed_futures_are_left_out_of_lists_and_dicts(client: Client) -> None:
    good, bad = client.submit(twice, 1), client.submit(twice, None)
    assert client.gather([good, bad, {"good": good, "bad": bad}], errors="skip") == [2, {"good": 2}]


def test_scatter_keeps_lists_tuples_sets_and_named_tuples(client: Client) -> None:
    scattered = client.scatter(Pair(1, 2))
    assert (type(scattered), client.gather(scattered)) == (Pair, Pair(1, 2))
    assert client.gather(client.scatter(frozenset([1, 2]))) == frozenset([1, 2])
    assert client.gather(client.scatter({"a": 1})) == {"a": 1}
    whole = client.scatter(Frozen(1))
    assert whole.result(timeout=60) == Frozen(1)
    assert dataclasses.is_dataclass(whole.result(timeout=60))
