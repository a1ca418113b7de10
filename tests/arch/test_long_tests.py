"""What `make long` tries is marked as its own: `make long` finds tests by their markers."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_each_module_that_tries_more_in_make_long_says_so() -> None:
    asking = [
        path
        for path in TESTS.rglob("test_*.py")
        if re.search(
            r"^from (long_tests import .*(LONG_TESTS|\bcases\b)|frame_helpers import .*\bcheck_in_parts\b)",
            path.read_text(),
            re.M,
        )
    ]
    assert asking
    assert [str(path) for path in asking if not re.search(r"pytest\.mark\.(more|long)\b", path.read_text())] == []


def test_each_module_that_says_so_tries_more_in_make_long() -> None:
    """Else CI would run its tests twice, the same both times."""
    mark = re.compile(r"^(@|pytestmark = )pytest\.mark\.more\b", re.M)
    marked = [path for path in TESTS.rglob("test_*.py") if mark.search(path.read_text())]
    assert marked
    assert [
        str(path) for path in marked if not re.search(r"LONG_TESTS|\b(cases|check_in_parts)\(", path.read_text())
    ] == []


def test_each_property_tries_more_in_make_long() -> None:
    """`make long` runs all properties again: to try the same number of examples there would say little more."""
    counts = re.compile(r"\bmax_examples=(?!examples\(|\d+ if LONG_TESTS|\(\?!)[^,)]*")
    found = {str(path.relative_to(TESTS)): counts.findall(path.read_text()) for path in TESTS.rglob("*.py")}
    assert {path: fixed for path, fixed in found.items() if fixed} == {}, "use long_tests.examples"
