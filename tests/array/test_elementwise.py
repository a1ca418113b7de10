"""Functions applied element by element give what NumPy gives: values, types, shapes."""

import operator

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import NUMBERS, arrays, chunks_of, equal, shapes, values_of
from hypothesis import given
from hypothesis import strategies as st

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.lt, np.maximum, np.hypot]
UNARY = [np.negative, np.absolute, np.sqrt, np.sin, np.exp, np.isnan, np.isfinite, np.square, np.conjugate, np.sign]


def both(function, *args):
    """The result, or the type of the error."""
    with np.errstate(all="ignore"):
        try:
            return function(*args)
        except TypeError as error:
            return type(error)


@st.composite
def broadcasting_pairs(draw):
    shape = draw(shapes)
    other = tuple(1 if draw(st.booleans()) else length for length in shape)[draw(st.integers(0, len(shape))) :]
    pair = []
    for lengths in (shape, other):
        array = draw(values_of(lengths, draw(st.sampled_from(NUMBERS))))
        pair.append((array, ga.from_array(array, chunks=draw(chunks_of(lengths)))))
    return pair if draw(st.booleans()) else pair[::-1]


@given(broadcasting_pairs(), st.sampled_from(BINARY))
def test_two_arrays_broadcast_and_promote_as_in_numpy(pair, function):
    (x, lazy_x), (y, lazy_y) = pair
    expected, found = both(function, x, y), both(function, lazy_x, lazy_y)
    if isinstance(expected, type):
        assert isinstance(found, type)
        assert issubclass(found, expected)
    else:
        with np.errstate(all="ignore"):
            equal(found, expected)


@given(arrays(), st.sampled_from([2, 2.5, 1j, True, np.float32(2), np.int8(3), np.float64(0.5)]), st.booleans())
def test_python_scalars_are_weak_and_numpy_scalars_are_not(pair, scalar, reflected):
    array, lazy = pair
    args, lazy_args = ((scalar, array), (scalar, lazy)) if reflected else ((array, scalar), (lazy, scalar))
    with np.errstate(all="ignore"):
        equal(operator.mul(*lazy_args), operator.mul(*args))


@given(arrays(), st.sampled_from(UNARY))
def test_ufuncs_of_one_array_give_numpys_values_and_types(pair, function):
    array, lazy = pair
    expected, found = both(function, array), both(function, lazy)
    if isinstance(expected, type):
        assert isinstance(found, type)
    else:
        with np.errstate(all="ignore"):
            equal(found, expected)


@given(arrays(dtypes=("float64", "int64")))
def test_ufuncs_with_several_outputs_give_each(pair):
    array, lazy = pair
    for found, expected in zip(ga.modf(lazy), np.modf(array), strict=True):
        equal(found, expected)


@given(arrays(dtypes=("float64", "int64", "uint8")))
def test_where_clip_round_and_isclose_agree_with_numpy(pair):
    array, lazy = pair
    equal(ga.where(lazy > 1, lazy, 0), np.where(array > 1, array, 0))
    equal(lazy.clip(1, 3), array.clip(1, 3))
    equal(np.round(lazy, 1), np.round(array, 1))
    equal(ga.isclose(lazy, 1, equal_nan=True), np.isclose(array, 1, equal_nan=True))


def test_numpys_functions_and_operators_on_lazy_arrays_stay_lazy():
    x = ga.arange(6, chunks=2)
    for made in (np.add(x, 1), np.arange(6) + x, np.sin(x), np.sum(x), np.concatenate([x, x]), np.where(x > 1, x, 0)):
        assert isinstance(made, ga.Array)


def test_a_python_scalar_that_does_not_fit_raises_at_the_users_line():
    with pytest.raises(OverflowError, match="300"):
        ga.ones(3, dtype="uint8") + 300


def test_shapes_that_do_not_broadcast_are_named_with_their_chunks():
    x, y = ga.ones((4, 3), chunks=2), ga.ones((5, 3), chunks=(5, 3))
    with pytest.raises(
        ValueError, match=r"\(4, 3\) in chunks \(\(2, 2\), \(2, 1\)\) and \(5, 3\) in chunks \(\(5,\), \(3,\)\)"
    ):
        x + y


def test_an_unsafe_cast_is_refused_where_casting_forbids_it():
    with pytest.raises(TypeError, match="from float64 to int64 with casting='safe'"):
        ga.ones(3).astype(int, casting="safe")
    equal(ga.full(3, 1.7, chunks=2).astype("int16"), np.array([1, 1, 1], "int16"))


def test_a_structured_array_gives_its_fields():
    array = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", int), ("b", float)])
    equal(ga.from_array(array, chunks=1)["b"], array["b"])


def test_datetimes_are_subtracted_as_in_numpy():
    days = np.array(["2024-02-28", "2024-03-01", "2024-03-05"], dtype="datetime64[D]")
    equal(ga.from_array(days, chunks=2) - days[0], days - days[0])


@pytest.mark.parametrize("convert", [bool, int, float, complex])
def test_an_array_of_one_element_becomes_a_python_number(convert):
    assert convert(ga.full((), 3)) == convert(3)
    with pytest.raises((TypeError, ValueError), match="ambiguous|only one element"):
        convert(ga.ones(2))


def test_operands_that_numpy_does_not_take_raise_type_errors():
    with pytest.raises(TypeError, match="unsupported operand"):
        ga.ones(3) + object()
