"""Several processes take files of tests in an order in which none is without work at the end."""

from __future__ import annotations

import doctest
from pathlib import Path

import file_order

TESTS = Path(__file__).parents[1]


def test_examples_run() -> None:
    assert doctest.testmod(file_order) == (0, 3)


def test_the_folders_are_there() -> None:
    assert [name for name in (*file_order.TOGETHER, *file_order.WAITING) if not (TESTS / name).is_dir()] == []


def test_each_process_imports_all_folders_and_begins_with_another_one() -> None:
    sizes = {"array": 2, "bag": 1, "engine": 2}
    orders = [file_order.folders_from(sizes, number) for number in range(4)]
    assert [order[0] for order in orders] == ["array", "engine", "bag", "array"]
    assert all(sorted(order) == sorted(sizes) for order in orders)


def test_the_order_is_the_same_whatever_was_collected_first() -> None:
    counts = {f"tests/{folder}/test_{n}.py": 3 for folder in ("engine", "server", "e2e") for n in range(9)}
    expected = file_order.in_order(counts, ["tests/engine/test_3.py"])
    assert file_order.in_order(dict(reversed(counts.items())), ["tests/engine/test_3.py"]) == expected


def test_each_file_is_taken_once_and_short_files_come_last() -> None:
    counts = {f"tests/{folder}/test_{n}.py": n for folder in ("engine", "server", "e2e", "arch") for n in range(1, 40)}
    order = file_order.in_order(counts, {"tests/arch/test_1.py"})
    assert sorted(order) == sorted(counts)
    assert all("/e2e/" in path for path in order[:39])
    assert order[39] == "tests/arch/test_1.py"
    assert not any("/server/" in path for path in order[-20:])
    waiting = ["/server/" in path for path in order[40:]]
    assert not any(all(waiting[start : start + 3]) for start in range(len(waiting)))
