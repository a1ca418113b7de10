"""Assigning by masks and positions that are lazy (or NumPy's): what NumPy's arrays hold afterwards."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, equal, full_shapes, values_of
from glassloom.errors import ChunkError
from hypothesis import given
from hypothesis import strategies as st

KINDS = ("float64", "int64")


def check(array, lazy, key, lazy_key, value, lazy_value):
    expected = array.copy()
    expected[key] = value
    lazy[lazy_key] = lazy_value
    equal(lazy, expected)


@given(arrays(full_shapes, KINDS), st.data())
def test_values_where_a_mask_is_true(pair, data):
    array, lazy = pair
    begin = data.draw(st.integers(0, array.ndim - 1))
    end = data.draw(st.integers(begin + 1, array.ndim))
    mask = np.random.default_rng(data.draw(st.integers(0, 99))).random(array.shape[begin:end]) < 0.5
    key = (*(slice(None),) * begin, mask)
    selected = array[key].shape
    form = data.draw(st.sampled_from(["each", "same", "one", "row"]))
    shape = {"each": selected, "same": (), "one": (1,), "row": selected[begin + 1 :]}[form]
    value = data.draw(values_of(shape, "int64"))
    lazy_mask = data.draw(st.sampled_from([mask, ga.from_array(mask, chunks=data.draw(chunks_of(mask.shape)))]))
    kept = ga.from_array(value, chunks=data.draw(chunks_of(shape))) if data.draw(st.booleans()) else value
    check(array, lazy, key, (*key[:-1], lazy_mask), value, kept)


@given(arrays((4, 5, 3), KINDS), st.data())
def test_masks_beside_integers_and_slices(pair, data):
    array, lazy = pair
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=5, max_size=5)))
    first, last = data.draw(
        st.sampled_from([(1, slice(None)), (slice(1, 3), 2), (slice(None, None, 2), slice(0, 2)), (-1, 0)])
    )
    key = (first, mask, last)
    value = data.draw(values_of(array[key].shape, "int64"))
    check(array, lazy, key, (first, ga.from_array(mask, chunks=2), last), value, data.draw(st.sampled_from([value])))


def test_the_wrong_number_of_values_is_an_error():
    x = ga.arange(6, chunks=2)
    x[x > 2] = [1, 2]
    with pytest.raises(ValueError, match="2 values can't be assigned to the 3 elements where the mask is true"):
        x.compute()
    y = ga.arange(6, chunks=2)
    with pytest.raises(IndexError, match="mask of shape"):
        y[ga.ones(5, dtype=bool)] = 3


@given(arrays(full_shapes, KINDS), st.data())
def test_values_at_lazy_positions(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(0, array.ndim - 1))
    count = data.draw(st.integers(0, 6))
    shape = data.draw(st.sampled_from([(count,), (), (2, count)]))
    length = array.shape[axis]
    places = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-length, length, shape)
    before = (slice(None),) * axis
    key = (*before, places)
    value = data.draw(values_of(data.draw(st.sampled_from([(), array[key].shape])), "int64"))
    if value.ndim:  # of equal positions the last counts: let them all get the same
        value = np.broadcast_to(np.arange(value.shape[-1]), value.shape) if axis < array.ndim - 1 else value * 0 + 3
    check(array, lazy, key, (*before, ga.from_array(places, chunks=data.draw(chunks_of(shape)))), value, value)


@given(arrays((4, 5, 3), KINDS), st.data())
def test_lazy_positions_on_several_axes(pair, data):
    array, lazy = pair
    rows, columns = np.array([0, 3, -1]), np.array([4, 0, 1])
    entries = data.draw(st.sampled_from([
        (rows, columns), (rows, slice(None), np.array([0, 2, 1])), (rows, 2), (-1, columns), (slice(1, 3), columns), (rows, slice(0, 2), 1),
        (2, slice(None), np.array([2, 0])), (rows[:, None], columns[:2]), (slice(None), columns, 1),
    ]))  # fmt: skip
    which = data.draw(st.sampled_from([n for n, entry in enumerate(entries) if isinstance(entry, np.ndarray)]))
    value = np.arange(array[entries].size).reshape(array[entries].shape)
    key = tuple(ga.from_array(entry, chunks=2) if n == which else entry for n, entry in enumerate(entries))
    check(array, lazy, entries, key, value, data.draw(st.sampled_from([value, ga.from_array(value, chunks=2)])))


def test_positions_whose_number_is_not_known():
    array = np.array([5, 0, 3, 0, 7, 0])
    lazy, expected = ga.from_array(array, chunks=2), array.copy()
    (places,) = lazy.nonzero()
    lazy[places] = lazy[places] * 10
    expected[array.nonzero()] *= 10
    equal(lazy, expected)
    lazy[places] = 1
    equal(lazy, (expected > 0).astype(int))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        lazy[ga.asarray([1, 9])] = 1
        lazy.compute()
    table = ga.ones((4, 4), chunks=2)
    with pytest.raises(ChunkError, match="compute_chunk_sizes"):
        table[places, 1:] = 3


def test_a_mask_of_the_array_takes_its_own_values():
    array = np.arange(12.0).reshape(3, 4)
    lazy = ga.from_array(array, chunks=2)
    lazy[lazy > 5] = lazy[lazy > 5] * 2
    equal(lazy, np.where(array > 5, array * 2, array))


@pytest.mark.parametrize("key", [(), ..., np.True_])
def test_an_array_without_axes_is_assigned_to(key):
    lazy = ga.from_array(np.array(3.0))
    lazy[key] = 5
    equal(lazy, 5.0)


ARRAYS = {
    "i8": np.arange(4), "u1": np.arange(4, dtype="u1"), "f8": np.arange(4.0), "?": np.array([True, False, True, False]),
    "c16": np.arange(4) * 1j, "M8[D]": np.arange(4).astype("M8[D]"), "m8[s]": np.arange(4).astype("m8[s]"),
    "U2": np.array(["a", "b", "c", "d"], "U2"),
}  # fmt: skip
SCALARS = (np.nan, np.inf, 300, -3, 10**30, 1j, 2.7, True, None, "a", "12", np.float64(np.nan), np.int64(300), np.array(300),
           np.complex128(1j), np.timedelta64(1, "s"), np.datetime64("2020-01-01"), np.ma.masked)  # fmt: skip
MASK, PLACES = np.array([True, False, True, False]), np.array([0, 2])
KEYS = (slice(1, 3), 1, ..., slice(0, 0), [1, 2], MASK)


def outcome(call):
    """Return what a call returns, or the type of what it raises."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except (TypeError, ValueError, OverflowError, np.ma.MaskError) as error:
        return type(error)


