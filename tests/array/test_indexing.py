"""Lists of positions on several axes, assignment, and functions that find or pick elements agree with NumPy."""

import warnings

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, equal, full_shapes, slices_of, values_of
from hypothesis import given
from hypothesis import strategies as st

INTEGERS = ("int64",)


@st.composite
def keys_of(draw, shape, *, lazy=False, repeats=True):
    """A key with any mix of integers, slices, new axes, lists (of up to two axes, broadcasting) and masks."""
    points = draw(st.lists(st.integers(0 if repeats else 1, 4), max_size=2).map(tuple))
    key = []
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 9)):
        kind = draw(st.sampled_from(["int", "slice", "list", "list", "none", "mask"]))
        if kind == "none":
            key.append(None)
            continue
        length = shape[axis]
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        if kind == "int":
            key.append(draw(st.integers(-length, length - 1)))
        elif kind == "slice":
            key.append(draw(slices_of(length)))
        elif kind == "list":
            own = tuple(n if draw(st.booleans()) else 1 for n in points)[draw(st.integers(0, len(points))) :]
            own = own or ((1,) if not points else points[-1:])
            key.append(rng.integers(-length, length, size=own))
        elif kind == "mask":
            mask = np.zeros(length, dtype=bool)
            chosen = rng.permutation(length)[: (points[-1] if points else 1)]
            mask[chosen] = True
            key.append(mask)
        axis += 1
    return tuple(key)


def numpy_or_none(array, key):
    try:
        return array[key]
    except IndexError:
        return None


@given(arrays(full_shapes, INTEGERS), st.data())
def test_any_mix_of_lists_masks_slices_and_new_axes_agrees_with_numpy(pair, data):
    array, lazy = pair
    key = data.draw(keys_of(array.shape))
    expected = numpy_or_none(array, key)
    if expected is None:
        with pytest.raises(IndexError):
            lazy[key]
    else:
        equal(lazy[key], expected)


@given(arrays(full_shapes, INTEGERS), st.data())
def test_lazy_positions_agree_with_numpy(pair, data):
    array, lazy = pair
    key = data.draw(keys_of(array.shape))
    expected = numpy_or_none(array, key)
    is_list = [isinstance(entry, np.ndarray) and entry.dtype.kind == "i" for entry in key]
    if expected is not None and any(is_list):
        wanted = tuple(ga.from_array(e, chunks=2) if found else e for e, found in zip(key, is_list, strict=True))
        equal(lazy[wanted], expected)


@given(arrays(full_shapes, ("int64", "float64")), st.data())
def test_vindex_takes_points_and_puts_them_first(pair, data):
    array, lazy = pair
    n_axes = data.draw(st.integers(1, array.ndim))
    points = [data.draw(st.lists(st.integers(-n, n - 1), min_size=3, max_size=3)) for n in array.shape[:n_axes]]
    behind = [data.draw(slices_of(n)) for n in array.shape[n_axes:]]
    expected = array[tuple(np.array(p) for p in points)][(slice(None), *behind)]
    equal(lazy.vindex[(*points, *behind)], expected)


@given(arrays(full_shapes, ("int64", "float64")), st.data())
def test_assignment_agrees_with_numpy(pair, data):
    array, lazy = pair
    key = data.draw(keys_of(array.shape))
    selected = numpy_or_none(array, key)
    if selected is None:
        return
    own = tuple(n if data.draw(st.booleans()) else 1 for n in selected.shape)[
        data.draw(st.integers(0, selected.ndim)) :
    ]
    value = data.draw(values_of(own, "int64")) + 100
    lists = [entry for entry in key if isinstance(entry, np.ndarray)]
    if lists:  # of points that repeat, which one wins is NumPy's secret: let all bring the same
        value = value.ravel()[0] if value.size else 7
    expected = array.copy()
    expected[key] = value
    wanted, before = lazy.copy(), lazy.name
    is_lazy = np.ndim(value) and data.draw(st.booleans())
    wanted[key] = ga.from_array(value, chunks=data.draw(chunks_of(value.shape))) if is_lazy else value
    equal(wanted, expected)
    assert lazy.name == before


