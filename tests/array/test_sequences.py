"""Products of sequences, polynomials and sets at their edges: NumPy's values, and its types."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import equal

SEQUENCES = (
    [1, 2, 3.0], [np.inf, 1], [np.nan], [1, -np.inf, 2, np.nan, 5, 0, 0], [0, 0.0], [True, True, True, True], [True],
    [False, True, True], [1, 2, 3], [1j, 2, np.inf],
)  # fmt: skip


@pytest.mark.each_choice
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_nothing_is_multiplied_beyond_the_ends(name, mode):
    for one in map(np.array, SEQUENCES):
        for other in map(np.array, SEQUENCES):
            expected = getattr(np, name)(one, other, mode)
            for chunks in (1, 2, 7):
                equal(
                    getattr(ga, name)(ga.from_array(one, chunks=chunks), ga.from_array(other, chunks=2), mode), expected
                )


@pytest.mark.parametrize("p", [[], [5], [1, 2], [0.5, 1]], ids=repr)
@pytest.mark.parametrize("x", [[np.inf, 1, np.nan], [1, 2, 3], [True, False]], ids=repr)
def test_polynomials_begin_with_zero(p, x):
    with np.errstate(all="ignore"):
        equal(ga.polyval(p, ga.from_array(np.array(x), chunks=2)), np.polyval(p, np.array(x)))


@pytest.mark.parametrize("name", ["intersect1d", "union1d", "setdiff1d", "setxor1d"])
@pytest.mark.parametrize("types", [("i8", "f8"), ("f8", "i8"), ("u1", "i2"), ("i4", "c16"), ("?", "i8"), ("u8", "i8")])
def test_sets_have_the_type_of_both(name, types):
    one, other = np.array([3, 1, 0, 1]).astype(types[0]), np.array([1, 0, 2]).astype(types[1])
    expected = getattr(np, name)(one, other)
    lazy = getattr(ga, name)(ga.from_array(one, chunks=2), ga.from_array(other, chunks=2))
    found = lazy.compute(scheduler="inline")
    assert lazy.dtype == found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


COEFFICIENTS = ([3, 2, 0, 1], [5], [0.5, 1j], [True, False, True])


@pytest.mark.parametrize("name", ["polyadd", "polysub"])
def test_polynomials_of_different_lengths_are_added(name):
    for one in map(np.array, COEFFICIENTS):
        for other in map(np.array, COEFFICIENTS):
            if name == "polysub" and one.dtype == other.dtype == bool and len(one) == len(other):
                continue  # NumPy has no difference of truth values
            equal(getattr(ga, name)(ga.from_array(one, chunks=2), other), getattr(np, name)(one, other))


@pytest.mark.parametrize("p", COEFFICIENTS, ids=repr)
def test_polynomials_are_differentiated_and_integrated(p):
    lazy = ga.from_array(np.array(p), chunks=2)
    for m in range(4):
        equal(ga.polyder(lazy, m), np.polyder(np.array(p), m))
        equal(ga.polyint(lazy, m), np.polyint(np.array(p), m))
    equal(np.polyint(lazy, 2, [1, 2]), np.polyint(np.array(p), 2, [1, 2]))
    with pytest.raises(ValueError, match="1 constants k for m=0|2 constants k for m=3"):
        ga.polyint(lazy, 3, [1, 2])
