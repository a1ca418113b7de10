"""Where keys go: the same in all processes, and the same for equal keys."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from glassloom.bag.hashing import place_of

MANY = 2**40
SCRIPT = """
import datetime, enum
from glassloom.bag.hashing import place_of
class Colour(enum.Enum):
    red = 1
keys = ["a", b"a", 1, -1, None, ("a", 1), frozenset("abc"), datetime.date(2020, 1, 2), Colour.red, float("nan")]
print([place_of(key, 2**40) for key in keys])
"""


def test_a_process_with_other_hashes_of_text_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )
    exec(SCRIPT, {"__name__": "__main__"})
    assert capsys.readouterr().out == elsewhere.stdout


@pytest.mark.parametrize(
    "equal",
    [
        [1, 1.0, True, Decimal(1), Fraction(1), np.int64(1), np.float32(1), complex(1)],
        ["a", np.str_("a")],
        [(1, "a"), (1.0, "a"), (True, np.str_("a"))],
        [frozenset([1, 2]), frozenset([2.0, 1])],
        [0.0, -0.0, 0],
    ],
)
def test_equal_keys_go_to_one_place(equal: list[object]) -> None:
    assert len({place_of(key, MANY) for key in equal}) == 1


def test_unlike_keys_are_spread() -> None:
    assert len({place_of(f"{number}", 8) for number in range(100)}) == 8
    assert place_of(("ab", "c"), MANY) != place_of(("a", "bc"), MANY)


def test_keys_that_no_dict_could_have_are_refused() -> None:
    with pytest.raises(TypeError, match="has to be hashable, got list"):
        place_of([1], 4)
