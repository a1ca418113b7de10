"""Bytes made of functions: made once, made again when the function or what it reads has changed, gone with the function."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tasks
from glassloom import Client
from glassloom.graph import FunctionCache, tokenize
from glassloom.store.pickling import dumps, loads

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


def test_many_bytes_are_kept_for_a_known_token_only() -> None:
    maker, function = Maker(LARGE_BYTES), reader(table=[1])
    token = tokenize(function)
    for _ in range(3):
        maker.get(function, token=token)
    assert maker.n_made == 1
    maker.get(function)
    assert maker.n_made == 2


def test_a_function_with_a_random_token_is_never_remembered() -> None:
    maker, function = Maker(), reader(table=iter_forever())
    maker.get(function)
    maker.get(function)
    assert maker.n_made == 2


def iter_forever() -> Iterator[int]:
    while True:
        yield 1


@pytest.mark.parametrize("function", [tasks.inc, len, tasks, "text"])
def test_what_is_known_by_name_is_not_kept(function: Any) -> None:
    maker = Maker()
    maker.get(function)
    maker.get(function)
    assert (maker.n_made, len(maker.cache._entries)) == (2, 0)


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
    assert client.submit(function, 10).result(timeout=20) == 11
    function.__globals__["table"][0] = 2
    assert client.submit(function, 10).result(timeout=20) == 12
    assert client.submit(function, 10, pure=False).result(timeout=20) == 12
    function.__globals__["table"] = [3]
    assert client.submit(function, 10, pure=False).result(timeout=20) == 13
    assert client.submit(function, 10).result(timeout=20) == 13


def test_the_bytes_are_a_pickle_like_any_other() -> None:
    function = reader(table=[1])
    data = FunctionCache().get(function, (), lambda: dumps((function, ())))
    assert loads(data)[0](1) == 2
