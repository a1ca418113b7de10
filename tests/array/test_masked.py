"""Masked arrays: NumPy's results and masks."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import chunks_of, full_shapes
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def masked(draw):
    """A masked array of NumPy's, and the same as a lazy one."""
    shape = draw(full_shapes)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.integers(-4, 9, size=shape).astype(draw(st.sampled_from(["float64", "int64"])))
    array = np.ma.masked_array(values, rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 1.0])))
    return array, ga.from_array(array, chunks=draw(chunks_of(shape)))


def same(lazy, expected, **tolerance):
    """Assert equal masks, equal types, and equal elements elsewhere."""
    found = lazy.compute(scheduler="inline")
    assert lazy.dtype == expected.dtype if expected is not np.ma.masked else True
    np.testing.assert_array_equal(np.ma.getmaskarray(np.ma.asarray(found)), np.ma.getmaskarray(np.ma.asarray(expected)))
    np.testing.assert_allclose(
        np.ma.filled(np.ma.asarray(found), 0).astype(complex), np.ma.filled(np.ma.asarray(expected), 0).astype(complex),
        **(tolerance or {"rtol": 1e-12}),
    )  # fmt: skip


@given(masked(), st.data())
def test_reductions_pass_over_what_is_masked(pair, data):
    array, lazy = pair
    axis = data.draw(st.none() | st.integers(0, array.ndim - 1))
    for name in ("sum", "prod", "min", "max", "any", "all", "mean"):
        same(getattr(lazy, name)(axis), getattr(array, name)(axis), rtol=1e-9)
    counts = np.asarray(array.count(axis))
    if (counts > 0).all():
        for name in ("var", "std"):
            same(getattr(lazy, name)(axis), getattr(array, name)(axis), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ga.ma.count(lazy, axis).compute(), counts)
    place = axis or 0
    same(ga.cumsum(lazy, place), array.cumsum(place))


@given(masked(), st.data())
def test_elements_keep_their_masks(pair, data):
    array, lazy = pair
    same(lazy + 1, array + 1)
    same(lazy * lazy, array * array)
    same(lazy > 2, array > 2)
    same(lazy[::-1], array[::-1])
    same(lazy.T, array.T)
    same(lazy.ravel(), array.ravel())
    same(lazy.rechunk(data.draw(chunks_of(array.shape))), array)
    same(ga.concatenate([lazy, lazy]), np.ma.concatenate([array, array]))
    same(ga.ma.where(lazy > 2, lazy, 0), np.ma.where(array > 2, array, 0))
    same(ga.ma.filled(lazy, 7), array.filled(7))
    same(ga.ma.getdata(lazy), np.ma.getdata(array))
    same(ga.ma.getmaskarray(lazy), np.ma.getmaskarray(array))
    weights = np.arange(array.size).reshape(array.shape) + 1
    if array.count():
        same(ga.ma.average(lazy, weights=weights), np.ma.average(array, weights=weights))


@pytest.mark.parametrize(
    ("name", "args"),
    [("masked_equal", (2,)), ("masked_greater", (2,)), ("masked_greater_equal", (2,)), ("masked_inside", (1, 3)),
     ("masked_invalid", ()), ("masked_less", (2,)), ("masked_less_equal", (2,)), ("masked_not_equal", (2,)),
     ("masked_outside", (1, 3)), ("masked_values", (2.0,)), ("fix_invalid", ())],
)  # fmt: skip
def test_elements_are_masked_by_value(name, args):
    array = np.array([0.0, 1, 2, np.nan, 3, np.inf, 4])
    lazy = ga.from_array(array, chunks=3)
    same(getattr(ga.ma, name)(lazy, *args), getattr(np.ma, name)(array, *args))
    same(ga.ma.masked_where(lazy > 2, lazy), np.ma.masked_where(array > 2, array))


def test_fill_values_are_kept():
    lazy = ga.ma.masked_array(ga.arange(4, chunks=2), [True, False, False, True], fill_value=9)
    assert ga.ma.filled(lazy).compute().tolist() == [9, 1, 2, 9]
    ga.ma.set_fill_value(lazy, 5)
    assert ga.ma.filled(lazy).compute().tolist() == [5, 1, 2, 5]
    assert ga.ma.is_masked_kind(lazy + 1)


