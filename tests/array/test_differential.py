"""Random expressions give what NumPy gives: see `differential`, which makes them of their seeds.

``GLASSLOOM_LONG_TESTS=1`` takes more seeds. A failure names its seed: ``differential.run(seed)``.
"""

import numpy as np
import pytest
from differential import Case, difference, run, run_corner
from long_tests import LONG_TESTS

pytestmark = pytest.mark.more

N_GROUPS, N_CASES = (12, 500) if LONG_TESTS else (4, 60)


@pytest.mark.parametrize("make", [run, run_corner])
@pytest.mark.parametrize("group", range(N_GROUPS))
def test_random_expressions_are_numpys(group, make):
    first = group * N_CASES
    wrong = []
    for seed in range(first, first + N_CASES):
        case = make(seed)
        found = difference(case)
        if found is not None:
            wrong.append(f"seed {seed}: {case.text}\n{found}")
    assert not wrong, "\n".join(wrong)


def test_seeds_that_once_were_wrong():
    for seed, make in [*((seed, run) for seed in ONCE_WRONG), *((seed, run_corner) for seed in CORNERS_ONCE_WRONG)]:
        case = make(seed)
        assert difference(case) is None, f"seed {seed}: {case.text}\n{difference(case)}"


ONCE_WRONG = (515, 1176, 1189, 1444, 1470, 1685, 5466)
CORNERS_ONCE_WRONG = (445, 952)


def test_differences_are_seen():
    same = np.arange(3.0)
    assert difference(Case("", same, same + 1e-12)) is None
    for other in (same + 0.1, same.astype("f4"), same[:2], same[None], TypeError("no"), AssertionError("no")):
        assert difference(Case("", same, other)) is not None
    assert difference(Case("", IndexError("no"), ValueError("no"))) is None
    assert difference(Case("", ValueError("no"), same)) is not None
    assert difference(Case("", same, NotImplementedError("yet"))) is None


def test_cases_are_of_all_kinds():
    cases = [run(seed) for seed in range(150)]
    compared = [case for case in cases if not isinstance(case.expected, Exception)]
    refused = [case for case in compared if isinstance(case.found, NotImplementedError)]
    assert len(compared) > 90 and len(refused) < 8
    assert len({case.text.rpartition("; ")[2].partition("(")[0] for case in compared}) > 40