def assigned(array, key, value):
    array[key] = value
    return array


def as_numpys(expected, found):
    if isinstance(expected, type) or isinstance(found, type):
        assert found is expected
    else:
        equal(found, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex values")
@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("value", [*SCALARS, [300], [np.nan], [1j], [np.int64(300)], [None]], ids=repr)
def test_what_does_not_fit_is_refused_at_once_as_numpy_refuses_it(dtype, value):
    array = ARRAYS[dtype]
    for key in KEYS:
        if isinstance(value, list) and isinstance(key, int):
            continue  # an element is no list, where NumPy takes one of length 1 or not
        expected = outcome(lambda key=key: assigned(array.copy(), key, value))
        as_numpys(expected, outcome(lambda key=key: assigned(ga.from_array(array, chunks=2), key, value)))
    for key in (MASK, PLACES):
        expected = outcome(lambda key=key: assigned(array.copy(), key, value))
        lazy_key = ga.from_array(key, chunks=2)
        as_numpys(expected, outcome(lambda key=lazy_key: assigned(ga.from_array(array, chunks=2), key, value)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex values")
@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("value", [value for value in SCALARS if np.asarray(value).dtype.kind != "M" and value is not np.ma.masked],
                         ids=repr)  # fmt: skip
def test_values_of_new_elements_are_refused_as_numpy_refuses_them(dtype, value):
    array = ARRAYS[dtype]

    def filled(x):
        x.fill(value)
        return x

    for call in (
        lambda xp, x: filled(x), lambda xp, x: xp.full(3, value, dtype=dtype), lambda xp, x: xp.full_like(x, value),
        lambda xp, x: xp.pad(x, 1, constant_values=value), lambda xp, x: xp.insert(x, 1, value),
    ):  # fmt: skip
        expected = outcome(lambda call=call: call(np, array.copy()))
        as_numpys(expected, outcome(lambda call=call: call(ga, ga.from_array(array, chunks=2))))


@pytest.mark.parametrize("value", [300, np.nan, 1j, np.int64(300), None, 7], ids=repr)
def test_fields_refuse_what_does_not_fit(value):
    rows = np.zeros(3, dtype=[("a", "u1"), ("b", "f4")])
    for key in ("a", "b"):
        expected = outcome(lambda key=key: assigned(rows.copy(), key, value))
        found = outcome(lambda key=key: assigned(ga.from_array(rows, chunks=2), key, value))
        as_numpys(*((each if isinstance(each, type) else each[key]) for each in (expected, found)))


@pytest.mark.parametrize("value", [300, -3, np.nan, 2.7, 1j, None, np.int64(300), 7], ids=repr)
@pytest.mark.parametrize("dtype", ["u1", "i8", "f4"])
def test_copyto_takes_what_numpy_takes(dtype, value):
    def copied(xp, x):
        xp.copyto(x, value)
        return x

    expected = outcome(lambda: copied(np, np.zeros(3, dtype)))
    as_numpys(expected, outcome(lambda: copied(ga, ga.zeros(3, dtype=dtype, chunks=2))))


def test_arrays_are_cast_as_numpy_casts_them():
    for value in (np.array([300, 1]), np.array([1.5, 2.5])):
        expected, lazy = np.zeros(4, "u1"), ga.zeros(4, dtype="u1", chunks=2)
        expected[1:3] = value
        lazy[1:3] = ga.from_array(value, chunks=1)
        equal(lazy, expected)


@pytest.mark.parametrize("is_lazy", [False, True])
def test_a_mask_of_the_whole_array_takes_one_axis_of_values(is_lazy):
    array = np.arange(6).reshape(2, 3)
    mask = array > 1
    for value in (np.ones((1, 4)), np.ones((1, 1)), [[1]]):
        with pytest.raises(TypeError, match="0 or 1-dimensional"):
            array.copy()[mask] = value
        lazy = ga.from_array(array, chunks=2)
        with pytest.raises(TypeError, match="0 or 1 axes"):
            lazy[ga.from_array(mask, chunks=2) if is_lazy else mask] = value