def test_masks_are_not_lost_in_files(tmp_path):
    lazy = ga.ma.masked_equal(ga.arange(4, chunks=2), 1)
    for write in (lambda: ga.to_npy_stack(tmp_path / "x", lazy), lambda: ga.store(lazy, np.zeros(4))):
        with pytest.raises(TypeError, match="hold no masks; write ga.ma.filled"):
            write()
    with pytest.raises(TypeError, match=r"weights of shape \(2,\) for an array of shape \(4,\)"):
        ga.ma.average(lazy, weights=[1, 2])


VALUES = (
    7, np.ma.masked, np.ma.masked_array([9], [True]), np.ma.masked_array([8, 9], [True, False]), np.array([3, 4]),
    np.ma.masked_array(5, True),
)  # fmt: skip
MASK = np.array([False, True, False, False, True])
PLACES = np.array([3, 1])


@pytest.mark.pairwise
@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("of_masks", [True, False], ids=["masked", "nothing-masked"])
@pytest.mark.parametrize("dtype", ["i8", "f8"])
def test_assigned_elements_are_masked_as_numpy_masks_them(value, of_masks, dtype):
    array = np.ma.masked_array(np.arange(5, dtype=dtype), [0, 1, 0, 1, 0] if of_masks else np.ma.nomask)
    keys = [(key, key) for key in (slice(1, 3), slice(3, 0, -2), PLACES, MASK)]
    keys += [(key, ga.from_array(key, chunks=2)) for key in (PLACES, MASK)]
    if np.size(value) == 1:
        keys += [(..., ...)]
    if np.ndim(value) == 0:
        keys += [(1, 1), (-1, -1)]
    for key, own in keys:
        for is_lazy in (False, True):
            expected, lazy = array.copy(), ga.from_array(array, chunks=2)
            expected[key] = value
            lazy[own] = ga.from_array(value, chunks=1) if is_lazy and np.ndim(value) else value
            same(lazy, expected)


def test_masks_stay_where_lazy_masks_replace_others():
    array = np.ma.masked_array(np.arange(12.0).reshape(3, 4), np.arange(12).reshape(3, 4) % 5 == 0)
    for key, value in [
        (lambda x: x > 6, 0), (lambda x: x > 6, np.ma.masked), (lambda x: x[:, 0] > 3, np.arange(4)),
        (lambda x: (slice(None), x[0] > 1), -1), (lambda x: (1, x[0] > 1), -1),
        (lambda x: x[:, 1] > 3, np.ma.masked_array(np.arange(4), [0, 1, 1, 0])), (lambda x: x > 100, 5),
    ]:  # fmt: skip
        expected, lazy = array.copy(), ga.from_array(array, chunks=2)
        expected[key(expected)] = value
        lazy[key(lazy)] = value
        same(lazy, expected)


def test_a_plain_array_takes_what_is_below_a_mask():
    value = np.ma.masked_array([7, 8], [True, False])
    for key in (slice(0, 2), [0, 1]):
        expected, lazy = np.arange(4), ga.arange(4, chunks=2)
        expected[key] = value
        lazy[key] = value
        assert lazy.compute().tolist() == expected.tolist()


def test_repeated_arrays_keep_their_masks():
    row = np.ma.masked_array([1, 2, 3], [True, False, False])
    same(ga.broadcast_to(ga.from_array(row, chunks=2), (2, 3)), np.ma.stack([row, row]))


@pytest.mark.parametrize(
    "key",
    [(slice(1, 3),), (0, 1), ([0, 3], [1, 2]), (slice(None), -1), "mask", "masked mask", "lines", "lazy positions"],
)
def test_masking_keeps_the_data_below(key):
    """NumPy keeps it: a mask that is taken off again shows it."""
    values = np.arange(16.0).reshape(4, 4)
    array = np.ma.masked_array(values.copy(), values % 5 == 0)
    lazy = ga.from_array(array, chunks=(2, 3))
    own, others = key, key
    if key == "mask":
        own, others = array.data > 6, lazy > 6
    elif key == "masked mask":
        own, others = array > 6, lazy > 6
    elif key == "lines":
        own, others = array.data[:, 0] > 3, ga.asarray(values[:, 0]) > 3
    elif key == "lazy positions":
        own, others = [3, 1], ga.asarray([3, 1])
    array[own] = np.ma.masked
    lazy[others] = np.ma.masked
    same(lazy, array)
    np.testing.assert_array_equal(lazy.compute().data, values)
