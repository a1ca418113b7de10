"""Indexing gives NumPy's elements and NumPy's errors."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, equal, full_shapes, indices_of, shapes, slices_of
from glassloom.errors import ChunkError
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def indexed(draw):
    array, lazy = draw(arrays(shapes, ("int64",)))
    return array, lazy, draw(indices_of(array.shape))


@given(indexed())
def test_integers_slices_new_axes_and_ellipsis_select_what_numpy_selects(case):
    array, lazy, index = case
    equal(lazy[index], array[index])


@given(indexed())
def test_a_slice_of_a_sum_is_the_sum_of_slices(case):
    array, lazy, index = case
    equal((lazy + array * 2)[index], (array * 3)[index])


@given(indexed(), st.data())
def test_slices_of_slices_of_transposed_arrays_agree_with_numpy(case, data):
    array, lazy, index = case
    whole, lazy_whole = array[index].T, lazy[index].T
    again = data.draw(indices_of(whole.shape))
    equal(lazy_whole[again], whole[again])


@given(st.lists(slices_of(40), min_size=2, max_size=3), chunks_of((40,)), st.booleans())
def test_slices_of_slices_of_a_long_axis_agree_with_numpy(slices, chunks, in_memory):
    array = np.arange(40)
    lazy = ga.from_array(array, chunks=chunks) if in_memory else ga.arange(40, chunks=chunks).map_blocks(np.copy)
    for each in slices:
        array, lazy = array[each], lazy[each]
    equal(lazy, array)


@given(arrays(full_shapes, ("int64",)), st.data())
def test_a_slice_of_a_broadcast_sum_repeats_what_was_repeated(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(0, array.ndim - 1))
    index = data.draw(indices_of(array.shape))
    equal((lazy + lazy[(slice(None),) * axis + (slice(0, 1),)])[index],
          (array + array[(slice(None),) * axis + (slice(0, 1),)])[index])  # fmt: skip
    equal((lazy + lazy[0])[index], (array + array[0])[index])


@given(arrays(full_shapes, ("int64",)), st.data())
def test_a_list_of_positions_on_any_axis_agrees_with_numpy(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(0, array.ndim - 1))
    length = array.shape[axis]
    positions = data.draw(st.lists(st.integers(-length, length - 1), max_size=12))
    index = [slice(None)] * array.ndim
    for other in range(array.ndim):
        if other != axis and data.draw(st.booleans()):
            index[other] = data.draw(st.sampled_from([slice(None, None, -1), slice(1, None), 0]))
    index[axis] = positions
    equal(lazy[tuple(index)], array[tuple(np.asarray(i, dtype=int) if isinstance(i, list) else i for i in index)])


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_a_lazy_mask_of_the_whole_array_selects_in_numpys_order(pair, data):
    array, lazy = pair
    mask = array > 0
    lazy_mask = ga.from_array(mask, chunks=data.draw(chunks_of(mask.shape)))
    np.testing.assert_array_equal(lazy[lazy_mask].compute(scheduler="inline"), array[mask])
    np.testing.assert_array_equal(lazy[mask].compute(scheduler="inline"), array[mask])


@given(arrays(full_shapes, ("int64",)))
def test_a_mask_of_one_axis_selects_rows(pair):
    array, lazy = pair
    rows = array.reshape(len(array), -1).sum(axis=1) > 0
    np.testing.assert_array_equal(lazy[ga.asarray(rows)].compute(scheduler="inline"), array[rows])
    equal(lazy[rows], array[rows])


def test_compute_chunk_sizes_learns_what_a_mask_left():
    x = ga.arange(10, chunks=4)
    big = x[x > 5]
    assert np.isnan(big.shape[0])
    with pytest.raises(ChunkError, match=r"unknown length; call compute_chunk_sizes\(\)"):
        big[2]
    big.compute_chunk_sizes(scheduler="inline")
    assert big.chunks == ((0, 2, 2),)
    equal(big[::-1], [9, 8, 7, 6])


def test_masked_elements_add_up_with_unknown_chunks():
    x = ga.arange(10, chunks=4)
    assert (x[x > 5] * 2 + x[x > 5]).sum().compute(scheduler="inline") == 90
    assert x[x > 5].mean().compute(scheduler="inline") == 7.5
    assert x[x > 5].min().compute(scheduler="inline") == 6


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (12, IndexError, "index 12 is out of bounds for axis 0 with 10 elements"),
        ((0, -5), IndexError, "index -5 is out of bounds for axis 1 with 4 elements"),
        (
            (0, 0, 0),
            IndexError,
            r"too many indices: 3 for an array of shape \(10, 4\) in chunks \(\(5, 5\), \(2, 2\)\)",
        ),
        (([1, 10],), IndexError, "index 10 is out of bounds for axis 0 with 10 elements"),
        (1.5, IndexError, "1.5 is not an index"),
        (([0.5],), IndexError, "positions must be integers or booleans, got float64"),
        ((..., ...), IndexError, "single ellipsis"),
        (([True, False],), IndexError, "a mask of 2 elements for axis 0 with 10 elements"),
        (([0, 1], [0, 1, 2]), IndexError, r"lists of positions with the shapes .* don't go together"),
        (slice(None, None, 0), ValueError, "step cannot be zero"),
    ],
)
def test_a_wrong_index_raises_at_once_with_its_value(index, error, message):
    with pytest.raises(error, match=message):
        ga.ones((10, 4), chunks=(5, 2))[index]


def test_iteration_gives_the_rows():
    x = np.arange(6).reshape(3, 2)
    assert [row.compute().tolist() for row in ga.from_array(x, chunks=2)] == x.tolist()
    with pytest.raises(TypeError, match="without axes"):
        iter(ga.full((), 1)).__next__()


def test_blocks_are_selected_by_number():
    x = ga.arange(10, chunks=4)
    equal(x.blocks[1], [4, 5, 6, 7])
    equal(x.blocks[1:], [4, 5, 6, 7, 8, 9])
    with pytest.raises(IndexError, match="block 3 is out of bounds for axis 0 with 3 blocks"):
        x.blocks[3]


@given(arrays(full_shapes, ("int64",)), st.data())
def test_take_along_an_axis_or_flat_agrees_with_numpy(pair, data):
    array, lazy = pair
    axis = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1))
    length = array.size if axis is None else array.shape[axis]
    positions = data.draw(st.lists(st.integers(0, length - 1), min_size=1, max_size=20))
    equal(ga.take(lazy, positions, axis), np.take(array, positions, axis))
