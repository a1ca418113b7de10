"""Transposing, reshaping, rechunking, joining: NumPy's elements in NumPy's places."""

import math

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, equal, full_shapes, shapes
from glassloom.errors import ChunkError
from hypothesis import given
from hypothesis import strategies as st


@given(arrays(shapes, ("int64",)), st.data())
def test_axes_are_permuted_swapped_and_moved_as_in_numpy(pair, data):
    array, lazy = pair
    order = data.draw(st.permutations(range(array.ndim)))
    equal(lazy.transpose(order), array.transpose(order))
    equal(lazy.T, array.T)
    if array.ndim:
        one, other = (data.draw(st.integers(-array.ndim, array.ndim - 1)) for _ in range(2))
        equal(np.swapaxes(lazy, one, other), np.swapaxes(array, one, other))
        equal(np.moveaxis(lazy, one, other), np.moveaxis(array, one, other))


@st.composite
def reshapes(draw):
    """A shape and another with as many elements."""
    factors = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4))
    regrouped = []
    for factor in draw(st.permutations(factors)):
        if regrouped and draw(st.booleans()):
            regrouped[-1] *= factor
        else:
            regrouped.append(factor)
    return tuple(factors), tuple(regrouped)


@given(reshapes(), st.data(), st.booleans())
def test_reshape_gives_numpys_order_however_the_array_is_cut(pair, data, infer):
    old, new = pair
    array, lazy = data.draw(arrays(old, ("int64",)))
    if infer:
        place = data.draw(st.integers(0, len(new) - 1))
        new = (*new[:place], -1, *new[place + 1 :])
    equal(lazy.reshape(new), array.reshape(new))
    equal(lazy.ravel(), array.ravel())


def test_reshape_keeps_blocks_that_hold_whole_rows():
    x = ga.ones((12, 5), chunks=(4, 5))
    assert x.reshape(60).chunks == ((20, 20, 20),)
    assert x.reshape(6, 2, 5).chunks == ((2, 2, 2), (2,), (5,))
    assert ga.ones(60, chunks=20).reshape(12, 5).chunks == ((4, 4, 4), (5,))


@pytest.mark.parametrize("shape", [(7,), (-1, -1), (5, -1), (2, -2, 3)])
def test_a_shape_with_another_number_of_elements_is_refused(shape):
    with pytest.raises(ValueError, match=r"can't be reshaped to|may have one -1"):
        ga.ones((2, 3)).reshape(shape)


@given(st.data(), shapes)
def test_rechunking_moves_no_element(data, shape):
    array, lazy = data.draw(arrays(shape, ("int64",)))
    chunks, again = data.draw(chunks_of(shape)), data.draw(chunks_of(shape))
    assert lazy.rechunk(chunks).chunks == chunks
    equal(lazy.rechunk(chunks), array)
    equal((lazy + 1).rechunk(chunks).rechunk(again), array + 1)


def test_rechunking_by_axis_keeps_the_other_axes():
    x = ga.ones((6, 4), chunks=2)
    assert x.rechunk({-1: -1}).chunks == ((2, 2, 2), (4,))
    assert x.rechunk("64 B").chunks == ((3, 3), (2, 2))
    with pytest.raises(ChunkError, match="names axis 2"):
        x.rechunk({2: 1})


@given(full_shapes, st.data())
def test_arrays_are_concatenated_and_stacked_as_in_numpy(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    pairs = []
    for _ in range(data.draw(st.integers(1, 3))):
        lengths = list(shape)
        lengths[axis] = data.draw(st.integers(0, 4))
        pairs.append(data.draw(arrays(tuple(lengths), ("int64", "float32"))))
    plain, lazy = zip(*pairs, strict=True)
    equal(np.concatenate(lazy, axis), np.concatenate(plain, axis))
    same = [data.draw(arrays(shape, ("int64", "float32"))) for _ in range(2)]
    plain, lazy = zip(*same, strict=True)
    equal(np.stack(lazy, axis), np.stack(plain, axis))
    equal(np.vstack(lazy), np.vstack(plain))
    equal(np.hstack(lazy), np.hstack(plain))


@given(arrays(shapes, ("int64",)), st.data())
def test_arrays_are_flipped_squeezed_expanded_and_broadcast_as_in_numpy(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(0, array.ndim))
    equal(np.expand_dims(lazy, axis), np.expand_dims(array, axis))
    equal(np.squeeze(np.expand_dims(lazy, axis), axis), array)
    equal(np.flip(lazy), np.flip(array))
    equal(np.broadcast_to(lazy, (2, *array.shape)), np.broadcast_to(array, (2, *array.shape)))


def test_small_results_do_not_keep_large_blocks_in_memory():
    held = ga.ones((1000, 1000), chunks=1000)[:2, :2].persist(scheduler="inline")
    (block,) = held.expr.source.held.values()
    assert block.base is None or block.base.nbytes < 100


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.transpose(0, 0), ValueError, "names an axis twice"),
        (lambda x: x.transpose(0), ValueError, r"axes=\(0,\) names 1 axes, but the array has 2"),
        (lambda x: x.squeeze(0), ValueError, "squeeze of axis 0, which has 4 elements"),
        (lambda x: ga.broadcast_to(x, (4, 5)), ValueError, r"shape \(4, 6\) .* doesn't broadcast to \(4, 5\)"),
        (lambda x: ga.concatenate([x, x.T]), ValueError, r"array 0 has shape \(4, 6\).*array 1 has shape \(6, 4\)"),
        (lambda x: ga.stack([x, x.T]), ValueError, "shapes must be equal"),
        (lambda x: ga.concatenate([]), ValueError, "at least one array"),
        (lambda x: x[x > 5].rechunk(2), ChunkError, "compute_chunk_sizes"),
    ],
)
def test_what_does_not_fit_raises_at_once_with_its_values(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.ones((4, 6), chunks=2))


def test_map_blocks_applies_a_function_block_by_block():
    x = ga.arange(10, chunks=4)
    equal(x.map_blocks(lambda block: block - block.min()), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1])
    equal(ga.map_blocks(np.add, x, x), np.arange(10) * 2)
    equal(x.map_blocks(lambda block, by: block * by, by=2.5), np.arange(10) * 2.5)
    summed = ga.map_blocks(lambda b: b.sum(axis=1), ga.ones((4, 3), chunks=(2, 3)), drop_axis=1)
    equal(summed, [3.0, 3.0, 3.0, 3.0])
    spread = ga.map_blocks(lambda b: b[:, None].repeat(2, 1), x, new_axis=1, chunks=(x.chunks[0], 2))
    equal(spread, np.arange(10)[:, None].repeat(2, 1))
    numbers = ga.map_blocks(lambda b, block_id: b * 0 + block_id[0], x, block_id=True)
    equal(numbers, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2])


def test_map_blocks_says_what_it_cannot_know():
    x = ga.ones((4, 4), chunks=2)
    with pytest.raises(ValueError, match=r"it raised IndexError: .* Say dtype=..."):
        x.map_blocks(lambda block: block[1])
    with pytest.raises(
        ChunkError, match=r"block \(0, 0\) of lambda has the shape \(1, 2\), but its chunks say \(2, 2\)"
    ):
        x.map_blocks(lambda block: block[:1]).compute(scheduler="inline")


def test_unknown_lengths_show_as_nan():
    x = ga.arange(4, chunks=2)
    assert math.isnan(x[x > 1].size)
    with pytest.raises(ValueError, match="isn't known before the blocks are computed"):
        len(x[x > 1])