@given(arrays(full_shapes, INTEGERS), st.data())
def test_assigning_to_points_puts_each_value_at_its_point(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(0, array.ndim - 1))
    positions = data.draw(st.lists(st.integers(0, array.shape[axis] - 1), unique=True, min_size=1))
    key = (slice(None),) * axis + (positions,)
    value = data.draw(values_of(array[key].shape, "int64"))
    expected = array.copy()
    expected[key] = value
    lazy[key] = value
    equal(lazy, expected)
    flat = data.draw(st.lists(st.integers(0, array.size - 1), unique=True, min_size=1))
    points = np.unravel_index(flat, array.shape)
    expected[points] = np.arange(len(flat)) - 50
    lazy[points] = np.arange(len(flat)) - 50
    equal(lazy, expected)


@given(arrays(full_shapes, ("int64", "float64")), st.data())
def test_assigning_where_a_mask_is_true(pair, data):
    array, lazy = pair
    expected = array.copy()
    n_axes = data.draw(st.integers(1, array.ndim))
    mask = data.draw(values_of(array.shape[:n_axes], "bool"))
    value = data.draw(values_of(array.shape[n_axes:], "int64")) if data.draw(st.booleans()) else 7
    expected[mask] = value
    lazy[ga.from_array(mask, chunks=2) if data.draw(st.booleans()) else mask] = value
    equal(lazy, expected)


def test_a_mask_of_numpy_takes_a_value_for_each_element():
    x = ga.arange(6, chunks=4)
    x[np.array([True, False, True, False, False, True])] = [10, 20, 30]
    equal(x, [10, 1, 20, 3, 4, 30])


def test_what_was_made_before_an_assignment_keeps_its_values():
    x = ga.zeros(4, chunks=2)
    y, z = x + 1, x.copy()
    x[1:3] = 5
    x[x > 4] += 1
    equal(x, [0.0, 6, 6, 0])
    equal(y, [1.0, 1, 1, 1])
    equal(z, [0.0, 0, 0, 0])


def test_assignment_reads_only_blocks_that_change_and_passes_the_others_on():
    x = ga.ones(100, chunks=10)
    x[3] = 7
    assert x.sum().compute(scheduler="inline") == 106
    assert x.chunks == ((10,) * 10,)


@given(arrays(full_shapes, INTEGERS), st.data())
def test_what_a_mask_selected_is_changed_and_put_back(pair, data):
    array, lazy = pair
    n_axes = data.draw(st.integers(1, array.ndim))
    mask = data.draw(values_of(array.shape[:n_axes], "bool"))
    lazy_mask = ga.from_array(mask, chunks=data.draw(chunks_of(mask.shape)))
    expected = array.copy()
    expected[mask] += 1
    lazy[lazy_mask] += 1
    equal(lazy, expected)


@pytest.mark.parametrize(
    ("key", "value", "error", "message"),
    [
        (slice(2), [1, 2, 3], ValueError, r"a value of shape \(3,\) .* can't be assigned to a part of shape \(2, 4\)"),
        (12, 1, IndexError, "index 12 is out of bounds"),
    ],
)
def test_a_wrong_assignment_raises_at_once(key, value, error, message):
    x = ga.ones((10, 4), chunks=(5, 2))
    with pytest.raises(error, match=message):
        x[key] = value


def test_a_single_truth_value_adds_an_axis():
    x = np.arange(3)
    for key in (True, False, np.True_):
        np.testing.assert_array_equal(ga.from_array(x, chunks=2)[key].compute(scheduler="inline"), x[key])


