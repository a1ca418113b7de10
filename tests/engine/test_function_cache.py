"""Bytes made of functions: made once, made again when the function or what it reads has changed, gone with the function."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tasks
from glassloom import Client
from glassloom.graph import FunctionCache, tokenize
from glassloom.store.pickling import dumps, loads
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

LARGE_BYTES = 100_000


class Maker:
    """Makes bytes of a function and counts how often."""

    def __init__(self, n_bytes: int = 10) -> None:
        self.cache = FunctionCache()
        self.n_made = 0
        self._n_bytes = n_bytes

    def get(self, function: Any, use: Any = (), token: str | None = None) -> bytes:
        return self.cache.get(function, use, self._make, token)

    def _make(self) -> bytes:
        self.n_made += 1
        return bytes(self._n_bytes)


def reader(**known: Any) -> Any:
    cell: dict[str, Any] = {"__name__": "__main__", **known}
    exec("def read(x):\n    return table[0] + x", cell)
    return cell["read"]


def test_they_are_made_once() -> None:
    maker, function = Maker(), reader(table=[1])
    assert {maker.get(function) for _ in range(3)} == {bytes(10)}
    assert maker.n_made == 1


def test_each_use_has_its_own() -> None:
    maker, function = Maker(), reader(table=[1])
    for use in (1, 2, 1, 2):
        maker.get(function, use)
    assert maker.n_made == 2


def test_they_are_made_again_when_a_global_is_rebound_or_changed() -> None:
    maker, function = Maker(), reader(table=[1])
    maker.get(function)
    function.__globals__["table"] = [1]
    maker.get(function)
    assert maker.n_made == 1
    function.__globals__["table"].append(2)
    maker.get(function)
    assert maker.n_made == 2
    function.__globals__["table"] = np.zeros(3)
    maker.get(function)
    assert maker.n_made == 3
    function.__globals__["table"][1] = 4
    maker.get(function)
    assert maker.n_made == 4


def test_they_are_made_again_when_the_function_has_other_code() -> None:
    maker, function = Maker(), reader(table=[1])
    maker.get(function)
    function.__code__ = (lambda x: x).__code__
    maker.get(function)
    assert maker.n_made == 2


def test_many_bytes_are_kept_for_one_use_only() -> None:
    maker, function = Maker(LARGE_BYTES), reader(table=[1])
    for use in (1, 1, 2, 2, 1):
        maker.get(function, use)
    assert maker.n_made == 3


def test_a_function_with_a_random_token_is_never_remembered() -> None:
    maker, function = Maker(), reader(table=iter_forever())
    maker.get(function)
    maker.get(function)
    assert maker.n_made == 2


def iter_forever() -> Iterator[int]:
    while True:
        yield 1


@pytest.mark.parametrize("function", [tasks, "text", [].append, np.add])
def test_of_what_is_no_function_nothing_is_kept(function: Any) -> None:
    maker = Maker()
    maker.get(function)
    maker.get(function)
    assert (maker.n_made, len(maker.cache._entries)) == (2, 0)
    assert maker.cache.token(function) == tokenize(function)


def test_bytes_of_an_importable_function_are_kept_while_it_is_found_under_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    maker, function = Maker(), tasks.inc
    maker.get(function)
    maker.get(function)
    assert (maker.n_made, maker.cache.token(function)) == (1, tokenize(function))
    monkeypatch.setattr(tasks, "inc", lambda value: value)
    maker.get(function)
    assert (maker.n_made, maker.cache.token(function)) == (2, tokenize(function))


# What a function reads, compared in cheap ways


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


def _set_item(function: Any) -> None:
    function.__globals__["table"][0] = 7


def _rebind(value: Any) -> Any:
    return lambda function: function.__globals__.update(table=value)


def _change_helper(function: Any) -> None:
    function.__globals__["helper"].__globals__["factor"] = 3


def _change_default(function: Any) -> None:
    function.__defaults__ = (9,)


def _change_attribute(function: Any) -> None:
    function.scale = 2


def _change_object(function: Any) -> None:
    function.__globals__["point"].x = 5


def _remove_global(function: Any) -> None:
    del function.__globals__["table"]


def _define_builtin(function: Any) -> None:
    function.__globals__["len"] = lambda value: 0


def _annotate(function: Any) -> None:
    function.__annotations__["x"] = int


def _fill_cell(function: Any) -> None:
    function.__globals__["closed"].__closure__[0].cell_contents = 11


SOURCE = """
factor = 2
def helper(x):
    return factor * x if x else read(1)
def _closed(n):
    return lambda: n
closed = _closed(1)
def read(x, y=4):
    return table[0] + helper(x) + y + point.x + len(table) + closed() + numpy.pi
