"""Modules that tests share have names of their own: all tests run in one process, which imports a name once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_two_helpers_of_tests_have_one_name() -> None:
    helpers = [path for path in TESTS.rglob("*.py") if not path.name.startswith(("test_", "conftest", "__init__"))]
    in_packages = {path for path in helpers if (path.parent / "__init__.py").exists()}
    names = Counter(path.stem for path in set(helpers) - in_packages)
    assert len(names) > 20
    assert [name for name, count in names.items() if count > 1] == []
