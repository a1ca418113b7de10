"""Several processes take files of tests in an order in which none is without work at the end."""

from __future__ import annotations

import doctest
from pathlib import Path

import file_order

TESTS = Path(__file__).parents[1]


def test_examples_run() -> None:
    assert doctest.testmod(file_order) == (0, 2)


def test_the_folders_are_there() -> None:
    assert [name for name in (*file_order.TOGETHER, *file_order.WAITING) if not (TESTS / name).is_dir()] == []


def test_each_file_is_taken_once_and_short_files_come_last() -> None:
    counts = {f"tests/{folder}/test_{n}.py": n for folder in ("engine", "server", "e2e", "arch") for n in range(1, 40)}
    order = file_order.in_order(counts, {"tests/arch/test_1.py"})
    assert sorted(order) == sorted(counts)
    assert all("/e2e/" in path for path in order[:39])
    assert order[39] == "tests/arch/test_1.py"
    assert not any("/server/" in path for path in order[-20:])
    waiting = ["/server/" in path for path in order[40:]]
    assert not any(all(waiting[start : start + 3]) for start in range(len(waiting)))
