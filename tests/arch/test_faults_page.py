"""docs/faults.md has a row for each fault that the tests of the recorder, the dashboards and the panel cause, and for no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "faults.md").read_text()
ROOMS = ("dashboards", "e2e", "metrics", "server")


def marked(*folders: str) -> set[str]:
    """Return what tests in folders say that they do."""
    found = set()
    for path in (path for folder in folders for path in (TESTS / folder).rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
                found.add(ast.literal_eval(node.args[0]))
    return found


def rows(heading: str) -> list[str]:
    """Return the first column of the table below a heading."""
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None, heading
    return re.findall(r"^\| (?!fault \|)([^|]+?) \|", section[1], re.MULTILINE)


def test_each_fault_has_one_row() -> None:
    table = rows("The recorder, the dashboards and the panel")
    assert len(table) == len(set(table))
    assert sorted(marked(*ROOMS) - set(table)) == []


def test_each_row_is_caused_by_a_test() -> None:
    table = rows("The recorder, the dashboards and the panel")
    assert len(table) > 20
    assert sorted(set(table) - marked(*ROOMS, "engine")) == []