"""
CHANGES = [
    _set_item,
    _rebind((1, 2)),
    _rebind("text"),
    _rebind(None),
    _rebind(np.arange(3)),
    _rebind(len),
    _rebind(Point),
    _rebind(np),
    _change_helper,
    _change_default,
    _change_attribute,
    _change_object,
    _remove_global,
    _define_builtin,
    _annotate,
    _fill_cell,
]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(CHANGES), max_size=5), st.booleans())
def test_a_token_that_is_kept_is_that_of_the_function_as_it_is_now(changes: Any, is_closed_over: bool) -> None:
    known = {"table": [1], "point": Point(1), "numpy": np, "__name__": "__main__"}
    exec(SOURCE, known)
    cache, function = FunctionCache(), known["read"]
    for change in changes:
        with contextlib.suppress(TypeError, KeyError):
            change(function)
        assert [cache.token(function) for _ in range(3)] == [tokenize(function)] * 3


def test_what_is_kept_of_a_function_keeps_neither_it_nor_what_it_reads_alive() -> None:
    cache, function = FunctionCache(), reader(table=np.zeros(LARGE_BYTES))
    function.__globals__["itself"] = [function]
    cache.token(function)
    array = weakref.ref(function.__globals__["table"])
    reference = weakref.ref(function)
    function.__globals__.clear()
    del function
    gc.collect()
    assert (array(), reference(), len(cache._entries)) == (None, None, 0)


class Clock:
    """Time, which passes with each look at it, and the number of a notebook's cell."""

    def __init__(self) -> None:
        self.at_s, self.execution = 0.0, 1

    def now_s(self) -> float:
        self.at_s += 0.01
        return self.at_s


def _large_values() -> dict[str, Any]:
    return {"array": np.zeros(LARGE_BYTES), "list": [0.5] * 10_000, "bytearray": bytearray(LARGE_BYTES)}


@pytest.mark.parametrize("kind", _large_values())
def test_a_large_value_is_hashed_again_in_the_next_cell_and_when_time_has_passed(kind: str) -> None:
    clock, value = Clock(), _large_values()[kind]
    cache, function = FunctionCache(clock.now_s, lambda: clock.execution), reader(table=value)
    tokens = [cache.token(function)]
    value[301] = 1  # where no sample is taken
    tokens.append(cache.token(function))
    assert tokens[1] == tokens[0]
    clock.execution += 1
    tokens.append(cache.token(function))
    value[303] = 1
    tokens.append(cache.token(function))
    clock.at_s += 100 * 1000
    tokens.append(cache.token(function))
    assert tokens[2] == tokens[3] and len(set(tokens)) == 3
    assert tokens[4] == tokenize(function)


@pytest.mark.parametrize("kind", _large_values())
def test_a_change_of_all_of_a_large_value_is_seen_at_once(kind: str) -> None:
    value = _large_values()[kind]
    cache, function = FunctionCache(Clock().now_s, lambda: 1), reader(table=value)
    before = cache.token(function)
    value[:] = type(value)([1] * len(value)) if kind != "array" else 1
    assert cache.token(function) == tokenize(function) != before


def test_bytes_are_kept_if_a_large_value_is_the_same_after_all() -> None:
    clock, maker = Clock(), Maker(LARGE_BYTES)
    maker.cache, function = FunctionCache(clock.now_s, lambda: clock.execution), reader(table=np.zeros(LARGE_BYTES))
    for _ in range(3):
        maker.get(function, token=maker.cache.token(function))
        clock.execution += 1
    assert maker.n_made == 1


def test_they_go_with_the_function() -> None:
    maker, function = Maker(), reader(table=[1])
    maker.get(function)
    assert len(maker.cache._entries) == 1
    del function
    gc.collect()
    assert len(maker.cache._entries) == 0


def test_few_uses_are_kept() -> None:
    maker, function = Maker(), reader(table=[1])
    for use in range(100):
        maker.get(function, use)
    entry = maker.cache._entries.get(function)
    assert entry is not None and len(entry.made) <= 16


def test_workers_get_what_a_function_reads_now(client: Client) -> None:
    function = reader(table=[1])
    assert client.submit(function, 10).result(timeout=60) == 11
    function.__globals__["table"][0] = 2
    assert client.submit(function, 10).result(timeout=60) == 12
    assert client.submit(function, 10, pure=False).result(timeout=60) == 12
    function.__globals__["table"] = [3]
    assert client.submit(function, 10, pure=False).result(timeout=60) == 13
    assert client.submit(function, 10).result(timeout=60) == 13


def test_the_bytes_are_a_pickle_like_any_other() -> None:
    function = reader(table=[1])
    data = FunctionCache().get(function, (), lambda: dumps((function, ())))
    assert loads(data)[0](1) == 2
