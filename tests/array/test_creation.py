"""Arrays made of nothing, of what is in memory or on disk, and of delayed calls; and how they are cut."""

import math

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, equal, full_shapes, shapes
from glassloom.array.chunks import common_refinement, normalize_chunks
from glassloom.errors import ChunkError
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool), st.integers(1, 9))
def test_arange_of_integers_has_numpys_values(start, stop, step, chunks):
    equal(ga.arange(start, stop, step, chunks=chunks), np.arange(start, stop, step))


@given(
    st.floats(-50, 50), st.floats(-50, 50), st.floats(0.1, 7), st.integers(1, 9), st.sampled_from(["f8", "f4", None])
)
def test_arange_of_floats_has_numpys_values_bit_for_bit(start, stop, step, chunks, dtype):
    whole = np.arange(start, stop, step, dtype=dtype)
    lazy = ga.arange(start, stop, step, chunks=chunks, dtype=dtype)
    equal(lazy, whole)
    equal(lazy[1::2][::-1], whole[1::2][::-1])


@given(st.floats(-9, 9), st.floats(-9, 9), st.integers(0, 20), st.booleans(), st.integers(1, 9))
def test_linspace_has_numpys_values(start, stop, num, endpoint, chunks):
    made = ga.linspace(start, stop, num, endpoint=endpoint, chunks=chunks)
    equal(made, np.linspace(start, stop, num, endpoint=endpoint), rtol=1e-12, atol=1e-12)


@given(shapes, st.data(), st.sampled_from(["float64", "int16", "bool", "complex64"]))
def test_filled_arrays_have_their_value_type_and_blocks(shape, data, dtype):
    chunks = data.draw(chunks_of(shape))
    equal(ga.ones(shape, chunks=chunks, dtype=dtype), np.ones(shape, dtype))
    equal(ga.zeros(shape, chunks=chunks, dtype=dtype), np.zeros(shape, dtype))
    equal(ga.full(shape, 3, chunks=chunks, dtype=dtype), np.full(shape, 3, dtype))
    assert ga.empty(shape, chunks=chunks, dtype=dtype).compute().dtype == dtype
    assert ga.ones(shape, chunks=chunks).chunks == chunks


@given(arrays(full_shapes))
def test_likes_take_shape_type_and_blocks(pair):
    array, lazy = pair
    for function, of_numpy in ((ga.ones_like, np.ones_like), (np.zeros_like, np.zeros_like)):
        equal(function(lazy), of_numpy(array))
        assert function(lazy).chunks == lazy.chunks


@given(st.integers(0, 6), st.integers(0, 6), st.integers(-3, 3))
def test_eye_has_ones_on_its_diagonal(n, m, k):
    equal(ga.eye(n, m, k, chunks=2), np.eye(n, m, k))


def test_from_array_reads_what_is_not_in_memory_block_by_block():
    class OnDisk:
        shape, dtype = (5, 4), np.dtype("int64")
        asked: list = []

        def __getitem__(self, place):
            self.asked.append(place)
            return np.arange(20).reshape(5, 4)[place]

    lazy = ga.from_array(OnDisk(), chunks=(3, 4), name="on-disk")
    equal(lazy[3:], np.arange(20).reshape(5, 4)[3:])
    assert OnDisk.asked == [(slice(3, 5), slice(0, 4))]


def test_equal_arrays_have_equal_names_and_different_ones_do_not():
    array = np.arange(10)
    assert ga.from_array(array, chunks=5).name == ga.from_array(array.copy(), chunks=5).name
    assert ga.from_array(array, chunks=5).name != ga.from_array(array + 1, chunks=5).name
    assert ga.from_array(array, chunks=5).name != ga.from_array(array, chunks=2).name


def test_results_do_not_share_memory_with_what_they_were_made_of():
    array = np.zeros(4)
    result = ga.from_array(array).compute()
    held = ga.from_array(array).persist()
    result[0] = held.compute()[1:2][0] = 7
    assert array.tolist() == held.compute().tolist() == [0, 0, 0, 0]


