"""Of tests of combinations `make test` runs some that have each value, or each two values that meet in any of them."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from itertools import combinations as tuples_of
from itertools import product
from pathlib import Path

import combinations
import pytest
from hypothesis import given
from hypothesis import strategies as st


def test_examples_run() -> None:
    assert doctest.testmod(combinations) == (0, 4)


@pytest.mark.parametrize("strength", combinations.STRENGTHS.values())
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
def test_values_that_meet_in_some_combination_do_so_in_a_chosen_one(
    strength: int, sizes: list[int], data: st.DataObject
) -> None:
    rows = [row for row in product(*map(range, sizes)) if data.draw(st.integers(0, 9)) > 1]  # some leave out others
    chosen = [rows[place] for place in combinations.covering(rows, strength)]
    assert len(chosen) == len(set(chosen))
    for places in tuples_of(range(len(sizes)), min(strength, len(sizes))):
        assert {tuple(row[place] for place in places) for row in chosen} == {
            tuple(row[place] for place in places) for row in rows
        }


TESTS = """
import pytest

@pytest.mark.pairwise
@pytest.mark.parametrize("first", "ab")
@pytest.mark.parametrize("second", "cd")
@pytest.mark.parametrize("third", ["e", pytest.param("f", marks=pytest.mark.long), "g"])
def test_three(first, second, third):
    pass

@pytest.mark.each_choice
@pytest.mark.parametrize("first", "ab")
@pytest.mark.parametrize("second", "cd")
def test_two(first, second):
    pass
"""


def collected(folder: Path, markers: str) -> set[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        os.devnull,
        "-p",
        "combinations",
        "--collect-only",
        "-q",
        "-m",
        markers,
    ]
    environ = {
        **os.environ,
        "PYTHONPATH": str(Path(combinations.__file__).parent),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run([*command, "test_it.py"], cwd=folder, env=environ, capture_output=True, text=True, timeout=60)
    return {line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line}


def test_make_test_and_make_long_run_each_combination_once(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    some, others = (collected(tmp_path, markers) for markers in ("not long", "long"))
    threes = {"test_three[e-c-a]", "test_three[e-d-b]", "test_three[g-c-b]", "test_three[g-d-a]"}
    assert some == {*threes, "test_two[c-a]", "test_two[d-b]"}
    assert not some & others and len(others) == 12 + 4 - len(some)
