"""Modules that tests share have names of their own: all tests run in one process, which imports a name once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_two_helpers_of_tests_have_one_name() -> None:
    helpers = [path for path in TESTS.rglob("*.py") if not path.name.startswith(("test_", "conftest", "__init__"))]
    in_packages = {path for path in helpers if (path.parent / "__init__.py").exists()}
    names = Counter(path.stem for path in set(helpers) - in_packages)
    assert len(names) > 20
    assert [name for name, count in names.items() if count > 1] == []


_CONSTANT = re.compile(r"^([A-Z][A-Z_0-9]*)\s*=", re.MULTILINE)


def test_constants_of_a_module_of_tests_are_given_once() -> None:
    """Tests that were written for the first value would get the second one."""
    again: dict[str, list[str]] = {}
    for path in TESTS.rglob("*.py"):
        names = Counter(_CONSTANT.findall(path.read_text()))
        if twice := [name for name, count in names.items() if count > 1]:
            again[path.relative_to(TESTS).as_posix()] = twice
    assert again == {}