def test_from_delayed_checks_what_it_was_told():
    call = gl.delayed(np.ones)((2, 3))
    equal(ga.from_delayed(call, (2, 3), float) * 2, np.full((2, 3), 2.0))
    assert ga.from_delayed(call, (math.nan, 3), float).sum().compute() == 6
    with pytest.raises(ValueError, match=r"told shape=\(3, 3\), dtype=float64, but the call returned shape=\(2, 3\)"):
        ga.from_delayed(call, (3, 3), float).compute()


def test_arrays_are_arguments_of_delayed_calls():
    assert gl.delayed(np.trace)(ga.eye(4, chunks=2)).compute() == 4


def test_asarray_takes_what_numpy_takes():
    equal(ga.asarray([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    assert np.asarray(ga.arange(3)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="use from_delayed"):
        ga.asarray(gl.delayed(1))


@pytest.mark.parametrize(
    ("chunks", "shape", "expected"),
    [
        (5, (17,), ((5, 5, 5, 2),)),
        ((5, -1), (7, 3), ((5, 2), (3,))),
        ({1: 2}, (7, 3), ((7,), (2, 1))),
        ({-1: 2}, (7, 3), ((7,), (2, 1))),
        (((3, 4), None), (7, 3), ((3, 4), (3,))),
        ((3, 4), (7,), ((3, 4),)),
        ("auto", (10, 10), ((10,), (10,))),
        ("800 B", (100,), ((100,),)),
        ("400 B", (100,), ((50, 50),)),
        ("800 B", (20, 20), ((10, 10), (10, 10))),
        ((-1, "80 B"), (5, 100), ((5,), (2,) * 50)),
        (5, (0,), ((0,),)),
        (5, (), ()),
    ],
)
def test_chunks_are_said_in_many_ways(chunks, shape, expected):
    assert normalize_chunks(chunks, shape, float) == expected


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ((3, 3), r"axis 0 are \(3, 3\), which add up to 6, but the axis has 7"),
        (-2, "axis 0 are -2; a length must be positive, or -1"),
        (0, "axis 0 are 0, but the axis has 7 elements"),
        (((8, -1),), "hold -1; expected lengths of 0 or more"),
        ([[2, 2.5]], "hold 2.5; expected"),
        (((3, 4), (1,)), "has 2 entries, but the shape"),
        ("lots", "'lots' is not a size in bytes"),
        ({3: 2}, "names axis 3, but the shape"),
        (2.5, "axis 0 are 2.5; expected a length"),
        (True, "axis 0 are True; expected a length"),
    ],
)
def test_chunks_that_do_not_fit_are_named(chunks, message):
    with pytest.raises(ChunkError, match=message):
        ga.ones(7, chunks=chunks)


@given(st.integers(0, 9).flatmap(lambda n: st.tuples(chunks_of((n,)), chunks_of((n,)))))
def test_a_common_refinement_cuts_wherever_one_does(pair):
    ((one,), (other,)) = pair
    ends = set(np.cumsum(common_refinement([one, other])))
    assert sum(common_refinement([one, other])) == sum(one)
    assert one == other or ends >= (set(np.cumsum(one)) | set(np.cumsum(other))) - {0}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ga.ones((3, -1)), ValueError, r"shape=\(3, -1\) holds -1"),
        (lambda: ga.ones(2.5), ValueError, "shape=2.5 holds 2.5"),
        (lambda: ga.arange(0, 9, 0), ValueError, "step=0"),
        (lambda: ga.arange("a"), TypeError, "stop='a' is not a real number"),
        (lambda: ga.full(3, [1, 2, 3]), ValueError, "fill_value must be one value"),
        (lambda: ga.ones(3, like="torch"), ValueError, "backend='torch' is none of"),
        (lambda: ga.ones(3).colour, AttributeError, "colour"),
        (lambda: ga.from_array(ga.ones(3)), TypeError, "is a lazy array already"),
    ],
)
def test_wrong_arguments_raise_at_once_with_their_values(call, error, message):
    with pytest.raises(error, match=message):
        call()
