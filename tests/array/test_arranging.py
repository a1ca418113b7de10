"""Arrays put together, cut up, turned and padded agree with NumPy."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, equal, full_shapes, shapes, values_of
from hypothesis import given
from hypothesis import strategies as st

KINDS = ("int64", "float32")


@given(arrays(shapes, KINDS), st.lists(st.integers(0, 3), max_size=4).map(tuple))
def test_tile(pair, reps):
    equal(ga.tile(pair[1], reps), np.tile(pair[0], reps))


@given(arrays(full_shapes, KINDS), st.data())
def test_repeat(pair, data):
    array, lazy = pair
    axis = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1))
    length = array.size if axis is None else array.shape[axis]
    repeats = data.draw(st.integers(0, 3) | st.lists(st.integers(0, 3), min_size=length, max_size=length))
    equal(lazy.repeat(repeats, axis), array.repeat(repeats, axis))


@given(arrays(shapes, KINDS), st.data())
def test_roll(pair, data):
    array, lazy = pair
    shift = data.draw(st.integers(-9, 9))
    equal(np.roll(lazy, shift), np.roll(array, shift))
    if array.ndim:
        axes = data.draw(st.lists(st.integers(-array.ndim, array.ndim - 1), min_size=1, max_size=3))
        shifts = data.draw(st.lists(st.integers(-9, 9), min_size=len(axes), max_size=len(axes)))
        equal(ga.roll(lazy, shifts, axes), np.roll(array, shifts, axes))
        equal(ga.roll(lazy, shift, axes[0]), np.roll(array, shift, axes[0]))


@given(arrays(st.lists(st.integers(0, 5), min_size=2, max_size=3).map(tuple), KINDS), st.integers(-5, 5), st.data())
def test_turning_and_flipping(pair, k, data):
    array, lazy = pair
    axes = tuple(data.draw(st.permutations(range(array.ndim)))[:2])
    equal(ga.rot90(lazy, k, axes), np.rot90(array, k, axes))
    equal(ga.flipud(lazy), np.flipud(array))
    equal(ga.fliplr(lazy), np.fliplr(array))
    axis, start = data.draw(st.integers(-array.ndim, array.ndim - 1)), data.draw(st.integers(0, array.ndim))
    equal(ga.rollaxis(lazy, axis, start), np.rollaxis(array, axis, start))


@given(arrays(full_shapes, KINDS), st.data(), st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
def test_pad(pair, data, mode):
    array, lazy = pair
    widths = [(data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))) for _ in array.shape]
    options = {"constant_values": data.draw(st.integers(-3, 3))} if mode == "constant" else {}
    equal(ga.pad(lazy, widths, mode, **options), np.pad(array, widths, mode, **options))
    equal(np.pad(lazy, 2, mode), np.pad(array, 2, mode))
    assert ga.pad(lazy, widths, "empty").shape == np.pad(array, widths).shape


@given(arrays(full_shapes, KINDS), st.data())
def test_splitting(pair, data):
    array, lazy = pair
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    sections = data.draw(st.integers(1, 9) | st.lists(st.integers(0, 9), max_size=3).map(sorted))
    for found, expected in zip(
        ga.array_split(lazy, sections, axis), np.array_split(array, sections, axis), strict=True
    ):
        equal(found, expected)
    for found, expected in zip(ga.unstack(lazy, axis=axis), np.unstack(array, axis=axis), strict=True):
        equal(found, expected)
    with pytest.raises(ValueError, match=r"into 50 equal parts; use array_split"):
        ga.split(lazy, 50, axis)


@given(arrays(st.integers(0, 4).map(lambda n: (n, 4)), KINDS))
def test_halves(pair):
    array, lazy = pair
    equal(ga.hsplit(lazy, 2)[1], np.hsplit(array, 2)[1])
    equal(ga.vsplit(lazy, [1])[0], np.vsplit(array, [1])[0])


@given(st.data())
def test_stacking_of_any_number_of_axes(data):
    length = data.draw(st.integers(1, 4))
    pairs = [data.draw(arrays((length,), KINDS)) for _ in range(data.draw(st.integers(1, 3)))]
    matrices = [data.draw(arrays((length, 2), KINDS)) for _ in range(2)]
    for name in ("dstack", "column_stack", "vstack", "hstack"):
        equal(getattr(ga, name)([p[1] for p in pairs]), getattr(np, name)([p[0] for p in pairs]))
        equal(getattr(ga, name)([p[1] for p in matrices]), getattr(np, name)([p[0] for p in matrices]))
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        for array, lazy in (*pairs, *matrices, (np.array(3), 3)):
            equal(getattr(ga, name)(lazy), getattr(np, name)(array))
        assert len(getattr(np, name)(pairs[0][1], matrices[0][1])) == 2


@given(st.data(), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_block(data, a, b, c, d):
    made = [[data.draw(arrays((n, m), KINDS)) for m in (c, d)] for n in (a, b)]
    nested = [[[pair[which] for pair in row] for row in made] for which in (0, 1)]
    equal(ga.block(nested[1]), np.block(nested[0]))
    equal(ga.block(nested[1][0]), np.block(nested[0][0]))
    equal(ga.block([1, [ga.arange(2)][0]]), np.block([1, np.arange(2)]))


@given(arrays(full_shapes, KINDS), st.data())
def test_append_and_delete(pair, data):
    array, lazy = pair
    axis = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1))
    length = array.size if axis is None else array.shape[axis]
    where = data.draw(st.lists(st.integers(-length, length - 1), max_size=4) | st.integers(-length, length - 1))
    where = np.asarray(where, dtype=int) if isinstance(where, list) else where
    equal(ga.delete(lazy, where, axis), np.delete(array, where, axis))
    more = data.draw(values_of(array.shape, "int64"))
    equal(ga.append(lazy, more, axis), np.append(array, more, axis))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ga.tile(x, -1), ValueError, "negative"),
        (lambda x: ga.repeat(x, [1, 2], 0), ValueError, r"\(2,\) repeats for axis 0 with 4 elements"),
        (lambda x: ga.rot90(x, 1, (0, -2)), ValueError, "are the same axis"),
        (lambda x: ga.pad(x, 1, "edge", constant_values=1), TypeError, "mode='edge' takes no options"),
        (lambda x: ga.pad(x, -1), ValueError, "negative"),
        (lambda x: ga.block([[x], x]), ValueError, "nested to different depths"),
        (lambda x: ga.block([[], []]), ValueError, "a list without arrays"),
        (lambda x: ga.array_split(x, 0), ValueError, "into 0 parts"),
    ],
)
def test_what_makes_no_sense_is_an_error_at_once(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.ones((4, 6), chunks=2))
