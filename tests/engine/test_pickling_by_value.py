"""Code that a worker can't import: it is sent by value, and its classes are the caller's own when results come back."""

from __future__ import annotations

import functools
import importlib
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import pytest
from glassloom import Client
from glassloom.store.pickling import dump_buffers, dumps, loads

SOURCE = """
import enum, functools
from dataclasses import dataclass

FACTOR = 3

@dataclass
class Box:
    content: object

class Colour(enum.Enum):
    RED = 1

def triple(x):
    return FACTOR * x

def boxed(x):
    return Box(triple(x))

def opened(box):
    assert isinstance(box, Box)
    return box.content

@functools.lru_cache(maxsize=7)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
"""


@pytest.fixture
def unknown_module(client: Client, tmp_path: Path) -> Iterator[ModuleType]:
    """Return a module of this process that workers can't import, as its folder isn't on their path."""
    (tmp_path / "only_here_pkg").mkdir()
    (tmp_path / "only_here_pkg" / "__init__.py").write_text("")
    (tmp_path / "only_here_pkg" / "only_here.py").write_text(SOURCE)
    sys.path.insert(0, str(tmp_path))
    try:
        yield importlib.import_module("only_here_pkg.only_here")
    finally:
        sys.path.remove(str(tmp_path))
        for name in ("only_here_pkg", "only_here_pkg.only_here"):
            sys.modules.pop(name, None)


@pytest.fixture
def by_value(unknown_module: ModuleType) -> Iterator[ModuleType]:
    """Return the module, registered; by its package, which counts for all that is in it."""
    package = sys.modules["only_here_pkg"]
    cloudpickle.register_pickle_by_value(package)
    yield unknown_module
    cloudpickle.unregister_pickle_by_value(package)


def test_a_module_that_is_not_registered_is_imported_by_the_worker(client: Client, unknown_module: ModuleType) -> None:
    with pytest.raises(ModuleNotFoundError, match="only_here_pkg"):
        client.submit(unknown_module.triple, 2).result(timeout=60)


def test_functions_of_a_registered_module_are_sent_by_value(client: Client, by_value: Any) -> None:
    assert client.submit(by_value.triple, 2).result(timeout=60) == 6
    assert client.submit(by_value.boxed, 2).result(timeout=60) == by_value.Box(6)


def test_values_of_a_registered_module_are_sent_by_value(client: Client, by_value: Any) -> None:
    assert client.submit(by_value.opened, by_value.Box(5)).result(timeout=60) == 5
    box = client.submit(lambda value: [value], by_value.Box(by_value.Colour.RED)).result(timeout=60)
    assert box == [by_value.Box(by_value.Colour.RED)]


def test_registered_values_inside_others_are_sent_by_value(by_value: Any) -> None:
    data, buffers = dump_buffers({"a": [by_value.triple], "b": bytearray(10)})
    del sys.modules["only_here_pkg.only_here"], sys.modules["only_here_pkg"]
    sys.path_importer_cache.clear()
    path, sys.path[:] = sys.path[:], [entry for entry in sys.path if not Path(entry, "only_here_pkg").exists()]
    try:
        assert loads(data, buffers)["a"][0](2) == 6
    finally:
        sys.path[:] = path
        sys.modules["only_here_pkg"] = importlib.import_module("only_here_pkg")


def test_plain_pickle_is_used_for_what_is_not_registered(by_value: Any) -> None:
    value = {"a": functools.partial(int, base=2)}
    assert dumps(value) == pickle.dumps(value, 5)


def test_cached_functions_that_workers_cannot_import_are_sent_by_value(client: Client, by_value: Any) -> None:
    assert client.submit(by_value.fibonacci, 20).result(timeout=60) == 6765
    copy = loads(dumps(by_value.fibonacci))
    assert (copy(20), copy.cache_parameters(), copy.__name__) == (6765, {"maxsize": 7, "typed": False}, "fibonacci")


def test_local_cached_functions_are_sent_by_value(client: Client) -> None:
    @functools.lru_cache
    def double(x: int) -> int:
        return 2 * x

    assert client.submit(double, 4).result(timeout=60) == 8
