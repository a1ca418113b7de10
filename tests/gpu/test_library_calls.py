"""What the engine calls of CuPy, RMM and cuDF is there and takes these arguments. (This needs the libraries, not a GPU.)"""

from __future__ import annotations

import library_calls
import pytest

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("module", ["pynvml", "cupy", "cupyx"])
def test_all_calls_fit(module):
    assert library_calls.problems(module) == []


@pytest.mark.parametrize("module", ["rmm", "cudf"])
def test_all_calls_of_what_may_be_missing_fit(module):
    pytest.importorskip(module)
    assert library_calls.problems(module) == []


def test_cupy_lacks_what_the_simulated_device_lacks():
    assert library_calls.gap_problems() == []
