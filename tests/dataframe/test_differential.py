"""Random chains of operations give what pandas gives: see `frame_differential`, which makes them of their seeds.

``GLASSLOOM_LONG_TESTS=1`` takes more seeds, every other one on each day. A failure names its seed: ``frame_differential.run(seed)``.
"""

from __future__ import annotations

from functools import cache

import frame_differential
import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_differential import Case, difference
from glassloom.backends.pandas_version import PANDAS_VERSION
from interrupts import DAY
from long_tests import LONG_TESTS

pytestmark = pytest.mark.more

N_GROUPS, N_CASES, EVERY = (10, 500, 2) if LONG_TESTS else (2, 40, 1)
KNOWN = {
    3534: "std of times beside columns of Arrow's that have one value",
    3751: "pandas' own: within groups, rank gives missing values of which no other is known a rank if keys are missing",
}
if PANDAS_VERSION < (3, 1):
    KNOWN |= dict.fromkeys((967, 3445), "pandas' own: duplicated() of a frame without rows has no labels")
    KNOWN[4145] = "pandas' own: the dtype that findall() of Arrow's texts has depends on what is found"
"""What is known to differ from pandas in these chains."""
run = cache(frame_differential.run)


@pytest.mark.parametrize("group", range(N_GROUPS))
def test_random_chains_are_pandas(group):
    first = group * N_CASES
    wrong = []
    for seed in set(range(first + DAY % EVERY, first + N_CASES, EVERY)) - KNOWN.keys():
        case = run(seed)
        found = difference(case)
        if found is not None:
            wrong.append(f"seed {seed}: {case.text}\n{found}")
    assert not wrong, "\n".join(wrong)


def test_labels_in_other_partitions_are_seen():
    lazy = gd.from_pandas(pd.Series(range(6)), npartitions=3)
    assert frame_differential.outside_of_divisions(lazy) == []
    assert frame_differential.outside_of_divisions(lazy.clear_divisions()) == []
    moved = lazy.map_partitions(lambda block: block.set_axis(block.index + 1), keep_divisions=True)
    assert frame_differential.outside_of_divisions(moved) == [2, 4, 6]


def test_a_difference_is_seen():
    same = pd.Series([1.0, 2.0], name="a")
    assert difference(Case("", same, same + 1e-12)) is None
    for other in (
        same + 0.1,
        same.astype("f4"),
        same[:1],
        same[::-1],
        same.rename("b"),
        same.to_frame(),
        TypeError("no"),
    ):
        assert difference(Case("", same, other)) is not None
    assert difference(Case("", same, same, outside=[1])) is not None
    assert difference(Case("", KeyError("no"), ValueError("no"))) is None
    assert difference(Case("", ValueError("no"), same)) is not None
    assert difference(Case("", same, NotImplementedError("yet"))) is None


def test_cases_are_of_all_kinds():
    cases = [run(seed) for seed in range(80)]
    compared = [case for case in cases if not isinstance(case.expected, Exception)]
    refused = [case for case in compared if isinstance(case.found, NotImplementedError)]
    assert len(compared) > 55 and len(refused) < 8
    assert len({case.text.rpartition("; ")[2].partition("(")[0] for case in compared}) > 40