@given(arrays(full_shapes, ("int64", "float64")))
def test_where_elements_are_not_zero(pair):
    array, lazy = pair
    np.testing.assert_array_equal(ga.argwhere(lazy).compute(scheduler="inline"), np.argwhere(array))
    np.testing.assert_array_equal(ga.flatnonzero(lazy).compute(scheduler="inline"), np.flatnonzero(array))
    for found, expected in zip(lazy.nonzero(), array.nonzero(), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.compute(scheduler="inline"), expected)
    assert len(np.where(lazy)) == array.ndim
    assert int(ga.count_nonzero(lazy).compute(scheduler="inline")) == np.count_nonzero(array)
    equal(ga.count_nonzero(lazy, axis=0), np.count_nonzero(array, axis=0))


@given(st.data(), st.sampled_from(["left", "right"]))
def test_searchsorted_agrees_with_numpy(data, side):
    array, _ = data.draw(arrays((data.draw(st.integers(1, 9)),), ("int64", "float64")))
    array = np.sort(np.nan_to_num(array))
    values, lazy_values = data.draw(arrays(full_shapes, ("int64", "float64")))
    lazy = ga.from_array(array, chunks=data.draw(chunks_of(array.shape)))
    values, lazy_values = np.nan_to_num(values), ga.where(ga.isnan(lazy_values), 0, lazy_values)
    equal(ga.searchsorted(lazy, lazy_values, side), np.searchsorted(array, values, side))
    equal(np.searchsorted(lazy, 1), np.asarray(np.searchsorted(array, 1)))


@given(arrays(full_shapes, INTEGERS), arrays(full_shapes, INTEGERS), st.booleans())
def test_isin_agrees_with_numpy(pair, other, invert):
    equal(ga.isin(pair[1], other[1], invert=invert), np.isin(pair[0], other[0], invert=invert))
    equal(np.isin(pair[1], [1, 2]), np.isin(pair[0], [1, 2]))


@given(arrays(full_shapes, INTEGERS), st.data())
def test_elements_along_an_axis(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    order = np.argsort(array, axis=axis)
    wanted = ga.from_array(order, chunks=2) if data.draw(st.booleans()) else order
    equal(ga.take_along_axis(lazy, wanted, axis), np.take_along_axis(array, order, axis))


@given(arrays(full_shapes, INTEGERS), st.data())
def test_choose_and_select_agree_with_numpy(pair, data):
    array, lazy = pair
    which = data.draw(values_of(array.shape, "int64")) % 3
    lazy_which = ga.from_array(which, chunks=3)
    equal(ga.choose(lazy_which, [lazy, 10, lazy * 2]), np.choose(which, [array, 10, array * 2]))
    equal(
        ga.select([lazy > 2, lazy > 0], [lazy, lazy * 2], -1), np.select([array > 2, array > 0], [array, array * 2], -1)
    )


@given(arrays(full_shapes, ("float64",)), st.data())
def test_triangles_and_diagonals_agree_with_numpy(pair, data):
    array, lazy = pair
    k = data.draw(st.integers(-4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if array.ndim >= 2:
            equal(ga.tril(lazy, k), np.tril(array, k))
            equal(np.triu(lazy, k), np.triu(array, k))
            axes = data.draw(st.permutations(range(array.ndim)))[:2]
            equal(ga.diagonal(lazy, k, *axes), np.diagonal(array, k, *axes))
            equal(ga.trace(lazy, k, *axes), np.trace(array, k, *axes), equal_nan=True, rtol=1e-12)
        if array.ndim <= 2:
            equal(ga.diag(lazy, k), np.diag(array, k))


def test_blocks_may_be_picked_in_any_order_and_when_their_lengths_are_not_known():
    x = ga.arange(10, chunks=(3, 4, 3)[0]).rechunk(((3, 4, 3),))
    np.testing.assert_array_equal(x.blocks[::-1].compute(), [7, 8, 9, 3, 4, 5, 6, 0, 1, 2])
    odd = x[x % 2 == 1]
    np.testing.assert_array_equal(odd.blocks[1].compute(), [3, 5])
    np.testing.assert_array_equal(odd.blocks[::2].compute(), [1, 7, 9])
